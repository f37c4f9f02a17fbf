// SPDX-License-Identifier: Apache-2.0
// One Linux system call on its way: what a handler gets, and how handlers are registered.
//
// A handler runs with the kernel lock held, on the task's thread. It reads its arguments from
// `args` (32-bit words; a 64-bit argument is two words, low first), touches guest memory only
// through `memory`, and returns the result or an errno. Errno::restart is handled by the
// dispatcher. Never write an out-parameter before the status is known.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/process/task.h"
#include "wasm/guest_memory.h"

namespace cloche::kernel::lnx {

using SysResult = Result<std::int64_t>;

struct Call {
  Task& task;
  Kernel& kernel;
  Process& process;  // the acting process
  wasm::GuestMemory memory;
  std::array<std::uint32_t, 6> args;

  std::uint32_t u32(std::size_t i) const { return args[i]; }
  std::int32_t i32(std::size_t i) const { return static_cast<std::int32_t>(args[i]); }
  std::uint64_t u64(std::size_t low) const {
    return args[low] | (static_cast<std::uint64_t>(args[low + 1]) << 32);
  }
  std::int64_t i64(std::size_t low) const { return static_cast<std::int64_t>(u64(low)); }
  // A path argument: EFAULT, ENAMETOOLONG beyond 4095 bytes.
  Result<std::string> path(std::size_t i) const;
};

using Handler = SysResult (*)(Call&);

// How far a call goes beside Linux's own; docs/syscalls.md is made from it.
enum class Support : std::uint8_t {
  full,
  partial,   // what the note says differs
  accepted,  // succeeds and changes nothing
  refused,   // always the errno that the note names
  own,       // not one of Linux's
};

struct Entry {
  // `arguments`: how many words, for --trace-syscalls.
  constexpr Entry(std::uint16_t call_number, const char* call_name, std::uint8_t words,
                  Handler call_handler, Support how_far = Support::full, const char* what = "")
      : number(call_number),
        name(call_name),
        arguments(words),
        support(how_far),
        handler(call_handler),
        note(what) {}

  std::uint16_t number;
  const char* name;
  std::uint8_t arguments;
  Support support;
  Handler handler;
  const char* note;  // one clause for the page
};

// Each family is a file that gives its calls; syscall_table.cc joins them.
std::span<const Entry> fd_calls();  // fd_calls.cc: openat close dup fcntl flock ioctl memfd_create
std::span<const Entry> transfer_calls();  // transfer_calls.cc: read write and their kin, _llseek,
                                          // sendfile, copy_file_range
std::span<const Entry> space_calls();     // space_calls.cc: truncate fallocate sync and advice
std::span<const Entry> path_calls();  // path_calls.cc: mkdirat unlinkat renameat linkat symlinkat
                                      // readlinkat chdir getcwd mknodat
std::span<const Entry>
attribute_calls();  // attribute_calls.cc: statx chmod chown utimens access xattr statfs
std::span<const Entry> directory_calls();  // directory_calls.cc: getdents64
std::span<const Entry> pipe_calls();       // pipe_calls.cc: pipe2 splice tee eventfd ...
std::span<const Entry> poll_calls();       // poll_calls.cc: ppoll pselect6 epoll_*
std::span<const Entry> socket_calls();     // socket_calls.cc
std::span<const Entry> time_calls();       // time_calls.cc: clocks, sleeps, timers
std::span<const Entry> process_calls();    // process_calls.cc: exit wait ids groups sessions
std::span<const Entry> exec_calls();       // exec_calls.cc: execve startup vfork
std::span<const Entry> signal_calls();     // signal_calls.cc
std::span<const Entry> memory_calls();     // memory_calls.cc: brk mmap
std::span<const Entry>
system_calls();  // system_calls.cc: uname sysinfo getrandom rlimits prctl ...

// The calls by number; null where there is none.
const Entry* find_call(std::uint32_t number) noexcept;
// All of them, by rising number.
std::vector<const Entry*> all_calls();

}  // namespace cloche::kernel::lnx
