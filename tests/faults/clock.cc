// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD, for tests alone: what a program is told of the time of day is later, or
// earlier, by as many seconds as the file CLOCHE_CLOCK_SHIFT says just then. What it counts
// durations by stays as it is.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const std::atomic<std::int64_t>* shift = nullptr;

__attribute__((constructor)) void begin() {
  const char* const path = std::getenv("CLOCHE_CLOCK_SHIFT");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const at = ::mmap(nullptr, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (at != MAP_FAILED) shift = static_cast<const std::atomic<std::int64_t>*>(at);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  const bool is_time_of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && is_time_of_day && shift != nullptr) time->tv_sec += shift->load();
  return result;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* to) noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr) *to = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
