// SPDX-License-Identifier: Apache-2.0
#include "packages/bundle.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/host_error.h"

namespace cloche::packages {
namespace {

using Json = nlohmann::json;

struct Header {
  char magic[8];
  std::uint64_t json_size;
  std::uint64_t file_count;
  std::uint64_t names_size;
  std::uint64_t data_at;
};
static_assert(sizeof(Header) == 40);
constexpr std::string_view magic = "CLPYBND1";
constexpr std::uint64_t max_files = 1'000'000;

[[noreturn]] void damaged(const std::filesystem::path& path) {
  throw HostError(path.string() + " is damaged: remove it and run `make`");
}

BundledPackage package_of(const Json& json) {
  BundledPackage package;
  package.name = json.at("name");
  package.version = json.at("version");
  package.summary = json.value("summary", "");
  package.license = json.value("license", "");
  package.home_page = json.value("home_page", "");
  package.requires_names = json.at("requires");
  package.extras = json.value("extras", package.extras);
  package.provides = json.at("provides");
  package.preload = json.value("preload", "");
  package.builtin = json.value("builtin", false);
  package.first = json.at("first");
  package.count = json.at("count");
  return package;
}

}  // namespace

struct Bundle::Record {
  std::uint32_t name_at;
  std::uint32_t name_size;
  std::uint64_t data_at;
  std::uint64_t data_size;
};

Bundle::Bundle(const std::filesystem::path& path)
    : bytes_(vfs::SharedBytes::map_file(path.string())) {
  static_assert(sizeof(Record) == 24);
  Header header{};
  if (bytes_.size() < sizeof(header)) damaged(path);
  std::memcpy(&header, bytes_.data(), sizeof(header));
  if (std::string_view(header.magic, sizeof(header.magic)) != magic ||
      header.file_count > max_files || header.json_size > bytes_.size() ||
      header.names_size > bytes_.size()) {
    damaged(path);
  }
  file_count_ = header.file_count;
  names_size_ = header.names_size;
  table_at_ = sizeof(header) + header.json_size;
  names_at_ = table_at_ + file_count_ * sizeof(Record);
  if (names_at_ + names_size_ > bytes_.size()) damaged(path);
  const auto* text = reinterpret_cast<const char*>(bytes_.data()) + sizeof(header);
  try {
    const Json json = Json::parse(std::string_view(text, header.json_size));
    id_ = json.at("id");
    for (const Json& entry : json.at("packages")) packages_.push_back(package_of(entry));
  } catch (const Json::exception&) {
    damaged(path);
  }
  check(path);
}

void Bundle::check(const std::filesystem::path& path) const {
  for (const BundledPackage& package : packages_) {
    if (package.first > file_count_ || package.count > file_count_ - package.first) damaged(path);
  }
  for (std::uint64_t i = 0; i < file_count_; ++i) {
    Record record{};
    std::memcpy(&record, bytes_.data() + table_at_ + i * sizeof(record), sizeof(record));
    if (record.name_at > names_size_ || record.name_size > names_size_ - record.name_at ||
        record.data_at > bytes_.size() || record.data_size > bytes_.size() - record.data_at) {
      damaged(path);
    }
  }
}

const BundledPackage* Bundle::find(std::string_view name) const {
  const auto it = std::find_if(packages_.begin(), packages_.end(),
                               [&](const auto& p) { return p.name == name; });
  return it == packages_.end() ? nullptr : &*it;
}

void Bundle::add_files(vfs::BaseBuilder& builder, const BundledPackage& package,
                       std::string_view folder) const {
  std::string path;
  for (std::uint64_t i = package.first; i < package.first + package.count; ++i) {
    Record record{};
    std::memcpy(&record, bytes_.data() + table_at_ + i * sizeof(record), sizeof(record));
    path = folder;
    if (!path.empty()) path += '/';
    path.append(reinterpret_cast<const char*>(bytes_.data()) + names_at_ + record.name_at,
                record.name_size);
    const Result<void> added =
        builder.add_file(path, bytes_.part(record.data_at, record.data_size));
    if (!added) throw HostError("the Python library cannot hold " + path);
  }
}

}  // namespace cloche::packages
