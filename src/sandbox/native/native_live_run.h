// SPDX-License-Identifier: Apache-2.0
// A LiveRun of a native sandbox: a NativeCommand, and a thread that sees to its end.
#pragma once

#include <memory>

#include "sandbox/backend.h"
#include "sandbox/native/native_backend.h"

namespace cloche::sandbox {

std::unique_ptr<LiveRunState> make_native_live_run(NativeBackend& sandbox, LiveRunOptions options);

}  // namespace cloche::sandbox
