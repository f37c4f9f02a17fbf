// SPDX-License-Identifier: Apache-2.0
// Descriptors: transfer, position, state, attributes, directories.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "kernel/files/pipe.h"
#include "kernel/wasi/puppet_testing.h"

namespace cloche::kernel::wasi {
namespace {

FdStat fdstat(Puppet& guest, std::int32_t fd) {
  const std::uint32_t out = guest.reserve(sizeof(FdStat));
  EXPECT_EQ(guest.call("fd_fdstat_get", fd, out), ok);
  return guest.get<FdStat>(out);
}

FileStat filestat(Puppet& guest, std::int32_t fd) {
  const std::uint32_t out = guest.reserve(sizeof(FileStat));
  EXPECT_EQ(guest.call("fd_filestat_get", fd, out), ok);
  return guest.get<FileStat>(out);
}

std::int64_t seek(Puppet& guest, std::int32_t fd, std::int64_t offset, std::uint32_t whence) {
  const std::uint32_t out = guest.reserve(8);
  const std::int32_t error = guest.call("fd_seek", fd, offset, whence, out);
  return error == ok ? guest.get<std::int64_t>(out) : -error;
}

TEST(WasiFd, WritesAndReadsThroughSeveralBuffers) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/new", oflag_creat);
    ASSERT_GE(file, 0);
    const std::array<IoVec, 3> out_vectors{IoVec{guest.put("one "), 4}, IoVec{0, 0},
                                           IoVec{guest.put("two"), 3}};
    const std::uint32_t count = guest.reserve(4);
    EXPECT_EQ(guest.call("fd_write", file, guest.put(out_vectors), 3, count), ok);
    EXPECT_EQ(guest.get<std::uint32_t>(count), 7u);
    EXPECT_EQ(seek(guest, file, 0, whence_set), 0);
    const std::uint32_t first = guest.reserve(8);
    const std::uint32_t second = guest.reserve(8);
    const std::array<IoVec, 2> in_vectors{IoVec{first, 2}, IoVec{second, 8}};
    EXPECT_EQ(guest.call("fd_read", file, guest.put(in_vectors), 2, count), ok);
    EXPECT_EQ(guest.get<std::uint32_t>(count), 7u);
    EXPECT_EQ(guest.text(first, 2) + "|" + guest.text(second, 5), "on|e two");
  });
}

TEST(WasiFd, TransfersCountInTheProcess) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/new", oflag_creat);
    const std::uint32_t count = guest.reserve(4);
    EXPECT_EQ(guest.call("fd_write", file, guest.put(IoVec{guest.put("seven"), 5}), 1, count), ok);
    const std::uint32_t iov = guest.put(IoVec{guest.reserve(8), 3});
    EXPECT_EQ(guest.call("fd_pread", file, iov, 1, std::uint64_t{0}, count), ok);
    const Usage& usage = guest.process().usage;
    EXPECT_EQ(usage.written_bytes, 5u);
    EXPECT_EQ(usage.write_calls, 1u);
    EXPECT_EQ(usage.read_bytes, 3u);
    EXPECT_EQ(usage.read_calls, 1u);
  });
}

TEST(WasiFd, PositionedTransferLeavesThePosition) {
  TestKernel machine;
  machine.write_file("/tmp/file", "0123456789", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file");
    const std::uint32_t buffer = guest.reserve(8);
    const std::uint32_t iov = guest.put(IoVec{buffer, 3});
    const std::uint32_t count = guest.reserve(4);
    EXPECT_EQ(guest.call("fd_pread", file, iov, 1, std::uint64_t{4}, count), ok);
    EXPECT_EQ(guest.text(buffer, 3), "456");
    EXPECT_EQ(guest.call("fd_pwrite", file, iov, 1, std::uint64_t{0}, count), ok);
    EXPECT_EQ(seek(guest, file, 0, whence_cur), 0);
    EXPECT_EQ(guest.read(file, 20), "4563456789");
    EXPECT_EQ(guest.call("fd_pread", file, iov, 1, std::uint64_t{1} << 40, count), ok);
    EXPECT_EQ(guest.get<std::uint32_t>(count), 0u);
  });
}

TEST(WasiFd, SeeksAndTells) {
  TestKernel machine;
  machine.write_file("/tmp/file", "0123456789", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file");
    EXPECT_EQ(seek(guest, file, -3, whence_end), 7);
    EXPECT_EQ(guest.read(file, 20), "789");
    EXPECT_EQ(seek(guest, file, -100, whence_cur), -inval);
    EXPECT_EQ(seek(guest, file, 0, 3), -inval);
    EXPECT_EQ(seek(guest, file, std::int64_t{4} << 30, whence_set), std::int64_t{4} << 30);
    const std::uint32_t out = guest.reserve(8);
    EXPECT_EQ(guest.call("fd_tell", file, out), ok);
    EXPECT_EQ(guest.get<std::uint64_t>(out), std::uint64_t{4} << 30);
  });
}

TEST(WasiFd, AccessModeFollowsTheRights) {
  TestKernel machine;
  machine.write_file("/tmp/file", "content", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t reader = guest.open("tmp/file", 0, right_fd_read);
    const std::int32_t writer = guest.open("tmp/file", 0, right_fd_write);
    EXPECT_EQ(guest.write(reader, "x"), -badf);
    EXPECT_EQ(guest.read(writer, 4), "errno 8");
    constexpr Rights both = right_fd_read | right_fd_write;
    EXPECT_EQ(fdstat(guest, reader).rights_base & both, right_fd_read);
    EXPECT_EQ(fdstat(guest, writer).rights_base & both, right_fd_write);
    EXPECT_EQ(fdstat(guest, reader).filetype, filetype_regular_file);
  });
}

TEST(WasiFd, RightsMayBeNarrowedOnly) {
  TestKernel machine;
  machine.write_file("/tmp/file", "content", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t reader = guest.open("tmp/file", 0, right_fd_read);
    const Rights rights = fdstat(guest, reader).rights_base;
    EXPECT_EQ(guest.call("fd_fdstat_set_rights", reader, rights, std::uint64_t{0}), ok);
    EXPECT_EQ(guest.call("fd_fdstat_set_rights", reader, right_fd_read, std::uint64_t{0}), ok);
    EXPECT_EQ(guest.call("fd_fdstat_set_rights", reader, rights | right_fd_write, std::uint64_t{0}),
              perm);
    EXPECT_EQ(guest.call("fd_fdstat_set_rights", reader, std::uint64_t{0}, right_fd_read), perm);
    EXPECT_EQ(guest.call("fd_fdstat_set_rights", 99, std::uint64_t{0}, std::uint64_t{0}), badf);
  });
}

TEST(WasiFd, AppendFlagCanBeSetAndTaken) {
  TestKernel machine;
  machine.write_file("/tmp/file", "abc", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/file");
    EXPECT_EQ(guest.call("fd_fdstat_set_flags", file, fdflag_append | fdflag_nonblock), ok);
    EXPECT_EQ(fdstat(guest, file).flags, fdflag_append | fdflag_nonblock);
    EXPECT_EQ(guest.write(file, "d"), 1);
    EXPECT_EQ(guest.call("fd_fdstat_set_flags", file, 0), ok);
    EXPECT_EQ(seek(guest, file, 0, whence_set), 0);
    EXPECT_EQ(guest.write(file, "A"), 1);
    EXPECT_EQ(guest.read(file, 8), "bcd");
    EXPECT_EQ(guest.call("fd_fdstat_set_flags", file, 64), inval);
  });
}

TEST(WasiFd, SizeTimesAndSpace) {
  TestKernel machine;
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t file = guest.open("tmp/new", oflag_creat);
    EXPECT_EQ(guest.call("fd_filestat_set_size", file, std::uint64_t{5000}), ok);
    EXPECT_EQ(guest.call("fd_filestat_set_times", file, std::uint64_t{1'500'000'000},
                         std::uint64_t{7}, fstflag_atim | fstflag_mtim),
              ok);
    FileStat stat = filestat(guest, file);
    EXPECT_EQ(stat.size, 5000u);
    EXPECT_EQ(stat.nlink, 1u);
    EXPECT_EQ(stat.filetype, filetype_regular_file);
    EXPECT_EQ(stat.atim_ns, 1'500'000'000u);
    EXPECT_EQ(stat.mtim_ns, 7u);
    EXPECT_EQ(guest.call("fd_filestat_set_times", file, std::uint64_t{0}, std::uint64_t{0},
                         fstflag_atim | fstflag_atim_now),
              inval);
    EXPECT_EQ(guest.call("fd_allocate", file, std::uint64_t{4000}, std::uint64_t{4000}), ok);
    EXPECT_EQ(filestat(guest, file).size, 8000u);
    EXPECT_EQ(guest.call("fd_allocate", file, std::uint64_t{0}, std::uint64_t{0}), inval);
    EXPECT_EQ(guest.call("fd_allocate", file, std::uint64_t{1}, ~std::uint64_t{0} >> 1), fbig);
    EXPECT_EQ(guest.call("fd_advise", file, std::uint64_t{0}, std::uint64_t{0}, 5), ok);
    EXPECT_EQ(guest.call("fd_advise", file, std::uint64_t{0}, std::uint64_t{0}, 6), inval);
    EXPECT_EQ(guest.call("fd_sync", file), ok);
    EXPECT_EQ(guest.call("fd_datasync", file), ok);
    const std::int32_t reader = guest.open("tmp/new", 0, right_fd_read);
    EXPECT_EQ(guest.call("fd_filestat_set_size", reader, std::uint64_t{0}), inval);
    EXPECT_EQ(guest.call("fd_allocate", reader, std::uint64_t{0}, std::uint64_t{1}), badf);
  });
}

TEST(WasiFd, RenumberMovesAndCloses) {
  TestKernel machine;
  machine.write_file("/tmp/a", "from a", 0666);
  machine.write_file("/tmp/b", "from b", 0666);
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t a = guest.open("tmp/a");
    const std::int32_t b = guest.open("tmp/b");
    EXPECT_EQ(guest.call("fd_renumber", a, b), ok);
    EXPECT_EQ(guest.read(b, 10), "from a");
    EXPECT_EQ(guest.call("fd_close", a), badf);
    EXPECT_EQ(guest.call("fd_renumber", b, b), ok);
    EXPECT_EQ(guest.call("fd_renumber", 77, b), badf);
    EXPECT_EQ(guest.call("fd_renumber", b, 77), badf);
    // A preopen keeps what it is under its new number.
    EXPECT_EQ(guest.call("fd_renumber", 4, b), ok);
    const std::uint32_t prestat = guest.reserve(8);
    EXPECT_EQ(guest.call("fd_prestat_get", b, prestat), ok);
    EXPECT_EQ(guest.get<Prestat>(prestat).name_length, 1u);
  });
}

TEST(WasiFd, PipesHaveNoPosition) {
  TestKernel machine;
  const auto [reader, writer] = make_pipe(machine.kernel());
  SpawnRequest request;
  request.files = {{0, reader}, {1, writer}};
  run_puppet(machine, request, [](Puppet& guest) {
    EXPECT_EQ(guest.write(1, "through the pipe"), 16);
    EXPECT_EQ(guest.read(0, 7), "through");
    EXPECT_EQ(seek(guest, 0, 0, whence_cur), -spipe);
    const std::uint32_t iov = guest.put(IoVec{guest.reserve(8), 8});
    EXPECT_EQ(guest.call("fd_pread", 0, iov, 1, std::uint64_t{0}, guest.reserve(4)), spipe);
    EXPECT_EQ(guest.call("fd_sync", 0), inval);
    EXPECT_EQ(guest.call("fd_advise", 0, std::uint64_t{0}, std::uint64_t{0}, 0), spipe);
    EXPECT_EQ(fdstat(guest, 0).filetype, filetype_socket_stream);
    EXPECT_EQ(fdstat(guest, 0).rights_base & (right_fd_seek | right_fd_tell), 0u);
    // Several buffers take what there is and do not wait for more.
    const std::array<IoVec, 2> vectors{IoVec{guest.reserve(8), 9}, IoVec{guest.reserve(64), 64}};
    const std::uint32_t count = guest.reserve(4);
    EXPECT_EQ(guest.call("fd_read", 0, guest.put(vectors), 2, count), ok);
    EXPECT_EQ(guest.get<std::uint32_t>(count), 9u);
  });
}

std::vector<std::string> list(Puppet& guest, std::int32_t fd, std::uint32_t buffer_bytes) {
  std::vector<std::string> names;
  const std::uint32_t buffer = guest.reserve(buffer_bytes);
  const std::uint32_t out = guest.reserve(4);
  std::uint64_t cookie = 0;
  for (int calls = 0; calls < 1000; ++calls) {
    EXPECT_EQ(guest.call("fd_readdir", fd, buffer, buffer_bytes, cookie, out), ok);
    const std::uint32_t used = guest.get<std::uint32_t>(out);
    std::uint32_t at = 0;
    while (used - at >= sizeof(DirEnt)) {
      const auto entry = guest.get<DirEnt>(buffer + at);
      const auto size = static_cast<std::uint32_t>(sizeof(DirEnt)) + entry.name_length;
      if (used - at < size) break;
      names.push_back(guest.text(buffer + at + sizeof(DirEnt), entry.name_length));
      cookie = entry.next;
      at += size;
    }
    if (used < buffer_bytes) return names;
  }
  ADD_FAILURE() << "the directory has no end";
  return names;
}

TEST(WasiFd, ReaddirCutsTheLastEntryAndGoesOnByCookie) {
  TestKernel machine;
  machine.with_files([](vfs::PathOperations& files) {
    EXPECT_TRUE(files.make_dir("/tmp/dir", 0777));
    for (int i = 0; i < 40; ++i)
      EXPECT_TRUE(files.write_file("/tmp/dir/file" + std::to_string(i), ""));
  });
  run_puppet(machine, {}, [](Puppet& guest) {
    const std::int32_t dir = guest.open("tmp/dir", oflag_directory);
    ASSERT_GE(dir, 0);
    for (const std::uint32_t size : {40u, 64u, 100u, 4096u}) {
      SCOPED_TRACE(size);
      const std::vector<std::string> names = list(guest, dir, size);
      EXPECT_EQ(names.size(), 42u);
      EXPECT_EQ(std::set(names.begin(), names.end()).size(), 42u);
      EXPECT_EQ(names[0], ".");
      EXPECT_EQ(names[1], "..");
    }
    const std::uint32_t out = guest.reserve(4);
    EXPECT_EQ(guest.call("fd_readdir", dir, 1024, 0, std::uint64_t{0}, out), ok);
    EXPECT_EQ(guest.get<std::uint32_t>(out), 0u);
    const std::int32_t file = guest.open("tmp/dir/file1", 0, right_fd_read);
    EXPECT_EQ(guest.call("fd_readdir", file, 1024, 8, std::uint64_t{0}, out), notdir);
    EXPECT_EQ(guest.call("fd_readdir", 99, 1024, 8, std::uint64_t{0}, out), badf);
  });
}

TEST(WasiFd, ReaddirSeesStableEntriesOnceWhileTheDirectoryChanges) {
  TestKernel machine;
  machine.with_files([](vfs::PathOperations& files) {
    EXPECT_TRUE(files.make_dir("/tmp/dir", 0777));
    for (const char* name : {"a", "b", "c", "d"})
      EXPECT_TRUE(files.write_file(std::string("/tmp/dir/") + name, ""));
  });
  run_puppet(machine, {}, [&](Puppet& guest) {
    const std::int32_t dir = guest.open("tmp/dir", oflag_directory);
    const std::uint32_t buffer = guest.reserve(512);
    const std::uint32_t out = guest.reserve(4);
    std::multiset<std::string> seen;
    std::uint64_t cookie = 0;
    for (int step = 0;; ++step) {
      ASSERT_EQ(guest.call("fd_readdir", dir, buffer, 512, cookie, out), ok);
      if (guest.get<std::uint32_t>(out) == 0) break;
      const auto entry = guest.get<DirEnt>(buffer);
      seen.insert(guest.text(buffer + sizeof(DirEnt), entry.name_length));
      cookie = entry.next;
      const std::string fresh = "tmp/dir/new" + std::to_string(step % 3);
      if (step < 6) {
        EXPECT_GE(guest.open(fresh, oflag_creat), 0);
      }
      const std::uint32_t gone = guest.put(fresh);
      EXPECT_EQ(guest.call("path_unlink_file", 3, gone, static_cast<std::uint32_t>(fresh.size())),
                step < 6 ? ok : noent);
      ASSERT_LT(step, 50);
    }
    for (const char* name : {".", "..", "a", "b", "c", "d"})
      EXPECT_EQ(seen.count(name), 1u) << name;
  });
}

}  // namespace
}  // namespace cloche::kernel::wasi
