// SPDX-License-Identifier: Apache-2.0
#include "sandbox/base_layer.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/host_error.h"
#include "kernel/files/dev_layout.h"
#include "kernel/host/host_process.h"
#include "kernel/process/task.h"
#include "sandbox/host_commands.h"
#include "sandbox/system_folder.h"
#include "vfs/shared_bytes.h"
#include "wasm/hot_pages.h"

namespace cloche::sandbox {
namespace {

constexpr const char* pack_name = "files.pack";
constexpr std::uint32_t user_id = 1000;

// A program starts as any other, but the pages that every start of it writes are made private at
// once: a fault for each is a third of what a short command costs.
kernel::Startup with_hot_pages() {
  kernel::Startup startup;
  startup.memory = [pages = std::make_shared<wasm::HotPages>()](kernel::Task&) {
    return kernel::StartMemory{.hot_pages = pages};
  };
  startup.run = [](kernel::Task& task) {
    wasm::Outcome outcome = task.instance().call(task.program().entry);
    task.learn_hot_pages();
    return outcome;
  };
  return startup;
}

vfs::SharedBytes part_of(const vfs::SharedBytes& pack, const SystemEntry& entry,
                         const std::filesystem::path& folder) {
  if (entry.offset > pack.size() || entry.size > pack.size() - entry.offset) {
    throw HostError((folder / pack_name).string() +
                    " is cut short: remove its folder and run `make`");
  }
  return pack.part(entry.offset, entry.size);
}

void must(const Result<void>& result, std::string_view path) {
  if (!result) {
    throw HostError("the guests' system cannot hold " + std::string(path) + ": " +
                    std::string(errno_info(result.error()).message));
  }
}

Result<void> add_entry(vfs::BaseBuilder& builder, kernel::ProgramStore& programs,
                       const std::filesystem::path& folder, const vfs::SharedBytes& pack,
                       const SystemEntry& entry) {
  switch (entry.kind) {
    case SystemEntry::Kind::directory: return builder.add_dir(entry.path, {.mode = entry.mode});
    case SystemEntry::Kind::symlink: return builder.add_symlink(entry.path, entry.target);
    case SystemEntry::Kind::file:
      return builder.add_file(entry.path, part_of(pack, entry, folder), {.mode = entry.mode});
    case SystemEntry::Kind::program: {
      const std::filesystem::path file = folder / entry.path;
      return builder.add_program(
          entry.path, programs.add(file, with_hot_pages(), interruption_of(SystemCode::tools)),
          vfs::SharedBytes::map_file(file.string()), {.mode = entry.mode});
    }
  }
  CLOCHE_CHECK(false);
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

wasm::Interruption interruption_of(SystemCode code) {
  const char* const given = std::getenv("CLOCHE_PREEMPTION");
  const std::string_view asked = given == nullptr ? "" : given;
  const bool by_signals =
      asked != "0" && (code == SystemCode::interpreter || asked != "interpreter");
  return by_signals ? wasm::Interruption::signals : wasm::Interruption::epochs;
}

void add_system(vfs::BaseBuilder& builder, kernel::ProgramStore& programs,
                const std::filesystem::path& folder) {
  add_user_folders(builder);
  vfs::SharedBytes pack;
  for_each_entry(folder, [&](const SystemEntry& entry) {
    if (entry.kind == SystemEntry::Kind::file && pack.empty())
      pack = vfs::SharedBytes::map_file((folder / pack_name).string());
    must(add_entry(builder, programs, folder, pack, entry), entry.path);
  });
  must(builder.add_program(host_command_program, programs.add(kernel::host_program()),
                           vfs::SharedBytes::from_string(std::string(host_command_program_text))),
       host_command_program);
  kernel::add_devices(builder);
}

std::vector<std::filesystem::path> programs_of_system(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> programs;
  for_each_entry(folder, [&](const SystemEntry& entry) {
    if (entry.kind == SystemEntry::Kind::program) programs.push_back(folder / entry.path);
  });
  if (std::filesystem::exists(folder / "python.wasm")) programs.push_back(folder / "python.wasm");
  return programs;
}

}  // namespace cloche::sandbox
