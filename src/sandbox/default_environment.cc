// SPDX-License-Identifier: Apache-2.0
#include "sandbox/default_environment.h"

namespace cloche::sandbox {
namespace {

constexpr const char* path = "/usr/local/bin:/usr/bin:/bin:";  // and the user's own
constexpr const char* native_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::map<std::string, std::string> login_of(const std::string& user, const std::string& home,
                                            std::string folders) {
  return {{"HOME", home},
          {"USER", user},
          {"LOGNAME", user},
          {"SHELL", "/bin/bash"},
          {"PATH", std::move(folders)},
          {"LANG", "C.UTF-8"},
          {"TZ", "UTC"},
          {"TERM", "dumb"},
          {"HOSTNAME", "cloche"}};
}

}  // namespace

std::map<std::string, std::string> default_environment(const SandboxOptions& options) {
  return login_of(options.user, options.home, path + options.home + "/.local/bin");
}

std::map<std::string, std::string> default_native_environment() {
  return login_of("root", "/root", native_path);
}

}  // namespace cloche::sandbox
