// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/event_file.h"

#include <cstring>

#include "kernel/files/pipe.h"
#include "kernel/process/task.h"

namespace cloche::kernel {
namespace {

constexpr std::uint64_t max_count = ~std::uint64_t{0} - 1;

}  // namespace

Result<std::size_t> EventFile::read(Task& task, std::span<std::byte> to) {
  if (to.size() < sizeof(count_)) return Errno::inval;
  while (count_ == 0) {
    if (nonblocking()) return Errno::again;
    CLOCHE_TRY(task.block({&changed_}));
  }
  const std::uint64_t taken = mode_ == Mode::semaphore ? 1 : count_;
  count_ -= taken;
  std::memcpy(to.data(), &taken, sizeof(taken));
  changed_.wake_all();
  return sizeof(taken);
}

Result<std::size_t> EventFile::write(Task& task, std::span<const std::byte> from) {
  std::uint64_t added = 0;
  if (from.size() < sizeof(added)) return Errno::inval;
  std::memcpy(&added, from.data(), sizeof(added));
  if (added > max_count) return Errno::inval;
  while (added > max_count - count_) {
    if (nonblocking()) return Errno::again;
    CLOCHE_TRY(task.block({&changed_}));
  }
  count_ += added;
  changed_.wake_all();
  return sizeof(added);
}

PollEvents EventFile::poll() {
  return (count_ != 0 ? pollin | pollrdnorm : 0U) |
         (count_ < max_count ? pollout | pollwrnorm : 0U);
}

Result<vfs::Stat> EventFile::stat() { return anonymous_stat(vfs::FileType::regular, id_); }

}  // namespace cloche::kernel
