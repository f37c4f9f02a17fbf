// SPDX-License-Identifier: Apache-2.0
// Module: a program, validated and compiled, that any number of instances share. Immutable; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wasm/initial_memory.h"
#include "wasm/interruption.h"
#include "wasm/memory_content.h"
#include "wasm/native_code.h"
#include "wasm/value.h"

struct wasmtime_module;

namespace cloche::wasm {

using Digest = std::array<std::uint8_t, 32>;  // SHA-256

std::string to_hex(const Digest& digest);

// Which system calls a program speaks: it is a Linux guest when it imports `linux.syscall`.
enum class Interface : std::uint8_t { wasi, linux_abi };

enum class ExternKind : std::uint8_t { function, global, table, memory, tag };

struct ModuleImport {
  std::string module;
  std::string name;
  ExternKind kind;
};

struct ModuleExport {
  std::string name;
  ExternKind kind;
  bool is_mutable = false;   // of a global
  bool is_callable = false;  // of a function: all its parameters and results are numbers
  std::vector<ValueType> parameters;
  std::vector<ValueType> results;
};

// What is known of a program without running it.
struct ModuleInfo {
  Digest digest{};  // of the wasm bytes
  std::uint64_t wasm_bytes = 0;
  Interface interface = Interface::wasi;
  std::vector<ModuleImport> imports;
  std::vector<ModuleExport> exports;   // sorted by name
  std::uint64_t memory_min_pages = 0;  // of the memory that is exported as "memory"
  std::uint64_t memory_max_pages = 0;  // 65536 where the module has no limit
  // What the engine may hold for an instance beside its memory (see module_limits.h); 0 for a
  // program of the host.
  std::uint64_t engine_bytes = 0;

  // nullptr when there is none.
  const ModuleExport* find_export(std::string_view name) const noexcept;
  bool has_export(std::string_view name) const noexcept { return find_export(name) != nullptr; }
};

class Module {
 public:
  // Takes over `native`. `preempted`: its code, where signals interrupt it. For ModuleStore.
  Module(wasmtime_module* native, ModuleInfo info, InitialMemory initial,
         std::optional<NativeCode> preempted = std::nullopt) noexcept;
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const ModuleInfo& info() const noexcept { return info_; }
  wasmtime_module* native() const noexcept { return native_; }
  Interruption interruption() const noexcept {
    return preempted_ ? Interruption::signals : Interruption::epochs;
  }
  // Null where epochs interrupt it.
  const NativeCode* preempted() const noexcept { return preempted_ ? &*preempted_ : nullptr; }
  const InitialMemory& initial_memory() const noexcept { return initial_memory_; }
  // What the memory of an instance begins with where no memory image is mapped over it.
  const MemoryContent& content() const noexcept { return content_; }

 private:
  wasmtime_module* native_;
  ModuleInfo info_;
  InitialMemory initial_memory_;
  MemoryContent content_;
  std::optional<NativeCode> preempted_;
};

}  // namespace cloche::wasm
