// SPDX-License-Identifier: Apache-2.0
#include "sandbox/host_needs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "base/folder_names.h"
#include "base/guest_folders.h"
#include "base/host_error.h"
#include "sandbox/engine_state.h"
#include "sandbox/native/native_parts.h"
#include "sandbox/options/mountable.h"

namespace cloche::sandbox {
namespace {

namespace fs = std::filesystem;

// The compiler of what guests bring, its libraries beside it, and a loader that came along (a wheel).
void add_compiler(JailRules& rules, const fs::path& program) {
  if (program.empty()) return;
  const fs::path folder = program.parent_path();
  const fs::path libraries = folder.parent_path() / "lib";
  rules.readable.insert(rules.readable.end(), {folder, libraries});
  for (fs::path& file : program_files(program)) rules.executable.push_back(std::move(file));
  const auto names = folder_names(libraries);
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.starts_with("ld-linux")) rules.executable.push_back(libraries / name);
  }
}

}  // namespace

void add_needs(JailRules& rules, EngineOptions& options) {
  options = with_defaults(std::move(options));
  rules.readable.insert(rules.readable.end(), {options.system_folder, options.code_folder});
  if (!options.cache_folder.empty()) {
    // In the jail nobody can make it. Who uses it says what is wrong.
    std::error_code error;
    std::filesystem::create_directories(options.cache_folder, error);
    rules.writable.push_back(options.cache_folder);
  }
  add_compiler(rules, options.compiler_program);
}

void begin_natives(JailRules& rules, EngineOptions& options) {
  options.natives = std::make_shared<NativeParts>(options.system_folder);
  native::WardenGate gate{.mounts = {}, .images = images::default_image_folder()};
  try {
    gate.runsc = options.natives->runsc();
  } catch (const HostError&) {
    // who asks for isolation=gvisor is told
  }
  for (const fs::path& path : rules.readable) gate.mounts.push_back({path, true});
  for (const fs::path& path : rules.writable) gate.mounts.push_back({path, false});
  const bool has_all = std::ranges::find(rules.writable, fs::path("/")) != rules.writable.end();
  options.natives->warden().begin(has_all ? std::nullopt : std::optional(std::move(gate)));
  rules.readable.push_back(images::default_image_folder());
}

std::string trouble_of_natives(const EngineOptions& options) {
  return options.natives ? options.natives->warden().trouble() : std::string();
}

void watch_natives(const EngineOptions& options, std::function<void()> ended) {
  if (options.natives) options.natives->warden().on_end(std::move(ended));
}

void add_needs(JailRules& rules, const SandboxOptions& options) {
  note_guest_folders(options.mounts);
  for (const Mount& mount : options.mounts) {
    // The jail is not to open what an earlier guest's link leads to. What is missing is told later.
    if (const auto found = guest_folders().open(mount.host_path);
        !found && found.error() == Errno::acces)
      throw found.error();
    auto& paths = mount.access == Mount::Access::read_only ? rules.readable : rules.writable;
    paths.emplace_back(mount.host_path);
  }
  if (!options.image.empty() && options.engine == EngineKind::wasm)
    rules.readable.emplace_back(options.image);
  if (!options.program_folder.empty()) rules.readable.push_back(options.program_folder);
}

}  // namespace cloche::sandbox
