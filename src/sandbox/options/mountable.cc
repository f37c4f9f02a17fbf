// SPDX-License-Identifier: Apache-2.0
#include "sandbox/options/mountable.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"

namespace cloche::sandbox {

void need_mountable(const std::filesystem::path& path, std::string_view name) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status) || std::filesystem::is_regular_file(status)) return;
  throw request_error(fmt::format("{}: '{}' is neither a folder nor a regular file of this machine",
                                  name, path.string()),
                      Errno::noent);
}

}  // namespace cloche::sandbox
