// SPDX-License-Identifier: Apache-2.0
// GuestCompiler: compiles programs that guests bring, each in a process of its own.
//
// A module can be made so that compiling it takes any amount of time and memory. The process
// (`cloche-compile`, src/compiler) therefore has limits of memory and time of CPU, a low priority,
// and no rights but to compute and to write its answer; it is in a group of its own and is killed
// when nobody wants the answer any more, or when this process ends. Its memory is charged to the
// sandbox that brought the program, for as long as it lives.
//
// What comes back is executed: a compiler that a module could take over would be a way out, as it
// would be in this process. The walls are against what a compiler does with time and memory.
//
// So many work at a time, of which one owner has three quarters at most. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wasm/memory_budget.h"

namespace cloche::wasm {

// For whom a program is compiled.
struct CompileFor {
  std::shared_ptr<MemoryBudget> budget;  // null: nobody is charged
  // Asked every few milliseconds, without locks of this layer: true ends the compiler at once.
  // Empty: never.
  std::function<bool()> give_up;

  bool given_up() const { return give_up && give_up(); }
};
// How often somebody who waits asks.
inline constexpr std::chrono::milliseconds give_up_look{10};

class GuestCompiler {
 public:
  struct Options {
    // Empty: there is none, and every program is refused.
    std::filesystem::path program;
    std::uint32_t max_at_once = 0;  // of all sandboxes; 0: twice the CPUs
    std::chrono::seconds cpu_limit{60};
    std::uint64_t memory_limit_bytes = std::uint64_t{1} << 30;
  };

  explicit GuestCompiler(Options options);
  GuestCompiler(const GuestCompiler&) = delete;
  GuestCompiler& operator=(const GuestCompiler&) = delete;

  // The file of the program's code (compiled_code.h). Errors: ENOEXEC for what is no valid program
  // or takes too long, ENOMEM, EINTR when it was given up, EAGAIN when the host gives no process.
  Result<UniqueFd, Error> compile(std::span<const std::byte> wasm, const CompileFor& whom);

 private:
  class Turn;

  const Options options_;
  Mutex mutex_;
  Condition changed_;
  std::uint32_t at_work_ GUARDED_BY(mutex_) = 0;
};

// What a compiler of this program may take.
std::uint64_t compile_memory_bytes(std::span<const std::byte> wasm);

// Between GuestCompiler and the program: `cloche-compile PARENT MEMORY_BYTES CPU_SECONDS`.
namespace compiler_protocol {
inline constexpr int wasm_fd = 3;
inline constexpr int code_fd = 4;
inline constexpr int life_fd = 5;  // open until its end
// How it ends; by a signal where it met a limit.
inline constexpr int done = 0;
inline constexpr int refused = 1;  // the code file holds the sentence
inline constexpr int no_memory = 3;
inline constexpr int failed = 4;
}  // namespace compiler_protocol

}  // namespace cloche::wasm
