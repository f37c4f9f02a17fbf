// SPDX-License-Identifier: Apache-2.0
#include "session/saved_state_testing.h"

namespace cloche::session {

std::set<std::string> TestFolder::names() const {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path()))
    names.insert(entry.path().filename().string());
  return names;
}

Engine& bare_engine() {
  static const TestFolder folder;
  static Engine engine([] {
    std::filesystem::create_directories(folder / "system");
    folder.write("system/system.index", "cloche-system 2\nd\t755\tusr/bin\n");
    EngineOptions options;
    options.system_folder = folder / "system";
    options.cache_folder = folder / "cache";
    options.wheel_cache_bytes = 0;
    return options;
  }());
  return engine;
}

}  // namespace cloche::session
