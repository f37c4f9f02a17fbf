// The program itself: what it does with what it is given that is wrong, and where its output cannot
// go.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

constexpr const char* program = CLOCHE_BINARY_DIR "/bin/cloche";

struct Ended {
  int status = 0;
  std::string said;  // on both streams, but what the command line sends elsewhere
};

Ended cloche(const std::string& line) {
  const std::string command = std::string(program) + " " + line + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  Ended ended;
  std::array<char, 4096> buffer;
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
    ended.said.append(buffer.data(), got);
  const int status = ::pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(CliProgram, AWrongOptionIsOneSentence) {
  for (const char* line : {"--bogus", "bogus", "run", "run --bogus x",
                           "run --mount /nonexistent:/x true", "run --mount /tmp:relative true",
                           "run --memory abc true", "run --timeout -5 true", "run --env NOEQ true",
                           "run --out x true", "image show /etc/passwd", "serve --port 99999"}) {
    const Ended ended = cloche(line);
    EXPECT_EQ(ended.status, 2) << line;
    EXPECT_EQ(lines_of(ended.said), 1U) << line << ": " << ended.said;
    EXPECT_TRUE(ended.said.starts_with("cloche")) << ended.said;
  }
}

TEST(CliProgram, OutputThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(cloche("--version >/dev/full").status, 2);
  EXPECT_EQ(cloche("run 'echo hello' >/dev/full").status, 2);
  EXPECT_EQ(cloche("run --bogus 2>&-; exit $?").status, 2);
  EXPECT_EQ(cloche("run --trace-syscalls true 2>/dev/full; exit $?").status, 0);
  // Whose reader has gone ends as a command would.
  EXPECT_EQ(cloche("run 'yes' | head -n 1").said, "y\n");
}

TEST(CliProgram, AClosedInputIsAnEmptyOne) {
  const Ended ended = cloche("run --stdin 'cat; echo \"<$?>\"' <&-");
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.said, "<0>\n");
  EXPECT_EQ(cloche("run 'echo hello' >&-; exit $?").status, 2);
}

TEST(CliProgram, ADeviceIsWrittenToAndNotReplaced) {
  const std::string fifo = ::testing::TempDir() + "cli-program-fifo";
  ::unlink(fifo.c_str());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Ended ended =
      cloche("run --out /tmp/f:" + fifo + " 'echo hello >/tmp/f' & cat " + fifo + "; wait $!");
  EXPECT_EQ(ended.said, "hello\n");
  struct stat now{};
  EXPECT_EQ(::stat(fifo.c_str(), &now), 0);
  EXPECT_TRUE(S_ISFIFO(now.st_mode));
  ::unlink(fifo.c_str());
}

TEST(CliProgram, ATimeLimitMayBeAsLongAsOneLikes) {
  const Ended ended = cloche("run --timeout 9223372036854775807 'echo hello'");
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.said, "hello\n");
}

}  // namespace
}  // namespace cloche::testing
