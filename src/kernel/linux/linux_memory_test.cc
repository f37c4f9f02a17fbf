// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kernel/kernel.h"
#include "kernel/linux/linux_puppet_testing.h"
#include "vfs/tree_watch.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint32_t nr_munmap = 215, nr_mremap = 216, nr_mmap2 = 222, nr_msync = 227,
                        nr_exit_group = 94, nr_vfork_begin = 0x1004;
constexpr std::uint32_t prot_rw = 3, map_shared = 1, map_private = 2, map_fixed = 0x10,
                        map_anonymous = 0x20;
constexpr std::uint32_t page = 4096;

std::int32_t open_with(Guest& guest, std::string_view text) {
  const std::int32_t fd = guest.open("f", o_creat | o_rdwr);
  EXPECT_EQ(guest.write(fd, text), static_cast<std::int32_t>(text.size()));
  return fd;
}

void write_at(Guest& guest, std::int32_t fd, std::uint32_t offset, std::string_view text) {
  EXPECT_EQ(guest.call(nr::pwrite64, fd, guest.put(text), text.size(), offset, 0), text.size());
}

// Into the memory at `address`, from a pipe: a guest on strings stores nothing by itself.
void store(Guest& guest, std::uint32_t address, std::string_view text) {
  const std::uint32_t ends = guest.reserve(8);
  ASSERT_EQ(guest.call(nr::pipe2, ends, 0), 0);
  ASSERT_EQ(guest.write(guest.get<std::int32_t>(ends + 4), text), text.size());
  ASSERT_EQ(guest.call(nr::read, guest.get<std::int32_t>(ends), address, text.size()), text.size());
}

TEST(linux_memory, a_shared_mapping_reaches_its_file) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = open_with(guest, "hello world");
    const std::int32_t at = guest.call(nr_mmap2, 0, page, prot_rw, map_shared, fd, 0);
    ASSERT_GT(at, 0);
    store(guest, at, "HELLO");
  });
  run_guest(machine, [](Guest& guest) { EXPECT_EQ(guest.content("f"), "HELLO world"); });
}

// A mapping is a copy: only what was changed in it goes to the file, to the byte.
TEST(linux_memory, what_others_write_in_a_file_that_is_mapped_stays) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd =
        open_with(guest, "hello world" + std::string(std::size_t{2} * page, '.'));
    const std::int32_t at = guest.call(nr_mmap2, 0, 3 * page, prot_rw, map_shared, fd, 0);
    ASSERT_GT(at, 0);
    store(guest, at, "HE");
    store(guest, at + 4, "O");
    write_at(guest, fd, 2, "!!");
    write_at(guest, fd, page, "another's");
    EXPECT_EQ(guest.call(nr_msync, at, 3 * page, 0), 0);
    EXPECT_EQ(guest.content("f").substr(0, 11), "HE!!O world");
    // What has been written back is not written a second time.
    write_at(guest, fd, 0, "he");
  });
  run_guest(machine, [](Guest& guest) {
    const std::string content = guest.content("f");
    EXPECT_EQ(content.size(), 11 + 2 * page);
    EXPECT_EQ(content.substr(0, 11), "he!!O world");
    EXPECT_EQ(content.substr(page, 10), "another's.");
  });
}

TEST(linux_memory, a_mapping_that_nobody_has_changed_leaves_a_new_content_alone) {
  TestKernel machine;
  run_guest(machine, [&](Guest& guest) {
    const std::int32_t fd = open_with(guest, "hello world");
    const std::int32_t at = guest.call(nr_mmap2, 0, page, prot_rw, map_shared, fd, 0);
    ASSERT_GT(at, 0);
    write_at(guest, fd, 0, "written by a door, and longer");
    EXPECT_EQ(guest.call(nr_munmap, at, page), 0);
    EXPECT_EQ(guest.content("f"), "written by a door, and longer");
  });
}

TEST(linux_memory, a_file_that_is_cut_while_its_mapping_is_written_stays_cut) {
  constexpr std::uint32_t bytes = 4 << 20;  // more than is written in a turn
  TestKernel machine;
  machine.write_file("/tmp/f", std::string(bytes, '.'), 0666);
  int cuts = 0;
  std::unique_ptr<vfs::TreeWatch> watch;
  {
    const KernelLock lock(machine.kernel().mutex());
    const auto node = [&](std::string_view path) REQUIRES(kernel_lock) {
      return *machine.files().lookup(machine.files().root(), path, vfs::Follow::yes,
                                     vfs::root_credentials());
    };
    watch = *vfs::TreeWatch::make(node("/tmp"), vfs::TreeWatch::Depth::directory,
                                  [&cuts, file = node("/tmp/f")] {
                                    ++cuts;
                                    EXPECT_TRUE(file.fs().set_attr(file.ino(), {.size = 1}));
                                  });
  }
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = guest.open("/tmp/f", o_rdwr);
    const std::int32_t at = guest.call(nr_mmap2, 0, bytes, prot_rw, map_shared, fd, 0);
    ASSERT_GT(at, 0);
    store(guest, at, "HELLO");
  });
  EXPECT_EQ(cuts, 1);
  machine.with_files([&](vfs::PathOperations& files) {
    watch.reset();
    EXPECT_EQ(*files.read_file("/tmp/f", bytes), "H");
  });
}

TEST(linux_memory, what_is_put_over_a_shared_mapping_is_not_its_file) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = open_with(guest, "hello world");
    const std::int32_t at = guest.call(nr_mmap2, 0, page, prot_rw, map_shared, fd, 0);
    store(guest, at, "HELLO");
    EXPECT_EQ(
        guest.call(nr_mmap2, at, page, prot_rw, map_private | map_anonymous | map_fixed, -1, 0),
        at);
    store(guest, at, "of another");
  });
  run_guest(machine, [](Guest& guest) { EXPECT_EQ(guest.content("f"), "HELLO world"); });
}

TEST(linux_memory, a_shared_mapping_that_shrinks_loses_nothing) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    const std::int32_t fd = open_with(guest, std::string(std::size_t{2} * page, '.'));
    const std::int32_t at = guest.call(nr_mmap2, 0, 2 * page, prot_rw, map_shared, fd, 0);
    store(guest, at + page, "kept");
    EXPECT_EQ(guest.call(nr_mremap, at, 2 * page, page, 0), at);
    const std::uint32_t found = guest.reserve(4);
    EXPECT_EQ(guest.call(nr::pread64, fd, found, 4, page, 0), 4);
    EXPECT_EQ(guest.text(found, 4), "kept");
  });
}

// Between vfork and exec the memory is the parent's.
TEST(linux_memory, what_a_vfork_child_maps_is_taken) {
  TestKernel machine;
  run_guest(machine, [](Guest& guest) {
    ASSERT_EQ(guest.call(nr_vfork_begin), 0);
    const std::int32_t child =
        guest.call(nr_mmap2, 0, page, prot_rw, map_private | map_anonymous, -1, 0);
    ASSERT_GT(guest.call(nr_exit_group, 0), 0);
    const std::int32_t parent =
        guest.call(nr_mmap2, 0, page, prot_rw, map_private | map_anonymous, -1, 0);
    EXPECT_NE(child, parent);
  });
}

}  // namespace
}  // namespace cloche::kernel::lnx
