// SPDX-License-Identifier: Apache-2.0
// What a system image says of how its commands start: as in OCI's image configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cloche::images {

struct ImageConfig {
  std::string architecture;              // OCI's name: amd64, arm64; empty: not said
  std::vector<std::string> environment;  // NAME=value
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::string directory;
  std::string user;

  // From OCI's or Docker's configuration, which has "architecture" and "config". Throws Error
  // with one sentence for a text that is none.
  static ImageConfig parse(std::string_view json);
  // As parse() takes it.
  std::string text() const;
};

// OCI's name of this machine's CPU.
std::string_view own_architecture();

}  // namespace cloche::images
