// SPDX-License-Identifier: Apache-2.0
// Devices: what opening a character device inode gives: null, zero, full, random, urandom, and the
// terminals.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"
#include "vfs/filesystem.h"

namespace cloche::kernel {

class Task;

// Device numbers, Linux's.
namespace device {
inline constexpr std::uint64_t null = vfs::make_dev(1, 3), zero = vfs::make_dev(1, 5),
                               full = vfs::make_dev(1, 7), random = vfs::make_dev(1, 8),
                               urandom = vfs::make_dev(1, 9), tty = vfs::make_dev(5, 0),
                               console = vfs::make_dev(5, 1), ptmx = vfs::make_dev(5, 2);
inline constexpr std::uint32_t pts_major = 136;
}  // namespace device

// Opens the device `rdev` that `node` names; permissions have been checked. `flags`: as given to
// open (O_NOCTTY counts). ENXIO for a device that does not exist here, and for /dev/tty without a
// controlling terminal.
Result<FilePtr> open_device(Task& task, const vfs::Node& node, std::uint64_t rdev,
                            std::uint32_t flags) REQUIRES(kernel_lock);

}  // namespace cloche::kernel
