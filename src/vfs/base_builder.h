// SPDX-License-Identifier: Apache-2.0
// BaseBuilder: makes a frozen tree of shared content: the system layer, a Python package, an
// unpacked archive. What is in it costs the sandboxes that fork or graft it no quota and no copy.
//
// Paths are absolute or relative to the root, made of plain names ("usr/bin/ls"; "." and ".." are
// refused). Missing parents are made with the default attributes. A name that is already there is
// replaced if neither is a directory; a directory that is there takes the new attributes. Errors
// are values (Errno): the caller knows the path.
#pragma once

#include <memory>
#include <string_view>

#include "vfs/memfs.h"
#include "vfs/shared_bytes.h"

namespace cloche::vfs {

struct BaseAttr {
  std::uint32_t mode = 0644;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  Timestamp mtime = {};
};

class BaseBuilder {
 public:
  // Directories that are made on the way have these attributes.
  explicit BaseBuilder(BaseAttr directories = {.mode = 0755});
  ~BaseBuilder();
  BaseBuilder(const BaseBuilder&) = delete;
  BaseBuilder& operator=(const BaseBuilder&) = delete;

  Result<void> add_dir(std::string_view path, const BaseAttr& attr = {.mode = 0755});
  Result<void> add_file(std::string_view path, SharedBytes content, const BaseAttr& attr = {});
  // A file that exec maps to a program of the host's choice: `tag` (not 0) is what
  // FileSystem::program answers.
  Result<void> add_program(std::string_view path, std::uint64_t tag, SharedBytes content,
                           const BaseAttr& attr = {.mode = 0755});
  Result<void> add_symlink(std::string_view path, std::string_view target,
                           const BaseAttr& attr = {.mode = 0777});
  Result<void> add_device(std::string_view path, FileType type, std::uint64_t rdev,
                          const BaseAttr& attr = {.mode = 0666});

  // The state so far. The builder can go on; what it returned does not change.
  Frozen freeze();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::vfs
