// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "native/host/patience.h"
#include "native/thaw/thaw_wire.h"
#include "sandbox/native/frozen_image.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/native_parts.h"
#include "sandbox/native/native_python_driver.h"

namespace cloche::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int status_timed_out = 124, status_killed = 137;

// For an image, which is written at once.
constexpr std::chrono::milliseconds freeze_patience{10'000};

struct Ends {
  UniqueFd ours;
  UniqueFd theirs;
};

// Sockets, on which a reader that is gone is no signal for this process.
Result<Ends> make_socket() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return errno_from_host(errno);
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Ends> make_output() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_from_host(errno);
  Ends made{UniqueFd(ends[0]), UniqueFd(ends[1])};
  (void)::fcntl(made.ours.get(), F_SETFL, O_NONBLOCK);
  return made;
}

}  // namespace

struct NativePython::Live {
  std::unique_ptr<native::Command> command;
  UniqueFd out, err, requests, answers, images;
  bool is_thawing = false;  // it has not said yet that it lives

  // Four bytes at once; nothing, with errno: it does not answer, or makes no sense.
  std::optional<unsigned char> read_answer() {
    std::array<unsigned char, 4> bytes{};
    const ssize_t got = ::recv(answers.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == static_cast<ssize_t>(bytes.size())) return bytes[0];
    if (got >= 0) errno = EPIPE;
    return std::nullopt;
  }
};

// One turn of the interpreter.
class NativePython::Call {
 public:
  Call(NativeBackend& sandbox, Live& live, std::string_view source, const PythonOptions& options)
      : sandbox_(sandbox), live_(live), options_(options) {
    const auto size = static_cast<std::uint64_t>(source.size());
    std::array<char, sizeof size> head{};
    for (std::size_t i = 0; i < head.size(); ++i) head[i] = static_cast<char>(size >> (8 * i));
    input_.assign(head.data(), head.size());
    input_ += source;
  }

  // False: the interpreter has ended.
  bool perform(RunResult& result) {
    const auto begin = Clock::now();
    const std::chrono::milliseconds limit = options_.timeout.value_or(sandbox_.options().timeout);
    const std::uint64_t cancellations = sandbox_.cancellations();
    bool timed_out = false;
    Clock::time_point end = begin + limit;
    while (!answer_ && !over_) {
      const int wait = limit.count() == 0 && !timed_out ? -1 : left_ms(end);
      if (step(wait, result) || Clock::now() < end || (limit.count() == 0 && !timed_out)) continue;
      if (timed_out) {
        sandbox_.box().end();  // it does not answer
        break;
      }
      timed_out = true;
      end = Clock::now() + native::patience;
      live_.command->kill();
    }
    read_rest(result);
    result.duration = Clock::now() - begin;
    if (answer_ && !timed_out) {
      result.exit_code = *answer_;
      return true;
    }
    set_ended(result, timed_out, sandbox_.cancelled_since(cancellations), limit);
    return false;
  }

 private:
  static int left_ms(Clock::time_point end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }

  // False: nothing came in time.
  bool step(int wait_ms, RunResult& result) {
    std::array<pollfd, 5> waiting{{{live_.command->channel(), POLLIN, 0},
                                   {live_.out.get(), POLLIN, 0},
                                   {live_.err.get(), POLLIN, 0},
                                   {live_.answers.get(), POLLIN, 0},
                                   {input_.empty() ? -1 : live_.requests.get(), POLLOUT, 0}}};
    const int ready = ::poll(waiting.data(), waiting.size(), wait_ms);
    if (ready <= 0) return ready < 0 && errno == EINTR;
    if (waiting[1].revents != 0) (void)read_from(live_.out, Stream::out, result);
    if (waiting[2].revents != 0) (void)read_from(live_.err, Stream::err, result);
    if (waiting[4].revents != 0) {
      const ssize_t done =
          ::send(live_.requests.get(), input_.data(), input_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (done < 0 && errno != EAGAIN && errno != EINTR) input_.clear();
      if (done > 0) input_.erase(0, static_cast<std::size_t>(done));
    }
    if (waiting[3].revents != 0) read_answer();
    if (waiting[0].revents != 0) hear();
    return true;
  }

  // Four bytes at once; anything else is the end of the interpreter's side.
  void read_answer() {
    answer_ = live_.read_answer();
    if (answer_ || errno == EAGAIN || errno == EINTR) return;
    live_.answers.reset();
    live_.command->kill();
  }

  void hear() {
    const Result<std::optional<warden::Answer>> heard = live_.command->receive();
    if (heard && !*heard) return;
    if (!heard) {
      over_ = true;
    } else if ((*heard)->tell == warden::Tell::not_started) {
      not_started_ = **heard;
      over_ = true;
    } else if ((*heard)->tell == warden::Tell::ended) {
      status_ = (*heard)->value;
      memory_exceeded_ = (*heard)->memory_exceeded;
      over_ = true;
    }
  }

  bool read_from(UniqueFd& fd, Stream stream, RunResult& result) {
    std::array<char, 65536> piece;
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
      fd.reset();
      return false;
    }
    std::string& kept = stream == Stream::out ? result.stdout_data : result.stderr_data;
    const std::uint64_t room = options_.output_limit_bytes - kept.size();
    const auto size = static_cast<std::uint64_t>(got);
    kept.append(piece.data(), static_cast<std::size_t>(std::min(room, size)));
    (stream == Stream::out ? result.stdout_truncated : result.stderr_truncated) |= size > room;
    return true;
  }

  // What was written before the answer is in the pipes by now.
  void read_rest(RunResult& result) {
    constexpr int pieces = 16;  // what a pipe holds
    for (int i = 0; i < pieces && live_.out && read_from(live_.out, Stream::out, result); ++i) {
    }
    for (int i = 0; i < pieces && live_.err && read_from(live_.err, Stream::err, result); ++i) {
    }
  }

  void set_ended(RunResult& result, bool timed_out, bool cancelled,
                 std::chrono::milliseconds limit) const {
    if (not_started_) {
      const auto duration = result.duration;
      result = native_not_started("python3", "/", not_started_->step, not_started_->value);
      result.duration = duration;
      return;
    }
    if (timed_out) {
      result.status = RunStatus::timed_out;
      result.exit_code = status_timed_out;
      result.reason = fmt::format(
          "Python was stopped at its time limit of {} ms: its names are gone", limit.count());
    } else if (WIFEXITED(status_)) {
      result.exit_code = WEXITSTATUS(status_);
    } else {
      result.signal = WTERMSIG(status_);
      result.status = cancelled ? RunStatus::killed : RunStatus::signaled;
      result.exit_code = cancelled ? status_killed : 128 + result.signal;
      result.reason =
          cancelled ? "Python was cancelled: its names are gone"
          : memory_exceeded_
              ? "Python took more memory than the sandbox has: its names are gone"
              : fmt::format("Python was ended by signal {}: its names are gone", result.signal);
    }
  }

  NativeBackend& sandbox_;
  Live& live_;
  const PythonOptions& options_;
  std::string input_;
  std::optional<int> answer_;
  std::optional<warden::Answer> not_started_;
  int status_ = SIGKILL;
  bool memory_exceeded_ = false;
  bool over_ = false;
};

Result<void> NativePython::start(UniqueFd image) {
  auto live = std::make_shared<Live>();
  CLOCHE_ASSIGN(Ends out, make_output());
  CLOCHE_ASSIGN(Ends err, make_output());
  CLOCHE_ASSIGN(Ends images, make_output());
  CLOCHE_ASSIGN(Ends requests, make_socket());
  CLOCHE_ASSIGN(Ends answers, make_socket());
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return errno_from_host(errno);
  const FreezePrograms& programs = sandbox_.freeze_programs();
  RunOptions command;
  command.argv = {"python3", "-c", python_driver};
  if (image) command.argv = {fmt::format("/proc/self/fd/{}", freeze::program_fd)};
  native::CommandSpec spec = sandbox_.spec_of(command);
  spec.files = {nothing.get(),        out.theirs.get(),
                err.theirs.get(),     requests.theirs.get(),
                answers.theirs.get(), programs.exist() ? programs.library() : nothing.get(),
                images.theirs.get()};
  if (image) spec.files.insert(spec.files.end(), {programs.thaw(), image.get()});
  CLOCHE_ASSIGN(live->command, sandbox_.box().start(spec));
  live->out = std::move(out.ours);
  live->err = std::move(err.ours);
  live->requests = std::move(requests.ours);
  live->answers = std::move(answers.ours);
  live->images = std::move(images.ours);
  live->is_thawing = static_cast<bool>(image);
  live_ = std::move(live);
  return {};
}

// One that has ended between two calls is replaced.
void NativePython::forget_ended() {
  if (!live_) return;
  const Result<std::optional<warden::Answer>> heard = live_->command->receive();
  if (!heard || *heard) live_.reset();
}

// What another box has frozen says that it lives, or is no interpreter.
bool NativePython::is_alive() {
  if (live_ == nullptr || !live_->is_thawing) return live_ != nullptr;
  std::array<pollfd, 2> waiting{
      {{live_->answers.get(), POLLIN, 0}, {live_->command->channel(), POLLIN, 0}}};
  const int wait_ms = static_cast<int>(freeze_patience.count());
  while (::poll(waiting.data(), waiting.size(), wait_ms) < 0 && errno == EINTR) continue;
  if (live_->read_answer()) {
    live_->is_thawing = false;
    return true;
  }
  live_.reset();
  begins_anew_ = "it could not go on there";
  return false;
}

RunResult NativePython::run(std::string_view source, const PythonOptions& options) {
  const MutexLock lock(mutex_);
  RunResult result;
  (void)is_alive();
  forget_ended();
  if (!live_) {
    if (const Result<void> started = start({}); !started) {
      return native_not_started("python3", "/", warden::Step::program,
                                static_cast<int>(started.error()));
    }
    if (!begins_anew_.empty()) {
      result.reason = fmt::format("the live Python is not in this fork: {}, and began anew",
                                  std::exchange(begins_anew_, {}));
    }
  }
  if (!Call(sandbox_, *live_, source, options).perform(result)) live_.reset();
  return result;
}

NativePython::Frozen NativePython::freeze() {
  const MutexLock lock(mutex_);
  (void)is_alive();
  forget_ended();
  if (!live_) return {{}, begins_anew_};
  if (!sandbox_.freeze_programs().exist())
    return {{}, "on this kind of machine an interpreter cannot be frozen"};
  if (sandbox_.is_paused()) return {{}, "the sandbox was paused when it was forked"};
  const std::uint64_t order = freeze_order;
  const std::uint64_t limit = sandbox_.options().memory_limit_bytes;
  FrozenImage image(limit == 0 ? ~std::uint64_t{0} >> 1 : limit);
  bool is_over = ::send(live_->requests.get(), &order, sizeof order, MSG_NOSIGNAL) !=
                 static_cast<ssize_t>(sizeof order);
  std::optional<unsigned char> answer;
  const auto end = Clock::now() + freeze_patience;
  bool has_images = true;  // somebody can write to the pipe
  while (!answer && !is_over) {
    std::array<pollfd, 3> waiting{{{has_images ? live_->images.get() : -1, POLLIN, 0},
                                   {live_->answers.get(), POLLIN, 0},
                                   {live_->command->channel(), POLLIN, 0}}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    const int ready =
        left <= 0 ? 0 : ::poll(waiting.data(), waiting.size(), static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    if (waiting[0].revents != 0) {
      if (image.take_from(live_->images.get())) continue;
      has_images = (waiting[0].revents & POLLHUP) == 0;
    }
    if (waiting[1].revents != 0) {
      answer = live_->read_answer();
      is_over = !answer;
    } else {
      is_over = waiting[2].revents != 0;
    }
  }
  if (!answer) {  // it has ended, or what it does is not known
    live_->command->kill();
    live_.reset();
    begins_anew_ = "it ended before it was frozen";
    return {{}, begins_anew_};
  }
  while (Clock::now() < end && image.take_from(live_->images.get())) continue;
  Result<UniqueFd> file = image.finish();
  switch (static_cast<FreezeAnswer>(*answer)) {
    case FreezeAnswer::done:
      if (file) return {*std::move(file), {}};
      return {{},
              file.error() == Errno::toobig ? "its image was larger than the sandbox's memory"
                                            : "its image was not whole"};
    case FreezeAnswer::has_threads: return {{}, "it had threads"};
    case FreezeAnswer::has_no_means: return {{}, "it has no ctypes, or its C library is not glibc"};
    case FreezeAnswer::shares_memory:
      return {{}, "it shared memory with other processes, or its addresses were taken"};
    case FreezeAnswer::failed: break;
  }
  return {{}, "it could not be frozen"};
}

void NativePython::go_on_as(Frozen frozen) {
  const MutexLock lock(mutex_);
  begins_anew_ = std::move(frozen.reason);
  if (!frozen.image) return;
  if (const Result<void> started = start(std::move(frozen.image)); !started)
    begins_anew_ = "it could not go on there";
}

}  // namespace cloche::sandbox
