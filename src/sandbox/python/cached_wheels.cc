// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/cached_wheels.h"

#include <unistd.h>

#include <cerrno>
#include <memory>

namespace cloche::sandbox {
namespace {

using packages::WheelCache;

vfs::Stat stat_of(std::uint64_t size) {
  vfs::Stat stat{};
  stat.type = vfs::FileType::regular;
  stat.mode = 0400;
  stat.nlink = 1;
  stat.size = size;
  return stat;
}

class KeptWheel final : public kernel::File {
 public:
  explicit KeptWheel(WheelCache::Found found) : File(kernel::o_rdonly), found_(std::move(found)) {}

  Result<std::size_t> read(kernel::Task&, std::span<std::byte> to) override
      REQUIRES(kernel::kernel_lock) {
    const ssize_t count = ::read(found_.fd.get(), to.data(), to.size());
    if (count < 0) return errno_from_host(errno);
    return static_cast<std::size_t>(count);
  }
  Result<vfs::Stat> stat() override REQUIRES(kernel::kernel_lock) { return stat_of(found_.size); }
  std::string description() const override REQUIRES(kernel::kernel_lock) {
    return "anon_inode:[wheel]";
  }

 private:
  const WheelCache::Found found_;
};

class NewWheel final : public kernel::File {
 public:
  explicit NewWheel(std::unique_ptr<WheelCache::Deposit> deposit)
      : File(kernel::o_wronly), deposit_(std::move(deposit)) {}

  Result<std::size_t> write(kernel::Task&, std::span<const std::byte> from) override
      REQUIRES(kernel::kernel_lock) {
    if (!deposit_->write(from)) return Errno::io;
    return from.size();
  }
  Result<vfs::Stat> stat() override REQUIRES(kernel::kernel_lock) { return stat_of(0); }
  std::string description() const override REQUIRES(kernel::kernel_lock) {
    return "anon_inode:[wheel]";
  }

 private:
  const std::unique_ptr<WheelCache::Deposit> deposit_;
};

}  // namespace

Result<kernel::FilePtr> CachedWheels::open(const python::CachedWheel& wheel) {
  if (cache_ == nullptr) return Errno::noent;
  const packages::WheelName name{wheel.origin, wheel.address, wheel.sha256};
  if (wheel.bytes_to_keep == 0) {
    auto found = cache_->find(name);
    if (!found) return Errno::noent;
    return std::make_shared<KeptWheel>(*std::move(found));
  }
  if (wheel.bytes_to_keep > cache_->share_bytes() - given_bytes_) return Errno::noent;
  auto deposit = cache_->begin(name, wheel.bytes_to_keep);
  if (!deposit) return Errno::noent;
  given_bytes_ += wheel.bytes_to_keep;
  return std::make_shared<NewWheel>(std::move(deposit));
}

}  // namespace cloche::sandbox
