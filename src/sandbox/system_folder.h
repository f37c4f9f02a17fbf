// SPDX-License-Identifier: Apache-2.0
// The folder of the guests' system, as userland/build/stage.py lays it out:
//
//   system.index   what the tree holds: a first line that names the format, then a line an entry,
//                  whose fields a tab parts; modes are octal, paths relative to the root
//                    d MODE PATH               a directory
//                    l TARGET PATH             a symbolic link
//                    f MODE OFFSET SIZE PATH   a file, whose bytes lie there in files.pack
//                    p MODE PATH               a WebAssembly program: a file PATH of this folder
//   files.pack     the bytes of all files that are no program: opening a thousand small files
//                  costs a start more than all the rest of the tree
//   manifest.json  programs and libraries with licence and source, for people
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace cloche::sandbox {

struct SystemEntry {
  enum class Kind { directory, symlink, file, program };
  Kind kind = Kind::file;
  std::uint32_t mode = 0;
  std::uint64_t offset = 0;  // of a file, in files.pack
  std::uint64_t size = 0;
  std::string_view target;  // of a link
  std::string_view path;
};

// Calls `use` for each entry of the system in `folder`, folders before what is in them; the views
// last as long as the call. Throws HostError with one sentence when there is no system, or one
// that this version cannot read.
void for_each_entry(const std::filesystem::path& folder,
                    const std::function<void(const SystemEntry&)>& use);

}  // namespace cloche::sandbox
