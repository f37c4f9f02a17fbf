// SPDX-License-Identifier: Apache-2.0
#include "native/warden/gate.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "native/warden/fd.h"

namespace cloche::warden {
namespace {

template <typename Number>
bool take_number(std::string_view& line, Number& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return true;
}

// Whether a file system with that number is mounted where this process could open it; if nobody
// tells, it is.
bool is_mounted(dev_t device) {
  const Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!file) return true;
  std::array<char, 64> number{};
  std::snprintf(number.data(), number.size(), "%u:%u", major(device), minor(device));
  const std::string_view wanted(number.data());
  static std::array<char, 64 << 10> text;
  constexpr int place = 3;  // of the word in its line
  std::array<char, 64> word{};
  std::size_t size = 0;
  for (int at = 1;;) {
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    if (got < 0) return true;
    if (got == 0) return false;
    for (const char c : std::string_view(text.data(), static_cast<std::size_t>(got))) {
      if (c != ' ' && c != '\n') {
        if (at == place && size < word.size()) word[size++] = c;
        continue;
      }
      if (at == place && std::string_view(word.data(), size) == wanted) return true;
      size = 0;
      at = c == '\n' ? 1 : at + 1;
    }
  }
}

}  // namespace

Gate::Gate(const char* text) noexcept : is_open_(text == nullptr) {
  std::string_view left(text == nullptr ? "" : text);
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.starts_with('/') && left.empty()) {
      images_ = line;
    } else if (!add(line)) {
      file_count_ = 0;
      return;
    }
  }
}

bool Gate::add(std::string_view line) noexcept {
  File file;
  if (file_count_ == files_.size() || !take_number(line, file.device) ||
      !take_number(line, file.inode) || (line != "ro" && line != "rw" && line != "gvisor"))
    return false;
  file.use = line == "ro" ? Use::read : line == "rw" ? Use::write : Use::run;
  files_[file_count_++] = file;
  return true;
}

bool Gate::has(const struct stat& what, bool (*fits)(Use)) const noexcept {
  if (is_open_) return true;
  for (std::size_t i = 0; i < file_count_; ++i) {
    const File& file = files_[i];
    if (file.device == what.st_dev && file.inode == what.st_ino && fits(file.use)) return true;
  }
  return false;
}

bool Gate::lets_mount(const struct stat& what, bool is_read_only) const noexcept {
  return is_read_only ? has(what, [](Use use) { return use == Use::read || use == Use::write; })
                      : has(what, [](Use use) { return use == Use::write; });
}

bool Gate::lets_run(int program) const noexcept {
  struct stat of{};
  return is_open_ ||
         (::fstat(program, &of) == 0 && has(of, [](Use use) { return use == Use::run; }));
}

bool Gate::lets_image(int folder) const noexcept {
  if (is_open_) return true;
  std::array<char, 32> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", folder);
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(link.data(), path.data(), path.size());
  if (size <= 0 || static_cast<std::size_t>(size) == path.size()) return false;
  std::string_view where(path.data(), static_cast<std::size_t>(size));
  if (images_.empty() || !where.starts_with(images_)) return false;
  where.remove_prefix(images_.size());
  return where.starts_with('/');
}

bool Gate::lets_begin_with(int folder) const noexcept {
  if (is_open_) return true;
  struct stat of{};
  struct statfs system{};
  return ::fstat(folder, &of) == 0 && ::fstatfs(folder, &system) == 0 &&
         system.f_type == TMPFS_MAGIC && !is_mounted(of.st_dev);
}

const Gate& gate() noexcept {
  static const Gate own(std::getenv(gate_variable));
  return own;
}

}  // namespace cloche::warden
