// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_packages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "cloche/run.h"
#include "sandbox/native/native_backend.h"

namespace cloche::sandbox {
namespace {

constexpr std::chrono::minutes patience{10};
constexpr std::size_t most_said = 300;

// Of what pip has said the last line that tells of an error; otherwise the last one.
std::string complaint_of(std::string_view text) {
  std::string_view last, complaint;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty()) last = line;
    if (line.starts_with("ERROR:")) complaint = line.substr(6);
  }
  if (complaint.empty()) complaint = last;
  complaint.remove_prefix(std::min(complaint.find_first_not_of(' '), complaint.size()));
  std::string said(complaint.substr(0, most_said));
  std::ranges::replace_if(said, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return said;
}

Error refusal_of(const RunResult& result) {
  const auto says = [&](std::string_view text) {
    return result.stderr_data.find(text) != std::string::npos;
  };
  if (result.status == RunStatus::timed_out || result.status == RunStatus::killed)
    return {ErrorKind::sandbox, Errno::timedout, "installing packages: " + result.reason};
  constexpr std::string_view remedy = "take an image that has them";
  if (result.exit_code == 127 || says("No module named pip")) {
    return request_error(
        fmt::format("packages are what the image's own pip installs, and it has none: {}", remedy),
        Errno::noent);
  }
  const bool is_unknown = says("No matching distribution found");
  return {
      ErrorKind::sandbox, is_unknown ? Errno::noent : Errno::io,
      fmt::format("pip cannot install them ({}): let the network rules lead to its index, or {}",
                  complaint_of(result.stderr_data), remedy)};
}

}  // namespace

Result<void, Error> install_by_pip(NativeBackend& sandbox, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  RunOptions command;
  command.argv = {"python3", "-m", "pip", "install", "--quiet", "--"};
  for (const std::string& name : names) {
    const bool is_name = !name.empty() && !name.starts_with('-') &&
                         name.find_first_of(std::string_view("\0\n\r", 3)) == std::string::npos;
    if (!is_name) return request_error("'" + name + "' is no name of a package", Errno::inval);
    command.argv.push_back(name);
  }
  command.cwd = "/";
  command.timeout = patience;
  // What the sandbox's environment says of pip wins. A sandbox has no system that others manage.
  const std::map<std::string, std::string> known = sandbox.environment();
  // Where it has nothing to do it changes no file, so that a start is still that of others.
  for (const char* name : {"PIP_BREAK_SYSTEM_PACKAGES", "PIP_DISABLE_PIP_VERSION_CHECK",
                           "PIP_NO_CACHE_DIR", "PIP_NO_INPUT", "PYTHONDONTWRITEBYTECODE"}) {
    if (!known.contains(name)) command.environment[name] = "1";
  }
  if (!known.contains("PIP_ROOT_USER_ACTION"))
    command.environment["PIP_ROOT_USER_ACTION"] = "ignore";
  const RunResult result = sandbox.run(command);
  if (result.status == RunStatus::exited && result.exit_code == 0) return {};
  return refusal_of(result);
}

}  // namespace cloche::sandbox
