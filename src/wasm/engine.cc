// SPDX-License-Identifier: Apache-2.0
#include "wasm/engine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <wasmtime.h>

#include <atomic>
#include <mutex>

#include "base/host_error.h"
#include "wasm/linear_memory.h"
#include "wasm/mapping_share.h"
#include "wasm/native.h"
#include "wasm/preemption.h"
#include "wasm/private_pages.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

namespace cloche::wasm {
namespace {

// Counts the changes of `make_config` that change machine code, and of its file
// (compiled_code.h).
constexpr int config_version = 2;

constexpr std::uint64_t reservation_bytes = std::uint64_t{4} << 30;
constexpr std::uint64_t guard_bytes = std::uint64_t{32} << 20;

void set_portable(wasm_config_t* config) {
#if defined(__x86_64__)
  const Native<wasmtime_error_t> error(
      wasmtime_config_target_set(config, "x86_64-unknown-linux-gnu"));
  for (const char* flag :
       {"has_cmpxchg16b", "has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt",
        "has_avx", "has_avx2", "has_bmi1", "has_bmi2", "has_fma", "has_lzcnt"}) {
    wasmtime_config_cranelift_flag_enable(config, flag);
  }
#else
  const Native<wasmtime_error_t> error(
      wasmtime_config_target_set(config, "aarch64-unknown-linux-gnu"));
#endif
  if (error) throw HostError("wasmtime cannot compile for other machines");
}

wasm_config_t* make_config(Cpu cpu, Threads threads, Interruption interruption) {
  wasm_config_t* config = wasm_config_new();
  if (cpu == Cpu::portable) set_portable(config);
  wasmtime_config_strategy_set(config, WASMTIME_STRATEGY_CRANELIFT);
  wasmtime_config_cranelift_opt_level_set(config, WASMTIME_OPT_LEVEL_SPEED);
  wasmtime_config_parallel_compilation_set(config, threads == Threads::all);
  wasmtime_config_epoch_interruption_set(config, interruption == Interruption::epochs);
  wasmtime_config_native_unwind_info_set(config, false);

  wasmtime_config_wasm_reference_types_set(config, true);
  wasmtime_config_wasm_function_references_set(config, true);
  wasmtime_config_wasm_exceptions_set(config, true);
  wasmtime_config_wasm_simd_set(config, true);
  wasmtime_config_wasm_relaxed_simd_set(config, true);
  wasmtime_config_wasm_bulk_memory_set(config, true);
  wasmtime_config_wasm_multi_value_set(config, true);
  wasmtime_config_wasm_tail_call_set(config, interruption == Interruption::epochs);
  wasmtime_config_wasm_threads_set(config, false);
  wasmtime_config_shared_memory_set(config, false);
  wasmtime_config_wasm_multi_memory_set(config, false);
  wasmtime_config_wasm_memory64_set(config, false);
  wasmtime_config_wasm_gc_set(config, false);

  wasmtime_config_memory_may_move_set(config, false);
  wasmtime_config_memory_reservation_set(config, reservation_bytes);
  wasmtime_config_memory_guard_size_set(config, guard_bytes);
  // Memory is made here, with the program's data in it: see linear_memory.h.
  wasmtime_config_memory_init_cow_set(config, false);
  make_memory_here(config);
  wasmtime_config_signals_based_traps_set(config, true);

  wasmtime_config_max_wasm_stack_set(config, max_guest_stack_bytes);
  // Unused (nothing here is async), but checked to be larger than the one above.
  wasmtime_config_async_stack_size_set(config, guest_thread_stack_bytes);
  return config;
}

// wasmtime uses every instruction that the CPU offers, so code from the cache must come from a CPU
// like this one.
std::string cpu_features() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  std::string features = "x86_64";
  for (const unsigned leaf : {1U, 7U, 0x80000001U}) {
    if (__get_cpuid_count(leaf, 0, &a, &b, &c, &d) == 0) continue;
    // Leaf 1 has the number of this core in ebx, and in ecx whether the system saves AVX state.
    features +=
        leaf == 1 ? fmt::format("-{:x}.{:x}", c, d) : fmt::format("-{:x}.{:x}.{:x}", b, c, d);
  }
  return features;
#else
  return fmt::format("{:x}-{:x}", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#endif
}

}  // namespace

struct Engine::State {
  const Cpu cpu;
  const Threads threads;
  wasm_engine_t* native = nullptr;
  // Made when it is first asked for: most processes run no program of it.
  std::once_flag preempting_made;
  std::atomic<wasm_engine_t*> preempting{nullptr};

  State(Cpu of, Threads on) : cpu(of), threads(on) {}
  ~State() {
    if (preempting != nullptr) wasm_engine_delete(preempting);
    if (native != nullptr) wasm_engine_delete(native);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Engine::Engine(Cpu cpu, Threads threads)
    : state_(std::make_unique<State>(cpu, threads)),
      fingerprint_(fmt::format("wasmtime-{} config-{} {}", WASMTIME_VERSION, config_version,
                               cpu == Cpu::portable ? "portable" : cpu_features())) {
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY &&
      address_space.rlim_cur < 4 * reservation_bytes) {
    throw HostError(
        "the address space of this process is limited (ulimit -v), and each guest reserves 4 GiB "
        "of "
        "it: set it to unlimited");
  }
  open_page_table();
  (void)MappingShare::of_this_process();
  state_->native = wasm_engine_new_with_config(make_config(cpu, threads, Interruption::epochs));
  if (state_->native == nullptr) throw HostError("wasmtime cannot run on this machine");
}

Engine::~Engine() = default;

wasm_engine_t* Engine::native(Interruption interruption) const noexcept {
  return interruption == Interruption::epochs ? state_->native : state_->preempting.load();
}

void Engine::interrupt(const void* owner) noexcept {
  wasmtime_engine_increment_epoch(state_->native);
  if (state_->preempting != nullptr) Preemption::interrupt(owner);
}

bool Engine::preempts() const noexcept {
  State& state = *state_;
  std::call_once(state.preempting_made, [&] {
    if (!Preemption::available()) return;
    state.preempting =
        wasm_engine_new_with_config(make_config(state.cpu, state.threads, Interruption::signals));
  });
  return state.preempting != nullptr;
}

std::string Engine::fingerprint(Interruption interruption) const {
  return interruption == Interruption::epochs ? fingerprint_ : fingerprint_ + " signals-3";
}

}  // namespace cloche::wasm
