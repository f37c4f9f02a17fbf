// SPDX-License-Identifier: Apache-2.0
// Tests of sandboxes behind gVisor are skipped where this machine can have none.
#pragma once

#include <string>

namespace cloche::sandbox {

// Why not, by a trial; empty: it can.
const std::string& no_gvisor_here();

}  // namespace cloche::sandbox
