// SPDX-License-Identifier: Apache-2.0
#include "python/boot_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/background_thread.h"
#include "base/host_error.h"
#include "base/result.h"
#include "base/thread_name.h"
#include "kernel/kernel.h"
#include "kernel/process/spawn_request.h"
#include "kernel/process/task.h"
#include "python/message_file.h"
#include "python/take_turn.h"
#include "vfs/namespace.h"
#include "wasm/guest_threads.h"

namespace cloche::python {
namespace {

constexpr std::string_view image_code =
    "import sys\n"
    "sys.path[:] = ['/usr/lib/python3.15']\n"
    "import _cloche.image\n"
    "_cloche.image.build('{}')\n";

// Of boot images with packages; further sets are found on the disk again.
constexpr std::size_t images_max = 32;
// Of making an image that nobody waits for: programs that import meanwhile go first, but on a busy
// machine it must come to its end, for they take longer without it.
constexpr int behind_nice_steps = 5;

}  // namespace

std::string Preload::key() const {
  if (empty()) return {};
  std::string key = modules;
  for (const std::string& package : packages) key += "," + package;
  return key;
}

BootImages::BootImages(kernel::KernelServices services, Options options)
    : services_(services),
      options_(std::move(options)),
      cache_(options_.cache_folder, options_.library_id) {}

BootImages::~BootImages() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wanted_.clear();
    if (stoppable_ != nullptr) stoppable_->kill_job(0);
  }
  if (maker_.joinable()) maker_.join();
}

Result<const wasm::Module*, Error> BootImages::module_of(kernel::ProgramTag tag) {
  const auto program = services_.programs.load(tag);
  if (!program) return HostError("its WebAssembly file is absent or damaged", program.error());
  return &(*program)->module->module();
}

Result<std::shared_ptr<BootImage>, Error> BootImages::get(kernel::ProgramTag tag,
                                                          const Preload& preload, Making making) {
  ReleasableMutexLock lock(mutex_);
  return find_or_make(tag, preload, making, 0);
}

std::optional<BootImages::Known> BootImages::base_of(const wasm::MemoryImage& image) {
  const auto file_of = [](const wasm::MemoryImage& memory) {
    return memory.segments().empty() ? nullptr : memory.segments().front().file;
  };
  const MutexLock lock(mutex_);
  for (const auto& [key, kept] : images_) {
    const auto file = file_of(*kept.image->memory);
    if (file && file == file_of(image)) return Known{key, kept.image};
  }
  return std::nullopt;
}

Result<std::shared_ptr<BootImage>, Error> BootImages::known(kernel::ProgramTag tag,
                                                            const std::string& key) {
  if (key.empty()) return get(tag, {}, Making::only_the_common_one);
  ReleasableMutexLock lock(mutex_);
  if (const auto it = images_.find(key); it != images_.end()) {
    it->second.last_use = ++uses_;
    return it->second.image;
  }
  CLOCHE_ASSIGN(const wasm::Module* module, module_of(tag));
  Memory memory = cache_.load(*module, key);
  return memory ? add(key, std::move(memory)) : ImagePtr();
}

Result<BootImages::ImagePtr, Error> BootImages::find_or_make(kernel::ProgramTag tag,
                                                             const Preload& preload, Making making,
                                                             int nice_steps) {
  const std::string key = preload.key();
  const wasm::Module* module = nullptr;
  for (;;) {
    if (const auto it = images_.find(key); it != images_.end()) {
      it->second.last_use = ++uses_;
      return it->second.image;
    }
    if (module == nullptr) {
      CLOCHE_ASSIGN(module, module_of(tag));
    }
    if (Memory memory = cache_.load(*module, key)) return add(key, std::move(memory));
    if (making == Making::none || (making == Making::only_the_common_one && !preload.empty()))
      return ImagePtr();
    if (!in_making_.contains(key)) break;
    changed_.wait(mutex_);
  }
  in_making_.insert(key);
  Result<Memory, Error> memory = [&]() REQUIRES(mutex_) {
    const MutexUnlocked unlocked(mutex_);
    Result<Memory, Error> built = build(preload, nice_steps);
    if (built) keep(*module, key, *built);
    return built;
  }();
  in_making_.erase(key);
  changed_.notify_all();
  if (!memory) return memory.error();
  return add(key, *std::move(memory));
}

BootImages::ImagePtr BootImages::add(const std::string& key, Memory memory) {
  if (images_.size() >= images_max) {
    auto oldest = images_.end();
    for (auto it = images_.begin(); it != images_.end(); ++it) {
      if (it->first.empty()) continue;  // the common one
      if (oldest == images_.end() || it->second.last_use < oldest->second.last_use) oldest = it;
    }
    if (oldest != images_.end()) images_.erase(oldest);
  }
  const auto image = std::make_shared<BootImage>();
  image->memory = std::move(memory);
  images_[key] = {image, ++uses_};
  return image;
}

Result<void, Error> BootImages::prepare_behind(kernel::ProgramTag tag, const Preload& preload) {
  const std::string key = preload.key();
  ReleasableMutexLock lock(mutex_);
  CLOCHE_ASSIGN(const ImagePtr image, find_or_make(tag, preload, Making::only_the_common_one, 0));
  if (image != nullptr || stopping_ || wanted_.size() >= waiting_max) return {};
  CLOCHE_ASSIGN(const wasm::Module* module, module_of(tag));
  std::optional<ImageClaim> claim = cache_.claim(*module, key);
  if (!claim) return {};
  if (claim->is_second_try()) {
    const auto made = find_or_make(tag, preload, Making::all, 0);
    claim->settle();
    if (!made) return made.error();
    return {};
  }
  const auto is_this = [&](const Wanted& wanted) { return wanted.preload.key() == key; };
  if (in_making_.contains(key) || std::ranges::any_of(wanted_, is_this)) return {};
  wanted_.push_back({tag, preload, *std::move(claim)});
  if (maker_runs_) return {};
  if (maker_.joinable()) maker_.join();  // it has given the lock back for the last time
  try {
    maker_ = background_thread(with_name("cloche-images", [this] { make_wanted(); }));
    maker_runs_ = true;
  } catch (const std::system_error&) {
    wanted_.clear();  // a matter of speed only
  }
  return {};
}

// The maker's thread: it ends when nothing more is wanted.
void BootImages::make_wanted() noexcept {
  ReleasableMutexLock lock(mutex_);
  while (!wanted_.empty()) {
    Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    // Programs that start meanwhile want the common one first.
    (void)find_or_make(wanted.tag, {}, Making::all, 0);
    (void)find_or_make(wanted.tag, wanted.preload, Making::all, behind_nice_steps);
    if (!stopping_) wanted.claim.settle();
  }
  maker_runs_ = false;
}

void BootImages::keep(const wasm::Module& module, const std::string& key, Memory& memory) const {
  if (!cache_.keeps()) return;
  try {
    cache_.save(module, key, *memory);
    // The file's pages are shared by all processes of the machine.
    if (auto saved = cache_.load(module, key)) memory = std::move(saved);
  } catch (const std::exception& problem) {
    if (options_.progress)
      options_.progress(fmt::format("the boot image of python3 is not kept: {}", problem.what()));
  }
}

// Runs in the builder's kernel, on its task's thread.
wasm::Outcome BootImages::run(kernel::Task& task) {
  if (nice_steps_ > 0) wasm::GuestThreads::lower_priority(nice_steps_);
  wasm::Outcome outcome = take_turn(task.instance(), build_code_);
  if (outcome.returned() && outcome.result.as_i32() == 0) {
    auto image = wasm::MemoryImage::capture(task.instance());
    if (image) built_ = *std::move(image);
  }
  return outcome;
}

// `builder` may be killed when all this ends; null: not any more.
void BootImages::may_stop(kernel::Kernel* builder) {
  const MutexLock lock(mutex_);
  stoppable_ = builder;
  if (builder != nullptr && stopping_) builder->kill_job(0);
}

Result<BootImages::Memory, Error> BootImages::build(const Preload& preload, int nice_steps) {
  const auto root = vfs::make_fs<vfs::MemFs>(base_, vfs::Quota{}, vfs::host_clock());
  if (!preload.empty()) {
    if (!options_.install) return HostError("its packages cannot be installed", Errno::nosys);
    CLOCHE_TRY(options_.install(*root, preload.packages));
  }
  const MutexLock one_at_a_time(building_);
  if (options_.progress && nice_steps == 0) {
    options_.progress(preload.empty()
                          ? "preparing python3, once ..."
                          : fmt::format("preparing python3 with {}, once ...", preload.modules));
  }
  kernel::Kernel builder(services_, std::make_unique<vfs::Namespace>(root), {});
  builder_ = &builder;
  build_code_ = fmt::format(image_code, preload.modules);
  nice_steps_ = nice_steps;
  kernel::SpawnRequest request;
  request.path = options_.program_path;
  request.argv = {"python3"};
  const auto words = std::make_shared<MessageFile>();
  for (const std::int32_t fd : {0, 1, 2}) request.files[fd] = words;
  const auto process = builder.spawn(request);
  std::optional<kernel::WaitStatus> status;
  if (process) {
    may_stop(&builder);
    status = builder.wait_for(*process, std::nullopt);
    may_stop(nullptr);
  }
  builder_ = nullptr;
  Memory memory = std::move(built_);
  built_ = nullptr;
  if (memory) return memory;
  if (!process) {
    return HostError(fmt::format("preparing it failed: {}", errno_info(process.error()).message),
                     process.error());
  }
  const kernel::KernelLock lock(builder.mutex());
  return HostError(fmt::format("preparing it ended with status {}: {}{}",
                               status ? status->shell_status() : -1, (*process)->end_message,
                               words->text()));
}

}  // namespace cloche::python
