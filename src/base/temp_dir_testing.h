// SPDX-License-Identifier: Apache-2.0
// TempDir: a fresh folder of the host for one test, removed with all that is in it.
#pragma once

#include <filesystem>
#include <string>

namespace cloche {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const;
  std::string read(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

}  // namespace cloche
