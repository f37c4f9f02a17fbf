// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/server_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>

#include "base/resident_memory.h"
#include "cloche/version.h"

namespace cloche::remote {
namespace {

const auto started = std::chrono::steady_clock::now();

std::int64_t cpu_ms() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto ms = [](const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

}  // namespace

rpc::Reply server_usage(const Parts& parts) {
  const auto uptime = std::chrono::steady_clock::now() - started;
  return {{"version", cloche::version},
          {"uptimeMs", std::chrono::duration_cast<std::chrono::milliseconds>(uptime).count()},
          {"sessions", parts.sessions.count()},
          {"memoryBytes", resident_bytes()},
          {"cpuMs", cpu_ms()},
          {"cpus", ::sysconf(_SC_NPROCESSORS_ONLN)}};
}

}  // namespace cloche::remote
