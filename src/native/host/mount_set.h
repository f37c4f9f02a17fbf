// SPDX-License-Identifier: Apache-2.0
// Folders and files of this machine for a box, and MountSet: what the warden is given of them.
#pragma once

#include <string>
#include <vector>

#include "base/host_error.h"
#include "base/unique_fd.h"
#include "native/warden/wire.h"

namespace cloche::native {

struct HostMount {
  std::string host_path;   // a folder or a regular file
  std::string guest_path;  // absolute
  bool is_read_only = false;
};

// Root's mounter does not answer: it has ended, and with it what makes boxes.
class MounterEnded : public HostError {
 public:
  MounterEnded();
};

class MountSet {
 public:
  // Each is opened now, and is the one that the box has. `mounter`: the socket of root's mounter; -1:
  // there is none. Throws Error with one sentence for what is not there, is of another kind or may
  // not be used, and for more than there is room for; MounterEnded.
  MountSet(const std::vector<HostMount>& mounts, int mounter);

  // Beside MakeBox: the file of orders, and the trees. Empty without mounts.
  const std::vector<UniqueFd>& descriptors() const noexcept { return descriptors_; }

 private:
  std::vector<UniqueFd> descriptors_;
};

// One sentence for a mount that a box could not make.
std::string explain_mount(const HostMount& mount, int error);

}  // namespace cloche::native
