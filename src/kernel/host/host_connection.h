// SPDX-License-Identifier: Apache-2.0
// HostConnection: the host's end of a TCP connection to a program that listens on the loopback of
// its sandbox. It copies bytes; it looks at none.
//
// Threads: it takes the kernel lock itself, so none of its functions is called with it held; each
// may be used by several threads. Lifetime: it must be gone before its Kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "kernel/sockets/stream_connection.h"
#include "kernel/time/kernel_handle.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Kernel;

class HostConnection final : private StreamListener {
 public:
  // ECONNREFUSED when nobody listens on 127.0.0.1 or ::1. `changed` is called whenever there may be
  // more to read, or room to write: under the kernel lock, so it must be quick, and call nothing of
  // this.
  static Result<std::unique_ptr<HostConnection>> connect(Kernel& kernel, std::uint16_t port,
                                                         std::function<void()> changed)
      EXCLUDES(kernel_lock);
  ~HostConnection() override;  // closes it
  HostConnection(const HostConnection&) = delete;
  HostConnection& operator=(const HostConnection&) = delete;

  // Never wait: EAGAIN. EPIPE: nobody reads any more, which is also said of no bytes.
  Result<std::size_t> write(std::span<const std::byte> from) EXCLUDES(kernel_lock);
  // 0: the end. ECONNRESET when the program left with bytes unread.
  Result<std::size_t> read(std::span<std::byte> to) EXCLUDES(kernel_lock);
  // End of file for the program, which may go on writing.
  void shut_down_write() EXCLUDES(kernel_lock);

 private:
  HostConnection(Kernel& kernel, std::function<void()> changed);
  void stream_changed() noexcept override REQUIRES(kernel_lock) { changed_(); }

  Kernel& kernel_;
  const std::function<void()> changed_;
  KernelHandle<std::shared_ptr<StreamConnection>> stream_;
};

}  // namespace cloche::kernel
