// SPDX-License-Identifier: Apache-2.0
// Who asks a registry.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cloche::pull {

struct Credentials {
  std::string user;
  std::string password;

  bool empty() const { return user.empty() && password.empty(); }
};

// Those of a registry in the text of a config.json of Docker: its `auths`, with `auth` or
// `username` and `password`. Programs that it names are not asked. Empty: it has none. Throws Error
// for a text that is no such file.
Credentials read_credentials(std::string_view text, const std::string& registry);

// The file that is used where none is given: $REGISTRY_AUTH_FILE, otherwise config.json in
// $DOCKER_CONFIG or ~/.docker where there is one. Empty: none.
std::filesystem::path default_auth_file();

// $CLOCHE_REGISTRY_USER and $CLOCHE_REGISTRY_PASSWORD; otherwise of `auth_file`; empty: nobody.
// Throws Error where the file cannot be read.
Credentials credentials_for(const std::string& registry, const std::filesystem::path& auth_file);

}  // namespace cloche::pull
