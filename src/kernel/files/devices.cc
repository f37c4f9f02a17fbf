// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/devices.h"

#include <algorithm>
#include <utility>

#include "kernel/files/node_file.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/process/turns.h"
#include "kernel/terminals/terminal_table.h"

namespace cloche::kernel {
namespace {

enum class Kind { null, zero, full, random };

// As much as Linux gives of its random devices in one read.
constexpr std::size_t random_most = std::size_t{32} << 20;

class DeviceFile final : public InodeFile {
 public:
  DeviceFile(Kernel& kernel, vfs::Node node, std::uint32_t flags, Kind kind)
      : InodeFile(kernel, std::move(node), flags), kind_(kind) {}

  Result<std::size_t> read(Task& task, std::span<std::byte> to) override REQUIRES(kernel_lock) {
    if (kind_ == Kind::null) return std::size_t{0};
    if (kind_ == Kind::random) to = to.first(std::min(to.size(), random_most));
    return in_turns(task, to.size(),
                    [&](std::size_t done, std::size_t count) -> Result<std::size_t> {
                      const std::span<std::byte> piece = to.subspan(done, count);
                      if (kind_ == Kind::random) {
                        Kernel::fill_random(piece);
                      } else {
                        std::ranges::fill(piece, std::byte{0});
                      }
                      return count;
                    });
  }

  Result<std::size_t> write(Task&, std::span<const std::byte> from) override REQUIRES(kernel_lock) {
    if (kind_ == Kind::full && !from.empty()) return Errno::nospc;
    return from.size();
  }

  Result<std::size_t> pread(Task& task, std::span<std::byte> to, std::uint64_t) override
      REQUIRES(kernel_lock) {
    return read(task, to);
  }
  Result<std::size_t> pwrite(Task& task, std::span<const std::byte> from, std::uint64_t) override
      REQUIRES(kernel_lock) {
    return write(task, from);
  }

  // Seeking is accepted, and there is nowhere to go.
  Result<std::uint64_t> seek(std::int64_t, std::uint32_t) override REQUIRES(kernel_lock) {
    return std::uint64_t{0};
  }

 private:
  Kind kind_;
};

}  // namespace

Result<FilePtr> open_device(Task& task, const vfs::Node& node, std::uint64_t rdev,
                            std::uint32_t flags) {
  const auto simple = [&](Kind kind) {
    const std::uint32_t kept = flags & ~(o_creat | o_excl | o_noctty | o_trunc | o_cloexec);
    return FilePtr(std::make_shared<DeviceFile>(task.kernel(), node, kept, kind));
  };
  switch (rdev) {
    case device::null: return simple(Kind::null);
    case device::zero: return simple(Kind::zero);
    case device::full: return simple(Kind::full);
    case device::random:
    case device::urandom: return simple(Kind::random);
    default: return task.kernel().terminals().open_device(task, node, rdev, flags);
  }
}

}  // namespace cloche::kernel
