// SPDX-License-Identifier: Apache-2.0
// Linker: joins programs with the host functions they import.
//
// Define every host function first, then link; their names are literals. A function that a program
// imports and the linker lacks: one of the interfaces' own modules (`wasi_snapshot_preview1`,
// `wasi_unstable`, `linux`) becomes a function that answers "not implemented" (ENOSYS, 52 for
// WASI); any other is ENOEXEC with a sentence that names it. A memory, table, global or tag import
// is ENOEXEC.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "wasm/engine.h"
#include "wasm/host_function.h"
#include "wasm/module.h"

struct wasmtime_linker;
struct wasmtime_instance_pre;

namespace cloche::wasm {

// A Module whose imports are resolved: what an Instance is made from. Immutable; any thread.
class LinkedModule {
 public:
  LinkedModule(Engine& engine, std::shared_ptr<const Module> module,
               wasmtime_instance_pre* native) noexcept;
  ~LinkedModule();
  LinkedModule(const LinkedModule&) = delete;
  LinkedModule& operator=(const LinkedModule&) = delete;

  Engine& engine() const noexcept { return engine_; }
  const Module& module() const noexcept { return *module_; }
  wasmtime_instance_pre* native() const noexcept { return native_; }

 private:
  Engine& engine_;
  std::shared_ptr<const Module> module_;
  wasmtime_instance_pre* native_;
};

class Linker {
 public:
  // The engine must outlive the linker and all that it linked.
  explicit Linker(Engine& engine);
  ~Linker();
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;

  // Before the first link only. A name is defined once (checked).
  void define(const HostFunction& function);

  // Any thread. The same Module gives the same LinkedModule for as long as that lives.
  Result<std::shared_ptr<const LinkedModule>, Error> link(std::shared_ptr<const Module> module);

 private:
  wasmtime_linker* native_for(Interruption interruption) REQUIRES(mutex_);
  void define_in(wasmtime_linker* linker, const HostFunction& function) const;
  Result<wasmtime_instance_pre*, Error> resolve(const Module& module) REQUIRES(mutex_);
  Result<void, Error> define_missing(wasmtime_linker* linker, const Module& module) const;

  struct Natives;

  Engine& engine_;
  std::unique_ptr<Natives> natives_ PT_GUARDED_BY(mutex_);
  std::set<std::pair<std::string, std::string>, std::less<>> defined_;
  Mutex mutex_;
  bool frozen_ GUARDED_BY(mutex_) = false;
  std::map<const Module*, std::weak_ptr<const LinkedModule>> linked_ GUARDED_BY(mutex_);
};

}  // namespace cloche::wasm
