// SPDX-License-Identifier: Apache-2.0
#include "base/temp_dir_testing.h"

#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "base/host_error.h"

namespace cloche {

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "cloche-test-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw HostError::from_errno("making a temporary folder", errno);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TempDir::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name, std::ios::binary) << content;
}

std::string TempDir::read(const std::string& name) const {
  std::ostringstream out;
  out << std::ifstream(path_ / name, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace cloche
