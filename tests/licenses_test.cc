// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/licenses.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/host_error.h"
#include "sandbox/base_layer.h"

namespace cloche::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Licenses, EveryProgramThatIsStagedIsListedWithLicenceAndSource) {
  const json list = json::parse(list_licenses(CLOCHE_ROOTFS_DIR, ListFormat::json));
  std::set<std::string> listed;
  std::set<std::string> commands;
  for (const json& program : list["programs"]) {
    listed.insert(program["name"]);
    for (const json& command : program["commands"]) commands.insert(command);
    EXPECT_NE(program["version"], "") << program;
    EXPECT_NE(program["licence"], "") << program;
    EXPECT_EQ(program["source"]["sha256"].get<std::string>().size(), 64U) << program;
    for (const json& part : program["parts"]) EXPECT_NE(part["licence"], "") << part;
  }
  for (const std::filesystem::path& program : sandbox::programs_of_system(CLOCHE_ROOTFS_DIR)) {
    if (program.parent_path().filename() != "bin") continue;
    const std::string name = program.filename();
    EXPECT_TRUE(commands.contains(name) || listed.contains(name)) << program;  // or of many calls
  }
  EXPECT_TRUE(listed.contains("bash"));
  EXPECT_TRUE(listed.contains("python"));
}

TEST(Licenses, PythonPackagesAndLinkedLibrariesAreListed) {
  const json list = json::parse(list_licenses(CLOCHE_ROOTFS_DIR, ListFormat::json));
  std::set<std::string> packages;
  for (const json& package : list["pythonPackages"]) packages.insert(package["name"]);
  EXPECT_TRUE(packages.contains("numpy"));
  std::set<std::string> libraries;
  for (const json& library : list["libraries"]) {
    libraries.insert(library["name"]);
    EXPECT_NE(library["licence"], "") << library;
  }
  EXPECT_TRUE(libraries.contains("musl"));
}

TEST(Licenses, TextNamesLicenceCommandsAndSource) {
  const std::string text = list_licenses(CLOCHE_ROOTFS_DIR, ListFormat::text);
  EXPECT_THAT(text, HasSubstr("bash 5.2.15: GPL-3.0-or-later\n    commands: bash sh\n"));
  EXPECT_THAT(text, HasSubstr("source: Debian package bash, bash_5.2.15.orig.tar.gz"));
  EXPECT_THAT(text, HasSubstr("built by: userland/ports/bash"));
}

TEST(Licenses, AFolderWithoutASystemIsToldSo) {
  try {
    list_licenses("/nonexistent", ListFormat::text);
    FAIL();
  } catch (const HostError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot read /nonexistent/manifest.json"));
  }
}

}  // namespace
}  // namespace cloche::cli
