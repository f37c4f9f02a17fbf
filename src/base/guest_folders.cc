// SPDX-License-Identifier: Apache-2.0
#include "base/guest_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/descriptor_path.h"
#include "base/host_files.h"
#include "base/new_file.h"

namespace cloche {
namespace {

constexpr int most_links = 40;  // as the kernel

// None; or of another name of a file system's than that of the device that it is on.
std::uint64_t system_of(int fd) {
  struct statfs of{};
  std::uint64_t name = 0;
  static_assert(sizeof of.f_fsid == sizeof name);
  if (::fstatfs(fd, &of) == 0) std::memcpy(&name, &of.f_fsid, sizeof name);
  return name;
}

UniqueFd open_step(int folder, const std::string& name, int flags) {
  return UniqueFd(::openat(folder, name.c_str(), O_PATH | O_CLOEXEC | flags));
}

bool is_same(int one, int other) {
  struct stat a{}, b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// Of a link that is open; with errno.
std::string text_of(int link) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(link, "", text.data(), text.size());
  if (size == static_cast<ssize_t>(text.size())) errno = ENAMETOOLONG;
  if (size <= 0 || size == static_cast<ssize_t>(text.size())) return {};
  return {text.data(), static_cast<std::size_t>(size)};
}

// What was added later stays. What another process adds meanwhile may be lost.
bool drop_before(const std::string& path, std::uint64_t offset, std::uint64_t size) {
  const UniqueFd old(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string later(size - offset, '\0');
  const ssize_t got = ::pread(old.get(), later.data(), later.size(), static_cast<off_t>(offset));
  if (got < 0) return false;
  later.resize(static_cast<std::size_t>(got));
  auto made = NewFile::create(host_files(), path, 0600);
  return made && host_files().write_all(made->fd(), std::as_bytes(std::span(later))) &&
         made->publish();
}

// A link of the kernel's own, as /proc/self/fd/1, to what has no path.
bool leads_to_no_path(int link, const std::string& text) {
  struct statfs of{};
  return !text.starts_with('/') && ::fstatfs(link, &of) == 0 && of.f_type == PROC_SUPER_MAGIC &&
         text.find(':') != text.npos;
}

}  // namespace

// The folders that a path has led through, from the root on, and what is left of it.
class GuestFolders::Walk {
 public:
  Walk(const GuestFolders& folders, const std::string& path) : folders_(folders), path_(path) {}

  Result<HostPlace, HostError> go(LastLink last) {
    if (path_.empty()) return fail(ENOENT);
    if (!begin()) return fail(errno);
    push_words(path_, 0);
    const bool ends_in_folder = path_.ends_with('/') || path_.ends_with("/.");
    while (!left_.empty()) {
      const Word word = std::move(left_.back());
      left_.pop_back();
      if (word.text == "..") {
        if (!go_up(word)) return refuse();
        continue;
      }
      const bool is_last = left_.empty();
      UniqueFd next = open_step(here(), word.text, O_NOFOLLOW);
      if (!next && errno == ENOENT && is_last && !ends_in_folder) return place_here(word.text, {});
      struct stat of{};
      if (!next || ::fstat(next.get(), &of) != 0) return fail(errno);
      if (S_ISLNK(of.st_mode) && !(is_last && last == LastLink::kept && !ends_in_folder)) {
        Result<UniqueFd, HostError> thing = follow(next.get(), word);
        if (!thing) return std::move(thing).error();
        if (*thing) return place_here(word.text, *std::move(thing));
      } else if (S_ISDIR(of.st_mode)) {
        steps_.push_back({std::move(next), word.text, false});
        steps_.back().is_guests = folders_.has(here());
      } else if (!is_last || ends_in_folder) {
        return fail(ENOTDIR);
      } else {
        return place_here(word.text, std::move(next));
      }
    }
    return folder_place();
  }

 private:
  struct Step {
    UniqueFd fd;
    std::string name;  // in the one before
    bool is_guests = false;
  };
  struct Word {
    std::string text;
    std::size_t floor = 0;  // the step above which it may not lead
  };

  int here() const { return steps_.back().fd.get(); }
  UniqueFd give_here() { return std::move(steps_.back().fd); }

  bool begin() {
    if (path_.starts_with('/')) return begin_with(open_step(AT_FDCWD, "/", 0));
    return begin_with(open_step(AT_FDCWD, ".", 0));
  }

  // With all that are above it, as far as they can be seen.
  bool begin_with(UniqueFd folder) {
    if (!folder) return false;
    steps_.clear();
    steps_.push_back({std::move(folder), {}, false});
    for (;;) {
      UniqueFd above = open_step(here(), "..", 0);
      if (!above || is_same(above.get(), here())) break;
      steps_.push_back({std::move(above), {}, false});
    }
    std::ranges::reverse(steps_);
    for (Step& step : steps_) step.is_guests = folders_.has(step.fd.get());
    return true;
  }

  void push_words(std::string_view text, std::size_t floor) {
    std::vector<Word> words;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('/', at), text.size());
      const std::string_view word = text.substr(at, end - at);
      if (!word.empty() && word != ".") words.push_back({std::string(word), floor});
      at = end + 1;
    }
    left_.insert(left_.end(), std::make_move_iterator(words.rbegin()),
                 std::make_move_iterator(words.rend()));
  }

  // False: a guest's link leads out.
  bool go_up(const Word& word) {
    if (word.floor > 0 && steps_.size() - 1 <= word.floor) return false;
    if (steps_.size() > 1) steps_.pop_back();
    return true;
  }

  // Puts what a link says in its place; a descriptor of what it leads to where that has no path.
  Result<UniqueFd, HostError> follow(int link, const Word& word) {
    if (++links_ > most_links) return fail(ELOOP);
    const std::string text = text_of(link);
    if (text.empty()) return fail(errno == 0 ? ENOENT : errno);
    std::size_t floor = word.floor;
    for (std::size_t i = steps_.size(); i-- > 1;) {
      if (!steps_[i].is_guests) continue;
      floor = std::max(floor, i);
      break;
    }
    if (text.starts_with('/')) {
      if (floor > 0) return refuse();
      if (!begin_with(open_step(AT_FDCWD, "/", 0))) return fail(errno);
    } else if (left_.empty() && leads_to_no_path(link, text)) {
      UniqueFd thing = open_step(here(), word.text, 0);
      if (!thing) return fail(errno);
      return thing;
    }
    push_words(text, floor);
    return UniqueFd();
  }

  bool is_guests() const { return std::ranges::any_of(steps_, &Step::is_guests); }

  HostPlace place_here(const std::string& name, UniqueFd found) {
    const bool of_guests = is_guests();
    return {give_here(), name, std::move(found), of_guests};
  }

  HostPlace folder_place() {
    HostPlace place;
    place.is_guests = is_guests();
    place.found = give_here();
    place.name = std::move(steps_.back().name);
    steps_.pop_back();
    if (place.name.empty() || steps_.empty()) place.name.clear();
    if (!steps_.empty()) place.folder = give_here();
    return place;
  }

  HostError fail(int error) const { return HostError::from_errno(path_, error); }
  HostError refuse() const {
    return HostError(
        fmt::format("{} leads through a link in a folder that guests may write to, and out of that "
                    "folder: name the place that you mean",
                    path_),
        Errno::acces);
  }

  const GuestFolders& folders_;
  const std::string& path_;
  std::vector<Step> steps_;
  std::vector<Word> left_;  // the next one last
  int links_ = 0;
};

std::string HostPlace::path() const {
  return name.empty() ? descriptor_path(found) : descriptor_path(folder) + "/" + name;
}

GuestFolders::Identity GuestFolders::identity_of(int fd) {
  constexpr std::uint64_t ns_per_s = 1'000'000'000;
  struct statx of{};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO | STATX_BTIME, &of) !=
          0 ||
      !S_ISDIR(of.stx_mode))
    return {};
  const std::uint64_t made =
      (of.stx_mask & STATX_BTIME) == 0
          ? 0
          : static_cast<std::uint64_t>(of.stx_btime.tv_sec) * ns_per_s + of.stx_btime.tv_nsec;
  const std::uint64_t system = system_of(fd);
  const std::uint64_t device = (std::uint64_t{of.stx_dev_major} << 32) | of.stx_dev_minor;
  return {system != 0 ? system : device, of.stx_ino, made};
}

// Read where a path is followed for the first time: most processes follow none.
void GuestFolders::keep_in(std::string file) {
  const MutexLock lock(mutex_);
  if (file == file_) return;
  file_ = std::move(file);
  read_inode_ = read_bytes_ = 0;
}

// What has come since the last look.
void GuestFolders::read_kept() const {
  const MutexLock lock(mutex_);
  if (file_.empty()) return;
  const UniqueFd file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat of{};
  if (!file || ::fstat(file.get(), &of) != 0 || !S_ISREG(of.st_mode) || of.st_uid != ::geteuid())
    return;
  const auto size = static_cast<std::uint64_t>(of.st_size);
  if (of.st_ino != read_inode_ || size < read_bytes_) read_bytes_ = 0;
  read_inode_ = of.st_ino;
  std::array<Identity, 512> some;
  while (read_bytes_ < std::min(size, 2 * most_kept * sizeof(Identity))) {
    const ssize_t got =
        ::pread(file.get(), some.data(), sizeof some, static_cast<off_t>(read_bytes_));
    const std::size_t count =
        static_cast<std::size_t>(std::max<ssize_t>(got, 0)) / sizeof(Identity);
    if (count == 0) return;
    for (const Identity& one : std::span(some).first(count)) {
      if (one != Identity()) known_[one] = true;
    }
    read_bytes_ += count * sizeof(Identity);
  }
}

// False: it could not be, and is tried again.
bool GuestFolders::write_kept(const Identity& identity) {
  if (file_.empty()) return false;
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd file(::open(file_.c_str(), flags, 0600));
  struct stat of{};
  if (!file || ::fstat(file.get(), &of) != 0 || !S_ISREG(of.st_mode)) return false;
  const auto size = static_cast<std::uint64_t>(of.st_size);
  if (size >= most_kept * sizeof identity) {
    if (!drop_before(file_, most_kept / 2 * sizeof identity, size)) return false;
    file.reset(::open(file_.c_str(), flags, 0600));
  }
  // Beside what another process writes, and behind what one has not written to its end.
  std::array<char, 2 * sizeof identity> record{};
  const std::size_t missing = (sizeof identity - size % sizeof identity) % sizeof identity;
  std::memcpy(record.data() + missing, &identity, sizeof identity);
  const std::size_t bytes = missing + sizeof identity;
  return ::write(file.get(), record.data(), bytes) == static_cast<ssize_t>(bytes);
}

// Not where a guest's link leads.
GuestFolders::Identity GuestFolders::identity_at(const std::string& path) const {
  const Result<UniqueFd, HostError> folder = open(path);
  return folder ? identity_of(folder->get()) : Identity();
}

void GuestFolders::add(const std::string& path) {
  const Identity identity = identity_at(path);
  const MutexLock lock(mutex_);
  if (identity != Identity()) known_.try_emplace(identity, false);
}

void GuestFolders::add_and_keep(const std::string& path) {
  const Identity identity = identity_at(path);
  if (identity == Identity()) return;
  const MutexLock lock(mutex_);
  bool& is_kept = known_[identity];
  if (!is_kept) is_kept = write_kept(identity);
}

bool GuestFolders::has(int fd) const {
  {
    const MutexLock lock(mutex_);
    if (known_.empty()) return false;
  }
  const Identity identity = identity_of(fd);
  const MutexLock lock(mutex_);
  return known_.contains(identity);
}

Result<HostPlace, HostError> GuestFolders::find(const std::string& path, LastLink last) const {
  read_kept();
  return Walk(*this, path).go(last);
}

Result<UniqueFd, HostError> GuestFolders::open(const std::string& path) const {
  auto place = find(path, LastLink::followed);
  if (!place) return std::move(place).error();
  if (!place->found) return HostError::from_errno(path, ENOENT);
  return std::move(place->found);
}

Result<UniqueFd, HostError> GuestFolders::open_to_read(const std::string& path, int flags) const {
  const auto place = find(path, LastLink::followed);
  if (!place) return place.error();
  return cloche::open_to_read(*place, path, flags);
}

Result<UniqueFd, HostError> open_to_read(const HostPlace& place, const std::string& path,
                                         int flags) {
  if (!place.found) return HostError::from_errno(path, ENOENT);
  struct stat of{};
  if (::fstat(place.found.get(), &of) != 0) return HostError::from_errno(path, errno);
  if (place.is_guests && !S_ISREG(of.st_mode) && !S_ISDIR(of.st_mode)) return pipe_of_guests(path);
  UniqueFd opened(
      ::open(descriptor_path(place.found).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags));
  if (!opened) return HostError::from_errno(path, errno);
  return opened;
}

HostError pipe_of_guests(const std::string& what) {
  return HostError(
      what + ": it is no file, and lies in a folder that guests may write to: name another place",
      Errno::acces);
}

GuestFolders& guest_folders() {
  static GuestFolders& folders = *new GuestFolders;
  return folders;
}

}  // namespace cloche
