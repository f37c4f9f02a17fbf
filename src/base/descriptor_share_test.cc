// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_share.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <vector>

namespace cloche {
namespace {

struct Held {
  UniqueFd fd;
  DescriptorShare::Permit place;
};

// Opens until it is told to stop; how many there are then.
std::size_t fill(DescriptorShare& share, const std::shared_ptr<Owner>& owner,
                 std::vector<Held>& held) {
  for (;;) {
    UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fd);
    auto place = share.acquire(fd, owner);
    if (!place) return held.size();
    held.push_back({std::move(fd), *std::move(place)});
  }
}

constexpr std::size_t limit = 320;

TEST(DescriptorShare, GuestsLeaveAQuarter) {
  DescriptorShare share([] { return limit; });
  std::vector<Held> held;
  fill(share, nullptr, held);
  EXPECT_EQ(held.back().fd.get(), 239);
  held.pop_back();
  fill(share, nullptr, held);
  EXPECT_EQ(held.back().fd.get(), 239);
}

TEST(DescriptorShare, OneOwnersLeaveSomeToOthers) {
  DescriptorShare share([] { return limit; });
  std::vector<Held> anns, bobs, nobodys;
  const auto ann = Owner::named("ann");
  fill(share, ann, anns);
  EXPECT_EQ(anns.back().fd.get(), 179);
  EXPECT_EQ(fill(share, Owner::named("bob"), bobs), 60U);
  EXPECT_EQ(fill(share, nullptr, nobodys), 0U);
  // What is given back counts no more, of whom it was.
  anns.clear();
  EXPECT_EQ(ann->descriptors, 0U);
  EXPECT_GT(fill(share, ann, anns), 60U);
}

TEST(DescriptorShare, WithoutALimitThereIsNone) {
  DescriptorShare share([] { return std::optional<std::size_t>(); });
  UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(share.acquire(fd, Owner::named("ann")));
}

}  // namespace
}  // namespace cloche
