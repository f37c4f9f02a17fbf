// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/proc_tree.h"

#include <array>

#include "kernel/proc/proc_text.h"

namespace cloche::kernel::proc {
namespace {

using enum vfs::FileType;

// Directories that others lie in, by their place in the table.
constexpr std::uint32_t root = 0, sys = 2, sys_kernel = 3, sys_kernel_random = 4, sys_vm = 5,
                        sys_fs = 6;

std::string zero(const Kernel&) { return "0\n"; }
std::string largest_capability(const Kernel&) { return "40\n"; }
std::string largest_group_count(const Kernel&) { return "65536\n"; }
std::string largest_map_count(const Kernel&) { return "65530\n"; }
std::string largest_pipe(const Kernel&) { return "1048576\n"; }
std::string kernel_version(const Kernel&) { return "#1 SMP Cloche\n"; }
std::string no_domain(const Kernel&) { return "(none)\n"; }

constexpr auto system_table = std::to_array<SystemEntry>({
    {"", root, directory},
    {"boot_id", sys_kernel_random, regular},
    {"sys", root, directory},
    {"kernel", sys, directory},
    {"random", sys_kernel, directory},
    {"vm", sys, directory},
    {"fs", sys, directory},

    {"cmdline", root, regular, cmdline},
    {"cpuinfo", root, regular, cpuinfo},
    {"devices", root, regular, devices},
    {"filesystems", root, regular, filesystems},
    {"loadavg", root, regular, loadavg},
    {"meminfo", root, regular, meminfo},
    {"mounts", root, symlink, nullptr, "self/mounts"},
    {"net", root, symlink, nullptr, "self/net"},
    {"self", root, symlink, nullptr, "{0}"},
    {"stat", root, regular, stat},
    {"swaps", root, regular, swaps},
    {"thread-self", root, symlink, nullptr, "{0}/task/{0}"},
    {"uptime", root, regular, uptime},
    {"version", root, regular, version},

    {"cap_last_cap", sys_kernel, regular, largest_capability},
    {"domainname", sys_kernel, regular, no_domain},
    {"hostname", sys_kernel, regular, hostname},
    {"ngroups_max", sys_kernel, regular, largest_group_count},
    {"osrelease", sys_kernel, regular, osrelease},
    {"ostype", sys_kernel, regular, ostype},
    {"pid_max", sys_kernel, regular, pid_max},
    {"threads-max", sys_kernel, regular, threads_max},
    {"version", sys_kernel, regular, kernel_version},
    {"uuid", sys_kernel_random, regular, random_uuid},
    {"max_map_count", sys_vm, regular, largest_map_count},
    {"overcommit_memory", sys_vm, regular, zero},
    {"file-max", sys_fs, regular, file_max},
    {"pipe-max-size", sys_fs, regular, largest_pipe},
});

static_assert(system_table[system_boot_id].name == "boot_id" && system_table[sys].name == "sys");
static_assert(system_table[sys_kernel].name == "kernel" &&
              system_table[sys_kernel_random].name == "random");
static_assert(system_table[sys_vm].name == "vm" && system_table[sys_fs].name == "fs");

constexpr auto process_table = std::to_array<ProcessEntry>({
    {"", root, directory, 0555},
    {"fd", root, directory, 0500},
    {"fdinfo", root, directory, 0500},
    {"task", root, directory, 0555},
    {"net", root, directory, 0555},
    {"cwd", root, symlink, 0777},
    {"exe", root, symlink, 0777},
    {"root", root, symlink, 0777},

    {"cgroup", root, regular, 0444, process_cgroup},
    {"cmdline", root, regular, 0444, process_cmdline},
    {"comm", root, regular, 0444, process_comm},
    {"environ", root, regular, 0400, process_environ},
    {"io", root, regular, 0400, process_io},
    {"limits", root, regular, 0444, process_limits},
    {"maps", root, regular, 0444, process_maps},
    {"mountinfo", root, regular, 0444, process_mountinfo},
    {"mounts", root, regular, 0444, process_mounts},
    {"oom_adj", root, regular, 0444, process_zero},
    {"oom_score", root, regular, 0444, process_zero},
    {"oom_score_adj", root, regular, 0444, process_zero},
    {"stat", root, regular, 0444, process_stat},
    {"statm", root, regular, 0444, process_statm},
    {"status", root, regular, 0444, process_status},
    {"wchan", root, regular, 0444, process_zero},
    {"dev", process_net, regular, 0444, process_net_dev},
    {"tcp", process_net, regular, 0444, process_net_tcp},
    {"tcp6", process_net, regular, 0444, process_net_tcp6},
    {"udp", process_net, regular, 0444, process_net_udp},
    {"udp6", process_net, regular, 0444, process_net_udp6},
});

static_assert(process_table[process_fd].name == "fd" &&
              process_table[process_fdinfo].name == "fdinfo");
static_assert(process_table[process_task].name == "task" &&
              process_table[process_net].name == "net");
static_assert(process_table[process_cwd].name == "cwd" && process_table[process_exe].name == "exe");
static_assert(process_table[process_root].name == "root");

}  // namespace

std::span<const SystemEntry> system_entries() { return system_table; }
std::span<const ProcessEntry> process_entries() { return process_table; }

}  // namespace cloche::kernel::proc
