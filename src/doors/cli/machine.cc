// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <openssl/x509.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/unique_fd.h"
#include "wasm/private_pages.h"

namespace cloche::cli {
namespace {

// The beginning of a small file; empty where it cannot be read.
std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// The number that a text begins with, after spaces.
std::optional<std::uint64_t> number_in(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

// A line "NAME: N kB" of /proc/meminfo.
std::uint64_t meminfo_bytes(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  return number_in(text.substr(at + name.size())).value_or(0) << 10;
}

// The least limit of this process's control group and those above it; "max" is no limit.
std::uint64_t group_limit(const char* name) {
  constexpr std::string_view own_line = "0::";
  const std::string groups = text_of("/proc/self/cgroup");
  const std::size_t at = groups.find(own_line);
  if (at == std::string::npos) return unlimited;
  const std::size_t start = at + own_line.size();
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::filesystem::path path = groups.substr(start, groups.find('\n', start) - start);
  std::uint64_t least = unlimited;
  for (path = path.relative_path();; path = path.parent_path()) {
    least = std::min(least, number_in(text_of(root / path / name)).value_or(unlimited));
    if (path.empty()) return least;
  }
}

int level_of_cpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return 4;
  if (__builtin_cpu_supports("x86-64-v3")) return 3;
  return __builtin_cpu_supports("x86-64-v2") ? 2 : 1;
#else
  return 0;
#endif
}

unsigned cpus_of_process() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

std::uint64_t as_limit(rlim_t value) { return value == RLIM_INFINITY ? unlimited : value; }

void look_at_limits(Machine& machine) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    machine.open_files = as_limit(limit.rlim_cur);
    machine.open_files_hard = as_limit(limit.rlim_max);
  }
  if (getrlimit(RLIMIT_NPROC, &limit) == 0) machine.processes = as_limit(limit.rlim_cur);
  if (getrlimit(RLIMIT_AS, &limit) == 0) machine.address_space = as_limit(limit.rlim_cur);
}

void look_at_pagemap(Machine& machine) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const at = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  *static_cast<volatile char*>(at) = 1;
  std::vector<wasm::PageRun> runs;
  machine.has_pagemap = wasm::read_pagemap(static_cast<std::byte*>(at), page, runs);
  machine.has_pagemap_scan = wasm::scan_private_pages(static_cast<std::byte*>(at), page, runs);
  munmap(at, page);
}

bool may_make_user_namespace() {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void look_at_kernel(Machine& machine) {
  look_at_pagemap(machine);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH;
  const UniqueFd here(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how)));
  machine.has_openat2 = static_cast<bool>(here);
  constexpr unsigned long landlock_version = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, landlock_version);
  machine.landlock_abi = static_cast<int>(std::max(0L, abi));
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  machine.has_seccomp = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
  machine.has_user_namespaces = may_make_user_namespace();
}

// Where OpenSSL looks for the authorities.
bool has_authorities() {
  for (const char* path : {std::getenv(X509_get_default_cert_file_env()),
                           const_cast<char*>(X509_get_default_cert_file()),
                           const_cast<char*>(X509_get_default_cert_dir())}) {
    std::error_code error;
    if (path != nullptr && std::filesystem::exists(path, error) &&
        !std::filesystem::is_empty(path, error))
      return true;
  }
  return false;
}

}  // namespace

Machine look_at_machine() {
  Machine machine;
  utsname names{};
  if (uname(&names) == 0) {
    machine.kernel = names.release;
    machine.architecture = names.machine;
  }
  machine.cpu_level = level_of_cpu();
  machine.cpus = cpus_of_process();
  const std::string memory = text_of("/proc/meminfo");
  machine.memory_bytes = meminfo_bytes(memory, "MemTotal:");
  machine.available_bytes = meminfo_bytes(memory, "MemAvailable:");
  machine.group_memory_bytes = group_limit("memory.max");
  machine.group_processes = group_limit("pids.max");
  const std::filesystem::path vm = "/proc/sys/vm";
  machine.overcommit = static_cast<int>(number_in(text_of(vm / "overcommit_memory")).value_or(0));
  machine.mappings = number_in(text_of(vm / "max_map_count")).value_or(0);
  const std::string huge = text_of("/sys/kernel/mm/transparent_hugepage/enabled");
  if (const std::size_t at = huge.find('['); at != std::string::npos)
    machine.huge_pages = huge.substr(at + 1, huge.find(']', at) - at - 1);
  look_at_limits(machine);
  look_at_kernel(machine);
  machine.has_authorities = has_authorities();
  return machine;
}

std::uint64_t bytes_under(const std::filesystem::path& folder) noexcept {
  std::uint64_t total = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;  // another process may prune
    if (!at->is_regular_file(gone) || gone) continue;
    const std::uint64_t size = at->file_size(gone);
    if (!gone) total += size;
  }
  return total;
}

CacheFolder look_at_cache(const std::filesystem::path& path) {
  CacheFolder folder;
  folder.path = path;
  const std::filesystem::path whole = std::filesystem::absolute(path);
  std::filesystem::path there = whole;  // or what is above it, where it is not there yet
  struct stat status{};
  while (stat(there.c_str(), &status) != 0 && there.has_relative_path())
    there = there.parent_path();
  if (!S_ISDIR(status.st_mode)) {
    folder.problem = fmt::format("{} is not a folder", there.string());
  } else if (access(there.c_str(), W_OK | X_OK) != 0) {
    folder.problem = fmt::format("{} cannot be written to", there.string());
  } else if (there == whole && status.st_uid != geteuid()) {
    folder.problem = fmt::format("{} belongs to another user", there.string());
  }
  struct statvfs space{};
  if (statvfs(there.c_str(), &space) == 0) {
    folder.can_execute = (space.f_flag & ST_NOEXEC) == 0;
    folder.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  }
  if (there == whole) folder.used_bytes = bytes_under(path);
  return folder;
}

}  // namespace cloche::cli
