// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/live_shell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "native/host/guest_socket.h"
#include "native/thaw/thaw_wire.h"
#include "native/warden/packet.h"
#include "sandbox/native/freeze_programs.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/sealed_file.h"

namespace cloche::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

// For what a shell does at once; and for one that is to end.
constexpr std::chrono::milliseconds answer_patience{10'000}, end_patience{2'000};

constexpr const char* become_a_live_shell = "enable -f /proc/self/fd/4 cloche && cloche";
static_assert(shell::library_fd == 4);

int left_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

}  // namespace

Result<std::unique_ptr<LiveShell>> LiveShell::start(NativeBackend& sandbox, int image) {
  const FreezePrograms& programs = sandbox.freeze_programs();
  if (!programs.exist()) return Errno::nosys;
  const UniqueFd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nowhere) return errno_from_host(errno);
  CLOCHE_ASSIGN(native::Sockets control, native::make_guest_sockets(SOCK_SEQPACKET));
  RunOptions command;
  command.argv = {"bash", "-c", become_a_live_shell, "bash"};
  if (image >= 0) command.argv = {fmt::format("/proc/self/fd/{}", freeze::program_fd)};
  native::CommandSpec spec = sandbox.spec_of(command);
  spec.files.assign(image >= 0 ? freeze::image_fd + 1 : shell::library_fd + 1, nowhere.get());
  spec.files[shell::control_fd] = control.theirs.get();
  spec.files[shell::library_fd] = programs.shell();
  if (image >= 0) {
    spec.files[freeze::program_fd] = programs.thaw();
    spec.files[freeze::image_fd] = image;
  }
  std::unique_ptr<LiveShell> made(new LiveShell);
  CLOCHE_ASSIGN(made->command_, sandbox.box().start(spec));
  made->control_ = std::move(control.ours);
  made->prepare_turn();
  return made;
}

// Before it is wanted, so that nobody waits for it then.
void LiveShell::prepare_turn() {
  is_prepared_ = false;
  command_->begin_turn(++turn_);
}

void LiveShell::hear(const Result<std::optional<warden::Answer>>& heard) noexcept {
  if (!heard) {
    has_ended_ = was_killed_ = true;
  } else if (*heard && (*heard)->tell == warden::Tell::turn) {
    is_prepared_ = (*heard)->value == 0;
  } else if (*heard && (*heard)->tell != warden::Tell::killed) {
    has_ended_ = true;
    was_killed_ = (*heard)->tell == warden::Tell::ended && WIFSIGNALED((*heard)->value);
  }
}

bool LiveShell::has_ended() {
  while (!has_ended_) {
    const Result<std::optional<warden::Answer>> heard = command_->receive();
    if (heard && !*heard) return false;
    hear(heard);
  }
  return true;
}

bool LiveShell::awaits_end() {
  const auto end = Clock::now() + end_patience;
  while (!has_ended()) {
    const int left = left_until(end);
    if (left == 0) return false;
    pollfd waiting{command_->channel(), POLLIN, 0};
    (void)::poll(&waiting, 1, left);
  }
  return true;
}

void LiveShell::leave() {
  control_.reset();
  (void)awaits_end();
}

std::optional<shell::Answer> LiveShell::read_answer() {
  shell::Answer answer;
  if (!control_) return std::nullopt;
  const ssize_t got =
      native::receive_bytes(control_.get(), &answer, sizeof answer, MSG_DONTWAIT | MSG_TRUNC);
  if (got == static_cast<ssize_t>(sizeof answer)) return answer;
  if (got >= 0 || errno != EAGAIN) control_.reset();
  return std::nullopt;
}

bool LiveShell::has_said_end() const noexcept {
  shell::Answer answer;
  return control_ &&
         ::recv(control_.get(), &answer, sizeof answer, MSG_PEEK | MSG_DONTWAIT) ==
             static_cast<ssize_t>(sizeof answer) &&
         answer.tell == shell::Tell::ended && answer.number == turn_;
}

std::optional<shell::Answer> LiveShell::next_answer() {
  const auto end = Clock::now() + answer_patience;
  while (control_) {
    if (std::optional<shell::Answer> answer = read_answer()) return answer;
    const int left = left_until(end);
    if (left == 0 || has_ended()) return std::nullopt;
    std::array<pollfd, 2> waiting{{{control_.get(), POLLIN, 0}, {command_->channel(), POLLIN, 0}}};
    (void)::poll(waiting.data(), waiting.size(), left);
  }
  return std::nullopt;
}

bool LiveShell::is_alive() {
  if (is_ready_) return true;
  const std::optional<shell::Answer> answer = next_answer();
  is_ready_ = answer && answer->tell == shell::Tell::ready && answer->value == 0;
  return is_ready_;
}

Result<void> LiveShell::send(const shell::Request& request, std::string_view frame,
                             std::span<const int> files) {
  const std::array parts{std::as_bytes(std::span(&request, 1)),
                         std::as_bytes(std::span(frame.data(), frame.size()))};
  if (!control_ || !warden::send(control_.get(), parts, files, MSG_DONTWAIT)) return Errno::pipe;
  return {};
}

Result<void> LiveShell::begin_turn(const std::string& frame, std::span<const int> files) {
  const auto end = Clock::now() + answer_patience;
  while (!has_ended() && !is_prepared_) {
    pollfd waiting{command_->channel(), POLLIN, 0};
    if (left_until(end) == 0) break;
    (void)::poll(&waiting, 1, left_until(end));
  }
  if (has_ended_ || !is_prepared_) return Errno::pipe;
  shell::Request request{.ask = shell::Ask::turn, .number = turn_, .bytes = frame.size()};
  if (frame.size() <= shell::packet_bytes) return send(request, frame, files);
  CLOCHE_ASSIGN(const UniqueFd file, make_sealed_file(frame));
  std::vector<int> all(files.begin(), files.end());
  all.push_back(file.get());
  request.in_file = 1;
  return send(request, {}, all);
}

Result<void> LiveShell::begin_save(int file) {
  prepare_turn();
  return send({.ask = shell::Ask::save, .number = turn_}, {}, std::span(&file, 1));
}

Result<void> LiveShell::end_save() {
  const std::optional<shell::Answer> answer = next_answer();
  if (answer && answer->tell == shell::Tell::saved && answer->number == turn_)
    return answer->value == 0 ? Result<void>() : Result<void>(errno_from_host(answer->value));
  if (has_ended() || !control_) return Errno::pipe;
  command_->kill();
  return Errno::io;
}

}  // namespace cloche::sandbox
