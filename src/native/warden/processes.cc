// SPDX-License-Identifier: Apache-2.0
#include "native/warden/processes.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

#include "native/warden/fd.h"
#include "native/warden/proc_text.h"
#include "native/warden/wire.h"

namespace cloche::warden {
namespace {

constexpr long pidfd_send_signal = 424;
constexpr std::size_t text_bytes = 4096;

using Path = std::array<char, 64>;
using Text = std::array<char, text_bytes>;

Path proc_path(pid_t pid, const char* file) {
  Path path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/%s", pid, file);
  return path;
}

// Where a line begins with `name`. In the first one a process is called what it likes.
std::size_t line_with(std::string_view text, std::string_view name) {
  std::size_t at = text.find(name);
  while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n')
    at = text.find(name, at + 1);
  return at;
}

// The number after `name`; 0: there is none.
std::uint64_t number_of(std::string_view text, std::string_view name) {
  const std::size_t at = line_with(text, name);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Of lines of "Name:   123 kB", in bytes.
std::uint64_t kilobytes_of(std::string_view text, std::string_view name) {
  return number_of(text, name) << 10;
}

// Tables of its pages, and of each thread its stack in the kernel with what else that keeps for it.
std::uint64_t kernel_memory(std::string_view status) {
  constexpr std::uint64_t bytes_of_thread = 28 << 10;
  return kilobytes_of(status, "VmPTE:") + number_of(status, "Threads:") * bytes_of_thread;
}

// gVisor says only how much memory a process has of any kind.
std::uint64_t own_memory(std::string_view status) {
  if (line_with(status, "RssAnon:") == std::string_view::npos)
    return kilobytes_of(status, "VmRSS:");
  return kilobytes_of(status, "RssAnon:") + kilobytes_of(status, "VmSwap:") + kernel_memory(status);
}

// Of the address space of a process what is not its own to write.
std::uint64_t mapped_in(std::string_view status) {
  std::uint64_t rest = kilobytes_of(status, "VmSize:");
  for (const char* name : {"VmData:", "VmStk:"}) rest -= std::min(rest, kilobytes_of(status, name));
  return rest;
}

// The letter in /proc/PID/stat, after the name in brackets; 0: it is gone.
char state_of(pid_t pid) {
  Text text{};
  const std::string_view stat = read_text(proc_path(pid, "stat").data(), text);
  const std::size_t end = stat.rfind(')');
  return end == std::string_view::npos || end + 2 >= stat.size() ? '\0' : stat[end + 2];
}

// The numbers of /proc/PID/stat by the places that proc(5) gives them; the third is a letter.
class Stat {
 public:
  explicit Stat(pid_t pid) noexcept {
    text_ = read_text(proc_path(pid, "stat").data(), room_);
    const std::size_t end = text_.rfind(')');  // of the name, which may be anything
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
  }
  explicit operator bool() const noexcept { return !text_.empty(); }
  char state() const noexcept { return field(3).empty() ? '\0' : field(3).front(); }
  std::uint64_t number(int place) const noexcept {
    const std::string_view word = field(place);
    std::uint64_t value = 0;
    (void)std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }

 private:
  std::string_view field(int place) const noexcept {
    std::string_view rest = text_;
    for (int i = 2; i < place; ++i) {
      const std::size_t space = rest.find(' ');
      if (space == std::string_view::npos) return {};
      rest.remove_prefix(space + 1);
      if (i + 1 == place) return rest.substr(0, rest.find(' '));
    }
    return {};
  }

  Text room_{};
  std::string_view text_;
};

bool is_over(char state) { return state == 'Z' || state == 'X' || state == '\0'; }

// Where the first thread of a process has ended, others may go on, and tell what is the process's.
// The number of one of them; the process's own where there is none.
pid_t speaker_of(pid_t pid) {
  constexpr int most_looks = 64;  // at threads that take turns
  for (int look = 0; look < most_looks; ++look) {
    DIR* const threads = ::opendir(proc_path(pid, "task").data());
    if (threads == nullptr) return pid;
    pid_t found = 0;
    bool has_others = false;
    while (const dirent* entry = found == 0 ? ::readdir(threads) : nullptr) {
      const std::string_view name(entry->d_name);
      pid_t thread = 0;
      (void)std::from_chars(name.data(), name.data() + name.size(), thread);
      if (thread == 0 || thread == pid) continue;
      has_others = true;
      if (!is_over(state_of(thread))) found = thread;
    }
    ::closedir(threads);
    if (found != 0) return found;
    if (!has_others) return pid;
  }
  return pid;
}

// A tracer may have stopped the first one alone.
bool has_running_thread(pid_t pid) {
  DIR* const threads = ::opendir(proc_path(pid, "task").data());
  if (threads == nullptr) return false;
  bool found = false;
  while (const dirent* entry = found ? nullptr : ::readdir(threads)) {
    const std::string_view name(entry->d_name);
    pid_t thread = 0;
    (void)std::from_chars(name.data(), name.data() + name.size(), thread);
    const char state = thread != 0 ? state_of(thread) : '\0';
    found = !is_over(state) && state != 'T' && state != 't';
  }
  ::closedir(threads);
  return found;
}

// Or is no more.
bool is_stopped(pid_t pid) {
  char state = state_of(pid);
  if (state == 'Z') state = state_of(speaker_of(pid));
  return state == 'T' || is_over(state) || (state == 't' && !has_running_thread(pid));
}

struct Status {
  pid_t by;  // who has told it
  std::string_view text;
};

Status status_of(pid_t pid, Text& to) {
  Status status{pid, read_text(proc_path(pid, "status").data(), to)};
  if (status.text.find("\nState:\tZ") == std::string_view::npos) return status;
  status.by = speaker_of(pid);
  if (status.by != pid) status.text = read_text(proc_path(status.by, "status").data(), to);
  return status;
}

// As a child of vfork has until it becomes its program: what its parent shows is all there is.
bool has_memory_of_parent(pid_t pid, std::string_view status) {
  constexpr int memory = 1;  // KCMP_VM
  const auto parent = static_cast<pid_t>(number_of(status, "PPid:"));
  return parent > 1 && ::syscall(SYS_kcmp, pid, parent, memory, 0, 0) == 0;
}

constexpr std::uint64_t second_ns = 1'000'000'000;

std::uint64_t ticks_ns(std::uint64_t ticks) {
  static const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return ticks * (second_ns / per_second);
}

std::uint64_t since_boot_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * second_ns +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t time_ns(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * second_ns +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

rlim_t limit_of(std::uint32_t turn) { return turn == 0 ? RLIM_INFINITY : RLIM_INFINITY - turn; }

bool is_of_turn(pid_t pid, std::uint32_t turn) {
  rlimit limit{};
  return ::prlimit(pid, RLIMIT_LOCKS, nullptr, &limit) == 0 && limit.rlim_max <= limit_of(turn);
}

// Of a process that is there, and of which the kernel tells nobody in the box: a copy of pid 1, or
// what executes a file that it may not read, and whose owner or group the box does not have.
constexpr Mark hidden = ~Mark{0};

// 0: it is gone, or on its way out.
Mark space_of(pid_t pid) {
  struct stat space{};
  if (::stat(proc_path(pid, "ns/uts").data(), &space) == 0) return space.st_ino;
  return errno == EACCES ? hidden : 0;
}

}  // namespace

Processes::Processes() noexcept : folder_(::opendir("/proc")) {}

template <typename Visit>
void Processes::each(Visit&& visit) noexcept {
  if (folder_ == nullptr) return;
  ::rewinddir(folder_);
  while (const dirent* entry = ::readdir(folder_)) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (pid > 1 && !is_spared(pid)) visit(pid);
  }
}

bool Processes::is_spared(pid_t pid) const noexcept {
  return std::find(spared_.begin(), spared_.end(), pid) != spared_.end();
}

bool Processes::spare(pid_t pid) noexcept {
  const auto place = std::find(spared_.begin(), spared_.end(), 0);
  if (place == spared_.end()) return false;
  *place = pid;
  return true;
}

void Processes::know(pid_t pid, Mark mark) noexcept {
  const auto place = std::find_if(commands_.begin(), commands_.end(),
                                  [](const Command& command) { return command.pid == 0; });
  if (place != commands_.end()) *place = {pid, mark};
}

bool Processes::is_copy_of_init(pid_t pid) const noexcept {
  constexpr int flags = 9;
  constexpr std::uint64_t has_not_executed = 0x40;  // PF_FORKNOEXEC; no program gets it back
  const bool is_command = std::any_of(commands_.begin(), commands_.end(),
                                      [pid](const Command& one) { return one.pid == pid; });
  return is_command && (Stat(pid).number(flags) & has_not_executed) != 0;
}

void Processes::forget(pid_t pid) noexcept {
  std::replace(spared_.begin(), spared_.end(), pid, pid_t{0});
  for (Command& command : commands_) {
    if (command.pid == pid) command = {};
  }
}

// A process on its way out has no mark any more.
Mark Processes::mark_of(pid_t pid) const noexcept {
  const Mark mark = space_of(pid);
  if (mark != 0 && mark != hidden) return mark;
  if (is_over(state_of(pid))) {
    const pid_t speaker = speaker_of(pid);
    return speaker == pid ? 0 : space_of(speaker);
  }
  const auto command = std::find_if(commands_.begin(), commands_.end(),
                                    [pid](const Command& one) { return one.pid == pid; });
  return command == commands_.end() ? mark : command->mark;
}

// What may have become of the number between a look at it and the signal does not matter: the
// descriptor is of the process that it had before the look. Threads that take turns so fast that
// none of them can be asked hide whose they are, and so does what cannot be asked: they are of every
// mark.
bool Processes::signal_marked(pid_t pid, Mark mark, int signal, std::uint32_t turn) const noexcept {
  constexpr int thread_count = 20;
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return false;
  const Mark found = mark_of(pid);
  if (found == 0) {
    const Stat stat(pid);
    if (stat.state() != 'Z' || stat.number(thread_count) < 2) return false;
  } else if (mark != 0 && found != hidden && found != mark) {
    return false;
  }
  if (turn != 0 && !is_of_turn(pid, turn)) return false;
  return ::syscall(pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

// What is started between two looks is found by the next; a parent that has died starts no more.
void Processes::end(Mark mark, std::uint32_t turn) noexcept {
  for (bool found = true; found;) {
    found = false;
    each([&](pid_t pid) { found = signal_marked(pid, mark, SIGKILL, turn) || found; });
    if (found) ::sched_yield();
  }
}

int Processes::begin_turn(pid_t pid, std::uint32_t turn) noexcept {
  const rlimit limit{limit_of(turn), limit_of(turn)};
  return ::prlimit(pid, RLIMIT_LOCKS, &limit, nullptr) == 0 ? 0 : errno;
}

// A shell that sees one of its jobs stop goes on without it: parents stop before their children, but
// for those that do not, and go on after them.
void Processes::pause(std::span<const pid_t> waiting) noexcept {
  constexpr int most_looks = 5000;  // one that waits for a disk stops later
  constexpr int parent_place = 4;
  const std::uint64_t parents_stop_by = since_boot_ns() + second_ns / 2;
  const auto is_waiting = [&](pid_t pid) {
    return std::find(waiting.begin(), waiting.end(), pid) != waiting.end();
  };
  bool found = true;
  for (int looks = 0; found && looks < most_looks; ++looks) {
    found = false;
    each([&](pid_t pid) {
      if (is_stopped(pid)) return;
      const auto known = paused_.begin() + static_cast<std::ptrdiff_t>(paused_count_);
      const bool is_new = std::find(paused_.begin(), known, pid) == known;
      if (is_new && paused_count_ < paused_.size()) {
        const auto parent = static_cast<pid_t>(Stat(pid).number(parent_place));
        if (parent > 1 && !is_waiting(parent) && !is_stopped(parent) && looks < most_looks / 2 &&
            since_boot_ns() < parents_stop_by) {
          found = true;
          return;
        }
        if (!signal_marked(pid, 0, SIGSTOP)) return;
        paused_[paused_count_++] = pid;
      }
      // It stops at its next step.
      found |= !is_waiting(pid);
    });
    if (found) ::sched_yield();
  }
}

void Processes::resume() noexcept {
  for (; paused_count_ > 0; --paused_count_)
    (void)signal_marked(paused_[paused_count_ - 1], 0, SIGCONT);
}

Processes::Use Processes::rough_use(Activity* noted) noexcept {
  Use use;
  if (noted != nullptr) noted->begin();
  each([&](pid_t pid) {
    if (noted != nullptr) noted->add(pid);
    Text text{};
    const std::string_view status = status_of(pid, text).text;
    if (status.empty()) return;
    const std::uint64_t own = own_memory(status);
    const std::uint64_t shared = kilobytes_of(status, "RssShmem:");
    ++use.count;
    use.private_bytes += own;
    use.shared_bytes += shared;
    use.mapped_bytes += mapped_in(status);
    use.most_private_bytes = std::max(use.most_private_bytes, own);
    if (use.largest != 0 && own + shared <= use.largest_bytes) return;
    use.largest_bytes = own + shared;
    use.largest = pid;
  });
  return use;
}

Processes::Use Processes::exact_use() noexcept {
  Use use = rough_use();
  use.private_bytes = use.shared_bytes = 0;
  each([&](pid_t pid) {
    Text text{};
    const Status status = status_of(pid, text);
    if (has_memory_of_parent(pid, status.text)) return;
    const std::uint64_t own = own_memory(status.text);
    const std::uint64_t shared = kilobytes_of(status.text, "RssShmem:");
    const std::string_view sums = read_text(proc_path(status.by, "smaps_rollup").data(), text);
    if (sums.empty()) {  // it is gone, or hidden
      use.private_bytes += own;
      use.shared_bytes += shared;
      return;
    }
    use.private_bytes += kernel_memory(status.text) + kilobytes_of(sums, "Pss_Anon:") +
                         kilobytes_of(sums, "SwapPss:");
    use.shared_bytes += kilobytes_of(sums, "Pss_Shmem:");
  });
  return use;
}

Processes::Shared Processes::shared_memory() noexcept {
  Shared all;
  shared_.begin();
  each([&](pid_t pid) {
    Text text{};
    const Status status = status_of(pid, text);
    const std::uint64_t own = shared_.add(status.by, mapped_in(status.text));
    if (all.largest != 0 && own <= all.largest_bytes) return;
    all.largest_bytes = own;
    all.largest = pid;
  });
  shared_.end();
  all.bytes = shared_.bytes();
  return all;
}

std::size_t Processes::all(std::span<pid_t> to) noexcept {
  std::size_t count = 0;
  each([&](pid_t pid) {
    if (count < to.size()) to[count++] = pid;
  });
  return count;
}

pid_t Processes::with_most_files() noexcept {
  pid_t found = 0;
  off_t most = 0;
  each([&](pid_t pid) {
    struct stat files{};
    if (::stat(proc_path(pid, "fd").data(), &files) != 0 || files.st_size <= most) return;
    most = files.st_size;
    found = pid;
  });
  return found;
}

int Processes::list(int file) noexcept {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t now = since_boot_ns();
  int error = 0;
  each([&](pid_t pid) {
    const Stat stat(pid);
    if (!stat || error != 0) return;
    Text text{};
    std::string_view command = read_text(proc_path(pid, "cmdline").data(), text);
    if (command.empty()) {  // it has ended, and nobody has asked how
      command = read_text(proc_path(pid, "comm").data(), text);
      command = command.substr(0, command.find('\n'));
    }
    ProcessRecord record;
    record.pid = pid;
    record.parent = static_cast<std::int32_t>(stat.number(4));
    record.state = stat.state();
    record.command_bytes =
        static_cast<std::uint16_t>(command.copy(record.command, sizeof record.command));
    record.cpu_ns = ticks_ns(stat.number(14) + stat.number(15));
    record.memory_bytes = stat.number(24) * page;
    const std::uint64_t begin = ticks_ns(stat.number(22));
    record.age_ns = now > begin ? now - begin : 0;
    if (::write(file, &record, sizeof record) != static_cast<ssize_t>(sizeof record))
      error = errno != 0 ? errno : EIO;
  });
  return error;
}

int Processes::signal(pid_t pid, int number) noexcept {
  if (number < 1 || number > SIGRTMAX) return EINVAL;
  if (pid <= 1 || is_spared(pid)) return ESRCH;
  return ::kill(pid, number) == 0 ? 0 : errno;
}

// Those whose end somebody has waited for count with who waited.
std::uint64_t Processes::cpu_ns() noexcept {
  rusage ended{};
  (void)::getrusage(RUSAGE_CHILDREN, &ended);
  std::uint64_t all = time_ns(ended.ru_utime) + time_ns(ended.ru_stime);
  each([&](pid_t pid) {
    const Stat stat(pid);
    for (const int place : {14, 15, 16, 17}) all += ticks_ns(stat.number(place));
  });
  return all;
}

std::uint64_t Processes::peak_bytes(pid_t pid) noexcept {
  Text text{};
  return kilobytes_of(status_of(pid, text).text, "VmHWM:");
}

bool Processes::has_ended(pid_t pid) noexcept {
  return is_over(state_of(pid)) && is_over(state_of(speaker_of(pid)));
}

std::uint64_t Processes::all_bytes() noexcept {
  Text text{};
  return kilobytes_of(read_text("/proc/meminfo", text), "AnonPages:");
}

// The column `rss` of the table, whatever its length.
std::uint64_t Processes::system_v_bytes() noexcept {
  constexpr int column = 14;
  const Fd file(::open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC));
  Text text{};
  std::uint64_t bytes = 0;
  std::size_t have = 0;
  bool is_title = true;
  for (ssize_t got = 1; file && got > 0;) {
    got = ::read(file.get(), text.data() + have, text.size() - have);
    std::string_view rest(text.data(), have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      for (int i = 0; i < column && !line.empty(); ++i) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        line.remove_prefix(std::min(line.find(' '), line.size()));
      }
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      std::uint64_t value = 0;
      (void)std::from_chars(line.data(), line.data() + line.size(), value);
      if (!is_title) bytes += value;
      is_title = false;
    }
    have = rest.size() < text.size() ? rest.size() : 0;
    std::memmove(text.data(), rest.data(), have);
  }
  return bytes;
}

}  // namespace cloche::warden
