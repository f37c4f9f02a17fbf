// SPDX-License-Identifier: Apache-2.0
// What tests of saved sessions share: an engine without programs, a folder, and files of the host
// that fail when they are told to.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/host_files.h"
#include "cloche/engine.h"

namespace cloche::session {

// A fresh folder of the host, removed with all that is in it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::set<std::string> names() const;
  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

// Its sandboxes have files and no program.
Engine& bare_engine();

// The host's files; what changes something is counted, and one of these calls can fail.
class FaultyFiles final : public HostFiles {
 public:
  enum class Fault {
    error,  // that call, with `error`
    crash,  // that call and all that follow: nothing more reaches the disk
  };
  void fail_at(std::size_t call, Fault fault, Errno error = Errno::io);
  // From now on.
  void fail_all(Errno error);
  void heal();
  std::size_t calls() const { return calls_; }
  // Pieces of a write that are taken at once.
  std::size_t write_max = SIZE_MAX;
  // Whether something was renamed before it was synced, or its folder was not synced after that.
  bool is_order_broken() const { return order_broken_ || !unsynced_folders_.empty(); }

  Result<UniqueFd> open(const std::string& path, int flags, unsigned mode) override;
  Result<std::size_t> write(int fd, std::span<const std::byte> bytes) override;
  Result<void> sync(int fd) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> unlink(const std::string& path) override;

 private:
  Result<void> count();
  static std::string path_of(int fd);

  std::size_t calls_ = 0;
  std::size_t fail_at_ = SIZE_MAX;
  Fault fault_ = Fault::error;
  Errno error_ = Errno::io;
  bool failing_ = false;
  bool order_broken_ = false;
  std::set<std::string> unsynced_files_;
  std::set<std::string> unsynced_folders_;
};

}  // namespace cloche::session
