// SPDX-License-Identifier: Apache-2.0
#include "sandbox/program_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/folder_names.h"
#include "base/host_error.h"
#include "vfs/base_builder.h"

namespace cloche::sandbox {
namespace {

constexpr std::string_view graft_name = "programs";  // in /usr/local
constexpr std::size_t programs_max = 10'000;

struct Found {
  std::string name;
  std::filesystem::path file;
};

std::vector<Found> programs_in(const std::filesystem::path& folder) {
  const auto names = folder_names(folder);
  if (!names) {
    throw HostError(fmt::format("cannot read the folder of programs {}: {}", folder.string(),
                                errno_info(names.error()).message));
  }
  std::vector<Found> found;
  for (const std::string& name : *names) {
    const std::filesystem::path path = folder / name;
    std::error_code error;
    if (path.extension() == ".wasm" && std::filesystem::is_regular_file(path, error))
      found.push_back({path.stem().string(), path});
  }
  if (found.size() > programs_max)
    throw HostError(fmt::format("the folder of programs {} has too many", folder.string()));
  std::ranges::sort(found, {}, &Found::name);
  return found;
}

std::string state_of(const std::vector<Found>& programs) {
  std::string state;
  for (const Found& program : programs) {
    std::error_code error;
    const auto size = std::filesystem::file_size(program.file, error);
    const auto time = std::filesystem::last_write_time(program.file, error);
    state += fmt::format("{} {} {}\n", program.name, size, time.time_since_epoch().count());
  }
  return state;
}

void must(const Result<void>& result, const std::string& name) {
  if (!result) {
    throw HostError(
        fmt::format("cannot make {} a command: {}", name, errno_info(result.error()).message));
  }
}

Result<void> link_command(vfs::MemFs& files, vfs::Ino folder, const std::string& name) {
  if (files.lookup(folder, name)) CLOCHE_TRY(files.unlink(folder, name));
  CLOCHE_TRY(files.symlink(folder, name, fmt::format("../{}/{}", graft_name, name),
                           {.mode = 0777, .uid = 0, .gid = 0}));
  return {};
}

}  // namespace

ProgramFolders::Tree ProgramFolders::tree_of(const std::filesystem::path& folder) {
  const std::vector<Found> programs = programs_in(folder);
  std::string state = state_of(programs);
  const MutexLock lock(mutex_);
  Tree& tree = trees_[std::filesystem::absolute(folder).lexically_normal()];
  if (tree.files && tree.state == state) return tree;
  vfs::BaseBuilder builder;
  std::vector<std::string> names;
  for (const Found& program : programs) {
    must(builder.add_program(program.name,
                             programs_.add(program.file, {}, wasm::Interruption::epochs,
                                           kernel::ProgramOrigin::user),
                             vfs::SharedBytes::map_file(program.file.string())),
         program.name);
    names.push_back(program.name);
  }
  tree = {std::move(state), std::move(names), builder.freeze()};
  return tree;
}

void ProgramFolders::install(vfs::MemFs& files, const std::filesystem::path& folder) {
  const Tree tree = tree_of(folder);
  const auto install = [&]() -> Result<void> {
    CLOCHE_ASSIGN(const vfs::Ino usr, files.lookup(files.root(), "usr"));
    CLOCHE_ASSIGN(const vfs::Ino local, files.lookup(usr, "local"));
    CLOCHE_ASSIGN(const vfs::Ino bin, files.lookup(local, "bin"));
    CLOCHE_TRY(files.graft(local, graft_name, tree.files));
    for (const std::string& name : tree.names) CLOCHE_TRY(link_command(files, bin, name));
    return {};
  };
  must(install(), folder.string());
}

}  // namespace cloche::sandbox
