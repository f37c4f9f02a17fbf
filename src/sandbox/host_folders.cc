#include "sandbox/host_folders.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/host_error.h"

namespace cloche::sandbox {
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

std::uint64_t default_wheel_cache_bytes() {
  constexpr std::uint64_t usual_mib = 1024, most_mib = std::uint64_t{1} << 30;
  const char* given = std::getenv("CLOCHE_WHEEL_CACHE");
  if (given == nullptr || *given == '\0') return usual_mib << 20;
  const std::string_view text(given);
  std::uint64_t mib = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mib);
  if (error != std::errc() || end != text.data() + text.size() || mib > most_mib)
    throw HostError("CLOCHE_WHEEL_CACHE=" + std::string(text) +
                    " is no number of MiB: say how much fetched wheels may take, or 0 for none");
  return mib << 20;
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

}  // namespace cloche::sandbox
