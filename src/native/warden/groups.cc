// SPDX-License-Identifier: Apache-2.0
#include "native/warden/groups.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "native/warden/entries.h"
#include "native/warden/identity.h"

namespace cloche::warden {
namespace {

constexpr const char* own_prefix = "cloche-";
constexpr const char* programs_folder = "cloche-programs";
constexpr std::string_view programs = programs_folder;

struct Controller {
  const char* name;
  std::uint32_t bit;
};
constexpr std::array<Controller, 3> known{
    {{"memory", controllers::memory}, {"pids", controllers::pids}, {"cpu", controllers::cpu}}};

using Text = std::array<char, 16 << 10>;

std::string_view read_at(const Fd& folder, const char* name, Text& to) {
  const Fd file(::openat(folder.get(), name, O_RDONLY | O_CLOEXEC));
  std::size_t have = 0;
  for (ssize_t got = 1; file && got > 0 && have < to.size(); have += static_cast<std::size_t>(got))
    got = std::max<ssize_t>(::read(file.get(), to.data() + have, to.size() - have), 0);
  return {to.data(), have};
}

bool write_at(const Fd& folder, const char* name, std::string_view text) {
  const Fd file(::openat(folder.get(), name, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool write_number(const Fd& folder, const char* name, long number) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%ld", number);
  return write_at(folder, name, {text.data(), static_cast<std::size_t>(size)});
}

Fd open_folder(int at, const char* path) {
  return Fd(::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Fd make_folder(const Fd& at, const char* name) {
  if (::mkdirat(at.get(), name, 0755) != 0 && errno != EEXIST) return {};
  return open_folder(at.get(), name);
}

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::string_view next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

// Where all of version 2 is mounted.
bool find_mount(std::array<char, most_path>& path) {
  static Text room;
  std::string_view all = read_at(Fd(), "/proc/self/mountinfo", room);
  while (!all.empty()) {
    std::string_view line = next_line(all);
    for (int i = 0; i < 3; ++i) (void)next_word(line);
    const std::string_view root = next_word(line), place = next_word(line);
    const std::size_t kind = line.find(" - cgroup2 ");
    if (kind == std::string_view::npos || root != "/" || place.size() >= path.size()) continue;
    path[place.copy(path.data(), path.size() - 1)] = '\0';
    return true;
  }
  return false;
}

bool is_delegated(const char* path) {
  std::array<char, 8> said{};
  return std::ranges::any_of(
      std::array{"user.delegate", "trusted.delegate"}, [&](const char* name) {
        return ::getxattr(path, name, said.data(), said.size()) == 1 && said[0] == '1';
      });
}

// The group that this process is in, or where it has been moved within one before, that.
Fd own_folder() {
  static Text room;
  static std::array<char, most_path> path, mount;
  if (!find_mount(mount)) return {};
  std::string_view all = read_at(Fd(), "/proc/self/cgroup", room);
  while (!all.empty()) {
    std::string_view line = next_line(all);
    if (!line.starts_with("0::/") || line.find("/..") != std::string_view::npos) continue;
    line.remove_prefix(3);
    if (line.ends_with(programs) && line[line.size() - programs.size() - 1] == '/')
      line.remove_suffix(programs.size());
    const int size = std::snprintf(path.data(), path.size(), "%s%.*s", mount.data(),
                                   static_cast<int>(line.size()), line.data());
    if (size <= 0 || static_cast<std::size_t>(size) >= path.size() || !is_delegated(path.data()))
      return {};
    return open_folder(AT_FDCWD, path.data());
  }
  return {};
}

pid_t parent_of(pid_t pid) {
  std::array<char, 64> path{};
  Text text{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  std::string_view stat = read_at(Fd(), path.data(), text);
  const std::size_t end = stat.rfind(')');
  if (end == std::string_view::npos || end + 4 >= stat.size()) return 0;
  stat.remove_prefix(end + 4);  // the letter of its state
  pid_t parent = 0;
  (void)std::from_chars(stat.data(), stat.data() + stat.size(), parent);
  return parent;
}

bool is_of(pid_t pid, pid_t program) {
  constexpr int deepest = 64;
  for (int i = 0; i < deepest && pid > 1; ++i, pid = parent_of(pid)) {
    if (pid == program) return true;
  }
  return pid == program;
}

// A group with processes of its own has none below it that are limited. False: others are in it.
bool move_programs(const Fd& folder, pid_t program) {
  static Text room;
  const Fd to = make_folder(folder, programs_folder);
  constexpr int most_looks = 8;  // while they start others
  for (int look = 0; to && look < most_looks; ++look) {
    std::string_view all = read_at(folder, "cgroup.procs", room);
    if (all.empty()) return true;
    while (!all.empty()) {
      const std::string_view line = next_line(all);
      pid_t pid = 0;
      (void)std::from_chars(line.data(), line.data() + line.size(), pid);
      if (!is_of(pid, program)) return false;
      if (!write_number(to, "cgroup.procs", pid) && errno != ESRCH) return false;
    }
  }
  return false;
}

bool is_empty_of_processes(const Fd& folder) {
  static Text room;
  return read_at(folder, "cgroup.procs", room).empty();
}

template <typename Visit>
void each_folder(const Fd& folder, Visit&& visit) {
  DIR* const all = entries_of(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (all == nullptr) return;
  while (const dirent* entry = ::readdir(all)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') visit(entry->d_name);
  }
  ::closedir(all);
}

// Those that live stay: a group that somebody is in cannot be removed.
void remove_left(const Fd& folder) {
  each_folder(folder, [&](const char* name) {
    if (!std::string_view(name).starts_with(own_prefix) || name == programs) return;
    const Fd left = open_folder(folder.get(), name);
    each_folder(left,
                [&](const char* inner) { (void)::unlinkat(left.get(), inner, AT_REMOVEDIR); });
    (void)::unlinkat(folder.get(), name, AT_REMOVEDIR);
  });
}

std::array<char, 32> name_of_box(std::uint32_t number) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "box-%u", number);
  return name;
}

}  // namespace

// Those that can be had for what is below it.
bool Groups::enable(const Fd& folder) noexcept {
  std::uint32_t have = 0;
  for (const auto& [name, bit] : known) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "+%s", name);
    if (write_at(folder, "cgroup.subtree_control", text.data())) have |= bit;
  }
  have_ = have;
  return have != 0;
}

bool Groups::make_own(const Fd& folder) noexcept {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%s%d", own_prefix, ::getpid());
  own_ = make_folder(folder, name.data());
  if (!own_ || !enable(own_)) return false;
  const Fd place = make_folder(own_, "warden");
  if (!place || !write_number(place, "cgroup.procs", ::getpid())) return false;
  if (::geteuid() != 0) return true;
  return std::ranges::all_of(
      std::array{".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"},
      [&](const char* file) { return ::fchownat(own_.get(), file, box_user, box_user, 0) == 0; });
}

void Groups::begin(const char* named, pid_t program) noexcept {
  const int problem = set_up(named, program);
  if (problem == 0) return;
  if (named != nullptr) error_ = problem;
  have_ = 0;
  own_.reset();
}

int Groups::set_up(const char* named, pid_t program) noexcept {
  const Fd folder = named != nullptr ? open_folder(AT_FDCWD, named) : own_folder();
  struct statfs kind{};
  if (!folder || ::fstatfs(folder.get(), &kind) != 0) return errno;
  if (kind.f_type != CGROUP2_SUPER_MAGIC) return EINVAL;
  remove_left(folder);
  const bool is_free =
      is_empty_of_processes(folder) || (named == nullptr && move_programs(folder, program));
  if (!is_free) return EBUSY;
  if (!enable(folder)) return ENOTSUP;
  return make_own(folder) ? 0 : errno;
}

Fd Groups::make() noexcept {
  newest_ = nullptr;
  if (have_ == 0) return {};
  const auto free = std::ranges::find(groups_, 0U, &Group::number);
  if (free == groups_.end()) return {};
  if (++last_ == 0) ++last_;
  if (::mkdirat(own_.get(), name_of_box(last_).data(), 0755) != 0) return {};
  *free = {.number = last_};
  newest_ = &*free;
  return open_folder(own_.get(), name_of_box(last_).data());
}

bool Groups::remove(std::uint32_t number) noexcept {
  return ::unlinkat(own_.get(), name_of_box(number).data(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

void Groups::give(pid_t pid) noexcept {
  if (newest_ == nullptr) return;
  newest_->pid = pid;
  if (pid == 0 && remove(newest_->number)) *newest_ = {};
  newest_ = nullptr;
}

// Also what could not be removed before: a process may leave a group a moment after its end is known.
void Groups::end(pid_t pid) noexcept {
  if (have_ == 0) return;
  for (Group& group : groups_) {
    if (group.number == 0) continue;
    if (group.pid == pid) group.pid = 0;
    if (group.pid == 0 && remove(group.number)) group = {};
  }
}

}  // namespace cloche::warden
