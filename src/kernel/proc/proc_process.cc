// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "kernel/files/devices.h"
#include "kernel/files/node_file.h"
#include "kernel/kernel.h"
#include "kernel/proc/proc_text.h"
#include "kernel/process/task.h"
#include "kernel/terminals/terminal.h"

namespace cloche::kernel::proc {
namespace {

std::int64_t ticks(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count() * ticks_per_s / 1000;
}

struct State {
  char letter;
  std::string_view name;
};

State state_of(const Process& process) REQUIRES(kernel_lock) {
  switch (process.state) {
    case ProcessState::stopped: return {'T', "stopped"};
    case ProcessState::zombie:
    case ProcessState::reaped: return {'Z', "zombie"};
    case ProcessState::running: break;
  }
  if (process.task != nullptr && process.task->sleeping()) return {'S', "sleeping"};
  return {'R', "running"};
}

std::uint64_t memory_of(const Process& process) REQUIRES(kernel_lock) {
  return process.task != nullptr
             ? std::max(process.task->memory_bytes(), process.memory.memory_end())
             : 0;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all.append(text).push_back('\0');
  return all;
}

struct Dispositions {
  SignalSet ignored, caught;
};

Dispositions dispositions_of(const Process& process) REQUIRES(kernel_lock) {
  Dispositions sets;
  for (int signo = 1; signo <= sigmax; ++signo) {
    const std::uint32_t handler = process.signals.disposition(signo).handler;
    if (handler == Disposition::ign) sets.ignored.add(signo);
    if (handler > Disposition::ign) sets.caught.add(signo);
  }
  return sets;
}

// Blanks in a path of /proc/mounts are written in octal.
std::string escaped(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\\') {
      fmt::format_to(std::back_inserter(text), "\\{:03o}", static_cast<unsigned char>(c));
    } else {
      text.push_back(c);
    }
  }
  return text;
}

std::string_view mount_options(const vfs::Mount& mount) {
  return mount.read_only || mount.fs->read_only() ? "ro,relatime" : "rw,relatime";
}

}  // namespace

std::chrono::nanoseconds cpu_of(const Process& process) {
  return process.task != nullptr ? process.task->cpu_time() : process.usage.cpu;
}

std::string process_cgroup(const Process&) { return "0::/\n"; }
std::string process_cmdline(const Process& process) {
  return process.state == ProcessState::zombie ? std::string() : joined(process.words->argv);
}
std::string process_comm(const Process& process) { return process.name + "\n"; }
std::string process_environ(const Process& process) { return joined(process.words->environment); }
std::string process_zero(const Process&) { return "0\n"; }

std::string process_io(const Process& process) {
  const Usage& usage = process.usage;
  return fmt::format(
      "rchar: {}\nwchar: {}\nsyscr: {}\nsyscw: {}\nread_bytes: 0\nwrite_bytes: "
      "0\ncancelled_write_bytes: 0\n",
      usage.read_bytes, usage.written_bytes, usage.read_calls, usage.write_calls);
}

std::string process_limits(const Process& process) {
  struct Row {
    std::string_view name, unit;
  };
  constexpr std::array<Row, rlimit_count> rows{{
      {"Max cpu time", "seconds"},
      {"Max file size", "bytes"},
      {"Max data size", "bytes"},
      {"Max stack size", "bytes"},
      {"Max core file size", "bytes"},
      {"Max resident set", "bytes"},
      {"Max processes", "processes"},
      {"Max open files", "files"},
      {"Max locked memory", "bytes"},
      {"Max address space", "bytes"},
      {"Max file locks", "locks"},
      {"Max pending signals", "signals"},
      {"Max msgqueue size", "bytes"},
      {"Max nice priority", ""},
      {"Max realtime priority", ""},
      {"Max realtime timeout", "us"},
  }};
  const auto figure = [](std::uint64_t value) {
    return value == rlim_infinity ? std::string("unlimited") : fmt::format("{}", value);
  };
  std::string text =
      fmt::format("{:<25} {:<20} {:<20} {:<10}\n", "Limit", "Soft Limit", "Hard Limit", "Units");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ResourceLimit& limit = process.limits[i];
    fmt::format_to(std::back_inserter(text), "{:<25} {:<20} {:<20} {:<10}\n", rows[i].name,
                   figure(limit.soft), figure(limit.hard), rows[i].unit);
  }
  return text;
}

std::string process_maps(const Process& process) {
  std::string text;
  const auto line = [&](std::uint64_t start, std::uint64_t end, std::string_view bits,
                        std::uint64_t offset, std::string_view what) {
    if (start >= end) return;
    fmt::format_to(std::back_inserter(text), "{:08x}-{:08x} {} {:08x} 00:00 0", start, end, bits,
                   offset);
    if (!what.empty()) fmt::format_to(std::back_inserter(text), "{:>{}}{}", "", 26, what);
    text.push_back('\n');
  };
  const MemoryMap& memory = process.memory;
  if (memory.memory_end() == 0) {
    line(0, memory_of(process), "rw-p", 0, process.exe);
    return text;
  }
  line(0, memory.heap_base(), "rw-p", 0, process.exe);
  line(memory.heap_base(), memory.brk(), "rw-p", 0, "[heap]");
  // There may be a hundred thousand of them, each with a path of four kilobytes: the first ones
  // tell enough.
  constexpr std::size_t text_most = std::size_t{1} << 20;
  for (const auto& [start, region] : memory.regions()) {
    if (text.size() > text_most) break;
    if (!region.shared) {
      line(start, region.end, "rw-p", 0, "");
      continue;
    }
    const Result<std::string> path = process.kernel().files().path_of(region.shared->node);
    line(start, region.end, "rw-s", region.shared->offset, path ? *path : "(deleted)");
  }
  return text;
}

std::string process_mounts(const Process& process) {
  std::string text;
  for (const vfs::Mount& mount : process.kernel().files().mounts()) {
    fmt::format_to(std::back_inserter(text), "{} {} {} {} 0 0\n", escaped(mount.source),
                   escaped(mount.path), mount.fs->type_name(), mount_options(mount));
  }
  return text;
}

std::string process_mountinfo(const Process& process) {
  constexpr int first_id = 20;  // the root mount; the others are all taken to hang on it
  std::string text;
  int id = first_id;
  for (const vfs::Mount& mount : process.kernel().files().mounts()) {
    const std::uint64_t device = mount.fs->device();
    fmt::format_to(std::back_inserter(text), "{} {} {}:{} / {} {} - {} {} {}\n", id,
                   id == first_id ? 1 : first_id, vfs::dev_major(device), vfs::dev_minor(device),
                   escaped(mount.path), mount_options(mount), mount.fs->type_name(),
                   escaped(mount.source), mount_options(mount).substr(0, 2));
    ++id;
  }
  return text;
}

ProcessSummary process_summary(const Process& process) {
  return {state_of(process).letter, memory_of(process), cpu_of(process)};
}

std::string process_stat(const Process& process) {
  const std::shared_ptr<Terminal> terminal = process.session ? process.session->terminal : nullptr;
  const std::uint64_t tty = terminal ? vfs::make_dev(device::pts_major, terminal->number()) : 0;
  const Pid foreground = terminal ? process.session->foreground : -1;
  const std::uint64_t memory = memory_of(process);
  const Dispositions sets = dispositions_of(process);
  constexpr std::uint64_t low_signals = 0x7fffffff;
  const bool ended = process.state == ProcessState::zombie && process.status;
  std::string text = fmt::format("{} ({}) {} {} {} {} {} {} 0", process.pid(), process.name,
                                 state_of(process).letter, process.ppid, process.pgid,
                                 process.session ? process.session->id : 0, tty, foreground);
  // Faults; user and system time, own and of the children; priority, nice, threads; start.
  fmt::format_to(std::back_inserter(text), " 0 0 0 0 {} 0 {} 0 {} {} 1 0 {}",
                 ticks(cpu_of(process)), ticks(process.children_usage.cpu), 20 + process.nice,
                 process.nice, ticks(process.started - process.kernel().booted()));
  // Size, resident pages, its limit; code and stack; signals.
  fmt::format_to(std::back_inserter(text), " {} {} {} 0 0 0 0 0 {} {} {} {}", memory,
                 memory / page_bytes, process.limits[rlimit_rss].soft,
                 process.signals.pending().bits() & low_signals,
                 process.signals.mask.bits() & low_signals, sets.ignored.bits() & low_signals,
                 sets.caught.bits() & low_signals);
  // Wait channel, swap, exit signal, processor, scheduling, delays, guest time; data, arguments,
  // environment; exit status.
  fmt::format_to(std::back_inserter(text), " 0 0 0 {} 0 0 0 0 0 0 0 0 {} 0 0 0 0 {}\n",
                 process.exit_signal, process.memory.heap_base(),
                 ended ? process.status->raw() : 0);
  return text;
}

std::string process_statm(const Process& process) {
  const std::uint64_t pages = memory_of(process) / page_bytes;
  return fmt::format("{0} {0} 0 0 0 {0} 0\n", pages);
}

std::string process_status(const Process& process) {
  const State state = state_of(process);
  const vfs::Credentials& who = process.credentials;
  const Dispositions sets = dispositions_of(process);
  const std::uint64_t kib = memory_of(process) / 1024;
  const std::uint64_t peak = std::max(kib, process.usage.max_memory_bytes / 1024);
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "Name:\t{}\nUmask:\t{:04o}\nState:\t{} ({})\n", process.name, process.umask,
                 state.letter, state.name);
  fmt::format_to(out, "Tgid:\t{0}\nNgid:\t0\nPid:\t{0}\nPPid:\t{1}\nTracerPid:\t0\n", process.pid(),
                 process.ppid);
  fmt::format_to(out, "Uid:\t{0}\t{0}\t{0}\t{0}\nGid:\t{1}\t{1}\t{1}\t{1}\n", who.uid, who.gid);
  fmt::format_to(out, "FDSize:\t{}\nGroups:\t{} \n", process.fds.size(),
                 fmt::join(who.groups, " "));
  fmt::format_to(out, "NStgid:\t{0}\nNSpid:\t{0}\nNSpgid:\t{1}\nNSsid:\t{2}\n", process.pid(),
                 process.pgid, process.session ? process.session->id : 0);
  if (process.state != ProcessState::zombie) {
    fmt::format_to(out,
                   "VmPeak:\t{0:8} kB\nVmSize:\t{1:8} kB\nVmLck:\t       0 kB\nVmHWM:\t{0:8} kB\n",
                   peak, kib);
    fmt::format_to(out, "VmRSS:\t{0:8} kB\nVmData:\t{0:8} kB\nVmSwap:\t       0 kB\n", kib);
  }
  fmt::format_to(out, "Threads:\t1\nSigPnd:\t{:016x}\nShdPnd:\t{:016x}\nSigBlk:\t{:016x}\n", 0,
                 process.signals.pending().bits(), process.signals.mask.bits());
  fmt::format_to(out, "SigIgn:\t{:016x}\nSigCgt:\t{:016x}\n", sets.ignored.bits(),
                 sets.caught.bits());
  for (const std::string_view set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    fmt::format_to(out, "{}:\t{:016x}\n", set, 0);
  }
  fmt::format_to(out, "NoNewPrivs:\t1\nSeccomp:\t0\nCpus_allowed:\t1\nCpus_allowed_list:\t0\n");
  return text;
}

std::string descriptor_info(const Process& process, std::int32_t fd) {
  const auto file = process.fds.get(fd);
  if (!file) return {};
  const auto* node_file = dynamic_cast<const NodeFile*>(file->get());
  const auto closes = process.fds.close_on_exec(fd);
  const Result<vfs::Stat> stat = (*file)->stat();
  return fmt::format("pos:\t{}\nflags:\t0{:o}\nmnt_id:\t{}\nino:\t{}\n",
                     node_file != nullptr ? node_file->position() : 0,
                     (*file)->flags() | (closes && *closes ? o_cloexec : 0), stat ? stat->dev : 0,
                     stat ? stat->ino : 0);
}

}  // namespace cloche::kernel::proc
