// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/doctor.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

namespace cloche::cli {
namespace {

using Kind = Finding::Kind;

// One on which nothing is left to wish for.
Machine fine_machine() {
  Machine machine;
  machine.kernel = "6.12.0";
  machine.architecture = "x86_64";
  machine.cpu_level = 3;
  machine.cpus = 8;
  machine.memory_bytes = machine.available_bytes = std::uint64_t{16} << 30;
  machine.mappings = 65530;
  machine.huge_pages = "madvise";
  machine.has_pagemap = machine.has_pagemap_scan = machine.has_openat2 = true;
  machine.has_authorities = true;
  return machine;
}

Finding of(const std::vector<Finding>& findings, std::string_view name) {
  for (const Finding& finding : findings) {
    if (finding.name == name) return finding;
  }
  ADD_FAILURE() << "there is no finding " << name;
  return {};
}

TEST(Doctor, AFineMachineNeedsNoAdvice) {
  for (const Finding& finding : examine(fine_machine())) {
    EXPECT_TRUE(finding.kind == Kind::good || finding.kind == Kind::fact) << finding.name;
    EXPECT_EQ(finding.advice, "") << finding.name;
    EXPECT_NE(finding.said, "") << finding.name;
  }
}

TEST(Doctor, EachLackIsNamedWithWhatToDo) {
  struct Case {
    const char* name;
    Kind kind;
    std::function<void(Machine&)> spoil;
  };
  const Case cases[] = {
      {"processor", Kind::problem, [](Machine& m) { m.cpu_level = 1; }},
      {"processor", Kind::note, [](Machine& m) { m.cpu_level = 2; }},
      {"processor", Kind::problem,
       [](Machine& m) {
         m.architecture = "riscv64";
         m.cpu_level = 0;
       }},
      {"memory", Kind::note, [](Machine& m) { m.memory_bytes = 900 << 20; }},
      {"memory", Kind::note, [](Machine& m) { m.group_memory_bytes = 512 << 20; }},
      {"address space", Kind::problem, [](Machine& m) { m.address_space = 8ULL << 30; }},
      {"address space", Kind::note, [](Machine& m) { m.address_space = 64ULL << 30; }},
      {"overcommit", Kind::note, [](Machine& m) { m.overcommit = 2; }},
      {"mappings", Kind::note, [](Machine& m) { m.mappings = 4096; }},
      {"open files", Kind::note, [](Machine& m) { m.open_files = 1024; }},
      {"processes", Kind::note, [](Machine& m) { m.processes = 100; }},
      {"processes", Kind::note, [](Machine& m) { m.group_processes = 100; }},
      {"page scan", Kind::note, [](Machine& m) { m.has_pagemap_scan = false; }},
      {"page scan", Kind::note, [](Machine& m) { m.has_pagemap = m.has_pagemap_scan = false; }},
      {"mounts", Kind::problem, [](Machine& m) { m.has_openat2 = false; }},
      {"huge pages", Kind::note, [](Machine& m) { m.huge_pages = "always"; }},
      {"authorities", Kind::note, [](Machine& m) { m.has_authorities = false; }},
  };
  for (const Case& one : cases) {
    Machine machine = fine_machine();
    one.spoil(machine);
    const std::vector<Finding> findings = examine(machine);
    EXPECT_EQ(of(findings, one.name).kind, one.kind) << one.name;
    EXPECT_NE(of(findings, one.name).advice, "") << one.name;
    EXPECT_EQ(all_well(findings), one.kind != Kind::problem) << one.name;
  }
}

TEST(Doctor, WithoutACacheFolderSandboxesRun) {
  const Finding finding = examine_lack_of_cache(Error(ErrorKind::host, Errno::noent, "none"));
  EXPECT_EQ(finding.kind, Kind::note);
  EXPECT_EQ(finding.said, "none");
  EXPECT_NE(finding.advice, "");
}

TEST(Doctor, AnotherProcessorHasNoLevel) {
  Machine machine = fine_machine();
  machine.architecture = "aarch64";
  machine.cpu_level = 0;
  EXPECT_EQ(of(examine(machine), "processor").kind, Kind::good);
}

TEST(Doctor, ACacheFolderIsToBeWrittenToAndExecuted) {
  CacheFolder cache{.path = "c", .problem = {}, .free_bytes = std::uint64_t{9} << 30};
  EXPECT_EQ(examine(cache).kind, Kind::good);
  cache.free_bytes = 1 << 20;
  EXPECT_EQ(examine(cache).kind, Kind::note);
  cache.can_execute = false;
  EXPECT_EQ(examine(cache).kind, Kind::problem);
  cache = {.path = "c", .problem = "c is not a folder"};
  EXPECT_EQ(examine(cache).said, "c is not a folder");
}

TEST(Doctor, LooksAtACacheFolderThatIsNotThereYet) {
  const std::filesystem::path above =
      std::filesystem::path(::testing::TempDir()) / ("doctor-" + std::to_string(::getpid()));
  const CacheFolder absent = look_at_cache(above / "a" / "b");
  EXPECT_EQ(absent.problem, "");
  EXPECT_EQ(absent.used_bytes, 0U);
  EXPECT_GT(absent.free_bytes, 0U);
  std::filesystem::create_directories(above / "deep");
  std::ofstream(above / "deep" / "file") << std::string(5000, 'x');
  EXPECT_EQ(look_at_cache(above).used_bytes, 5000U);
  EXPECT_THAT(look_at_cache(above / "deep" / "file").problem, ::testing::HasSubstr("not a folder"));
  EXPECT_THAT(look_at_cache(above / "deep" / "file" / "x").problem,
              ::testing::HasSubstr("not a folder"));
  std::filesystem::remove_all(above);
}

TEST(Doctor, LooksAtThisMachine) {
  const Machine machine = look_at_machine();
  EXPECT_NE(machine.kernel, "");
  EXPECT_GE(machine.cpus, 1U);
  EXPECT_GT(machine.memory_bytes, 0U);
  EXPECT_LE(machine.available_bytes, machine.memory_bytes);
  EXPECT_GT(machine.open_files, 0U);
  EXPECT_LE(machine.open_files, machine.open_files_hard);
}

TEST(Doctor, SpeaksToPeopleAndToPrograms) {
  const std::vector<Finding> findings{{Kind::good, "memory", "16 GiB", ""},
                                      {Kind::problem, "cache folder", "\xff is odd", "Do it."}};
  EXPECT_THAT(as_text(findings), ::testing::HasSubstr("problem  cache folder    \xff is odd\n"
                                                      "                         Do it.\n"));
  EXPECT_THAT(as_text(findings), ::testing::HasSubstr("1 of these must be changed."));
  const auto json = nlohmann::json::parse(as_json(findings));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["findings"][0]["kind"], "ok");
  EXPECT_EQ(json["findings"][1]["advice"], "Do it.");
}

}  // namespace
}  // namespace cloche::cli
