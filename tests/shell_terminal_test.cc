// SPDX-License-Identifier: Apache-2.0
// `cloche shell` on a real terminal of this machine, and without one.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

#include "base/unique_fd.h"
#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

constexpr const char* program = CLOCHE_BINARY_DIR "/bin/cloche";

class ShellTerminal : public ::testing::Test {
 protected:
  void SetUp() override {
    winsize window{};
    window.ws_row = 30;
    window.ws_col = 100;
    int master = -1;
    int slave = -1;
    ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, &window), 0);
    master_ = UniqueFd(master);
    slave_ = UniqueFd(slave);
  }
  void TearDown() override {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void start() {
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ != 0) return;
    ::login_tty(slave_.get());
    ::setenv("CLOCHE_ROOTFS", CLOCHE_ROOTFS_DIR, 1);
    ::setenv("TERM", "xterm", 1);
    ::execl(program, "cloche", "shell", nullptr);
    ::_exit(127);
  }

  void type(std::string_view text) {
    ASSERT_EQ(::write(master_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // Waits until `text` is shown after what was waited for before.
  ::testing::AssertionResult shows(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      if (const std::size_t at = shown_.find(text, seen_); at != std::string::npos) {
        seen_ = at + text.size();
        return ::testing::AssertionSuccess();
      }
      pollfd wanted{master_.get(), POLLIN, 0};
      if (std::chrono::steady_clock::now() > end || ::poll(&wanted, 1, 60'000) <= 0)
        return ::testing::AssertionFailure() << "no '" << text << "' in: " << shown_;
      std::array<char, 4096> buffer;
      const ssize_t got = ::read(master_.get(), buffer.data(), buffer.size());
      if (got <= 0) return ::testing::AssertionFailure() << "it ended; shown: " << shown_;
      shown_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

  int exit_status() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  bool is_raw() const {
    termios mode{};
    EXPECT_EQ(::tcgetattr(slave_.get(), &mode), 0);
    return (mode.c_lflag & (ICANON | ECHO | ISIG)) == 0;
  }

  UniqueFd master_;
  UniqueFd slave_;
  pid_t pid_ = -1;
  std::string shown_;
  std::size_t seen_ = 0;
};

TEST_F(ShellTerminal, AnInteractiveSession) {
  EXPECT_FALSE(is_raw());
  start();
  ASSERT_TRUE(shows("$ "));
  EXPECT_TRUE(is_raw());
  type("stty size; echo $-\r");
  EXPECT_TRUE(shows("\r30 100\r\n"));
  EXPECT_TRUE(shows("$ "));
  winsize window{};
  window.ws_row = 40;
  window.ws_col = 120;
  ASSERT_EQ(::ioctl(master_.get(), TIOCSWINSZ, &window), 0);
  type("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.01; done; echo resized $COLUMNS\r");
  EXPECT_TRUE(shows("\rresized "));
  type("bash -c 'echo ready; sleep 1000'\r");
  EXPECT_TRUE(shows("\rready\r\n"));
  type("\x03");
  EXPECT_TRUE(shows("$ "));
  type("echo st=$?; for i in 1 2; do\r");
  EXPECT_TRUE(shows("> "));
  type("echo turn $i; done\r");
  EXPECT_TRUE(shows("st=130"));
  EXPECT_TRUE(shows("turn 2"));
  // Completion, then the line before from the history.
  type("echo /etc/host\t\t\r");
  EXPECT_TRUE(shows("hosts"));
  type("exit 4\r");
  EXPECT_EQ(exit_status(), 4);
  EXPECT_FALSE(is_raw());
}

TEST_F(ShellTerminal, TheTerminalIsRestoredWhenASignalEndsIt) {
  start();
  ASSERT_TRUE(shows("$ "));
  EXPECT_TRUE(is_raw());
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(exit_status(), 128 + SIGTERM);
  EXPECT_FALSE(is_raw());
}

TEST_F(ShellTerminal, CtrlDEndsIt) {
  start();
  ASSERT_TRUE(shows("$ "));
  type("false\r");
  ASSERT_TRUE(shows("$ "));
  type("\x04");
  EXPECT_EQ(exit_status(), 1);
}

// What is shown between two keys is cursor movement and colours, so only what Python prints is looked for.
TEST_F(ShellTerminal, PythonsPromptEditsAndRemembersLines) {
  start();
  ASSERT_TRUE(shows("$ "));
  type("python3\r");
  ASSERT_TRUE(shows(">>> "));
  type("print('edit' 'd')\x1bOD\x1bODe\r");  // the cursor is behind the d
  EXPECT_TRUE(shows("editde\r\n"));
  ASSERT_TRUE(shows(">>> "));
  type("\x1bOA\r");
  EXPECT_TRUE(shows("editde\r\n"));
  ASSERT_TRUE(shows(">>> "));
  type("import time; time.sleep(1000)\r");
  EXPECT_TRUE(shows("\x1b[?2004l"));  // the terminal is the program's now
  type("\x03");
  EXPECT_TRUE(shows("KeyboardInterrupt"));
  ASSERT_TRUE(shows(">>> "));
  type("\x04");
  ASSERT_TRUE(shows("$ "));
  type("python3 -q\r");
  ASSERT_TRUE(shows(">>> "));
  type("\x1bOA\x1bOA\r");  // what the process before it has left in its file
  EXPECT_TRUE(shows("editde\r\n"));
  ASSERT_TRUE(shows(">>> "));
  type("raise SystemExit(3)\r");
  ASSERT_TRUE(shows("$ "));
  type("echo st=$?; PYTHON_BASIC_REPL=1 python3 -q\r");
  EXPECT_TRUE(shows("\rst=3\r\n"));
  EXPECT_TRUE(shows(">>> "));
  type("6 * 7\r");
  EXPECT_TRUE(shows("6 * 7\r\n42\r\n"));
  type("\x04");
  ASSERT_TRUE(shows("$ "));
  type("exit\r");
  EXPECT_EQ(exit_status(), 0);
}

// The same of input(), in a program that imports readline.
TEST_F(ShellTerminal, PythonsInputEditsCompletesAndRemembersLines) {
  start();
  ASSERT_TRUE(shows("$ "));
  type(
      "python3 -c 'import readline as r\r"
      "r.set_completer(lambda t, n: [w for w in (\"apple\", \"pear\") if w.startswith(t)][n])\r"
      "while True: print(len(a := input(\"?: \")), a[::-1], r.get_current_history_length())'\r");
  ASSERT_TRUE(shows("?: "));
  type("ab\x1bODc\r");  // the cursor is behind the b
  EXPECT_TRUE(shows("3 bca 1\r\n"));
  ASSERT_TRUE(shows("?: "));
  type("\x1bOA\x1bOFd\r");
  EXPECT_TRUE(shows("4 dbca 2\r\n"));
  ASSERT_TRUE(shows("?: "));
  type("a p\t\r");
  EXPECT_TRUE(shows("6 raep a 3\r\n"));
  ASSERT_TRUE(shows("?: "));
  type("\x04");
  EXPECT_TRUE(shows("EOFError"));
  ASSERT_TRUE(shows("$ "));
  type("exit 4\r");
  EXPECT_EQ(exit_status(), 4);
}

TEST(ShellWithoutTerminal, AScriptComesFromStandardInput) {
  const std::string command =
      std::string("printf 'read x\\nline\\necho got $x\\nexit 3\\n' | CLOCHE_ROOTFS='") +
      CLOCHE_ROOTFS_DIR + "' " + program + " shell";
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::array<char, 256> line{};
  EXPECT_NE(std::fgets(line.data(), static_cast<int>(line.size()), pipe), nullptr);
  EXPECT_EQ(std::string(line.data()), "got line\n");
  EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), 3);
}

}  // namespace
}  // namespace cloche::testing
