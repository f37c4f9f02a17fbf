// SPDX-License-Identifier: Apache-2.0
// Folders of this machine in sandboxes of both engines.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "cloche/live_run.h"
#include "engines_testing.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "cloche-mount-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class HostFolders : public testing::OnEachEngine {
 protected:
  std::unique_ptr<Sandbox> with(const std::string& guest, Mount::Access access) const {
    return make_sandbox(
        {.mounts = {{.host_path = folder_.path(), .guest_path = guest, .access = access}}});
  }
  std::string refusal(const SandboxOptions& options) const {
    try {
      (void)make_sandbox(options);
    } catch (const Error& problem) {
      return problem.what();
    }
    return {};
  }

  const Folder folder_;
};

TEST_P(HostFolders, WhatIsWrittenIsThereOnBothSides) {
  std::ofstream(folder_.path() / "data") << "of the host\n";
  const auto sandbox = with("/mnt/deep/host", Mount::Access::read_write);
  const RunResult result = sandbox->run(
      {.script = "cd /mnt/deep/host && cat data && mkdir sub && echo one > sub/new && echo two "
                 ">> data && mv sub/new sub/named && ln -s data link && cat link"});
  EXPECT_EQ(result.stdout_data, "of the host\nof the host\ntwo\n") << result.stderr_data;
  EXPECT_EQ(content_of(folder_.path() / "sub/named"), "one\n");
  EXPECT_EQ(content_of(folder_.path() / "data"), "of the host\ntwo\n");
  ASSERT_TRUE(sandbox->files().write("/mnt/deep/host/by_files", "three"));
  EXPECT_EQ(content_of(folder_.path() / "by_files"), "three");
  std::ofstream(folder_.path() / "later") << "four";
  EXPECT_EQ(*sandbox->files().read("/mnt/deep/host/later"), "four");
  // It belongs to whose the folder is.
  struct stat folder{}, file{};
  ASSERT_EQ(::stat(folder_.path().c_str(), &folder), 0);
  ASSERT_EQ(::stat((folder_.path() / "by_files").c_str(), &file), 0);
  EXPECT_EQ(file.st_uid, folder.st_uid);
  EXPECT_EQ(file.st_gid, folder.st_gid);
}

TEST_P(HostFolders, WhatIsReadOnlyStaysSo) {
  std::ofstream(folder_.path() / "data") << "data";
  const auto sandbox = with("/data", Mount::Access::read_only);
  const RunResult result = sandbox->run(
      {.script = "echo x > /data/data; rm /data/data; touch /data/new; cat /data/data"});
  EXPECT_EQ(result.stdout_data, "data");
  EXPECT_THAT(result.stderr_data, HasSubstr("Read-only file system"));
  EXPECT_EQ(sandbox->files().write("/data/new", "x").error(), Errno::rofs);
  EXPECT_FALSE(fs::exists(folder_.path() / "new"));
}

TEST_P(HostFolders, NothingLeadsOutOfThem) {
  const Folder outside;
  std::ofstream(outside.path() / "secret") << "secret";
  fs::create_symlink(outside.path() / "secret", folder_.path() / "link");
  fs::create_directory_symlink("../" + outside.path().filename().string(),
                               folder_.path() / "folder");
  const auto sandbox = with("/mnt/host", Mount::Access::read_write);
  for (const std::string& path :
       {std::string("/mnt/host/link"), std::string("/mnt/host/folder/secret"),
        "/mnt/host/../../" + (outside.path() / "secret").string()}) {
    EXPECT_NE(sandbox->run({.script = "cat " + path}).exit_code, 0) << path;
    EXPECT_FALSE(sandbox->files().read(path)) << path;
  }
  EXPECT_EQ(content_of(outside.path() / "secret"), "secret");
}

// Whoever is in a folder of the host's while it is moved to elsewhere comes to nothing of elsewhere.
TEST_P(HostFolders, AFolderThatIsMovedAwayLeadsNowhere) {
  const Folder outside;
  std::ofstream(outside.path() / "secret") << "of elsewhere";
  std::ofstream(outside.path() / "listed") << "";
  fs::create_directories(folder_.path() / "a/b");
  const auto sandbox = with("/host", Mount::Access::read_write);
  std::mutex mutex;
  std::condition_variable changed;
  std::string output;
  LiveRunOptions options;
  options.command.script =
      "cd /host/a/b; echo ready; read go; cat ../../secret; ls ../..; cd ../..; cat secret; ls; "
      "cat /host/a/../secret; ls /host/a; echo done";
  options.command.output = [&](Stream, std::string_view bytes) {
    const std::lock_guard lock(mutex);
    output += bytes;
    changed.notify_all();
  };
  const auto live = sandbox->start(std::move(options));
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return output.find("ready") != output.npos; });
  }
  fs::rename(folder_.path() / "a", outside.path() / "a");
  ASSERT_TRUE(live->write_all("go\n"));
  (void)live->wait();
  EXPECT_THAT(output, HasSubstr("done"));
  EXPECT_THAT(output, Not(HasSubstr("of elsewhere")));
  EXPECT_THAT(output, Not(HasSubstr("listed")));
}

// Of a folder that is mounted, and in that another one for a later sandbox.
TEST_P(HostFolders, AGuestDoesNotSayWhatIsMountedNext) {
  const Folder outside;
  std::ofstream(outside.path() / "secret") << "of elsewhere";
  fs::create_directory(outside.path() / "inner");
  const auto mount = [](const fs::path& host, const std::string& guest) {
    return Mount{.host_path = host, .guest_path = guest};
  };
  for (const char* name : {"inner", "way/inner", "file"}) {
    fs::create_directories(folder_.path() / "inner");
    fs::create_directories(folder_.path() / "way/inner");
    std::ofstream(folder_.path() / "file") << "mine";
    const auto sandbox = make_sandbox(
        {.mounts = {mount(folder_.path(), "/outer"), mount(folder_.path() / name, "/inner")}});
    const std::string place = std::string(name).substr(0, std::string(name).find('/'));
    const fs::path target = place == "file" ? outside.path() / "secret" : outside.path();
    const RunResult swapped =
        sandbox->run({.script = "mv /outer/" + place + " /outer/moved; ln -s " + target.string() +
                                " /outer/" + place + " && echo done"});
    ASSERT_EQ(swapped.stdout_data, "done\n") << swapped.stderr_data;
    EXPECT_THAT(refusal({.mounts = {mount(folder_.path() / name, "/inner")}}),
                HasSubstr("a link in a folder that guests may write to"));
    fs::remove_all(folder_.path() / place);
    fs::remove_all(folder_.path() / "moved");
  }
  // One that leads to what the guest has anyway is followed.
  fs::create_directory(folder_.path() / "real");
  fs::create_directory_symlink("real", folder_.path() / "in");
  EXPECT_EQ(refusal({.mounts = {mount(folder_.path() / "in", "/inner")}}), "");
}

TEST_P(HostFolders, NoFileBecomesSetId) {
  std::ofstream(folder_.path() / "program") << "x";
  const auto sandbox = with("/host", Mount::Access::read_write);
  (void)sandbox->run({.script = "chmod 6755 /host/program; chmod u+s /host/program; cp -p "
                                "/host/program /host/other; chmod g+s /host/other"});
  (void)sandbox->files().change_mode("/host/program", 04755);
  (void)sandbox->files().write("/host/third", "x", 04755);
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    struct stat of{};
    ASSERT_EQ(::stat(entry.path().c_str(), &of), 0);
    EXPECT_EQ(of.st_mode & 06000, 0U) << entry.path();
  }
}

TEST_P(HostFolders, AForkHasThemToo) {
  const auto sandbox = with("/host", Mount::Access::read_write);
  const auto twin = sandbox->fork();
  EXPECT_EQ(twin->run({.script = "echo twin > /host/file"}).exit_code, 0);
  EXPECT_EQ(sandbox->run({.script = "cat /host/file"}).stdout_data, "twin\n");
}

TEST_P(HostFolders, SeveralMayLieInEachOther) {
  const Folder inner;
  std::ofstream(inner.path() / "file") << "inner";
  const auto sandbox =
      make_sandbox({.mounts = {{.host_path = folder_.path(), .guest_path = "/host"},
                               {.host_path = inner.path(),
                                .guest_path = "/host/in",
                                .access = Mount::Access::read_only}}});
  EXPECT_EQ(sandbox->run({.script = "cat /host/in/file"}).stdout_data, "inner");
  EXPECT_NE(sandbox->run({.script = "touch /host/in/new"}).exit_code, 0);
  EXPECT_EQ(sandbox->run({.script = "touch /host/new"}).exit_code, 0);
}

TEST_P(HostFolders, WhatCannotBeMountedIsOneSentence) {
  const auto of = [](const fs::path& host, const char* guest) {
    return SandboxOptions{.mounts = {{.host_path = host, .guest_path = guest}}};
  };
  EXPECT_THAT(refusal(of("/nonesuch/folder", "/data")), HasSubstr("/nonesuch/folder"));
  EXPECT_THAT(refusal(of(folder_.path(), "data")), HasSubstr("absolute path"));
  for (const char* root : {"/", "//", "/data/.."})
    EXPECT_THAT(refusal(of(folder_.path(), root)), HasSubstr("absolute path")) << root;
  for (const char* own : {"/proc", "/proc/", "/proc/self/x", "//data/../proc", "/dev/pts/0"})
    EXPECT_THAT(refusal(of(folder_.path(), own)), HasSubstr("the system's own")) << own;
  EXPECT_THAT(refusal(of(folder_.path(), "/etc/passwd")), HasSubstr("cannot mount"));
}

CLOCHE_ON_EACH_ENGINE(HostFolders);

}  // namespace
}  // namespace cloche
