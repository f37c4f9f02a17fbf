// SPDX-License-Identifier: Apache-2.0
// Single files of this machine in sandboxes of both engines.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/temp_dir_testing.h"
#include "cloche/archive.h"
#include "engines_testing.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;

class HostFiles : public testing::OnEachEngine {
 protected:
  HostFiles() { host_.write("file", "of the host\n"); }

  SandboxOptions at(const std::string& guest, Mount::Access access,
                    const std::string& name = "file") const {
    return {.mounts = {{.host_path = host_.path() / name, .guest_path = guest, .access = access}}};
  }
  std::unique_ptr<Sandbox> with(const std::string& guest,
                                Mount::Access access = Mount::Access::read_write) const {
    return make_sandbox(at(guest, access));
  }
  std::string refusal(const SandboxOptions& options) const {
    try {
      (void)make_sandbox(options);
    } catch (const Error& problem) {
      return problem.what();
    }
    return {};
  }
  static std::string said(Sandbox& sandbox, const std::string& script) {
    const RunResult result = sandbox.run({.script = script});
    return result.stdout_data + result.stderr_data;
  }

  const TempDir host_;
};

TEST_P(HostFiles, WhatIsWrittenIsThereOnBothSides) {
  const auto sandbox = with("/made/for/it/config");
  EXPECT_EQ(said(*sandbox, "cat /made/for/it/config && ls /made/for/it"), "of the host\nconfig\n");
  EXPECT_EQ(said(*sandbox, "echo more >> /made/for/it/config && tail -1 /made/for/it/config"),
            "more\n");
  EXPECT_EQ(host_.read("file"), "of the host\nmore\n");
  EXPECT_EQ(said(*sandbox, "printf of > /made/for/it/config && wc -c < /made/for/it/config"),
            "2\n");
  EXPECT_EQ(host_.read("file"), "of");
  ASSERT_TRUE(sandbox->files().write("/made/for/it/config", "by files()"));
  EXPECT_EQ(host_.read("file"), "by files()");
  host_.write("file", "later");
  EXPECT_EQ(*sandbox->files().read("/made/for/it/config"), "later");
}

TEST_P(HostFiles, WhatIsReadOnlyStaysSo) {
  const auto sandbox = with("/data", Mount::Access::read_only);
  EXPECT_THAT(said(*sandbox, "echo x > /data"), HasSubstr("Read-only file system"));
  EXPECT_THAT(said(*sandbox, "echo x >> /data"), HasSubstr("Read-only file system"));
  EXPECT_THAT(said(*sandbox, "chmod 600 /data"), HasSubstr("Read-only file system"));
  EXPECT_EQ(sandbox->files().write("/data", "x").error(), Errno::rofs);
  EXPECT_EQ(said(*sandbox, "cat /data"), "of the host\n");
  EXPECT_EQ(host_.read("file"), "of the host\n");
}

TEST_P(HostFiles, CoversTheFileThatWasThere) {
  const auto sandbox = with("/etc/passwd", Mount::Access::read_only);
  EXPECT_EQ(said(*sandbox, "cat /etc/passwd"), "of the host\n");
  EXPECT_THAT(said(*sandbox, "ls /etc"), HasSubstr("group"));
}

TEST_P(HostFiles, ItsPlaceIsBusy) {
  const auto sandbox = with("/workspace/file");
  for (const char* script : {"rm -f file", "mv file other", "echo x > new; mv -f new file",
                             "mkdir d; ln -s ../file d/link; rm -rf file d"})
    EXPECT_THAT(said(*sandbox, std::string("cd /workspace; ") + script), HasSubstr("busy"))
        << script;
  EXPECT_NE(said(*sandbox, "ln /workspace/file /workspace/hard"), "");
  EXPECT_EQ(sandbox->files().remove("/workspace/file").error(), Errno::busy);
  EXPECT_EQ(sandbox->files().rename("/workspace/file", "/workspace/other").error(), Errno::busy);
  EXPECT_EQ(said(*sandbox, "cat /workspace/file"), "of the host\n");
  EXPECT_EQ(host_.read("file"), "of the host\n");
}

TEST_P(HostFiles, IsAFileAndNoWayToOthers) {
  host_.write("secret", "secret");
  const auto sandbox = with("/data/file");
  for (const char* path :
       {"/data/file/", "/data/file/.", "/data/file/..", "/data/file/../secret"}) {
    EXPECT_THAT(said(*sandbox, std::string("cat ") + path), Not(HasSubstr("secret\n"))) << path;
    EXPECT_FALSE(sandbox->files().read(path)) << path;
  }
  EXPECT_THAT(said(*sandbox, "cd /data/file"), HasSubstr("Not a directory"));
  EXPECT_EQ(said(*sandbox, "cd /data && ls -a"), ".\n..\nfile\n");
}

// It is the file that was there: what comes into its place on the host is another one.
TEST_P(HostFiles, OneThatTheHostReplacesIsTheOldOne) {
  const auto sandbox = with("/data");
  host_.write("new", "another\n");
  fs::rename(host_.path() / "new", host_.path() / "file");
  EXPECT_EQ(said(*sandbox, "cat /data; echo mine > /data; cat /data"), "of the host\nmine\n");
  EXPECT_EQ(host_.read("file"), "another\n");
  const auto anew = with("/data");
  EXPECT_EQ(said(*anew, "cat /data"), "another\n");
}

TEST_P(HostFiles, OneThatTheHostRemovesLivesOn) {
  const auto sandbox = with("/data");
  fs::remove(host_.path() / "file");
  fs::create_symlink("/etc/hostname", host_.path() / "file");
  EXPECT_EQ(said(*sandbox, "echo more >> /data; cat /data"), "of the host\nmore\n");
}

TEST_P(HostFiles, ALinkIsFollowedOnceWhenItIsMounted) {
  host_.write("other", "other\n");
  fs::create_symlink("file", host_.path() / "link");
  const auto sandbox = make_sandbox(at("/data", Mount::Access::read_write, "link"));
  fs::remove(host_.path() / "link");
  fs::create_symlink("other", host_.path() / "link");
  EXPECT_EQ(said(*sandbox, "echo more >> /data; cat /data"), "of the host\nmore\n");
  EXPECT_EQ(host_.read("other"), "other\n");
}

TEST_P(HostFiles, AForkHasItToo) {
  const auto sandbox = with("/data");
  const auto twin = sandbox->fork();
  EXPECT_EQ(said(*twin, "echo twin > /data"), "");
  EXPECT_EQ(said(*sandbox, "cat /data"), "twin\n");
  EXPECT_THAT(said(*twin, "rm -f /data"), HasSubstr("busy"));
}

TEST_P(HostFiles, AStateHasNothingOfItAndLeavesItAlone) {
  const auto sandbox = with("/workspace/file");
  const auto state = export_state(*sandbox, std::size_t{1} << 30);
  ASSERT_TRUE(state) << state.error().sentence();
  const auto again = import_state(engine(), of_engine(), *state);
  ASSERT_TRUE(again) << again.error().sentence();
  EXPECT_EQ(said(**again, "stat -c '%n %s' /workspace/file"), "/workspace/file 0\n");
  EXPECT_EQ(
      (*again)
          ->run({.script = "printf 'of the state' > /workspace/file", .account = Account::root})
          .exit_code,
      0);
  const auto later = export_state(**again, std::size_t{1} << 30);
  ASSERT_TRUE(later) << later.error().sentence();
  const auto with_it =
      import_state(engine(), of_engine(at("/workspace/file", Mount::Access::read_write)), *later);
  ASSERT_TRUE(with_it) << with_it.error().sentence();
  EXPECT_EQ(said(**with_it, "cat /workspace/file"), "of the host\n");
  EXPECT_EQ(host_.read("file"), "of the host\n");
}

TEST_P(HostFiles, WhatIsWrittenIsNotOfTheSandboxesQuota) {
  SandboxOptions options = at("/data", Mount::Access::read_write);
  options.file_limit_bytes = 1 << 20;
  const auto sandbox = make_sandbox(std::move(options));
  EXPECT_EQ(said(*sandbox, "head -c 3M /dev/zero > /data && wc -c < /data"), "3145728\n");
  EXPECT_EQ(fs::file_size(host_.path() / "file"), 3145728U);
}

TEST_P(HostFiles, MayLieInAFolderOfTheHost) {
  const TempDir folder;
  folder.write("inner", "covered\n");
  SandboxOptions options{.mounts = {{.host_path = folder.path(), .guest_path = "/host"}}};
  options.mounts.push_back({host_.path() / "file", "/host/inner", Mount::Access::read_only});
  const auto sandbox = make_sandbox(std::move(options));
  EXPECT_EQ(said(*sandbox, "cat /host/inner; echo new > /host/other; cat /host/other"),
            "of the host\nnew\n");
  EXPECT_THAT(said(*sandbox, "echo x > /host/inner"), HasSubstr("Read-only file system"));
  EXPECT_EQ(folder.read("inner"), "covered\n");
}

TEST_P(HostFiles, WhatCannotBeMountedIsOneSentence) {
  ASSERT_EQ(::mkfifo((host_.path() / "fifo").c_str(), 0600), 0);
  const auto of = [&](const fs::path& path, const char* guest) {
    return refusal({.mounts = {{.host_path = path, .guest_path = guest}}});
  };
  EXPECT_THAT(of(host_.path() / "fifo", "/data"), HasSubstr("neither a folder nor a regular file"));
  EXPECT_THAT(of("/dev/null", "/data"), HasSubstr("neither a folder nor a regular file"));
  EXPECT_THAT(of(host_.path() / "none", "/data"), HasSubstr("No such file"));
  EXPECT_THAT(of(host_.path() / "file", "/etc"), HasSubstr("cannot mount"));
  EXPECT_THAT(of(host_.path() / "file", "/data/"), HasSubstr("Not a directory"));
  EXPECT_THAT(of(host_.path() / "file", "/etc/passwd/x"), HasSubstr("Not a directory"));
}

CLOCHE_ON_EACH_ENGINE(HostFiles);

}  // namespace
}  // namespace cloche
