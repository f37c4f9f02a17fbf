#include "python/python_runtime.h"

#include "base/host_error.h"
#include "kernel/task.h"
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

PythonRuntime::PythonRuntime(kernel::KernelServices services, Options options)
    : services_(services),
      options_(std::move(options)),
      images_(services, {.cache_folder = options_.cache_folder,
                         .library_id = options_.library_id,
                         .program_path = "/" + std::string(program_path),
                         .install = options_.install,
                         .progress = options_.progress}) {
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

std::shared_ptr<BootImage> PythonRuntime::boot_image_for(kernel::Kernel& kernel,
                                                         std::string* message) {
  Preload preload;
  if (options_.preload) {
    const std::lock_guard lock(kernel.mutex());
    preload = options_.preload(kernel.files());
  }
  constexpr auto making = BootImages::Making::only_the_common_one;
  if (!preload.empty()) {
    if (auto image = images_.get(tag_, preload, making, message)) return image;
  }
  return images_.get(tag_, {}, making, message);
}

bool PythonRuntime::prepare(const Preload& preload, std::string* message) {
  return images_.get(tag_, preload, BootImages::Making::all, message) != nullptr;
}

wasm::Outcome PythonRuntime::run(kernel::Task& task) {
  if (images_.is_builder(task.kernel())) return images_.run(task);
  std::string message;
  const std::shared_ptr<BootImage> image = boot_image_for(task.kernel(), &message);
  if (!image) return failure("python3 cannot start: " + message);
  if (const Result<void> mapped = image->memory->map_into(task.instance()); !mapped) {
    return failure("python3 cannot start: its boot image cannot be mapped");
  }
  std::string frame;
  {
    const std::lock_guard lock(task.kernel().mutex());
    if (!task.account_memory(task.instance().memory().size())) return failure("out of memory");
    frame = start_block(Turn::process, task.process(), task.kernel().options().host_name);
  }
  image->process_pages.prepare(task.instance());
  wasm::Outcome outcome = take_turn(task.instance(), frame);
  image->process_pages.learn(task.instance());
  if (outcome.returned()) outcome.result = wasm::Value::i32(outcome.result.as_i32() & status_mask);
  return outcome;
}

// A copy that nobody else can reach is what is mapped: a file that is cut short while a session
// runs from it would end this process.
Result<std::shared_ptr<const wasm::MemoryImage>> PythonRuntime::load_session(
    const std::filesystem::path& file) const {
  CLOCHE_ASSIGN(const auto program, services_.programs.load(tag_));
  const wasm::Module& module = program->module->module();
  if (options_.cache_folder.empty()) return wasm::MemoryImage::load(file, module);
  std::string folder = (options_.cache_folder / "session-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return errno_from_host(errno);
  const std::filesystem::path copy = std::filesystem::path(folder) / "image";
  std::error_code failed;
  std::filesystem::copy_file(file, copy, failed);
  if (!failed)
    std::filesystem::copy_file(file.string() + ".record", copy.string() + ".record", failed);
  Result<std::shared_ptr<const wasm::MemoryImage>> image = Errno::noent;
  if (!failed) image = wasm::MemoryImage::load(copy, module);
  std::filesystem::remove_all(folder, failed);
  return image;
}

}  // namespace cloche::python
