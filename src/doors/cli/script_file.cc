// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/script_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/errno.h"
#include "base/guest_folders.h"
#include "base/host_error.h"
#include "base/read_fully.h"
#include "base/unique_fd.h"

namespace cloche::cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;

// Whether a path of the sandbox is something that is mounted there, or in it.
bool is_mounted(const std::vector<Mount>& mounts, const std::filesystem::path& path) {
  return std::ranges::any_of(mounts, [&](const Mount& mount) {
    const std::filesystem::path at =
        std::filesystem::path(mount.guest_path).lexically_normal() / "";
    return (path / "").string().starts_with(at.string());
  });
}

// In a folder that guests may write to an earlier one may have put a link in its place, to have what
// this one is given, or a pipe, to keep it waiting.
UniqueFd open_script(const std::string& path) {
  Result<UniqueFd, HostError> file = guest_folders().open_to_read(path);
  if (!file)
    throw HostError("cannot read " + std::string(file.error().sentence()), file.error().code());
  return *std::move(file);
}

}  // namespace

std::string read_script(const std::string& path) {
  const bool is_input = path == "-";
  const std::string name = is_input ? "the script on standard input" : path;
  const UniqueFd file = is_input ? UniqueFd() : open_script(path);
  Result<std::string> content = read_fully(is_input ? STDIN_FILENO : file.get(), most_bytes);
  if (content) return *std::move(content);
  if (content.error() == Errno::fbig)
    throw HostError(
        fmt::format("{} is too long: a script has at most {} MiB", name, most_bytes >> 20));
  throw HostError::from_errno("cannot read " + name, static_cast<int>(content.error()));
}

std::vector<std::string> place_script(Sandbox& sandbox, const std::vector<Mount>& mounts,
                                      const std::string& path, const std::string& content) {
  const std::string name =
      path == "-" ? std::string("script") : std::filesystem::path(path).filename().string();
  const std::array<std::filesystem::path, 3> folders{"/tmp", "/var/tmp", "/run/user"};
  const auto* const folder = std::ranges::find_if(
      folders, [&](const auto& candidate) { return !is_mounted(mounts, candidate / name); });
  if (folder == folders.end())
    throw HostError("the script has no place in the sandbox: /tmp is mounted, and so are its like");
  const std::string place = *folder / name;
  if (const Result<void> written = sandbox.files().write(place, content, 0755); !written)
    throw HostError(fmt::format("cannot put the script into the sandbox: {}",
                                errno_info(written.error()).message));
  using namespace std::string_view_literals;
  if (content.starts_with("#!") || content.starts_with("\0asm"sv)) return {place};
  return {"bash", place};
}

}  // namespace cloche::cli
