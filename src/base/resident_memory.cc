// SPDX-License-Identifier: Apache-2.0
#include "base/resident_memory.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace cloche {

std::uint64_t resident_bytes() noexcept {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  std::array<char, 128> line{};
  const bool is_read = std::fgets(line.data(), line.size(), file) != nullptr;
  std::fclose(file);
  if (!is_read) return 0;
  char* after_total = nullptr;  // the first number; the second is what is resident
  (void)std::strtoul(line.data(), &after_total, 10);
  return std::strtoul(after_total, nullptr, 10) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t machine_memory_bytes() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<std::uint64_t>(pages) *
                         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
                   : 0;
}

}  // namespace cloche
