// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/trial.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
#include "cloche/error.h"
#include "native/host/warden.h"
#include "native/warden/identity.h"
#include "sandbox/host_folders.h"
#include "sandbox/native/runsc_program.h"

namespace cloche::sandbox {
namespace {

// An empty folder is image enough, for nothing is run.
NativeTrial try_box(const std::filesystem::path& folder, const std::filesystem::path& system_folder,
                    Isolation isolation) {
  if (::geteuid() == 0 && ::chown(folder.c_str(), warden::box_user, warden::box_user) != 0)
    return {.problem = "a folder cannot be given away: root has not its privileges here",
            .grouped = {}};
  const UniqueFd image(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  try {
    native::Warden warden(default_helper_program("cloche-warden", system_folder));
    if (isolation == Isolation::gvisor) {
      const UniqueFd runsc = open_runsc(system_folder);
      (void)warden.make(
          {.image = image.get(), .isolation = warden::Isolation::gvisor, .runsc = runsc.get()});
    } else {
      (void)warden.make({.image = image.get()});
    }
    NativeTrial trial;
    for (const auto& [bit, name] : {std::pair{warden::controllers::memory, "memory"},
                                    {warden::controllers::pids, "processes"},
                                    {warden::controllers::cpu, "shares of processors"}}) {
      if ((warden.controllers() & bit) != 0) trial.grouped.emplace_back(name);
    }
    return trial;
  } catch (const Error& problem) {
    return {.problem = problem.what(), .grouped = {}};
  }
}

}  // namespace

NativeTrial try_native_sandbox(const std::filesystem::path& system_folder, Isolation isolation) {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / "cloche-trial-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    return {.problem = "there is no temporary folder: set TMPDIR", .grouped = {}};
  NativeTrial trial = try_box(name, system_folder, isolation);
  std::filesystem::remove_all(name, error);
  return trial;
}

}  // namespace cloche::sandbox
