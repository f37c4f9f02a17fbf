// SPDX-License-Identifier: Apache-2.0
// Bundle: the Python library and the packages of a build, in one file that is mapped and never
// copied. userland/python/bundle.py writes it and says how it is laid out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vfs/base_builder.h"
#include "vfs/shared_bytes.h"

namespace cloche::packages {

struct BundledPackage {
  std::string name;  // as pip normalises it
  std::string version;
  std::string summary;
  std::string license;
  std::string home_page;
  std::vector<std::string> requires_names;
  std::map<std::string, std::vector<std::string>> extras;  // what else each extra requires
  std::vector<std::string> provides;                       // top-level import names
  std::string preload;      // what boot images import of it, with blanks between
  bool builtin = false;     // in the standard library: always there
  std::uint64_t first = 0;  // its files
  std::uint64_t count = 0;
};

class Bundle {
 public:
  // Throws HostError with one sentence when the file cannot be read or is not whole.
  explicit Bundle(const std::filesystem::path& path);

  // Says what is in it: another content has another id.
  const std::string& id() const noexcept { return id_; }
  const std::vector<BundledPackage>& packages() const noexcept { return packages_; }
  const BundledPackage* find(std::string_view name) const;

  // Adds the package's files below `folder` ("usr/lib/python3.15").
  void add_files(vfs::BaseBuilder& builder, const BundledPackage& package,
                 std::string_view folder) const;

 private:
  struct Record;
  void check(const std::filesystem::path& path) const;

  vfs::SharedBytes bytes_;
  std::string id_;
  std::vector<BundledPackage> packages_;
  std::uint64_t file_count_ = 0;
  std::uint64_t table_at_ = 0;
  std::uint64_t names_at_ = 0;
  std::uint64_t names_size_ = 0;
};

}  // namespace cloche::packages
