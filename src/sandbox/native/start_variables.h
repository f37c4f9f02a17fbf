// SPDX-License-Identifier: Apache-2.0
// Which variables may have a shell or an interpreter of a box start otherwise than in another box
// of the same image.
#pragma once

#include <string_view>

namespace cloche::sandbox {

// `variable`: NAME=value. Of a box whose files are those of its image (Box::is_as_image).
bool may_change_a_start(std::string_view variable);

}  // namespace cloche::sandbox
