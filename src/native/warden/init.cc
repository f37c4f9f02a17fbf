// SPDX-License-Identifier: Apache-2.0
#include "native/warden/init.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string_view>

#include "native/warden/call_wire.h"
#include "native/warden/command.h"
#include "native/warden/file_server.h"
#include "native/warden/home.h"
#include "native/warden/packet.h"
#include "native/warden/proc_text.h"
#include "native/warden/relay.h"
#include "native/warden/root.h"
#include "native/warden/score.h"
#include "native/warden/tree_pack.h"
#include "native/warden/tree_stream.h"
#include "native/warden/tree_unpack.h"

namespace cloche::warden {
namespace {

// The foreground group of the terminal of `leader`; 0: none. The eighth field of its stat.
pid_t foreground_of(pid_t leader) {
  std::array<char, 64> path{};
  std::array<char, 1024> text{};
  char* const end = std::to_chars(path.data() + 6, path.data() + path.size() - 6, leader).ptr;
  std::copy_n("/proc/", 6, path.data());
  std::copy_n("/stat", 6, end);
  std::string_view stat = read_text(path.data(), text);
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return 0;
  stat.remove_prefix(name_end + 1);
  for (int field = 0; field < 6; ++field) {  // to the number after state, ppid, pgrp, session, tty
    const std::size_t space = stat.find(' ');
    if (space == std::string_view::npos) return 0;
    stat.remove_prefix(space + 1);
  }
  pid_t group = 0;
  (void)std::from_chars(stat.data(), stat.data() + stat.size(), group);
  return std::max(group, 0);
}

bool resize_terminal(int master, const TerminalShape& shape) {
  const winsize size{shape.rows, shape.columns, shape.width_pixels, shape.height_pixels};
  return ::ioctl(master, TIOCSWINSZ, &size) == 0;
}

int open_terminal(const TerminalShape& shape) {
  const int master = ::open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master < 0) return -1;
  const int unlock = 0;
  if (::ioctl(master, TIOCSPTLCK, &unlock) == 0 && resize_terminal(master, shape)) return master;
  ::close(master);
  return -1;
}

constexpr int calls_in_line = 64;

Fd listen_for_calls() {
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener) return {};
  take_no_descriptors(listener.get());
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  constexpr std::string_view word(call_socket_name);
  std::copy(word.begin(), word.end(), name.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + word.size());
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0 ||
      ::listen(listener.get(), calls_in_line) != 0)
    return {};
  return listener;
}

// None, with errno. Its own filter would have pid 1 ask itself, but for that length.
Fd connect_loopback(int port, bool is_v6) {
  sockaddr_storage name{};
  if (is_v6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(name);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<in_port_t>(port));
    v6.sin6_addr = in6addr_loopback;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(name);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<in_port_t>(port));
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  Fd made(::socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) return {};
  const int on = 1;
  (void)::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&name), Questions::own_length) != 0 &&
      errno != EINPROGRESS) {
    const int error = errno;
    made.reset();
    errno = error;
  }
  return made;
}

}  // namespace

Init::Init(Plan plan, const Filter& filter) noexcept : plan_(std::move(plan)), filter_(filter) {
  sigset_t child{};
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  signals_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) std::abort();
  dialer_.begin();
}

// Of epoll all boxes of a user have so many watches together, which a guest can take.
std::size_t Init::gather() noexcept {
  std::size_t count = 0;
  const auto add = [&](int fd, Source source, std::size_t index = 0) {
    if (fd < 0) return;
    sources_[count] = {source, static_cast<std::uint32_t>(index)};
    waiting_[count++] = {.fd = fd, .events = POLLIN, .revents = 0};
  };
  add(plan_.socket.get(), Source::socket);
  add(signals_.get(), Source::signals);
  add(questions_.fd(), Source::question);
  add(dialer_.socket(), Source::dial);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    add(runs_[i].channel.get(), Source::run, i);
    add(runs_[i].start.get(), Source::start, i);
  }
  for (std::size_t i = 0; i < drains_.size(); ++i) add(drains_[i].get(), Source::drain, i);
  return count;
}

void Init::serve() noexcept {
  for (;;) {
    const int patience_ms = look_at_memory();
    const std::size_t count = gather();
    if (::poll(waiting_.data(), count, patience_ms) < 0 && errno != EINTR && errno != ENOMEM)
      return;
    for (std::size_t i = 0; i < count; ++i) {
      if (waiting_[i].revents != 0 && !take(sources_[i])) return;
    }
  }
}

// False: Cloche is gone. What an earlier one of the same round has ended is none any more.
bool Init::take(Event event) noexcept {
  switch (event.source) {
    case Source::socket: return take_request();
    case Source::dial: return dialer_.take_answer();
    case Source::signals: reap(); break;
    case Source::question: take_question(); break;
    case Source::run:
      if (runs_[event.index].channel) take_order(runs_[event.index]);
      break;
    case Source::start: tell_start(runs_[event.index]); break;
    case Source::drain: read_drain(event.index); break;
  }
  return true;
}

bool Init::take_request() noexcept {
  Packet packet;
  Request request;
  if (!receive_record(plan_.socket.get(), request, packet, MSG_DONTWAIT))
    return errno == EAGAIN || errno == EMSGSIZE;
  if (request.ask == Ask::run) {
    start_run(request, packet);
    return true;
  }
  if (request.ask == Ask::drain) {
    for (std::size_t i = 0; i < packet.fd_count(); ++i) add_drain(packet.take_fd(i));
    return true;
  }
  Fd channel(packet.take_fd(0));
  switch (request.ask) {
    case Ask::files: start_files(std::move(channel)); break;
    case Ask::kill:
      processes_.end(0);
      reap();
      answer(channel, {});
      break;
    case Ask::pause: {
      Dialer::Threads threads{};
      processes_.pause(dialer_.waiting(threads));
      answer(channel, {});
      break;
    }
    case Ask::resume:
      processes_.resume();
      answer(channel, {});
      break;
    case Ask::upper: {
      const int changes = plan_.changes.get();
      answer(channel, {}, std::span(&changes, 1));
      break;
    }
    case Ask::usage: answer_usage(channel); break;
    case Ask::network: open_network(channel, packet); break;
    case Ask::calls: open_calls(channel); break;
    case Ask::list: {
      const Fd file(packet.take_fd(1));
      answer(channel, {.value = file ? processes_.list(file.get()) : EINVAL});
      break;
    }
    case Ask::signal:
      answer(channel, {.value = processes_.signal(request.process, request.number)});
      break;
    case Ask::connect: connect_to(channel, request, packet); break;
    case Ask::peak:
      answer(channel, {.memory_bytes = Processes::peak_bytes(request.process)});
      break;
    case Ask::compare: answer(channel, {.has_changed = !is_as_image(plan_.changes)}); break;
    case Ask::settle: settle(channel); break;
    case Ask::pack:
    case Ask::unpack: start_tree(request.ask, std::move(channel), Fd(packet.take_fd(1))); break;
    case Ask::run:
    case Ask::drain: break;
  }
  return true;
}

void Init::answer(const Fd& channel, const Answer& what, std::span<const int> fds) noexcept {
  if (!channel) return;
  (void)send_record(channel.get(), what, fds, MSG_DONTWAIT);
}

// Nothing has run yet, so that nothing has been done under other limits.
void Init::settle(const Fd& channel) noexcept {
  Settle how;
  Packet packet;
  const bool is_whole = receive_record(channel.get(), how, packet, MSG_DONTWAIT);
  const Fd storage = std::move(plan_.storage);
  if (!storage || !is_whole) return answer(channel, {.value = EINVAL});
  how.home[sizeof how.home - 1] = '\0';
  if (const Outcome resized = resize_storage(storage, how.file_bytes, how.file_inodes); !resized)
    return answer(channel, {.step = resized.failed, .value = resized.error});
  if (!plan_.group.limit({.memory_bytes = how.memory_bytes,
                          .processes = how.process_limit + own_processes,
                          .cpus = how.cpus}))
    return answer(channel, {.step = Step::groups, .value = errno});
  plan_.memory_bytes = how.memory_bytes;
  plan_.wall.processes = how.process_limit + own_processes;
  plan_.wall.open_files = how.open_file_limit;
  answer(channel, {.home = make_home(how.home)});
}

void Init::open_network(const Fd& channel, Packet& packet) noexcept {
  std::array<Fd, 2> names;
  const Outcome opened = dialer_.open(Fd(packet.take_fd(1)), names);
  std::array<int, 2> fds{};
  std::size_t count = 0;
  for (const Fd& name : names) {
    if (name) fds[count++] = name.get();
  }
  answer(channel, {.step = opened.failed, .value = opened.error}, std::span(fds).first(count));
}

// Cloche accepts by itself; nothing of it is kept here. A guest that has taken the name keeps its own
// commands from it.
void Init::open_calls(const Fd& channel) noexcept {
  const Fd listener = listen_for_calls();
  const int beside = listener.get();
  answer(channel, {.value = listener ? 0 : errno}, std::span(&beside, listener ? 1 : 0));
}

void Init::connect_to(const Fd& channel, const Request& request, Packet& packet) noexcept {
  if (plan_.isolation == Isolation::gvisor) {
    const Fd stream(packet.take_fd(1));
    const pid_t pid = stream ? fork_apart() : -1;
    if (pid < 0) return answer(channel, {.value = stream ? errno : EINVAL});
    if (pid > 0) return;
    relay_port(channel, static_cast<std::uint16_t>(request.number), request.is_v6, stream,
               plan_.wall, filter_);
  }
  const Fd made = connect_loopback(request.number, request.is_v6);
  const int beside = made.get();
  answer(channel, {.value = made ? 0 : errno}, std::span(&beside, made ? 1 : 0));
}

// Memory that processes share without a file is made with pid 1's knowledge: see SharedMemory.
void Init::take_question() noexcept {
  Question question;
  if (!questions_.take(question)) return;
  if (question.call == Question::Call::connect) return dialer_.take_question(std::move(question));
  if (question.call == Question::Call::buffer) return questions_.size_buffer(question);
  const std::uint64_t bytes = question.arguments[1], most = plan_.memory_bytes;
  if (most != 0 && (bytes > most || !processes_.expect_shared(question.thread, bytes)))
    return questions_.answer(question, ENOMEM);
  questions_.let_go(question);
}

// Of a run that has one. Behind gVisor a process beside the run carries it to Cloche, by `stream`.
struct Init::Terminal {
  Fd master;
  Fd stream;
  Fd end;  // of the command's side
  bool has_relay = false;
};

Outcome Init::prepare(Terminal& terminal, const Request& request, Packet& packet) const noexcept {
  if (!request.has_terminal) return {};
  terminal.master.reset(open_terminal(request.terminal));
  if (!terminal.master) return {Step::terminal, errno};
  terminal.has_relay = plan_.isolation == Isolation::gvisor;
  if (!terminal.has_relay) return {};
  terminal.stream.reset(packet.take_fd(2));
  if (!terminal.stream) return {Step::terminal, EINVAL};
  terminal.end.reset(::ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.end) return {Step::terminal, errno};
  return {};
}

// The mark is made before the command is, so that no moment is without it.
void Init::start_run(const Request& request, Packet& packet) noexcept {
  Fd channel(packet.take_fd(0));
  if (!channel) return;
  const auto refuse = [&](Step step, int error) {
    answer(channel, {.tell = Tell::not_started, .step = step, .value = error});
  };
  const auto slot =
      std::find_if(runs_.begin(), runs_.end(), [](const Run& run) { return !run.channel; });
  if (slot == runs_.end()) return refuse(Step::namespaces, EAGAIN);
  if (::unshare(CLONE_NEWUTS) != 0) return refuse(Step::namespaces, errno);
  Fd space(::open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC));
  struct stat of_space{};
  if (!space || ::fstat(space.get(), &of_space) != 0) return refuse(Step::namespaces, errno);
  const Fd arguments(packet.take_fd(1));
  Terminal terminal;
  if (const Outcome prepared = prepare(terminal, request, packet); !prepared)
    return refuse(prepared.failed, prepared.error);
  CommandPlan plan{.request = request,
                   .channel = channel.get(),
                   .arguments = arguments.get(),
                   .terminal = terminal.master.get()};
  std::array<int, 2> start{-1, -1};
  if (request.tells_start && ::pipe2(start.data(), O_CLOEXEC) != 0)
    return refuse(Step::program, errno);
  Fd begins(start[0]), starting(start[1]);
  plan.start = starting.get();
  std::array<Fd, most_fds> files;
  for (std::size_t i = terminal.has_relay ? 3 : 2; i < packet.fd_count(); ++i) {
    files[i].reset(packet.take_fd(i));
    plan.files[plan.file_count++] = files[i].get();
  }
  const pid_t pid = fork_with(score_of_guests);
  if (pid < 0) return refuse(Step::program, errno);
  if (pid == 0) become_command(plan, plan_.wall, filter_);
  processes_.know(pid, of_space.st_ino);
  if (terminal.has_relay) {
    const pid_t carrier = fork_apart();
    if (carrier == 0) relay(terminal.master, terminal.stream, plan_.wall, filter_);
    if (carrier < 0) ::kill(pid, SIGKILL);
  } else if (terminal.master) {
    const int master = terminal.master.get();
    answer(channel, {.tell = Tell::terminal}, std::span(&master, 1));
  }
  *slot = {.channel = std::move(channel),
           .start = std::move(begins),
           .mark_space = std::move(space),
           .mark = of_space.st_ino,
           .pid = pid,
           .has_terminal = request.has_terminal,
           .terminal = terminal.has_relay ? std::move(terminal.master) : Fd(),
           .terminal_end = std::move(terminal.end)};
}

// One at a time: a new one takes the place of one that does not answer.
void Init::start_files(Fd channel) noexcept {
  if (!channel) return;
  if (file_server_ > 0) {
    ::kill(file_server_, SIGKILL);
    processes_.forget(file_server_);
  }
  file_server_ = 0;
  const pid_t pid = fork_apart();
  if (pid == 0) {
    reset_signals();
    serve_files(channel.get(), wall_of_helpers(), filter_);
  }
  if (pid < 0) return answer(channel, {.value = errno});
  file_server_ = pid;
}

// What is forked has the score that its parent has then.
pid_t Init::fork_with(std::string_view score) noexcept {
  set_score(plan_.score, score);
  const pid_t pid = ::fork();
  const int error = errno;
  if (pid != 0) set_score(plan_.score, score_of_boxes);
  errno = error;
  return pid;
}

pid_t Init::fork_apart() noexcept {
  const pid_t pid = ::unshare(CLONE_NEWUTS) == 0 ? fork_with(score_of_helpers) : -1;
  if (pid <= 0 || processes_.spare(pid)) return pid;
  ::kill(pid, SIGKILL);
  errno = EAGAIN;
  return -1;
}

// No run's end is its end. Nothing else is open in it, and the guest, whom it is in the midst of,
// cannot look into it.
void Init::start_tree(Ask what, Fd channel, Fd stream) noexcept {
  if (!channel) return;
  const pid_t pid = stream ? fork_apart() : -1;
  if (pid < 0) return answer(channel, {.value = stream ? errno : EINVAL});
  if (pid > 0) return;
  reset_signals();
  constexpr int own_channel = 3, own_stream = 4, own_changes = 5;
  std::array<Fd, 3> kept{std::move(channel), std::move(stream), Fd(plan_.changes.get())};
  for (Fd& fd : kept) fd.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, own_changes + 1));
  const int count = what == Ask::pack ? 3 : 2;
  for (int i = 0; i < count; ++i) {
    if (::dup2(kept[static_cast<std::size_t>(i)].get(), own_channel + i) < 0) ::_exit(1);
  }
  if (::setsid() < 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
      ::close_range(static_cast<unsigned>(own_channel + count), ~0U, 0) != 0)
    ::_exit(1);
  if (what == Ask::pack)
    pack_tree(own_channel, own_changes, own_stream, wall_of_helpers(), filter_);
  unpack_tree(own_channel, own_stream, wall_of_helpers(), filter_);
}

// Ours have each folder on the way open, as deep as a tree may be.
WallPlan Init::wall_of_helpers() const noexcept {
  constexpr rlim_t wanted = most_tree_depth + 64;
  WallPlan wall = plan_.wall;
  rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) == 0)
    wall.open_files =
        std::max(wall.open_files, static_cast<std::uint32_t>(std::min(most.rlim_max, wanted)));
  return wall;
}

void Init::take_order(Run& run) noexcept {
  Packet packet;
  RunOrder order;
  if (!receive_record(run.channel.get(), order, packet, MSG_DONTWAIT)) {
    if (errno == EAGAIN) return;
    return drop(run);
  }
  if (order.order == Order::signal) return signal_run(run, order.signal);
  if (order.order == Order::resize) {
    if (run.terminal) resize_terminal(run.terminal.get(), order.shape);
    return;
  }
  if (order.order == Order::turn) {
    const int error = run.ended ? ESRCH : Processes::begin_turn(run.pid, order.turn);
    return answer(run.channel, {.tell = Tell::turn, .value = error});
  }
  if (order.order == Order::kill_late) {
    reap();
    if (run.ended) return answer(run.channel, {.tell = Tell::killed, .value = ESRCH});
  }
  processes_.end(run.mark, order.order == Order::kill_turn ? order.turn : 0);
  reap();
  answer(run.channel, {.tell = Tell::killed});
}

// Also of a command that did not begin, which has said so before.
void Init::tell_start(Run& run) noexcept {
  run.terminal_end.reset();
  if (!run.start) return;
  run.start.reset();
  answer(run.channel, {.tell = Tell::started, .value = run.pid});
}

void Init::signal_run(const Run& run, int number) noexcept {
  if (run.ended) return;
  pid_t foreground = 0;
  if (run.terminal) {
    (void)::ioctl(run.terminal.get(), TIOCGPGRP, &foreground);
  } else if (run.has_terminal) {
    foreground = foreground_of(run.pid);
  }
  (void)::kill(-(foreground > 1 ? foreground : run.pid), number);
}

// Cloche is not interested any more. What an ended command has left behind goes on.
void Init::drop(Run& run) noexcept {
  if (!run.ended) processes_.end(run.mark);
  run.channel.reset();  // and so not watched
  run.start.reset();
  run.terminal.reset();
  run.terminal_end.reset();
  run.mark_space.reset();
  run.mark = 0;
  run.pid = 0;
  reap();
}

void Init::reap() noexcept {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) > 0) continue;
  int status = 0;
  rusage use{};
  for (pid_t pid = ::wait4(-1, &status, WNOHANG, &use); pid > 0;
       pid = ::wait4(-1, &status, WNOHANG, &use)) {
    processes_.forget(pid);
    if (pid == file_server_) file_server_ = 0;
    const auto run = std::find_if(runs_.begin(), runs_.end(), [pid](const Run& one) {
      return one.channel && !one.ended && one.pid == pid;
    });
    if (run == runs_.end()) continue;
    tell_start(*run);
    run->ended = true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && was_killed_for_memory())
      run->memory_exceeded = true;
    guests_ = std::max<std::uint64_t>(guests_, 1);  // what it has left is looked for
    answer(run->channel, {.tell = Tell::ended,
                          .memory_exceeded = run->memory_exceeded,
                          .value = status,
                          .memory_bytes = static_cast<std::uint64_t>(use.ru_maxrss) << 10});
  }
}

void Init::add_drain(int fd) noexcept {
  if (fd < 0) return;
  const auto slot =
      std::find_if(drains_.begin(), drains_.end(), [](const Fd& one) { return !one; });
  if (slot == drains_.end()) {
    ::close(fd);
    return;
  }
  slot->reset(fd);
  (void)::fcntl(fd, F_SETFL, O_NONBLOCK);
}

void Init::read_drain(std::uint32_t index) noexcept {
  std::array<char, 65536> nowhere;
  Fd& drain = drains_[index];
  if (!drain) return;
  const ssize_t got = ::read(drain.get(), nowhere.data(), nowhere.size());
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) drain.reset();
}

void Init::answer_usage(const Fd& channel) noexcept {
  struct statfs use{};
  (void)::fstatfs(plan_.changes.get(), &use);
  const bool has_gvisor = plan_.isolation == Isolation::gvisor;
  const Processes::Use processes = has_gvisor ? processes_.rough_use() : processes_.exact_use();
  guests_ = processes.count;
  answer(channel, {.file_bytes = file_bytes(),
                   .file_inodes = use.f_files - use.f_ffree,
                   .memory_bytes = has_gvisor ? Processes::all_bytes()
                                              : processes.private_bytes + processes.shared_bytes,
                   .processes = processes.count,
                   .cpu_ns = processes_.cpu_ns()});
}

}  // namespace cloche::warden
