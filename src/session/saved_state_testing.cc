// SPDX-License-Identifier: Apache-2.0
#include "session/saved_state_testing.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace cloche::session {

TestFolder::TestFolder() {
  std::string name = std::filesystem::temp_directory_path() / "cloche-sessions-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  path_ = name;
}

TestFolder::~TestFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::set<std::string> TestFolder::names() const {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.insert(entry.path().filename().string());
  return names;
}

std::string TestFolder::read(const std::string& name) const {
  std::ifstream file(path_ / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void TestFolder::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name, std::ios::binary) << content;
}

Engine& bare_engine() {
  static const TestFolder& folder = *new TestFolder;
  static Engine& engine = [&]() -> Engine& {
    std::filesystem::create_directories(folder / "system");
    folder.write("system/system.index", "cloche-system 2\nd\t755\tusr/bin\n");
    EngineOptions options;
    options.system_folder = folder / "system";
    options.cache_folder = folder / "cache";
    options.wheel_cache_bytes = 0;
    return *new Engine(options);
  }();
  return engine;
}

void FaultyFiles::fail_at(std::size_t call, Fault fault, Errno error) {
  calls_ = 0;
  fail_at_ = call;
  fault_ = fault;
  error_ = error;
}

void FaultyFiles::fail_all(Errno error) {
  failing_ = true;
  error_ = error;
}

void FaultyFiles::heal() {
  failing_ = false;
  fail_at_ = SIZE_MAX;
}

Result<void> FaultyFiles::count() {
  if (calls_++ == fail_at_) {
    if (fault_ == Fault::crash) failing_ = true;
    return error_;
  }
  if (failing_) return error_;
  return {};
}

std::string FaultyFiles::path_of(int fd) {
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
}

Result<UniqueFd> FaultyFiles::open(const std::string& path, int flags, unsigned mode) {
  if ((flags & O_CREAT) != 0) CLOCHE_TRY(count());
  return HostFiles::open(path, flags, mode);
}

Result<std::size_t> FaultyFiles::write(int fd, std::span<const std::byte> bytes) {
  CLOCHE_TRY(count());
  unsynced_files_.insert(path_of(fd));
  return HostFiles::write(fd, bytes.first(std::min(bytes.size(), write_max)));
}

Result<void> FaultyFiles::sync(int fd) {
  CLOCHE_TRY(count());
  unsynced_files_.erase(path_of(fd));
  unsynced_folders_.erase(path_of(fd));
  return HostFiles::sync(fd);
}

Result<void> FaultyFiles::rename(const std::string& from, const std::string& to) {
  CLOCHE_TRY(count());
  order_broken_ = order_broken_ || unsynced_files_.contains(from);
  unsynced_folders_.insert(std::filesystem::path(to).parent_path().string());
  return HostFiles::rename(from, to);
}

Result<void> FaultyFiles::unlink(const std::string& path) {
  CLOCHE_TRY(count());
  return HostFiles::unlink(path);
}

}  // namespace cloche::session
