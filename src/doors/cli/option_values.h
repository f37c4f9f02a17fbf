// SPDX-License-Identifier: Apache-2.0
// The values of options as `cloche` reads them. Each throws UsageError with a sentence that names
// the option.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doors/cli/options.h"

namespace cloche::cli {

// "1048576", "512K", "256M", "2G": bytes, in powers of 1024, at least one. `name`: of the option.
std::uint64_t bytes_option(const std::string& name, const std::string& text);
// NAME=VALUE.
std::pair<std::string, std::string> environment_option(const std::string& text);
// HOST:GUEST[:ro|:rw]; HOST is a folder that is there.
Mount mount_option(std::string text);
// GUEST:HOST.
CopyOut copy_option(const std::string& text);
// NAME=VALUE,...: limits of a sandbox.
void limits_option(const std::string& text, SandboxOptions& to);
// What stands between commas; empty items are none.
std::vector<std::string> split_list(const std::string& text);

}  // namespace cloche::cli
