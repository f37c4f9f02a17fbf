// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/random.h"
#include "kernel/files/devices.h"
#include "kernel/kernel.h"
#include "kernel/proc/proc_text.h"
#include "kernel/process/task.h"

namespace cloche::kernel::proc {
namespace {

constexpr std::string_view os_release = "6.1.0-cloche";

double uptime_s(const Kernel& kernel) {
  return std::chrono::duration<double>(kernel.clock().steady() - kernel.booted()).count();
}

}  // namespace

std::string uuid(std::array<std::uint8_t, 16> bytes) { return uuid_of(bytes) + "\n"; }

std::size_t running_count(const Kernel& kernel) {
  return static_cast<std::size_t>(
      std::ranges::count_if(kernel.processes(), [](const auto& entry) REQUIRES(kernel_lock) {
        const Process& process = *entry.second;
        return process.state == ProcessState::running && process.task != nullptr &&
               !process.task->sleeping();
      }));
}

std::string cmdline(const Kernel&) { return "cloche\n"; }

std::string cpuinfo(const Kernel&) {
  return "processor\t: 0\n"
         "vendor_id\t: Cloche\n"
         "model name\t: WebAssembly\n"
         "cpu cores\t: 1\n"
         "bogomips\t: 0.00\n"
         "address sizes\t: 32 bits physical, 32 bits virtual\n\n";
}

std::string devices(const Kernel&) {
  return fmt::format(
      "Character devices:\n  1 mem\n  5 /dev/tty\n  5 /dev/ptmx\n{} pts\n\nBlock devices:\n",
      device::pts_major);
}

std::string filesystems(const Kernel&) {
  return "nodev\tproc\nnodev\ttmpfs\nnodev\tdevpts\nnodev\thostfs\n";
}

// No averages are kept: how many processes compute now stands for all three.
std::string loadavg(const Kernel& kernel) {
  const std::size_t running = running_count(kernel);
  const auto load = static_cast<double>(running);
  const Pid newest = kernel.processes().empty() ? 1 : kernel.processes().rbegin()->first;
  return fmt::format("{:.2f} {:.2f} {:.2f} {}/{} {}\n", load, load, load, running,
                     kernel.processes().size(), newest);
}

std::string meminfo(const Kernel& kernel) {
  constexpr std::uint64_t kib = 1024;
  const std::uint64_t total = kernel.limits().memory_bytes;
  const std::uint64_t used = std::min(total, kernel.memory_in_use());
  std::string text;
  const auto line = [&](std::string_view name, std::uint64_t bytes) {
    fmt::format_to(std::back_inserter(text), "{:<16}{:>8} kB\n", fmt::format("{}:", name),
                   bytes / kib);
  };
  line("MemTotal", total);
  line("MemFree", total - used);
  line("MemAvailable", total - used);
  line("Buffers", 0);
  line("Cached", 0);
  line("SwapCached", 0);
  line("Active", used);
  line("Inactive", 0);
  line("SwapTotal", 0);
  line("SwapFree", 0);
  line("Dirty", 0);
  line("Writeback", 0);
  line("AnonPages", used);
  line("Mapped", 0);
  line("Shmem", 0);
  line("Slab", 0);
  line("CommitLimit", total);
  line("Committed_AS", used);
  return text;
}

std::string stat(const Kernel& kernel) {
  std::chrono::nanoseconds cpu{0};
  for (const auto& [pid, process] : kernel.processes()) cpu += cpu_of(*process);
  const auto user =
      std::chrono::duration_cast<std::chrono::milliseconds>(cpu).count() * ticks_per_s / 1000;
  const auto up = static_cast<std::int64_t>(uptime_s(kernel) * static_cast<double>(ticks_per_s));
  const std::string times =
      fmt::format("{} 0 0 {} 0 0 0 0 0 0", user, std::max<std::int64_t>(0, up - user));
  const auto now = std::chrono::duration<double>(kernel.clock().wall().time_since_epoch()).count();
  const Pid newest = kernel.processes().empty() ? 1 : kernel.processes().rbegin()->first;
  return fmt::format(
      "cpu  {0}\ncpu0 {0}\nintr 0\nctxt 0\nbtime {1}\nprocesses {2}\nprocs_running "
      "{3}\nprocs_blocked 0\n"
      "softirq 0 0 0 0 0 0 0 0 0 0 0\n",
      times, static_cast<std::int64_t>(now - uptime_s(kernel)), newest, running_count(kernel));
}

std::string swaps(const Kernel&) { return "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"; }

std::string uptime(const Kernel& kernel) {
  std::chrono::nanoseconds cpu{0};
  for (const auto& [pid, process] : kernel.processes()) cpu += cpu_of(*process);
  const double up = uptime_s(kernel);
  return fmt::format("{:.2f} {:.2f}\n", up,
                     std::max(0.0, up - std::chrono::duration<double>(cpu).count()));
}

std::string version(const Kernel&) {
  return fmt::format("Linux version {} (cloche) #1 SMP Cloche\n", os_release);
}

std::string file_max(const Kernel& kernel) {
  return fmt::format("{}\n",
                     std::uint64_t{kernel.limits().max_open_files} * kernel.limits().max_processes);
}

std::string hostname(const Kernel& kernel) { return kernel.options().host_name + "\n"; }
std::string osrelease(const Kernel&) { return fmt::format("{}\n", os_release); }
std::string ostype(const Kernel&) { return "Linux\n"; }
std::string pid_max(const Kernel& kernel) { return fmt::format("{}\n", kernel.options().pid_max); }

std::string random_uuid(const Kernel&) {
  std::array<std::uint8_t, 16> bytes{};
  Kernel::fill_random(std::as_writable_bytes(std::span(bytes)));
  return uuid(bytes);
}

std::string threads_max(const Kernel& kernel) {
  return fmt::format("{}\n", kernel.limits().max_processes);
}

}  // namespace cloche::kernel::proc
