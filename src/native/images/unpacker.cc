// SPDX-License-Identifier: Apache-2.0
#include "native/images/unpacker.h"

#include <string>

#include "base/host_error.h"
#include "native/images/helper_program.h"

namespace cloche::images {
namespace {

const char* word_of(ArchiveKind kind) {
  switch (kind) {
    case ArchiveKind::layer: return "layer";
    case ArchiveKind::archive: return "archive";
    case ArchiveKind::changes: break;
  }
  return "changes";
}

}  // namespace

void unpack(const std::filesystem::path& program, ArchiveKind kind, int archive, int folder,
            const UnpackLimits& limits) {
  if (program.empty())
    throw HostError("archives cannot be unpacked: cloche-unpack is not beside cloche");
  const HelperResult result = call_helper(
      {.program = program,
       .arguments = {word_of(kind), std::to_string(limits.bytes), std::to_string(limits.files)},
       .input = archive,
       .folder = folder});
  if (result.is_done) return;
  throw request_error(
      "the archive cannot be unpacked: " +
      (result.said.empty() ? std::string("it took too long, or too much memory") : result.said));
}

}  // namespace cloche::images
