// SPDX-License-Identifier: Apache-2.0
#include "python/python_runtime.h"

#include <fmt/format.h>

#include "base/host_error.h"
#include "base/result.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "kernel/system_wait.h"
#include "python/host_door.h"
#include "python/start_block.h"

namespace cloche::python {
namespace {

constexpr std::string_view program_path = "usr/bin/python3";
// Beyond what programs and shells hand down; the number is part of the boot image.
constexpr std::int32_t root_fd = 200;
constexpr std::int32_t status_mask = 0xff;

}  // namespace

void PythonRuntime::define_imports(wasm::Linker& linker) { define_host_door(linker); }

PythonRuntime::PythonRuntime(kernel::KernelServices services, Options options,
                             wasm::Interruption interruption)
    : services_(services),
      options_(std::move(options)),
      images_(services, {.cache_folder = options_.cache_folder,
                         .library_id = options_.library_id,
                         .program_path = "/" + std::string(program_path),
                         .install = options_.install,
                         .progress = options_.progress}),
      own_images_(options_.cache_folder, options_.library_id) {
  kernel::Startup startup;
  startup.memory = [this](kernel::Task& task) { return start_memory(task); };
  startup.run = [this](kernel::Task& task) { return run(task); };
  startup.preopens = {kernel::wasi::PreopenSet::root, root_fd};
  tag_ = services_.programs.add(options_.guest_file, std::move(startup), interruption);
}

void PythonRuntime::add_program(vfs::BaseBuilder& builder) const {
  const auto must = [](const Result<void>& result) {
    if (!result) throw HostError("the system layer has no place for python3");
  };
  vfs::SharedBytes content = vfs::SharedBytes::map_file(options_.guest_file.string());
  must(builder.add_program(program_path, tag_, std::move(content)));
  must(builder.add_symlink("usr/bin/python", "python3"));
  must(builder.add_symlink("usr/bin/python3.15", "python3"));
}

Result<std::shared_ptr<BootImage>, Error> PythonRuntime::boot_image_for(kernel::Task& task) {
  kernel::Kernel& kernel = task.kernel();
  if (std::shared_ptr<BootImage> own = own_images_.used_by(kernel)) return own;
  Preload preload;
  if (options_.preload) {
    const kernel::KernelLock lock(kernel.mutex());
    preload = options_.preload(kernel.files());
  }
  using enum BootImages::Making;
  if (!preload.empty()) {
    auto image = images_.get(tag_, preload, only_the_common_one);
    if (image && *image != nullptr) return image;
  }
  if (auto image = images_.get(tag_, {}, none); !image || *image != nullptr) return image;
  const kernel::KernelLock lock(kernel.mutex());
  return kernel::wait_for_system(kernel, task.owner().clock,
                                 [&] { return images_.get(tag_, {}, only_the_common_one); });
}

Result<void, Error> PythonRuntime::prepare(const Preload& preload) {
  CLOCHE_TRY(images_.get(tag_, preload, BootImages::Making::all));
  return {};
}

Result<kernel::StartMemory, Error> PythonRuntime::start_memory(kernel::Task& task) {
  if (images_.is_builder(task.kernel())) return kernel::StartMemory{};
  const auto found = boot_image_for(task);
  if (!found)
    return Error(ErrorKind::sandbox, found.error().code(),
                 fmt::format("python3 cannot start: {}", found.error().sentence()));
  return kernel::StartMemory{
      .image = (*found)->memory,
      .hot_pages = std::shared_ptr<wasm::HotPages>(*found, &(*found)->process_pages)};
}

wasm::Outcome PythonRuntime::run(kernel::Task& task) {
  if (images_.is_builder(task.kernel())) return images_.run(task);
  std::string frame;
  {
    const kernel::KernelLock lock(task.kernel().mutex());
    task.note_memory(task.instance().memory().size());
    frame = start_block(Turn::process, task.process(), task.kernel().options().host_name);
  }
  wasm::Outcome outcome = take_turn(task.instance(), frame);
  task.learn_hot_pages();
  if (outcome.returned()) outcome.result = wasm::Value::i32(outcome.result.as_i32() & status_mask);
  return outcome;
}

std::shared_ptr<OwnImage> PythonRuntime::open_image(const std::filesystem::path& file) {
  const auto program = services_.programs.load(tag_);
  if (!program) throw HostError("python3 is absent or damaged: run `make` to build it");
  return own_images_.open(file, (*program)->module->module(), [this](const std::string& key) {
    const auto image = images_.known(tag_, key);
    return image ? *image : nullptr;
  });
}

void PythonRuntime::save_image(const std::filesystem::path& file,
                               const std::shared_ptr<const wasm::MemoryImage>& image,
                               SavedImage what, ImageParts parts) {
  const auto base = parts == ImageParts::over_boot_image ? images_.base_of(*image) : std::nullopt;
  own_images_.save(file, image, std::move(what), base);
}

}  // namespace cloche::python
