// SPDX-License-Identifier: Apache-2.0
// Files in memory that the warden makes: who has one as it can be read has no way to write it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "base/write_fully.h"
#include "native/host/box_testing.h"

namespace cloche::native {
namespace {

class LargeFilesTest : public BoxTest {
 protected:
  LargeFile make(std::string_view content) {
    Result<LargeFile> made = warden_.make_file();
    if (!made) throw std::runtime_error("the warden has made no file");
    EXPECT_TRUE(write_fully(made->writable.get(), content));
    return *std::move(made);
  }
  static std::string content_of(const UniqueFd& file) {
    std::string content(64, '\0');
    const ssize_t got = ::pread(file.get(), content.data(), content.size(), 0);
    content.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return content;
  }
};

TEST_F(LargeFilesTest, AreReadWhileTheyAreWritten) {
  const LargeFile one = make("one"), other = make("other");
  EXPECT_EQ(content_of(one.readable), "one");
  EXPECT_EQ(content_of(other.readable), "other");
  ASSERT_TRUE(write_fully(one.writable.get(), " more"));
  EXPECT_EQ(content_of(one.readable), "one more");
}

TEST_F(LargeFilesTest, TakeWhatIsWrittenAndLittleMore) {
  const std::string content(8 << 20, 'c');
  const LargeFile file = make(content);
  struct stat of{};
  ASSERT_EQ(::fstat(file.readable.get(), &of), 0);
  EXPECT_EQ(static_cast<std::size_t>(of.st_size), content.size());
  EXPECT_GE(static_cast<std::size_t>(of.st_blocks) * 512, content.size());
  EXPECT_LE(static_cast<std::size_t>(of.st_blocks) * 512, content.size() + (2 << 20));
}

// As root too.
TEST_F(LargeFilesTest, CannotBeWrittenByWhoReadsThem) {
  const LargeFile file = make("content");
  const std::string own_name = fmt::format("/proc/self/fd/{}", file.readable.get());
  EXPECT_LT(::write(file.readable.get(), "x", 1), 0);
  EXPECT_LT(::ftruncate(file.readable.get(), 1 << 20), 0);
  EXPECT_LT(::fchmod(file.readable.get(), 0777), 0);
  EXPECT_EQ(errno, EROFS);
  EXPECT_LT(::open(own_name.c_str(), O_RDWR | O_CLOEXEC), 0);
  EXPECT_EQ(errno, EROFS);
  EXPECT_LT(::fallocate(file.readable.get(), 0, 0, 1 << 20), 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, file.readable.get(), 0), MAP_FAILED);
  EXPECT_EQ(content_of(file.readable), "content");
}

TEST_F(LargeFilesTest, CannotBeWrittenByABoxThatIsTheirOwner) {
  LargeFile file = make("content");
  file.writable.reset();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Result<std::unique_ptr<Command>> command = box_->start(
      {.arguments =
           {"bash", "-c",
            "cat <&3; exec 2>/dev/null; f=/proc/self/fd/3; echo x >$f || echo -n ' kept'; "
            "chmod 777 $f || echo -n ' kept'; rm -f /tmp/l; ln -L $f /tmp/l || echo ' kept'; "
            "$f; echo $?"},
       .environment = {"PATH=/usr/bin:/bin"},
       .directory = "/",
       .files = {nothing.get(), in.get(), in.get(), file.readable.get()}});
  ASSERT_TRUE(command.ok());
  in.reset();
  EXPECT_EQ(read_all(out), "content kept kept kept\n126\n");
  EXPECT_EQ(content_of(file.readable), "content");
}

TEST_F(LargeFilesTest, HaveCodeThatIsExecutedWhereItIsMapped) {
  const LargeFile file = make("code");
  void* const mapped =
      ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.readable.get(), 0);
  EXPECT_NE(mapped, MAP_FAILED);
  ::munmap(mapped, 4096);
}

TEST_F(LargeFilesTest, OutliveTheWarden) {
  const LargeFile file = make("content");
  const pid_t process = warden_process();
  ASSERT_GT(process, 0);
  ::kill(process, SIGKILL);
  EXPECT_EQ(content_of(file.readable), "content");
  Result<LargeFile> after = warden_.make_file();
  EXPECT_FALSE(after.ok());
}

TEST(LargeFiles, AreNotThereWithoutAWarden) {
  Warden warden("");
  EXPECT_EQ(warden.make_file().error(), Errno::nosys);
}

}  // namespace
}  // namespace cloche::native
