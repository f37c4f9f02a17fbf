// SPDX-License-Identifier: Apache-2.0
// States of sandboxes as files of the host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cloche/checkpoint.h"

namespace cloche::rpc {

// The state of a sandbox; its size. Complete or not at all, also after a crash of the host. Throws
// RpcError with the host's errno, here and below.
std::uint64_t write_state_file(const std::string& path, const Checkpoint& state);
// A sandbox with the state in a file, under `options`.
std::unique_ptr<Sandbox> read_state_file(const std::string& path, Engine& engine,
                                         const SandboxOptions& options);
// Whether the file is an image that `cloche image build` made, and no state.
bool is_image_file(const std::string& path);

}  // namespace cloche::rpc
