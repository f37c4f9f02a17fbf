#include "python/python_runtime.h"

#include <fmt/format.h>

#include "base/host_error.h"
#include "kernel/task.h"
#include "python/host_door.h"
#include "python/message_file.h"
#include "python/start_block.h"
#include "vfs/namespace.h"

namespace cloche::python {
namespace {

constexpr std::string_view program_path = "usr/bin/python3";
constexpr std::string_view image_code =
    "import sys\n"
    "sys.path[:] = ['/usr/lib/python3.15']\n"
    "import _cloche.image\n"
    "_cloche.image.build()\n";
// Beyond what programs and shells hand down; the number is part of the boot image.
constexpr std::int32_t root_fd = 200;
constexpr std::int32_t status_mask = 0xff;

wasm::Outcome failure(std::string message) {
  wasm::Outcome outcome;
  outcome.ending = wasm::Ending::trapped;
  outcome.trap = wasm::Trap::other;
  outcome.message = std::move(message);
  return outcome;
}

}  // namespace

wasm::Outcome take_turn(wasm::Instance& instance, std::string_view frame) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  wasm::Outcome outcome = instance.call("host_alloc", {wasm::Value::i32(length)});
  if (!outcome.returned()) return outcome;
  const std::uint32_t address = outcome.result.as_u32();
  if (address == 0 || !instance.memory().copy_out(address, frame))
    return failure("python has no memory for its start");
  return instance.call("turn", {wasm::Value::i32(address), wasm::Value::i32(length)});
}

void PythonRuntime::define_imports(wasm::Linker& linker) { define_host_door(linker); }

PythonRuntime::PythonRuntime(kernel::KernelServices services, Options options)
    : services_(services), options_(std::move(options)) {
  kernel::Startup startup;
  startup.run = [this](kernel::Task& task) { return run(task); };
  startup.preopens = {kernel::wasi::PreopenSet::root, root_fd};
  tag_ = services_.programs.add(options_.guest_file, std::move(startup));
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

wasm::Outcome PythonRuntime::run(kernel::Task& task) {
  if (&task.kernel() == builder_) return run_image_code(task);
  std::string message;
  const std::shared_ptr<const wasm::MemoryImage> image = boot_image(&message);
  if (!image) return failure("python3 cannot start: " + message);
  if (const Result<void> mapped = image->map_into(task.instance()); !mapped) {
    return failure("python3 cannot start: its boot image cannot be mapped");
  }
  std::string frame;
  {
    const std::lock_guard lock(task.kernel().mutex());
    if (!task.account_memory(task.instance().memory().size())) return failure("out of memory");
    frame = start_block(Turn::process, task.process(), task.kernel().options().host_name);
  }
  hot_pages_.prepare(task.instance());
  wasm::Outcome outcome = take_turn(task.instance(), frame);
  hot_pages_.learn(task.instance());
  if (outcome.returned()) outcome.result = wasm::Value::i32(outcome.result.as_i32() & status_mask);
  return outcome;
}

std::shared_ptr<const wasm::MemoryImage> PythonRuntime::boot_image(std::string* message) {
  const std::lock_guard lock(mutex_);
  if (image_) return image_;
  const auto program = services_.programs.load(tag_);
  if (!program) {
    if (message) *message = "its WebAssembly file is absent or damaged";
    return nullptr;
  }
  const wasm::Module& module = (*program)->module->module();
  image_ = load_image(module);
  if (!image_) {
    image_ = build_image(message);
    if (image_ && !options_.cache_folder.empty()) {
      try {
        std::filesystem::create_directories(options_.cache_folder);
        image_->save(image_file(module));
        // The file's pages are shared by all processes of the machine.
        if (auto saved = load_image(module)) image_ = std::move(saved);
      } catch (const std::exception& problem) {
        if (options_.progress)
          options_.progress(
              fmt::format("the boot image of python3 is not kept: {}", problem.what()));
      }
    }
  }
  return image_;
}

std::filesystem::path PythonRuntime::image_file(const wasm::Module& module) const {
  return options_.cache_folder / fmt::format("python-{:.16}-{:.16}.image",
                                             wasm::to_hex(module.info().digest),
                                             options_.library_id);
}

std::shared_ptr<const wasm::MemoryImage> PythonRuntime::load_image(
    const wasm::Module& module) const {
  if (options_.cache_folder.empty()) return nullptr;
  auto image = wasm::MemoryImage::load(image_file(module), module);
  return image ? *image : nullptr;
}

Result<std::shared_ptr<const wasm::MemoryImage>> PythonRuntime::load_session(
    const std::filesystem::path& file) const {
  CLOCHE_ASSIGN(const auto program, services_.programs.load(tag_));
  return wasm::MemoryImage::load(file, program->module->module());
}

// Runs in the builder's kernel, on its task's thread.
wasm::Outcome PythonRuntime::run_image_code(kernel::Task& task) {
  wasm::Outcome outcome = take_turn(task.instance(), image_code);
  if (outcome.returned() && outcome.result.as_i32() == 0) {
    auto image = wasm::MemoryImage::capture(task.instance());
    if (image) built_ = *std::move(image);
  }
  return outcome;
}

std::shared_ptr<const wasm::MemoryImage> PythonRuntime::build_image(std::string* message) {
  if (options_.progress) options_.progress("preparing python3, once ...");
  auto files = std::make_unique<vfs::Namespace>(
      vfs::make_fs<vfs::MemFs>(base_, vfs::Quota{}, vfs::host_clock()));
  kernel::Kernel builder(services_, std::move(files), {});
  builder_ = &builder;
  kernel::SpawnRequest request;
  request.path = "/" + std::string(program_path);
  request.argv = {"python3"};
  const auto words = std::make_shared<MessageFile>();
  for (const std::int32_t fd : {0, 1, 2}) request.files[fd] = words;
  const auto process = builder.spawn(request);
  std::optional<kernel::WaitStatus> status;
  if (process) status = builder.wait_for(*process, std::nullopt);
  builder_ = nullptr;
  std::shared_ptr<const wasm::MemoryImage> image = std::move(built_);
  built_ = nullptr;
  if (!image && message) {
    *message = process ? fmt::format("preparing it ended with status {}: {}{}",
                                     status ? status->shell_status() : -1, (*process)->end_message,
                                     words->text())
                       : "preparing it failed: " + std::string(errno_info(process.error()).message);
  }
  return image;
}

}  // namespace cloche::python
