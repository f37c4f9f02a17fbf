// SPDX-License-Identifier: Apache-2.0
// The folder of images: who makes one, and what goes when it is full.
#include "python/image_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "base/temp_dir_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::python {
namespace {

class Folder : public TempDir {
 public:
  // Last used at that second.
  std::filesystem::path add(const std::string& name, std::size_t bytes, int second) const {
    write(name, std::string(bytes, 'x'));
    write(name + ".record", "r");
    std::filesystem::path file = path() / name;
    for (const std::string& part : {file.string(), file.string() + ".record"}) {
      const timespec times[] = {{second, 0}, {second, 0}};
      EXPECT_EQ(utimensat(AT_FDCWD, part.c_str(), times, 0), 0);
    }
    return file;
  }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path()))
      names.insert(entry.path().filename().string());
    return names;
  }
};

using Names = std::set<std::string>;

TEST(ImageCache, TheLongestUnusedGoWhenThereIsNoRoom) {
  const Folder folder;
  const auto newest = folder.add("a-1.image", 400, 50);
  folder.add("a-2.image", 400, 30);
  folder.add("a-3.image", 400, 10);
  folder.add("b-1.image", 4000, 1);
  prune_images(folder.path(), "a-", 800, newest);
  EXPECT_EQ(folder.names(), (Names{"a-1.image", "a-1.image.record", "a-2.image", "a-2.image.record",
                                   "b-1.image", "b-1.image.record"}));
}

TEST(ImageCache, UseIsWhatCounts) {
  const Folder folder;
  const auto newest = folder.add("a-1.image", 400, 50);
  folder.add("a-2.image", 400, 30);
  const auto used = folder.add("a-3.image", 400, 10);
  mark_used(used);
  prune_images(folder.path(), "a-", 800, newest);
  EXPECT_EQ(folder.names(),
            (Names{"a-1.image", "a-1.image.record", "a-3.image", "a-3.image.record"}));
}

TEST(ImageCache, TheNewOneStaysHoweverLargeItIs) {
  const Folder folder;
  folder.add("a-1.image", 400, 50);
  const auto large = folder.add("a-2.image", 4000, 10);
  prune_images(folder.path(), "a-", 800, large);
  EXPECT_EQ(folder.names(), (Names{"a-2.image", "a-2.image.record"}));
  prune_images(folder.path() / "none", "a-", 800, large);
}

class Claims : public ::testing::Test {
 protected:
  std::optional<ImageClaim> claim(std::string_view key = "numpy") {
    return cache_.claim(*module_, key);
  }

  Folder folder_;
  wasm::GuestMaker guests_;
  std::shared_ptr<const wasm::LinkedModule> guest_ = guests_.link("(module (memory 1))");
  const wasm::Module* module_ = &guest_->module();
  ImageCache cache_{folder_.path(), "0123456789abcdef0"};
};

TEST_F(Claims, OneMakesAnImageAtATime) {
  auto first = claim();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->is_second_try());
  EXPECT_FALSE(claim());
  EXPECT_TRUE(claim("pandas"));
  first->settle();
  const auto again = claim();
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_second_try());
}

TEST_F(Claims, OneThatWasLeftIsASecondTry) {
  (void)claim();
  auto second = claim();
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->is_second_try());
  second->settle();
  EXPECT_FALSE(claim()->is_second_try());
}

TEST_F(Claims, WithoutAFolderEverybodyMakesTheirOwn) {
  const ImageCache none("", "0123456789abcdef0");
  const auto first = none.claim(*module_, "numpy");
  const auto second = none.claim(*module_, "numpy");
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(second->is_second_try());
}

}  // namespace
}  // namespace cloche::python
