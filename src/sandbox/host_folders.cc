// SPDX-License-Identifier: Apache-2.0
#include "sandbox/host_folders.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/guest_folders.h"
#include "base/host_error.h"
#include "sandbox/environment_number.h"
#include "wasm/cache_folder.h"

namespace cloche::sandbox {
namespace {

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

// The folder of the shared library that this code is linked into; empty for a program's own code.
std::filesystem::path library_folder() {
  Dl_info found{};
  static const char here = 0;
  if (::dladdr(&here, &found) == 0 || found.dli_fname == nullptr) return {};
  // Of a program it is the name that it was called by.
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(found.dli_fname, error);
  const bool is_library = file.filename().string().find(".so") != std::string::npos;
  return error || !is_library ? std::filesystem::path() : file.parent_path();
}

}  // namespace

std::filesystem::path default_cache_folder() {
  if (auto given = from_environment("CLOCHE_CACHE"); !given.empty()) return given;
  if (auto caches = from_environment("XDG_CACHE_HOME"); !caches.empty()) return caches / "cloche";
  if (auto home = from_environment("HOME"); !home.empty()) return home / ".cache" / "cloche";
  return {};
}

Result<std::filesystem::path, Error> usable_cache_folder() {
  std::filesystem::path folder = default_cache_folder();
  if (folder.empty())
    return HostError("there is no cache folder: set CLOCHE_CACHE, or HOME", Errno::noent);
  if (!from_environment("CLOCHE_CACHE").empty()) return folder;
  try {
    wasm::prepare_cache_folder(folder / "modules");
  } catch (const HostError& problem) {
    return problem;
  }
  return folder;
}

void keep_guest_folders_in(const std::filesystem::path& cache) {
  if (!cache.empty()) guest_folders().keep_in(cache / "guest_folders");
}

std::uint64_t default_wheel_cache_bytes() {
  constexpr std::uint64_t usual_mib = 1024, most_mib = std::uint64_t{1} << 30;
  const auto mib = environment_number(
      "CLOCHE_WHEEL_CACHE", most_mib,
      "is no number of MiB: say how much fetched wheels may take, or 0 for none");
  return mib.value_or(usual_mib) << 20;
}

std::vector<std::filesystem::path> system_folders_near(const std::filesystem::path& folder) {
  const std::filesystem::path prefix = folder.parent_path();
  return {prefix / "rootfs", prefix / "lib" / "cloche" / "rootfs", folder / "cloche" / "rootfs",
          prefix / "cloche" / "rootfs"};
}

std::filesystem::path default_system_folder() {
  if (auto given = from_environment("CLOCHE_ROOTFS"); !given.empty()) return given;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::filesystem::path> candidates = system_folders_near(program.parent_path());
  if (const auto folder = library_folder(); !folder.empty()) {
    for (auto& near : system_folders_near(folder)) candidates.push_back(std::move(near));
  }
  candidates.emplace_back("/usr/local/lib/cloche/rootfs");
  candidates.emplace_back("/usr/lib/cloche/rootfs");
  for (const auto& candidate : candidates) {
    if (std::filesystem::exists(candidate / "system.index", error)) return candidate;
  }
  throw HostError(
      "the guests' system is not found beside this program: run `make`, or set CLOCHE_ROOTFS to "
      "its folder");
}

std::filesystem::path default_compiler_program(const std::filesystem::path& system_folder) {
  return default_helper_program("cloche-compile", system_folder);
}

std::filesystem::path default_helper_program(const char* name,
                                             const std::filesystem::path& system_folder) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path tree = std::filesystem::absolute(system_folder, error).parent_path();
  const std::filesystem::path beside = program.parent_path();
  for (const auto& candidate :
       {beside / name, beside.parent_path() / "bin" / name, tree / name, tree / "bin" / name}) {
    if (std::filesystem::exists(candidate, error)) return candidate;
  }
  return {};
}

std::filesystem::path default_runsc(const std::filesystem::path& system_folder) {
  if (const char* const named = std::getenv("CLOCHE_RUNSC"); named != nullptr && *named != '\0')
    return named;
  if (std::filesystem::path beside = default_helper_program("runsc", system_folder);
      !beside.empty())
    return beside;
  std::error_code error;
  const std::filesystem::path cache = default_cache_folder();
  if (const auto made = cache / "gvisor" / "runsc";
      !cache.empty() && std::filesystem::exists(made, error))
    return made;
  const char* const folders = std::getenv("PATH");
  std::string_view rest(folders == nullptr ? "" : folders);
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    const auto found = std::filesystem::path(folder) / "runsc";
    if (folder.starts_with('/') && std::filesystem::exists(found, error)) return found;
  }
  return {};
}

}  // namespace cloche::sandbox
