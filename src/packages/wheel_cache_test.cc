// SPDX-License-Identifier: Apache-2.0
#include "packages/wheel_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/faulty_files_testing.h"
#include "base/temp_dir_testing.h"

namespace cloche::packages {
namespace {

WheelName name_of(std::string_view content, const std::string& address = "https://a.test/x.whl",
                  const std::string& origin = "https://a.test:443") {
  return {origin, address, sha256(content)};
}

bool put(WheelCache& cache, const WheelName& name, std::string_view content) {
  const auto deposit = cache.begin(name, content.size());
  return deposit && deposit->write(std::as_bytes(std::span(content)));
}

std::string get(const WheelCache& cache, const WheelName& name) {
  const auto found = cache.find(name);
  if (!found) return "-";
  std::string content(found->size, '\0');
  EXPECT_EQ(pread(found->fd.get(), content.data(), content.size(), 0),
            static_cast<ssize_t>(content.size()));
  return content;
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class WheelCacheTest : public ::testing::Test {
 protected:
  TempDir folder_;
  WheelCache cache_{folder_.path(), 400};
};

TEST_F(WheelCacheTest, FindsWhatHasThisOriginAddressAndHash) {
  ASSERT_TRUE(put(cache_, name_of("wheel"), "wheel"));
  EXPECT_EQ(get(cache_, name_of("wheel")), "wheel");
  EXPECT_EQ(get(cache_, name_of("wheel", "https://a.test/y.whl")), "-");
  EXPECT_EQ(get(cache_, name_of("wheel", "https://a.test/x.whl", "https://b.test:443")), "-");
  EXPECT_EQ(get(cache_, name_of("other")), "-");
  // No other split of the same letters is the same place.
  EXPECT_EQ(get(cache_, name_of("wheel", "3https://a.test/x.whl", "https://a.test:44")), "-");
}

TEST_F(WheelCacheTest, KeepsOnlyWhatIsWholeAndHasItsHash) {
  EXPECT_FALSE(put(cache_, name_of("wheel"), "poison"));
  EXPECT_EQ(get(cache_, name_of("wheel")), "-");
  const std::string content = "in two parts";
  const auto bytes = std::as_bytes(std::span(content));
  {
    const auto deposit = cache_.begin(name_of(content), content.size());
    ASSERT_TRUE(deposit);
    EXPECT_TRUE(deposit->write(bytes.first(5)));
  }
  EXPECT_EQ(get(cache_, name_of(content)), "-");
  const auto deposit = cache_.begin(name_of(content), content.size());
  ASSERT_TRUE(deposit);
  EXPECT_TRUE(deposit->write(bytes.first(5)));
  EXPECT_EQ(get(cache_, name_of(content)), "-");
  EXPECT_TRUE(deposit->write(bytes.subspan(5)));
  EXPECT_FALSE(deposit->write(bytes));
  EXPECT_EQ(get(cache_, name_of(content)), content);
  const auto longer = cache_.begin(name_of("xy"), 2);
  EXPECT_FALSE(longer->write(bytes));
  EXPECT_EQ(files_in(folder_.path().string()), 1U);
}

TEST_F(WheelCacheTest, AFileThatCameToHarmIsReplaced) {
  ASSERT_TRUE(put(cache_, name_of("wheel"), "wheel"));
  const auto file = std::filesystem::directory_iterator(folder_.path())->path();
  struct stat status{};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  std::ofstream(file) << "damage";
  EXPECT_EQ(get(cache_, name_of("wheel")), "damage");  // who reads it checks it
  ASSERT_TRUE(put(cache_, name_of("wheel"), "wheel"));
  EXPECT_EQ(get(cache_, name_of("wheel")), "wheel");
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/etc/passwd", file);
  EXPECT_EQ(get(cache_, name_of("wheel")), "-");
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(get(cache_, name_of("wheel")), "-");  // and nobody waits
}

TEST_F(WheelCacheTest, WhatWasNotUsedForTheLongestTimeGoes) {
  const std::string a(100, 'a');
  const std::string b(100, 'b');
  const std::string c(100, 'c');
  const std::string d(100, 'd');
  const std::string e(100, 'e');
  const auto set_age = [&](const std::string& content, int age_s) {
    const auto found = cache_.find(name_of(content));
    ASSERT_TRUE(found);
    const timespec time{::time(nullptr) - age_s, 0};
    const std::array<timespec, 2> times{time, time};
    ASSERT_EQ(futimens(found->fd.get(), times.data()), 0);
  };
  for (const std::string& content : {a, b, c, d})
    ASSERT_TRUE(put(cache_, name_of(content), content));
  set_age(a, 40);
  set_age(b, 50);
  set_age(c, 30);
  set_age(d, 20);
  std::ofstream(folder_.path() / "old.part") << "of a crash";
  std::filesystem::last_write_time(
      folder_.path() / "old.part",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_TRUE(put(cache_, name_of(e), e));
  EXPECT_EQ(get(cache_, name_of(b)), "-");
  EXPECT_EQ(get(cache_, name_of(a)), a);
  EXPECT_EQ(files_in(folder_.path().string()), 4U);
}

// Each takes a block of the disk and a name, whatever its size.
TEST_F(WheelCacheTest, SmallOnesAreSoMany) {
  std::size_t most = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string content = std::to_string(i);
    ASSERT_TRUE(put(cache_, name_of(content), content));
    most = std::max(most, files_in(folder_.path().string()));
  }
  EXPECT_EQ(most, 16U);
  EXPECT_EQ(get(cache_, name_of("39")), "39");
}

TEST_F(WheelCacheTest, ShortWritesMakeAWholeFile) {
  FaultyFiles files;
  files.write_max = 3;
  WheelCache cache(folder_.path(), 400, files);
  const std::string content = "in pieces of three bytes";
  ASSERT_TRUE(put(cache, name_of(content), content));
  EXPECT_EQ(get(cache, name_of(content)), content);
}

// Each call that changes something fails once, or is the last one before the host is cut off.
class WheelCacheFaults : public ::testing::TestWithParam<std::pair<FaultyFiles::Fault, Errno>> {};

TEST_P(WheelCacheFaults, WhateverFailsNothingHalfIsFoundAndTheNextOneIsKept) {
  const auto [fault, error] = GetParam();
  const std::string content(90, 'w');
  bool failed = true;
  for (std::size_t call = 0; failed; ++call) {
    ASSERT_LT(call, 100U);
    const TempDir folder;
    FaultyFiles files;
    files.write_max = 20;
    WheelCache cache(folder.path(), 400, files);
    files.fail_at(call, fault, error);
    failed = !put(cache, name_of(content), content);
    EXPECT_EQ(get(cache, name_of(content)), failed ? "-" : content) << call;
    files.heal();
    if (failed && fault == FaultyFiles::Fault::error) {
      EXPECT_EQ(files_in(folder.path().string()), 0U);
    }
    // What was being written counts no more: all that one file may have is free for the next.
    EXPECT_TRUE(put(cache, name_of(content), content)) << call;
    EXPECT_EQ(get(cache, name_of(content)), content) << call;
  }
}
INSTANTIATE_TEST_SUITE_P(Faults, WheelCacheFaults,
                         ::testing::Values(std::pair(FaultyFiles::Fault::error, Errno::io),
                                           std::pair(FaultyFiles::Fault::error, Errno::nospc),
                                           std::pair(FaultyFiles::Fault::crash, Errno::io)));

TEST_F(WheelCacheTest, TakesNoMoreAtATimeThanItMayHold) {
  EXPECT_FALSE(cache_.begin(name_of("x"), 101));
  EXPECT_FALSE(cache_.begin(name_of("x"), 0));
  std::vector<std::unique_ptr<WheelCache::Deposit>> open;
  open.reserve(4);
  for (int i = 0; i < 4; ++i) open.push_back(cache_.begin(name_of(std::to_string(i)), 100));
  EXPECT_TRUE(open.back());
  EXPECT_FALSE(cache_.begin(name_of("x"), 1));
  open.pop_back();
  EXPECT_TRUE(cache_.begin(name_of("x"), 1));
}

}  // namespace
}  // namespace cloche::packages
