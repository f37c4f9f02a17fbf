// SPDX-License-Identifier: Apache-2.0
// A script of this machine that runs in a sandbox.
#pragma once

#include <string>
#include <vector>

#include "cloche/sandbox.h"

namespace cloche::cli {

// The content of a file, or of standard input for "-". Throws HostError with one sentence.
std::string read_script(const std::string& path);

// Puts the script into a folder of the sandbox that is no folder of this machine, and returns the
// words that run it: by itself where it begins with #! or is WebAssembly, otherwise by bash. `path`
// is where it came from, of which it keeps the last part. Throws HostError with one sentence.
std::vector<std::string> place_script(Sandbox& sandbox, const std::vector<Mount>& mounts,
                                      const std::string& path, const std::string& content);

}  // namespace cloche::cli
