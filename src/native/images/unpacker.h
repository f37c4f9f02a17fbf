// SPDX-License-Identifier: Apache-2.0
// Unpacking an archive into a folder by `cloche-unpack` (native/unpack), which reads it in a jail.
#pragma once

#include <cstdint>
#include <filesystem>

namespace cloche::images {

// `changes` are a box's, a stream (native/warden/tree_stream.h).
enum class ArchiveKind : std::uint8_t { layer, archive, changes };

struct UnpackLimits {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

// Throws HostError with one sentence where there is no such program.
void expect_unpacker(const std::filesystem::path& program);

// `archive` is read from where it stands. What it had is taken from the limits. Throws Error with
// one sentence.
void unpack(const std::filesystem::path& program, ArchiveKind kind, int archive, int folder,
            UnpackLimits& limits);

}  // namespace cloche::images
