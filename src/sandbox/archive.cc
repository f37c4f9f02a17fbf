// SPDX-License-Identifier: Apache-2.0
#include "cloche/archive.h"

#include <fmt/format.h>

#include <span>

#include "base/json.h"
#include "wasm/trusted_file.h"

namespace cloche {
namespace {

// The file of a state: this line, a line of JSON, a tar archive, the SHA-256 of all before it.
constexpr std::string_view first_line = "cloche sandbox state 1\n";
constexpr std::size_t check_bytes = 32;
constexpr const char* tar_program = "/usr/bin/tar";
constexpr const char* packages_folder = "/usr/lib/python";

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

std::string check_of(std::string_view bytes) {
  const wasm::FileTag digest = wasm::sha256(std::as_bytes(std::span(bytes)));
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// What is in the archive of a state: what belongs to the user, each name ended by a NUL. Of folders
// that are everybody's it is what they hold: nobody but their owner may unpack those themselves.
std::string user_files(Sandbox& sandbox) {
  std::string names;
  for (const char* folder : {"workspace", "run/user"}) names.append(folder).push_back('\0');
  for (const char* folder : {"tmp", "var/tmp"}) {
    const auto entries = sandbox.files().list("/" + std::string(folder));
    if (!entries) continue;
    for (const FileInfo& entry : *entries)
      names.append(folder).append("/").append(entry.name).push_back('\0');
  }
  return names;
}

std::vector<std::string> installed_packages(Sandbox& sandbox) {
  std::vector<std::string> names;
  const auto entries = sandbox.files().list(packages_folder);
  if (!entries) return names;
  for (const FileInfo& entry : *entries) {
    if (entry.kind == FileKind::directory) names.push_back(entry.name);
  }
  return names;
}

struct State {
  std::map<std::string, std::string> environment;
  std::vector<std::string> packages;
  std::string_view tar;
};

std::optional<State> read_state(std::string_view bytes) {
  if (!bytes.starts_with(first_line) || bytes.size() < first_line.size() + check_bytes)
    return std::nullopt;
  const std::string_view body = bytes.substr(0, bytes.size() - check_bytes);
  if (check_of(body) != bytes.substr(body.size())) return std::nullopt;
  const std::size_t end = body.find('\n', first_line.size());
  if (end == std::string_view::npos) return std::nullopt;
  const auto read = read_json<Json>(body.substr(first_line.size(), end - first_line.size()), {});
  if (std::holds_alternative<JsonProblem>(read)) return std::nullopt;
  const Json& header = std::get<Json>(read);
  try {
    return State{header.at("environment"), header.at("packages"), body.substr(end + 1)};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
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
  std::vector<std::string> argv{tar_program, "-cf", "-"};
  for (const Mount& mount : sandbox.options().mounts)
    argv.push_back("--exclude=" + mount.guest_path.substr(1));
  argv.insert(argv.end(), {"-C", "/", "--null", "-T", "-"});
  CLOCHE_ASSIGN(const std::string tar,
                run_tar(sandbox, std::move(argv), limit_bytes, message, user_files(sandbox)));
  const Json header = {{"environment", sandbox.environment()},
                       {"packages", installed_packages(sandbox)}};
  std::string state(first_line);
  state += header.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  state += tar;
  state += check_of(state);
  return state;
}

Result<std::unique_ptr<Sandbox>> import_state(Engine& engine, const SandboxOptions& given,
                                              std::string_view bytes, std::string* message) {
  const std::optional<State> state = read_state(bytes);
  if (!state) {
    if (message) *message = "this is no state of a sandbox, or it is damaged";
    return Errno::inval;
  }
  SandboxOptions options = given;
  options.environment = state->environment;
  options.packages = state->packages;
  std::unique_ptr<Sandbox> sandbox;
  try {
    sandbox = engine.create(options);
  } catch (const std::exception& problem) {
    if (message) *message = problem.what();
    return Errno::inval;
  }
  CLOCHE_TRY(unpack(*sandbox, "/", std::string(state->tar), message));
  return sandbox;
}

}  // namespace cloche
