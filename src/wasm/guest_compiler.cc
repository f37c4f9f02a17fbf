// SPDX-License-Identifier: Apache-2.0
#include "wasm/guest_compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/share_limit.h"
#include "base/write_fully.h"
#include "wasm/module_limits.h"

namespace cloche::wasm {
namespace {

namespace protocol = compiler_protocol;

// What a compiler takes before it has seen a program, for each byte of one, and for each byte of its
// largest function: measured with real programs, and rounded up to twice that.
constexpr std::uint64_t base_memory_bytes = 40 << 20;
constexpr std::uint64_t memory_per_byte = 24;
constexpr std::uint64_t memory_per_function_byte = 512;
// Code has less than this part of what made it.
constexpr std::uint64_t code_part = 4;
constexpr std::size_t sentence_bytes = 400;

// Descriptors as they must be in the child lie above those of the child, so that none of them is
// overwritten before it is copied.
UniqueFd out_of_the_way(int fd) {
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, protocol::life_fd + 1));
}

struct Attributes {
  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};

  Attributes() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    // A guest's thread blocks signals; the child must have none blocked, and a group of its own.
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    for (int fd = 0; fd <= 2; ++fd)
      posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  ~Attributes() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

// The compiler's process. This thread has started it and waits for it: it dies with this thread.
class Child {
 public:
  Child(pid_t pid, UniqueFd life) noexcept : pid_(pid), life_(std::move(life)) {}
  ~Child() {
    if (pid_ > 0) (void)end();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool alive() const noexcept {
    pollfd life{.fd = life_.get(), .events = 0, .revents = 0};
    return poll(&life, 1, static_cast<int>(give_up_look.count())) <= 0;
  }

  // Kills it where it is not at its end yet. Nothing: its status was taken by somebody else, as it
  // is where this process ignores SIGCHLD.
  std::optional<siginfo_t> end() noexcept {
    // Not reaped yet, so the number is its own.
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    return reap();
  }

  std::optional<siginfo_t> reap() noexcept {
    siginfo_t info{};
    int done = 0;
    do {
      done = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
    } while (done != 0 && errno == EINTR);
    pid_ = -1;
    if (done != 0) return std::nullopt;
    return info;
  }

 private:
  pid_t pid_;
  UniqueFd life_;
};

Result<UniqueFd> memory_file(const char* name) {
  UniqueFd file(memfd_create(name, MFD_CLOEXEC));
  if (!file) return errno_from_host(errno);
  return file;
}

// Starts `program`; its end of the pipe is its life.
Result<std::unique_ptr<Child>> start(const std::filesystem::path& program, const UniqueFd& wasm,
                                     const UniqueFd& code, std::uint64_t memory_bytes,
                                     std::chrono::seconds cpu_limit) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return errno_from_host(errno);
  UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  const UniqueFd from = out_of_the_way(wasm.get());
  const UniqueFd to = out_of_the_way(code.get());
  const UniqueFd life = out_of_the_way(writing.get());
  if (!from || !to || !life) return errno_from_host(errno);

  Attributes how;
  posix_spawn_file_actions_adddup2(&how.actions, from.get(), protocol::wasm_fd);
  posix_spawn_file_actions_adddup2(&how.actions, to.get(), protocol::code_fd);
  posix_spawn_file_actions_adddup2(&how.actions, life.get(), protocol::life_fd);
  posix_spawn_file_actions_addclosefrom_np(&how.actions, protocol::life_fd + 1);
  std::string parent = fmt::format("{}", getpid());
  std::string memory = fmt::format("{}", memory_bytes);
  std::string cpu = fmt::format("{}", cpu_limit.count());
  std::string name = program.string();
  std::array<char*, 5> arguments{name.data(), parent.data(), memory.data(), cpu.data(), nullptr};
  std::array<char*, 1> environment{nullptr};
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, name.c_str(), &how.actions, &how.attributes,
                                 arguments.data(), environment.data());
  if (failed != 0) return errno_from_host(failed);
  return std::make_unique<Child>(pid, std::move(reading));
}

std::string sentence_in(const UniqueFd& file) {
  std::string text(sentence_bytes, '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

Error refused(const std::string& why, Errno code = Errno::noexec) {
  return {ErrorKind::sandbox, code, "not compiled: " + why};
}

// Of so many, what one owner has at most: there is one for others, where there are two.
std::size_t share_of(std::size_t places) {
  return places > 1 ? std::min(three_quarters(places), places - 1) : places;
}

}  // namespace

std::uint64_t compile_memory_bytes(std::span<const std::byte> wasm) {
  return base_memory_bytes + wasm.size() * memory_per_byte +
         largest_function_bytes(wasm) * memory_per_function_byte;
}

// A place among those that compile at the same time.
class GuestCompiler::Turn {
 public:
  Turn(GuestCompiler& compiler, const CompileFor& whom)
      : compiler_(compiler), owner_(whom.budget ? whom.budget->owner() : nullptr) {
    ReleasableMutexLock lock(compiler_.mutex_);
    while (!is_free()) {
      compiler_.changed_.wait_until(compiler_.mutex_,
                                    std::chrono::steady_clock::now() + give_up_look);
      lock.unlock();
      const bool given_up = whom.given_up();
      lock.lock();
      if (given_up) return;
    }
    ++compiler_.at_work_;
    if (owner_) ++owner_->compilers;
    taken_ = true;
  }
  ~Turn() {
    if (!taken_) return;
    const MutexLock lock(compiler_.mutex_);
    --compiler_.at_work_;
    if (owner_) --owner_->compilers;
    compiler_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  explicit operator bool() const noexcept { return taken_; }

 private:
  bool is_free() const REQUIRES(compiler_.mutex_) {
    const std::size_t most = compiler_.options_.max_at_once;
    return compiler_.at_work_ < most && (!owner_ || owner_->compilers < share_of(most));
  }

  GuestCompiler& compiler_;
  const std::shared_ptr<Owner> owner_;
  bool taken_ = false;
};

GuestCompiler::GuestCompiler(Options options)
    : options_([&] {
        if (options.max_at_once == 0)
          options.max_at_once = 2 * std::max(1U, std::thread::hardware_concurrency());
        return std::move(options);
      }()) {}

Result<UniqueFd, Error> GuestCompiler::compile(std::span<const std::byte> wasm,
                                               const CompileFor& whom) {
  if (options_.program.empty()) return refused("cloche-compile is not there");
  const Turn turn(*this, whom);
  if (!turn) return Errno::intr;
  const std::uint64_t memory_bytes =
      std::min(compile_memory_bytes(wasm), options_.memory_limit_bytes);
  MemoryCharge charge(whom.budget);
  if (!charge.add(memory_bytes + memory_bytes / code_part + wasm.size())) {
    return refused(fmt::format("it needs {} MiB of memory, which the sandbox does not have",
                               memory_bytes >> 20),
                   Errno::nomem);
  }
  CLOCHE_ASSIGN(const UniqueFd input, memory_file("cloche-wasm"));
  CLOCHE_ASSIGN(UniqueFd code, memory_file("cloche-code"));
  if (!write_fully(input.get(), wasm)) return errno_from_host(errno);
  CLOCHE_ASSIGN(const std::unique_ptr<Child> child,
                start(options_.program, input, code, memory_bytes, options_.cpu_limit));
  while (child->alive()) {
    if (whom.given_up()) return refused("the command was ended", Errno::intr);
  }
  const std::optional<siginfo_t> end = child->reap();
  // Without a status the file tells: a code file ends with its footer (compiled_code.h).
  if (!end || (end->si_code == CLD_EXITED && end->si_status == protocol::done)) return code;
  if (end->si_code == CLD_EXITED && end->si_status == protocol::refused)
    return Error(ErrorKind::sandbox, Errno::noexec, sentence_in(code));
  if (end->si_code != CLD_EXITED && (end->si_status == SIGXCPU || end->si_status == SIGALRM)) {
    return refused(fmt::format("that takes more than {} seconds", options_.cpu_limit.count()));
  }
  if (end->si_code == CLD_EXITED && end->si_status == protocol::failed)
    return refused("cloche-compile cannot work here");
  return refused(fmt::format("that takes more than {} MiB of memory", memory_bytes >> 20),
                 Errno::nomem);
}

}  // namespace cloche::wasm
