// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/fulfilled_packages.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "sandbox/native/native_backend.h"
#include "sandbox/native/start_variables.h"

namespace cloche::sandbox {

std::optional<FulfilledPackages::Wish> FulfilledPackages::wish_of(
    NativeBackend& sandbox, const std::vector<std::string>& names) {
  const native::CommandSpec spec = sandbox.spec_of({});
  const std::optional<FileNumber> image = file_number(sandbox.image().root.get());
  if (!image || !sandbox.options().mounts.empty() ||
      std::ranges::any_of(spec.environment, [](std::string_view variable) {
        return variable.starts_with("PIP_") || may_change_a_start(variable);
      }))
    return std::nullopt;
  return Wish{.image = *image,
              .user = sandbox.identity().user,
              .group = sandbox.identity().group,
              .variables = spec.environment,
              .names = names};
}

bool FulfilledPackages::are_there(NativeBackend& sandbox, const std::vector<std::string>& names) {
  const std::optional<Wish> wish = wish_of(sandbox, names);
  if (!wish) return false;
  const MutexLock lock(mutex_);
  const auto found =
      std::ranges::find_if(known_, [&](const Known& known) { return known.wish == *wish; });
  if (found == known_.end()) return false;
  known_.splice(known_.begin(), known_, found);
  return true;
}

// Where a file has changed, pip has brought something.
void FulfilledPackages::learn(NativeBackend& sandbox, const std::vector<std::string>& names) {
  std::optional<Wish> wish = wish_of(sandbox, names);
  if (!wish || !sandbox.box().is_as_image()) return;
  UniqueFd image(::fcntl(sandbox.image().root.get(), F_DUPFD_CLOEXEC, 0));
  if (!image) return;
  const MutexLock lock(mutex_);
  known_.push_front({*std::move(wish), std::move(image)});
  if (known_.size() > most) known_.pop_back();
}

}  // namespace cloche::sandbox
