// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/trial.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "cloche/error.h"
#include "native/host/warden.h"
#include "native/warden/identity.h"
#include "sandbox/host_folders.h"

namespace cloche::sandbox {
namespace {

// An empty folder is image enough, for nothing is run.
std::string try_box(const std::filesystem::path& folder,
                    const std::filesystem::path& system_folder) {
  if (::geteuid() == 0 && ::chown(folder.c_str(), warden::box_user, warden::box_user) != 0)
    return "a folder cannot be given away: root has not its privileges here";
  const UniqueFd image(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  try {
    native::Warden warden(default_helper_program("cloche-warden", system_folder));
    (void)warden.make({.image = image.get()});
  } catch (const Error& problem) {
    return problem.what();
  }
  return {};
}

}  // namespace

std::string why_no_native_sandboxes(const std::filesystem::path& system_folder) {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / "cloche-trial-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr) return "there is no temporary folder: set TMPDIR";
  std::string reason = try_box(name, system_folder);
  std::filesystem::remove_all(name, error);
  return reason;
}

}  // namespace cloche::sandbox
