// SPDX-License-Identifier: Apache-2.0
// Files of a sandbox as tar archives, and the state of a whole sandbox as one checked file.
//
// Archives are read and written by the tar program of the sandbox itself, as its user and within
// its limits: what is in them is never interpreted by the host. Calls are as thread-safe as
// Sandbox's, and those on archives take the sandbox's time limit.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/checkpoint.h"
#include "cloche/engine.h"
#include "cloche/result.h"
#include "cloche/sandbox.h"

namespace cloche {

// A folder's content (members "./..."), or one file, as an uncompressed tar archive. EFBIG when it
// is larger than `limit_bytes`; ECANCELED once `stop` is asked to stop.
Result<std::string, Error> pack(Sandbox& sandbox, std::string_view path, std::uint64_t limit_bytes,
                                std::stop_token stop = {});
// Unpacks an archive into a folder, which is made. EINVAL for what tar does not take for one,
// ECANCELED as above.
Result<void, Error> unpack(Sandbox& sandbox, std::string_view folder, std::string tar,
                           std::stop_token stop = {});

// A whole state, as Checkpoint::write makes it. EFBIG as above.
Result<std::string, Error> export_state(Sandbox& sandbox, std::uint64_t limit_bytes);
// A new sandbox with that state, under `options`. EINVAL for bytes that are none or that have
// changed since (they are covered by a SHA-256); ENOSPC for more files than the options allow.
// ENOENT for a package that this engine lacks. States of the release before are read too.
Result<std::unique_ptr<Sandbox>, Error> import_state(Engine& engine, const SandboxOptions& options,
                                                     std::string_view state);
Result<std::unique_ptr<Sandbox>, Error> import_state(Engine& engine, const SandboxOptions& options,
                                                     const ByteSource& source);

}  // namespace cloche
