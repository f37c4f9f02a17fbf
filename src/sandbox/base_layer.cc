#include "sandbox/base_layer.h"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/host_error.h"
#include "kernel/dev_layout.h"

namespace cloche::detail {
namespace {

using Json = nlohmann::json;

constexpr int manifest_format = 1;
constexpr std::uint32_t user_id = 1000;

Json read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "manifest.json";
  std::ifstream file(path);
  if (!file)
    throw HostError("cannot read " + path.string() + ": run `make` to build the guests' system");
  Json manifest = Json::parse(file, nullptr, false);
  if (!manifest.is_object() || manifest.value("format", 0) != manifest_format ||
      !manifest["entries"].is_array()) {
    throw HostError(path.string() +
                    " is damaged or of another version: remove its folder and run `make`");
  }
  return manifest;
}

bool is_wasm(std::span<const std::byte> content) {
  constexpr std::array magic{std::byte{0}, std::byte{'a'}, std::byte{'s'}, std::byte{'m'}};
  return content.size() >= magic.size() && std::equal(magic.begin(), magic.end(), content.begin());
}

std::uint32_t mode_of(const Json& entry, std::uint32_t otherwise) {
  const std::string text = entry.value("mode", std::string());
  return text.empty() ? otherwise : static_cast<std::uint32_t>(std::stoul(text, nullptr, 8));
}

void must(const Result<void>& result, const std::string& path) {
  if (!result) {
    throw HostError("the guests' system cannot hold " + path + ": " +
                    std::string(errno_info(result.error()).message));
  }
}

void add_entry(vfs::BaseBuilder& builder, kernel::ProgramStore& programs,
               const std::filesystem::path& folder, const Json& entry) {
  const std::string path = entry.at("path");
  const std::string type = entry.at("type");
  if (type == "directory") {
    must(builder.add_dir(path, {.mode = mode_of(entry, 0755)}), path);
  } else if (type == "symlink") {
    must(builder.add_symlink(path, entry.at("target").get<std::string>()), path);
  } else {
    const std::filesystem::path file = folder / path;
    vfs::SharedBytes content = vfs::SharedBytes::map_file(file.string());
    const bool program = is_wasm(content.bytes());
    const vfs::BaseAttr attr{.mode = mode_of(entry, program ? 0755 : 0644)};
    must(program ? builder.add_program(path, programs.add(file), std::move(content), attr)
                 : builder.add_file(path, std::move(content), attr),
         path);
  }
}

// What belongs to the user, or to everyone.
void add_user_folders(vfs::BaseBuilder& builder) {
  const vfs::BaseAttr own{.mode = 0755, .uid = user_id, .gid = user_id};
  const vfs::BaseAttr shared{.mode = 01777};
  must(builder.add_dir("workspace", own), "/workspace");
  must(builder.add_dir("run/user", own), "/run/user");
  must(builder.add_dir("tmp", shared), "/tmp");
  must(builder.add_dir("var/tmp", shared), "/var/tmp");
  for (const char* path : {"mnt", "opt", "srv", "home", "root", "proc", "sys", "usr/local/bin",
                           "usr/lib/python", "var/log"}) {
    must(builder.add_dir(path), path);
  }
}

}  // namespace

void add_system(vfs::BaseBuilder& builder, kernel::ProgramStore& programs,
                const std::filesystem::path& folder) {
  const Json manifest = read_manifest(folder);
  try {
    add_user_folders(builder);
    for (const Json& entry : manifest["entries"]) add_entry(builder, programs, folder, entry);
  } catch (const Json::exception&) {
    throw HostError((folder / "manifest.json").string() +
                    " is damaged: remove its folder and run `make`");
  }
  kernel::add_devices(builder);
}

std::vector<std::filesystem::path> programs_of_system(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> programs;
  const Json manifest = read_manifest(folder);
  try {
    for (const Json& entry : manifest["entries"]) {
      const std::string type = entry.at("type");
      if (type == "directory" || type == "symlink") continue;
      std::filesystem::path file = folder / entry.at("path").get<std::string>();
      if (is_wasm(vfs::SharedBytes::map_file(file.string()).bytes()))
        programs.push_back(std::move(file));
    }
  } catch (const Json::exception&) {
    throw HostError((folder / "manifest.json").string() +
                    " is damaged: remove its folder and run `make`");
  }
  if (std::filesystem::exists(folder / "python.wasm")) programs.push_back(folder / "python.wasm");
  return programs;
}

}  // namespace cloche::detail
