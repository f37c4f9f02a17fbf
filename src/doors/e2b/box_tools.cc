// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/box_tools.h"

#include "doors/http/embedded.h"

CLOCHE_EMBED(cloche_box_sudo, CLOCHE_TOOLS_DIR "/sudo.sh")
CLOCHE_EMBED(cloche_box_ss, CLOCHE_TOOLS_DIR "/ss.sh")

namespace cloche::e2b {

std::array<BoxTool, 2> box_tools() {
  return {{{"/usr/local/bin/sudo", cloche_box_sudo()}, {"/usr/local/bin/ss", cloche_box_ss()}}};
}

}  // namespace cloche::e2b
