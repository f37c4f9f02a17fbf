// SPDX-License-Identifier: Apache-2.0
// What a box is made of, and what it may have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "native/host/mount_set.h"
#include "native/warden/wire.h"

namespace cloche::native {

struct BoxLimits {
  std::uint64_t file_bytes = 256ULL << 20;
  std::uint64_t file_inodes = 200'000;
  std::uint64_t memory_bytes = 1ULL << 30;
  std::uint32_t processes = 512;
  std::uint32_t open_files = 1024;
  std::uint32_t cpus = 3;  // its share of processors, where control groups share them
  bool operator==(const BoxLimits&) const = default;
};

struct BoxPlan {
  int image = -1;       // its root folder, open for reading
  int begin_with = -1;  // a folder of changes (Box::Pause::changes); -1: none
  warden::Root root = warden::Root::overlay;
  warden::Isolation isolation = warden::Isolation::full;
  int runsc = -1;          // the program of gVisor, open for reading; of that isolation alone
  std::uint32_t user = 0;  // inside
  std::uint32_t group = 0;
  BoxLimits limits = {};
  std::string home = {};  // a folder that is made where it is not there, absolute; empty: none
  std::vector<HostMount> mounts = {};

  // Whether a box may get its limits and its home once it is there. gVisor cannot change the limits
  // of files that are there.
  bool settles_later() const noexcept { return isolation == warden::Isolation::full; }
};

}  // namespace cloche::native
