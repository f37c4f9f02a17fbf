// SPDX-License-Identifier: Apache-2.0
#include "wasm/stopped_guest.h"

#include <wasmtime.h>

#include <cstring>
#include <string_view>

#include "base/check.h"

namespace cloche::wasm {
namespace {

static_assert(std::string_view(WASMTIME_VERSION) == "50.0.1",
              "see whether these are still so: VMFuncRef, VMContext and VMStoreContext in "
              "wasmtime-environ, the calling convention `tail` of Cranelift");

// VMFuncRef, of which wasmtime_func_to_raw gives the address.
constexpr std::size_t context_of_function = 24;

// VMContext
constexpr std::uint32_t context_magic = 0x65726f63;  // "core"
constexpr std::size_t store_of_context = 8;

// VMStoreContext: of the trampoline by which the guest has left, and where it goes on.
constexpr std::size_t exit_frame = 48;
constexpr std::size_t exit_address = 56;

template <typename T>
T read(const std::byte* at) noexcept {
  T value;
  std::memcpy(static_cast<void*>(&value), at, sizeof(T));
  return value;
}

}  // namespace

GuestContext::GuestContext(wasmtime_context* store, const wasmtime_func& function) noexcept {
  const auto* const reference =
      static_cast<const std::byte*>(wasmtime_func_to_raw(store, &function));
  address_ = read<std::byte*>(reference + context_of_function);
  CLOCHE_CHECK(read<std::uint32_t>(address_) == context_magic);
}

void GuestContext::forget_exit(const NativeCode& code) const noexcept {
  auto* const store = read<std::byte*>(address_ + store_of_context);
  const auto frame = read<std::uintptr_t>(store + exit_frame);
  const auto address = read<std::uintptr_t>(store + exit_address);
  CLOCHE_CHECK(frame == 0 ? address == 0 : code.contains_exits(address));
  std::memset(store + exit_frame, 0, sizeof(frame));
  std::memset(store + exit_address, 0, sizeof(address));
}

#if defined(__x86_64__)
void GuestContext::go_on_raising(ucontext_t& context, const NativeCode& code) const noexcept {
  auto& registers = context.uc_mcontext.gregs;
  const auto set = [&](int which, std::uintptr_t value) {
    registers[which] = static_cast<greg_t>(value);
  };
  const auto word = [&](int which) { return static_cast<std::uintptr_t>(registers[which]); };
  // As Cranelift makes all functions (`check_layout` sees to the first two):
  // push rbp; mov rbp, rsp; ...; mov rsp, rbp; pop rbp; ret.
  const auto* const next = reinterpret_cast<const unsigned char*>(word(REG_RIP));
  constexpr unsigned char push_frame = 0x55;
  constexpr unsigned char set_frame[] = {0x48, 0x89, 0xe5};
  constexpr unsigned char return_ = 0xc3;
  constexpr unsigned char return_and_drop = 0xc2;
  if (std::memcmp(next, set_frame, sizeof(set_frame)) == 0) {
    set(REG_RSP, word(REG_RSP) + sizeof(std::uintptr_t));
  } else if (*next != push_frame && *next != return_ && *next != return_and_drop) {
    const std::uintptr_t frame = word(REG_RBP);
    set(REG_RSP, frame + sizeof(std::uintptr_t));
    set(REG_RBP, read<std::uintptr_t>(reinterpret_cast<const std::byte*>(frame)));
  }
  // The function's own context, and its caller's.
  set(REG_RDI, reinterpret_cast<std::uintptr_t>(address_));
  set(REG_RSI, reinterpret_cast<std::uintptr_t>(address_));
  set(REG_RIP, code.raise);
}
#else
void GuestContext::go_on_raising(ucontext_t&, const NativeCode&) const noexcept {}
#endif

}  // namespace cloche::wasm
