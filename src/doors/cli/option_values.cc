// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/option_values.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/units.h"

namespace cloche::cli {

std::uint64_t bytes_option(const std::string& name, const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) {
    throw UsageError{name + " wants a number of bytes, such as 268435456, 512K, 256M or 2G; not '" +
                     text + "'"};
  }
  return *bytes;
}

std::pair<std::string, std::string> environment_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw UsageError{"--env wants NAME=VALUE; not '" + text + "'"};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Mount mount_option(std::string text) {
  const std::string given = text;
  Mount mount;
  mount.access = Mount::Access::read_write;
  if (text.ends_with(":ro") || text.ends_with(":rw")) {
    if (text.ends_with(":ro")) mount.access = Mount::Access::read_only;
    text.resize(text.size() - 3);
  }
  const std::size_t colon = text.rfind(":/");
  if (colon == 0 || colon == std::string::npos) {
    throw UsageError{"--mount wants HOST:GUEST or HOST:GUEST:ro, GUEST an absolute path; not '" +
                     given + "'"};
  }
  mount.host_folder = text.substr(0, colon);
  mount.guest_path = text.substr(colon + 1);
  std::error_code error;
  if (!std::filesystem::is_directory(mount.host_folder, error)) {
    throw UsageError{"--mount: '" + mount.host_folder.string() +
                     "' is not a folder of this machine"};
  }
  return mount;
}

CopyOut copy_option(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == text.size()) {
    throw UsageError{"--out wants GUEST:HOST, a file of the sandbox and where to put it; not '" +
                     text + "'"};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

namespace {

std::uint32_t count_option(const std::string& name, const std::string& text) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count == 0)
    throw UsageError{name + " wants a number from 1 on; not '" + text + "'"};
  return count;
}

}  // namespace

void limits_option(const std::string& text, SandboxOptions& to) {
  for (const std::string& limit : split_list(text)) {
    const std::size_t equals = std::min(limit.find('='), limit.size());
    const std::string name = limit.substr(0, equals);
    const std::string value = limit.substr(std::min(equals + 1, limit.size()));
    const std::string shown = "--limits " + name;
    if (name == "memory") {
      to.memory_limit_bytes = bytes_option(shown, value);
    } else if (name == "files") {
      to.file_limit_bytes = bytes_option(shown, value);
    } else if (name == "inodes") {
      to.file_limit_inodes = count_option(shown, value);
    } else if (name == "processes") {
      to.process_limit = count_option(shown, value);
    } else if (name == "open-files") {
      to.open_file_limit = count_option(shown, value);
    } else if (name == "cpus") {
      to.cpus = count_option(shown, value);
    } else {
      throw UsageError{
          "--limits wants NAME=VALUE,... with the names memory, files, inodes, processes, "
          "open-files and cpus; not '" +
          limit + "'"};
    }
  }
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    if (end > start) items.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return items;
}

}  // namespace cloche::cli
