// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_interpreter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "native/host/guest_socket.h"
#include "native/thaw/image.h"
#include "native/thaw/thaw_wire.h"
#include "sandbox/native/freeze_programs.h"
#include "sandbox/native/frozen_image.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/python_programs.h"
#include "sandbox/native/python_starts.h"

namespace cloche::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

// For an image, which is written at once.
constexpr std::chrono::milliseconds freeze_patience{10'000};

// What goes along with the order to freeze: the last image is still here; it is that of a start.
constexpr std::string_view has_last_image = "k", is_of_a_start = "s";

// As driver.py says them.
enum class FreezeAnswer : std::uint8_t {
  done,
  has_threads,
  has_no_means,
  shares_memory,
  failed,
  is_as_before,
};

using Ends = native::Sockets;

Result<Ends> make_output() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_from_host(errno);
  Ends made{UniqueFd(ends[0]), UniqueFd(ends[1])};
  (void)::fcntl(made.ours.get(), F_SETFL, O_NONBLOCK);
  return made;
}

// While an image goes through it, a pipe holds more, so that who writes and who reads take turns
// less often. Where this user's pipes have all that they may, it stays as it is.
class LargePipe {
 public:
  explicit LargePipe(int pipe) : pipe_(pipe) { (void)::fcntl(pipe_, F_SETPIPE_SZ, large_bytes); }
  ~LargePipe() { (void)::fcntl(pipe_, F_SETPIPE_SZ, usual_bytes); }
  LargePipe(const LargePipe&) = delete;
  LargePipe& operator=(const LargePipe&) = delete;

 private:
  static constexpr int large_bytes = 512 << 10, usual_bytes = 64 << 10;
  const int pipe_;
};

void append_number(std::string& text, std::uint64_t number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    text.push_back(static_cast<char>(number >> (8 * i)));
}

}  // namespace

std::string NativeInterpreter::request(char what, std::string_view payload,
                                       std::uint64_t memory_bytes) {
  std::string text;
  append_number(text, payload.size());
  append_number(text, memory_bytes);
  text.push_back(what);
  text += payload;
  return text;
}

NativeInterpreter::NativeInterpreter(NativeBackend& sandbox)
    : sandbox_(sandbox), kept_(sandbox.timers()) {}

Result<std::unique_ptr<NativeInterpreter>> NativeInterpreter::start(NativeBackend& sandbox,
                                                                    Image image) {
  std::unique_ptr<NativeInterpreter> made(new NativeInterpreter(sandbox));
  CLOCHE_ASSIGN(Ends out, make_output());
  CLOCHE_ASSIGN(Ends err, make_output());
  CLOCHE_ASSIGN(Ends images, make_output());
  CLOCHE_ASSIGN(Ends requests, native::make_guest_sockets(SOCK_STREAM));
  CLOCHE_ASSIGN(Ends answers, native::make_guest_sockets(SOCK_STREAM));
  CLOCHE_ASSIGN(Ends port, native::make_guest_sockets(SOCK_SEQPACKET));
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return errno_from_host(errno);
  const FreezePrograms& programs = sandbox.freeze_programs();
  const PythonPrograms& python = sandbox.python_programs();
  RunOptions command;
  command.argv = {"python3", "-c", std::string(python.driver())};
  if (image.file) command.argv = {fmt::format("/proc/self/fd/{}", freeze::program_fd)};
  native::CommandSpec spec = sandbox.spec_of(command);
  spec.tells_start = true;
  spec.files = {nothing.get(),
                out.theirs.get(),
                err.theirs.get(),
                requests.theirs.get(),
                answers.theirs.get(),
                programs.exist() ? programs.library() : nothing.get(),
                images.theirs.get(),
                port.theirs.get(),
                python.modules() >= 0 ? python.modules() : nothing.get()};
  if (image.file) spec.files.insert(spec.files.end(), {programs.thaw(), image.file->get()});
  if (image.file && image.base) spec.files.push_back(image.base->get());
  CLOCHE_ASSIGN(made->command_, sandbox.box().start(spec));
  made->out_ = std::move(out.ours);
  made->err_ = std::move(err.ours);
  made->requests_ = std::move(requests.ours);
  made->answers_ = std::move(answers.ours);
  made->images_ = std::move(images.ours);
  made->port_ = std::move(port.ours);
  made->is_thawing_ = image.file != nullptr;
  made->base_ = std::move(image.base);
  return made;
}

Result<std::unique_ptr<NativeInterpreter>> NativeInterpreter::begin(NativeBackend& sandbox,
                                                                    PythonStart what) {
  if (auto early = sandbox.early_starts().take_python(what)) return early;
  PythonStarts& starts = sandbox.python_starts();
  if (SharedFile image = starts.find(sandbox, what)) {
    Result<std::unique_ptr<NativeInterpreter>> made = start(sandbox, {image, {}});
    if (made && (*made)->is_alive()) {
      (*made)->base_ = std::move(image);
      return made;
    }
    starts.give_up(sandbox, what);
  }
  return start(sandbox, {});
}

std::optional<unsigned char> NativeInterpreter::read_answer() {
  std::array<unsigned char, 4> bytes{};
  const ssize_t got =
      native::receive_bytes(answers_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got == static_cast<ssize_t>(bytes.size())) return bytes[0];
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  answers_.reset();
  command_->kill();
  errno = EPIPE;
  return std::nullopt;
}

bool NativeInterpreter::has_answered() const noexcept {
  char byte = 0;
  return answers_ && ::recv(answers_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

bool NativeInterpreter::has_ended() {
  if (has_ended_) return true;
  for (;;) {
    const Result<std::optional<warden::Answer>> heard = command_->receive();
    if (heard && !*heard) return false;
    if (heard && (*heard)->tell == warden::Tell::started) continue;
    has_ended_ = true;
    return true;
  }
}

bool NativeInterpreter::is_alive() {
  if (!is_thawing_) return true;
  const auto end = Clock::now() + freeze_patience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || has_ended()) return false;
    std::array<pollfd, 2> waiting{{{answers_.get(), POLLIN, 0}, {command_->channel(), POLLIN, 0}}};
    (void)::poll(waiting.data(), waiting.size(), static_cast<int>(left));
    if (waiting[0].revents == 0) continue;
    if (read_answer()) {
      is_thawing_ = false;
      return true;
    }
    if (!answers_) return false;
  }
}

NativeInterpreter::Frozen NativeInterpreter::freeze(ImageUse use) {
  if (!sandbox_.freeze_programs().exist()) {
    return {{},
            sandbox_.options().isolation == Isolation::gvisor
                ? "behind gVisor an interpreter cannot be frozen"
                : "on this kind of machine an interpreter cannot be frozen"};
  }
  if (sandbox_.is_paused()) return {{}, "the sandbox was paused when it was forked"};
  settle();
  SharedFile kept = kept_.get();
  const LargePipe large(images_.get());
  std::string how(kept ? has_last_image : "");
  if (use == ImageUse::start) how += is_of_a_start;
  const std::string order = request(static_cast<char>(NativeRequest::freeze), how);
  if (::send(requests_.get(), order.data(), order.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(order.size())) {
    command_->kill();
    has_ended_ = true;
    return {{}, "it ended before it was frozen"};
  }
  return take_image(use, std::move(kept));
}

// Its child has written the image, and takes a while to end: nobody need wait for that until the
// next thing is asked.
void NativeInterpreter::settle() {
  if (!std::exchange(awaits_answer_, false)) return;
  FrozenImage nothing(0);
  (void)await_answer(nothing, Until::answer);
}

std::optional<unsigned char> NativeInterpreter::await_answer(FrozenImage& image, Until until) {
  bool is_over = false;
  bool has_images = true;  // somebody can write to the pipe
  const auto end = Clock::now() + freeze_patience;
  while (!is_over) {
    std::array<pollfd, 3> waiting{{{has_images ? images_.get() : -1, POLLIN, 0},
                                   {answers_.get(), POLLIN, 0},
                                   {command_->channel(), POLLIN, 0}}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    const int ready =
        left <= 0 ? 0 : ::poll(waiting.data(), waiting.size(), static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    if (waiting[0].revents != 0) {
      if (image.take_from(images_.get())) {
        if (until == Until::whole && image.is_whole()) {
          awaits_answer_ = true;
          return static_cast<unsigned char>(FreezeAnswer::done);
        }
        continue;
      }
      has_images = (waiting[0].revents & POLLHUP) == 0;
    }
    if (waiting[1].revents != 0) {
      if (const std::optional<unsigned char> answer = read_answer()) {
        while (Clock::now() < end && image.take_from(images_.get())) continue;
        return answer;
      }
      is_over = errno == EPIPE;
    } else if (waiting[2].revents != 0) {
      is_over = has_ended();
    }
  }
  command_->kill();  // it has ended, or what it does is not known
  has_ended_ = true;
  return std::nullopt;
}

NativeInterpreter::Frozen NativeInterpreter::take_image(ImageUse use, SharedFile kept) {
  const std::uint64_t limit = sandbox_.options().memory_limit_bytes;
  const std::uint64_t most = limit == 0 ? ~std::uint64_t{0} >> 1 : limit;
  Result<native::LargeFile> file =
      use == ImageUse::fork ? sandbox_.make_large_file() : Errno::nosys;
  FrozenImage image =
      file ? FrozenImage(most, *std::move(file))
           : FrozenImage(most, use == ImageUse::start ? freeze::base_name : "cloche");
  const std::optional<unsigned char> answer = await_answer(image, Until::whole);
  if (!answer) return {{}, "it ended before it was frozen"};
  Result<UniqueFd> written = image.finish();
  const auto said = static_cast<FreezeAnswer>(*answer);
  if (said != FreezeAnswer::is_as_before) kept_.forget();
  switch (said) {
    case FreezeAnswer::done:
      if (written) {
        auto made = std::make_shared<const UniqueFd>(*std::move(written));
        kept_.keep(made);
        return {{std::move(made), base_}, {}};
      }
      return {{},
              written.error() == Errno::toobig ? "its image was larger than the sandbox's memory"
                                               : "its image was not whole"};
    case FreezeAnswer::has_threads: return {{}, "it had threads"};
    case FreezeAnswer::has_no_means: return {{}, "it has no ctypes, or its C library is not glibc"};
    case FreezeAnswer::shares_memory:
      return {{}, "it shared memory with other processes, or its addresses were taken"};
    case FreezeAnswer::is_as_before:
      if (!kept) break;
      kept_.keep(kept);
      return {{std::move(kept), base_}, {}};
    case FreezeAnswer::failed: break;
  }
  return {{}, "it could not be frozen"};
}

}  // namespace cloche::sandbox
