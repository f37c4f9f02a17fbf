// SPDX-License-Identifier: Apache-2.0
// Backend: what a Sandbox is made of. There are two: WebAssembly in this process (WasmBackend), and
// native processes in a box (NativeBackend). Doors and sessions see neither. The promises are those
// of the public classes of the same names in include/cloche; where the engines differ,
// docs/engines.md says it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/owner.h"
#include "base/unique_fd.h"
#include "cloche/folder_watch.h"
#include "cloche/open_file.h"
#include "cloche/sandbox.h"

namespace cloche::sandbox {

class RunObserver;
class SandboxState;
class SessionInterpreter;

// What is saved of a sandbox whose files are not this process's own.
struct SavedBox {
  std::string image;   // which it is made of: its name,
  std::string digest;  // and, where it has one, what it is
  std::map<std::string, std::string> environment;
  UniqueFd files;  // a stream for its engine
  std::uint64_t file_bytes = 0;
};

// See LoopbackConnection.
class LoopbackStream {
 public:
  virtual ~LoopbackStream() = default;
  virtual Result<std::size_t> write(std::string_view bytes) = 0;
  virtual Result<std::size_t> read(std::span<char> to) = 0;
  virtual void close_input() = 0;
};

// See LiveRun. Destroying it ends the command, as there.
class LiveRunState {
 public:
  virtual ~LiveRunState() = default;
  virtual Result<std::size_t> write(std::string_view bytes) = 0;
  virtual Result<void> write_all(std::string_view bytes) = 0;
  virtual void close_input() = 0;
  virtual void resize(const TerminalSize& size) = 0;
  virtual Result<void> signal(int number) = 0;
  virtual void kill() = 0;
  virtual int pid() noexcept = 0;
  virtual std::optional<RunResult> wait_for(std::optional<std::chrono::milliseconds> limit) = 0;
};

// See OpenFile.
class OpenFileBackend {
 public:
  virtual ~OpenFileBackend() = default;
  virtual Result<std::string> read(std::uint64_t offset, std::size_t size_bytes) = 0;
  virtual bool hold() { return false; }
  virtual Result<void> write(std::uint64_t offset, std::string_view data) = 0;
  virtual Result<void> append(std::string_view data) = 0;
  virtual Result<void> truncate(std::uint64_t size_bytes) = 0;
  virtual Result<void> change_mode(std::uint32_t mode) = 0;
  virtual Result<void> set_times(std::int64_t accessed_ns, std::int64_t modified_ns) = 0;
  virtual Result<FileInfo> stat() = 0;
};

// See FolderWatch.
class WatchBackend {
 public:
  virtual ~WatchBackend() = default;
  virtual Result<std::vector<FileChange>> take() = 0;
  virtual bool is_over() = 0;
};

// See Files.
class FileBackend {
 public:
  virtual ~FileBackend() = default;
  virtual Result<std::string> read(std::string_view path, std::uint64_t limit_bytes) = 0;
  virtual Result<std::string> read_range(std::string_view path, std::uint64_t offset,
                                         std::size_t size_bytes) = 0;
  virtual Result<void> write(std::string_view path, std::string_view content, std::uint32_t mode,
                             IfThere there = IfThere::replace) = 0;
  virtual Result<void> append(std::string_view path, std::string_view content) = 0;
  virtual Result<std::unique_ptr<OpenFileBackend>> open(std::string_view path, OpenMode mode,
                                                        std::uint32_t permissions) = 0;
  virtual Result<std::vector<FileInfo>> list(std::string_view path) = 0;
  virtual Result<FileInfo> stat(std::string_view path) = 0;
  virtual Result<FileInfo> link_stat(std::string_view path) = 0;
  virtual Result<void> make_directory(std::string_view path) = 0;
  virtual Result<void> make_directories(std::string_view path) = 0;
  virtual Result<void> remove(std::string_view path) = 0;
  virtual Result<void> remove_all(std::string_view path) = 0;
  virtual Result<void> rename(std::string_view from, std::string_view to,
                              IfThere there = IfThere::replace) = 0;
  virtual Result<void> change_mode(std::string_view path, std::uint32_t mode) = 0;
  virtual Result<void> change_owner(std::string_view path, std::uint32_t user,
                                    std::uint32_t group) = 0;
  virtual Result<void> set_times(std::string_view path, std::int64_t accessed_ns,
                                 std::int64_t modified_ns) = 0;
  virtual Result<void> set_link_times(std::string_view path, std::int64_t accessed_ns,
                                      std::int64_t modified_ns) = 0;
  virtual Result<void> make_symlink(std::string_view target, std::string_view path) = 0;
  virtual Result<void> make_link(std::string_view existing, std::string_view path) = 0;
  virtual Result<std::string> resolve(std::string_view path) = 0;
  virtual Result<std::map<std::string, std::string>> attributes(std::string_view path) = 0;
  virtual Result<void> set_attribute(std::string_view path, std::string_view name,
                                     std::string_view value) = 0;
  virtual Result<void> remove_attribute(std::string_view path, std::string_view name) = 0;
  virtual Result<std::vector<std::string>> glob(std::string_view pattern) = 0;
  virtual Result<std::unique_ptr<WatchBackend>> watch(std::string_view path, WatchDepth depth,
                                                      std::function<void()> changed) = 0;
};

// See Sandbox.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual RunResult run(const RunOptions& options) = 0;
  virtual std::unique_ptr<LiveRunState> start(LiveRunOptions options) = 0;
  virtual Result<std::unique_ptr<LoopbackStream>> connect(std::uint16_t port,
                                                          std::function<void()> changed) = 0;
  virtual RunResult run_python(std::string_view source, const PythonOptions& options) = 0;
  // For a PythonSession; `image` is its option. Throws Error where the engine has no such images.
  virtual std::unique_ptr<SessionInterpreter> make_interpreter(
      const std::filesystem::path& image) = 0;
  virtual void cancel() = 0;
  virtual void freeze() = 0;
  virtual void thaw() = 0;
  virtual void restart_shell() = 0;
  virtual void set_network_rules(std::vector<std::string> allow) = 0;
  virtual std::vector<std::string> network_rules() const = 0;
  virtual void set_commands(std::vector<HostCommand> commands) = 0;
  virtual std::vector<HostCommand> commands() const = 0;
  virtual FileBackend& files(Account account) noexcept = 0;
  virtual void set_environment(const std::string& name, const std::string& value) = 0;
  virtual std::map<std::string, std::string> environment() const = 0;
  virtual Result<void, Error> install_packages(const std::vector<std::string>& names) = 0;
  // `at_files` is called when it is about to take what belongs to no interpreter: from then on it
  // waits for nothing that runs here.
  virtual std::unique_ptr<Backend> fork(const std::function<void()>& at_files) = 0;
  // Null: its files are this process's own. Throws Error.
  virtual std::unique_ptr<SavedBox> save() = 0;
  // Of a sandbox in which nothing has run yet: its files become those.
  virtual Result<void, Error> load(const SavedBox& saved) = 0;
  // Keeps what it is now as a system image of that name.
  virtual Result<void, Error> commit_image(const std::string& name) = 0;
  // See Sandbox::why_ended.
  virtual std::string why_ended() const { return {}; }
  virtual SandboxUsage usage() = 0;
  virtual std::vector<ProcessInfo> processes() = 0;
  virtual Result<void> signal(int pid, int number) = 0;
  // Who watches, and what they may see of a text: no secrets.
  virtual RunObserver& observer() noexcept = 0;
  virtual std::string scrub(std::string text) const = 0;
  virtual const SandboxOptions& options() const noexcept = 0;

  // For what WebAssembly alone has: throws Error with one sentence
  // where this is no such sandbox.
  virtual SandboxState& wasm() = 0;

  // See Sandbox::set_owner.
  virtual void set_owner(std::shared_ptr<Owner> owner) = 0;
};

}  // namespace cloche::sandbox
