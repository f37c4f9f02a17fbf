// SPDX-License-Identifier: Apache-2.0
// What a kept shell is given for a run: one string after the other, each with its 0, as
// userland/ports/bash/kept.c and native/shell read them.
#pragma once

#include <map>
#include <string>

#include "cloche/run.h"

namespace cloche::sandbox {

// `directory`: where the script runs; empty: where the shell is. `to_set`: variables of the
// sandbox's environment that the shell has not, or otherwise.
std::string shell_frame(const RunOptions& options, const std::string& directory,
                        const std::map<std::string, std::string>& to_set);

}  // namespace cloche::sandbox
