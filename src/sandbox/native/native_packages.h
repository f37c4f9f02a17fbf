// SPDX-License-Identifier: Apache-2.0
// Python packages of a native sandbox: what its image's own pip installs, in the sandbox, as its
// user and through its network rules. What the image has already is there without any.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/result.h"

namespace cloche::sandbox {

class NativeBackend;

// `names` are requirements as pip takes them. ENOENT: the index has no such thing, or the image no
// pip; EINVAL: it is no name.
Result<void, Error> install_by_pip(NativeBackend& sandbox, const std::vector<std::string>& names);

}  // namespace cloche::sandbox
