// SPDX-License-Identifier: Apache-2.0
// The shell that a sandbox keeps, between the commands of a model: where it is and what it exports,
// asked of itself without leaving a trace.
#pragma once

#include <map>
#include <stop_token>
#include <string>

#include "cloche/sandbox.h"

namespace cloche::mcp {

// Its folder; empty where it does not say.
std::string shell_folder(Sandbox& sandbox, const std::stop_token& stop);
// Goes there.
void set_shell_folder(Sandbox& sandbox, const std::string& folder, const std::stop_token& stop);
// What it exports; the sandbox's environment where it does not say.
std::map<std::string, std::string> shell_environment(Sandbox& sandbox, const std::stop_token& stop);

}  // namespace cloche::mcp
