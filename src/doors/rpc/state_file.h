// SPDX-License-Identifier: Apache-2.0
// States of sandboxes as files of the host.
#pragma once

#include <string>
#include <string_view>

namespace cloche::rpc {

// Complete or not at all. Throws RpcError with the host's errno.
void write_state_file(const std::string& path, std::string_view state);
std::string read_state_file(const std::string& path);
// Whether the file is an image that `cloche image build` made, and no state.
bool is_image_file(const std::string& path);

}  // namespace cloche::rpc
