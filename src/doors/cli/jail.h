// SPDX-License-Identifier: Apache-2.0
// The jail of a command that runs guests: base/process_jail.h with what its options name. A wall
// that this machine's kernel lacks is left out; `cloche doctor` says which. To be called before the
// first thread starts. Each throws HostError.
#pragma once

#include "cloche/engine.h"
#include "doors/cli/options.h"
#include "doors/cli/out_places.h"

namespace cloche::cli {

// Whether connections to elsewhere are ever made.
enum class Connections : bool { never, some };

// Of one that makes sandboxes as `options` say and no others: only what they name is in reach, and
// the places that files are copied to.
void enter_jail(const Options& options, const OutPlaces& places, EngineOptions& engine,
                Connections connections);

// Of one whose client names folders and files of this machine as it goes: the user's files stay in
// reach. Other programs than Cloche's own, other processes, and rare system calls do not.
void enter_jail_with_files(EngineOptions& engine);

}  // namespace cloche::cli
