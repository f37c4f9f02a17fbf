// SPDX-License-Identifier: Apache-2.0
#include "native/warden/kernel_hoards.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
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
#include "native/warden/guest_file.h"
#include "native/warden/looks.h"
#include "native/warden/proc_text.h"
#include "native/warden/score.h"

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

// Where the kernel tells of a descriptor.
Path path_of_told(pid_t pid, pid_t thread, int number) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/fdinfo/%d", pid, thread, number);
  return path;
}

// Of one of epoll it tells a line for each watch, after some of its own.
std::uint64_t lines_of(pid_t pid, pid_t thread, int number) noexcept {
  return lines_in(path_of_told(pid, thread, number), UINT64_MAX).value_or(0);
}

// Of a table that nobody may look into no more is known than how many there are.
std::uint64_t files_in_hidden(const Path& table) noexcept {
  struct stat files{};
  return ::stat(table.data(), &files) == 0 ? static_cast<std::uint64_t>(files.st_size) : 0;
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

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t pipe_pages = 2;     // that it has however many there are
constexpr std::uint64_t text_pages = 2;     // of /proc, once somebody has begun to read it
constexpr std::uint64_t list_pages = 1024;  // the same of what may say all watches of an epoll

// Of one table of open files.
struct Table {
  pid_t pid = 0, thread = 0;
  SentDescriptors& sockets;
  KernelHoards::Locks counts_locks = KernelHoards::Locks::leave_out;
  Sample epolls = {}, inotifies = {};
  KernelHoards::Open open = {};
  std::array<std::uint64_t, 32>
      seen{};  // files whose locks have been counted, as far as there is room
  std::size_t seen_count = 0;
};

constexpr std::string_view of_epoll("anon_inode:[eventpoll]"), of_inotify("anon_inode:inotify");

// Of events that nobody has read: each takes more than it says.
std::uint64_t event_pages(pid_t thread, int number) noexcept {
  constexpr int bytes_of_one = 4;
  Fd file = guest_file(thread, number);
  if (!file) return 0;
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", file.get());
  std::array<char, of_inotify.size() + 1> target{};
  int bytes = 0;
  // By now it may be another one, with a name that is longer.
  const ssize_t size = ::readlink(path.data(), target.data(), target.size());
  if (of_inotify ==
      std::string_view(target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))))
    (void)::ioctl(file.get(), FIONREAD, &bytes);
  leave_guest_file(file);
  return static_cast<std::uint64_t>(std::max(bytes, 0)) * bytes_of_one / page_bytes;
}

constexpr std::uint64_t size_of_entry = 20;

// Of a list of entries that the kernel has merged of a folder of the image and of what was added to it:
// for each one that was added, as memory files count them, and for those of the image, of which
// nobody tells how many there are.
std::uint64_t bytes_of_list(std::uint64_t folder_size) noexcept {
  constexpr std::uint64_t bytes_of_one = 512, of_image = 512 << 10;
  return of_image + folder_size / size_of_entry * bytes_of_one;
}

// An open folder, at the worst, with all files that there are; some of these are made by everybody.
std::uint64_t most_bytes_of_sent() noexcept {
  constexpr std::uint64_t most_files = 8192;
  struct statfs use{};
  if (::statfs("/", &use) != 0) return bytes_of_list(0);
  return bytes_of_list(size_of_entry * std::min(use.f_files - use.f_ffree, most_files));
}

bool is_of_root(const struct statx& of) noexcept {
  static const std::array<unsigned, 2> device = [] {
    struct statx root{};
    (void)::statx(AT_FDCWD, "/", 0, STATX_TYPE, &root);
    return std::array{root.stx_dev_major, root.stx_dev_minor};
  }();
  return device == std::array{of.stx_dev_major, of.stx_dev_minor};
}

// A line for each, after some of another kind. Those that the process has of a file, which are POSIX's,
// each of its descriptors says; the others only the one whose they are.
std::uint64_t locks_of(Table& table, int number, std::uint64_t inode) noexcept {
  constexpr std::uint64_t other_lines = 4;
  constexpr char in_posix_alone = 'X';
  const Path path = path_of_told(table.pid, table.thread, number);
  const Fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  static std::array<char, 64 << 10> text;
  std::uint64_t lines = 0, of_process = 0;
  for (ssize_t got = 1; file && got > 0;) {
    got = ::read(file.get(), text.data(), text.size());
    const auto some = std::span(text).first(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    lines += static_cast<std::uint64_t>(std::ranges::count(some, '\n'));
    of_process += static_cast<std::uint64_t>(std::ranges::count(some, in_posix_alone));
  }
  lines -= std::min(lines, other_lines);
  if (of_process == 0) return lines;
  const auto seen = std::span(table.seen).first(table.seen_count);
  if (std::ranges::find(seen, inode) != seen.end()) return lines - std::min(lines, of_process);
  if (table.seen_count < table.seen.size()) table.seen[table.seen_count++] = inode;
  return lines;
}

// Of a socket between processes, that nobody has received yet.
std::uint64_t descriptors_on_their_way(const Table& table, int number) noexcept {
  const Path path = path_of_told(table.pid, table.thread, number);
  std::array<char, 512> room{};
  return number_after<std::uint64_t>(read_text(path.data(), room), "\nscm_fds: ").value_or(0);
}

// What the kernel keeps for a file beyond the file. What is no file of a file system keeps nothing that
// is not counted elsewhere; what is on its way to a socket may be anything. Waits for no file system
// that has to ask somebody.
void add_kept(int folder, const char* name, int number, std::string_view what,
              Table& table) noexcept {
  KernelHoards::Open& open = table.open;
  if (what.starts_with("anon_inode:")) return;
  if (what.starts_with("socket:[")) {
    table.sockets.see(what);
    const std::uint64_t sent = descriptors_on_their_way(table, number);
    open.sent += sent;
    if (sent > 0) open.list_bytes += sent * most_bytes_of_sent();
    return;
  }
  if (what.starts_with("/proc/")) {
    open.pages += what.find("/fdinfo/") == what.npos ? text_pages : list_pages;
    return;
  }
  if (what.starts_with("pipe:[")) {
    open.pages += pipe_pages;
    return;
  }
  struct statx of{};
  if (::statx(folder, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
              STATX_TYPE | STATX_SIZE | STATX_INO, &of) != 0)
    return;
  if (S_ISFIFO(of.stx_mode)) open.pages += pipe_pages;
  if (S_ISDIR(of.stx_mode) && is_of_root(of)) open.list_bytes += bytes_of_list(of.stx_size);
  if (S_ISREG(of.stx_mode) && table.counts_locks == KernelHoards::Locks::count)
    open.locks += locks_of(table, number, of.stx_ino);
}

void take_file(int folder, const char* name, Table& table) noexcept {
  int number = 0;
  const std::string_view digits(name);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc())
    return;
  ++table.open.files;
  std::array<char, 64> target{};
  const ssize_t size = ::readlinkat(folder, name, target.data(), target.size());
  const std::string_view what(target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (what == of_epoll) table.epolls.take(number);
  if (what == of_inotify) table.inotifies.take(number);
  add_kept(folder, name, number, what, table);
}

// Of all that there are, as of some of them.
template <typename Count>
std::uint64_t count_all(const Sample& sample, Count&& count) noexcept {
  std::uint64_t counted = 0;
  for (const int number : sample.some()) counted += count(number);
  return sample.some().empty() ? 0 : counted * sample.all() / sample.some().size();
}

constexpr std::uint64_t area_bytes = 256;  // with its part of what finds it
constexpr std::uint64_t most_areas = 65'530;
constexpr std::uint64_t usual_areas = 1024;  // of a process, which nobody counts
constexpr std::uint64_t usual_pages = 64;    // likewise
constexpr std::uint64_t usual_files = 64;    // likewise
constexpr std::uint64_t file_bytes = 512;    // with what a timer, or what waits for others, has
constexpr std::uint64_t lines_of_a_look = 200'000;

constexpr std::uint64_t beyond_usual(std::uint64_t areas) {
  return areas - std::min(areas, usual_areas);
}

// As many as fit into what it has of addresses.
std::uint64_t most_areas_of(pid_t pid) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/statm", pid);
  std::array<char, 64> text{};
  const auto pages = number_after<std::uint64_t>(read_text(path.data(), text), "").value_or(0);
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

// None: it has no open files, as a thread that has ended.
std::optional<KernelHoards::Open> open_of(pid_t pid, pid_t thread, KernelHoards::Locks locks,
                                          SentDescriptors& sockets) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/fd", pid, thread);
  DIR* const folder = ::opendir(path.data());
  if (folder == nullptr) {
    if (errno != EACCES) return std::nullopt;
    const std::uint64_t files = files_in_hidden(path);  // each half of them may watch the other
    return KernelHoards::Open{.watches = (files / 2) * (files / 2),
                              .pages = files * pipe_pages,
                              .list_bytes = 0,
                              .sent = files > 0 ? 1U : 0U,  // to be looked for
                              .files = files,
                              .locks = 0};
  }
  Table table{.pid = pid, .thread = thread, .sockets = sockets, .counts_locks = locks};
  while (const dirent* const entry = ::readdir(folder))
    take_file(::dirfd(folder), entry->d_name, table);
  ::closedir(folder);
  if (table.open.files == 0) return std::nullopt;
  const auto watches = [&](int number) { return lines_of(pid, thread, number); };
  const auto events = [&](int number) { return event_pages(thread, number); };
  table.open.watches = count_all(table.epolls, watches);
  table.open.pages += count_all(table.inotifies, events);
  return table.open;
}

// The user of the machine, whose are all boxes, has no watch of epoll left.
bool are_watches_taken() noexcept {
  const Fd by(::epoll_create1(EPOLL_CLOEXEC));
  const Fd what(::eventfd(0, EFD_CLOEXEC));
  epoll_event event{};
  return by && what && ::epoll_ctl(by.get(), EPOLL_CTL_ADD, what.get(), &event) != 0 &&
         errno == ENOSPC;
}

std::uint64_t files_in(pid_t pid) noexcept {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/fd", pid);
  return files_in_hidden(path);
}

}  // namespace

// Of epolls that a process has open each counts as a few watches. Of one that has many some are
// looked at, by chance, and stand for all. A thread may have a table of its own.
KernelHoards::Open KernelHoards::open_in(pid_t pid, Locks locks) noexcept {
  constexpr int files = 2;  // KCMP_FILES
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task", pid);
  DIR* const threads = ::opendir(path.data());
  Open all;
  if (threads == nullptr) return all;
  pid_t known = 0;
  while (const dirent* const entry = ::readdir(threads)) {
    const std::string_view name(entry->d_name);
    pid_t thread = 0;
    (void)std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread == 0) continue;
    if (known != 0 && ::syscall(SYS_kcmp, known, thread, files, 0, 0) == 0) continue;
    const std::optional<Open> open = open_of(pid, thread, locks, sockets_);
    if (!open) continue;
    all.watches += open->watches;
    all.pages += open->pages;
    all.list_bytes += open->list_bytes;
    all.sent += open->sent;
    all.files += open->files;
    all.locks += open->locks;
    known = thread;
  }
  ::closedir(threads);
  return all;
}

// Now and then; and sooner where processes have opened so many files that they could be a hoard, of
// which their numbers tell without a look at each.
bool KernelHoards::is_time(Processes& processes, const Room& room) noexcept {
  constexpr std::int64_t rest_for_work = 20, shortest_ms = 10;
  constexpr std::uint64_t least_bytes = 4 << 20, part_of_room = 4;
  if (looks::now_ms() >= next_ms_) return true;
  if (looks::now_ms() < next_early_ms_) return false;
  const std::int64_t begin_us = looks::computed_us();
  count_ = processes.all(processes_);
  std::uint64_t files = 0;
  for (std::size_t i = 0; i < count_; ++i) files += files_in(processes_[i]);
  const std::int64_t work_us = looks::computed_us() - begin_us;
  next_early_ms_ = looks::now_ms() + std::max(rest_for_work * work_us / 1000, shortest_ms);
  const std::uint64_t more = files - std::min(files, files_);
  return more * pipe_pages * page_bytes > std::max(room.bytes / part_of_room, least_bytes);
}

std::span<const pid_t> KernelHoards::look(Processes& processes, const Room& room) noexcept {
  constexpr std::int64_t rest_for_work = 50, shortest_ms = 100, longest_ms = 1000;
  constexpr std::int64_t early_rest_for_work = 4;
  if (!is_time(processes, room)) return {};
  const std::int64_t begin_us = looks::computed_us();
  count_ = processes.all(processes_);
  ending_count_ = 0;
  files_ = 0;
  sockets_.begin();
  locks_.begin(std::span(processes_).first(count_), room.bytes);
  for (std::size_t i = 0; i < count_; ++i) {
    const Locks locks = locks_.must_count(i) ? Locks::count : Locks::leave_out;
    // What pid 1 has open is not the box's, and nobody can tell how little it is.
    open_[i] = processes.is_copy_of_init(processes_[i]) ? Open{} : open_in(processes_[i], locks);
    files_ += open_[i].files;
    if (locks == Locks::count) locks_.counted(i, open_[i].locks);
    if (!hold_score_of_guest(processes_[i])) ending_[ending_count_++] = processes_[i];
  }
  add_hidden();
  find_watchers(room.watches);
  find_buffers(room.bytes);
  find_lockers(room.bytes);
  find_mappers(room.bytes);
  const std::int64_t work_us = looks::computed_us() - begin_us;
  next_ms_ = looks::now_ms() + std::clamp(rest_for_work * work_us / 1000, shortest_ms, longest_ms);
  next_early_ms_ = looks::now_ms() + early_rest_for_work * work_us / 1000;
  return std::span(ending_).first(ending_count_);
}

// Each to those from whose sockets a way leads there, as far as is known; who has more has more of
// it.
void KernelHoards::add_hidden() noexcept {
  const auto all = std::span(open_).first(count_);
  std::uint64_t told = 0;
  for (const Open& open : all) told += open.sent;
  if (told == 0) return;
  const std::uint64_t hidden = sockets_.hidden(told);
  const std::uint64_t bytes = hidden * most_bytes_of_sent();
  for (Open& open : all) open.list_bytes += bytes / told * open.sent;
  find_watchers_on_their_way(told + hidden);
}

// Any of them may be an epoll, with watches that nobody tells of. That is looked at where there are
// no watches left for anybody, for which a few on their way are not enough.
void KernelHoards::find_watchers_on_their_way(std::uint64_t sent) noexcept {
  constexpr std::uint64_t few = 8;
  if (sent < few || !are_watches_taken()) return;
  for (std::size_t i = 0; i < count_; ++i) {
    if (open_[i].sent > 0) ending_[ending_count_++] = processes_[i];
  }
}

void KernelHoards::find_lockers(std::uint64_t most_bytes) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    hoarders_[i] = {locks_.bytes(i), processes_[i]};
    all += hoarders_[i].has;
  }
  end_largest(all, most_bytes);
}

void KernelHoards::find_watchers(std::uint64_t most) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    hoarders_[i] = {open_[i].watches, processes_[i]};
    all += hoarders_[i].has;
  }
  end_largest(all, most);
}

// Each of the two ends of a pipe counts for all of it: the other one may be closed.
void KernelHoards::find_buffers(std::uint64_t most_bytes) noexcept {
  static const auto bytes_of_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint64_t pages = open_[i].pages - std::min(open_[i].pages, usual_pages);
    const std::uint64_t files = open_[i].files - std::min(open_[i].files, usual_files);
    hoarders_[i] = {pages * bytes_of_page + files * file_bytes + open_[i].list_bytes,
                    processes_[i]};
    all += hoarders_[i].has;
  }
  end_largest(all, most_bytes);
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
