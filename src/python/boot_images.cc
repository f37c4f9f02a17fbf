// SPDX-License-Identifier: Apache-2.0
#include "python/boot_images.h"

#include <fmt/format.h>

#include "base/host_error.h"
#include "base/result.h"
#include "kernel/process/task.h"
#include "python/message_file.h"
#include "python/take_turn.h"
#include "vfs/namespace.h"

namespace cloche::python {
namespace {

constexpr std::string_view image_code =
    "import sys\n"
    "sys.path[:] = ['/usr/lib/python3.15']\n"
    "import _cloche.image\n"
    "_cloche.image.build('{}')\n";

// Of a text that is part of a file's name.
std::uint64_t hash_of(std::string_view text) {
  constexpr std::uint64_t offset = 14695981039346656037U;
  constexpr std::uint64_t prime = 1099511628211U;
  std::uint64_t hash = offset;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return hash;
}

}  // namespace

std::string Preload::key() const {
  if (empty()) return {};
  std::string key = modules;
  for (const std::string& package : packages) key += "," + package;
  return key;
}

Result<std::shared_ptr<BootImage>, Error> BootImages::get(kernel::ProgramTag tag,
                                                          const Preload& preload, Making making) {
  const std::lock_guard lock(mutex_);
  const std::string key = preload.key();
  if (const auto it = images_.find(key); it != images_.end()) return it->second;
  const auto program = services_.programs.load(tag);
  if (!program) return HostError("its WebAssembly file is absent or damaged", program.error());
  const wasm::Module& module = (*program)->module->module();
  Memory memory = load(module, preload);
  if (!memory) {
    if (making == Making::only_the_common_one && !preload.empty())
      return std::shared_ptr<BootImage>();
    CLOCHE_ASSIGN(memory, build(preload));
    keep(module, preload, memory);
  }
  auto image = std::make_shared<BootImage>();
  image->memory = std::move(memory);
  images_[key] = image;
  return image;
}

std::filesystem::path BootImages::file(const wasm::Module& module, const Preload& preload) const {
  const std::string more = preload.empty() ? "" : fmt::format("-{:016x}", hash_of(preload.key()));
  return options_.cache_folder / fmt::format("python-{:.16}-{:.16}{}.image",
                                             wasm::to_hex(module.info().digest),
                                             options_.library_id, more);
}

BootImages::Memory BootImages::load(const wasm::Module& module, const Preload& preload) const {
  if (options_.cache_folder.empty()) return nullptr;
  auto image = wasm::MemoryImage::load(file(module, preload), module);
  return image ? *image : nullptr;
}

void BootImages::keep(const wasm::Module& module, const Preload& preload, Memory& memory) const {
  if (options_.cache_folder.empty()) return;
  try {
    std::filesystem::create_directories(options_.cache_folder);
    memory->save(file(module, preload));
    // The file's pages are shared by all processes of the machine.
    if (auto saved = load(module, preload)) memory = std::move(saved);
  } catch (const std::exception& problem) {
    if (options_.progress)
      options_.progress(fmt::format("the boot image of python3 is not kept: {}", problem.what()));
  }
}

// Runs in the builder's kernel, on its task's thread.
wasm::Outcome BootImages::run(kernel::Task& task) {
  wasm::Outcome outcome = take_turn(task.instance(), build_code_);
  if (outcome.returned() && outcome.result.as_i32() == 0) {
    auto image = wasm::MemoryImage::capture(task.instance());
    if (image) built_ = *std::move(image);
  }
  return outcome;
}

Result<BootImages::Memory, Error> BootImages::build(const Preload& preload) {
  if (options_.progress) {
    options_.progress(preload.empty()
                          ? "preparing python3, once ..."
                          : fmt::format("preparing python3 with {}, once ...", preload.modules));
  }
  const auto root = vfs::make_fs<vfs::MemFs>(base_, vfs::Quota{}, vfs::host_clock());
  if (!preload.empty()) {
    if (!options_.install) return HostError("its packages cannot be installed", Errno::nosys);
    CLOCHE_TRY(options_.install(*root, preload.packages));
  }
  kernel::Kernel builder(services_, std::make_unique<vfs::Namespace>(root), {});
  builder_ = &builder;
  build_code_ = fmt::format(image_code, preload.modules);
  kernel::SpawnRequest request;
  request.path = options_.program_path;
  request.argv = {"python3"};
  const auto words = std::make_shared<MessageFile>();
  for (const std::int32_t fd : {0, 1, 2}) request.files[fd] = words;
  const auto process = builder.spawn(request);
  std::optional<kernel::WaitStatus> status;
  if (process) status = builder.wait_for(*process, std::nullopt);
  builder_ = nullptr;
  Memory memory = std::move(built_);
  built_ = nullptr;
  if (memory) return memory;
  if (!process) {
    return HostError(fmt::format("preparing it failed: {}", errno_info(process.error()).message),
                     process.error());
  }
  return HostError(fmt::format("preparing it ended with status {}: {}{}",
                               status ? status->shell_status() : -1, (*process)->end_message,
                               words->text()));
}

}  // namespace cloche::python
