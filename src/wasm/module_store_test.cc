// SPDX-License-Identifier: Apache-2.0
#include "wasm/module_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <latch>
#include <thread>
#include <utility>

#include "base/host_error.h"
#include "base/refused_threads_testing.h"
#include "wasm/cache_folder.h"
#include "wasm/trusted_file.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

class ModuleStoreTest : public testing::Test {
 protected:
  ModuleStoreTest() {
    char name[] = "/tmp/cloche-store-XXXXXX";
    folder = mkdtemp(name);
    cache = folder / "cache";
  }
  ~ModuleStoreTest() override { std::filesystem::remove_all(folder); }

  ModuleStore::Options options() {
    return {.cache_folder = cache,
            .on_compile = [this](std::string_view, std::uint64_t) { ++compiled; }};
  }

  std::vector<std::filesystem::path> cached(std::string_view extension) const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache)) {
      if (entry.path().extension() == extension) found.push_back(entry.path());
    }
    return found;
  }

  std::filesystem::path write_program(std::string_view wat,
                                      std::string_view name = "program.wasm") {
    const auto path = folder / name;
    const auto bytes = from_wat(wat);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  // Loads in a store of its own, as another process would.
  ModuleStore::Loaded load_anew(std::string_view wat) {
    ModuleStore store(test_engine(), options());
    return store.load(from_wat(wat), "test");
  }

  static bool works(const ModuleStore::Loaded& module) {
    if (!module) return false;
    bool good = false;
    on_guest_thread([&] {
      Linker linker(test_engine());
      const auto guest = Instance::create(*linker.link(*module), {});
      good = (*guest)->call("f").result == Value::i32(42);
    });
    return good;
  }

  static constexpr std::string_view program =
      R"((module (func (export "f") (result i32) (i32.const 42))
    (memory (export "memory") 1) (data (i32.const 0) "data")))";

  std::filesystem::path folder, cache;
  std::atomic<int> compiled = 0;
};

TEST_F(ModuleStoreTest, CompilesOnceAndKeepsTheCode) {
  EXPECT_TRUE(works(load_anew(program)));
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(cached(".code").size(), 1U);
  EXPECT_TRUE(works(load_anew(program)));
  EXPECT_EQ(compiled, 1);
}

TEST_F(ModuleStoreTest, ShippedCodeNeedsNoCompiler) {
  const auto path = write_program(program);
  {
    Engine builder(Cpu::portable);
    ModuleStore(builder, {}).ship(path, folder / "shipped");
  }
  EXPECT_TRUE(ModuleStore::has_only_shipped(folder / "shipped"));
  EXPECT_FALSE(ModuleStore::has_only_shipped(folder));
  ModuleStore::Options with_shipped = options();
  with_shipped.shipped_folder = folder / "shipped";
  ModuleStore store(test_engine(), with_shipped);
  EXPECT_TRUE(works(store.load(path)));
  EXPECT_EQ(compiled, 0);
  // A file that was cut short is as good as none.
  for (const auto& entry : std::filesystem::directory_iterator(folder / "shipped")) {
    if (entry.path().extension() == ".code")
      std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  }
  ModuleStore later(test_engine(), with_shipped);
  EXPECT_TRUE(works(later.load(path)));
  EXPECT_EQ(compiled, 1);
}

TEST_F(ModuleStoreTest, TheSameBytesAreTheSameModule) {
  ModuleStore store(test_engine(), {});
  const auto first = store.load(from_wat(program), "a");
  EXPECT_EQ(*first, *store.load(from_wat(program), "b"));
  EXPECT_NE(*first, *store.load(from_wat("(module)"), "c"));
}

TEST_F(ModuleStoreTest, TheCacheIsForThisUserAlone) {
  load_anew(program).ok();
  struct stat status;
  ASSERT_EQ(stat(cache.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  for (const auto& path : cached(".code")) {
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
  }
  ASSERT_EQ(chmod(cache.c_str(), 0755), 0);
  EXPECT_THROW(ModuleStore(test_engine(), options()), HostError);
}

TEST_F(ModuleStoreTest, ACacheFolderThatIsNoneIsAHostError) {
  std::ofstream(cache) << "a file";
  EXPECT_THROW(ModuleStore(test_engine(), options()), HostError);
}

TEST_F(ModuleStoreTest, DamagedCodeIsRebuilt) {
  load_anew(program).ok();
  const auto code = cached(".code").at(0);
  for (const std::uint64_t at : {0ULL, 5000ULL, std::filesystem::file_size(code) - 1ULL}) {
    compiled = 0;
    std::fstream file(code, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 0x55);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    file.close();
    EXPECT_TRUE(works(load_anew(program))) << at;
    EXPECT_EQ(compiled, 1) << at;
  }
}

TEST_F(ModuleStoreTest, TruncatedEmptyOrForeignFilesAreRebuilt) {
  load_anew(program).ok();
  const auto code = cached(".code").at(0);
  const std::filesystem::path record = code.string() + ".record";
  const std::vector<std::function<void()>> attacks{
      [&] { std::filesystem::resize_file(code, std::filesystem::file_size(code) / 2); },
      [&] { std::filesystem::resize_file(code, 0); },
      [&] { std::filesystem::resize_file(record, 10); },
      [&] { std::filesystem::remove(record); },
      [&] { std::filesystem::remove(code); },
      [&] { std::ofstream(record) << std::string(200, 'x'); },
      [&] { std::filesystem::permissions(code, std::filesystem::perms(0666)); },
  };
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    compiled = 0;
    attacks[i]();
    EXPECT_TRUE(works(load_anew(program))) << i;
    EXPECT_EQ(compiled, 1) << i;
  }
}

// The record is right and the code is whole, but wasmtime did not write it for this engine.
TEST_F(ModuleStoreTest, CodeThatTheEngineRefusesIsRebuilt) {
  load_anew(program).ok();
  const auto code = cached(".code").at(0);
  const auto bytes = from_wat(program);
  const auto digest = load_anew(program).value()->info().digest;
  std::filesystem::remove(code);
  save_trusted(code, digest, bytes.size(), [](HostFiles& files, int fd) {
    return files.write_all(fd, std::as_bytes(std::span("\177ELF and then nothing of use")));
  });
  compiled = 0;
  EXPECT_TRUE(works(load_anew(program)));
  EXPECT_EQ(compiled, 1);
}

TEST_F(ModuleStoreTest, AMovedCacheIsChecked) {
  load_anew(program).ok();
  const auto moved = folder / "moved";
  std::filesystem::copy(cache, moved, std::filesystem::copy_options::recursive);
  ASSERT_EQ(chmod(moved.c_str(), 0700), 0);
  cache = moved;
  EXPECT_TRUE(works(load_anew(program)));
  EXPECT_TRUE(works(load_anew(program)));
  EXPECT_EQ(compiled, 1);
}

TEST_F(ModuleStoreTest, ACacheThatCannotBeWrittenCostsTimeOnly) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  ModuleStore store(test_engine(), options());
  ASSERT_EQ(chmod(cache.c_str(), 0500), 0);
  EXPECT_TRUE(works(store.load(from_wat(program), "test")));
  ASSERT_EQ(chmod(cache.c_str(), 0700), 0);
}

TEST_F(ModuleStoreTest, ThreadsShareTheWork) {
  ModuleStore store(test_engine(), options());
  const auto bytes = from_wat(program);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { good += store.load(bytes, "test").ok() ? 1 : 0; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(compiled, 1);
}

TEST_F(ModuleStoreTest, WhoGivesUpLeavesTheCompilerToTheNext) {
  const auto path = write_program(program);
  std::latch may_compile(1);
  ModuleStore::Options slow = options();
  slow.on_compile = [&](std::string_view, std::uint64_t) {
    ++compiled;
    may_compile.wait();
  };
  ModuleStore store(test_engine(), slow);
  const auto given_up = store.load(path, Interruption::epochs, [] { return true; });
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code(), Errno::intr);
  auto next = std::async(std::launch::async, [&] { return store.load(path); });
  may_compile.count_down();
  EXPECT_TRUE(works(next.get()));
  EXPECT_EQ(compiled, 1);
}

// A process that is stopped while it waits, which its guest can do to it.
TEST_F(ModuleStoreTest, WhoDoesNotComeBackFromWaitingKeepsNobodyWaiting) {
  const auto path = write_program(program);
  std::latch waits(1), goes_on(1), may_compile(1);
  ModuleStore::Options slow = options();
  slow.on_compile = [&](std::string_view, std::uint64_t) { may_compile.wait(); };
  ModuleStore store(test_engine(), slow);
  auto stopped = std::async(std::launch::async, [&] {
    return store.load(path, Interruption::epochs, [&, first = true]() mutable {
      if (std::exchange(first, false)) {
        waits.count_down();
        goes_on.wait();
      }
      return false;
    });
  });
  waits.wait();
  auto other = std::async(std::launch::async, [&] { return store.load(path); });
  may_compile.count_down();
  EXPECT_TRUE(works(other.get()));
  goes_on.count_down();
  EXPECT_TRUE(works(stopped.get()));
}

TEST_F(ModuleStoreTest, StoresShareTheWorkThroughTheFolder) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] { good += load_anew(program).ok() ? 1 : 0; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 6);
  EXPECT_EQ(compiled, 1);
}

// Programs that differ, whose code has the same size.
std::string numbered(int number) {
  return "(module (func (export \"f\") (result i32) (i32.const " + std::to_string(1000 + number) +
         ")))";
}

TEST_F(ModuleStoreTest, OldCodeGoesWhenTheCacheIsFull) {
  for (int i = 0; i < 5; ++i) {
    ModuleStore::Options small = options();
    small.cache_limit_bytes = 1;
    ModuleStore store(test_engine(), small);
    ASSERT_TRUE(store.load(write_program(numbered(i))));
    EXPECT_EQ(cached(".code").size(), 1U);
  }
}

TEST_F(ModuleStoreTest, GuestsDriveOutGuestsOnly) {
  ModuleStore::Options small = options();
  const auto host_program = write_program(numbered(100));
  ASSERT_TRUE(ModuleStore(test_engine(), small).load(host_program));
  const std::uint64_t one = std::filesystem::file_size(cached(".code").front());
  small.cache_limit_bytes = one;  // the guests' code does not count
  small.guest_cache_limit_bytes = 2 * one + one / 2;
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(ModuleStore(test_engine(), small).load(from_wat(numbered(i)), "guest"));
  EXPECT_EQ(cached(".code").size(), 3U);
  compiled = 0;
  EXPECT_TRUE(ModuleStore(test_engine(), small).load(host_program));
  // A guest's copy of it is the same program.
  EXPECT_TRUE(ModuleStore(test_engine(), small).load(from_wat(numbered(100)), "guest"));
  EXPECT_EQ(compiled, 0);
}

TEST_F(ModuleStoreTest, GuestCodeBeyondTheLimitIsNotKept) {
  ModuleStore::Options small = options();
  small.guest_cache_limit_bytes = 1;
  EXPECT_TRUE(works(ModuleStore(test_engine(), small).load(from_wat(program), "guest")));
  EXPECT_TRUE(cached(".code").empty());
}

TEST_F(ModuleStoreTest, OfGuestsProgramsSoManyAreKept) {
  ModuleStore::Options small = options();
  small.guest_cache_limit_programs = 2;
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(ModuleStore(test_engine(), small).load(from_wat(numbered(i)), "guest"));
  EXPECT_EQ(cached(".code").size(), 2U);
  compiled = 0;
  ASSERT_TRUE(ModuleStore(test_engine(), small).load(from_wat(numbered(4)), "guest"));
  EXPECT_EQ(compiled, 0);
}

TEST_F(ModuleStoreTest, WhatWasUsedLastStays) {
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto load = [&](int number, std::uint64_t limit_bytes) {
    ModuleStore::Options small = options();
    small.guest_cache_limit_bytes = limit_bytes;
    ASSERT_TRUE(ModuleStore(test_engine(), small).load(from_wat(numbered(number)), "guest"));
  };
  constexpr std::uint64_t enough = 1 << 20;
  load(1, enough);
  const auto first = cached(".record").front();
  load(2, enough);
  for (const auto& record : cached(".record"))
    std::filesystem::last_write_time(record, now - std::chrono::hours(record == first ? 2 : 1));
  load(1, enough);
  load(3, std::filesystem::file_size(cached(".code").front()) * 5 / 2);
  compiled = 0;
  load(1, enough);
  load(3, enough);
  EXPECT_EQ(compiled, 0);
  load(2, enough);
  EXPECT_EQ(compiled, 1);
}

TEST_F(ModuleStoreTest, LocksAreNotLeftBehind) {
  EXPECT_TRUE(load_anew(program));
  EXPECT_FALSE(ModuleStore(test_engine(), options()).load(std::as_bytes(std::span("no")), "bad"));
  EXPECT_TRUE(cached(".lock").empty());
}

TEST_F(ModuleStoreTest, LoadsFilesAndSeesTheirChange) {
  const auto path = write_program(program);
  {
    ModuleStore store(test_engine(), options());
    const auto module = store.load(path);
    EXPECT_TRUE(works(module));
    EXPECT_EQ((*module)->info().wasm_bytes, std::filesystem::file_size(path));
  }
  ModuleStore store(test_engine(), options());
  EXPECT_TRUE(works(store.load(path)));
  EXPECT_EQ(compiled, 1);
  write_program("(module (func (export \"g\")))");
  const auto changed = store.load(path);
  ASSERT_TRUE(changed);
  EXPECT_TRUE((*changed)->info().has_export("g"));
}

TEST_F(ModuleStoreTest, AFileIsRememberedWhenItIsOlderThanTheGrainOfTheClock) {
  prepare_cache_folder(cache);
  struct stat status;
  ASSERT_EQ(stat(write_program(program).c_str(), &status), 0);
  FileIdentity file(status);
  const KnownProgram known{Digest{1, 2, 3}, 77};
  remember_program(cache, file, known);
  EXPECT_FALSE(find_known_program(cache, file));  // it could change again unseen
  file.changed_ns -= 10'000'000'000;
  remember_program(cache, file, known);
  EXPECT_EQ(find_known_program(cache, file)->digest, known.digest);
  EXPECT_EQ(find_known_program(cache, file)->wasm_bytes, 77U);
  FileIdentity other = file;
  other.inode += 1;
  EXPECT_FALSE(find_known_program(cache, other));
  std::ofstream(cached(".known").at(0), std::ios::in | std::ios::out).seekp(40) << "x";
  EXPECT_FALSE(find_known_program(cache, file));
}

TEST_F(ModuleStoreTest, FilesThatAreNoneOfOursAreErrors) {
  ModuleStore store(test_engine(), options());
  const Error absent = store.load(folder / "absent.wasm").error();
  EXPECT_EQ(absent.code(), Errno::noent);
  EXPECT_THAT(absent.sentence(), testing::HasSubstr("absent.wasm"));
  EXPECT_EQ(store.load(folder).error().code(), Errno::acces);
  const auto empty = folder / "empty";
  std::ofstream(empty).close();
  EXPECT_EQ(store.load(empty).error().code(), Errno::noexec);
  std::filesystem::resize_file(empty, max_module_bytes + 1);
  EXPECT_EQ(store.load(empty).error().code(), Errno::fbig);
}

class BadProgramTest : public ModuleStoreTest, public testing::WithParamInterface<std::string> {};

TEST_P(BadProgramTest, IsENOEXECWithASentence) {
  ModuleStore store(test_engine(), options());
  const auto module = store.load(std::as_bytes(std::span(GetParam())), "guest");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code(), Errno::noexec);
  EXPECT_THAT(module.error().sentence(), testing::HasSubstr("guest"));
  EXPECT_TRUE(cached(".code").empty());
}

std::string wasm_of(std::string_view wat) {
  const auto bytes = from_wat(wat);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using namespace std::string_literals;
INSTANTIATE_TEST_SUITE_P(
    Bad, BadProgramTest,
    testing::Values(
        "", "#!/bin/sh\necho\n", "(module)", "\0asm"s, "\0asm\1\0\0\0\1\377\377\377\377\17"s,
        "\0asm\2\0\0\0"s, "\0asm\15\0\1\0"s,
        wasm_of("(module (func (export \"f\") (result i32) (i32.const 1)))").substr(0, 20),
        wasm_of("(module (memory i64 1))"), wasm_of("(module (memory 1 1 shared))"),
        wasm_of("(module (memory 1) (memory 1))")));

#if !defined(CLOCHE_SANITIZED)

// The library's threads are there for good once something has been compiled: then it is no error.
TEST_F(ModuleStoreTest, WithoutThreadsTheFirstCompileIsAnError) {
  {
    const RefusedThreads none;
    const auto refused = load_anew(program);
    EXPECT_TRUE(refused || refused.error().code() == Errno::again);
  }
  EXPECT_TRUE(works(load_anew(program)));
}

#endif

TEST_F(ModuleStoreTest, GuestProgramsHaveASizeLimit) {
  ModuleStore store(test_engine(), options());
  const std::vector<std::byte> bytes(max_guest_module_bytes + 1);
  EXPECT_EQ(store.load(bytes, "big").error().code(), Errno::fbig);
}

}  // namespace
}  // namespace cloche::wasm
