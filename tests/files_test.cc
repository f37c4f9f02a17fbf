// SPDX-License-Identifier: Apache-2.0
// Files of a sandbox from the host's side, mounts, and forks.
#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>

#include "cloche/folder_watch.h"
#include "cloche/open_file.h"
#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

// A folder of the host for one test.
class HostFolder {
 public:
  HostFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cloche_test_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~HostFolder() { std::filesystem::remove_all(path_); }
  HostFolder(const HostFolder&) = delete;
  HostFolder& operator=(const HostFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(Files, HostAndGuestSeeTheSameFiles) {
  const auto sandbox = make_sandbox();
  const std::string binary("\0\xff\n", 3);
  ASSERT_TRUE(sandbox->files().write("dir/from_host", binary));
  EXPECT_EQ(
      sandbox->run({.script = "od -An -tx1 dir/from_host; echo guest > from_guest"}).stdout_data,
      " 00 ff 0a\n");
  EXPECT_EQ(*sandbox->files().read("/workspace/from_guest"), "guest\n");
  EXPECT_EQ(sandbox->files().stat("dir")->kind, FileKind::directory);
  EXPECT_EQ(sandbox->files().read("nonesuch").error(), Errno::noent);
  EXPECT_EQ(sandbox->files().read("dir").error(), Errno::isdir);
  EXPECT_EQ(sandbox->files().write("/etc/passwd", "x").error(), Errno::acces);
  EXPECT_EQ(sandbox->files().read("../../../../etc/shadow").error(), Errno::noent);
}

TEST(Files, PartsOfAFileAndSingleFolders) {
  const auto sandbox = make_sandbox();
  Files& files = sandbox->files();
  ASSERT_TRUE(files.write("f", "0123456789"));
  EXPECT_EQ(*files.read_range("f", 0, 4), "0123");
  EXPECT_EQ(*files.read_range("f", 8, 4), "89");
  EXPECT_EQ(*files.read_range("f", UINT64_MAX, 4), "");
  EXPECT_EQ(files.read_range(".", 0, 4).error(), Errno::isdir);

  EXPECT_TRUE(files.make_directory("d"));
  EXPECT_EQ(files.make_directory("d").error(), Errno::exist);
  EXPECT_EQ(files.make_directory("f").error(), Errno::exist);
  EXPECT_EQ(files.make_directory("x/y").error(), Errno::noent);
}

TEST(Files, WhatIsMadeUpAsItIsReadIsReadInParts) {
  const auto sandbox = make_sandbox();
  Files& files = sandbox->files();
  const std::string whole = *files.read("/proc/cpuinfo");
  ASSERT_GT(whole.size(), 8U);
  const std::unique_ptr<OpenFile> open = *files.open("/proc/cpuinfo", OpenMode::read);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{8}}) {
    EXPECT_EQ(*files.read_range("/proc/cpuinfo", offset, 1 << 20), whole.substr(offset));
    EXPECT_EQ(*open->read(offset, 1 << 20), whole.substr(offset));
  }
  EXPECT_EQ(*open->read(0, 8), whole.substr(0, 8));
  EXPECT_EQ(*open->read(whole.size(), 8), "");
  ASSERT_TRUE(files.write("empty", ""));
  EXPECT_EQ(*files.read_range("empty", 0, 1 << 20), "");
  const auto is_version = [](const FileInfo& info) { return info.name == "version"; };
  EXPECT_EQ(std::ranges::count_if(*files.list("/proc"), is_version), 1);
}

TEST(Files, LinksTimesAndOwners) {
  const auto sandbox = make_sandbox();
  Files& files = sandbox->files();
  ASSERT_TRUE(files.write("f", "content"));
  ASSERT_TRUE(files.make_link("f", "hard"));
  EXPECT_EQ(sandbox->run({.script = "stat -c '%h %s' f hard"}).stdout_data, "2 7\n2 7\n");
  EXPECT_EQ(files.make_link("f", "hard").error(), Errno::exist);
  EXPECT_EQ(files.make_link("none", "new").error(), Errno::noent);
  EXPECT_EQ(files.make_link("f", "none/new").error(), Errno::noent);
  EXPECT_EQ(files.make_link("f", "new/").error(), Errno::noent);
  EXPECT_EQ(files.make_link("f", ".").error(), Errno::exist);
  EXPECT_EQ(files.make_link(".", "new").error(), Errno::perm);
  EXPECT_FALSE(files.make_link("/etc/passwd", "new")) << "as a user may not whom it is nothing of";
  EXPECT_EQ(files.make_link("/proc/version", "new").error(), Errno::xdev);

  ASSERT_TRUE(files.make_symlink("f", "soft"));
  ASSERT_TRUE(files.make_link("soft", "soft too"));
  EXPECT_EQ(files.link_stat("soft too")->target, "f");
  constexpr std::int64_t day_ns = 86'400'000'000'000;
  ASSERT_TRUE(files.set_times("soft", 1 * day_ns, 2 * day_ns));
  ASSERT_TRUE(files.set_link_times("soft", 3 * day_ns, 4 * day_ns));
  EXPECT_EQ(files.stat("f")->accessed_ns, 1 * day_ns);
  EXPECT_EQ(files.stat("f")->modified_ns, 2 * day_ns);
  EXPECT_EQ(files.link_stat("soft")->accessed_ns, 3 * day_ns);
  EXPECT_EQ(files.link_stat("soft")->modified_ns, 4 * day_ns);

  EXPECT_TRUE(files.change_owner("f", 1000, 1000)) << "as it is";
  EXPECT_EQ(files.change_owner("f", 0, 1000).error(), Errno::perm);
  EXPECT_EQ(files.change_owner("none", 0, 0).error(), Errno::noent);
  EXPECT_TRUE(sandbox->files(Account::root).change_owner("/workspace/f", 0, 0));
  EXPECT_EQ(files.stat("f")->user, 0u);
}

// What has changed, one line each.
std::string changes_of(FolderWatch& watch) {
  static constexpr std::array words{"created", "written", "removed", "renamed", "attributes"};
  const std::vector<FileChange> changes = *watch.take();
  std::string text;
  for (const FileChange& change : changes)
    text += words[static_cast<std::size_t>(change.kind)] + (" " + change.path) + "\n";
  return text;
}

TEST(Files, AWatchSeesWhatProgramsAndTheHostDo) {
  const auto sandbox = make_sandbox();
  Files& files = sandbox->files();
  ASSERT_TRUE(files.make_directories("dir/sub"));
  std::atomic<int> told = 0;
  const auto tree = *files.watch("dir", WatchDepth::tree, [&] { ++told; });
  const auto folder = *files.watch("dir", WatchDepth::folder, nullptr);
  EXPECT_EQ(sandbox
                ->run({.script = "cd dir; echo a > f; chmod 600 f; mv f g; rm g; echo b > sub/h; "
                                 "mkdir new; touch new/i; mv new/i sub"})
                .exit_code,
            0);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(changes_of(*folder),
            "created f\nwritten f\nattributes f\nrenamed f\ncreated g\nremoved g\ncreated new\n");
  EXPECT_EQ(changes_of(*tree),
            "created f\nwritten f\nattributes f\nrenamed f\ncreated g\nremoved g\n"
            "created sub/h\nwritten sub/h\ncreated new\ncreated new/i\nattributes new/i\n"
            "renamed new/i\ncreated sub/i\n");
  ASSERT_TRUE(files.remove_all("dir"));
  EXPECT_EQ(told, 2);
  EXPECT_TRUE(tree->is_over());
  EXPECT_TRUE(changes_of(*tree).ends_with("removed .\n"));
}

TEST(Files, WhatMayNotBeReadOrDoesNotTellIsNotWatched) {
  const HostFolder host;
  SandboxOptions options;
  options.mounts.push_back({host.path(), "/host", Mount::Access::read_write});
  const auto sandbox = make_sandbox(options);
  const auto error_of = [&](const char* path) {
    return sandbox->files().watch(path, WatchDepth::tree, nullptr).error();
  };
  EXPECT_EQ(error_of("nonesuch"), Errno::noent);
  EXPECT_EQ(error_of("/etc/passwd"), Errno::notdir);
  ASSERT_TRUE(sandbox->files().make_directory("shut"));
  ASSERT_TRUE(sandbox->files().change_mode("shut", 0));
  EXPECT_EQ(error_of("shut"), Errno::acces);
  EXPECT_EQ(error_of("/proc"), Errno::notsup);
  EXPECT_EQ(error_of("/host"), Errno::notsup);
}

TEST(Files, ListGlobAndRemove) {
  const auto sandbox = make_sandbox();
  for (const char* name : {"a.txt", "b.txt", "sub/c.txt"})
    ASSERT_TRUE(sandbox->files().write(name, name));
  EXPECT_EQ(sandbox->files().list(".")->size(), 3u);
  EXPECT_EQ(*sandbox->files().glob("**/*.txt"),
            (std::vector<std::string>{"a.txt", "b.txt", "sub/c.txt"}));
  EXPECT_EQ(sandbox->files().remove("sub").error(), Errno::notempty);
  ASSERT_TRUE(sandbox->files().remove_all("sub"));
  EXPECT_EQ(sandbox->files().list(".")->size(), 2u);
}

TEST(Mounts, AFolderOfTheHostWithoutAWayOut) {
  const HostFolder outside;
  const HostFolder inside;
  std::ofstream(outside.path() / "secret") << "secret";
  std::ofstream(inside.path() / "data") << "data\n";
  std::filesystem::create_symlink(outside.path() / "secret", inside.path() / "link");
  const auto sandbox =
      make_sandbox({.mounts = {{inside.path(), "/mnt/host", Mount::Access::read_write}}});
  EXPECT_EQ(sandbox->run({.script = "cat /mnt/host/data"}).stdout_data, "data\n");
  EXPECT_NE(sandbox->run({.script = "cat /mnt/host/link"}).exit_code, 0);
  EXPECT_NE(sandbox->run({.script = "cat /mnt/host/../../" + (outside.path() / "secret").string()})
                .exit_code,
            0);
  EXPECT_EQ(sandbox->run({.script = "echo new > /mnt/host/new"}).exit_code, 0);
  EXPECT_EQ(std::filesystem::file_size(inside.path() / "new"), 4u);
}

TEST(Mounts, AShellInARemovedFolderOfOneStillStartsPrograms) {
  const HostFolder folder;
  const auto sandbox =
      make_sandbox({.mounts = {{folder.path(), "/mnt/host", Mount::Access::read_write}}});
  const RunResult result = sandbox->run(
      {.script = "mkdir gone; cd gone; rmdir ../gone; seq 2; cd /tmp; pwd", .cwd = "/mnt/host"});
  EXPECT_EQ(result.stdout_data, "1\n2\n/tmp\n") << result.stderr_data;
}

TEST(Mounts, ReadOnlyOnesStaySo) {
  const HostFolder folder;
  std::ofstream(folder.path() / "data") << "data";
  const auto sandbox =
      make_sandbox({.mounts = {{folder.path(), "/data", Mount::Access::read_only}}});
  const RunResult result = sandbox->run(
      {.script = "echo x > /data/data; rm /data/data; touch /data/new; cat /data/data"});
  EXPECT_EQ(result.stdout_data, "data");
  EXPECT_NE(result.stderr_data.find("Read-only file system"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "new"));
}

TEST(Mounts, OneThatIsNotThereIsAClearError) {
  try {
    make_sandbox({.mounts = {{"/nonesuch/folder", "/data", Mount::Access::read_only}}});
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("/nonesuch/folder"), std::string::npos);
  }
}

TEST(Fork, GoesItsOwnWay) {
  const auto sandbox = make_sandbox({.environment = {{"NAME", "parent"}}});
  ASSERT_EQ(sandbox->run({.script = "echo common > file"}).exit_code, 0);
  const auto twin = sandbox->fork();
  twin->set_environment("NAME", "twin");
  ASSERT_EQ(twin->run({.script = "cat file; echo more >> file"}).stdout_data, "common\n");
  EXPECT_EQ(sandbox->run({.script = "cat file; echo $NAME"}).stdout_data, "common\nparent\n");
  EXPECT_EQ(twin->run({.script = "cat file; echo $NAME"}).stdout_data, "common\nmore\ntwin\n");
}

}  // namespace
}  // namespace cloche::testing
