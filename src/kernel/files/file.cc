// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/file.h"

namespace cloche::kernel {

void File::set_status_flags(std::uint32_t settable) noexcept {
  constexpr std::uint32_t changeable = o_append | o_nonblock | o_async | o_direct | o_noatime;
  flags_ = (flags_ & ~changeable) | (settable & changeable);
}

Result<std::size_t> File::read(Task&, std::span<std::byte>) { return Errno::inval; }

Result<std::size_t> File::write(Task&, std::span<const std::byte>) { return Errno::inval; }

Result<std::size_t> File::pread(Task&, std::span<std::byte>, std::uint64_t) { return Errno::spipe; }

Result<std::size_t> File::pwrite(Task&, std::span<const std::byte>, std::uint64_t) {
  return Errno::spipe;
}

Result<std::uint64_t> File::seek(std::int64_t, std::uint32_t) { return Errno::spipe; }

PollEvents File::poll() {
  PollEvents ready = 0;
  if (readable()) ready |= pollin | pollrdnorm;
  if (writable()) ready |= pollout | pollwrnorm;
  return ready;
}

Result<std::shared_ptr<File>> File::reopen(Task&, std::uint32_t) { return Errno::nxio; }

Result<std::int32_t> File::ioctl(Task&, wasm::GuestMemory&, std::uint32_t, std::uint32_t) {
  return Errno::notty;
}

}  // namespace cloche::kernel
