// SPDX-License-Identifier: Apache-2.0
#include "native/host/test_image_testing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cloche/error.h"
#include "native/warden/identity.h"

namespace cloche::native {
namespace {

namespace fs = std::filesystem;

fs::path make_test_image() {
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("cloche-test-image-{}", ::getuid());
  if (fs::exists(folder)) return folder;
  const fs::path part = folder.string() + fmt::format("-{}", ::getpid());
  fs::create_directories(part);
  const std::string command = fmt::format("sh '{}' '{}' {} >/dev/null 2>&1", CLOCHE_IMAGE_SCRIPT,
                                          part.string(), warden::box_user);
  const int status = std::system(command.c_str());
  std::error_code error;
  if (status == 0) fs::rename(part, folder, error);
  if (fs::exists(part)) fs::remove_all(part, error);
  return fs::exists(folder) ? folder : fs::path();
}

}  // namespace

const fs::path& test_image() {
  static const fs::path image = make_test_image();
  return image;
}

bool test_image_has_python() { return fs::exists(test_image() / "usr/bin/python3"); }

fs::path warden_program() {
  return fs::canonical("/proc/self/exe").parent_path() / "cloche-warden";
}

const std::string& no_boxes_here() {
  static const std::string reason = []() -> std::string {
    if (test_image().empty()) return "no image for tests can be made of this machine's programs";
    try {
      const UniqueFd image(::open(test_image().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      Warden warden(warden_program());
      (void)warden.make({.image = image.get()});
    } catch (const Error& problem) {
      return problem.what();
    }
    return {};
  }();
  return reason;
}

}  // namespace cloche::native
