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

#include "native/host/patience.h"
#include "sandbox/native/native_backend.h"

namespace cloche::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int status_timed_out = 124, status_killed = 137;

// A source is its length in eight bytes, then its text; an answer the exit status in four.
constexpr const char* python_driver = R"py(
import os, struct, sys, traceback
def _cloche_serve():
    here = sys.modules['__main__'].__dict__
    del here['_cloche_serve']
    def read(size):
        data = b''
        while len(data) < size:
            piece = os.read(3, min(size - len(data), 1 << 20))
            if not piece:
                os._exit(0)
            data += piece
        return data
    for fd in (3, 4):
        os.set_inheritable(fd, False)
    while True:
        source = read(struct.unpack('<Q', read(8))[0])
        status = 0
        try:
            exec(compile(source, '<cloche>', 'exec'), here)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            if end.code is not None and not isinstance(end.code, int):
                print(end.code, file=sys.stderr)
        except BaseException:
            status = 1
            kind, value, trace = sys.exc_info()
            traceback.print_exception(kind, value, trace.tb_next if trace else None)
            del kind, value, trace
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                status = status or 1
        os.write(4, struct.pack('<i', status & 0xff))
_cloche_serve()
)py";

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
  UniqueFd out, err, requests, answers;
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
    std::array<unsigned char, 4> bytes{};
    const ssize_t got = ::recv(live_.answers.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got == static_cast<ssize_t>(bytes.size())) {
      answer_ = bytes[0];
      return;
    }
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

Result<void> NativePython::start() {
  auto live = std::make_shared<Live>();
  CLOCHE_ASSIGN(Ends out, make_output());
  CLOCHE_ASSIGN(Ends err, make_output());
  CLOCHE_ASSIGN(Ends requests, make_socket());
  CLOCHE_ASSIGN(Ends answers, make_socket());
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return errno_from_host(errno);
  RunOptions command;
  command.argv = {"python3", "-c", python_driver};
  native::CommandSpec spec = sandbox_.spec_of(command);
  spec.files = {nothing.get(), out.theirs.get(), err.theirs.get(), requests.theirs.get(),
                answers.theirs.get()};
  CLOCHE_ASSIGN(live->command, sandbox_.box().start(spec));
  live->out = std::move(out.ours);
  live->err = std::move(err.ours);
  live->requests = std::move(requests.ours);
  live->answers = std::move(answers.ours);
  live_ = std::move(live);
  return {};
}

RunResult NativePython::run(std::string_view source, const PythonOptions& options) {
  const MutexLock lock(mutex_);
  RunResult result;
  // One that has ended between two calls is replaced.
  if (live_) {
    const Result<std::optional<warden::Answer>> heard = live_->command->receive();
    if (!heard || *heard) live_.reset();
  }
  if (!live_) {
    if (const Result<void> started = start(); !started) {
      return native_not_started("python3", "/", warden::Step::program,
                                static_cast<int>(started.error()));
    }
    if (begins_anew_)
      result.reason = "a fork of a linux sandbox has no live Python: this one began anew";
    begins_anew_ = false;
  }
  if (!Call(sandbox_, *live_, source, options).perform(result)) live_.reset();
  return result;
}

void NativePython::go_on_from(NativePython& other) {
  const MutexPairLock lock(mutex_, other.mutex_);
  begins_anew_ = other.live_ != nullptr || other.begins_anew_;
}

}  // namespace cloche::sandbox
