// SPDX-License-Identifier: Apache-2.0
// Programs that sandboxes of this door have besides those of every sandbox, as programs for E2B
// expect them.
#pragma once

#include <array>
#include <string_view>

namespace cloche::e2b {

struct BoxTool {
  std::string_view path;
  std::string_view script;
};

// sudo: who asks is the user already, and files of the system are root's to change, so there is
// nothing that it could do more than run the command. ss: what listens, for templates that wait for
// a port.
std::array<BoxTool, 2> box_tools();

}  // namespace cloche::e2b
