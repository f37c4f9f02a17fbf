// SPDX-License-Identifier: Apache-2.0
// Program: what a process executes, a compiled module that is linked to the kernel's imports, and
// how it starts. ProgramStore: the programs of one host process, shared by all its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kernel/process/preopen_plan.h"
#include "kernel/time/kernel_lock.h"
#include "wasm/hot_pages.h"
#include "wasm/linker.h"
#include "wasm/memory_image.h"
#include "wasm/module.h"
#include "wasm/module_store.h"
#include "wasm/outcome.h"
#include "wasm/packed_memory.h"

namespace cloche::kernel {

class Kernel;
class Task;

// With what the instance of a program begins.
struct StartMemory {
  std::shared_ptr<const wasm::MemoryImage> image{};   // null: the module's own initial memory
  std::shared_ptr<const wasm::PackedImage> packed{};  // in place of it
  bool to_be_captured = false;                        // see wasm::InstanceOptions
  std::shared_ptr<wasm::HotPages> hot_pages{};        // of such starts; may be null
};

// A program of the host's has nothing to do. It has held the kernel lock since it found that, so
// that nobody could ask it for something meanwhile.
struct AtRest {
  HeldKernelLock lock;
};
using StartupEnd = std::variant<wasm::Outcome, AtRest>;

// How a program starts where that is more than a call of its entry.
struct Startup {
  // Called before the instance is made, on the task's thread, without the kernel lock; empty: the
  // module's own. A start that fails ends the process, with the error's sentence.
  std::function<Result<StartMemory, Error>(Task&)> memory;
  // Called in place of the entry, on the task's thread, without the kernel lock, with a fresh
  // instance; its outcome is that of the program. One that is at rest gives its thread back, and is
  // called again when the task goes on, with the instance as it was.
  std::function<StartupEnd(Task&)> run;
  // Called while the task is parked and has been for long: packs its instance's memory
  // (wasm/packed_memory.h). Empty: as it packs any. It must not throw.
  std::function<void(Task&)> pack;
  // Of a WASI program.
  wasi::PreopenPlan preopens;
};

struct Program {
  // Null: a program of the host's own, of which `startup.run` is all; its task has no instance.
  std::shared_ptr<const wasm::LinkedModule> module;
  // An export of type () -> () or () -> i32 (the exit status).
  std::string entry = "_start";
  Startup startup;
};

// Identifies a program of the base layer: what vfs::BaseBuilder::add_program is given, and exec
// finds at the inode.
using ProgramTag = std::uint64_t;

// Whose a program of a base layer is.
enum class ProgramOrigin : std::uint8_t {
  system,  // waiting for its compiler is in nobody's time: see system_wait.h
  user,    // from a folder that a user has given
};

// Thread-safe. Outlives every Kernel that uses it.
class ProgramStore {
 public:
  ProgramStore(wasm::ModuleStore& modules, wasm::Linker& linker)
      : modules_(modules), linker_(linker) {}

  // Names a wasm file of the host as a program of base layers. Nothing is read before its first
  // exec.
  // `interruption`: see wasm::ModuleStore::load.
  ProgramTag add(std::filesystem::path wasm_file, Startup startup = {},
                 wasm::Interruption interruption = wasm::Interruption::epochs,
                 ProgramOrigin origin = ProgramOrigin::system);
  // The same for bytes of a user's, which are there as long as the file that has this tag is.
  ProgramTag add(std::string name, std::weak_ptr<const std::string> wasm);
  // The same for one that is there.
  ProgramTag add(Program program);
  // From now on what has this tag starts like this (other memory, another entry).
  void replace(ProgramTag tag, Program program);

  // The program of a tag; compiled, or taken from the cache, at the first call. ENOEXEC when the
  // file is damaged or absent; EINTR when `give_up`, which is asked as wasm::CompileFor's is, said
  // true.
  Result<std::shared_ptr<const Program>> load(ProgramTag tag,
                                              const std::function<bool()>& give_up = {});
  // What is known of a tag without waiting.
  struct Known {
    std::shared_ptr<const Program> program;  // null: it must be loaded
    ProgramOrigin origin = ProgramOrigin::user;
  };
  Known known(ProgramTag tag) const;
  std::size_t size() const;
  // The program in bytes that a user brought, compiled for `whom` where it is not known yet.
  // ENOEXEC when they are not a program that can run here; otherwise see wasm::ModuleStore::load.
  Result<std::shared_ptr<const Program>> load_bytes(std::span<const std::byte> bytes,
                                                    const wasm::CompileFor& whom);

 private:
  Result<std::shared_ptr<const Program>> link(std::shared_ptr<const wasm::Module> module,
                                              Startup startup);

  wasm::ModuleStore& modules_;
  wasm::Linker& linker_;
  mutable Mutex mutex_;
  struct Held {
    std::string name;
    std::weak_ptr<const std::string> wasm;
  };
  using Source = std::variant<std::filesystem::path, Held>;
  wasm::ModuleStore::Loaded load_module(const Source& source, wasm::Interruption interruption,
                                        const std::function<bool()>& give_up);
  struct Entry {
    Source source;
    Startup startup;
    std::shared_ptr<const Program> program;
    wasm::Interruption interruption = wasm::Interruption::epochs;
    ProgramOrigin origin = ProgramOrigin::system;
  };
  std::vector<Entry> entries_ GUARDED_BY(mutex_);  // tag - 1
};

}  // namespace cloche::kernel
