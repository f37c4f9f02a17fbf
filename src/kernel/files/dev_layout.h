// SPDX-License-Identifier: Apache-2.0
// What a sandbox has at /dev, /proc and /dev/pts.
#pragma once

#include "kernel/time/kernel_lock.h"
#include "vfs/base_builder.h"

namespace cloche::kernel {

class Kernel;

// Adds /dev to a base layer: the devices (null, zero, full, random, urandom, tty, ptmx, console),
// the links to the descriptors of who asks (fd, stdin, stdout, stderr), and the directories pts,
// shm (for everyone) and mqueue; and /proc, to mount on. They cost the sandboxes no quota. Throws
// HostError when the layer has something else there.
void add_devices(vfs::BaseBuilder& builder);

// Mounts proc at /proc and the terminals at /dev/pts; every kernel does so with its own. Makes the
// directories where they are missing.
Result<void> mount_kernel_filesystems(Kernel& kernel) REQUIRES(kernel_lock);

}  // namespace cloche::kernel
