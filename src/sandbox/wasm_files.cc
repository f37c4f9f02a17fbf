// SPDX-License-Identifier: Apache-2.0
#include "sandbox/wasm_files.h"

#include "base/units.h"
#include "sandbox/file_info.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {
namespace {

constexpr std::size_t entries_max = 1'000'000;
FileKind kind_of(vfs::FileType type) {
  switch (type) {
    case vfs::FileType::regular: return FileKind::file;
    case vfs::FileType::directory: return FileKind::directory;
    case vfs::FileType::symlink: return FileKind::symlink;
    default: return FileKind::other;
  }
}

}  // namespace

FileInfo info_of(const vfs::FileInfo& info) {
  return {.name = info.name,
          .kind = kind_of(info.stat.type),
          .size_bytes = info.stat.type == vfs::FileType::directory ? 0 : info.stat.size,
          .mode = info.stat.mode,
          .modified_ns = info.stat.mtime.s * ns_per_s + info.stat.mtime.ns,
          .created_ns = info.stat.btime.s * ns_per_s + info.stat.btime.ns,
          .accessed_ns = info.stat.atime.s * ns_per_s + info.stat.atime.ns,
          .target = info.target,
          .user = info.stat.uid,
          .group = info.stat.gid,
          .inode = info.stat.ino};
}

namespace {

Result<FileInfo> info_at(vfs::PathOperations& files, std::string_view path, vfs::Follow follow) {
  CLOCHE_ASSIGN(const vfs::FileInfo info, files.stat(path, follow));
  return info_of(info);
}

}  // namespace

Result<std::string> WasmFiles::read(std::string_view path, std::uint64_t limit_bytes) {
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) { return files.read_file(path, limit_bytes); });
}

Result<std::string> WasmFiles::read_range(std::string_view path, std::uint64_t offset,
                                          std::size_t size_bytes) {
  return state_.with_files(account_, [&](vfs::PathOperations& files) {
    return files.read_range(path, offset, size_bytes);
  });
}

Result<void> WasmFiles::write(std::string_view path, std::string_view content, std::uint32_t mode,
                              IfThere there) {
  return state_.with_files(account_, [&](vfs::PathOperations& files) {
    return files.write_file(
        path, content, mode, vfs::Parents::make,
        there == IfThere::refuse ? vfs::WriteMode::make : vfs::WriteMode::replace);
  });
}

Result<void> WasmFiles::append(std::string_view path, std::string_view content) {
  return state_.with_files(account_, [&](vfs::PathOperations& files) {
    return files.write_file(path, content, 0644, vfs::Parents::make, vfs::WriteMode::append);
  });
}

Result<std::vector<FileInfo>> WasmFiles::list(std::string_view path) {
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) -> Result<std::vector<FileInfo>> {
        CLOCHE_ASSIGN(const std::vector<vfs::FileInfo> found, files.list(path, entries_max));
        std::vector<FileInfo> infos;
        infos.reserve(found.size());
        for (const vfs::FileInfo& info : found) infos.push_back(info_of(info));
        return infos;
      });
}

Result<FileInfo> WasmFiles::stat(std::string_view path) {
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) { return info_at(files, path, vfs::Follow::yes); });
}

Result<FileInfo> WasmFiles::link_stat(std::string_view path) {
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) { return info_at(files, path, vfs::Follow::no); });
}

Result<void> WasmFiles::make_directories(std::string_view path) {
  return state_.with_files(account_, [&](vfs::PathOperations& files) {
    return files.make_dir(path, 0755, vfs::Parents::make);
  });
}

Result<void> WasmFiles::make_directory(std::string_view path) {
  return state_.with_files(account_, [&](vfs::PathOperations& files) {
    return files.make_dir(path, 0755, vfs::Parents::must_exist);
  });
}

Result<void> WasmFiles::remove(std::string_view path) {
  return state_.with_files(account_,
                           [&](vfs::PathOperations& files) { return files.remove(path); });
}

Result<void> WasmFiles::remove_all(std::string_view path) {
  return state_.with_files(account_,
                           [&](vfs::PathOperations& files) { return files.remove_all(path); });
}

Result<void> WasmFiles::rename(std::string_view from, std::string_view to, IfThere there) {
  return state_.with_files(account_, [&](vfs::PathOperations& files) {
    return files.rename(
        from, to,
        there == IfThere::refuse ? vfs::RenameMode::no_replace : vfs::RenameMode::replace);
  });
}

Result<void> WasmFiles::change_mode(std::string_view path, std::uint32_t mode) {
  return state_.with_files(account_,
                           [&](vfs::PathOperations& files) { return files.chmod(path, mode); });
}

Result<void> WasmFiles::change_owner(std::string_view path, std::uint32_t user,
                                     std::uint32_t group) {
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) { return files.change_owner(path, user, group); });
}

Result<void> WasmFiles::make_symlink(std::string_view target, std::string_view path) {
  return state_.with_files(account_,
                           [&](vfs::PathOperations& files) { return files.symlink(target, path); });
}

Result<void> WasmFiles::make_link(std::string_view existing, std::string_view path) {
  return state_.with_files(account_,
                           [&](vfs::PathOperations& files) { return files.link(existing, path); });
}

Result<std::string> WasmFiles::resolve(std::string_view path) {
  return state_.with_files(account_,
                           [&](vfs::PathOperations& files) { return files.real_path(path); });
}

Result<std::map<std::string, std::string>> WasmFiles::attributes(std::string_view path) {
  return state_.with_files(account_,
                           [&](vfs::PathOperations& files) { return files.attributes(path); });
}

Result<void> WasmFiles::set_attribute(std::string_view path, std::string_view name,
                                      std::string_view value) {
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) { return files.set_attribute(path, name, value); });
}

Result<void> WasmFiles::remove_attribute(std::string_view path, std::string_view name) {
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) { return files.remove_attribute(path, name); });
}

Result<std::vector<std::string>> WasmFiles::glob(std::string_view pattern) {
  return state_.with_files(
      account_, [&](vfs::PathOperations& files) { return files.glob(pattern, entries_max); });
}

}  // namespace cloche::sandbox
