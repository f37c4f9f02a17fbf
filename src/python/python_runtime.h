// PythonRuntime: makes the Python guest of a build a program of the kernel that starts at once.
//
// The interpreter is started, and the common part of its library imported, once per machine: in a
// private kernel over the pristine base layer, where no sandbox can touch it. Its memory is kept in
// the cache folder as the boot image, under a name made of the module's digest and the library's.
// Every process maps that image and is called with its start block.
//
// Thread-safe. Lives as long as the kernels that run Python.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "kernel/kernel.h"
#include "kernel/program.h"
#include "python/hot_pages.h"
#include "vfs/base_builder.h"
#include "vfs/memfs.h"
#include "wasm/memory_image.h"

namespace cloche::python {

class PythonRuntime {
 public:
  struct Options {
    std::filesystem::path guest_file;    // the interpreter
    std::filesystem::path cache_folder;  // for boot images; empty: nothing is kept
    std::string library_id;  // of the library in the base layer: another one has another image
    std::function<void(std::string_view line)>
        progress;  // told when an image is made; may be empty
  };

  // What the linker must know before anything is linked.
  static void define_imports(wasm::Linker& linker);

  // Registers the interpreter; reads nothing yet.
  PythonRuntime(kernel::KernelServices services, Options options);
  PythonRuntime(const PythonRuntime&) = delete;
  PythonRuntime& operator=(const PythonRuntime&) = delete;

  // Adds /usr/bin/python3 and its other names. Throws HostError when the guest's file cannot be
  // read.
  void add_program(vfs::BaseBuilder& builder) const;
  // The finished base layer, in which images are made. Before the first process starts.
  void set_base(vfs::Frozen base) { base_ = std::move(base); }

  // The boot image: from memory, from disk, or made now (some tenths of a second, after the
  // compiler's minute). Null, and a sentence in `message`, when it cannot be made.
  std::shared_ptr<const wasm::MemoryImage> boot_image(std::string* message = nullptr);

  // The image of a session that MemoryImage::save wrote; an error for any other file.
  Result<std::shared_ptr<const wasm::MemoryImage>> load_session(
      const std::filesystem::path& file) const;

  kernel::ProgramTag tag() const noexcept { return tag_; }

  // For PythonSession.
  HotPages& session_pages() noexcept { return session_pages_; }

 private:
  wasm::Outcome run(kernel::Task& task);
  wasm::Outcome run_image_code(kernel::Task& task);
  std::shared_ptr<const wasm::MemoryImage> load_image(const wasm::Module& module) const;
  std::shared_ptr<const wasm::MemoryImage> build_image(std::string* message);
  std::filesystem::path image_file(const wasm::Module& module) const;

  kernel::KernelServices services_;
  Options options_;
  kernel::ProgramTag tag_;
  vfs::Frozen base_;

  HotPages hot_pages_;      // of processes that start from the boot image
  HotPages session_pages_;  // of sessions, up to the end of their first code

  std::mutex mutex_;  // held while an image is made, so that concurrent first starts wait for one
  std::shared_ptr<const wasm::MemoryImage> image_;
  std::atomic<const kernel::Kernel*> builder_{
      nullptr};                                     // the kernel in which an image is being made
  std::shared_ptr<const wasm::MemoryImage> built_;  // by its task, for who waits for its end
};

// Gives the interpreter one frame and runs it: host_alloc, copy, turn. For the instance's own
// thread.
wasm::Outcome take_turn(wasm::Instance& instance, std::string_view frame);

}  // namespace cloche::python
