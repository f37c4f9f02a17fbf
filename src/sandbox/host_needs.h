// SPDX-License-Identifier: Apache-2.0
// What engines and sandboxes read, write and start on the host: for a process that jails itself.
#pragma once

#include <functional>
#include <string>

#include "base/process_jail.h"
#include "cloche/engine.h"
#include "cloche/sandbox.h"

namespace cloche::sandbox {

// Finds the folders that the options leave open, and makes the cache folder where it can be made,
// so that there is something to name. Throws HostError as Engine does.
void add_needs(JailRules& rules, EngineOptions& options);

// Begins what makes sandboxes of the linux engine, which cannot begin in a jail. Throws HostError.
void begin_natives(JailRules& rules, EngineOptions& options);

// Why there are no sandboxes of the linux engine at present, or will be none, in one sentence,
// where that was begun with these options; empty: there are.
std::string trouble_of_natives(const EngineOptions& options);

// Told when it is found that what makes them has ended, and all that there were with it. Any
// thread.
void watch_natives(const EngineOptions& options, std::function<void()> ended);

// The folders and files of this machine that sandboxes with these options have: mounts, the image
// file of Python.
void add_needs(JailRules& rules, const SandboxOptions& options);

}  // namespace cloche::sandbox
