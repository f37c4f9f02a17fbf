// SPDX-License-Identifier: Apache-2.0
#include "base/resident_memory.h"

#include <unistd.h>

#include <cstdio>

namespace cloche {

std::uint64_t resident_bytes() noexcept {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  unsigned long total = 0;
  unsigned long resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::uint64_t machine_memory_bytes() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<std::uint64_t>(pages) *
                         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                   : 0;
}

}  // namespace cloche
