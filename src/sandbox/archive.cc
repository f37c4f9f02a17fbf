// SPDX-License-Identifier: Apache-2.0
#include "cloche/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "cloche/checkpoint.h"

namespace cloche {
namespace {

constexpr const char* tar_program = "/usr/bin/tar";

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

void explain(std::string* message, const char* what, const RunResult& result) {
  if (message == nullptr) return;
  const std::string why = !result.stderr_data.empty() ? first_line_of(result.stderr_data)
                          : !result.reason.empty()    ? result.reason
                                                      : fmt::format("status {}", result.exit_code);
  *message = fmt::format("{}: {}", what, why);
}

Result<std::string> run_tar(Sandbox& sandbox, std::vector<std::string> argv,
                            std::uint64_t limit_bytes, std::string* message,
                            std::string input = {}) {
  RunOptions options;
  options.argv = std::move(argv);
  options.stdin_data = std::move(input);
  options.output_limit_bytes = limit_bytes;
  const RunResult result = sandbox.run(options);
  if (result.stdout_truncated) {
    if (message) *message = fmt::format("the archive has more than {} bytes", limit_bytes);
    return Errno::fbig;
  }
  if (result.status != RunStatus::exited || result.exit_code != 0) {
    explain(message, "the files cannot be packed", result);
    return result.status == RunStatus::killed ? Errno::canceled : Errno::io;
  }
  return result.stdout_data;
}

}  // namespace

Result<std::string> pack(Sandbox& sandbox, std::string_view path, std::uint64_t limit_bytes,
                         std::string* message) {
  const Result<FileInfo> info = sandbox.files().stat(path);
  if (!info) {
    if (message) *message = std::string(path);
    return info.error();
  }
  // A path that begins with a dash is no option.
  const std::string plain = path.starts_with('/') ? std::string(path) : "./" + std::string(path);
  if (info->kind == FileKind::directory)
    return run_tar(sandbox, {tar_program, "-cf", "-", "-C", plain, "."}, limit_bytes, message);
  const std::size_t slash = plain.rfind('/');
  return run_tar(
      sandbox,
      {tar_program, "-cf", "-", "-C", plain.substr(0, slash + 1), "./" + plain.substr(slash + 1)},
      limit_bytes, message);
}

Result<void> unpack(Sandbox& sandbox, std::string_view folder, std::string tar,
                    std::string* message) {
  if (const Result<void> made = sandbox.files().make_directory(folder); !made) {
    if (message) *message = std::string(folder);
    return made.error();
  }
  const std::string plain =
      folder.starts_with('/') ? std::string(folder) : "./" + std::string(folder);
  RunOptions options;
  options.argv = {tar_program, "-xf", "-", "-C", plain};
  options.stdin_data = std::move(tar);
  const RunResult result = sandbox.run(options);
  if (result.status == RunStatus::exited && result.exit_code == 0) return {};
  explain(message, "the archive cannot be unpacked", result);
  return result.status == RunStatus::killed ? Errno::canceled : Errno::inval;
}

Result<std::string> export_state(Sandbox& sandbox, std::uint64_t limit_bytes,
                                 std::string* message) {
  if (sandbox.options().engine != EngineKind::wasm) {
    if (message) *message = "a linux sandbox has no state to export yet";
    return Errno::notsup;
  }
  std::string state;
  const Result<void> written =
      Checkpoint(sandbox).write([&](std::span<const std::byte> bytes) -> Result<void> {
        if (bytes.size() > limit_bytes - state.size()) return Errno::fbig;
        state.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return {};
      });
  if (written) return state;
  if (message) *message = fmt::format("the state has more than {} bytes", limit_bytes);
  return written.error();
}

Result<std::unique_ptr<Sandbox>> import_state(Engine& engine, const SandboxOptions& options,
                                              std::string_view state, std::string* message) {
  return import_state(
      engine, options,
      [state](std::span<std::byte> to) mutable -> Result<std::size_t> {
        const std::size_t count = std::min(to.size(), state.size());
        std::memcpy(to.data(), state.data(), count);
        state.remove_prefix(count);
        return count;
      },
      message);
}

Result<std::unique_ptr<Sandbox>> import_state(Engine& engine, const SandboxOptions& options,
                                              const ByteSource& source, std::string* message) {
  StateReader reader(options, StateReader::Quota::of_options);
  CLOCHE_TRY(reader.read(source, message));
  Result<std::unique_ptr<Sandbox>> made = reader.make(engine, message);
  if (!made || reader.missing_packages().empty()) return made;
  if (message) *message = "this system has no package " + reader.missing_packages().front();
  return Errno::noent;
}

}  // namespace cloche
