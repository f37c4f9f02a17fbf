// SPDX-License-Identifier: Apache-2.0
// An archive becomes the files of the folder that this process is in. Links are followed where the
// archive says so: that folder should be all that the process has (jail.h).
#pragma once

#include <cstdint>
#include <stdexcept>

namespace cloche::unpack {

enum class ArchiveKind : std::uint8_t {
  layer,    // names that begin with .wh. take away what is there, as OCI says
  archive,  // they are names
};

struct Limits {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

// What is wrong with the archive: the line that the program ends with. No Error, since a program
// that reads what strangers have made has nothing in it of ours but its jail.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads it from where it stands. What it had of the limits. Throws Refused; then some of the files
// are there.
Limits unpack_archive(int archive, ArchiveKind kind, const Limits& limits);

}  // namespace cloche::unpack
