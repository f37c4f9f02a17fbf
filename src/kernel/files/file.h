// SPDX-License-Identifier: Apache-2.0
// File: an open file description, what a descriptor points to. Shared by all descriptors that dup
// or inherit it.
//
// All calls are made with the kernel lock held. A call that blocks sleeps through the Task, which
// releases the lock while it sleeps; so after any such call everything but `this` and the caller's
// own process may have changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/wait_queue.h"
#include "vfs/filesystem.h"

namespace cloche::wasm {
class GuestMemory;
}

namespace cloche::kernel {

class Task;

// open(2) flags, Linux asm-generic values.
inline constexpr std::uint32_t o_accmode = 3, o_rdonly = 0, o_wronly = 1, o_rdwr = 2,
                               o_creat = 0100, o_excl = 0200, o_noctty = 0400, o_trunc = 01000,
                               o_append = 02000, o_nonblock = 04000, o_dsync = 010000,
                               o_async = 020000, o_direct = 040000, o_largefile = 0100000,
                               o_directory = 0200000, o_nofollow = 0400000, o_noatime = 01000000,
                               o_cloexec = 02000000, o_sync = 04010000, o_path = 010000000,
                               o_tmpfile = 020200000;

// poll(2) events.
using PollEvents = std::uint32_t;
inline constexpr PollEvents pollin = 1, pollpri = 2, pollout = 4, pollerr = 8, pollhup = 0x10,
                            pollnval = 0x20, pollrdnorm = 0x40, pollrdband = 0x80,
                            pollwrnorm = 0x100, pollwrband = 0x200, pollrdhup = 0x2000;

// What somebody who waits for a file to become ready has to know.
struct PollSources {
  std::vector<WaitQueue*> queues;  // woken when readiness may have changed
  Deadline deadline;  // readiness may also change at this moment, without a wake (timerfd)
  std::uint64_t changes =
      0;  // grows whenever something may have become ready: the edges of EPOLLET
  std::vector<std::shared_ptr<const void>>
      holders;  // keep queues alive that are not the file's own

  void add(WaitQueue& queue) REQUIRES(kernel_lock) {
    queues.push_back(&queue);
    changes += queue.wakes();
  }
  void add(SteadyTime moment) { deadline = deadline ? std::min(*deadline, moment) : moment; }
};

class File {
 public:
  explicit File(std::uint32_t open_flags) : flags_(open_flags) {}
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Access mode and status flags (O_APPEND, O_NONBLOCK ...), without O_CLOEXEC, which belongs to
  // the descriptor.
  std::uint32_t flags() const noexcept REQUIRES(kernel_lock) { return flags_; }
  void set_status_flags(std::uint32_t settable) noexcept
      REQUIRES(kernel_lock);  // F_SETFL: only O_APPEND, O_NONBLOCK,
                              // O_ASYNC, O_DIRECT, O_NOATIME change
  bool readable() const noexcept REQUIRES(kernel_lock) {
    return (flags_ & o_accmode) != o_wronly && (flags_ & o_path) == 0;
  }
  bool writable() const noexcept REQUIRES(kernel_lock) {
    return (flags_ & o_accmode) != o_rdonly && (flags_ & o_path) == 0;
  }
  bool nonblocking() const noexcept REQUIRES(kernel_lock) { return (flags_ & o_nonblock) != 0; }

  // Sequential transfer: 0 from read is end of file. `task` is who blocks. Short counts are allowed
  // as read(2) allows them. The caller has checked readable()/writable().
  virtual Result<std::size_t> read(Task& task, std::span<std::byte> to) REQUIRES(kernel_lock);
  virtual Result<std::size_t> write(Task& task, std::span<const std::byte> from)
      REQUIRES(kernel_lock);
  // Positioned transfer: ESPIPE unless the file has positions.
  virtual Result<std::size_t> pread(Task& task, std::span<std::byte> to, std::uint64_t offset)
      REQUIRES(kernel_lock);
  virtual Result<std::size_t> pwrite(Task& task, std::span<const std::byte> from,
                                     std::uint64_t offset) REQUIRES(kernel_lock);
  // Waits until nobody moves the position, which a long transfer does at its end.
  virtual Result<void> wait_for_position(Task&) REQUIRES(kernel_lock) { return {}; }
  // lseek(2), whence 0 SET, 1 CUR, 2 END, 3 DATA, 4 HOLE.
  virtual Result<std::uint64_t> seek(std::int64_t offset, std::uint32_t whence)
      REQUIRES(kernel_lock);

  // What is ready now; POLLERR and POLLHUP are always reported. `poll_queue` is woken when that may
  // have changed; null when the file is always ready.
  virtual PollEvents poll() REQUIRES(kernel_lock);
  virtual WaitQueue* poll_queue() REQUIRES(kernel_lock) { return nullptr; }
  // The same for files that hang on more than one queue, or on time; poll and epoll ask only here.
  virtual void poll_sources(PollSources& sources) REQUIRES(kernel_lock) {
    if (WaitQueue* queue = poll_queue()) sources.add(*queue);
  }

  // Opens what is behind this file anew, as open of /proc/<pid>/fd/N does for a file without an
  // inode; ENXIO: it cannot, and the opener gets this description itself.
  virtual Result<std::shared_ptr<File>> reopen(Task& task, std::uint32_t open_flags)
      REQUIRES(kernel_lock);

  virtual Result<std::int32_t> ioctl(Task& task, wasm::GuestMemory& memory, std::uint32_t request,
                                     std::uint32_t argument) REQUIRES(kernel_lock);
  virtual Result<vfs::Stat> stat() REQUIRES(kernel_lock) = 0;
  // The inode behind this file, for the calls that work on one (fchmod, ftruncate, openat below
  // it); null when it has none.
  virtual const vfs::Node* node() const REQUIRES(kernel_lock) { return nullptr; }
  // What /proc/<pid>/fd shows: "pipe:[12]", a path ...
  virtual std::string description() const REQUIRES(kernel_lock) = 0;
  virtual bool is_terminal() const REQUIRES(kernel_lock) { return false; }

 protected:
  std::uint32_t flags_ GUARDED_BY(kernel_lock);
};

using FilePtr = std::shared_ptr<File>;

}  // namespace cloche::kernel
