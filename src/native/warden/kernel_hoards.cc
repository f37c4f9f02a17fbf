// SPDX-License-Identifier: Apache-2.0
#include "native/warden/kernel_hoards.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "native/warden/fd.h"
#include "native/warden/looks.h"

namespace cloche::warden {
namespace {

using Path = std::array<char, 96>;

// None: nobody may look, or there are more than `most`.
std::optional<std::uint64_t> lines_in(const Path& path, std::uint64_t most) noexcept {
  const Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == EACCES ? std::nullopt : std::optional<std::uint64_t>(0);
  static std::array<char, 64 << 10> text;
  std::uint64_t lines = 0;
  for (ssize_t got = 1; got > 0;) {
    got = ::read(file.get(), text.data(), text.size());
    if (got > 0)
      lines += static_cast<std::uint64_t>(std::count(text.data(), text.data() + got, '\n'));
    if (lines > most) return std::nullopt;
  }
  return lines;
}

// What the kernel says of a descriptor of epoll is a line for each watch, after some of its own.
std::uint64_t lines_of(pid_t pid, pid_t thread, int number) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/fdinfo/%d", pid, thread, number);
  return lines_in(path, UINT64_MAX).value_or(0);
}

// Of a table that nobody may look into no more is known than how many there are: each half of them
// may watch the other.
std::uint64_t most_in_hidden(const Path& table) noexcept {
  struct stat files{};
  if (::stat(table.data(), &files) != 0) return 0;
  const auto half = static_cast<std::uint64_t>(files.st_size) / 2;
  return half * half;
}

// Of numbers that come one after the other some, by chance each as likely as any other.
class Sample {
 public:
  void take(int number) noexcept {
    if (++all_ <= some_.size()) {
      some_[all_ - 1] = number;
    } else if (const std::uint64_t place = chance() % all_; place < some_.size()) {
      some_[place] = number;
    }
  }
  std::span<const int> some() const noexcept {
    return std::span(some_).first(std::min<std::size_t>(all_, some_.size()));
  }
  std::uint64_t all() const noexcept { return all_; }

 private:
  // A guest that knew them could hide the others.
  static std::uint64_t chance() noexcept {
    std::uint64_t number = 0;
    (void)!::getrandom(&number, sizeof number, GRND_NONBLOCK);
    return number;
  }

  std::array<int, 16> some_{};
  std::uint64_t all_ = 0;
};

// None: it has no open files, as a thread that has ended.
std::optional<std::uint64_t> watches_in(pid_t pid, pid_t thread) noexcept {
  constexpr std::string_view kind("anon_inode:[eventpoll]");
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/fd", pid, thread);
  DIR* const table = ::opendir(path.data());
  if (table == nullptr) {
    if (errno == EACCES) return most_in_hidden(path);
    return std::nullopt;
  }
  bool has_any = false;
  Sample found;
  while (const dirent* const entry = ::readdir(table)) {
    const std::string_view name(entry->d_name);
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec != std::errc()) continue;
    has_any = true;
    std::array<char, kind.size() + 1> target{};
    const ssize_t size = ::readlinkat(::dirfd(table), entry->d_name, target.data(), target.size());
    if (std::string_view(target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))) ==
        kind)
      found.take(number);
  }
  ::closedir(table);
  if (!has_any) return std::nullopt;
  std::uint64_t watches = 0;
  for (const int number : found.some()) watches += lines_of(pid, thread, number);
  return found.some().empty() ? 0 : watches * found.all() / found.some().size();
}

// Those of all that a process has open; a descriptor of epoll counts as a few. Of one that has many
// some are looked at, by chance, and stand for all. A thread may have a table of its own.
std::uint64_t epoll_watches_of(pid_t pid) noexcept {
  constexpr int files = 2;  // KCMP_FILES
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task", pid);
  DIR* const threads = ::opendir(path.data());
  if (threads == nullptr) return 0;
  std::uint64_t all = 0;
  pid_t known = 0;
  while (const dirent* const entry = ::readdir(threads)) {
    const std::string_view name(entry->d_name);
    pid_t thread = 0;
    (void)std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread == 0) continue;
    if (known != 0 && ::syscall(SYS_kcmp, known, thread, files, 0, 0) == 0) continue;
    const std::optional<std::uint64_t> watches = watches_in(pid, thread);
    if (!watches) continue;
    all += *watches;
    known = thread;
  }
  ::closedir(threads);
  return all;
}

constexpr std::uint64_t area_bytes = 256;  // with its part of what finds it
constexpr std::uint64_t most_areas = 65'530;
constexpr std::uint64_t usual_areas = 1024;  // of a process, which nobody counts
constexpr std::uint64_t lines_of_a_look = 200'000;

constexpr std::uint64_t beyond_usual(std::uint64_t areas) {
  return areas - std::min(areas, usual_areas);
}

// As many as fit into what it has of addresses.
std::uint64_t most_areas_of(pid_t pid) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/statm", pid);
  const Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  std::uint64_t pages = 0;
  if (got > 0) (void)std::from_chars(text.data(), text.data() + got, pages);
  return beyond_usual(std::min(pages, most_areas));
}

// Not known, and `most`, where nobody may look, or no lines are left to be read.
std::uint64_t areas_of(pid_t pid, std::uint64_t most, std::uint64_t& lines_left) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/maps", pid);
  const std::optional<std::uint64_t> lines = lines_in(path, lines_left);
  if (!lines) return most;
  lines_left -= *lines;
  return std::min(beyond_usual(*lines), most);
}

std::int64_t now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

std::span<const pid_t> KernelHoards::look(Processes& processes, const Room& room) noexcept {
  constexpr std::int64_t rest_for_work = 50, shortest_ms = 100, longest_ms = 1000;
  if (now_ms() < next_ms_) return {};
  const std::int64_t begin_us = looks::computed_us();
  count_ = processes.all(processes_);
  ending_count_ = 0;
  find_watchers(room.watches);
  find_mappers(room.area_bytes);
  const std::int64_t work_us = looks::computed_us() - begin_us;
  next_ms_ = now_ms() + std::clamp(rest_for_work * work_us / 1000, shortest_ms, longest_ms);
  return std::span(ending_).first(ending_count_);
}

void KernelHoards::find_watchers(std::uint64_t most) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    hoarders_[i] = {epoll_watches_of(processes_[i]), processes_[i]};
    all += hoarders_[i].has;
  }
  end_largest(all, most);
}

// Where all could have too many they are counted.
void KernelHoards::find_mappers(std::uint64_t most_bytes) noexcept {
  const std::uint64_t most = most_bytes / area_bytes;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    hoarders_[i] = {most_areas_of(processes_[i]), processes_[i]};
    all += hoarders_[i].has;
  }
  if (all <= most) return;
  all = 0;
  std::uint64_t lines_left = lines_of_a_look;
  for (Hoarder& one : std::span(hoarders_).first(count_)) {
    one.has = areas_of(one.pid, one.has, lines_left);
    all += one.has;
  }
  end_largest(all, most);
}

void KernelHoards::end_largest(std::uint64_t all, std::uint64_t most) noexcept {
  if (all <= most) return;
  const auto some = std::span(hoarders_).first(count_);
  std::ranges::sort(some, std::ranges::greater(), &Hoarder::has);
  for (const Hoarder& one : some) {
    if (all <= most || one.has == 0) return;
    all -= one.has;
    ending_[ending_count_++] = one.pid;
  }
}

}  // namespace cloche::warden
