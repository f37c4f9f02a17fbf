// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/write_fully.h"
#include "native/host/patience.h"
#include "sandbox/exit_codes.h"
#include "sandbox/native/live_shell.h"
#include "sandbox/native/sealed_file.h"
#include "sandbox/read_ready.h"

namespace cloche::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

// What a command has left behind and still writes, such as the tee of `exec > >(tee log)`.
constexpr std::chrono::milliseconds settle_quiet{5}, settle_most{50};
constexpr std::size_t piece_bytes = 64 << 10;
constexpr int last_pieces = 16;  // what a pipe holds at its end
constexpr std::size_t most_side_bytes = 16 << 20;

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_from_host(errno);
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

// A reader that is gone is an error here, and no signal for this process.
ssize_t write_quietly(int fd, std::string_view bytes) {
  sigset_t broken{}, before{};
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  (void)::pthread_sigmask(SIG_BLOCK, &broken, &before);
  const ssize_t done = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  const timespec at_once{};
  if (done < 0 && error == EPIPE && sigismember(&before, SIGPIPE) == 0)
    (void)::sigtimedwait(&broken, nullptr, &at_once);
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return done;
}

void set_nonblocking(const UniqueFd& fd) {
  (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

RunResult native_not_started(const std::string& program, const std::string& directory,
                             warden::Step step, int error) {
  RunResult result;
  result.status = RunStatus::not_started;
  const bool is_folder = step == warden::Step::directory;
  result.exit_code = not_started_status(error == ENOENT ? Errno::noent : Errno::acces);
  result.reason = fmt::format("cannot start {}{}: {}", program, is_folder ? " in " + directory : "",
                              std::strerror(error));
  return result;
}

NativeCommand::NativeCommand(native::Box& box, kernel::TimerThread& timers, Plan plan)
    : box_(box), plan_(std::move(plan)), alarm_(timers) {
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::vector<int> files;
  std::vector<UniqueFd> theirs;
  Result<void> opened = plan_.spec.terminal ? Result<void>() : open_streams(files, theirs);
  if (plan_.refusal != 0) opened = errno_from_host(plan_.refusal);
  if (opened && wake_) {
    plan_.spec.files = files;
    if (plan_.timeout.count() > 0) alarm_.set(begin_ + plan_.timeout, [this] { be_late(); });
    opened = begin(files);
    const MutexLock lock(mutex_);
    has_begun_ = opened.ok();
    if (has_begun_ && is_late_) ask_late_one_to_end();
    if (has_begun_) return;
  }
  const int error = opened ? EMFILE : static_cast<int>(opened.error());
  result_ = native_not_started(plan_.spec.arguments.front(), plan_.spec.directory,
                               warden::Step::program, error);
  if (std::string why = box_.why_ended(); !why.empty()) result_.reason = std::move(why);
  phase_ = Phase::over;
}

NativeCommand::~NativeCommand() = default;

Result<void> NativeCommand::begin(const std::vector<int>& files) {
  if (plan_.shell != nullptr) return plan_.shell->begin_turn(plan_.frame, files);
  CLOCHE_ASSIGN(command_, box_.start(plan_.spec));
  if (UniqueFd terminal = command_->take_terminal()) take_terminal(std::move(terminal));
  return {};
}

void NativeCommand::take_terminal(UniqueFd terminal) {
  out_ = {std::move(terminal), Stream::out};
  set_nonblocking(out_.fd);
  const MutexLock lock(mutex_);
  input_.reset(::fcntl(out_.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!input_) return out_.fd.reset();  // what nobody can type into is hung up
  starved_ = true;                      // what had to be typed before
  if (early_size_) set_size(*early_size_);
}

native::Command& NativeCommand::command() noexcept {
  return plan_.shell != nullptr ? plan_.shell->command() : *command_;
}

void NativeCommand::ask_to_end() {
  if (plan_.shell != nullptr) {
    plan_.shell->kill_turn();
  } else {
    command_->kill();
  }
}

// How one ends that has ended by itself does not depend on how fast its output is taken.
void NativeCommand::ask_late_one_to_end() {
  if (plan_.shell != nullptr || plan_.until_streams_end) return ask_to_end();
  command_->kill_late();
}

// On the timers' thread, also before it has begun.
void NativeCommand::be_late() {
  const MutexLock lock(mutex_);
  if (settled_ || ended_) return;
  if (has_begun_ && plan_.shell != nullptr && plan_.shell->has_said_end()) return;
  is_late_ = true;
  if (has_begun_) ask_late_one_to_end();
  wake();
}

void NativeCommand::notice_lateness() {
  if (!is_late_ || asked_to_end_) return;
  timed_out_ = asked_to_end_ = true;
  phase_end_ = Clock::now() + native::patience;
}

Result<void> NativeCommand::open_streams(std::vector<int>& files, std::vector<UniqueFd>& theirs) {
  CLOCHE_ASSIGN(auto in, make_pipe());
  CLOCHE_ASSIGN(auto out, make_pipe());
  CLOCHE_ASSIGN(auto err, make_pipe());
  files = {in.first.get(), out.second.get(), err.second.get()};
  if (plan_.side_input) {
    CLOCHE_ASSIGN(UniqueFd side_in, make_sealed_file(*plan_.side_input));
    CLOCHE_ASSIGN(auto side_out, make_pipe());
    files.insert(files.end(), {side_in.get(), side_out.second.get()});
    theirs.push_back(std::move(side_in));
    theirs.push_back(std::move(side_out.second));
    side_ = {std::move(side_out.first), Stream::out};
    set_nonblocking(side_.fd);
  }
  theirs.push_back(std::move(in.first));
  theirs.push_back(std::move(out.second));
  theirs.push_back(std::move(err.second));
  set_nonblocking(in.second);
  out_ = {std::move(out.first), Stream::out};
  err_ = {std::move(err.first), Stream::err};
  set_nonblocking(out_.fd);
  set_nonblocking(err_.fd);
  if (!plan_.is_live && plan_.input.empty() && plan_.input_fd < 0) return {};
  const MutexLock lock(mutex_);
  input_ = std::move(in.second);
  return {};
}

void NativeCommand::wake() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

RunResult NativeCommand::wait() {
  while (step()) continue;
  conclude();
  return std::move(result_);
}

int NativeCommand::patience_ms() const {
  if (phase_ != Phase::settling && !asked_to_end_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(phase_end_ - Clock::now());
  const std::int64_t most =
      phase_ == Phase::settling ? settle_quiet.count() : std::int64_t{3'600'000};
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, most));
}

// One wait and what came of it. False: there is nothing more to wait for.
bool NativeCommand::step() {
  if (phase_ == Phase::over) return false;
  std::array<pollfd, 8> waiting{};
  const auto watch = [&](std::size_t place, int fd, short events) {
    waiting[place] = {.fd = fd, .events = events, .revents = 0};
  };
  watch(0, command().channel(), POLLIN);
  // Who hears of its output may wait for its number: that comes first.
  const bool is_told = !plan_.on_started || told_of_start_;
  watch(1, is_told ? out_.fd.get() : -1, POLLIN);
  watch(2, is_told ? err_.fd.get() : -1, POLLIN);
  watch(3, wake_.get(), POLLIN);
  {
    const MutexLock lock(mutex_);
    const bool has_input = !plan_.input.empty() || starved_;
    watch(4, has_input ? input_.get() : -1, POLLOUT);
    const bool wants_input = plan_.input_fd >= 0 && plan_.input.empty() && input_;
    watch(5, wants_input ? plan_.input_fd : -1, POLLIN);
  }
  watch(6, side_.fd.get(), POLLIN);
  watch(7, plan_.shell != nullptr && is_waiting() ? plan_.shell->answers() : -1, POLLIN);
  const int ready = ::poll(waiting.data(), waiting.size(), patience_ms());
  if (ready < 0 && errno != EINTR) return false;
  notice_lateness();
  if (ready <= 0 || is_waiting()) give_up_waiting();
  if (ready <= 0 || phase_ == Phase::over) return phase_ != Phase::over;
  std::uint64_t count = 0;
  if (waiting[3].revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
  if (waiting[1].revents != 0) (void)read_from(out_);
  if (waiting[2].revents != 0) (void)read_from(err_);
  if (waiting[4].revents != 0 || waiting[5].revents != 0) {
    feed();
  }
  if (waiting[6].revents != 0) (void)read_from(side_);
  if (waiting[7].revents != 0) hear_shell();
  if (waiting[0].revents != 0 && is_waiting()) hear();
  if (phase_ == Phase::left_behind && !out_.fd && !err_.fd) phase_ = Phase::over;
  if (phase_ == Phase::settling && ((!out_.fd && !err_.fd) || Clock::now() >= phase_end_))
    phase_ = Phase::over;
  return phase_ != Phase::over;
}

// Its pid 1 does not answer, or it is quiet after the end.
void NativeCommand::give_up_waiting() {
  if (phase_ == Phase::settling) {
    phase_ = Phase::over;
    return;
  }
  if (!asked_to_end_ || Clock::now() < phase_end_) return;
  box_.give_up();
  status_ = status_.value_or(SIGKILL);
  phase_ = Phase::over;
}

// One that is to end is not asked any more; how one has ended that says nothing, pid 1 says.
void NativeCommand::hear_shell() {
  std::optional<shell::Answer> answer;
  {
    const MutexLock lock(mutex_);
    answer = plan_.shell->read_answer();
    settled_ |= !is_late_ && answer && answer->tell == shell::Tell::ended &&
                answer->number == plan_.shell->turn();
  }
  notice_lateness();
  if (!answer || answer->number != plan_.shell->turn() || asked_to_end_ || killed_) return;
  has_answered_ = true;
  switch (answer->tell) {
    case shell::Tell::ended: status_ = (answer->value & 0xff) << 8; return settle();
    case shell::Tell::no_files:
    case shell::Tell::no_folder: {
      const bool is_folder = answer->tell == shell::Tell::no_folder;
      result_ = native_not_started(plan_.spec.arguments.front(), plan_.spec.directory,
                                   is_folder ? warden::Step::directory : warden::Step::program,
                                   is_folder ? ENOENT : EMFILE);
      phase_ = Phase::over;
      return;
    }
    case shell::Tell::ready:
    case shell::Tell::saved: has_answered_ = false; return;
  }
}

void NativeCommand::hear() {
  for (;;) {
    const Result<std::optional<warden::Answer>> answer = command().receive();
    if (plan_.shell != nullptr) plan_.shell->hear(answer);
    if (!answer) {  // the box is gone, and the command with it
      status_ = status_.value_or(SIGKILL);
      phase_ = Phase::over;
      return;
    }
    if (plan_.on_started && !told_of_start_ && command().pid() > 0) {
      told_of_start_ = true;
      plan_.on_started(command().pid());
    }
    if (!*answer) return;
    take(**answer);
    if (!is_waiting()) return;
  }
}

void NativeCommand::take(const warden::Answer& answer) {
  notice_lateness();
  switch (answer.tell) {
    case warden::Tell::terminal: return take_terminal(command_->take_terminal());
    case warden::Tell::not_started:
      result_ = native_not_started(plan_.spec.arguments.front(), plan_.spec.directory, answer.step,
                                   answer.value);
      phase_ = Phase::over;
      return;
    case warden::Tell::ended:
      status_ = answer.value;
      memory_exceeded_ = answer.memory_exceeded;
      if (asked_to_end_ && !killed_) return;  // the rest of it, too
      if (plan_.until_streams_end && WIFEXITED(answer.value) && !killed_) {
        phase_ = Phase::left_behind;
        return;
      }
      settle();
      return;
    case warden::Tell::killed:
      if (answer.value == ESRCH) timed_out_ = false;
      settle();
      return;
    case warden::Tell::started:
    case warden::Tell::turn:
    case warden::Tell::answer: return;
  }
}

void NativeCommand::settle() {
  {
    const MutexLock lock(mutex_);
    settled_ = true;
  }
  phase_ = Phase::settling;
  phase_end_ = Clock::now() + settle_most;
}

// False: there was nothing.
bool NativeCommand::read_from(Source& source) {
  std::array<char, piece_bytes> piece;
  const ssize_t got = ::read(source.fd.get(), piece.data(), piece.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {  // EIO of a terminal that nobody has open
    source.fd.reset();
    return false;
  }
  const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
  if (&source == &side_) {
    side_too_long_ |= bytes.size() > most_side_bytes - side_output_.size();
    if (!side_too_long_) side_output_ += bytes;
  } else {
    pass_on(source.stream, bytes);
  }
  return true;
}

void NativeCommand::pass_on(Stream stream, std::string_view bytes) {
  if (plan_.output) {
    const CleanOutput& clean = stream == Stream::out ? plan_.clean_out : plan_.clean_err;
    return clean.pass(bytes, [&](std::string_view text) { plan_.output(stream, text); });
  }
  std::string& kept = stream == Stream::out ? result_.stdout_data : result_.stderr_data;
  const std::uint64_t room = plan_.output_limit_bytes - kept.size();
  kept += bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size())));
  (stream == Stream::out ? result_.stdout_truncated : result_.stderr_truncated) |=
      bytes.size() > room;
}

// What waited for more, or what was kept.
void NativeCommand::end_output() {
  const auto text_of = [](bool is_cut_off) {
    return is_cut_off ? CleanOutput::Text::cut_off : CleanOutput::Text::whole;
  };
  if (plan_.output) {
    plan_.clean_out.end([&](std::string_view text) { plan_.output(Stream::out, text); });
    plan_.clean_err.end([&](std::string_view text) { plan_.output(Stream::err, text); });
    return;
  }
  result_.stdout_data =
      plan_.clean_out.clean(std::move(result_.stdout_data), text_of(result_.stdout_truncated));
  result_.stderr_data =
      plan_.clean_err.clean(std::move(result_.stderr_data), text_of(result_.stderr_truncated));
}

void NativeCommand::feed() {
  bool has_room = false, is_to_be_read = false;
  {
    const MutexLock lock(mutex_);
    if (!input_) return;
    if (plan_.input.empty() && plan_.is_live) {
      has_room = std::exchange(starved_, false);
    } else if (plan_.input.empty() && plan_.input_fd >= 0) {
      is_to_be_read = true;
    } else {
      write_input();
    }
  }
  if (has_room && plan_.on_room) plan_.on_room();
  if (is_to_be_read) read_input();
}

// Without the lock, for which the timers wait, and who kills it.
void NativeCommand::read_input() {
  std::array<char, piece_bytes> piece;
  const ssize_t got = read_ready(plan_.input_fd, std::as_writable_bytes(std::span(piece)));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const MutexLock lock(mutex_);
  if (got <= 0) {
    plan_.input_fd = -1;
    input_.reset();
  }
  if (!input_) return;
  plan_.input.assign(piece.data(), static_cast<std::size_t>(got));
  write_input();
}

void NativeCommand::write_input() {
  const ssize_t done = write_quietly(input_.get(), plan_.input);
  if (done < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (done > 0) plan_.input.erase(0, static_cast<std::size_t>(done));
  if (done >= 0 && (!plan_.input.empty() || plan_.input_fd >= 0 || plan_.is_live)) return;
  plan_.input.clear();
  plan_.input_fd = -1;
  input_.reset();
}

void NativeCommand::conclude() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    input_.reset();
  }
  if (has_begun_) {
    for (Source* source : {&out_, &err_, &side_}) {
      for (int i = 0; i < last_pieces && source->fd && read_from(*source); ++i) continue;
    }
    std::vector<int> left;
    for (const Source* source : {&out_, &err_}) {
      if (source->fd && !plan_.spec.terminal) left.push_back(source->fd.get());
    }
    box_.drain(left);
  }
  end_output();
  if (result_.status == RunStatus::not_started) return;
  result_.duration = Clock::now() - begin_;
  int status = status_.value_or(SIGKILL);
  // The shell may have answered as it was told to end, and its state is lost nevertheless.
  if (plan_.shell != nullptr && killed_) status = SIGKILL;
  if (timed_out_) {
    result_.status = RunStatus::timed_out;
    result_.exit_code = status_timed_out;
    result_.reason =
        fmt::format("the command was stopped at its time limit of {} ms", plan_.timeout.count());
  } else if (WIFEXITED(status)) {
    result_.exit_code = WEXITSTATUS(status);
  } else {
    result_.signal = WTERMSIG(status);
    result_.exit_code = killed_ ? status_killed : 128 + result_.signal;
    result_.status = killed_ ? RunStatus::killed : RunStatus::signaled;
    result_.reason =
        killed_ ? "the command was cancelled"
        : memory_exceeded_
            ? fmt::format(
                  "the command was ended by signal {}: it took more memory than the sandbox "
                  "has",
                  result_.signal)
            : fmt::format("the command was ended by signal {}", result_.signal);
    if (std::string why = killed_ ? std::string() : box_.why_ended(); !why.empty())
      result_.reason = std::move(why);
  }
}

Result<std::size_t> NativeCommand::write(std::string_view bytes) {
  const MutexLock lock(mutex_);
  if (ended_ || (!input_ && !plan_.spec.terminal)) return Errno::pipe;
  std::size_t taken = 0;
  while (taken < bytes.size() && input_ && plan_.input.empty()) {
    const ssize_t done = write_quietly(input_.get(), bytes.substr(taken));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno != EAGAIN) return Errno::pipe;
    if (done <= 0) break;
    taken += static_cast<std::size_t>(done);
  }
  if (taken == bytes.size()) return taken;
  starved_ = true;
  wake();
  return taken;
}

bool NativeCommand::starved() {
  const MutexLock lock(mutex_);
  return starved_ && !ended_;
}

void NativeCommand::close_input() {
  constexpr char end_of_file = '\004';
  const MutexLock lock(mutex_);
  if (plan_.spec.terminal) {
    plan_.input.push_back(end_of_file);
    return wake();
  }
  input_.reset();
  starved_ = false;
}

void NativeCommand::resize(const TerminalSize& size) {
  const MutexLock lock(mutex_);
  if (!plan_.spec.terminal) return;
  if (input_) return set_size(size);
  early_size_ = size;
}

void NativeCommand::set_size(const TerminalSize& size) {
  const winsize window{size.rows, size.columns, size.width_pixels, size.height_pixels};
  if (::ioctl(input_.get(), TIOCSWINSZ, &window) != 0)
    command_->resize({size.rows, size.columns, size.width_pixels, size.height_pixels});
}

Result<void> NativeCommand::signal(int number) {
  if (number < 1 || number > 64) return Errno::inval;
  const MutexLock lock(mutex_);
  if (!has_begun_ || ended_) return Errno::srch;
  command().signal(number);
  return {};
}

void NativeCommand::hang_up() {
  if (!plan_.spec.terminal) close_input();
  (void)signal(SIGHUP);
}

std::optional<std::string> NativeCommand::take_side_output() {
  return side_too_long_ ? std::nullopt : std::optional(std::move(side_output_));
}

void NativeCommand::kill() {
  if (!has_begun_) return;
  {
    const MutexLock lock(mutex_);
    if (settled_ || ended_) return;
  }
  killed_ = true;
  ask_to_end();
}

}  // namespace cloche::sandbox
