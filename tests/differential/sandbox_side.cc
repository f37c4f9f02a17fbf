// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "side.h"

namespace cloche::differential {
namespace {

void add_entries(Sandbox& sandbox, const std::string& folder, const std::string& prefix,
                 std::map<std::string, Entry>& entries) {
  const auto list = sandbox.files().list(folder);
  if (!list) return;
  for (const FileInfo& info : *list) {
    const std::string path = folder + "/" + info.name;
    Entry entry;
    entry.mode = info.mode;
    switch (info.kind) {
      case FileKind::file:
        entry.kind = Entry::Kind::file;
        if (auto content = sandbox.files().read(path)) entry.text = std::move(*content);
        break;
      case FileKind::directory:
        entry.kind = Entry::Kind::directory;
        if ((info.mode & 0700U) == 0700U)
          add_entries(sandbox, path, prefix + info.name + "/", entries);
        break;
      case FileKind::symlink:
        entry.kind = Entry::Kind::link;
        entry.text = info.target;
        break;
      case FileKind::other: break;
    }
    entries.emplace(prefix + info.name, std::move(entry));
  }
}

}  // namespace

Outcome sandbox_outcome(const Case& each, Engine& engine) {
  SandboxOptions options;
  options.timeout = each.timeout;
  options.environment = common_environment();
  for (const auto& [name, value] : each.environment) options.environment[name] = value;
  const std::unique_ptr<Sandbox> sandbox = engine.create(options);
  Command command = command_of(each);
  const auto give = [&](const GivenFile& given) {
    if (!sandbox->files().write(given.path, given.content, given.mode))
      throw std::runtime_error("cannot put " + given.path + " into the sandbox");
  };
  if (each.folder) std::ranges::for_each(*each.folder, give);
  std::ranges::for_each(command.given, give);
  const RunResult result = sandbox->run({.argv = command.argv, .stdin_data = command.input});
  Outcome outcome;
  outcome.timed_out = result.status == RunStatus::timed_out;
  outcome.status = result.exit_code;
  outcome.out = result.stdout_data;
  outcome.err = result.stderr_data;
  if (!each.ignored.contains(Part::files)) {
    std::map<std::string, Entry> entries;
    add_entries(*sandbox, home, "", entries);
    outcome.files = list_text(entries);
  }
  return outcome;
}

}  // namespace cloche::differential
