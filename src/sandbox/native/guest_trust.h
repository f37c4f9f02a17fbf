// SPDX-License-Identifier: Apache-2.0
// That the programs of a box trust in its authority (net::GuestAuthority), by files and variables
// that they look at: the files are written in the box, by the process inside that does so for
// everybody, and so lie above the image.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "cloche/sandbox.h"
#include "net/guest_authority.h"
#include "sandbox/backend.h"

namespace cloche::sandbox {

class GuestTrust {
 public:
  // Of files of the box where none of `mounts` is; both outlive it.
  GuestTrust(FileBackend& files, std::span<const Mount> mounts) : files_(files), mounts_(mounts) {}

  // Puts the authority beside those that are there, where one from before was too, and names the
  // files in the variables that are not set. Throws Error with one sentence.
  void add(const net::GuestAuthority& authority, std::map<std::string, std::string>& environment);

 private:
  std::string place_of(const std::string& path);
  bool is_of_host(const std::string& path);
  std::string find_bundle();
  void add_to(const std::string& bundle, const std::string& text);
  void write(const std::string& path, const std::string& text);

  FileBackend& files_;
  const std::span<const Mount> mounts_;
};

// A text of certificates with this one at its end, and none of those that were put there before.
std::string with_authority(std::string_view certificates, std::string_view authority);

}  // namespace cloche::sandbox
