// SPDX-License-Identifier: Apache-2.0
// Host functions: what a guest can import.
//
// A host function is a plain C++ function, `R f(HostCall&, A...) noexcept` with numbers as A and R
// (void or one number), and is defined once per Linker, for all instances:
//
//   std::int32_t fd_close(HostCall& call, std::uint32_t fd) noexcept {
//     auto& process = call.owner<Process>();
//     ...
//   }
//   linker.define(host_function<fd_close>("wasi_snapshot_preview1", "fd_close"));
//
// It runs on the thread that called into the guest. It may block, and may call back into the guest
// (Instance::call). To end the guest it calls `call.unwind()` and returns: no further guest code
// runs, and the Instance::call under it says `exited`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "wasm/guest_memory.h"
#include "wasm/value.h"

namespace cloche::wasm {

class Instance;

// One call of a host function. Lives as long as that call.
class HostCall {
 public:
  HostCall(Instance& instance, void* owner, void* slots) noexcept
      : instance_(instance), owner_(owner), slots_(static_cast<std::byte*>(slots)) {}
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  Instance& instance() const noexcept { return instance_; }

  // The owner that the Instance was created with; T must be its type.
  template <typename T>
  T& owner() const noexcept {
    return *static_cast<T*>(owner_);
  }

  // The guest's memory at its size of now.
  GuestMemory memory() const noexcept;

  // Ends the guest when the callback returns. The callback's result is not used then.
  void unwind() noexcept { unwinding_ = true; }
  bool unwinding() const noexcept { return unwinding_; }

  template <typename T>
  T argument(std::size_t index) const noexcept {
    T value;
    std::memcpy(&value, slots_ + index * slot_bytes, sizeof(T));
    return value;
  }

  template <typename T>
  void set_result(T value) noexcept {
    std::memset(slots_, 0, slot_bytes);
    std::memcpy(slots_, &value, sizeof(T));
  }

 private:
  static constexpr std::size_t slot_bytes = 16;  // of the engine's raw values

  Instance& instance_;
  void* owner_;
  std::byte* slots_;
  bool unwinding_ = false;
};

using HostCallback = void (*)(HostCall&) noexcept;

struct HostFunction {
  std::string_view module;
  std::string_view name;
  std::vector<ValueType> parameters;
  std::vector<ValueType> results;  // none or one
  HostCallback callback;
};

namespace detail {

template <typename T>
constexpr ValueType value_type_of() {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "wasm has 32-bit and 64-bit numbers only");
  if constexpr (std::is_integral_v<T>) return sizeof(T) == 4 ? ValueType::i32 : ValueType::i64;
  return sizeof(T) == 4 ? ValueType::f32 : ValueType::f64;
}

template <auto function, typename R, typename... A, std::size_t... index>
void call_typed(HostCall& call, std::index_sequence<index...>) noexcept {
  if constexpr (std::is_void_v<R>) {
    function(call, call.argument<A>(index)...);
  } else {
    call.set_result<R>(function(call, call.argument<A>(index)...));
  }
}

template <auto function, typename R, typename... A>
HostFunction typed(std::string_view module, std::string_view name,
                   R (*)(HostCall&, A...) noexcept) {
  HostFunction result{module, name, {value_type_of<A>()...}, {}, [](HostCall& call) noexcept {
                        call_typed<function, R, A...>(call, std::index_sequence_for<A...>{});
                      }};
  if constexpr (!std::is_void_v<R>) result.results.push_back(value_type_of<R>());
  return result;
}

}  // namespace detail

// `function` as an import `module.name`; both names must be literals (they are not copied before
// Linker::define).
template <auto function>
HostFunction host_function(std::string_view module, std::string_view name) {
  return detail::typed<function>(module, name, function);
}

}  // namespace cloche::wasm
