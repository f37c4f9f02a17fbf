// SPDX-License-Identifier: Apache-2.0
// BootImages: the memory of interpreters that have started already, with the library's common
// modules imported, and with those of a sandbox's packages.
//
// A boot image is made once per machine: in a private kernel over the pristine base layer, where no
// sandbox can touch it. It is kept in an ImageCache. One boot image is made at a time, and each set
// of packages once, whoever asks meanwhile.
//
// Thread-safe. Lives as long as the kernels that run Python; its end stops what is being made.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "kernel/kernel_options.h"
#include "kernel/process/program.h"
#include "kernel/time/kernel_lock.h"
#include "python/image_cache.h"
#include "vfs/memfs.h"
#include "wasm/hot_pages.h"
#include "wasm/memory_image.h"
#include "wasm/page_sums.h"

namespace cloche::python {

// What a boot image has beside the common modules.
struct Preload {
  std::string modules;  // as `import` names them, with blanks between; empty: nothing
  // All that the sandbox has, by name: a module looks for others when it is imported.
  std::vector<std::string> packages;

  bool empty() const noexcept { return modules.empty(); }
  std::string key() const;
};

struct BootImage {
  std::shared_ptr<const wasm::MemoryImage> memory;
  wasm::PageSums sums;           // of it
  wasm::HotPages process_pages;  // of processes that start from it
  wasm::HotPages session_pages;  // of sessions, up to the end of their first code
};

class BootImages {
 public:
  struct Options {
    std::filesystem::path cache_folder;  // empty: nothing is kept
    std::string library_id;  // of the library in the base layer: another one has other boot images
    std::string program_path;
    // Puts packages into the files in which a boot image is made. May be empty.
    std::function<Result<void, Error>(vfs::MemFs& files, const std::vector<std::string>& packages)>
        install;
    // Told when a boot image is made; may be empty.
    std::function<void(std::string_view line)> progress;
  };

  BootImages(kernel::KernelServices services, Options options);
  ~BootImages();
  BootImages(const BootImages&) = delete;
  BootImages& operator=(const BootImages&) = delete;

  // The finished base layer, in which boot images are made. Before the first process starts.
  void set_base(vfs::Frozen base) { base_ = std::move(base); }

  struct Known {
    std::string key;  // Preload::key
    std::shared_ptr<BootImage> image;
  };
  // The one that an interpreter with this memory image began with; nothing where that is another
  // one, or no longer in memory.
  std::optional<Known> base_of(const wasm::MemoryImage& image) EXCLUDES(mutex_);
  // The one of this key where it is there; the common one is made. Null: it is not.
  Result<std::shared_ptr<BootImage>, Error> known(kernel::ProgramTag tag, const std::string& key)
      EXCLUDES(mutex_);

  enum class Making : std::uint8_t {
    none,
    only_the_common_one,  // another one is used where it is there already
    all,
  };
  // From memory, from disk, or made now (some tenths of a second and more, after the compiler's
  // minute). Null where it is not there yet and was not to be made. Not with a kernel's lock held.
  Result<std::shared_ptr<BootImage>, Error> get(kernel::ProgramTag tag, const Preload& preload,
                                                Making making);
  // Has it made behind the caller's back, at a low priority, where it is not there. Where a process
  // of this machine has begun that before, and ended too early, it is made now. Of sets that wait
  // to be made there are `waiting_max`: others are left out, and their programs import from files.
  static constexpr std::size_t waiting_max = 32;
  Result<void, Error> prepare_behind(kernel::ProgramTag tag, const Preload& preload);

  // Whether this is the kernel in which a boot image is being made; then run() makes it.
  bool is_builder(const kernel::Kernel& kernel) const noexcept { return &kernel == builder_; }
  wasm::Outcome run(kernel::Task& task);

 private:
  using Memory = std::shared_ptr<const wasm::MemoryImage>;
  using ImagePtr = std::shared_ptr<BootImage>;
  struct Kept {
    ImagePtr image;
    std::uint64_t last_use;
  };
  struct Wanted {
    kernel::ProgramTag tag;
    Preload preload;
    ImageClaim claim;
  };
  Result<const wasm::Module*, Error> module_of(kernel::ProgramTag tag);
  // Gives the mutex up while another thread makes that boot image, or this one.
  Result<ImagePtr, Error> find_or_make(kernel::ProgramTag tag, const Preload& preload,
                                       Making making, int nice_steps) REQUIRES(mutex_);
  ImagePtr add(const std::string& key, Memory memory) REQUIRES(mutex_);
  void make_wanted() noexcept;
  void may_stop(kernel::Kernel* builder);

  Result<Memory, Error> build(const Preload& preload, int nice_steps)
      EXCLUDES(kernel::kernel_lock, building_);
  void keep(const wasm::Module& module, const std::string& key, Memory& memory) const;

  kernel::KernelServices services_;
  Options options_;
  ImageCache cache_;
  vfs::Frozen base_;

  Mutex mutex_;  // not held while a boot image is made
  Condition changed_;
  std::map<std::string, Kept> images_ GUARDED_BY(mutex_);  // by Preload::key
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::set<std::string> in_making_ GUARDED_BY(mutex_);
  std::deque<Wanted> wanted_ GUARDED_BY(mutex_);
  std::thread maker_ GUARDED_BY(mutex_);
  bool maker_runs_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  kernel::Kernel* stoppable_ GUARDED_BY(mutex_) = nullptr;  // the builder, while it may be stopped

  Mutex building_;  // held while a boot image is made, by the thread that waits for its builder
  std::atomic<const kernel::Kernel*> builder_{nullptr};
  // For the builder's task: nothing else touches them while it runs.
  std::string build_code_;  // what the builder runs
  int nice_steps_ = 0;      // of its priority
  Memory built_;            // by its task, for who waits for its end
};

}  // namespace cloche::python
