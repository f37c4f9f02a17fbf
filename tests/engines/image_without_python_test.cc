// SPDX-License-Identifier: Apache-2.0
// Code in Python for a box of an image that has no python3: what is missing is said where a caller
// looks first.
#include "engines_testing.h"

namespace cloche {
namespace {

class ImageWithoutPython : public testing::OnChangedImage {
 protected:
  ImageWithoutPython()
      : OnChangedImage("no-python",
                       "while p=$(command -v python3); do rm \"$p\" || exit; hash -r; done") {}
};

TEST_P(ImageWithoutPython, ASessionSaysSo) {
  PythonSession session(engine(), options_);
  const ExecuteResult result = session.execute("1");
  EXPECT_EQ(result.status, ExecuteStatus::ended);
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_EQ(result.reason, "cannot start Python: the image has no python3");
  EXPECT_EQ(result.stderr_data, result.reason + "\n");
  EXPECT_FALSE(result.session_alive);
}

TEST_P(ImageWithoutPython, CodeSaysSo) {
  const RunResult result = engine().create(options_)->run_python("1");
  EXPECT_EQ(result.status, RunStatus::not_started);
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_EQ(result.reason, "cannot start python3: No such file or directory");
}

CLOCHE_ON_EACH_ENGINE(ImageWithoutPython);

}  // namespace
}  // namespace cloche
