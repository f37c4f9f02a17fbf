// SPDX-License-Identifier: Apache-2.0
#include "native/warden/epoll_watches.h"

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
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "native/warden/fd.h"

namespace cloche::warden {
namespace {

using Path = std::array<char, 96>;

// What the kernel says of a descriptor of epoll is a line for each watch, after some of its own.
std::uint64_t lines_of(pid_t pid, pid_t thread, int number) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/fdinfo/%d", pid, thread, number);
  const Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  static std::array<char, 64 << 10> text;
  std::uint64_t lines = 0;
  for (ssize_t got = 1; file && got > 0;) {
    got = ::read(file.get(), text.data(), text.size());
    if (got > 0)
      lines += static_cast<std::uint64_t>(std::count(text.data(), text.data() + got, '\n'));
  }
  return lines;
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

}  // namespace

// A thread may have a table of its own.
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

}  // namespace cloche::warden
