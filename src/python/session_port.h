// SPDX-License-Identifier: Apache-2.0
// SessionPort: the descriptor through which the interpreter of a session speaks with its host, and
// the host with it: words and replies of frames.h.
//
// The guest writes frames: one write is one frame, a kind and its payload. They are the guest's
// word, and as hostile as everything that a guest says. The host posts replies, which the guest
// reads as a stream. For the guest it is an ordinary file: it blocks, and can be polled.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "kernel/files/file.h"
#include "kernel/time/kernel_lock.h"
#include "python/frames.h"

namespace cloche::kernel {
class Kernel;
}

namespace cloche::python {

class SessionPort final : public kernel::File {
 public:
  static constexpr std::int32_t descriptor = 201;
  static constexpr std::size_t max_frame_bytes = std::size_t{16} << 20;
  // A guest that has not read so many answers may not ask for more: ENOBUFS.
  static constexpr std::size_t max_unread = 65536;
  static constexpr std::size_t max_unread_bytes = std::size_t{64} << 20;

  // Gets each frame on the guest's thread, without the kernel lock; the guest waits for it. It must
  // not throw. False: the frame is none, which is EINVAL for the guest.
  using Listener = std::function<bool(std::string_view frame)>;

  SessionPort(kernel::Kernel& kernel, Listener listener);

  // A reply. From any thread, without the kernel lock.
  void post(std::uint32_t number, HostReply kind, std::string_view payload)
      EXCLUDES(kernel::kernel_lock);
  // Drops replies that nobody has read.
  void clear() EXCLUDES(kernel::kernel_lock);

  Result<std::size_t> read(kernel::Task& task, std::span<std::byte> to) override
      REQUIRES(kernel::kernel_lock);
  Result<std::size_t> write(kernel::Task& task, std::span<const std::byte> from) override
      REQUIRES(kernel::kernel_lock);
  kernel::PollEvents poll() override REQUIRES(kernel::kernel_lock);
  kernel::WaitQueue* poll_queue() override REQUIRES(kernel::kernel_lock) { return &changed_; }
  Result<vfs::Stat> stat() override REQUIRES(kernel::kernel_lock);
  std::string description() const override REQUIRES(kernel::kernel_lock) {
    return "anon_inode:[session]";
  }

 private:
  kernel::Kernel& kernel_;
  const Listener listener_;
  std::uint64_t id_ GUARDED_BY(kernel::kernel_lock) = 0;
  std::deque<std::string> replies_ GUARDED_BY(kernel::kernel_lock);
  std::size_t taken_ GUARDED_BY(kernel::kernel_lock) = 0;  // of the first
  std::size_t unread_bytes_ GUARDED_BY(kernel::kernel_lock) = 0;
  kernel::WaitQueue changed_ GUARDED_BY(kernel::kernel_lock);
};

}  // namespace cloche::python
