// SPDX-License-Identifier: Apache-2.0
// What this machine and this process offer, as `cloche doctor` looks at them: facts, no judgement.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cloche::cli {

inline constexpr std::uint64_t unlimited = UINT64_MAX;

struct Machine {
  std::string kernel;        // "6.1.0-28-amd64"
  std::string architecture;  // as uname -m
  int cpu_level = 0;         // the N of x86-64-vN; 0: another architecture
  unsigned cpus = 1;         // that this process may use

  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::uint64_t group_memory_bytes = unlimited;  // of the control group
  std::uint64_t group_processes = unlimited;
  int overcommit = 0;
  std::uint64_t mappings = 0;  // vm.max_map_count; 0: not known
  std::string huge_pages;      // always, madvise, never; empty: the kernel has none

  // Soft limits of this process, and the hard one of the first.
  std::uint64_t open_files = unlimited;
  std::uint64_t open_files_hard = unlimited;
  std::uint64_t processes = unlimited;
  std::uint64_t address_space = unlimited;

  bool has_pagemap = false;       // /proc/self/pagemap can be read
  bool has_pagemap_scan = false;  // Linux 6.7
  bool has_openat2 = false;       // Linux 5.6
  int landlock_abi = 0;           // 0: none
  bool has_seccomp = false;
  bool has_user_namespaces = false;  // and this user may make one
  bool has_authorities = false;      // certificates for TLS
};

// The calling process has one thread: it forks to see whether it may make a user namespace.
Machine look_at_machine();

// The folder of machine code and boot images. It need not be there; then it says what is above it.
struct CacheFolder {
  std::filesystem::path path;
  std::string problem;  // one sentence, where it cannot be used
  bool can_execute = true;
  std::uint64_t used_bytes = 0;
  std::uint64_t free_bytes = 0;
};

CacheFolder look_at_cache(const std::filesystem::path& path);

// Bytes of the files under a folder; what cannot be looked at counts nothing.
std::uint64_t bytes_under(const std::filesystem::path& folder) noexcept;

}  // namespace cloche::cli
