// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/exec.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "kernel/kernel.h"
#include "kernel/process/process_files.h"
#include "kernel/process/process_timers.h"
#include "kernel/process/task.h"
#include "kernel/system_wait.h"
#include "vfs/checked_operations.h"

namespace cloche::kernel {
namespace {

constexpr int max_interpreters = 4;
constexpr std::uint32_t max_user_loads = 2;
constexpr std::size_t head_bytes = 256;  // as much of a #! line as Linux looks at
constexpr std::array<std::byte, 4> wasm_magic{std::byte{0}, std::byte{'a'}, std::byte{'s'},
                                              std::byte{'m'}};

struct Found {
  vfs::Node node;
  std::string path;  // absolute
};

Result<Found> find_executable(Kernel& kernel, const Process& process, const ExecRequest& request)
    REQUIRES(kernel_lock) {
  // A folder that is gone does not matter to an absolute path.
  const vfs::Node start = request.path.starts_with('/') ? kernel.files().root()
                          : request.start               ? request.start
                                                        : process.cwd;
  const process_files::Acting acting(process);
  CLOCHE_ASSIGN(vfs::Node node,
                kernel.files().lookup(start, request.path, request.follow, process.credentials));
  CLOCHE_ASSIGN(const vfs::Stat stat, node.stat());
  if (stat.type == vfs::FileType::symlink) return Errno::loop;
  if (stat.type != vfs::FileType::regular) return Errno::acces;
  CLOCHE_TRY(vfs::check_access(stat, process.credentials, vfs::Access::execute));
  Result<std::string> path = kernel.files().path_of(node);
  return Found{std::move(node), path ? *std::move(path) : request.path};
}

// "#!interpreter[ argument]": the words of the line.
std::vector<std::string> shebang(std::string_view head) {
  constexpr std::string_view blanks = " \t";
  std::string_view line = head.substr(2, head.find('\n') - 2);
  const auto trim = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    while (!line.empty() && blanks.find(line.back()) != std::string_view::npos)
      line.remove_suffix(1);
  };
  trim();
  std::vector<std::string> words;
  const std::size_t end = std::min(line.find_first_of(blanks), line.size());
  if (end == 0) return words;
  words.emplace_back(line.substr(0, end));
  line.remove_prefix(end);
  trim();
  if (!line.empty()) words.emplace_back(line);
  return words;
}

Result<std::vector<std::byte>> read_whole(vfs::NodeIo& io, std::uint64_t size) {
  std::vector<std::byte> content(static_cast<std::size_t>(size));
  std::size_t done = 0;
  while (done < content.size()) {
    CLOCHE_ASSIGN(const std::size_t got, io.read(done, std::span(content).subspan(done)));
    if (got == 0) break;
    done += got;
  }
  content.resize(done);
  return content;
}

// Whether the process that a program is loaded for still wants it. Kernel lock held.
class Wanted {
 public:
  Wanted(Kernel& kernel, std::shared_ptr<RunClock> clock, Task* task, std::stop_token stop)
      REQUIRES(kernel_lock)
      : kernel_(kernel),
        clock_(std::move(clock)),
        task_(task),
        stop_(std::move(stop)),
        kills_(kernel.kills()) {}

  const std::shared_ptr<RunClock>& clock() const noexcept { return clock_; }
  bool has_task() const noexcept { return task_ != nullptr; }

  Result<void> look() const REQUIRES(kernel_lock) {
    if (task_ != nullptr) {
      // It has a compiler's place, and locks, which others wait for.
      if (task_->attend(Task::Stops::later) && task_->unwinding()) return Errno::intr;
      return {};
    }
    if (kernel_.kills() != kills_ || stop_.stop_requested()) return Errno::intr;
    if (clock_ && clock_->is_over()) return Errno::timedout;
    return {};
  }

  // Until the queue is woken. Errno::restart: a signal wants to be handled first.
  Result<void> sleep(WaitQueue& queue) const REQUIRES(kernel_lock) {
    if (task_ != nullptr) return task_->block({&queue});
    Waiter waiter;
    WaitQueue* const queues[] = {&queue};
    (void)waiter.sleep(kernel_.mutex(), queues, clock_ ? clock_->next_look() : std::nullopt);
    return look();
  }

 private:
  Kernel& kernel_;
  const std::shared_ptr<RunClock> clock_;
  Task* task_;
  const std::stop_token stop_;
  std::uint64_t kills_;
};

// Calls `load`, which asks what it is given whether to give up, without the kernel lock.
template <typename Load>
Result<std::shared_ptr<const Program>> while_wanted(Kernel& kernel, const Wanted& wanted,
                                                    Load&& load) REQUIRES(kernel_lock) {
  Result<void> still;
  Result<std::shared_ptr<const Program>> program = load([&] {
    const KernelLock lock(kernel.mutex());
    if (still) still = wanted.look();
    return !still;
  });
  // Nobody else kills what is no process yet.
  if (still && !wanted.has_task()) still = wanted.look();
  if (!still) return still.error();
  return program;
}

// One of those loads, from its beginning to its end, both with the kernel lock held.
class Loading {
 public:
  explicit Loading(UserLoads& loads) : loads_(loads) { ++loads_.count; }
  ~Loading() {
    --loads_.count;
    loads_.changed.wake_all();
  }
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

 private:
  UserLoads& loads_;
};

// What is read of the file counts as memory of the sandbox, for as long as it is here.
Result<std::shared_ptr<const Program>> load_user_program(Kernel& kernel, vfs::NodeIo& io,
                                                         const Wanted& wanted)
    REQUIRES(kernel_lock) {
  // A sandbox has few loads at a time.
  UserLoads& loads = kernel.user_loads();
  while (loads.count >= max_user_loads) CLOCHE_TRY(wanted.sleep(loads.changed));
  const Loading loading(loads);
  CLOCHE_ASSIGN(const vfs::Stat stat, io.stat());
  if (stat.size > kernel.limits().program_bytes) return Errno::noexec;
  wasm::MemoryCharge charge(kernel.memory());
  if (!charge.add(stat.size)) return Errno::nomem;
  CLOCHE_ASSIGN(const std::vector<std::byte> content, read_whole(io, stat.size));
  return while_wanted(kernel, wanted, [&](std::function<bool()> give_up) REQUIRES(kernel_lock) {
    const wasm::CompileFor whom{.budget = kernel.memory(), .give_up = std::move(give_up)};
    const KernelUnlocked unlocked(kernel.mutex());
    return kernel.services().programs.load_bytes(content, whom);
  });
}

Result<std::shared_ptr<const Program>> load_tagged(Kernel& kernel, ProgramTag tag,
                                                   const Wanted& wanted) REQUIRES(kernel_lock) {
  ProgramStore& programs = kernel.services().programs;
  const ProgramStore::Known known = programs.known(tag);
  if (known.program) return known.program;
  return while_wanted(kernel, wanted, [&](std::function<bool()> give_up) REQUIRES(kernel_lock) {
    const auto load = [&] { return programs.load(tag, give_up); };
    if (known.origin == ProgramOrigin::system) return wait_for_system(kernel, wanted.clock(), load);
    const KernelUnlocked unlocked(kernel.mutex());
    return load();
  });
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1).substr(0, 15));
}

}  // namespace

Result<LoadedProgram> load_program(Kernel& kernel, const Process& process, ExecRequest request,
                                   Task* task, const std::stop_token& stop) {
  std::size_t total = 0, held_bytes = 0;
  for (const auto* list : {&request.argv, &request.environment}) {
    for (const std::string& text : *list) {
      total += argument_weight(text);
      held_bytes += sizeof(std::string) + text.size();
    }
  }
  if (total > kernel.limits().argument_bytes) return Errno::toobig;
  // Before it waits for a program.
  const auto words = std::make_shared<ProgramWords>(kernel.memory());
  if (!words->charge.add(held_bytes)) return Errno::nomem;
  words->argv = std::move(request.argv);
  words->environment = std::move(request.environment);
  if (words->argv.empty()) words->argv.emplace_back();

  const std::string name = base_name(request.path);
  for (int depth = 0; depth <= max_interpreters; ++depth) {
    CLOCHE_ASSIGN(Found found, find_executable(kernel, process, request));
    ExecIdentity identity{name, found.path, words};
    if (const ProgramTag tag = found.node.fs().program(found.node.ino()); tag != 0) {
      CLOCHE_ASSIGN(std::shared_ptr<const Program> program,
                    load_tagged(kernel, tag, Wanted(kernel, process.clock, task, stop)));
      return LoadedProgram{std::move(program), std::move(identity)};
    }
    CLOCHE_ASSIGN(const std::unique_ptr<vfs::NodeIo> io,
                  vfs::open(found.node, vfs::Access::execute, process.credentials));
    std::array<std::byte, head_bytes> head{};
    CLOCHE_ASSIGN(const std::size_t got, io->read(0, head));
    const std::string_view text(reinterpret_cast<const char*>(head.data()), got);
    if (got >= wasm_magic.size() &&
        std::equal(wasm_magic.begin(), wasm_magic.end(), head.begin())) {
      CLOCHE_ASSIGN(std::shared_ptr<const Program> program,
                    load_user_program(kernel, *io, Wanted(kernel, process.clock, task, stop)));
      return LoadedProgram{std::move(program), std::move(identity)};
    }
    if (!text.starts_with("#!")) return Errno::noexec;
    std::vector<std::string> argv = shebang(text);
    if (argv.empty()) return Errno::noexec;
    const std::string interpreter = argv.front();
    argv.push_back(request.path);
    argv.insert(argv.end(), std::next(words->argv.begin()), words->argv.end());
    request.path = interpreter;
    words->argv = std::move(argv);
    request.start = {};
    request.follow = vfs::Follow::yes;
  }
  return Errno::loop;
}

Result<std::shared_ptr<const Program>> load_for_host(Kernel& kernel, ProgramTag tag,
                                                     const std::function<bool()>& give_up) {
  std::uint64_t kills = 0;
  {
    const KernelLock lock(kernel.mutex());
    kills = kernel.kills();
  }
  return kernel.services().programs.load(tag, [&] {
    if (give_up && give_up()) return true;
    const KernelLock lock(kernel.mutex());
    return kernel.kills() != kills;
  });
}

void apply_exec(Process& process, ExecIdentity identity) {
  process.name = std::move(identity.name);
  process.exe = std::move(identity.exe);
  process.words = std::move(identity.words);
  process_files::close_for_exec(process);
  process.signals.reset_for_exec();
  if (process.timers) process.timers->program_changed();
  process.has_execed = true;
}

}  // namespace cloche::kernel
