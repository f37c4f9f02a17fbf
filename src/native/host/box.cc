// SPDX-License-Identifier: Apache-2.0
#include "native/host/box.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/write_fully.h"
#include "native/warden/packet.h"

namespace cloche::native {
namespace {

using warden::Answer;
using warden::Ask;
using warden::Packet;
using warden::Request;

constexpr std::size_t most_argument_bytes = 2 << 20;  // as Linux has it by default

void add_string(std::string& text, const std::string& string) {
  text += string;
  text += '\0';
}

Result<UniqueFd> argument_file(const CommandSpec& spec) {
  std::string text;
  const auto fits = [&](const std::string& string) {
    return string.find('\0') == std::string::npos &&
           string.size() < most_argument_bytes - text.size();
  };
  if (!fits(spec.directory)) return Errno::inval;
  add_string(text, spec.directory);
  for (const auto* list : {&spec.arguments, &spec.environment}) {
    for (const std::string& string : *list) {
      if (string.find('\0') != std::string::npos) return Errno::inval;
      if (!fits(string)) return Errno::toobig;
      add_string(text, string);
    }
  }
  UniqueFd file(::memfd_create("cloche arguments", MFD_CLOEXEC));
  if (!file || !write_fully(file.get(), text)) return errno_from_host(errno);
  return file;
}

}  // namespace

bool readable_within(int fd, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Result<Sockets> make_sockets(int type) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return errno_from_host(errno);
  return Sockets{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<std::optional<Answer>> Command::receive() {
  Packet packet;
  Answer answer;
  do {
    if (!warden::receive_record(channel_.get(), answer, packet, MSG_DONTWAIT)) {
      if (errno == EAGAIN) return std::optional<Answer>();
      return Errno::pipe;
    }
    if (answer.tell == warden::Tell::started) pid_ = answer.value;
  } while (answer.tell == warden::Tell::started);
  if (answer.tell == warden::Tell::terminal) terminal_.reset(packet.take_fd(0));
  return std::optional(answer);
}

void Command::kill() {
  (void)warden::send_record(channel_.get(), warden::RunOrder{.order = warden::Order::kill});
}

void Command::kill_late() {
  (void)warden::send_record(channel_.get(), warden::RunOrder{.order = warden::Order::kill_late});
}

void Command::signal(int number) {
  (void)warden::send_record(channel_.get(),
                            warden::RunOrder{.order = warden::Order::signal, .signal = number});
}

void Command::resize(const warden::TerminalShape& shape) {
  (void)warden::send_record(channel_.get(),
                            warden::RunOrder{.order = warden::Order::resize, .shape = shape});
}

void Command::begin_turn(std::uint32_t turn) {
  (void)warden::send_record(channel_.get(),
                            warden::RunOrder{.order = warden::Order::turn, .turn = turn});
}

void Command::kill_turn(std::uint32_t turn) {
  (void)warden::send_record(channel_.get(),
                            warden::RunOrder{.order = warden::Order::kill_turn, .turn = turn});
}

Box::Box(UniqueFd socket, UniqueFd process, warden::Isolation isolation)
    : socket_(std::move(socket)),
      process_(std::move(process)),
      isolation_(isolation),
      files_([this] { return open_channel(Request{.ask = Ask::files}, {}); }) {}

Box::~Box() {
  end();
  (void)readable_within(process_.get(), patience);
}

void Box::end() noexcept {
  if (!has_ended()) was_ended_ = true;
  (void)::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  (void)::shutdown(socket_.get(), SHUT_RDWR);
}

void Box::give_up() noexcept {
  if (!has_ended()) was_silent_ = true;
  end();
}

// On its way out it has closed its end of the socket, and is a process for a moment yet.
bool Box::has_ended() const noexcept {
  std::array<pollfd, 2> both{{{process_.get(), POLLIN, 0}, {socket_.get(), 0, 0}}};
  return ::poll(both.data(), both.size(), 0) > 0;
}

std::string Box::why_ended() const {
  if (was_silent_) return "the sandbox has ended: its first process did not answer";
  if (was_ended_ || !has_ended()) return {};
  return "the sandbox has ended: something outside of it has ended its first process";
}

Result<UniqueFd> Box::open_channel(const Request& request, std::span<const int> more) {
  CLOCHE_ASSIGN(Sockets sockets, make_sockets());
  return open_channel(std::move(sockets), request, more);
}

Result<UniqueFd> Box::open_channel(Sockets sockets, const Request& request,
                                   std::span<const int> more) {
  std::vector<int> fds{sockets.theirs.get()};
  fds.insert(fds.end(), more.begin(), more.end());
  if (!warden::send_record(socket_.get(), request, fds)) return Errno::pipe;
  return std::move(sockets.ours);
}

Result<std::unique_ptr<Command>> Box::start(const CommandSpec& spec) {
  CLOCHE_ASSIGN(const UniqueFd arguments, argument_file(spec));
  Request request{.ask = Ask::run,
                  .has_terminal = spec.terminal.has_value(),
                  .names_terminal = spec.names_terminal,
                  .tells_start = spec.tells_start};
  if (spec.terminal) request.terminal = *spec.terminal;
  request.arguments = static_cast<std::uint32_t>(spec.arguments.size());
  request.variables = static_cast<std::uint32_t>(spec.environment.size());
  std::vector<int> fds{arguments.get()};
  fds.insert(fds.end(), spec.files.begin(), spec.files.end());
  Sockets terminal;
  if (spec.terminal && isolation_ == warden::Isolation::gvisor) {
    CLOCHE_ASSIGN(terminal, make_sockets(SOCK_STREAM));
    fds.push_back(terminal.theirs.get());
  }
  CLOCHE_ASSIGN(UniqueFd channel, open_channel(request, fds));
  return std::make_unique<Command>(std::move(channel), std::move(terminal.ours));
}

Result<Result<void>> Box::settle(const BoxPlan& plan) {
  warden::Settle how{.process_limit = plan.limits.processes,
                     .open_file_limit = plan.limits.open_files,
                     .cpus = plan.limits.cpus,
                     .file_bytes = plan.limits.file_bytes,
                     .file_inodes = plan.limits.file_inodes,
                     .memory_bytes = plan.limits.memory_bytes};
  if (plan.home.size() >= sizeof how.home) return Errno::nametoolong;
  plan.home.copy(how.home, sizeof how.home);
  CLOCHE_ASSIGN(Sockets sockets, make_sockets());
  if (!warden::send_record(sockets.ours.get(), how)) return errno_from_host(errno);
  CLOCHE_ASSIGN(const Answer answer,
                ask(std::move(sockets), Request{.ask = Ask::settle}, nullptr, {}));
  return answer.home == 0 ? Result<void>() : Result<void>(errno_from_host(answer.home));
}

// A box whose pid 1 does not answer is of no use to anybody.
Result<Answer> Box::ask(Sockets sockets, const Request& request, std::vector<UniqueFd>* beside,
                        std::span<const int> given) {
  CLOCHE_ASSIGN(const UniqueFd channel, open_channel(std::move(sockets), request, given));
  Packet packet;
  Answer answer;
  if (!readable_within(channel.get(), patience)) {
    give_up();
    return Errno::io;
  }
  if (!warden::receive_record(channel.get(), answer, packet)) return Errno::pipe;
  if (answer.value != 0) return errno_from_host(answer.value);
  for (std::size_t i = 0; beside != nullptr && i < packet.fd_count(); ++i)
    beside->emplace_back(packet.take_fd(i));
  return answer;
}

Result<Answer> Box::ask(const Request& request, std::vector<UniqueFd>* beside,
                        std::span<const int> given) {
  CLOCHE_ASSIGN(Sockets sockets, make_sockets());
  return ask(std::move(sockets), request, beside, given);
}

Result<Answer> Box::ask(Ask what, std::vector<UniqueFd>* beside, std::span<const int> given) {
  return ask(Request{.ask = what}, beside, given);
}

void Box::kill_all() { (void)ask(Ask::kill); }

void Box::drain(std::span<const int> pipes) {
  if (!pipes.empty()) (void)warden::send_record(socket_.get(), Request{.ask = Ask::drain}, pipes);
}

Result<BoxUsage> Box::usage() {
  CLOCHE_ASSIGN(const Answer answer, ask(Ask::usage));
  return BoxUsage{.file_bytes = answer.file_bytes,
                  .file_inodes = answer.file_inodes,
                  .memory_bytes = answer.memory_bytes,
                  .processes = static_cast<std::size_t>(answer.processes),
                  .cpu = std::chrono::nanoseconds(answer.cpu_ns)};
}

bool Box::is_as_image() {
  const Result<Answer> answer = ask(Ask::compare);
  return answer && !answer->has_changed;
}

Result<std::vector<warden::ProcessRecord>> Box::processes() {
  const UniqueFd file(::memfd_create("cloche processes", MFD_CLOEXEC));
  if (!file) return errno_from_host(errno);
  const int theirs = file.get();
  CLOCHE_TRY(ask(Ask::list, nullptr, std::span(&theirs, 1)));
  std::vector<warden::ProcessRecord> all;
  warden::ProcessRecord record;
  for (off_t at = 0;
       ::pread(file.get(), &record, sizeof record, at) == static_cast<ssize_t>(sizeof record);
       at += static_cast<off_t>(sizeof record))
    all.push_back(record);
  return all;
}

Result<std::uint64_t> Box::peak_memory(int pid) {
  CLOCHE_ASSIGN(const Answer answer, ask(Request{.ask = Ask::peak, .process = pid}, nullptr, {}));
  return answer.memory_bytes;
}

Result<void> Box::signal(int pid, int number) {
  CLOCHE_TRY(ask(Request{.ask = Ask::signal, .process = pid, .number = number}, nullptr, {}));
  return {};
}

Result<std::unique_ptr<Box::Pause>> Box::pause() {
  std::vector<UniqueFd> changes;
  if (isolation_ == warden::Isolation::full) {
    CLOCHE_TRY(ask(Ask::upper, &changes));
    if (changes.empty()) return Errno::io;
  } else {
    changes.emplace_back();
  }
  const MutexLock lock(pause_mutex_);
  CLOCHE_TRY(ask(Ask::pause));  // again where they are: some may have begun since
  ++pauses_;
  return std::make_unique<Pause>(*this, std::move(changes.front()));
}

Result<Box::Network> Box::open_network() {
  if (isolation_ == warden::Isolation::gvisor) return Errno::notsup;
  CLOCHE_ASSIGN(Sockets sockets, make_sockets());
  Network network{.dials = std::move(sockets.ours), .names = {}};
  const int theirs = sockets.theirs.get();
  CLOCHE_TRY(ask(Ask::network, &network.names, std::span(&theirs, 1)));
  return network;
}

Result<UniqueFd> Box::open_calls() {
  if (isolation_ == warden::Isolation::gvisor) return Errno::notsup;
  std::vector<UniqueFd> listener;
  CLOCHE_TRY(ask(Ask::calls, &listener));
  if (listener.empty()) return Errno::io;
  return std::move(listener.front());
}

Result<UniqueFd> Box::connect(std::uint16_t port, Loopback family) {
  std::vector<UniqueFd> socket;
  const Request request{.ask = Ask::connect, .number = port, .is_v6 = family == Loopback::v6};
  if (isolation_ == warden::Isolation::gvisor) {
    CLOCHE_ASSIGN(Sockets stream, make_sockets(SOCK_STREAM | SOCK_NONBLOCK));
    const int theirs = stream.theirs.get();
    CLOCHE_TRY(ask(request, nullptr, std::span(&theirs, 1)));
    return std::move(stream.ours);
  }
  CLOCHE_TRY(ask(request, &socket, {}));
  if (socket.empty()) return Errno::io;
  return std::move(socket.front());
}

// Whoever writes it is as much a guest as the guest: nothing of it is looked at.
Result<UniqueFd> Box::pack(std::uint64_t limit_bytes) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_from_host(errno);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  UniqueFd file(::memfd_create("cloche files", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return errno_from_host(errno);
  const int beside = theirs.get();
  CLOCHE_ASSIGN(const UniqueFd channel,
                open_channel(Request{.ask = Ask::pack}, std::span(&beside, 1)));
  theirs.reset();
  (void)::fcntl(ours.get(), F_SETPIPE_SZ, 1 << 20);
  std::vector<char> piece(1 << 20);
  std::uint64_t size = 0;
  for (;;) {
    if (!readable_within(ours.get(), patience)) return Errno::io;
    const ssize_t got = ::read(ours.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_from_host(errno);
    if (got == 0) break;
    size += static_cast<std::uint64_t>(got);
    if (size > limit_bytes) return Errno::fbig;
    for (ssize_t done = 0; done < got;) {
      const ssize_t some =
          ::write(file.get(), piece.data() + done, static_cast<std::size_t>(got - done));
      if (some < 0) return errno_from_host(errno);
      done += some;
    }
  }
  CLOCHE_TRY(hear_answer(channel.get()));
  return file;
}

Result<void> Box::unpack(int files) {
  CLOCHE_ASSIGN(const UniqueFd channel,
                open_channel(Request{.ask = Ask::unpack}, std::span(&files, 1)));
  return hear_answer(channel.get());
}

Result<void> Box::hear_answer(int channel) {
  constexpr std::chrono::minutes longest{10};
  Packet packet;
  Answer answer;
  if (!readable_within(channel, longest)) return Errno::timedout;
  if (!warden::receive_record(channel, answer, packet)) return Errno::io;
  if (answer.value != 0) return errno_from_host(answer.value);
  return {};
}

Box::Pause::~Pause() {
  const MutexLock lock(box_.pause_mutex_);
  if (--box_.pauses_ == 0) (void)box_.ask(Ask::resume);
}

}  // namespace cloche::native
