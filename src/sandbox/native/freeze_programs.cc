// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/freeze_programs.h"

#include "sandbox/native/sealed_file.h"

#ifdef CLOCHE_FREEZE_FILE
#include "base/embed.h"

CLOCHE_EMBED(cloche_freeze_library, CLOCHE_FREEZE_FILE)
CLOCHE_EMBED(cloche_shell_library, CLOCHE_SHELL_FILE)
CLOCHE_EMBED(cloche_thaw_program, CLOCHE_THAW_FILE)
#endif

namespace cloche::sandbox {

FreezePrograms::FreezePrograms([[maybe_unused]] Kind kind) {
#ifdef CLOCHE_FREEZE_FILE
  if (kind == Kind::none) return;
  Result<UniqueFd> library = make_sealed_file(cloche_freeze_library(), FileUse::execute);
  Result<UniqueFd> shell = make_sealed_file(cloche_shell_library(), FileUse::execute);
  Result<UniqueFd> thaw = make_sealed_file(cloche_thaw_program(), FileUse::execute);
  if (library && shell && thaw) {
    library_ = *std::move(library);
    shell_ = *std::move(shell);
    thaw_ = *std::move(thaw);
  }
#endif
}

}  // namespace cloche::sandbox
