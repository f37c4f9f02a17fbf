// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/proc_fs.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "kernel/kernel.h"
#include "kernel/proc/proc_text.h"
#include "kernel/proc/proc_tree.h"

namespace cloche::kernel {
namespace {

using proc::Inode;
using proc::Kind;
using vfs::FileType;

constexpr Inode root_inode{Kind::system, 0, 0};
constexpr std::uint64_t first_pid_cookie = 4096;  // behind the names that are always there

// A number as proc writes it: digits without a sign or leading zeros.
std::optional<std::int32_t> number_of(std::string_view name) {
  if (name.empty() || (name.size() > 1 && name.front() == '0')) return std::nullopt;
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end != name.data() + name.size() || value < 0) return std::nullopt;
  return value;
}

// The rows of the process table hold for both.
bool of_process_table(Kind kind) { return kind == Kind::process || kind == Kind::thread; }

template <typename Table>
std::optional<std::uint32_t> find_entry(const Table& table, std::uint32_t parent,
                                        std::string_view name) {
  for (std::uint32_t i = 1; i < table.size(); ++i) {
    if (table[i].parent == parent && table[i].name == name) return i;
  }
  return std::nullopt;
}

// A thread has no threads.
bool hidden(Inode dir, std::uint32_t entry) {
  return dir.kind == Kind::thread && entry == proc::process_task;
}

// The names of a table that lie in `dir`; false when the sink wants no more.
template <typename Table>
bool list_entries(const Table& table, Inode dir, std::uint64_t first, std::uint64_t cookie,
                  const vfs::DirSink& sink) {
  for (std::uint32_t i = 1; i < table.size(); ++i) {
    const std::uint64_t next = first + i;
    if (table[i].parent != dir.index || next <= cookie || hidden(dir, i)) continue;
    if (!sink({Inode{dir.kind, dir.pid, i}.number(), table[i].type, table[i].name, next}))
      return false;
  }
  return true;
}

vfs::Stat made_up(vfs::Ino ino, FileType type, std::uint32_t mode) {
  const vfs::Timestamp now = vfs::host_clock().now();
  vfs::Stat stat;
  stat.ino = ino;
  stat.type = type;
  stat.mode = mode;
  stat.nlink = type == FileType::directory ? 2 : 1;
  stat.blksize = 1024;
  stat.atime = stat.mtime = stat.ctime = stat.btime = now;
  return stat;
}

std::uint32_t default_mode(FileType type) {
  switch (type) {
    case FileType::directory: return 0555;
    case FileType::symlink: return 0777;
    default: return 0444;
  }
}

}  // namespace

ProcFs::ProcFs(Kernel& kernel) : ComputedFs(kernel.buffers()), kernel_(kernel) {
  Kernel::fill_random(std::as_writable_bytes(std::span(boot_id_)));
}

vfs::Ino ProcFs::root() const { return root_inode.number(); }

Result<ProcessPtr> ProcFs::process_of(vfs::Ino ino) const {
  ProcessPtr process = kernel_.find(Inode::of(ino).pid);
  if (!process) return Errno::noent;
  return process;
}

Result<FilePtr> ProcFs::file_of(vfs::Ino ino) const {
  CLOCHE_ASSIGN(const ProcessPtr process, process_of(ino));
  auto file = process->fds.get(static_cast<std::int32_t>(Inode::of(ino).index));
  if (!file) return Errno::noent;
  return file;
}

FilePtr ProcFs::open_file(vfs::Ino ino) const {
  if (Inode::of(ino).kind != Kind::descriptor_file) return nullptr;
  auto file = file_of(ino);
  return file ? *std::move(file) : nullptr;
}

Result<vfs::Ino> ProcFs::lookup(vfs::Ino dir, std::string_view name) {
  const Inode inode = Inode::of(dir);
  const std::optional<std::int32_t> number = number_of(name);
  if (inode.kind == Kind::system) {
    if (proc::system_entries()[inode.index].type != FileType::directory) return Errno::notdir;
    if (inode.index == 0 && number && kernel_.find(*number))
      return Inode{Kind::process, *number, 0}.number();
    const auto index = find_entry(proc::system_entries(), inode.index, name);
    if (!index) return Errno::noent;
    return Inode{Kind::system, 0, *index}.number();
  }
  if (!of_process_table(inode.kind) ||
      proc::process_entries()[inode.index].type != FileType::directory) {
    return Errno::notdir;
  }
  CLOCHE_ASSIGN(const ProcessPtr process, process_of(dir));
  switch (inode.index) {
    case proc::process_fd:
    case proc::process_fdinfo: {
      if (!number || !process->fds.get(*number)) return Errno::noent;
      const Kind kind =
          inode.index == proc::process_fd ? Kind::descriptor_link : Kind::descriptor_info;
      return Inode{kind, inode.pid, static_cast<std::uint32_t>(*number)}.number();
    }
    case proc::process_task:
      if (number != inode.pid) return Errno::noent;
      return Inode{Kind::thread, inode.pid, 0}.number();
    default: {
      const auto index = find_entry(proc::process_entries(), inode.index, name);
      if (!index || hidden(inode, *index)) return Errno::noent;
      return Inode{inode.kind, inode.pid, *index}.number();
    }
  }
}

Result<vfs::Ino> ProcFs::parent(vfs::Ino dir) {
  const Inode inode = Inode::of(dir);
  switch (inode.kind) {
    case Kind::system:
      return Inode{Kind::system, 0, proc::system_entries()[inode.index].parent}.number();
    case Kind::process:
      if (inode.index == 0) return root();
      return Inode{Kind::process, inode.pid, proc::process_entries()[inode.index].parent}.number();
    case Kind::thread:
      if (inode.index == 0) return Inode{Kind::process, inode.pid, proc::process_task}.number();
      return Inode{Kind::thread, inode.pid, proc::process_entries()[inode.index].parent}.number();
    case Kind::descriptor_link:
    case Kind::descriptor_file: return Inode{Kind::process, inode.pid, proc::process_fd}.number();
    case Kind::descriptor_info:
      return Inode{Kind::process, inode.pid, proc::process_fdinfo}.number();
  }
  return Errno::noent;
}

Result<ProcFs::Location> ProcFs::locate(vfs::Ino ino) {
  if (ino == root()) return Errno::inval;
  const Inode inode = Inode::of(ino);
  CLOCHE_ASSIGN(const vfs::Ino above, parent(ino));
  switch (inode.kind) {
    case Kind::system:
      return Location{above, std::string(proc::system_entries()[inode.index].name)};
    case Kind::process:
    case Kind::thread:
      if (inode.index == 0) return Location{above, fmt::format("{}", inode.pid)};
      return Location{above, std::string(proc::process_entries()[inode.index].name)};
    case Kind::descriptor_link:
    case Kind::descriptor_file:
    case Kind::descriptor_info: return Location{above, fmt::format("{}", inode.index)};
  }
  return Errno::noent;
}

Result<vfs::Stat> ProcFs::stat(vfs::Ino ino) {
  const Inode inode = Inode::of(ino);
  vfs::Stat stat;
  if (inode.kind == Kind::system) {
    const FileType type = proc::system_entries()[inode.index].type;
    stat = made_up(ino, type, default_mode(type));
  } else if (inode.kind == Kind::descriptor_file) {
    CLOCHE_ASSIGN(const FilePtr file, file_of(ino));
    return file->stat();
  } else {
    CLOCHE_ASSIGN(const ProcessPtr process, process_of(ino));
    if (of_process_table(inode.kind)) {
      const proc::ProcessEntry& entry = proc::process_entries()[inode.index];
      stat = made_up(ino, entry.type, entry.mode);
    } else if (inode.kind == Kind::descriptor_info) {
      stat = made_up(ino, FileType::regular, 0400);
    } else {
      CLOCHE_ASSIGN(const FilePtr file, file_of(ino));
      stat = made_up(ino, FileType::symlink,
                     (file->readable() ? 0500U : 0U) | (file->writable() ? 0300U : 0U));
      stat.size = 64;
    }
    stat.uid = process->credentials.uid;
    stat.gid = process->credentials.gid;
  }
  stat.dev = device();
  return stat;
}

Result<std::string> ProcFs::acting_link(std::string_view format) const {
  const Process* acting = kernel_.acting();
  if (acting == nullptr) return Errno::noent;
  return fmt::format(fmt::runtime(format), acting->pid());
}

Result<std::string> ProcFs::readlink(vfs::Ino ino) {
  const Inode inode = Inode::of(ino);
  if (inode.kind == Kind::system) {
    const proc::SystemEntry& entry = proc::system_entries()[inode.index];
    if (entry.type != FileType::symlink) return Errno::inval;
    if (entry.target.find('{') != std::string_view::npos) return acting_link(entry.target);
    return std::string(entry.target);
  }
  if (inode.kind == Kind::descriptor_link) {
    CLOCHE_ASSIGN(const FilePtr file, file_of(ino));
    return file->description();
  }
  if (!of_process_table(inode.kind)) return Errno::inval;
  CLOCHE_ASSIGN(const ProcessPtr process, process_of(ino));
  switch (inode.index) {
    case proc::process_cwd: {
      if (!process->cwd) return Errno::noent;
      auto path = kernel_.files().path_of(process->cwd);
      return path ? std::move(path) : Result<std::string>(std::string("/ (deleted)"));
    }
    case proc::process_exe:
      if (process->exe.empty()) return Errno::noent;
      return std::string(process->exe);
    case proc::process_root: return std::string("/");
    default: return Errno::inval;
  }
}

Result<vfs::Node> ProcFs::magic_target(vfs::Ino ino) {
  const Inode inode = Inode::of(ino);
  if (of_process_table(inode.kind) && inode.index == proc::process_cwd) {
    CLOCHE_ASSIGN(const ProcessPtr process, process_of(ino));
    if (!process->cwd) return Errno::noent;
    return vfs::Node(process->cwd);
  }
  if (inode.kind != Kind::descriptor_link) return Errno::inval;
  CLOCHE_ASSIGN(const FilePtr file, file_of(ino));
  if (file->node() != nullptr) return vfs::Node(*file->node());
  return vfs::Node(*this, Inode{Kind::descriptor_file, inode.pid, inode.index}.number());
}

Result<std::string> ProcFs::content(vfs::Ino ino) {
  const Inode inode = Inode::of(ino);
  if (inode.kind == Kind::system) {
    if (inode.index == proc::system_boot_id) return proc::uuid(boot_id_);
    const proc::SystemEntry& entry = proc::system_entries()[inode.index];
    return entry.text != nullptr ? Result<std::string>(entry.text(kernel_)) : Errno::inval;
  }
  CLOCHE_ASSIGN(const ProcessPtr process, process_of(ino));
  if (inode.kind == Kind::descriptor_info) {
    return proc::descriptor_info(*process, static_cast<std::int32_t>(inode.index));
  }
  const proc::ProcessEntry& entry = proc::process_entries()[inode.index];
  return entry.text != nullptr ? Result<std::string>(entry.text(*process)) : Errno::inval;
}

Result<void> ProcFs::list(vfs::Ino dir, std::uint64_t cookie, const vfs::DirSink& sink) {
  const Inode inode = Inode::of(dir);
  if (inode.kind == Kind::system) {
    if (!list_entries(proc::system_entries(), inode, first_cookie, cookie, sink) ||
        inode.index != 0)
      return {};
    const std::uint64_t seen = cookie > first_pid_cookie ? cookie - first_pid_cookie : 0;
    if (seen > std::numeric_limits<Pid>::max()) return {};
    const auto& processes = kernel_.processes();
    for (auto at = processes.upper_bound(static_cast<Pid>(seen)); at != processes.end(); ++at) {
      const Pid pid = at->first;
      const std::string name = fmt::format("{}", pid);
      const std::uint64_t next = first_pid_cookie + static_cast<std::uint64_t>(pid);
      if (!sink({Inode{Kind::process, pid, 0}.number(), FileType::directory, name, next}))
        return {};
    }
    return {};
  }
  CLOCHE_ASSIGN(const ProcessPtr process, process_of(dir));
  switch (inode.index) {
    case proc::process_fd:
    case proc::process_fdinfo: return list_descriptors(*process, dir, cookie, sink);
    case proc::process_task:
      if (cookie < first_cookie) {
        const std::string name = fmt::format("{}", inode.pid);
        (void)sink(
            {Inode{Kind::thread, inode.pid, 0}.number(), FileType::directory, name, first_cookie});
      }
      return {};
    default: list_entries(proc::process_entries(), inode, first_cookie, cookie, sink); return {};
  }
}

Result<void> ProcFs::list_descriptors(const Process& process, vfs::Ino dir, std::uint64_t cookie,
                                      const vfs::DirSink& sink) {
  const bool links = Inode::of(dir).index == proc::process_fd;
  const Kind kind = links ? Kind::descriptor_link : Kind::descriptor_info;
  for (const std::int32_t fd : process.fds.list()) {
    const auto index = static_cast<std::uint32_t>(fd);
    const std::uint64_t next = first_cookie + index;
    if (next <= cookie) continue;
    const std::string name = fmt::format("{}", fd);
    const FileType type = links ? FileType::symlink : FileType::regular;
    if (!sink({Inode{kind, process.pid(), index}.number(), type, name, next})) return {};
  }
  return {};
}

vfs::StatFs ProcFs::statfs() {
  constexpr std::uint64_t proc_magic = 0x9fa0;
  return vfs::StatFs{.magic = proc_magic};
}

FilePtr proc_open_file(const vfs::Node& node) {
  const auto* proc = dynamic_cast<const ProcFs*>(&node.fs());
  return proc != nullptr ? proc->open_file(node.ino()) : nullptr;
}

}  // namespace cloche::kernel
