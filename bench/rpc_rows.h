// SPDX-License-Identifier: Apache-2.0
// Promises of the JSON-RPC door and the Python SDK, measured through a real server process.
#pragma once

namespace cloche::bench {

// Prints one table. Throws when a server cannot be started or answers wrong.
void measure_rpc();

}  // namespace cloche::bench
