// SPDX-License-Identifier: Apache-2.0
// From a descriptor and a path in guest memory to a place in the tree.
//
// A path may leave the directory of its descriptor, by ".." and by links, and may be absolute: what
// a process may reach is decided by its user's permissions, as for every other program here, and
// not by the descriptors it holds.
#pragma once

#include <cstdint>
#include <string>

#include "kernel/process/process_files.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {

struct PathArgument {
  std::uint32_t fd;
  std::uint32_t address;
  std::uint32_t length;
};

// What the call wants with the last component: to find it, or to make it.
enum class Purpose : std::uint8_t { find, make };

struct PathTarget {
  std::int32_t dirfd;
  std::string path;

  process_files::At at() const { return {dirfd, path, 0}; }
};

// The place that a path argument names. Below the preopen "." it is the root's where preopens.h
// says so; whether it exists is for the call itself to find out. EBADF, and the errors of
// Call::path.
Result<PathTarget> path_target(const Call& call, const PathArgument& argument, Purpose purpose)
    REQUIRES(kernel_lock);

}  // namespace cloche::kernel::wasi
