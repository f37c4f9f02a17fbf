// SPDX-License-Identifier: Apache-2.0
// What the host opens that is no file, in sandboxes of both engines.
#include <string>

#include "cloche/open_file.h"
#include "engines_testing.h"

namespace cloche {
namespace {

using OpenedDevices = testing::OnEachEngine;

TEST_P(OpenedDevices, NullIsEmptyAndTakesAllThatIsWritten) {
  const auto sandbox = make_sandbox();
  constexpr OpenMode writes = OpenMode::write | OpenMode::create | OpenMode::truncate;
  ASSERT_TRUE(sandbox->files().make_symlink("/dev/null", "link"));
  for (const char* const path : {"/dev/null", "link"}) {
    const auto written = sandbox->files().open(path, writes);
    ASSERT_TRUE(written.ok()) << path;
    EXPECT_TRUE((*written)->write(0, std::string(300'000, 'x')));
    EXPECT_TRUE((*written)->append("x"));
    EXPECT_EQ((*written)->stat()->size_bytes, 0u);
    EXPECT_EQ((*written)->stat()->kind, FileKind::other);
    const auto read = sandbox->files().open(path, OpenMode::read);
    ASSERT_TRUE(read.ok()) << path;
    EXPECT_EQ(*(*read)->read(0, 8), "");
    EXPECT_EQ(*(*read)->read(1000, 8), "");
  }
  EXPECT_EQ(sandbox->files().open("/dev/null", writes | OpenMode::exclusive).error(), Errno::exist);
  EXPECT_EQ(sandbox->run({.script = "test -c /dev/null && cat </dev/null"}).exit_code, 0);
}

TEST_P(OpenedDevices, OtherDevicesAndFifosAreNoFiles) {
  const auto sandbox = make_sandbox();
  ASSERT_EQ(sandbox->run({.script = "mkfifo fifo"}).exit_code, 0);
  for (const char* const path : {"/dev/zero", "/dev/full", "/dev/urandom", "fifo"}) {
    EXPECT_EQ(sandbox->files().open(path, OpenMode::read).error(), Errno::nxio) << path;
    EXPECT_EQ(sandbox->files().open(path, OpenMode::read | OpenMode::write).error(), Errno::nxio)
        << path;
  }
}

CLOCHE_ON_EACH_ENGINE(OpenedDevices);

}  // namespace
}  // namespace cloche
