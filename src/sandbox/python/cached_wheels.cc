// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/cached_wheels.h"

#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/descriptor_share.h"

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

// A place among those that are open.
class OpenPlace {
 public:
  explicit OpenPlace(std::shared_ptr<std::atomic<std::uint32_t>> count) : count_(std::move(count)) {
    ++*count_;
  }
  OpenPlace(OpenPlace&&) = default;
  OpenPlace& operator=(OpenPlace&&) = delete;
  ~OpenPlace() {
    if (count_) --*count_;
  }

 private:
  std::shared_ptr<std::atomic<std::uint32_t>> count_;
};

class KeptWheel final : public kernel::File {
 public:
  KeptWheel(WheelCache::Found found, DescriptorShare::Permit of_owner, OpenPlace place)
      : File(kernel::o_rdonly),
        of_owner_(std::move(of_owner)),
        found_(std::move(found)),
        place_(std::move(place)) {}

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
  const DescriptorShare::Permit of_owner_;
  const WheelCache::Found found_;
  const OpenPlace place_;
};

class NewWheel final : public kernel::File {
 public:
  NewWheel(std::unique_ptr<WheelCache::Deposit> deposit, OpenPlace place)
      : File(kernel::o_wronly), deposit_(std::move(deposit)), place_(std::move(place)) {}

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
  const OpenPlace place_;
};

}  // namespace

Result<kernel::FilePtr> CachedWheels::open(const python::CachedWheel& wheel,
                                           const std::shared_ptr<Owner>& owner) {
  if (cache_ == nullptr || *open_ >= open_max) return Errno::noent;
  const packages::WheelName name{wheel.origin, wheel.address, wheel.sha256};
  if (wheel.bytes_to_keep == 0) {
    auto found = cache_->find(name);
    if (!found) return Errno::noent;
    auto of_owner = DescriptorShare::of_this_process().acquire(found->fd, owner);
    if (!of_owner) return Errno::noent;
    return std::make_shared<KeptWheel>(*std::move(found), *std::move(of_owner), OpenPlace(open_));
  }
  if (wheel.bytes_to_keep > cache_->share_bytes() - given_bytes_ ||
      given_files_ == cache_->share_files())
    return Errno::noent;
  auto deposit = cache_->begin(name, wheel.bytes_to_keep);
  if (!deposit) return Errno::noent;
  given_bytes_ += wheel.bytes_to_keep;
  ++given_files_;
  return std::make_shared<NewWheel>(std::move(deposit), OpenPlace(open_));
}

}  // namespace cloche::sandbox
