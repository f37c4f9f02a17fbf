// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/file_entry.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/result.h"
#include "base/units.h"

namespace cloche::e2b {
namespace {

// A folder's size is its block, as file systems that have blocks say.
constexpr std::uint64_t folder_size_bytes = 4096;

std::string_view type_name(FileKind kind) {
  return kind == FileKind::directory ? "FILE_TYPE_DIRECTORY" : "FILE_TYPE_FILE";
}

std::string permission_text(FileKind kind, std::uint32_t mode) {
  std::string text(1, kind == FileKind::directory ? 'd' : kind == FileKind::symlink ? 'L' : '-');
  for (int bit = 8; bit >= 0; --bit) text += (mode >> bit & 1) != 0 ? "xwr"[bit % 3] : '-';
  return text;
}

std::string name_of(std::uint32_t id) {
  return id == 0 ? "root" : id == 1000 ? "user" : std::to_string(id);
}

std::string time_text(std::int64_t ns) {
  std::int64_t seconds = ns / ns_per_s;
  std::int64_t rest = ns % ns_per_s;
  if (rest < 0) {
    rest += ns_per_s;
    --seconds;
  }
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(static_cast<std::time_t>(seconds)),
                     rest);
}

}  // namespace

std::string last_component(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path == "/" ? std::string(path) : std::string(path.substr(path.rfind('/') + 1));
}

Result<OrderedJson> entry_of(const Files& files, const std::string& path) {
  CLOCHE_ASSIGN(const FileInfo own, files.link_stat(path));
  const bool is_link = own.kind == FileKind::symlink;
  const Result<FileInfo> target = is_link ? files.stat(path) : Result<FileInfo>(own);
  const FileInfo& shown = target ? *target : own;
  OrderedJson entry;
  entry["name"] = last_component(path);
  entry["type"] = is_link && !target ? "FILE_TYPE_SYMLINK" : type_name(shown.kind);
  entry["path"] = path;
  const bool is_folder = shown.kind == FileKind::directory;
  if (is_folder || shown.size_bytes != 0)
    entry["size"] = std::to_string(is_folder ? folder_size_bytes : shown.size_bytes);
  entry["mode"] = shown.mode;
  entry["permissions"] = permission_text(own.kind, shown.mode);
  entry["owner"] = name_of(shown.user);
  entry["group"] = name_of(shown.group);
  entry["modifiedTime"] = time_text(shown.modified_ns);
  if (is_link) {
    entry["isSymlink"] = true;
    const Result<std::string> leads = files.resolve(path);
    entry["symlinkTarget"] = leads ? *leads : own.target;
  }
  if (target) {
    if (const auto attributes = files.attributes(path)) {
      OrderedJson metadata = OrderedJson::object();
      for (const auto& [name, value] : *attributes) {
        if (name.starts_with(metadata_space)) metadata[name.substr(metadata_space.size())] = value;
      }
      if (!metadata.empty()) entry["metadata"] = std::move(metadata);
    }
  }
  return entry;
}

}  // namespace cloche::e2b
