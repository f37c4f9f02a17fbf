// SPDX-License-Identifier: Apache-2.0
// The native side. It runs before there are an Engine and its mappings, so that fork is cheap.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <system_error>

#include "side.h"

namespace cloche::differential {
namespace {

namespace fs = std::filesystem;

// As in a sandbox.
constexpr uid_t user_id = 1000;
constexpr rlim_t file_limit_bytes = 1ULL << 30;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void reset(int fd) {
    close();
    fd_ = fd;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  Descriptor reader;
  Descriptor writer;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
};

bool is_root() { return ::geteuid() == 0; }

// Removed when the case is done, whatever modes the script left.
class Scratch {
 public:
  explicit Scratch(const fs::path& parent) {
    static std::atomic<unsigned> next{0};
    path_ = parent / fmt::format("c{}", ++next);
    for (const fs::path& each : {path_, directory(), programs()}) {
      fs::create_directory(each);
      ::chmod(each.c_str(), 0755);
    }
    own(directory());
  }
  ~Scratch() {
    std::error_code ignored;
    for (int turn = 0; turn < 2; ++turn) {
      fs::remove_all(path_, ignored);
      if (!fs::exists(path_, ignored)) return;
      for (auto it = fs::recursive_directory_iterator(
               path_, fs::directory_options::skip_permission_denied, ignored);
           it != fs::recursive_directory_iterator(); it.increment(ignored)) {
        if (it->is_directory(ignored) && !it->is_symlink(ignored))
          ::chmod(it->path().c_str(), 0700);
      }
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  fs::path directory() const { return path_ / "workspace"; }
  fs::path programs() const { return path_ / "bin"; }

  static void own(const fs::path& path) {
    if (is_root() && ::lchown(path.c_str(), user_id, user_id) != 0) fail("chown");
  }

 private:
  fs::path path_;
};

std::string find_program(const std::string& name) {
  for (const char* folder : {"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"}) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::map<std::string, Entry> entries_in(const fs::path& folder) {
  std::map<std::string, Entry> entries;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       it != fs::recursive_directory_iterator(); it.increment(error)) {
    struct stat info{};
    if (error || ::lstat(it->path().c_str(), &info) != 0) break;
    Entry entry;
    entry.mode = info.st_mode & 07777;
    if (S_ISREG(info.st_mode)) {
      entry.kind = Entry::Kind::file;
      std::ifstream in(it->path(), std::ios::binary);
      if ((info.st_mode & S_IRUSR) != 0)
        entry.text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    } else if (S_ISDIR(info.st_mode)) {
      entry.kind = Entry::Kind::directory;
      if ((info.st_mode & S_IRWXU) != S_IRWXU) it.disable_recursion_pending();
    } else if (S_ISLNK(info.st_mode)) {
      entry.kind = Entry::Kind::link;
      entry.text = fs::read_symlink(it->path(), error).string();
    }
    entries.emplace(it->path().lexically_relative(folder).string(), std::move(entry));
  }
  return entries;
}

// What the child wants, made before fork: after it only system calls are safe.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* program = nullptr;
  const char* directory = nullptr;
  int in = -1;
  int out = -1;
  int err = -1;
};

[[noreturn]] void become(const ChildPlan& plan) {
  ::setsid();
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < 65; ++number) ::sigaction(number, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit file_limit{file_limit_bytes, file_limit_bytes};
  ::setrlimit(RLIMIT_FSIZE, &file_limit);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::umask(022);
  bool ready = ::dup2(plan.in, 0) == 0 && ::dup2(plan.out, 1) == 1 && ::dup2(plan.err, 2) == 2 &&
               ::chdir(plan.directory) == 0;
  if (::geteuid() == 0) {
    // The system calls themselves: libc's would tell threads that this child does not have.
    ready = ready && ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
            ::syscall(SYS_setresgid, user_id, user_id, user_id) == 0 &&
            ::syscall(SYS_setresuid, user_id, user_id, user_id) == 0;
  }
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  if (ready) ::execve(plan.program, plan.argv.data(), plan.environment.data());
  ::_exit(127);
}

// Kills what a script left running. Its children are in its session, or have left it, which scripts
// here have no reason to.
void kill_session(pid_t leader) {
  for (const fs::directory_entry& each : fs::directory_iterator("/proc")) {
    const std::string name = each.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::atoi(name.c_str());
    if (::getsid(pid) == leader) ::kill(pid, SIGKILL);
  }
}

struct Watched {
  int out;
  int err;
  int in;
  int process;
};

// Feeds and drains until the process has ended; false when its time was over before.
bool pump(const Watched& fds, Descriptor& in, const std::string& input, Outcome& outcome,
          std::chrono::steady_clock::time_point deadline) {
  std::size_t fed = 0;
  if (input.empty()) in.close();
  bool ended = false;
  std::array<pollfd, 4> polled{{{fds.out, POLLIN, 0},
                                {fds.err, POLLIN, 0},
                                {fds.process, POLLIN, 0},
                                {input.empty() ? -1 : fds.in, POLLOUT, 0}}};
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    const int ready =
        ::poll(polled.data(), polled.size(), ended ? 0 : static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) fail("poll");
    bool drained = true;
    for (int i = 0; i < 2; ++i) {
      pollfd& each = polled.at(static_cast<std::size_t>(i));
      if (each.revents == 0) continue;
      const ssize_t got = ::read(each.fd, buffer.data(), buffer.size());
      if (got > 0) {
        (i == 0 ? outcome.out : outcome.err).append(buffer.data(), static_cast<std::size_t>(got));
        drained = false;
      } else {
        each.fd = -1;
      }
    }
    if (polled[3].revents != 0) {
      const ssize_t put = ::write(polled[3].fd, input.data() + fed, input.size() - fed);
      if (put > 0) fed += static_cast<std::size_t>(put);
      if ((put < 0 && errno != EAGAIN) || fed == input.size()) {
        polled[3].fd = -1;
        in.close();
      }
    }
    if (ended && drained) return true;
    if (polled[2].revents != 0) {
      ended = true;
      polled[2].fd = -1;
    }
  }
}

}  // namespace

void leave_network() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNET) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << fmt::format("{} {} 1\n", user, user);
    std::ofstream("/proc/self/gid_map") << fmt::format("{} {} 1\n", group, group);
  }
  // As in a sandbox, the machine itself can be reached.
  const Descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  loopback.ifr_name[0] = 'l';
  loopback.ifr_name[1] = 'o';
  loopback.ifr_flags = IFF_UP;
  ::ioctl(any.get(), SIOCSIFFLAGS, &loopback);
}

Outcome native_outcome(const Case& each, const fs::path& parent) {
  const Scratch scratch(parent);
  Command command = command_of(each);
  const auto give = [&](const GivenFile& given) {
    const fs::path path = scratch.directory() / given.path;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << given.content;
    ::chmod(path.c_str(), given.mode);
    for (fs::path own = path; own != scratch.directory(); own = own.parent_path())
      Scratch::own(own);
  };
  if (each.folder) std::ranges::for_each(*each.folder, give);
  std::ranges::for_each(command.given, give);
  std::map<std::string, std::string> commands = each.native_commands;
  commands.try_emplace("sh", "bash");
  for (const auto& [name, machines] : commands)
    fs::create_symlink(find_program(machines), scratch.programs() / name);

  std::map<std::string, std::string> environment = common_environment();
  environment["HOME"] = scratch.directory();
  environment["PATH"] = scratch.programs().string() + ":" + environment["PATH"];
  for (const auto& [name, value] : each.environment) environment[name] = value;
  std::vector<std::string> assignments;
  assignments.reserve(environment.size());
  for (const auto& [name, value] : environment) assignments.push_back(name + "=" + value);
  ChildPlan plan;
  for (std::string& word : command.argv) plan.argv.push_back(word.data());
  plan.argv.push_back(nullptr);
  for (std::string& word : assignments) plan.environment.push_back(word.data());
  plan.environment.push_back(nullptr);
  std::string program = command.argv.front();
  if (program.find('/') == std::string::npos) {
    program = commands.contains(program) ? (scratch.programs() / program).string()
                                         : find_program(program);
  }
  const std::string directory = scratch.directory();
  plan.program = program.c_str();
  plan.directory = directory.c_str();

  Pipe in;
  Pipe out;
  Pipe err;
  // As a sandbox gives it when there is nothing to read.
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  plan.in = command.input.empty() ? nothing.get() : in.reader.get();
  plan.out = out.writer.get();
  plan.err = err.writer.get();
  ::fcntl(in.writer.get(), F_SETFL, O_NONBLOCK);
  // So that the script may open /dev/stdin and its kin again.
  if (is_root()) {
    for (const int fd : {in.reader.get(), plan.out, plan.err})
      if (::fchown(fd, user_id, user_id) != 0) fail("fchown");
  }
  const pid_t pid = ::fork();
  if (pid < 0) fail("fork");
  if (pid == 0) become(plan);
  in.reader.close();
  out.writer.close();
  err.writer.close();
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process.get() < 0) fail("pidfd_open");

  Outcome outcome;
  outcome.timed_out =
      !pump({out.reader.get(), err.reader.get(), in.writer.get(), process.get()}, in.writer,
            command.input, outcome, std::chrono::steady_clock::now() + each.timeout);
  kill_session(pid);
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) fail("waitpid");
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (!each.ignored.contains(Part::files))
    outcome.files = list_text(entries_in(scratch.directory()));
  for (std::string* text : {&outcome.out, &outcome.err, &outcome.files}) {
    replace_all(*text, scratch.directory(), home);
    replace_all(*text, scratch.programs().string() + ":", "");
    replace_all(*text, scratch.programs(), "/usr/bin");
  }
  return outcome;
}

namespace {

// The first number with a dot in what --version says, otherwise the first number.
std::string version_of(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(path);
  if (found != known.end()) return found->second;
  std::string said;
  if (FILE* stream = ::popen(fmt::format("{} --version 2>&1 </dev/null", path).c_str(), "re")) {
    std::array<char, 4096> buffer{};
    said.assign(buffer.data(), ::fread(buffer.data(), 1, buffer.size(), stream));
    ::pclose(stream);
  }
  std::smatch match;
  const bool any = std::regex_search(said, match, std::regex(R"((\d+(\.\d+)+))")) ||
                   std::regex_search(said, match, std::regex(R"((\d+))"));
  return known[path] = any ? match[1].str() : "";
}

bool is_less(const std::string& left, const std::string& right) {
  const auto numbers = [](const std::string& text) {
    std::vector<long> parts;
    for (const char* at = text.c_str(); *at != '\0';) {
      char* end = nullptr;
      parts.push_back(std::strtol(at, &end, 10));
      at = *end == '.' ? end + 1 : "";
    }
    return parts;
  };
  return numbers(left) < numbers(right);
}

}  // namespace

std::string missing_need(const Case& each) {
  for (const Need& need : each.needs) {
    const std::string path = find_program(need.command);
    if (path.empty()) return fmt::format("the machine has no {}", need.command);
    if (need.at_least.empty() && need.prefix.empty()) continue;
    const std::string version = version_of(path);
    const bool good = need.at_least.empty() ? (version + ".").starts_with(need.prefix + ".")
                                            : !is_less(version, need.at_least);
    if (!good) {
      return fmt::format(
          "the machine's {} is {}, not {}{}", need.command, version,
          need.at_least.empty() ? "" : ">= ", need.at_least.empty() ? need.prefix : need.at_least);
    }
  }
  return "";
}

}  // namespace cloche::differential
