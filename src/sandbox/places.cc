#include "sandbox/places.h"

#include <cstdlib>

#include "base/host_error.h"

namespace cloche::detail {
namespace {

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

}  // namespace

std::filesystem::path default_cache_folder() {
  if (auto given = from_environment("CLOCHE_CACHE"); !given.empty()) return given;
  if (auto caches = from_environment("XDG_CACHE_HOME"); !caches.empty()) return caches / "cloche";
  if (auto home = from_environment("HOME"); !home.empty()) return home / ".cache" / "cloche";
  throw HostError("there is no cache folder: set CLOCHE_CACHE, or HOME");
}

std::filesystem::path default_system_folder() {
  if (auto given = from_environment("CLOCHE_ROOTFS"); !given.empty()) return given;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path prefix = program.parent_path().parent_path();
  for (const auto& candidate : {prefix / "rootfs", prefix / "share" / "cloche" / "rootfs"}) {
    if (std::filesystem::exists(candidate / "system.index", error)) return candidate;
  }
  throw HostError(
      "the guests' system is not found beside this program: run `make`, or set CLOCHE_ROOTFS to "
      "its folder");
}

}  // namespace cloche::detail
