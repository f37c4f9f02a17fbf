// SPDX-License-Identifier: Apache-2.0
#include "base/owner.h"

#include <map>

#include "base/mutex.h"

namespace cloche {
namespace {

struct KnownOwners {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<Owner>> all GUARDED_BY(mutex);
};

}  // namespace

std::shared_ptr<Owner> Owner::named(const std::string& name) {
  static KnownOwners known;
  const MutexLock lock(known.mutex);
  if (const auto found = known.all.find(name); found != known.all.end()) {
    if (std::shared_ptr<Owner> owner = found->second.lock()) return owner;
  }
  std::erase_if(known.all, [](const auto& one) { return one.second.expired(); });
  auto owner = std::make_shared<Owner>();
  known.all.emplace(name, owner);
  return owner;
}

}  // namespace cloche
