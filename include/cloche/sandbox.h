// SPDX-License-Identifier: Apache-2.0
// Sandbox: a private computer for an agent: a shell, tools, Python, files, limits. Everything in it
// is WebAssembly; it has no access to the host but what its options grant.
//
//   cloche::Engine engine({});
//   auto sandbox = engine.create({});
//   cloche::RunResult r = sandbox->run({.script = "echo hello | tr a-z A-Z"});   // r.stdout_data
//   == "HELLO\n"
//
// Threads: every member may be called from any thread, also several runs at once. Destroying it
// kills what runs in it. Lifetime: it must not outlive its Engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/files.h"
#include "cloche/host_command.h"
#include "cloche/live_run.h"
#include "cloche/loopback.h"
#include "cloche/network.h"
#include "cloche/observer.h"
#include "cloche/run.h"

namespace cloche {

namespace sandbox {
class Backend;
class Departure;
}  // namespace sandbox

// What runs the programs of a sandbox: docs/engines.md says which to choose when.
enum class EngineKind : std::uint8_t {
  wasm,          // programs compiled to WebAssembly, in this process
  native_linux,  // any Linux program, in namespaces of the machine's kernel
};

// How a sandbox of the linux engine is held. What was chosen is had, or the creation fails.
enum class Isolation : std::uint8_t {
  full,    // namespaces, a filter of system calls and Landlock; the kernel is the machine's
  gvisor,  // and gVisor's user-space kernel in between: slower, for hostile tenants (docs/engines.md)
};

// A folder of this machine in a sandbox, or a single regular file: the one that is there when the
// sandbox is made, whatever is put in its place later.
struct Mount {
  enum class Access : std::uint8_t { read_only, read_write };
  std::filesystem::path host_path;
  std::string guest_path;  // absolute; made when it is absent
  Access access = Access::read_write;
};

struct SandboxOptions {
  EngineKind engine = EngineKind::wasm;
  Isolation isolation = Isolation::full;          // of the linux engine alone
  std::chrono::milliseconds timeout{30'000};      // of one run; 0: none
  std::uint64_t file_limit_bytes = 256ULL << 20;  // the user's own bytes
  std::uint64_t file_limit_inodes = 200'000;
  std::uint64_t memory_limit_bytes = 1ULL << 30;  // of all processes together
  // How many of its processes compute as fast as those of other sandboxes; further ones get what is
  // left over on a busy machine.
  std::uint32_t cpus = 3;
  std::uint32_t process_limit = 64;
  std::uint32_t open_file_limit = 1024;                 // per process
  std::map<std::string, std::string> environment = {};  // added to the usual one
  // What its user is called, and where that is at home: an absolute path that is made. Another one
  // than the usual has a link to it at the usual place. With the linux engine the user is ID or
  // ID:ID; unless they are given, user and home are the system image's.
  std::string user = "sandbox";
  std::string home = "/workspace";
  // Python packages, importable from the start. With the linux engine the image's pip installs
  // them, through the network rules; what the image has needs none.
  std::vector<std::string> packages = {};
  std::vector<Mount> mounts = {};
  // A file of `cloche image build` or PythonSession::checkpoint: Python starts from it, with all
  // that was imported and set up there, and with its packages. Empty: none. With the linux engine
  // it is the name of a system image of the store (`cloche image import`), which must be given.
  std::filesystem::path image = {};
  NetworkOptions network = {};  // none, unless something is allowed
  // Guest programs of the host: NAME.wasm in this folder is the command NAME, before one of the
  // system of that name. Empty: none.
  std::filesystem::path program_folder = {};
  // Functions of the host that are programs in it, 256 at most.
  std::vector<HostCommand> commands = {};
  // One line per system call of the guests, as strace writes it. Called on threads of the sandbox;
  // must be quick.
  std::function<void(std::string_view line)> trace = {};
};

struct SandboxUsage {
  std::uint64_t file_bytes = 0;  // of the quota
  std::uint64_t file_inodes = 0;
  std::uint64_t memory_bytes = 0;  // linear memory in use
  std::size_t processes = 0;
  std::chrono::nanoseconds cpu{0};  // of all processes that there have been
  // For how long they waited for the first use of programs of the system's, which are compiled on a
  // new machine: no time of a run's.
  std::chrono::nanoseconds compile_wait{0};
  // System calls that guests made and that this kernel does not have: number (WASI: never) to
  // count.
  std::map<std::uint32_t, std::uint64_t> unknown_syscalls;
};

struct PythonOptions {
  std::optional<std::chrono::milliseconds> timeout;  // as in RunOptions
  std::uint64_t output_limit_bytes = 64ULL << 20;    // of stdout, and of stderr
  std::stop_token stop;                              // as in RunOptions; its names are gone
};

class Sandbox {
 public:
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Runs a command and waits for its end. Never throws for what a guest does.
  RunResult run(const RunOptions& options);

  // Starts a command to talk with. Never throws for what a guest does: where the command cannot be
  // started the LiveRun has ended already and its result says why. Throws Error EAGAIN where the
  // host gives no thread for it: nothing was started then, and `on_end` is not called.
  std::unique_ptr<LiveRun> start(LiveRunOptions options);

  // Connects to a TCP port of the sandbox's own loopback. ECONNREFUSED when nothing listens there.
  // `changed` is called when a read or a write may do more than before, from any thread: it must be
  // quick, and call nothing of the sandbox.
  Result<std::unique_ptr<LoopbackConnection>> connect(std::uint16_t port,
                                                      std::function<void()> changed);

  // Runs Python source in the sandbox's own interpreter: it starts at the first call, keeps names
  // and imports from call to call, and goes on in forks. Calls queue. An exception is printed on
  // stderr and gives exit code 1; sys.exit its code; both leave the interpreter alive. One that is
  // killed (time, memory, cancel) is started anew at the next call: its names are gone.
  RunResult run_python(std::string_view source, const PythonOptions& options = {});

  // Ends every run in progress and every process, from another thread; the sandbox stays usable.
  void cancel();

  // Stops every process where it is, until thaw(); nothing else may be begun meanwhile. Throws
  // Error where that cannot be: nothing has been stopped then.
  void freeze();
  void thaw();

  // A fork is to take its place: from now on runs of the kept shell and of Python end, as by
  // cancel, so that the fork waits for none. Whatever else ends well while it is made counts if it
  // is in the fork, or with stay(); it waits for that to be known, and is otherwise cancelled
  // (ECANCELED). One at a time, by one thread: begin_to_leave, fork, and then one of the others.
  void begin_to_leave();
  void stay();
  // Ends all, as cancel() does, and what begins later; nothing that ends later counts. For good,
  // and at any time: also where no fork is made.
  void leave();

  // The next run of the kept shell has a new one, without variables, in the home folder. Waits for
  // the run that is in progress in it.
  void restart_shell();

  // What of the network may be reached from now on, instead of NetworkOptions::allow; forks that
  // are made later have it too. Connections that no rule allows any more end. Throws
  // Error with one sentence for a rule that is none: then nothing has changed.
  void set_network_rules(std::vector<std::string> allow);
  std::vector<std::string> network_rules() const;

  // What it has instead of SandboxOptions::commands from now on; calls in progress go on, and forks
  // that are made later have these too. A state that is saved has none. Throws Error with one
  // sentence; then nothing has changed.
  void set_commands(std::vector<HostCommand> commands);
  std::vector<HostCommand> commands() const;

  // Whose it is, and forks that are made later: of what this process has once for all sandboxes
  // (places for compilers of programs that guests bring, mappings of memory, descriptors) those of
  // one name leave some to others. Without one it is nobody's.
  void set_owner(const std::string& name);

  Files& files() noexcept;
  Files& files(Account account) noexcept;

  // The environment of the runs that follow.
  void set_environment(const std::string& name, const std::string& value);
  std::optional<std::string> environment(const std::string& name) const;
  std::map<std::string, std::string> environment() const;

  // Makes Python packages importable, with what they depend on. ENOENT for an unknown name. With
  // the linux engine an interpreter that runs already sees them where its path has their folder.
  Result<void, Error> install_packages(const std::vector<std::string>& names);

  // An independent sandbox that goes on from here: files (copy-on-write), environment, packages,
  // a live Python where there is one, and a kept shell; it waits for what these two execute. Other
  // processes are not in it.
  std::unique_ptr<Sandbox> fork();

  // Keeps the files and the environment as they are now as an image of that name, instead of one
  // that has it, for other sandboxes of the linux engine (`cloche image list`). Programs stand
  // still meanwhile; they are not in it, nor are the folders of the host. ENOTSUP with the wasm
  // engine. Not from a process in a jail of Cloche's, which cannot write there.
  Result<void, Error> commit_image(const std::string& name);

  // Why there is nothing of it any more, in one sentence; empty: it is there. A sandbox of the
  // linux engine can be ended from outside of it, by whoever may end its processes: all that is
  // asked of it fails then, and it can only be destroyed.
  std::string why_ended() const;

  SandboxUsage usage() const;

  std::vector<ProcessInfo> processes() const;
  // A signal for one of them. EINVAL: no signal; ESRCH: no process.
  Result<void> signal(int pid, int number);

  // From now on these are told of runs and of decisions on the network; forks are watched by
  // nobody.
  void observe(SandboxObserver observer);
  // What it was made with; a fork has its parent's.
  const SandboxOptions& options() const noexcept;

 private:
  friend class Checkpoint;
  friend class Engine;
  friend class PythonSession;
  friend class StateReader;
  explicit Sandbox(std::unique_ptr<sandbox::Backend> backend);
  std::unique_ptr<sandbox::Backend> backend_;
  std::shared_ptr<sandbox::Departure> departure_;
  Files files_;
  Files root_files_;
};

}  // namespace cloche
