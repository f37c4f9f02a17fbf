// SPDX-License-Identifier: Apache-2.0
// cloche shell: bash in a fresh sandbox, on the terminal of cloche where it has one.
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/host_error.h"
#include "base/unique_fd.h"
#include "base/write_fully.h"
#include "doors/cli/commands.h"
#include "doors/cli/out_places.h"
#include "doors/cli/raw_terminal.h"
#include "doors/cli/support.h"

namespace cloche::cli {
namespace {

constexpr int status_of_signal = 128;

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signo : {SIGWINCH, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM})
    sigaddset(&signals, signo);
  return signals;
}

// The user's terminal and the sandbox's, joined.
class Session {
 public:
  explicit Session(const sigset_t& signals)
      : signals_(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)),
        news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!signals_ || !news_) throw HostError::from_errno("cannot watch the terminal", errno);
  }

  int run(Sandbox& sandbox, RunOptions command) {
    command.output = [](Stream, std::string_view data) { (void)write_fully(STDOUT_FILENO, data); };
    RawTerminal terminal(STDIN_FILENO);
    LiveRunOptions options;
    options.command = std::move(command);
    options.terminal = terminal.size();
    if (const char* type = std::getenv("TERM"); type != nullptr && *type != '\0')
      options.terminal_type = type;
    options.on_room = [this] { tell(); };
    options.on_end = [this](const RunResult&) { tell(); };
    const std::unique_ptr<LiveRun> live = sandbox.start(std::move(options));
    std::optional<int> status;
    while (!status) status = step(terminal, *live);
    return *status;
  }

 private:
  void tell() const {
    const std::uint64_t one = 1;
    (void)!::write(news_.get(), &one, sizeof one);
  }

  // Waits for something and passes it on; the exit status once it is over.
  std::optional<int> step(RawTerminal& terminal, LiveRun& live) {
    // What was typed and not taken yet holds back the rest.
    std::array<pollfd, 3> wanted{pollfd{signals_.get(), POLLIN, 0}, pollfd{news_.get(), POLLIN, 0},
                                 pollfd{typed_.empty() ? STDIN_FILENO : -1, POLLIN, 0}};
    if (::poll(wanted.data(), wanted.size(), -1) < 0) return std::nullopt;
    if (wanted[0].revents != 0) {
      if (const auto status = take_signal(terminal, live)) return status;
    }
    if (wanted[1].revents != 0) {
      std::uint64_t count = 0;
      (void)!::read(news_.get(), &count, sizeof count);
      if (const auto end = live.wait_for(std::chrono::milliseconds(0))) return status_of(*end);
    }
    if (wanted[2].revents != 0) {
      std::array<char, 4096> buffer;
      const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      // The window is gone; the LiveRun's end hangs the shell up.
      if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        return status_of_signal + SIGHUP;
      if (got > 0) typed_.assign(buffer.data(), static_cast<std::size_t>(got));
    }
    if (!typed_.empty()) {
      const Result<std::size_t> taken = live.write(typed_);
      typed_.erase(0, taken ? *taken : typed_.size());
    }
    return std::nullopt;
  }

  std::optional<int> take_signal(RawTerminal& terminal, LiveRun& live) const {
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    const auto signo = static_cast<int>(info.ssi_signo);
    if (signo == SIGCONT) terminal.enter();
    if (signo == SIGCONT || signo == SIGWINCH) {
      live.resize(terminal.size());
      return std::nullopt;
    }
    return status_of_signal + signo;
  }

  static int status_of(const RunResult& end) {
    if (!end.reason.empty()) fmt::print(stderr, "cloche: {}\r\n", end.reason);
    return end.exit_code;
  }

  UniqueFd signals_;
  UniqueFd news_;  // there is room for input, or the end
  std::string typed_;
};

int run_streams(Sandbox& sandbox, RunOptions command) {
  if (command.argv.empty()) command.argv = {"bash"};
  command.stdin_fd = STDIN_FILENO;
  command.output = [](Stream stream, std::string_view data) {
    if (!write_fully(static_cast<int>(stream), data) && stream == Stream::out)
      ::_exit(status_of_signal + SIGPIPE);  // as a command whose reader has gone
  };
  const RunResult result = sandbox.run(command);
  if (!result.reason.empty()) complain(result.reason);
  return result.exit_code;
}

}  // namespace

int shell_command(const Options& options) {
  const bool terminal = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  // Before the engine's threads are there, so that none of them takes these signals.
  const sigset_t signals = handled_signals();
  if (terminal) (void)::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const OutPlaces places(options.copies);
  const std::unique_ptr<Engine> engine = jailed_engine(options, places);
  const std::unique_ptr<Sandbox> sandbox = engine->create(sandbox_options(options));
  const int status =
      terminal ? Session(signals).run(*sandbox, options.run) : run_streams(*sandbox, options.run);
  return !places.copy_all(*sandbox) && status == 0 ? failure : status;
}

}  // namespace cloche::cli
