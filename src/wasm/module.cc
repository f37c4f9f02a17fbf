// SPDX-License-Identifier: Apache-2.0
#include "wasm/module.h"

#include <algorithm>

#include "base/hex.h"
#include "wasm/module_info.h"
#include "wasm/native.h"

namespace cloche::wasm {
namespace {

ExternKind kind_of(const wasm_externtype_t* type) noexcept {
  switch (wasm_externtype_kind(type)) {
    case WASM_EXTERN_FUNC: return ExternKind::function;
    case WASM_EXTERN_GLOBAL: return ExternKind::global;
    case WASM_EXTERN_TABLE: return ExternKind::table;
    case WASM_EXTERN_MEMORY: return ExternKind::memory;
    default: return ExternKind::tag;
  }
}

// False when one of them is not a number.
bool take_types(const wasm_valtype_vec_t* from, std::vector<ValueType>& to) {
  for (std::size_t i = 0; i < from->size; ++i) {
    switch (wasm_valtype_kind(from->data[i])) {
      case WASM_I32: to.push_back(ValueType::i32); break;
      case WASM_I64: to.push_back(ValueType::i64); break;
      case WASM_F32: to.push_back(ValueType::f32); break;
      case WASM_F64: to.push_back(ValueType::f64); break;
      default: return false;
    }
  }
  return true;
}

ModuleExport describe(std::string_view name, const wasm_externtype_t* type) {
  ModuleExport result;
  result.name = name;
  result.kind = kind_of(type);
  if (const auto* function = wasm_externtype_as_functype_const(type)) {
    result.is_callable = take_types(wasm_functype_params(function), result.parameters) &&
                         take_types(wasm_functype_results(function), result.results);
  } else if (const auto* global = wasm_externtype_as_globaltype_const(type)) {
    result.is_mutable = wasm_globaltype_mutability(global) == WASM_VAR;
  }
  return result;
}

}  // namespace

std::string to_hex(const Digest& digest) { return cloche::to_hex(digest); }

const ModuleExport* ModuleInfo::find_export(std::string_view name) const noexcept {
  const auto it = std::ranges::lower_bound(exports, name, {}, &ModuleExport::name);
  return it != exports.end() && it->name == name ? &*it : nullptr;
}

ModuleInfo describe_module(const wasmtime_module_t* module, const Digest& digest,
                           std::uint64_t wasm_bytes) {
  ModuleInfo info;
  info.digest = digest;
  info.wasm_bytes = wasm_bytes;

  wasm_importtype_vec_t imports;
  wasmtime_module_imports(module, &imports);
  for (std::size_t i = 0; i < imports.size; ++i) {
    ModuleImport item{std::string(view_of(wasm_importtype_module(imports.data[i]))),
                      std::string(view_of(wasm_importtype_name(imports.data[i]))),
                      kind_of(wasm_importtype_type(imports.data[i]))};
    if (item.module == "linux" && item.name == "syscall") info.interface = Interface::linux_abi;
    info.imports.push_back(std::move(item));
  }
  wasm_importtype_vec_delete(&imports);

  wasm_exporttype_vec_t exports;
  wasmtime_module_exports(module, &exports);
  for (std::size_t i = 0; i < exports.size; ++i) {
    const auto* type = wasm_exporttype_type(exports.data[i]);
    info.exports.push_back(describe(view_of(wasm_exporttype_name(exports.data[i])), type));
    if (const auto* memory = wasm_externtype_as_memorytype_const(type);
        memory != nullptr && info.exports.back().name == "memory") {
      info.memory_min_pages = wasmtime_memorytype_minimum(memory);
      std::uint64_t max = 65536;
      info.memory_max_pages = wasmtime_memorytype_maximum(memory, &max) ? max : 65536;
    }
  }
  wasm_exporttype_vec_delete(&exports);
  std::ranges::sort(info.exports, {}, &ModuleExport::name);
  return info;
}

Module::Module(wasmtime_module* native, ModuleInfo info, InitialMemory initial,
               std::optional<NativeCode> preempted) noexcept
    : native_(native),
      info_(std::move(info)),
      initial_memory_(std::move(initial)),
      content_(info_.memory_min_pages * 65536,
               [this](std::byte* base) { return initial_memory_.put(base); }),
      preempted_(preempted) {}

Module::~Module() { wasmtime_module_delete(native_); }

}  // namespace cloche::wasm
