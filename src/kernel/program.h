// Program: what a process executes, a compiled module that is linked to the kernel's imports, and how it starts.
// ProgramStore: the programs of one host process, shared by all its kernels.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "vfs/shared_bytes.h"
#include "wasm/linker.h"
#include "wasm/memory_image.h"
#include "wasm/module.h"
#include "wasm/module_store.h"

namespace cloche::kernel {

enum class Interface { linux_calls, wasi };

struct Program {
  std::shared_ptr<const wasm::LinkedModule> module;
  Interface interface = Interface::wasi;
  // Mapped over a fresh instance before `entry` is called; null: the module's own initial memory.
  std::shared_ptr<const wasm::MemoryImage> boot_image;
  // An export of type () -> () or () -> i32 (the exit status).
  std::string entry = "_start";
};

// Thread-safe. Outlives every Kernel that uses it.
class ProgramStore {
 public:
  ProgramStore(wasm::ModuleStore& modules, const wasm::Linker& linker) : modules_(modules), linker_(linker) {}

  // The program of an immutable file of a base layer; compiled (or taken from the cache) at the first call, then one look-up.
  // ENOEXEC when the bytes are not a program that can run here.
  Result<std::shared_ptr<const Program>> load_shared(const std::shared_ptr<const vfs::SharedBytes>& bytes);
  // The program in bytes that a user brought. ENOEXEC as above.
  Result<std::shared_ptr<const Program>> load_bytes(std::span<const std::byte> bytes);
  // From now on `bytes` start as `program` says (a boot image, another entry).
  void install(const std::shared_ptr<const vfs::SharedBytes>& bytes, Program program);

 private:
  Result<std::shared_ptr<const Program>> link(std::shared_ptr<const wasm::Module> module);

  wasm::ModuleStore& modules_;
  const wasm::Linker& linker_;
  std::mutex mutex_;
  struct Entry {
    std::shared_ptr<const vfs::SharedBytes> bytes;  // keeps the key alive
    std::shared_ptr<const Program> program;
  };
  std::unordered_map<const vfs::SharedBytes*, Entry> shared_;
};

}  // namespace cloche::kernel
