// SPDX-License-Identifier: Apache-2.0
// A box of an image that has a shell, and no bash: scripts of all doors are of that shell.
#include "engines_testing.h"
#include "sandbox/language.h"

namespace cloche {
namespace {

class ImageWithoutBash : public testing::OnChangedImage {
 protected:
  ImageWithoutBash()
      : OnChangedImage("no-bash",
                       "cd /usr/bin && rm /bin/bash /bin/sh && mv bash sh && ln -s ../usr/bin/sh "
                       "/bin/sh") {}
  void SetUp() override {
    OnChangedImage::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) sandbox_ = engine().create(options_);
  }
  std::string printed_by_code(std::string source) {
    return sandbox_
        ->run(
            {.argv = sandbox::code_command(*sandbox_, sandbox::Language::bash, std::move(source))})
        .stdout_data;
  }

  std::unique_ptr<Sandbox> sandbox_;
};

TEST_P(ImageWithoutBash, ScriptsAreOfSh) {
  EXPECT_EQ(sandbox_->run({.script = "echo ${BASH##*/}"}).stdout_data, "sh\n");
  EXPECT_EQ(printed_by_code("echo ${BASH##*/}"), "sh\n");
  EXPECT_EQ(sandbox_->fork()->run({.script = "echo ${BASH##*/}"}).stdout_data, "sh\n");
}

TEST_P(ImageWithoutBash, ATerminalIsOfSh) {
  std::string shown;
  const auto live = sandbox_->start(
      {.command = {.stdin_data = "echo =${BASH##*/}=\nexit 3\n",
                   .output = [&](Stream, std::string_view bytes) { shown += bytes; }},
       .terminal = TerminalSize{24, 80}});
  EXPECT_EQ(live->wait().exit_code, 3);
  EXPECT_NE(shown.find("=sh="), std::string::npos) << shown;
}

TEST_P(ImageWithoutBash, AKeptShellSaysWhatIsMissing) {
  const RunResult result = sandbox_->run({.script = "true", .shell = ShellState::kept});
  EXPECT_EQ(result.status, RunStatus::not_started);
  EXPECT_TRUE(result.reason.starts_with("the image has no bash")) << result.reason;
}

TEST_P(ImageWithoutBash, BashThatIsAddedIsTheShellThen) {
  ASSERT_EQ(sandbox_->run({.script = "ln -s sh /usr/bin/bash; ln -s sh /bin/bash"}).exit_code, 0);
  EXPECT_EQ(sandbox_->run({.script = "echo ${BASH##*/}"}).stdout_data, "bash\n");
  EXPECT_EQ(printed_by_code("echo ${BASH##*/}"), "bash\n");
  EXPECT_EQ(sandbox_->run({.script = "echo ${BASH##*/}", .shell = ShellState::kept}).stdout_data,
            "bash\n");
}

CLOCHE_ON_EACH_ENGINE(ImageWithoutBash);

}  // namespace
}  // namespace cloche
