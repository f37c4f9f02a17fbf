// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/caller_program.h"

#include "base/embed.h"

CLOCHE_EMBED(cloche_caller, CLOCHE_CALLER_FILE)

namespace cloche::sandbox {

std::string_view caller_program() noexcept { return cloche_caller(); }

}  // namespace cloche::sandbox
