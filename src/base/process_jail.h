// SPDX-License-Identifier: Apache-2.0
// A jail that a process of ours enters by itself, once it knows what it needs and before it looks
// at anything of a guest or a client: an error in it, or in the engine, is then still inside. No
// privilege is needed. The walls are Linux's: Landlock (files, what may be started, signals to
// others; kernel documentation userspace-api/landlock) and seccomp (system calls).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cloche {

struct JailRules {
  // Files, and folders with all below them; what is not there is left out. What may be written may
  // be read too.
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;
  // Programs that may be started. A dynamic program's loader is one as well.
  std::vector<std::filesystem::path> executable;
  // Whether connections to elsewhere may be made; sockets that listen may be made in any case.
  bool connects = false;
};

// What every process of ours reads of a system: its shared libraries, how names are looked up and
// certificates checked, time zones, and what the kernel says of itself.
std::vector<std::filesystem::path> system_files();

// `program` and its loader, for JailRules::executable.
std::vector<std::filesystem::path> program_files(const std::filesystem::path& program);

// Enters the jail, for the calling thread and all that it starts: call it while it is the only one.
// There is no way back. Returns a sentence for each wall that this kernel lacks, or that cannot
// stand here; the others stand. Throws HostError where the host has no descriptor or memory for it.
std::vector<std::string> enter_jail(const JailRules& rules);

// From now on no other process of the user looks into this one's memory, and it leaves no core
// file. Nothing in /proc/self that only its owner may open can be opened any more.
void hide_memory() noexcept;

}  // namespace cloche
