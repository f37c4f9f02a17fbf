// SPDX-License-Identifier: Apache-2.0
// Small owners for what the C API of wasmtime hands out. For the sources of this layer only.
#pragma once

#include <wasmtime.h>

#include <memory>
#include <string>

namespace cloche::wasm {

struct NativeDeleter {
  void operator()(wasmtime_error_t* p) const noexcept { wasmtime_error_delete(p); }
  void operator()(wasm_trap_t* p) const noexcept { wasm_trap_delete(p); }
  void operator()(wasm_functype_t* p) const noexcept { wasm_functype_delete(p); }
  void operator()(wasm_globaltype_t* p) const noexcept { wasm_globaltype_delete(p); }
  void operator()(wasmtime_module_t* p) const noexcept { wasmtime_module_delete(p); }
};

template <typename T>
using Native = std::unique_ptr<T, NativeDeleter>;

struct ByteVec : wasm_byte_vec_t {
  ByteVec() noexcept : wasm_byte_vec_t{0, nullptr} {}
  ~ByteVec() { wasm_byte_vec_delete(this); }
  ByteVec(const ByteVec&) = delete;
  ByteVec& operator=(const ByteVec&) = delete;

  std::string_view view() const noexcept { return {data, size}; }
};

// What the error says, one line per cause.
inline std::string message_of(const wasmtime_error_t* error) {
  ByteVec text;
  wasmtime_error_message(error, &text);
  return std::string(text.view());
}

inline std::string message_of(const wasm_trap_t* trap) {
  ByteVec text;
  wasm_trap_message(trap, &text);
  std::string message(text.view());
  while (!message.empty() && message.back() == '\0') message.pop_back();
  return message;
}

inline std::string_view view_of(const wasm_name_t* name) noexcept {
  return {name->data, name->size};
}

}  // namespace cloche::wasm
