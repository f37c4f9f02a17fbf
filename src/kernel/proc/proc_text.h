// SPDX-License-Identifier: Apache-2.0
// The texts of /proc, in Linux's formats, from what the kernel knows. Figures are the sandbox's
// own: its limits, its processes, one processor. Kernel lock held.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "kernel/process/process.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {
class Kernel;
}

namespace cloche::kernel::proc {

// Clock ticks, in which Linux tells times of the processor here.
constexpr std::int64_t ticks_per_s = 100;

// --- The sandbox --------------------------------------------------------------------------------

std::string cmdline(const Kernel& kernel);
std::string cpuinfo(const Kernel& kernel);
std::string devices(const Kernel& kernel);
std::string filesystems(const Kernel& kernel);
std::string loadavg(const Kernel& kernel) REQUIRES(kernel_lock);
std::string meminfo(const Kernel& kernel);
std::string stat(const Kernel& kernel) REQUIRES(kernel_lock);
std::string swaps(const Kernel& kernel);
std::string uptime(const Kernel& kernel) REQUIRES(kernel_lock);
std::string version(const Kernel& kernel);

std::string file_max(const Kernel& kernel);
std::string hostname(const Kernel& kernel);
std::string osrelease(const Kernel& kernel);
std::string ostype(const Kernel& kernel);
std::string pid_max(const Kernel& kernel);
std::string random_uuid(const Kernel& kernel);
std::string threads_max(const Kernel& kernel);

// --- A process ----------------------------------------------------------------------------------

struct ProcessSummary {
  char state = 'R';  // R, S, T or Z
  std::uint64_t memory_bytes = 0;
  std::chrono::nanoseconds cpu{0};
};
ProcessSummary process_summary(const Process& process) REQUIRES(kernel_lock);

// Of the process itself; that of children it has waited for is `children_usage`.
std::chrono::nanoseconds cpu_of(const Process& process) REQUIRES(kernel_lock);

std::string process_cgroup(const Process& process);
std::string process_cmdline(const Process& process) REQUIRES(kernel_lock);
std::string process_comm(const Process& process) REQUIRES(kernel_lock);
std::string process_environ(const Process& process) REQUIRES(kernel_lock);
std::string process_io(const Process& process) REQUIRES(kernel_lock);
std::string process_limits(const Process& process) REQUIRES(kernel_lock);
std::string process_maps(const Process& process) REQUIRES(kernel_lock);
std::string process_mountinfo(const Process& process) REQUIRES(kernel_lock);
std::string process_mounts(const Process& process) REQUIRES(kernel_lock);
std::string process_net_dev(const Process& process);
std::string process_net_tcp(const Process& process) REQUIRES(kernel_lock);
std::string process_net_tcp6(const Process& process) REQUIRES(kernel_lock);
std::string process_net_udp(const Process& process) REQUIRES(kernel_lock);
std::string process_net_udp6(const Process& process) REQUIRES(kernel_lock);
std::string process_stat(const Process& process) REQUIRES(kernel_lock);
std::string process_statm(const Process& process) REQUIRES(kernel_lock);
std::string process_status(const Process& process) REQUIRES(kernel_lock);
// "0": nothing here is chosen to be killed, and nothing waits in a kernel function that has a name.
std::string process_zero(const Process& process);
std::string descriptor_info(const Process& process, std::int32_t fd) REQUIRES(kernel_lock);

// Sixteen random bytes as a UUID of version 4, with a newline.
std::string uuid(std::array<std::uint8_t, 16> bytes);
// Processes that compute, and that are there at all.
std::size_t running_count(const Kernel& kernel) REQUIRES(kernel_lock);

}  // namespace cloche::kernel::proc
