// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/server_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include "cloche/version.h"

namespace cloche::remote {
namespace {

const auto started = std::chrono::steady_clock::now();

std::uint64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  unsigned long total = 0;
  unsigned long resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::int64_t cpu_ms() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto ms = [](const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

}  // namespace

rpc::Reply server_figures(const Parts& parts) {
  const auto uptime = std::chrono::steady_clock::now() - started;
  return {{"version", cloche::version},
          {"uptimeMs", std::chrono::duration_cast<std::chrono::milliseconds>(uptime).count()},
          {"sessions", parts.sessions.count()},
          {"memoryBytes", resident_bytes()},
          {"cpuMs", cpu_ms()},
          {"cpus", ::sysconf(_SC_NPROCESSORS_ONLN)}};
}

}  // namespace cloche::remote
