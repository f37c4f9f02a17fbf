// SPDX-License-Identifier: Apache-2.0
#include "native/images/unpacker.h"

#include <algorithm>
#include <sstream>
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

void expect_unpacker(const std::filesystem::path& program) {
  if (program.empty())
    throw HostError("archives cannot be unpacked: cloche-unpack is not beside cloche");
}

void unpack(const std::filesystem::path& program, ArchiveKind kind, int archive, int folder,
            UnpackLimits& limits) {
  expect_unpacker(program);
  const HelperResult result = call_helper(
      {.program = program,
       .arguments = {word_of(kind), std::to_string(limits.bytes), std::to_string(limits.files)},
       .input = archive,
       .folder = folder});
  if (result.is_done) {
    UnpackLimits had;
    std::istringstream(result.said) >> had.bytes >> had.files;
    limits.bytes -= std::min(limits.bytes, had.bytes);
    limits.files -= std::min(limits.files, had.files);
    return;
  }
  throw request_error(
      "the archive cannot be unpacked: " +
      (result.said.empty() ? std::string("it took too long, or too much memory") : result.said));
}

}  // namespace cloche::images
