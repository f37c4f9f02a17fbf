// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cloche/engine.h"
#include "cloche/version.h"
#include "doors/cli/commands.h"
#include "doors/cli/support.h"
#include "sandbox/host_folders.h"
#include "sandbox/native/trial.h"

namespace cloche::cli {
namespace {

using Kind = Finding::Kind;

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t gib = 1 << 30;

std::string size_text(std::uint64_t bytes) {
  if (bytes == unlimited) return "no limit";
  if (bytes >= 10 * gib) return fmt::format("{} GiB", bytes / gib);
  if (bytes >= gib)
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(gib));
  return fmt::format("{} MiB", bytes / mib);
}

std::string count_text(std::uint64_t count) {
  return count == unlimited ? "no limit" : std::to_string(count);
}

Finding processor(const Machine& machine) {
  const std::string cpus =
      fmt::format("{} {}", machine.cpus, machine.cpus == 1 ? "processor" : "processors");
  if (machine.architecture == "aarch64") return {Kind::good, "processor", "aarch64, " + cpus, {}};
  if (machine.cpu_level == 0)
    return {Kind::problem, "processor", machine.architecture + ", " + cpus,
            "Cloche runs on x86-64 and aarch64."};
  const std::string said = fmt::format("x86-64-v{}, {}", machine.cpu_level, cpus);
  if (machine.cpu_level >= 3) return {Kind::good, "processor", said, {}};
  if (machine.cpu_level == 2)
    return {Kind::note, "processor", said,
            "Machine code that is shipped wants x86-64-v3 (AVX2), so programs are compiled here at "
            "their first use; `cloche prepare` does that now, once."};
  return {Kind::problem, "processor", said,
          "The programs of the sandbox use SIMD, which wants x86-64-v2 (SSE4.2) at least."};
}

Finding memory(const Machine& machine) {
  const std::uint64_t most = std::min(machine.memory_bytes, machine.group_memory_bytes);
  std::string said = fmt::format("{}, {} available", size_text(most),
                                 size_text(std::min(machine.available_bytes, most)));
  if (machine.group_memory_bytes < machine.memory_bytes) said += " (limit of the control group)";
  if (most < gib)
    return {Kind::note, "memory", said,
            "One sandbox may take 1 GiB: give less by --memory, or this machine more."};
  return {Kind::good, "memory", said, {}};
}

Finding overcommit(const Machine& machine) {
  constexpr int strict = 2;
  const std::string said = fmt::format("vm.overcommit_memory is {}", machine.overcommit);
  if (machine.overcommit != strict) return {Kind::good, "overcommit", said, {}};
  return {Kind::note, "overcommit", said,
          "Memory that a sandbox could write to is counted before it is written, so few sandboxes "
          "fit: sysctl vm.overcommit_memory=0"};
}

Finding address_space(const Machine& machine) {
  constexpr std::uint64_t least = 16 * gib;  // as the engine has it
  if (machine.address_space == unlimited) return {Kind::good, "address space", "no limit", {}};
  return {machine.address_space < least ? Kind::problem : Kind::note, "address space",
          size_text(machine.address_space),
          "Each process of a sandbox reserves 4 GiB of addresses: ulimit -v unlimited"};
}

Finding mappings(const Machine& machine) {
  constexpr std::uint64_t usual = 65530;
  if (machine.mappings == 0) return {Kind::fact, "mappings", "not known", {}};
  const std::string said = fmt::format("vm.max_map_count is {}", machine.mappings);
  if (machine.mappings >= usual) return {Kind::good, "mappings", said, {}};
  return {Kind::note, "mappings", said,
          "Each process of a sandbox has some tens of mappings: sysctl vm.max_map_count=262144"};
}

Finding open_files(const Machine& machine) {
  constexpr std::uint64_t enough = 4096;
  std::string said = count_text(machine.open_files);
  if (machine.open_files >= enough) return {Kind::good, "open files", said, {}};
  if (machine.open_files_hard > machine.open_files)
    said += fmt::format(" (up to {})", count_text(machine.open_files_hard));
  return {Kind::note, "open files", said,
          "Sandboxes and connections of a server have some descriptors each: ulimit -n 65536, or "
          "LimitNOFILE=65536 of its service."};
}

Finding processes(const Machine& machine) {
  constexpr std::uint64_t enough = 1024;
  const std::uint64_t most = std::min(machine.processes, machine.group_processes);
  std::string said = count_text(most);
  if (machine.group_processes < machine.processes) said += " (limit of the control group)";
  if (most >= enough) return {Kind::good, "processes", said, {}};
  return {Kind::note, "processes", said,
          "Each running process of a sandbox is a thread of this one: ulimit -u 4096, or "
          "TasksMax=infinity of its service, or --pids-limit of its container."};
}

Finding scan(const Machine& machine) {
  if (machine.has_pagemap_scan) return {Kind::good, "page scan", "PAGEMAP_SCAN", {}};
  if (machine.has_pagemap)
    return {Kind::note, "page scan", "/proc/self/pagemap, without PAGEMAP_SCAN",
            "Forks of large sandboxes look at every page; Linux 6.7 and later do that faster."};
  return {Kind::note, "page scan", "none: /proc/self/pagemap cannot be read",
          "Forks copy more than they need to: mount /proc with this process's own folder "
          "readable."};
}

Finding mounts(const Machine& machine) {
  if (machine.has_openat2) return {Kind::good, "mounts", "openat2", {}};
  return {Kind::problem, "mounts", "no openat2",
          "Folders of this machine cannot be mounted safely: Linux 5.6 or later has it, and a "
          "container's seccomp profile must let it pass."};
}

Finding huge_pages(const Machine& machine) {
  if (machine.huge_pages.empty()) return {Kind::fact, "huge pages", "none", {}};
  if (machine.huge_pages != "always") return {Kind::good, "huge pages", machine.huge_pages, {}};
  return {Kind::note, "huge pages", machine.huge_pages,
          "Each sandbox may take memory by 2 MiB where it needs 4 KiB: echo madvise "
          ">/sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding authorities(const Machine& machine) {
  if (machine.has_authorities) return {Kind::good, "authorities", "certificates are there", {}};
  return {Kind::note, "authorities", "none",
          "TLS connections of sandboxes fail, where nobody names certificates: install "
          "ca-certificates, or set SSL_CERT_FILE."};
}

// What could confine this program itself. Cloche asks for none of it.
std::string walls(const Machine& machine) {
  return fmt::format(
      "Landlock {}, seccomp {}, user namespaces {}",
      machine.landlock_abi > 0 ? fmt::format("ABI {}", machine.landlock_abi) : "absent",
      machine.has_seccomp ? "yes" : "absent",
      machine.has_user_namespaces ? "yes" : "not for this user");
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::good: return "ok";
    case Kind::fact: return "fact";
    case Kind::note: return "note";
    case Kind::problem: return "problem";
  }
  return "problem";
}

Finding guests_system(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder / "system.index", error))
    return {Kind::problem, "guests' system", folder.string() + " has none",
            "Run `make` to build it, or say by CLOCHE_ROOTFS where it is."};
  return {Kind::good, "guests' system", folder.string(), {}};
}

Finding machine_code(const std::filesystem::path& shipped, const CacheFolder& cache) {
  std::error_code error;
  if (std::filesystem::exists(shipped, error))
    return {Kind::good, "machine code", "shipped in " + shipped.string(), {}};
  if (cache.path.empty())
    return {Kind::note, "machine code", "none is kept", "Each process compiles what it runs."};
  if (cache.used_bytes > 0) return {Kind::good, "machine code", "in the cache folder", {}};
  return {Kind::note, "machine code", "none yet",
          "The first sandboxes wait while programs are compiled; `cloche prepare` does that now, "
          "once."};
}

// The proof: a command in a sandbox.
Finding first_command() {
  try {
    Engine engine(engine_options());
    const auto start = std::chrono::steady_clock::now();
    RunOptions command;
    command.script = "echo hello | tr a-z A-Z";
    const RunResult result = engine.create({})->run(command);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (result.exit_code == 0 && result.stdout_data == "HELLO\n")
      return {Kind::good, "sandbox", fmt::format("a command ran in {:.1f} ms", took.count()), {}};
    return {Kind::problem, "sandbox",
            fmt::format("a command ended with {} {}", result.exit_code,
                        result.reason + result.stderr_data),
            "See the findings above; `cloche run --trace-syscalls true` shows what it did."};
  } catch (const std::exception& problem) {
    return {Kind::problem, "sandbox", problem.what(), "See the findings above."};
  }
}

// The proof for native sandboxes: a box.
void try_box(const std::filesystem::path& system, std::vector<Finding>& findings) {
  const sandbox::NativeTrial trial = sandbox::try_native_sandbox(system);
  if (!trial.problem.empty()) {
    findings.push_back({Kind::note, "linux engine", "not here", trial.problem});
    return;
  }
  findings.push_back({Kind::good, "linux engine", "a box was made", {}});
  const sandbox::NativeTrial behind_gvisor = sandbox::try_native_sandbox(system, Isolation::gvisor);
  if (behind_gvisor.problem.empty()) {
    findings.push_back({Kind::good, "isolation=gvisor", "a box was made behind gVisor", {}});
  } else {
    findings.push_back({Kind::note, "isolation=gvisor", "not here", behind_gvisor.problem});
  }
  if (trial.grouped.empty()) {
    findings.push_back(
        {Kind::fact, "box limits", "no control group: Cloche itself watches memory", {}});
  } else {
    findings.push_back({Kind::good,
                        "box limits",
                        fmt::format("control groups hold {}", fmt::join(trial.grouped, ", ")),
                        {}});
  }
}

}  // namespace

std::vector<Finding> examine(const Machine& machine) {
  return {{Kind::fact, "kernel", "Linux " + machine.kernel, {}},
          processor(machine),
          memory(machine),
          address_space(machine),
          overcommit(machine),
          mappings(machine),
          open_files(machine),
          processes(machine),
          scan(machine),
          mounts(machine),
          huge_pages(machine),
          {Kind::fact, "walls", walls(machine), {}},
          authorities(machine)};
}

Finding examine(const CacheFolder& cache) {
  constexpr std::uint64_t least_free = 2 * gib;  // machine code of all programs, images beside it
  const std::string said = fmt::format("{}: {} used, {} free", cache.path.string(),
                                       size_text(cache.used_bytes), size_text(cache.free_bytes));
  const std::string other = "name another folder by CLOCHE_CACHE";
  if (!cache.problem.empty())
    return {Kind::problem, "cache folder", cache.problem, "Mend that, or " + other + "."};
  if (!cache.can_execute)
    return {Kind::problem, "cache folder", said + ", mounted noexec",
            "Machine code is mapped from it: " + other + "."};
  if (cache.free_bytes < least_free)
    return {Kind::note, "cache folder", said,
            "Machine code and images may take 2 GiB: make room, or " + other + "."};
  return {Kind::good, "cache folder", said, {}};
}

Finding examine_lack_of_cache(const Error& why) {
  return {Kind::note, "cache folder", std::string(why.sentence()),
          "Sandboxes run without one, and nothing that is compiled is kept: mend that, or name "
          "another folder by CLOCHE_CACHE."};
}

bool all_well(const std::vector<Finding>& findings) {
  return std::ranges::none_of(findings,
                              [](const Finding& finding) { return finding.kind == Kind::problem; });
}

std::string as_text(const std::vector<Finding>& findings) {
  std::string text = fmt::format("cloche {}\n\n", version);
  for (const Finding& finding : findings) {
    fmt::format_to(std::back_inserter(text), "{:<8} {:<15} {}\n", name_of(finding.kind),
                   finding.name, finding.said);
    if (!finding.advice.empty())
      fmt::format_to(std::back_inserter(text), "{:<24} {}\n", "", finding.advice);
  }
  const auto notes = std::ranges::count(findings, Kind::note, &Finding::kind);
  const auto problems = std::ranges::count(findings, Kind::problem, &Finding::kind);
  fmt::format_to(std::back_inserter(text), "\n{}\n",
                 problems != 0 ? fmt::format("{} of these must be changed.", problems)
                 : notes != 0
                     ? fmt::format("Sandboxes run here; {} of these could be better.", notes)
                     : std::string("Sandboxes run here."));
  return text;
}

std::string as_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    list.push_back({{"kind", name_of(finding.kind)},
                    {"name", finding.name},
                    {"said", finding.said},
                    {"advice", finding.advice}});
  const nlohmann::ordered_json all{
      {"ok", all_well(findings)}, {"version", version}, {"findings", std::move(list)}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int doctor_command(const Options& options) {
  std::vector<Finding> findings = examine(look_at_machine());
  const std::filesystem::path system = sandbox::default_system_folder();
  const Result<std::filesystem::path, Error> usable = sandbox::usable_cache_folder();
  const CacheFolder cache = usable ? look_at_cache(*usable) : CacheFolder{};
  findings.push_back(guests_system(system));
  findings.push_back(usable ? examine(cache) : examine_lack_of_cache(usable.error()));
  findings.push_back(machine_code(system.parent_path() / "code", cache));
  // A machine that lacks something would fail here in its own words; the finding above has better ones.
  if (all_well(findings)) findings.push_back(first_command());
  try_box(system, findings);
  const bool json = options.list_format == ListFormat::json;
  fmt::print("{}", json ? as_json(findings) : as_text(findings));
  return all_well(findings) ? 0 : 1;
}

}  // namespace cloche::cli
