// SPDX-License-Identifier: Apache-2.0
// Questions to the shell that a sandbox keeps, which leave no trace in it: what scripts have set
// and exported is known to that shell alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/sandbox.h"

namespace cloche::sandbox {

// What a line without single quotes prints there; the status of the command before is the shell's
// again afterwards. Nothing where the shell cannot run it, or where it prints more than is taken.
// `how` says the limits; with a folder the shell is there afterwards.
std::optional<std::string> ask_shell(Sandbox& sandbox, std::string_view line, RunOptions how = {});

// What it exports; the sandbox's environment where it does not say.
std::map<std::string, std::string> shell_environment(Sandbox& sandbox, RunOptions how = {});

}  // namespace cloche::sandbox
