// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/licenses.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/host_error.h"
#include "packages/bundle.h"
#include "sandbox/host_folders.h"

namespace cloche::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* parts[] = {"programs", "libraries"};

Json read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "manifest.json";
  std::ifstream file(path);
  if (!file)
    throw HostError("cannot read " + path.string() + ": run `make` to build the guests' system");
  Json manifest = Json::parse(file, nullptr, false);
  if (!manifest.is_object() || !manifest["programs"].is_array())
    throw HostError(path.string() + " is damaged: remove its folder and run `make`");
  return manifest;
}

// "Debian package jq, jq_1.7.1.orig.tar.gz, SHA-256 fc75..."
std::string describe_source(const Json& source) {
  const std::string kind = source.value("kind", "");
  std::string text = kind == "debian"  ? "Debian package "
                     : kind == "pypi"  ? "PyPI wheel "
                     : kind == "crate" ? "Rust crate "
                                       : kind + " ";
  text += source.value("package", "");
  if (source.contains("file")) text += ", " + source["file"].get<std::string>();
  if (source.contains("sha256")) text += ", SHA-256 " + source["sha256"].get<std::string>();
  return text;
}

std::string joined(const Json& words) {
  std::string line;
  for (const Json& word : words) {
    if (!line.empty()) line += ' ';
    line += word.get<std::string>();
  }
  return line;
}

Json python_packages(const std::filesystem::path& folder) {
  Json list = Json::array();
  if (!std::filesystem::exists(folder / "python.bundle")) return list;
  const packages::Bundle bundle(folder / "python.bundle");
  for (const packages::BundledPackage& package : bundle.packages()) {
    list.push_back({{"name", package.name},
                    {"version", package.version},
                    {"licence", package.license},
                    {"source", package.home_page}});
  }
  return list;
}

void add_entry(std::string& text, const Json& entry) {
  text += fmt::format("{} {}: {}\n", entry.value("name", ""), entry.value("version", ""),
                      entry.value("licence", ""));
  if (entry.contains("commands") && !entry["commands"].empty())
    text += fmt::format("    commands: {}\n", joined(entry["commands"]));
  if (entry.contains("source"))
    text += fmt::format("    source: {}\n", describe_source(entry["source"]));
  if (entry.contains("recipe"))
    text += fmt::format("    built by: {}\n", entry["recipe"].get<std::string>());
  for (const Json& part : entry.value("parts", Json::array())) {
    text += fmt::format("    with {} {}: {}\n      source: {}\n", part.value("name", ""),
                        part.value("version", ""), part.value("licence", ""),
                        describe_source(part.contains("source") ? part["source"] : part));
  }
}

std::string as_text(const Json& list) {
  std::string text = "Programs of the sandbox\n\n";
  for (const Json& entry : list["programs"]) add_entry(text, entry);
  text += "\nLinked into them\n\n";
  for (const Json& entry : list["libraries"]) add_entry(text, entry);
  text += "\nPackages of its Python\n\n";
  for (const Json& entry : list["pythonPackages"]) {
    text += fmt::format(
        "{} {}: {}\n", entry["name"].get<std::string>(), entry["version"].get<std::string>(),
        entry["licence"].get<std::string>().empty() ? "as its metadata says"
                                                    : entry["licence"].get<std::string>());
  }
  return text;
}

}  // namespace

std::string list_licenses(const std::filesystem::path& system_folder, ListFormat format) {
  const Json manifest = read_manifest(system_folder);
  Json list = Json::object();
  for (const char* part : parts) list[part] = manifest.value(part, Json::array());
  list["pythonPackages"] = python_packages(system_folder);
  try {
    return format == ListFormat::json ? list.dump(2) + "\n" : as_text(list);
  } catch (const Json::exception&) {
    throw HostError((system_folder / "manifest.json").string() +
                    " is damaged: remove its folder and run `make`");
  }
}

int licenses_command(ListFormat format) {
  fmt::print("{}", list_licenses(sandbox::default_system_folder(), format));
  return 0;
}

}  // namespace cloche::cli
