// SPDX-License-Identifier: Apache-2.0
// Costs of the file system layer, in memory: fork, path walk, small files, sequential content.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "vfs/base_builder.h"
#include "vfs/checked_operations.h"
#include "vfs/memfs.h"
#include "vfs/namespace.h"

namespace cloche::vfs {
namespace {

Frozen tree_of(int files) {
  BaseBuilder builder;
  const SharedBytes content = SharedBytes::from_string(std::string(1000, 'x'));
  for (int i = 0; i < files; ++i) {
    const std::string path = "usr/lib/d" + std::to_string(i / 100) + "/f" + std::to_string(i);
    CLOCHE_CHECK(builder.add_file(path, content, {.uid = 1000}).ok());
  }
  return builder.freeze();
}

void vfs_fork(benchmark::State& state) {
  const Frozen base = tree_of(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const auto fs = make_fs<MemFs>(base, Quota{}, host_clock());
    benchmark::DoNotOptimize(fs->root());
  }
}
BENCHMARK(vfs_fork)->Arg(100)->Arg(10'000);

void vfs_fork_and_first_write(benchmark::State& state) {
  const Frozen base = tree_of(10'000);
  const std::string data(100, 'x');
  for (auto _ : state) {
    const auto fs = make_fs<MemFs>(base, Quota{}, host_clock());
    Namespace space(fs);
    const Node file =
        *space.lookup(space.root(), "/usr/lib/d50/f5000", Follow::yes, root_credentials());
    const auto io = *open(file, Access::write, root_credentials());
    CLOCHE_CHECK(io->write(0, std::as_bytes(std::span(data))).ok());
    CLOCHE_CHECK(create(space.root(), "new", FileType::regular, 0644, root_credentials()).ok());
  }
}
BENCHMARK(vfs_fork_and_first_write);

void vfs_resolve_5_components(benchmark::State& state) {
  const auto fs = make_fs<MemFs>(Quota{}, host_clock());
  Namespace space(fs);
  const Credentials user;
  Node at = space.root();
  for (const auto* name : {"home", "user", "project", "src"}) {
    at = *create(at, name, FileType::directory, 0755, root_credentials());
    for (int i = 0; i < 100; ++i) {
      CLOCHE_CHECK(
          create(at, "f" + std::to_string(i), FileType::regular, 0644, root_credentials()).ok());
    }
  }
  for (auto _ : state) {
    const auto found = space.lookup(space.root(), "/home/user/project/src/f50", Follow::yes, user);
    benchmark::DoNotOptimize(found->ino());
  }
}
BENCHMARK(vfs_resolve_5_components);

void vfs_create_write_read_unlink(benchmark::State& state) {
  const auto fs = make_fs<MemFs>(Quota{}, host_clock());
  const Node root(*fs, fs->root());
  const Credentials& cred = root_credentials();
  std::string data(1000, 'x');
  for (auto _ : state) {
    const Node file = *create(root, "file", FileType::regular, 0644, cred);
    const auto io = *open(file, Access::read_write, cred);
    CLOCHE_CHECK(io->write(0, std::as_bytes(std::span(data))).ok());
    CLOCHE_CHECK(io->read(0, std::as_writable_bytes(std::span(data))).ok());
    CLOCHE_CHECK(unlink(root, "file", cred).ok());
  }
}
BENCHMARK(vfs_create_write_read_unlink);

void vfs_stat(benchmark::State& state) {
  const auto fs = make_fs<MemFs>(tree_of(10'000), Quota{}, host_clock());
  const Ino ino = *fs->lookup(*fs->lookup(*fs->lookup(1, "usr"), "lib"), "d7");
  for (auto _ : state) benchmark::DoNotOptimize(fs->stat(ino)->mode);
}
BENCHMARK(vfs_stat);

constexpr std::uint64_t file_bytes = 16 << 20;

void vfs_write_64k(benchmark::State& state) {
  const auto fs = make_fs<MemFs>(Quota{}, host_clock());
  const Node root(*fs, fs->root());
  const Node file = *create(root, "file", FileType::regular, 0644, root_credentials());
  const auto io = *open(file, Access::write, root_credentials());
  const std::string data(65536, 'x');
  std::uint64_t at = 0;
  for (auto _ : state) {
    CLOCHE_CHECK(io->write(at, std::as_bytes(std::span(data))).ok());
    at += data.size();
    if (at == file_bytes) {
      CLOCHE_CHECK(io->truncate(0).ok());
      at = 0;
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * 65536);
}
BENCHMARK(vfs_write_64k);

void vfs_read_64k(benchmark::State& state) {
  const auto fs = make_fs<MemFs>(Quota{}, host_clock());
  const Node root(*fs, fs->root());
  const Node file = *create(root, "file", FileType::regular, 0644, root_credentials());
  const auto io = *open(file, Access::read_write, root_credentials());
  std::string data(file_bytes, 'x');
  CLOCHE_CHECK(io->write(0, std::as_bytes(std::span(data))).ok());
  data.resize(65536);
  std::uint64_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(*io->read(at, std::as_writable_bytes(std::span(data))));
    at = (at + data.size()) % file_bytes;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * 65536);
}
BENCHMARK(vfs_read_64k);

}  // namespace
}  // namespace cloche::vfs
