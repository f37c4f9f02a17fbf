// SPDX-License-Identifier: Apache-2.0
#include "sandbox/started_shells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "sandbox/engine_state.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {
namespace {

// Each is a memory of some 400 KiB. Users and homes are few: what the doors call them.
constexpr std::size_t most_kinds = 8;

// Where bash looks for itself ($BASH) when it has no environment yet: the beginning of its own PATH,
// up to where ours is.
constexpr std::array<std::string_view, 3> own_path{"/usr/local/bin", "/usr/local/sbin", "/usr/bin"};

// What a start asks of the files, and is told.
std::string told_to_a_start(SandboxState& sandbox) {
  return sandbox.with_files([&](vfs::PathOperations& files) {
    const auto said = [](const Result<std::string>& text) {
      return text ? *text : std::string(errno_info(text.error()).name);
    };
    std::string all = said(files.real_path(sandbox.home())) + '\n';
    for (const std::string_view folder : own_path) {
      const Result<vfs::FileInfo> bash = files.stat(fmt::format("{}/bash", folder));
      all += bash ? fmt::format("{} {:o} {} {}\n", static_cast<int>(bash->stat.type),
                                bash->stat.mode, bash->stat.uid, bash->stat.gid)
                  : fmt::format("{}\n", errno_info(bash.error()).name);
    }
    return all + said(files.read_file("/etc/passwd", account_file_max_bytes));
  });
}

// What shapes the limits that a process begins with, and the folders that it is told.
SandboxOptions options_like(const SandboxOptions& other) {
  SandboxOptions options;
  options.user = other.user;
  options.home = other.home;
  options.process_limit = other.process_limit;
  options.open_file_limit = other.open_file_limit;
  return options;
}

bool are_alike(const SandboxOptions& a, const SandboxOptions& b) {
  return a.user == b.user && a.home == b.home && a.process_limit == b.process_limit &&
         a.open_file_limit == b.open_file_limit;
}

}  // namespace

struct StartedShells::Kind {
  SandboxOptions options;
  std::string told;
  std::shared_ptr<const RestingShell> shell;  // null: it cannot be made
};

StartedShells::StartedShells(EngineState& engine) : engine_(engine) {}
StartedShells::~StartedShells() = default;

std::shared_ptr<const RestingShell> StartedShells::find(SandboxState& sandbox) {
  // Without the mutex: who has this sandbox's kernel would keep all others waiting.
  const std::string told_here = told_to_a_start(sandbox);
  const MutexLock lock(mutex_);
  auto kind = std::ranges::find_if(
      kinds_, [&](const Kind& one) { return are_alike(one.options, sandbox.options()); });
  if (kind == kinds_.end()) {
    if (kinds_.size() == most_kinds) return nullptr;
    const SandboxOptions options = options_like(sandbox.options());
    SandboxState maker(engine_, options);
    std::string told = told_to_a_start(maker);
    const auto process = ShellProcess::start(maker.kernel(), maker.home(), nullptr);
    kinds_.push_back({options, std::move(told), process ? (*process)->just_started() : nullptr});
    kind = std::prev(kinds_.end());
  }
  return kind->shell && kind->told == told_here ? kind->shell : nullptr;
}

}  // namespace cloche::sandbox
