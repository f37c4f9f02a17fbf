// SPDX-License-Identifier: Apache-2.0
#include "wasm/memory_image.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "wasm/memory_testing.h"
#include "wasm/private_pages.h"
#include "wasm/trusted_file.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

constexpr std::string_view guest_text = R"((module
  (memory (export "memory") 16 1024)
  (data (i32.const 5000) "initial")
  (global $sp (export "__stack_pointer") (mut i32) (i32.const 1000))
  (global (export "clock") (mut i64) (i64.const 0))
  (func (export "store") (param i32 i32) (i32.store (local.get 0) (local.get 1)))
  (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))))";

class MemoryImageTest : public testing::Test {
 protected:
  std::unique_ptr<Instance> fresh() { return guests.make(module); }

  static void poke(Instance& guest, std::uint64_t address, std::uint32_t value) {
    ASSERT_TRUE(guest.memory().write(static_cast<std::uint32_t>(address), value));
  }
  static std::uint32_t peek(Instance& guest, std::uint64_t address) {
    const auto value = guest.memory().read<std::uint32_t>(static_cast<std::uint32_t>(address));
    return value ? *value : ~0U;
  }
  std::unique_ptr<Instance> child_of(const std::shared_ptr<const MemoryImage>& image) {
    auto child = fresh();
    EXPECT_TRUE(image->map_into(*child));
    return child;
  }
  static std::shared_ptr<const MemoryImage> capture(Instance& guest) {
    auto image = MemoryImage::capture(guest);
    EXPECT_TRUE(image) << errno_info(image.error()).name;
    return image ? *image : nullptr;
  }

  static std::int32_t capture_inside(HostCall& call) noexcept {
    call.owner<std::shared_ptr<const MemoryImage>>() = *MemoryImage::capture(call.instance());
    return 0;
  }

  MemoryImageTest() {
    guests.linker.define(host_function<&capture_inside>("test", "capture"));
    module = guests.link(guest_text);
  }

  GuestMaker guests;
  std::shared_ptr<const LinkedModule> module;
};

TEST_F(MemoryImageTest, AChildIsACopyAndThenItsOwn) {
  const auto parent = fresh();
  poke(*parent, 100, 1);
  poke(*parent, 900'000, 2);
  ASSERT_TRUE(parent->set_global("__stack_pointer", Value::i32(77)));
  ASSERT_TRUE(parent->set_global("clock", Value::i64(1ULL << 40)));
  const auto image = capture(*parent);
  poke(*parent, 100, 3);

  const auto child = child_of(image);
  EXPECT_EQ(peek(*child, 100), 1U);
  EXPECT_EQ(peek(*child, 900'000), 2U);
  EXPECT_EQ(*child->memory().read_string(5000, 20), "initial");
  EXPECT_EQ(child->global("__stack_pointer"), Value::i32(77));
  EXPECT_EQ(child->global("clock"), Value::i64(1ULL << 40));
  poke(*child, 100, 4);
  EXPECT_EQ(peek(*parent, 100), 3U);
  EXPECT_EQ(peek(*child_of(image), 100), 1U);
}

TEST_F(MemoryImageTest, TheGuestComputesInItsCopy) {
  on_guest_thread([&] {
    const auto parent = fresh();
    ASSERT_TRUE(parent->call("store", {Value::i32(70'000), Value::i32(5)}).returned());
    ASSERT_EQ(parent->call("grow", {Value::i32(3)}).result, Value::i32(16));
    ASSERT_TRUE(parent->call("store", {Value::i32(1'100'000), Value::i32(6)}).returned());
    const auto child = child_of(capture(*parent));
    EXPECT_EQ(child->memory().size(), 19 * wasm_page);
    EXPECT_EQ(child->call("load", {Value::i32(70'000)}).result, Value::i32(5));
    EXPECT_EQ(child->call("load", {Value::i32(1'100'000)}).result, Value::i32(6));
    ASSERT_EQ(child->call("grow", {Value::i32(2)}).result, Value::i32(19));
    ASSERT_TRUE(child->call("store", {Value::i32(1'300'000), Value::i32(7)}).returned());
    const auto grandchild = child_of(capture(*child));
    EXPECT_EQ(grandchild->call("load", {Value::i32(1'300'000)}).result, Value::i32(7));
    EXPECT_EQ(child->call("load", {Value::i32(1'376'255)}).trap, Trap::memory);
  });
}

TEST_F(MemoryImageTest, ASecondImageCopiesOnlyWhatWasWrittenSince) {
  const auto parent = fresh();
  for (std::uint64_t at = 0; at < 16 * wasm_page; at += page) poke(*parent, at, 9);
  const auto first = capture(*parent);
  EXPECT_EQ(first->own_bytes(), 16 * wasm_page);
  EXPECT_EQ(capture(*parent), first);  // not used since
  EXPECT_EQ(peek(*parent, 0), 9U);
  EXPECT_EQ(capture(*parent)->own_bytes(), 0U);
  poke(*parent, 3 * page, 1);
  poke(*parent, 9 * page, 1);
  const auto second = capture(*parent);
  EXPECT_EQ(second->own_bytes(), 2 * page);
  EXPECT_EQ(content_of(*child_of(second)), content_of(*parent));
}

TEST_F(MemoryImageTest, ReadingIsNotWriting) {
  const auto child = child_of(capture(*fresh()));
  const std::string all = content_of(*child);
  EXPECT_EQ(all.substr(5000, 7), "initial");
  EXPECT_EQ(capture(*child)->own_bytes(), 0U);
}

TEST_F(MemoryImageTest, LongChainsKeepFewMappingsAndAllContent) {
  std::mt19937 random(7);
  auto guest = fresh();
  ASSERT_TRUE(guest->grow(60));
  capture(*guest);
  std::shared_ptr<const MemoryImage> image;
  for (std::uint32_t round = 0; round < 60; ++round) {
    // Some rounds write large runs, which become mappings, some scattered pages, which become
    // patches.
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t start = random() % 1100 * page;
      const std::uint64_t length = round % 2 == 0 ? random() % 60 : 1;
      for (std::uint64_t k = 0; k < length; ++k) poke(*guest, start + k * page, round * 1000 + i);
    }
    image = capture(*guest);
    ASSERT_LE(image->segments().size(), MemoryImage::max_segments);
    auto child = child_of(image);
    ASSERT_EQ(content_of(*child), content_of(*guest)) << round;
    if (round % 3 == 0) guest = std::move(child);
  }
}

TEST_F(MemoryImageTest, ACloneHasAllOfItsParent) {
  const auto boot = fresh();
  poke(*boot, 0, 11);
  const auto parent = child_of(capture(*boot));
  poke(*parent, 20'000, 12);
  ASSERT_TRUE(parent->grow(4));
  poke(*parent, 17 * wasm_page, 13);
  ASSERT_TRUE(parent->set_global("__stack_pointer", Value::i32(500)));
  const auto child = fresh();
  ASSERT_TRUE(copy_into_clone(*parent, *child));
  EXPECT_EQ(content_of(*child), content_of(*parent));
  EXPECT_EQ(child->global("__stack_pointer"), Value::i32(500));
  poke(*child, 20'000, 14);
  EXPECT_EQ(peek(*parent, 20'000), 12U);

  const auto grandchild = fresh();
  ASSERT_TRUE(copy_into_clone(*child, *grandchild));
  EXPECT_EQ(content_of(*grandchild), content_of(*child));
}

TEST_F(MemoryImageTest, ACloneWithoutABaseCopiesToo) {
  const auto parent = fresh();
  poke(*parent, 40'000, 1);
  const auto child = fresh();
  ASSERT_TRUE(copy_into_clone(*parent, *child));
  EXPECT_EQ(content_of(*child), content_of(*parent));
}

TEST_F(MemoryImageTest, GrownMemoryIsTakenWithoutACopy) {
  auto parent = child_of(capture(*fresh()));
  ASSERT_TRUE(prepare_for_capture(*parent));
  ASSERT_TRUE(parent->grow(100));
  for (std::uint64_t at = 16; at < 116; ++at) poke(*parent, at * wasm_page, 5);
  poke(*parent, 0, 6);
  const auto first = capture(*parent);
  EXPECT_EQ(first->own_bytes(), 0U);
  EXPECT_EQ(content_of(*child_of(first)), content_of(*parent));

  // What the parent does now is not in the image.
  poke(*parent, 50 * wasm_page, 99);
  ASSERT_TRUE(parent->grow(10));
  poke(*parent, 120 * wasm_page, 98);
  const auto second = capture(*parent);
  EXPECT_EQ(second->own_bytes(), page);
  const auto old_child = child_of(first);
  EXPECT_EQ(peek(*old_child, 50 * wasm_page), 5U);
  EXPECT_EQ(old_child->memory().size(), 116 * wasm_page);
  const auto new_child = child_of(second);
  EXPECT_EQ(content_of(*new_child), content_of(*parent));

  // Children share nothing writable.
  poke(*new_child, 120 * wasm_page, 97);
  EXPECT_EQ(peek(*parent, 120 * wasm_page), 98U);
  EXPECT_EQ(peek(*child_of(second), 120 * wasm_page), 98U);

  const auto clone = fresh();
  ASSERT_TRUE(parent->grow(1));
  poke(*parent, 126 * wasm_page, 96);
  ASSERT_TRUE(copy_into_clone(*parent, *clone));
  EXPECT_EQ(content_of(*clone), content_of(*parent));
}

TEST_F(MemoryImageTest, WhatAnUnusedParentPutOffIsDoneBeforeItIsUsed) {
  on_guest_thread([&] {
    const auto parent = child_of(capture(*fresh()));
    ASSERT_TRUE(prepare_for_capture(*parent));
    ASSERT_TRUE(parent->grow(2));
    poke(*parent, 16 * wasm_page, 1);
    const auto image = capture(*parent);
    const auto clone = fresh();
    ASSERT_TRUE(copy_into_clone(*parent, *clone));
    EXPECT_EQ(peek(*clone, 16 * wasm_page), 1U);
    ASSERT_TRUE(parent->call("store", {Value::i32(16 * 65536), Value::i32(2)}).returned());
    EXPECT_EQ(peek(*child_of(image), 16 * wasm_page), 1U);
    EXPECT_EQ(peek(*parent, 16 * wasm_page), 2U);

    const auto changed = capture(*parent);
    ASSERT_TRUE(parent->set_global("clock", Value::i64(5)));
    EXPECT_EQ(child_of(capture(*parent))->global("clock"), Value::i64(5));
    EXPECT_EQ(child_of(changed)->global("clock"), Value::i64(0));
  });
}

TEST_F(MemoryImageTest, TheFreeTailOfTheHeapIsTakenWithoutACopyToo) {
  const auto boot = fresh();
  ASSERT_TRUE(boot->grow(100));
  poke(*boot, 0, 1);
  poke(*boot, 50 * wasm_page, 2);
  poke(*boot, 116 * wasm_page - 8, 3);  // an allocator's mark at the end
  const auto image = capture(*boot);
  EXPECT_LT(image->tail_start(), 51 * wasm_page);
  const auto parent = child_of(image);
  ASSERT_TRUE(prepare_for_capture(*parent));
  EXPECT_EQ(content_of(*parent), content_of(*child_of(image)));

  for (std::uint64_t at = 52; at < 100; ++at) poke(*parent, at * wasm_page, 4);
  ASSERT_TRUE(parent->grow(3));
  poke(*parent, 118 * wasm_page, 5);
  const auto fork = capture(*parent);
  EXPECT_EQ(fork->own_bytes(), 0U);
  const auto child = child_of(fork);
  EXPECT_EQ(content_of(*child), content_of(*parent));
  poke(*parent, 60 * wasm_page, 6);
  EXPECT_EQ(peek(*child, 60 * wasm_page), 4U);
  EXPECT_EQ(peek(*child_of(fork), 60 * wasm_page), 4U);

  // The same for the child, whose tail begins after what its parent wrote.
  EXPECT_GE(fork->tail_start(), 99 * wasm_page);
  const auto second = child_of(fork);
  ASSERT_TRUE(prepare_for_capture(*second));
  poke(*second, 110 * wasm_page, 7);
  EXPECT_EQ(content_of(*child_of(capture(*second))), content_of(*second));
  const auto clone = fresh();
  ASSERT_TRUE(copy_into_clone(*second, *clone));
  EXPECT_EQ(content_of(*clone), content_of(*second));
}

TEST_F(MemoryImageTest, PatchesOfAChildThatIsNotUsedYetAreNotMissed) {
  const auto parent = child_of(capture(*fresh()));
  poke(*parent, 7 * page, 1);
  const auto image = capture(*parent);
  ASSERT_EQ(image->patches().size(), 1U);
  const auto child = child_of(image);
  EXPECT_EQ(capture(*child), image);
  const auto clone = fresh();
  ASSERT_TRUE(copy_into_clone(*child, *clone));
  EXPECT_EQ(peek(*clone, 7 * page), 1U);
  EXPECT_EQ(peek(*child, 7 * page), 1U);
}

TEST_F(MemoryImageTest, AnImageOfAGuestInsideACallIsOfThatMoment) {
  on_guest_thread([&] {
    std::shared_ptr<const MemoryImage> image;
    const auto guest = guests.make(R"((module (import "test" "capture" (func $capture (result i32)))
      (memory (export "memory") 1)
      (func (export "run") (i32.store (i32.const 0) (i32.const 1)) (drop (call $capture))
        (i32.store (i32.const 0) (i32.const 2)))))",
                                   {.owner = &image});
    ASSERT_TRUE(guest->call("run").returned());
    EXPECT_EQ(peek(*guest, 0), 2U);
    const auto child = guests.make(guest->linked_module());
    ASSERT_TRUE(image->map_into(*child));
    EXPECT_EQ(peek(*child, 0), 1U);
  });
}

TEST_F(MemoryImageTest, AnImageFitsItsProgramOnly) {
  const auto image = capture(*fresh());
  const auto other = guests.make(R"((module (memory (export "memory") 16)))");
  EXPECT_EQ(image->map_into(*other).error(), Errno::noexec);
  EXPECT_EQ(copy_into_clone(*fresh(), *other).error(), Errno::noexec);
}

TEST_F(MemoryImageTest, AnImageBeyondTheLimitOfTheChildIsRefused) {
  const auto parent = fresh();
  ASSERT_TRUE(parent->grow(10));
  const auto image = capture(*parent);
  const auto child = guests.make(module, {.memory_limit_bytes = 20 * wasm_page});
  EXPECT_EQ(image->map_into(*child).error(), Errno::nomem);
}

TEST_F(MemoryImageTest, AProgramWithoutMemoryHasNoImage) {
  const auto guest = guests.make("(module)");
  EXPECT_EQ(MemoryImage::capture(*guest).error(), Errno::noexec);
}

class ImageFileTest : public MemoryImageTest {
 protected:
  ImageFileTest() {
    char name[] = "/tmp/cloche-image-XXXXXX";
    folder = mkdtemp(name);
    path = folder / "boot.image";
  }
  ~ImageFileTest() override { std::filesystem::remove_all(folder); }

  auto load() { return MemoryImage::load(path, module->module()); }

  void overwrite(std::streamoff at, const std::string& bytes) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << bytes;
  }

  std::filesystem::path folder, path;
};

TEST_F(ImageFileTest, ComesBackAsItWas) {
  auto parent = child_of(capture(*fresh()));
  ASSERT_TRUE(parent->grow(30));
  poke(*parent, 40 * wasm_page, 21);
  poke(*parent, 12, 22);
  ASSERT_TRUE(parent->set_global("clock", Value::i64(33)));
  const auto image = capture(*parent);
  image->save(path);
  const auto loaded = load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->segments().size(), 1U);
  const auto child = child_of(*loaded);
  EXPECT_EQ(content_of(*child), content_of(*parent));
  EXPECT_EQ(child->global("clock"), Value::i64(33));
  poke(*child, 12, 23);
  EXPECT_EQ(capture(*child)->own_bytes(), page);
  EXPECT_LT(std::filesystem::file_size(path),
            48 * wasm_page);  // what is zero at the end is left out
  ASSERT_TRUE(prepare_for_capture(*child));
  poke(*child, 30 * wasm_page, 24);
  EXPECT_EQ(content_of(*child_of(capture(*child))), content_of(*child));
}

TEST_F(ImageFileTest, IsThereOrNot) {
  EXPECT_EQ(load().error(), Errno::noent);
  capture(*fresh())->save(path);
  EXPECT_TRUE(load());
  const auto other = guests.link(R"((module (memory (export "memory") 1)))");
  EXPECT_EQ(MemoryImage::load(path, other->module()).error(), Errno::noent);
}

TEST_F(ImageFileTest, DamageIsFound) {
  capture(*fresh())->save(path);
  ASSERT_TRUE(load());
  overwrite(70'000, "damage");
  EXPECT_EQ(load().error(), Errno::noent);

  capture(*fresh())->save(path);
  ASSERT_TRUE(load());
  std::filesystem::resize_file(path, 66'000);
  EXPECT_EQ(load().error(), Errno::noent);

  capture(*fresh())->save(path);
  std::ofstream(folder / "boot.image.record") << "rubbish";
  EXPECT_EQ(load().error(), Errno::noent);
}

TEST_F(ImageFileTest, ACopyOfTheFolderIsStillGood) {
  capture(*fresh())->save(path);
  const auto copy = folder / "copy.image";
  std::filesystem::copy(path, copy);
  std::filesystem::copy(folder / "boot.image.record", folder / "copy.image.record");
  EXPECT_TRUE(MemoryImage::load(copy, module->module()));
  EXPECT_TRUE(MemoryImage::load(copy, module->module()));
}

// The hash of a file is no protection from what a program of ours once wrote wrongly: each field of
// the header is checked as well.
TEST_F(ImageFileTest, AHeaderThatLiesIsRefused) {
  capture(*fresh())->save(path);
  std::ifstream in(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  const auto rewritten = [&](std::size_t at, std::uint64_t value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    save_trusted(path, module->module().info().digest, 0, [&](HostFiles& files, int fd) {
      return files.write_all(fd, std::as_bytes(std::span(bytes)));
    });
    return load();
  };
  EXPECT_TRUE(rewritten(40, 16 * wasm_page));
  EXPECT_FALSE(rewritten(0, 1));                    // magic
  EXPECT_FALSE(rewritten(8, 1));                    // digest
  EXPECT_FALSE(rewritten(40, ~0ULL));               // memory_bytes
  EXPECT_FALSE(rewritten(40, 0));                   // smaller than the data
  EXPECT_FALSE(rewritten(40, 16 * wasm_page + 1));  // not whole pages
  EXPECT_FALSE(rewritten(48, 64 * wasm_page));      // data_bytes beyond the file
  EXPECT_FALSE(rewritten(56, 1000));                // global_count
  EXPECT_FALSE(rewritten(64 + 48, 9));              // type of a global
}

TEST(PrivatePages, BothWaysFindTheWrittenPages) {
  const std::uint64_t bytes = 64 * page;
  const int fd = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
  auto* base =
      static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
  ASSERT_NE(base, MAP_FAILED);
  volatile auto sum = static_cast<unsigned>(base[5 * page]);
  sum = sum + static_cast<unsigned>(base[20 * page]);
  for (const std::uint64_t i : {3, 4, 10, 63}) base[i * page] = std::byte{1};
  std::vector<PageRun> scanned, mapped;
  const bool can_scan = scan_private_pages(base, bytes, scanned);
  ASSERT_TRUE(read_pagemap(base, bytes, mapped));
  const auto check = [](const std::vector<PageRun>& runs) {
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_EQ(runs[0].start, 3 * page);
    EXPECT_EQ(runs[0].length, 2 * page);
    EXPECT_EQ(runs[1].start, 10 * page);
    EXPECT_EQ(runs[2].end(), 64 * page);
  };
  if (can_scan) check(scanned);
  check(mapped);
  munmap(base, bytes);
  close(fd);
}

}  // namespace
}  // namespace cloche::wasm
