// SPDX-License-Identifier: Apache-2.0
// Engine: wasmtime, configured once for everything that runs in this process.
//
// What the configuration promises to the layers above:
// - a 32-bit linear memory never moves: its 4 GiB and the guards behind them are reserved at
// creation, so a bounds check costs
//   nothing and a MemoryImage can be mapped over it;
// - exceptions, SIMD, bulk memory, multi-value, reference types and tail calls are on; threads,
// shared memory, 64-bit
//   memories, several memories and the component model are off;
// - a guest may use `max_guest_stack_bytes` of stack; a thread that calls into guests needs
// `guest_thread_stack_bytes`;
// - every loop and function entry of a guest checks an epoch. Nothing ticks: `interrupt` makes each
// running guest of the
//   process call its epoch handler once (see Instance), wherever it computes;
// - fixed programs of the host may be compiled without these checks, which are a fifth of the time
// of an interpreter: a signal interrupts them (preemption.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "wasm/interruption.h"

struct wasm_engine_t;

namespace cloche::wasm {

inline constexpr std::size_t max_guest_stack_bytes = std::size_t{16} << 20;
// The margin holds our callbacks, signal handling of wasmtime and the C library, above the guest's
// deepest frame.
inline constexpr std::size_t guest_thread_stack_bytes =
    max_guest_stack_bytes + (std::size_t{1} << 20);

// For which CPUs code is compiled.
enum class Cpu : std::uint8_t {
  native,    // this one, with all that it offers
  portable,  // x86-64-v3 (AVX2, BMI, FMA: since 2013), or the least of another architecture
};

// On how many threads a program is compiled.
enum class Threads : std::uint8_t { all, one };

class Engine {
 public:
  // Throws HostError when this machine cannot run it (address space, CPU). A native engine runs
  // portable code too; a portable one is there to compile.
  explicit Engine(Cpu cpu = Cpu::native, Threads threads = Threads::all);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Makes every guest of this owner (InstanceOptions::owner; null: of anybody) that is computing
  // now, in whichever thread, run its epoch handler soon (microseconds); one that is not in guest
  // code runs it when it next enters or goes on. Handlers of other guests may run too. Any thread.
  void interrupt(const void* owner = nullptr) noexcept;

  // Whether this machine can run programs that signals interrupt. Makes ready for them at the
  // first call.
  bool preempts() const noexcept;

  // Says which machine code this engine makes and accepts: library version, configuration, CPU
  // features. Part of the key of every file of compiled code.
  std::string fingerprint(Interruption interruption = Interruption::epochs) const;

  // For this layer only. That of signals: where this machine preempts.
  wasm_engine_t* native(Interruption interruption = Interruption::epochs) const noexcept;

 private:
  struct State;

  std::unique_ptr<State> state_;
  std::string fingerprint_;
};

}  // namespace cloche::wasm
