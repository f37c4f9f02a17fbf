// SPDX-License-Identifier: Apache-2.0
// What tests of saved sessions share: an engine without programs, and a folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/faulty_files_testing.h"
#include "base/temp_dir_testing.h"
#include "cloche/engine.h"

namespace cloche::session {

class TestFolder : public TempDir {
 public:
  std::filesystem::path operator/(const std::string& name) const { return path() / name; }
  std::set<std::string> names() const;
};

// Its sandboxes have files and no program.
Engine& bare_engine();

}  // namespace cloche::session
