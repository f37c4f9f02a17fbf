// SPDX-License-Identifier: Apache-2.0
#include "sandbox/engine_state.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/host_error.h"
#include "kernel/linux/dispatch.h"
#include "kernel/wasi/register.h"
#include "sandbox/base_layer.h"
#include "sandbox/environment_number.h"
#include "sandbox/host_folders.h"
#include "sandbox/options/mountable.h"
#include "wasm/cache_folder.h"

namespace cloche::sandbox {
namespace {

std::filesystem::path in_cache(const EngineOptions& options, std::string_view name) {
  return options.cache_folder.empty() ? std::filesystem::path() : options.cache_folder / name;
}

wasm::ModuleStore::Options store_options(const EngineOptions& options) {
  wasm::ModuleStore::Options store;
  store.cache_folder = in_cache(options, "modules");
  store.shipped_folder = options.code_folder;
  store.guest_compiler = std::make_shared<wasm::GuestCompiler>(
      wasm::GuestCompiler::Options{.program = options.compiler_program});
  if (options.progress) {
    store.on_compile = [progress = options.progress](std::string_view name,
                                                     std::uint64_t wasm_bytes) {
      constexpr std::uint64_t worth_a_line = 4 << 20;
      if (wasm_bytes < worth_a_line) return;
      progress(fmt::format("compiling {} ({} MB of WebAssembly) to machine code, once ...", name,
                           wasm_bytes >> 20));
    };
  }
  return store;
}

// With code that came along it is a second for Python in each process; without, minutes.
void say_where_nothing_is_kept(const EngineOptions& options) {
  if (!options.cache_folder.empty() || !options.progress) return;
  std::error_code error;
  if (std::filesystem::exists(options.code_folder, error)) return;
  if (const auto folder = usable_cache_folder(); !folder)
    options.progress(
        fmt::format("nothing that is compiled is kept: {}", folder.error().sentence()));
}

// A folder that cannot be used is no reason to have no sandboxes.
std::unique_ptr<packages::WheelCache> open_wheel_cache(const EngineOptions& options) {
  const std::uint64_t limit = options.wheel_cache_bytes.value_or(default_wheel_cache_bytes());
  if (limit == 0) return nullptr;
  const std::filesystem::path folder = in_cache(options, "wheels");
  if (folder.empty()) return nullptr;
  try {
    wasm::prepare_cache_folder(folder);
  } catch (const HostError& problem) {
    if (options.progress)
      options.progress(fmt::format("fetched wheels are not kept: {}", problem.what()));
    return nullptr;
  }
  return std::make_unique<packages::WheelCache>(folder, limit);
}

// Nothing of anybody else's is in its place.
bool may_be_made_anew(const std::filesystem::path& folder) {
  const auto there = std::filesystem::symlink_status(folder);
  return !std::filesystem::exists(there) ||
         (std::filesystem::is_directory(there) && wasm::ModuleStore::has_only_shipped(folder));
}

std::chrono::milliseconds default_idle_time() {
  constexpr std::uint64_t usual_s = 10, most_s = 1'000'000;
  const auto seconds =
      environment_number("CLOCHE_PACK_IDLE_AFTER", most_s,
                         "is no number of seconds up to 1000000: say after how many the memory of "
                         "what rests is packed, or 0 for never");
  return std::chrono::seconds(seconds.value_or(usual_s));
}

}  // namespace

EngineOptions with_defaults(EngineOptions options) {
  if (options.system_folder.empty()) options.system_folder = default_system_folder();
  if (options.code_folder.empty())
    options.code_folder = options.system_folder.parent_path() / "code";
  if (options.cache_folder.empty()) {
    if (auto folder = usable_cache_folder()) options.cache_folder = *std::move(folder);
  }
  keep_guest_folders_in(options.cache_folder);
  if (options.compiler_program.empty())
    options.compiler_program = default_compiler_program(options.system_folder);
  return options;
}

void EngineState::need_harmless(const SandboxOptions& options) const {
  if (options.mounts.empty()) return;
  std::error_code error;
  const bool has_code = std::filesystem::exists(options_.code_folder, error);
  const std::array places{
      OwnPlace{options_.cache_folder, "the cache"},
      OwnPlace{has_code ? options_.code_folder : std::filesystem::path(), "machine code"},
      OwnPlace{images::default_image_folder(), "the store of images"}};
  for (const Mount& mount : options.mounts) {
    if (mount.access == Mount::Access::read_write) need_apart(mount, places);
  }
}

EngineState::EngineState(EngineOptions options)
    : options_(with_defaults(std::move(options))),
      modules_(wasm_, store_options(options_)),
      linker_(wasm_),
      programs_(modules_, linker_),
      idle_after_(options_.pack_idle_after.value_or(default_idle_time())),
      natives_(options_.natives ? options_.natives
                                : std::make_shared<NativeParts>(options_.system_folder)) {
  say_where_nothing_is_kept(options_);
  try {
    // These threads begin now: begun by a guest's thread they would have that one's priority.
    timers_.add(std::chrono::steady_clock::now(), this, [] {});
    if (idle_after_.count() > 0) idle_timers_.add(std::chrono::steady_clock::now(), this, [] {});
  } catch (const HostError&) {
    // It begins when it is needed, where the host has a thread then.
  }
  kernel::lnx::define_imports(linker_);
  kernel::wasi::define_imports(linker_);
  python::PythonRuntime::define_imports(linker_);
  vfs::BaseBuilder builder;
  add_system(builder, programs_, options_.system_folder);
  python_ = std::make_unique<PythonParts>(services(), options_, builder);
  base_ = builder.freeze();
  python_->set_base(base_);
  wheels_ = open_wheel_cache(options_);
}

void EngineState::prepare() {
  for (kernel::ProgramTag tag = 1; tag <= programs_.size(); ++tag) (void)programs_.load(tag);
  python_->prepare();
}

void ship_code(const EngineOptions& given, const std::filesystem::path& target) {
  const std::filesystem::path folder = target.has_filename() ? target : target.parent_path();
  std::filesystem::path part = folder;
  part += ".part";
  for (const std::filesystem::path& made : {folder, part}) {
    if (!may_be_made_anew(made))
      throw request_error(
          fmt::format("{} has other things than machine code: name a folder that is not there, or "
                      "is empty",
                      made.string()),
          Errno::exist);
  }
  EngineOptions options = with_defaults(given);
  options.code_folder.clear();
  wasm::Engine engine(wasm::Cpu::portable);
  wasm::ModuleStore modules(engine, store_options(options));
  // Complete or not at all.
  std::filesystem::remove_all(part);
  for (const std::filesystem::path& program : programs_of_system(options.system_folder)) {
    const bool is_python = program.filename() == "python.wasm";
    modules.ship(program, part,
                 interruption_of(is_python ? SystemCode::interpreter : SystemCode::tools));
  }
  std::filesystem::remove_all(folder);
  std::filesystem::rename(part, folder);
}

}  // namespace cloche::sandbox
