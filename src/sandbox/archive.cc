// SPDX-License-Identifier: Apache-2.0
#include "cloche/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/result.h"
#include "cloche/checkpoint.h"

namespace cloche {
namespace {

constexpr const char* tar_program = "/usr/bin/tar";

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

// What tar says of itself, or how it ended.
Error tar_failed(const char* what, const RunResult& result, Errno code) {
  const std::string why = !result.stderr_data.empty() ? first_line_of(result.stderr_data)
                          : !result.reason.empty()    ? result.reason
                                                      : fmt::format("status {}", result.exit_code);
  return {ErrorKind::sandbox, result.status == RunStatus::killed ? Errno::canceled : code,
          fmt::format("{}: {}", what, why)};
}

Result<std::string, Error> run_tar(Sandbox& sandbox, std::vector<std::string> argv,
                                   std::uint64_t limit_bytes, std::stop_token stop) {
  RunOptions options;
  options.stop = std::move(stop);
  options.argv = std::move(argv);
  options.output_limit_bytes = limit_bytes;
  RunResult result = sandbox.run(options);
  if (result.stdout_truncated) {
    return request_error(fmt::format("the archive has more than {} bytes", limit_bytes),
                         Errno::fbig);
  }
  if (result.status != RunStatus::exited || result.exit_code != 0)
    return tar_failed("the files cannot be packed", result, Errno::io);
  return std::move(result.stdout_data);
}

}  // namespace

Result<std::string, Error> pack(Sandbox& sandbox, std::string_view path, std::uint64_t limit_bytes,
                                std::stop_token stop) {
  const Result<FileInfo> info = sandbox.files().stat(path);
  if (!info) return Error(info.error(), path);
  // A path that begins with a dash is no option.
  const std::string plain = path.starts_with('/') ? std::string(path) : "./" + std::string(path);
  if (info->kind == FileKind::directory)
    return run_tar(sandbox, {tar_program, "-cf", "-", "-C", plain, "."}, limit_bytes,
                   std::move(stop));
  const std::size_t slash = plain.rfind('/');
  return run_tar(
      sandbox,
      {tar_program, "-cf", "-", "-C", plain.substr(0, slash + 1), "./" + plain.substr(slash + 1)},
      limit_bytes, std::move(stop));
}

Result<void, Error> unpack(Sandbox& sandbox, std::string_view folder, std::string tar,
                           std::stop_token stop) {
  if (const Result<void> made = sandbox.files().make_directories(folder); !made)
    return Error(made.error(), folder);
  const std::string plain =
      folder.starts_with('/') ? std::string(folder) : "./" + std::string(folder);
  RunOptions options;
  options.argv = {tar_program, "-xf", "-", "-C", plain};
  options.stdin_data = std::move(tar);
  options.stop = std::move(stop);
  const RunResult result = sandbox.run(options);
  if (result.status == RunStatus::exited && result.exit_code == 0) return {};
  return tar_failed("the archive cannot be unpacked", result, Errno::inval);
}

Result<std::string, Error> export_state(Sandbox& sandbox, std::uint64_t limit_bytes) {
  std::optional<Checkpoint> saved;
  try {
    saved.emplace(sandbox);
  } catch (const Error& problem) {
    return problem;
  }
  std::string state;
  const Result<void> written = saved->write([&](std::span<const std::byte> bytes) -> Result<void> {
    if (bytes.size() > limit_bytes - state.size()) return Errno::fbig;
    state.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  });
  if (written) return state;
  return request_error(fmt::format("the state has more than {} bytes", limit_bytes),
                       written.error());
}

Result<std::unique_ptr<Sandbox>, Error> import_state(Engine& engine, const SandboxOptions& options,
                                                     std::string_view state) {
  return import_state(engine, options,
                      [state](std::span<std::byte> to) mutable -> Result<std::size_t> {
                        const std::size_t count = std::min(to.size(), state.size());
                        std::memcpy(to.data(), state.data(), count);
                        state.remove_prefix(count);
                        return count;
                      });
}

Result<std::unique_ptr<Sandbox>, Error> import_state(Engine& engine, const SandboxOptions& options,
                                                     const ByteSource& source) {
  StateReader reader(options, StateReader::Quota::of_options);
  CLOCHE_TRY(reader.read(source));
  CLOCHE_ASSIGN(std::unique_ptr<Sandbox> made, reader.make(engine));
  if (reader.missing_packages().empty()) return made;
  return request_error("this system has no package " + reader.missing_packages().front(),
                       Errno::noent);
}

}  // namespace cloche
