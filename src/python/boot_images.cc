// SPDX-License-Identifier: Apache-2.0
#include "python/boot_images.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <system_error>

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

BootImages::~BootImages() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wanted_.clear();
    if (stoppable_ != nullptr) stoppable_->kill_job(0);
  }
  if (maker_.joinable()) maker_.join();
}

Result<std::shared_ptr<BootImage>, Error> BootImages::get(kernel::ProgramTag tag,
                                                          const Preload& preload, Making making) {
  const std::string key = preload.key();
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto [it, is_new] = images_.try_emplace(key);
    if (is_new) break;
    if (it->second.image) return it->second.image;
    if (making == Making::only_the_common_one && !preload.empty())
      return std::shared_ptr<BootImage>();
    changed_.wait(lock);
  }
  lock.unlock();
  Result<Memory, Error> memory = load_or_build(tag, preload, making);
  lock.lock();
  std::shared_ptr<BootImage> image;
  if (memory && *memory) {
    image = std::make_shared<BootImage>();
    image->memory = *std::move(memory);
    images_[key].image = image;
  } else {
    images_.erase(key);
  }
  changed_.notify_all();
  if (!memory) return memory.error();
  return image;
}

Result<BootImages::Memory, Error> BootImages::load_or_build(kernel::ProgramTag tag,
                                                            const Preload& preload, Making making) {
  const auto program = services_.programs.load(tag);
  if (!program) return HostError("its WebAssembly file is absent or damaged", program.error());
  const wasm::Module& module = (*program)->module->module();
  Memory memory = load(module, preload);
  if (memory || (making == Making::only_the_common_one && !preload.empty())) return memory;
  CLOCHE_ASSIGN(memory, build(preload));
  keep(module, preload, memory);
  return memory;
}

void BootImages::make_behind(kernel::ProgramTag tag, const Preload& preload) {
  const std::string key = preload.key();
  const std::lock_guard lock(mutex_);
  const bool known = images_.contains(key) || std::ranges::any_of(wanted_, [&](const Wanted& one) {
                       return one.preload.key() == key;
                     });
  if (known || stopping_ || wanted_.size() >= max_wanted) return;
  wanted_.push_back({tag, preload});
  if (maker_runs_) return;
  if (maker_.joinable()) maker_.join();  // it is past its last use of the lock
  try {
    maker_ = std::thread([this] { make_wanted(); });
    maker_runs_ = true;
  } catch (const std::system_error&) {
    wanted_.clear();  // a matter of speed only
  }
}

// The maker's thread: it ends when nothing more is wanted.
void BootImages::make_wanted() noexcept {
  constexpr int low = 15;
  (void)setpriority(PRIO_PROCESS, 0, low);
  std::unique_lock lock(mutex_);
  while (!wanted_.empty()) {
    const Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    lock.unlock();
    // Programs that start meanwhile want the common one first.
    (void)get(wanted.tag, {}, Making::all);
    (void)get(wanted.tag, wanted.preload, Making::all);
    lock.lock();
  }
  maker_runs_ = false;
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
  const std::lock_guard one_at_a_time(building_);
  kernel::Kernel builder(services_, std::make_unique<vfs::Namespace>(root), {});
  builder_ = &builder;
  build_code_ = fmt::format(image_code, preload.modules);
  kernel::SpawnRequest request;
  request.path = options_.program_path;
  request.argv = {"python3"};
  const auto words = std::make_shared<MessageFile>();
  for (const std::int32_t fd : {0, 1, 2}) request.files[fd] = words;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return HostError("this is the end", Errno::intr);
    stoppable_ = &builder;
  }
  const auto process = builder.spawn(request);
  std::optional<kernel::WaitStatus> status;
  if (process) status = builder.wait_for(*process, std::nullopt);
  {
    const std::lock_guard lock(mutex_);
    stoppable_ = nullptr;
  }
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
