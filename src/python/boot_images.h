// SPDX-License-Identifier: Apache-2.0
// BootImages: the memory of interpreters that have started already, with the library's common
// modules imported, and with those of a sandbox's packages.
//
// An image is made once per machine: in a private kernel over the pristine base layer, where no
// sandbox can touch it. It is kept in the cache folder under a name made of the module's digest,
// the library's and what else was imported.
//
// One image is made at a time, and each set of packages by one maker, whoever asks meanwhile.
//
// Thread-safe. Lives as long as the kernels that run Python; its end stops what is being made.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernel/kernel.h"
#include "vfs/memfs.h"
#include "wasm/hot_pages.h"
#include "wasm/memory_image.h"

namespace cloche::python {

// What an image has beside the common modules.
struct Preload {
  std::string modules;  // as `import` names them, with blanks between; empty: nothing
  // All that the sandbox has, by name: a module looks for others when it is imported.
  std::vector<std::string> packages;

  bool empty() const noexcept { return modules.empty(); }
  std::string key() const;
};

struct BootImage {
  std::shared_ptr<const wasm::MemoryImage> memory;
  wasm::HotPages process_pages;  // of processes that start from it
  wasm::HotPages session_pages;  // of sessions, up to the end of their first code
};

class BootImages {
 public:
  struct Options {
    std::filesystem::path cache_folder;  // empty: nothing is kept
    std::string library_id;  // of the library in the base layer: another one has other images
    std::string program_path;
    // Puts packages into the files in which an image is made. May be empty.
    std::function<Result<void, Error>(vfs::MemFs& files, const std::vector<std::string>& packages)>
        install;
    // Told when an image is made; may be empty.
    std::function<void(std::string_view line)> progress;
  };

  BootImages(kernel::KernelServices services, Options options)
      : services_(services), options_(std::move(options)) {}
  ~BootImages();
  BootImages(const BootImages&) = delete;
  BootImages& operator=(const BootImages&) = delete;

  // The finished base layer, in which images are made. Before the first process starts.
  void set_base(vfs::Frozen base) { base_ = std::move(base); }

  enum class Making : std::uint8_t {
    only_the_common_one,  // another one is used where it is there already
    all,
  };
  // From memory, from disk, or made now (some tenths of a second and more, after the compiler's
  // minute). Null where it is not there yet and was not to be made. Not with a kernel's lock held.
  Result<std::shared_ptr<BootImage>, Error> get(kernel::ProgramTag tag, const Preload& preload,
                                                Making making);
  // Has it made behind the caller's back, at a low priority, where it is not there yet. Of more than
  // max_wanted sets that wait for that, later ones are left out; their programs import from files.
  static constexpr std::size_t max_wanted = 32;
  void make_behind(kernel::ProgramTag tag, const Preload& preload);

  // Whether this is the kernel in which an image is being made; then run() makes it.
  bool is_builder(const kernel::Kernel& kernel) const noexcept { return &kernel == builder_; }
  wasm::Outcome run(kernel::Task& task);

 private:
  using Memory = std::shared_ptr<const wasm::MemoryImage>;
  struct Entry {
    std::shared_ptr<BootImage> image;  // null: it is being made
  };
  struct Wanted {
    kernel::ProgramTag tag;
    Preload preload;
  };
  Result<Memory, Error> load_or_build(kernel::ProgramTag tag, const Preload& preload,
                                      Making making);
  void make_wanted() noexcept;
  Memory load(const wasm::Module& module, const Preload& preload) const;
  Result<Memory, Error> build(const Preload& preload);
  void keep(const wasm::Module& module, const Preload& preload, Memory& memory) const;
  std::filesystem::path file(const wasm::Module& module, const Preload& preload) const;

  kernel::KernelServices services_;
  Options options_;
  vfs::Frozen base_;

  std::mutex mutex_;  // of the maps and the maker; never held while an image is made
  std::condition_variable changed_;
  std::map<std::string, Entry> images_;  // by Preload::key
  std::deque<Wanted> wanted_;
  std::thread maker_;
  bool maker_runs_ = false;
  bool stopping_ = false;
  kernel::Kernel* stoppable_ = nullptr;  // the builder, while it may be stopped

  std::mutex building_;  // held while an image is made; guards what follows
  std::atomic<const kernel::Kernel*> builder_{nullptr};
  std::string build_code_;  // what the builder runs
  Memory built_;            // by its task, for who waits for its end
};

}  // namespace cloche::python
