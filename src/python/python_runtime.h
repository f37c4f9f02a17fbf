// SPDX-License-Identifier: Apache-2.0
// PythonRuntime: makes the Python guest of a build a program of the kernel that starts at once:
// every process maps a boot image (boot_images.h) and is called with its start block.
//
// Thread-safe. Lives as long as the kernels that run Python.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel/kernel_options.h"
#include "kernel/process/program.h"
#include "kernel/time/kernel_lock.h"
#include "python/boot_images.h"
#include "python/own_images.h"
#include "python/take_turn.h"
#include "vfs/base_builder.h"
#include "vfs/memfs.h"
#include "vfs/namespace.h"
#include "wasm/memory_image.h"

namespace cloche::python {

class PythonRuntime {
 public:
  struct Options {
    std::filesystem::path guest_file;    // the interpreter
    std::filesystem::path cache_folder;  // for boot images; empty: nothing is kept
    std::string library_id;  // of the library in the base layer: another one has another boot image
    // What a boot image for a sandbox with these files has imported; kernel lock held. May be
    // empty.
    std::function<Preload(vfs::Namespace& files)> preload;
    // See BootImages::Options.
    std::function<Result<void, Error>(vfs::MemFs& files, const std::vector<std::string>& packages)>
        install;
    std::function<void(std::string_view line)> progress;
  };

  // What the linker must know before anything is linked.
  static void define_imports(wasm::Linker& linker);

  // Registers the interpreter; reads nothing yet.
  // `interruption` is how its code is interrupted.
  PythonRuntime(kernel::KernelServices services, Options options,
                wasm::Interruption interruption = wasm::Interruption::epochs);
  PythonRuntime(const PythonRuntime&) = delete;
  PythonRuntime& operator=(const PythonRuntime&) = delete;

  // Adds /usr/bin/python3 and its other names. Throws HostError when the guest's file cannot be
  // read.
  void add_program(vfs::BaseBuilder& builder) const;
  // The finished base layer, in which boot images are made. Before the first process starts.
  void set_base(vfs::Frozen base) { images_.set_base(std::move(base)); }

  // For the task's process: the user's own, or the one with its packages imported where that is
  // there, or the common one, which is made when it is not there, in nobody's time. On the task's
  // thread, kernel lock not held.
  Result<std::shared_ptr<BootImage>, Error> boot_image_for(kernel::Task& task)
      EXCLUDES(kernel::kernel_lock);
  // Makes the boot image that is not there yet; takes its time once per machine. No kernel's lock
  // held.
  Result<void, Error> prepare(const Preload& preload);
  // The same behind the caller's back. See BootImages::prepare_behind.
  void prepare_behind(const Preload& preload) { (void)images_.prepare_behind(tag_, preload); }

  // Images of the user's. `open_image` throws as OwnImages::open does.
  OwnImages& own_images() noexcept { return own_images_; }
  std::shared_ptr<OwnImage> open_image(const std::filesystem::path& file);
  // `whole`: for any machine. Otherwise, where its interpreter began with a boot image, what lies
  // over that.
  enum class ImageParts : std::uint8_t { whole, over_boot_image };
  void save_image(const std::filesystem::path& file,
                  const std::shared_ptr<const wasm::MemoryImage>& image, SavedImage what,
                  ImageParts parts);

  kernel::ProgramTag tag() const noexcept { return tag_; }

 private:
  Result<kernel::StartMemory, Error> start_memory(kernel::Task& task);
  wasm::Outcome run(kernel::Task& task) EXCLUDES(kernel::kernel_lock);

  kernel::KernelServices services_;
  Options options_;
  kernel::ProgramTag tag_;
  BootImages images_;
  OwnImages own_images_;
};

}  // namespace cloche::python
