// SPDX-License-Identifier: Apache-2.0
// execve, vfork and the start block of a program.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/linux/call.h"
#include "kernel/process/exec.h"

namespace cloche::kernel::lnx {
namespace {

constexpr std::uint64_t max_string = 128 << 10;  // MAX_ARG_STRLEN

Result<std::vector<std::string>> read_strings(const wasm::GuestMemory& memory,
                                              std::uint32_t address, std::size_t& budget) {
  std::vector<std::string> strings;
  if (address == 0) return strings;
  for (std::uint32_t at = address;; at += 4) {
    CLOCHE_ASSIGN(const std::uint32_t pointer, memory.read<std::uint32_t>(at));
    if (pointer == 0) return strings;
    Result<std::string> text = memory.read_string(pointer, max_string);
    if (!text) return text.error() == Errno::nametoolong ? Errno::toobig : text.error();
    if (argument_weight(*text) > budget) return Errno::toobig;
    budget -= argument_weight(*text);
    strings.push_back(*std::move(text));
  }
}

SysResult exec_program(Call& call, ExecRequest request, std::uint32_t argv, std::uint32_t envp)
    REQUIRES(kernel_lock) {
  std::size_t budget = call.kernel.limits().argument_bytes;
  CLOCHE_ASSIGN(request.argv, read_strings(call.memory, argv, budget));
  CLOCHE_ASSIGN(request.environment, read_strings(call.memory, envp, budget));
  CLOCHE_ASSIGN(LoadedProgram loaded,
                load_program(call.kernel, call.process, std::move(request), &call.task));
  // Killed while it was compiled: the exec does not happen.
  if (call.task.attend() && call.task.unwinding()) return Errno::intr;
  const ProcessPtr process = call.process.shared_from_this();
  CLOCHE_ASSIGN(const Pid child, call.task.exec(std::move(loaded.program)));
  apply_exec(*process, std::move(loaded.identity));
  return child;
}

SysResult execve(Call& call) REQUIRES(kernel_lock) {
  ExecRequest request;
  CLOCHE_ASSIGN(request.path, call.path(0));
  return exec_program(call, std::move(request), call.u32(1), call.u32(2));
}

SysResult execveat(Call& call) REQUIRES(kernel_lock) {
  constexpr std::uint32_t at_symlink_nofollow = 0x100;
  constexpr std::uint32_t at_empty_path = 0x1000;
  constexpr std::int32_t at_fdcwd = -100;
  if ((call.u32(4) & ~(at_symlink_nofollow | at_empty_path)) != 0) return Errno::inval;
  ExecRequest request;
  CLOCHE_ASSIGN(request.path, call.path(1));
  if (call.i32(0) != at_fdcwd) {
    CLOCHE_ASSIGN(const FilePtr file, call.process.fds.get(call.i32(0)));
    if (file->node() == nullptr) return Errno::acces;
    request.start = *file->node();
    if (request.path.empty() && (call.u32(4) & at_empty_path) != 0) {
      CLOCHE_ASSIGN(request.path, call.kernel.files().path_of(request.start));
    }
  }
  if ((call.u32(4) & at_symlink_nofollow) != 0) request.follow = vfs::Follow::no;
  return exec_program(call, std::move(request), call.u32(2), call.u32(3));
}

SysResult vfork_begin(Call& call) REQUIRES(kernel_lock) {
  CLOCHE_TRY(call.task.vfork_begin());
  return 0;
}

// The block that a Linux program finds on its stack: words first, then what they point to.
class StartBlock {
 public:
  explicit StartBlock(const Process& process) : process_(process) {}

  std::uint64_t size() const REQUIRES(kernel_lock) {
    return words() * 4 + strings() + random_bytes;
  }

  std::vector<std::byte> build(std::uint32_t base) REQUIRES(kernel_lock) {
    block_.assign(static_cast<std::size_t>(size()), std::byte{0});
    text_ = words() * 4;
    base_ = base;
    put(static_cast<std::uint32_t>(process_.words->argv.size()));
    for (const std::string& argument : process_.words->argv) put(text(argument));
    put(0);
    for (const std::string& variable : process_.words->environment) put(text(variable));
    put(0);
    put_auxiliary();
    return std::move(block_);
  }

 private:
  static constexpr std::size_t random_bytes = 16;
  static constexpr std::size_t auxiliary_pairs = 12;

  std::uint64_t words() const REQUIRES(kernel_lock) {
    return 1 + process_.words->argv.size() + 1 + process_.words->environment.size() + 1 +
           2 * auxiliary_pairs;
  }
  std::uint64_t strings() const REQUIRES(kernel_lock) {
    std::uint64_t bytes = process_.exe.size() + 1;
    for (const std::string& s : process_.words->argv) bytes += s.size() + 1;
    for (const std::string& s : process_.words->environment) bytes += s.size() + 1;
    return bytes;
  }
  void put(std::uint32_t word) {
    std::memcpy(block_.data() + at_, &word, 4);
    at_ += 4;
  }
  std::uint32_t text(std::string_view s) {
    std::memcpy(block_.data() + text_, s.data(), s.size());
    const auto address = static_cast<std::uint32_t>(base_ + text_);
    text_ += s.size() + 1;
    return address;
  }
  void put_auxiliary() REQUIRES(kernel_lock) {
    std::array<std::byte, random_bytes> random;
    Kernel::fill_random(random);
    const std::uint32_t exe = text(process_.exe);
    std::memcpy(block_.data() + text_, random.data(), random.size());
    const auto random_at = static_cast<std::uint32_t>(base_ + text_);
    const auto& who = process_.credentials;
    constexpr std::uint32_t clock_ticks = 100;
    // AT_* of elf.h.
    const std::array<std::array<std::uint32_t, 2>, auxiliary_pairs> pairs{{{6, page_bytes},
                                                                           {11, who.uid},
                                                                           {12, who.uid},
                                                                           {13, who.gid},
                                                                           {14, who.gid},
                                                                           {16, 0},
                                                                           {17, clock_ticks},
                                                                           {23, 0},
                                                                           {25, random_at},
                                                                           {26, 0},
                                                                           {31, exe},
                                                                           {0, 0}}};
    for (const auto& [type, value] : pairs) {
      put(type);
      put(value);
    }
  }

  const Process& process_;
  std::vector<std::byte> block_;
  std::uint64_t base_ = 0;
  std::size_t at_ = 0;
  std::size_t text_ = 0;
};

SysResult startup_size(Call& call) REQUIRES(kernel_lock) {
  return static_cast<std::int64_t>(StartBlock(call.process).size());
}

SysResult startup_copy(Call& call) REQUIRES(kernel_lock) {
  StartBlock block(call.process);
  if (call.u32(1) < block.size()) return Errno::inval;
  CLOCHE_TRY(call.memory.copy_out(call.u32(0), block.build(call.u32(0))));
  return 0;
}

constexpr std::array exec_entries{
    Entry{221, "execve", 3, execve, Support::partial, "see vfork and exec in guest-abi.md"},
    Entry{281, "execveat", 5, execveat},
    Entry{0x1000, "startup_size", 0, startup_size, Support::own, "bytes of the start block"},
    Entry{0x1001, "startup_copy", 2, startup_copy, Support::own, "writes the start block"},
    Entry{0x1004, "vfork_begin", 0, vfork_begin, Support::own,
          "the calls that follow act on a new child"},
};

}  // namespace

std::span<const Entry> exec_calls() { return exec_entries; }

}  // namespace cloche::kernel::lnx
