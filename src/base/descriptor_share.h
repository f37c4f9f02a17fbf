// SPDX-License-Identifier: Apache-2.0
// DescriptorShare: what guests may hold of this process's descriptors: connections, files of the
// host. All of them together have three quarters, so that who serves still gets some; an owner
// whose guests have more than half of what guests have gets no more where three quarters of that
// are taken, so that others still do.
//
// What is taken is read off the number of a descriptor that was just opened: the host gives the
// lowest one that is free. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/owner_count.h"
#include "base/unique_fd.h"

namespace cloche {

class DescriptorShare {
 public:
  // How many there may be at the moment; nothing where there is no limit.
  using Limit = std::function<std::optional<std::size_t>()>;
  explicit DescriptorShare(Limit limit) : limit_(std::move(limit)) {}
  DescriptorShare(const DescriptorShare&) = delete;
  DescriptorShare& operator=(const DescriptorShare&) = delete;

  static DescriptorShare& of_this_process();

  // For a descriptor, as long as it is held.
  using Permit = OwnerCount::Permit;
  // For one that was just opened. None: guests, or this owner's, have all that they may. Without an
  // owner: nobody's.
  std::optional<Permit> acquire(const UniqueFd& fd, std::shared_ptr<Owner> owner);

 private:
  const Limit limit_;
  OwnerCount count_{&Owner::descriptors};
};

}  // namespace cloche
