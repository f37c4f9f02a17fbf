// SPDX-License-Identifier: Apache-2.0
#include "sandbox/program_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "base/descriptor_path.h"
#include "base/folder_names.h"
#include "base/guest_folders.h"
#include "base/host_error.h"
#include "base/read_fully.h"
#include "vfs/base_builder.h"
#include "wasm/module_store.h"
#include "wasm/trusted_file.h"

namespace cloche::sandbox {
namespace {

constexpr std::string_view graft_name = "programs";  // in /usr/local
constexpr std::size_t programs_max = 10'000;
constexpr std::uint64_t all_bytes_max = std::uint64_t{1} << 30;
constexpr std::uint64_t guests_bytes_max = std::uint64_t{256} << 20;

struct Found {
  std::string name;
  UniqueFd file;
  bool is_guests = false;  // a guest may have written it
  std::string state;
};

HostError unusable(const std::filesystem::path& folder, std::string_view why) {
  return HostError(fmt::format("cannot read the folder of programs {}: {}", folder.string(), why));
}

// Nothing: it is no program.
std::optional<Found> program_at(const std::filesystem::path& path) {
  const auto place = guest_folders().find(path.string(), GuestFolders::LastLink::followed);
  if (!place && place.error() == Errno::acces) throw place.error();
  struct stat of{};
  if (!place || !place->found || ::fstat(place->found.get(), &of) != 0 || !S_ISREG(of.st_mode))
    return std::nullopt;
  if (static_cast<std::uint64_t>(of.st_size) > wasm::max_module_bytes)
    throw HostError(path.string() + " is too big for a program", Errno::fbig);
  auto file = open_to_read(*place, path.string());
  if (!file) throw file.error();
  const wasm::FileIdentity id(of);
  return Found{path.stem().string(), *std::move(file), place->is_guests,
               fmt::format("{}/{} {} {} {} {} {}\n", path.stem().string(), place->is_guests,
                           id.device, id.inode, id.size, id.modified_ns, id.changed_ns)};
}

std::vector<Found> programs_in(const std::filesystem::path& folder) {
  const auto opened = guest_folders().open(folder.string());
  if (!opened) throw unusable(folder, opened.error().sentence());
  const auto names = folder_names(descriptor_path(*opened));
  if (!names) throw unusable(folder, errno_info(names.error()).message);
  std::vector<Found> found;
  for (const std::string& name : *names) {
    if (std::filesystem::path(name).extension() != ".wasm") continue;
    if (auto program = program_at(folder / name)) found.push_back(*std::move(program));
    if (found.size() > programs_max) throw unusable(folder, "it has too many");
  }
  std::ranges::sort(found, {}, &Found::name);
  return found;
}

std::string state_of(const std::vector<Found>& programs) {
  std::string state;
  for (const Found& program : programs) state += program.state;
  return state;
}

// What is in the file now: whoever has it may change it later, or cut it short.
std::shared_ptr<const std::string> content_of(const Found& program, std::uint64_t most) {
  Result<std::string> content = read_fully(program.file.get(), most);
  if (content) return std::make_shared<const std::string>(*std::move(content));
  if (content.error() == Errno::fbig)
    throw HostError("the folder of programs has too many bytes", Errno::fbig);
  throw HostError("cannot read " + program.name + ".wasm", content.error());
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
  const std::filesystem::path place = std::filesystem::absolute(folder).lexically_normal();
  if (const auto known = trees_.find(place); known != trees_.end() && known->second.state == state)
    return known->second;
  const bool has_guests = std::ranges::any_of(programs, &Found::is_guests);
  vfs::BaseBuilder builder;
  std::vector<std::string> names;
  std::uint64_t left = has_guests ? guests_bytes_max : all_bytes_max;
  for (const Found& program : programs) {
    const std::shared_ptr<const std::string> wasm = content_of(program, left);
    left -= wasm->size();
    vfs::SharedBytes content(std::as_bytes(std::span(*wasm)), wasm);
    // A guest's is compiled as what it brings: in a jail, and by its sandbox's means.
    must(program.is_guests ? builder.add_file(program.name, std::move(content), {.mode = 0755})
                           : builder.add_program(program.name, programs_.add(program.name, wasm),
                                                 std::move(content)),
         program.name);
    names.push_back(program.name);
  }
  Tree tree{std::move(state), std::move(names), builder.freeze()};
  // What guests have put there goes with the sandboxes that have it.
  if (has_guests)
    trees_.erase(place);
  else
    trees_.insert_or_assign(place, tree);
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
