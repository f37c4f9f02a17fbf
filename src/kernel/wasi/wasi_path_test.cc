// SPDX-License-Identifier: Apache-2.0
// path_*: the tree, through descriptors.
#include <gtest/gtest.h>

#include "kernel/wasi/puppet_testing.h"

namespace cloche::kernel::wasi {
namespace {

constexpr std::int32_t root = 3;
constexpr std::int32_t cwd = 4;

// `guest.call` for the functions that take one path first: descriptor, path, length.
template <typename... A>
std::int32_t at(Puppet& guest, std::string_view name, std::int32_t fd, std::string_view path,
                A... rest) {
  return guest.call(name, fd, guest.put(path), static_cast<std::uint32_t>(path.size()), rest...);
}

struct StatResult {
  std::int32_t error;
  FileStat stat;
};

StatResult stat(Puppet& guest, std::int32_t fd, std::string_view path, std::uint32_t lookup = 0) {
  const std::uint32_t out = guest.reserve(sizeof(FileStat));
  const std::int32_t error = guest.call("path_filestat_get", fd, lookup, guest.put(path),
                                        static_cast<std::uint32_t>(path.size()), out);
  return {error, guest.get<FileStat>(out)};
}

std::string readlink(Puppet& guest, std::string_view path, std::uint32_t bytes = 64) {
  const std::uint32_t buffer = guest.reserve(bytes);
  const std::uint32_t out = guest.reserve(4);
  const std::int32_t error = at(guest, "path_readlink", root, path, buffer, bytes, out);
  return error == ok ? guest.text(buffer, guest.get<std::uint32_t>(out))
                     : "errno " + std::to_string(error);
}

std::int32_t rename(Puppet& guest, std::string_view from, std::string_view to) {
  return guest.call("path_rename", root, guest.put(from), static_cast<std::uint32_t>(from.size()),
                    root, guest.put(to), static_cast<std::uint32_t>(to.size()));
}

std::int32_t symlink(Puppet& guest, std::string_view target, std::string_view path) {
  return guest.call("path_symlink", guest.put(target), static_cast<std::uint32_t>(target.size()),
                    root, guest.put(path), static_cast<std::uint32_t>(path.size()));
}

std::int32_t link(Puppet& guest, std::string_view existing, std::string_view path,
                  std::uint32_t lookup = 0) {
  return guest.call("path_link", root, lookup, guest.put(existing),
                    static_cast<std::uint32_t>(existing.size()), root, guest.put(path),
                    static_cast<std::uint32_t>(path.size()));
}

TEST(WasiPath, DirectoriesComeAndGo) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    EXPECT_EQ(at(guest, "path_create_directory", root, "tmp/dir"), ok);
    EXPECT_EQ(at(guest, "path_create_directory", root, "tmp/dir"), exist);
    EXPECT_EQ(at(guest, "path_create_directory", root, "tmp/no/dir"), noent);
    EXPECT_EQ(stat(guest, root, "tmp/dir").stat.filetype, filetype_directory);
    EXPECT_GE(guest.open("tmp/dir/file", oflag_creat), 0);
    EXPECT_EQ(at(guest, "path_remove_directory", root, "tmp/dir"), notempty);
    EXPECT_EQ(at(guest, "path_unlink_file", root, "tmp/dir"), isdir);
    EXPECT_EQ(at(guest, "path_remove_directory", root, "tmp/dir/file"), notdir);
    EXPECT_EQ(at(guest, "path_unlink_file", root, "tmp/dir/file"), ok);
    EXPECT_EQ(at(guest, "path_remove_directory", root, "tmp/dir"), ok);
    EXPECT_EQ(stat(guest, root, "tmp/dir").error, noent);
  });
}

TEST(WasiPath, OpenFlags) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    EXPECT_EQ(guest.open("tmp/file"), -noent);
    const std::int32_t file = guest.open("tmp/file", oflag_creat | oflag_excl);
    ASSERT_GE(file, 0);
    EXPECT_EQ(guest.write(file, "content"), 7);
    EXPECT_EQ(guest.open("tmp/file", oflag_creat | oflag_excl), -exist);
    EXPECT_EQ(guest.open("tmp/file", oflag_directory), -notdir);
    EXPECT_EQ(guest.open("tmp/file/x"), -notdir);
    EXPECT_EQ(guest.open("tmp"), -isdir);  // asks for writing
    EXPECT_GE(guest.open("tmp", oflag_directory), 0);
    const std::int32_t append =
        guest.open("tmp/file", 0, right_fd_read | right_fd_write, fdflag_append);
    EXPECT_EQ(guest.write(append, "+"), 1);
    EXPECT_EQ(stat(guest, root, "tmp/file").stat.size, 8u);
    EXPECT_GE(guest.open("tmp/file", oflag_trunc), 0);
    EXPECT_EQ(stat(guest, root, "tmp/file").stat.size, 0u);
  });
}

TEST(WasiPath, OpensBelowAnOpenedDirectory) {
  TestKernel machine;
  machine.write_file("/tmp/file", "content", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t tmp = guest.open("tmp", oflag_directory);
    const std::int32_t file = guest.open("tmp/file");
    EXPECT_EQ(stat(guest, tmp, "file").stat.size, 7u);
    EXPECT_EQ(stat(guest, file, "file").error, notdir);
    EXPECT_EQ(stat(guest, 99, "file").error, badf);
  });
}

TEST(WasiPath, LinksOfBothKinds) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file", oflag_creat);
    EXPECT_EQ(guest.write(file, "content"), 7);
    EXPECT_EQ(symlink(guest, "file", "tmp/link"), ok);
    EXPECT_EQ(symlink(guest, "file", "tmp/link"), exist);
    EXPECT_EQ(readlink(guest, "tmp/link"), "file");
    EXPECT_EQ(readlink(guest, "tmp/link", 2), "fi");
    EXPECT_EQ(readlink(guest, "tmp/file"), "errno 28");
    EXPECT_EQ(stat(guest, root, "tmp/link").stat.filetype, filetype_symbolic_link);
    EXPECT_EQ(stat(guest, root, "tmp/link", lookup_symlink_follow).stat.filetype,
              filetype_regular_file);
    EXPECT_EQ(link(guest, "tmp/file", "tmp/second"), ok);
    EXPECT_EQ(stat(guest, root, "tmp/second").stat.nlink, 2u);
    EXPECT_EQ(stat(guest, root, "tmp/second").stat.ino, stat(guest, root, "tmp/file").stat.ino);
    EXPECT_EQ(link(guest, "tmp/file", "tmp/second"), exist);
    EXPECT_EQ(link(guest, "tmp", "tmp/dirlink"), perm);
    EXPECT_EQ(symlink(guest, "/tmp/file", "tmp/absolute"), ok);
    EXPECT_GE(guest.open("tmp/absolute"), 0);
  });
}

TEST(WasiPath, RenameReplaces) {
  TestKernel machine;
  machine.write_file("/workspace/a", "from a", 0666);
  machine.write_file("/workspace/b", "from b", 0666);
  machine.write_file("/tmp/others", "");
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t open_b = guest.open("workspace/b");
    EXPECT_EQ(rename(guest, "workspace/a", "workspace/b"), ok);
    EXPECT_EQ(stat(guest, root, "workspace/a").error, noent);
    EXPECT_EQ(guest.read(open_b, 10), "from b");
    EXPECT_EQ(guest.read(guest.open("workspace/b"), 10), "from a");
    EXPECT_EQ(rename(guest, "workspace/none", "workspace/b"), noent);
    EXPECT_EQ(rename(guest, "workspace/b", "workspace/no/b"), noent);
    // A file of another user in a sticky directory stays.
    EXPECT_EQ(rename(guest, "tmp/others", "tmp/mine"), perm);
  });
}

TEST(WasiPath, TimesAreSet) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    EXPECT_GE(guest.open("tmp/file", oflag_creat), 0);
    const std::uint32_t path = guest.put("tmp/file");
    EXPECT_EQ(guest.call("path_filestat_set_times", root, 1, path, 8, std::uint64_t{2'000'000'001},
                         std::uint64_t{0}, fstflag_atim),
              ok);
    const FileStat after = stat(guest, root, "tmp/file").stat;
    EXPECT_EQ(after.atim_ns, 2'000'000'001u);
    EXPECT_GT(after.mtim_ns, 1'600'000'000'000'000'000u);
    EXPECT_EQ(guest.call("path_filestat_set_times", root, 1, path, 8, std::uint64_t{0},
                         std::uint64_t{0}, 16),
              inval);
  });
}

// --- Preopens ---

std::string preopen_name(Puppet& guest, std::int32_t fd) {
  const std::uint32_t out = guest.reserve(sizeof(Prestat));
  const std::int32_t error = guest.call("fd_prestat_get", fd, out);
  if (error != ok) return "errno " + std::to_string(error);
  const auto prestat = guest.get<Prestat>(out);
  if (prestat.tag != preopentype_dir) return "something else";
  const std::uint32_t name = guest.reserve(prestat.name_length);
  EXPECT_EQ(guest.call("fd_prestat_dir_name", fd, name, prestat.name_length), ok);
  EXPECT_EQ(guest.call("fd_prestat_dir_name", fd, name, prestat.name_length - 1), nametoolong);
  return guest.text(name, prestat.name_length);
}

TEST(WasiPreopens, RootAndWorkingDirectory) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    EXPECT_EQ(preopen_name(guest, 3), "/");
    EXPECT_EQ(preopen_name(guest, 4), ".");
    EXPECT_EQ(preopen_name(guest, 5), "errno 8");
    EXPECT_EQ(preopen_name(guest, -1), "errno 8");
  });
}

TEST(WasiPreopens, StepAsideForInheritedDescriptors) {
  TestKernel machine;
  const auto capture = std::make_shared<OutputFile>();
  SpawnRequest request;
  request.files = {{1, capture}, {3, capture}, {5, capture}};
  run_puppet(machine, request, [](Puppet& guest) {
    EXPECT_EQ(preopen_name(guest, 3), "something else");
    EXPECT_EQ(preopen_name(guest, 4), "/");
    EXPECT_EQ(preopen_name(guest, 5), "something else");
    EXPECT_EQ(preopen_name(guest, 6), ".");
    EXPECT_EQ(preopen_name(guest, 7), "errno 8");
    EXPECT_EQ(guest.write(3, "inherited"), 9);
  });
  EXPECT_EQ(capture->text(), "inherited");
}

TEST(WasiPreopens, RelativePathsStartInTheWorkingDirectory) {
  TestKernel machine;
  machine.write_file("/workspace/file", "in workspace");
  machine.write_file("/etc/file", "in etc");
  SpawnRequest request;
  request.cwd = "/workspace";
  run_puppet(machine, request, [](Puppet& guest) {
    EXPECT_EQ(stat(guest, cwd, "file").stat.size, 12u);
    EXPECT_EQ(stat(guest, root, "file").error, noent);
    EXPECT_EQ(at(guest, "path_create_directory", cwd, "tmp"), ok);
    EXPECT_EQ(stat(guest, root, "workspace/tmp").error, ok);
    EXPECT_EQ(stat(guest, cwd, "../etc/file").stat.size, 6u);
  });
}

// wasi-libc sends "/etc/file" as "etc/file" to the preopen that came last.
TEST(WasiPreopens, PathsThatLostTheirSlashLeadToTheRoot) {
  TestKernel machine;
  machine.write_file("/etc/file", "in etc");
  machine.write_file("/workspace/file", "in workspace");
  SpawnRequest request;
  request.cwd = "/workspace";
  run_puppet(machine, request, [](Puppet& guest) {
    EXPECT_EQ(stat(guest, cwd, "etc/file").stat.size, 6u);
    EXPECT_EQ(stat(guest, cwd, "workspace/file").stat.size, 12u);
    EXPECT_EQ(at(guest, "path_create_directory", cwd, "tmp/dir"), ok);
    EXPECT_EQ(stat(guest, root, "tmp/dir").error, ok);
    // What the working directory has comes first; "./" and ".." always mean it.
    EXPECT_EQ(at(guest, "path_create_directory", root, "workspace/etc"), ok);
    EXPECT_EQ(stat(guest, cwd, "etc").stat.ino, stat(guest, root, "workspace/etc").stat.ino);
    EXPECT_EQ(stat(guest, cwd, "etc/file").stat.size, 6u);
    EXPECT_EQ(stat(guest, cwd, "./etc/file").error, noent);
    EXPECT_EQ(stat(guest, cwd, "nowhere/file").error, noent);
    // Other descriptors know nothing of this.
    const std::int32_t workspace = guest.open("workspace", oflag_directory);
    EXPECT_EQ(stat(guest, workspace, "tmp/dir").error, noent);
  });
}

}  // namespace
}  // namespace cloche::kernel::wasi
