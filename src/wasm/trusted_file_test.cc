// SPDX-License-Identifier: Apache-2.0
#include "wasm/trusted_file.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/faulty_files_testing.h"
#include "base/host_error.h"
#include "base/temp_dir_testing.h"

namespace cloche::wasm {
namespace {

constexpr std::size_t calls_max = 100;

class TrustedFileTest : public ::testing::Test {
 protected:
  void save(std::string_view content) {
    save_trusted(
        path_, tag_, content.size(),
        [content](HostFiles& files, int fd) {
          return files.write_all(fd, std::as_bytes(std::span(content)));
        },
        files_);
  }
  // What is found there; nothing where no whole file is.
  std::optional<std::string> found() const {
    const auto file = open_trusted(path_, tag_);
    if (!file) return std::nullopt;
    std::string content(file->size, '\0');
    const auto count =
        host_files().read_at(file->fd.get(), 0, std::as_writable_bytes(std::span(content)));
    EXPECT_EQ(count ? *count : 0, content.size());
    EXPECT_EQ(file->note, content.size());
    return content;
  }
  std::size_t names() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      ++count;
    return count;
  }

  TempDir folder_;
  std::filesystem::path path_ = folder_.path() / "file";
  FileTag tag_{1, 2, 3};
  FaultyFiles files_;
};

TEST_F(TrustedFileTest, IsThereWholeAlsoWherePiecesAreWrittenShort) {
  EXPECT_EQ(found(), std::nullopt);
  files_.write_max = 7;
  save("a text of more than seven bytes");
  EXPECT_EQ(found(), "a text of more than seven bytes");
  save("");
  EXPECT_EQ(found(), "");
  EXPECT_EQ(names(), 2U);
}

// Each call fails once, and each is the last one that reaches the disk: who reads finds the old
// content, the new one, or nothing, and never a mixture.
TEST_F(TrustedFileTest, AFaultLeavesTheOldTheNewOrNothing) {
  for (const auto fault : {FaultyFiles::Fault::error, FaultyFiles::Fault::crash}) {
    std::size_t failed = 0;
    for (std::size_t call = 0; call < calls_max; ++call) {
      files_.heal();
      save("old");
      const std::size_t names_before = names();
      files_.fail_at(call, fault, Errno::nospc);
      try {
        save("the new content");
        break;
      } catch (const HostError& error) {
        EXPECT_EQ(error.code(), Errno::nospc) << call;
        ++failed;
      }
      files_.heal();
      const std::optional<std::string> content = found();
      EXPECT_TRUE(!content || content == "old" || content == "the new content") << call;
      if (fault == FaultyFiles::Fault::error) {
        EXPECT_LE(names(), names_before) << call;
      }
      save("good again");
      EXPECT_EQ(found(), "good again") << call;
    }
    // Making it, writing it, the old record, its name in three steps, as the old file has it, and
    // the record's three.
    EXPECT_EQ(failed, 9U);
  }
}

TEST_F(TrustedFileTest, ASmallFileIsReplacedOrAsItWas) {
  const auto put = [&](std::string_view text) {
    return replace_file(path_, std::as_bytes(std::span(text)), files_);
  };
  ASSERT_TRUE(put("old"));
  std::size_t failed = 0;
  for (std::size_t call = 0; call < calls_max; ++call) {
    files_.fail_at(call, FaultyFiles::Fault::error, Errno::nospc);
    const Result<void> done = put("new");
    if (done) break;
    EXPECT_EQ(done.error(), Errno::nospc);
    EXPECT_EQ(read_small_file(path_, 16), "old");
    EXPECT_EQ(names(), 1U);
    ++failed;
  }
  EXPECT_EQ(failed, 5U);
  EXPECT_EQ(read_small_file(path_, 16), "new");
}

}  // namespace
}  // namespace cloche::wasm
