// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/by_root.h"

#include <chrono>

namespace cloche::e2b {
namespace {

constexpr std::chrono::seconds patience{10};

}  // namespace

std::string first_missing(const Files& files, const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != path.npos; end = path.find('/', end + 1)) {
    std::string folder = path.substr(0, end);
    if (!files.stat(folder)) return folder;
  }
  return path;
}

void give_to(Sandbox& sandbox, const Actor& actor, const std::string& path) {
  RunOptions run;
  run.argv = {"chown", "-hR", actor.name + ":" + actor.name, "--", path};
  run.account = Account::root;
  run.timeout = patience;
  (void)sandbox.run(run);  // where it cannot be, it is there all the same
}

}  // namespace cloche::e2b
