// SPDX-License-Identifier: Apache-2.0
#include "native/warden/command.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

#include "native/warden/packet.h"

namespace cloche::warden {
namespace {

// Of the numbers that files get, and two more.
constexpr int out_of_the_way = most_fds + 2;

class Command {
 public:
  Command(const CommandPlan& plan, const WallPlan& wall, const Filter& filter)
      : plan_(plan), wall_(wall), filter_(filter) {}

  [[noreturn]] void become() {
    channel_ = plan_.channel;
    const int away = copy_away(plan_.channel, out_of_the_way);
    if (away < 0) fail(Step::limits, errno);
    channel_ = away;
    if (plan_.start >= 0) start_ = copy_away(plan_.start, out_of_the_way);
    if (plan_.start >= 0 && start_ < 0) fail(Step::limits, errno);
    if (!read_arguments()) fail(Step::program, EINVAL);
    ::setsid();
    if (!place_files()) fail(Step::terminal, errno);
    if (::chdir(directory_) != 0) fail(Step::directory, errno);
    if (const Outcome walled = enter_wall(wall_, filter_); !walled)
      fail(walled.failed, walled.error);
    fail(Step::program, execute());
  }

 private:
  [[noreturn]] void fail(Step step, int error) {
    (void)send_record(channel_, Answer{.tell = Tell::not_started, .step = step, .value = error});
    ::_exit(127);
  }

  // The file is mapped for as long as this process is; its strings are the directory, the arguments
  // and the environment.
  bool read_arguments() {
    struct stat file{};
    if (::fstat(plan_.arguments, &file) != 0 || file.st_size <= 0) return false;
    const auto size = static_cast<std::size_t>(file.st_size);
    char* const text = static_cast<char*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, plan_.arguments, 0));
    if (text == MAP_FAILED || text[size - 1] != '\0') return false;
    const std::size_t count = std::size_t{plan_.request.arguments} + plan_.request.variables + 2;
    char** const table =
        static_cast<char**>(::mmap(nullptr, count * sizeof(char*), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (static_cast<void*>(table) == MAP_FAILED || plan_.request.arguments == 0) return false;
    char* at = text;
    const auto next = [&]() -> char* {
      if (at >= text + size) return nullptr;
      char* const string = at;
      at += std::strlen(string) + 1;
      return string;
    };
    directory_ = next();
    arguments_ = table;
    variables_ = table + plan_.request.arguments + 1;
    for (std::size_t i = 0; i < plan_.request.arguments; ++i) {
      arguments_[i] = next();
      if (arguments_[i] == nullptr) return false;
    }
    for (std::size_t i = 0; i < plan_.request.variables; ++i) {
      variables_[i] = next();
      if (variables_[i] == nullptr) return false;
    }
    return directory_ != nullptr;
  }

  // Descriptors 0, 1, ... as they were given; between here and exec also the channel, and what tells
  // of exec.
  bool place_files() {
    std::array<int, most_fds> files{};
    std::size_t count = plan_.file_count;
    if (plan_.request.has_terminal) {
      const int terminal = ::ioctl(plan_.terminal, TIOCGPTPEER, O_RDWR | O_NOCTTY);
      if (terminal < 0 || ::ioctl(terminal, TIOCSCTTY, 0) != 0) return false;
      if (plan_.request.names_terminal && !name_terminal()) return false;
      files.fill(terminal);
      count = 3;
    } else {
      std::copy_n(std::begin(plan_.files), count, files.begin());
    }
    for (std::size_t i = 0; i < count; ++i) {
      files[i] = copy_away(files[i], out_of_the_way);
      if (files[i] < 0) return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (::dup2(files[i], static_cast<int>(i)) < 0) return false;
    }
    int kept = static_cast<int>(count);
    if (::dup3(channel_, kept, O_CLOEXEC) < 0) return false;
    channel_ = kept++;
    if (start_ >= 0 && ::dup3(start_, kept++, O_CLOEXEC) < 0) return false;
    return ::close_range(static_cast<unsigned>(kept), ~0U, 0) == 0;
  }

  // Over the room for it.
  bool name_terminal() {
    unsigned number = 0;
    if (plan_.request.variables == 0 || ::ioctl(plan_.terminal, TIOCGPTN, &number) != 0)
      return false;
    char* const last = variables_[plan_.request.variables - 1];
    const std::string_view text(last);
    constexpr std::string_view room(terminal_room);
    if (!text.ends_with(room)) return false;
    char* const end = last + text.size();
    const auto [stop, error] =
        std::to_chars(end - room.size() + room.find_last_of('/') + 1, end, number);
    *stop = '\0';
    return error == std::errc();
  }

  const char* variable(std::string_view name) const {
    for (char** entry = variables_; *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      if (text.starts_with(name) && text.substr(name.size()).starts_with('='))
        return *entry + name.size() + 1;
    }
    return nullptr;
  }

  // Returns an errno.
  int execute() {
    const std::string_view program(arguments_[0]);
    if (program.find('/') != std::string_view::npos) {
      ::execve(arguments_[0], arguments_, variables_);
      return errno;
    }
    const char* const folders = variable("PATH");
    std::string_view rest(folders == nullptr ? "/usr/local/bin:/usr/bin:/bin" : folders);
    int error = ENOENT;
    for (;;) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      const int found = execute_in(folder, program);
      if (found == EACCES) error = EACCES;
      if (found != ENOENT && found != ENOTDIR && found != EACCES) return found;
      if (folder.size() == rest.size()) return error;
      rest.remove_prefix(folder.size() + 1);
    }
  }

  int execute_in(std::string_view folder, std::string_view program) {
    std::array<char, most_path> path{};
    if (folder.empty()) folder = ".";
    if (folder.size() + program.size() + 2 > path.size()) return ENOENT;
    char* to = std::copy(folder.begin(), folder.end(), path.begin());
    *to++ = '/';
    std::copy(program.begin(), program.end(), to);
    ::execve(path.data(), arguments_, variables_);
    return errno;
  }

  const CommandPlan& plan_;
  const WallPlan& wall_;
  const Filter& filter_;
  int channel_ = -1;
  int start_ = -1;
  char* directory_ = nullptr;
  char** arguments_ = nullptr;
  char** variables_ = nullptr;
};

}  // namespace

void reset_signals() noexcept {
  sigset_t none{};
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void become_command(const CommandPlan& plan, const WallPlan& wall, const Filter& filter) noexcept {
  reset_signals();
  Command(plan, wall, filter).become();
}

}  // namespace cloche::warden
