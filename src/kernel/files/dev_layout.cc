// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/dev_layout.h"

#include <array>
#include <string>
#include <string_view>

#include "base/host_error.h"
#include "kernel/files/devices.h"
#include "kernel/kernel.h"
#include "kernel/proc/proc_fs.h"
#include "kernel/terminals/terminal_table.h"

namespace cloche::kernel {
namespace {

void must(const Result<void>& added, std::string_view path) {
  if (!added) throw HostError("cannot add /" + std::string(path) + " to the base layer");
}

struct Device {
  std::string_view path;
  std::uint64_t number;
  std::uint32_t mode;
};

struct Link {
  std::string_view path, target;
};

}  // namespace

void add_devices(vfs::BaseBuilder& builder) {
  constexpr std::array<Device, 8> devices{{
      {"dev/null", device::null, 0666},
      {"dev/zero", device::zero, 0666},
      {"dev/full", device::full, 0666},
      {"dev/random", device::random, 0666},
      {"dev/urandom", device::urandom, 0666},
      {"dev/tty", device::tty, 0666},
      {"dev/console", device::console, 0600},
      {"dev/ptmx", device::ptmx, 0666},
  }};
  constexpr std::array<Link, 4> links{{
      {"dev/fd", "/proc/self/fd"},
      {"dev/stdin", "/proc/self/fd/0"},
      {"dev/stdout", "/proc/self/fd/1"},
      {"dev/stderr", "/proc/self/fd/2"},
  }};
  must(builder.add_dir("proc", {.mode = 0555}), "proc");
  for (const std::string_view path : {"dev", "dev/pts"}) must(builder.add_dir(path), path);
  for (const std::string_view path : {"dev/shm", "dev/mqueue"})
    must(builder.add_dir(path, {.mode = 01777}), path);
  for (const Device& device : devices) {
    must(builder.add_device(device.path, vfs::FileType::character, device.number,
                            {.mode = device.mode}),
         device.path);
  }
  for (const Link& link : links) must(builder.add_symlink(link.path, link.target), link.path);
}

Result<void> mount_kernel_filesystems(Kernel& kernel) {
  CLOCHE_TRY(kernel.files().mount_at("/proc", vfs::make_fs<ProcFs>(kernel), "proc"));
  return kernel.files().mount_at("/dev/pts", kernel.terminals().file_system(), "devpts");
}

}  // namespace cloche::kernel
