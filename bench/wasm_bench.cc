// SPDX-License-Identifier: Apache-2.0
// What the engine layer costs: instances, calls both ways, forks and clones of a small guest.
#include <benchmark/benchmark.h>
#include <wasmtime.h>

#include <future>
#include <span>

#include "base/check.h"
#include "wasm/guest_threads.h"
#include "wasm/memory_image.h"
#include "wasm/module_store.h"

namespace cloche::wasm {
namespace {

constexpr std::string_view guest_text = R"((module
  (import "bench" "add" (func $add (param i32 i32) (result i32)))
  (import "bench" "exit" (func $exit))
  (memory (export "memory") 24)
  (global (export "__stack_pointer") (mut i32) (i32.const 65536))
  (func (export "nothing"))
  (func (export "exit") (call $exit))
  (func (export "calls") (param $n i32) (local $sum i32)
    (loop (local.set $sum (call $add (local.get $sum) (local.get $n)))
      (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))))";

std::int32_t add(HostCall& call, std::int32_t a, std::int32_t b) noexcept {
  benchmark::DoNotOptimize(call.memory());
  return a ^ b;
}

void leave(HostCall& call) noexcept { call.unwind(); }

// One engine and one guest for all benches; the guest is 1.5 MB, as a shell is.
struct Guests {
  Engine engine;
  ModuleStore store{engine, {}};
  Linker linker{engine};
  GuestThreads threads;
  std::shared_ptr<const LinkedModule> module;

  Guests() {
    linker.define(host_function<add>("bench", "add"));
    linker.define(host_function<leave>("bench", "exit"));
    wasm_byte_vec_t binary;
    CLOCHE_CHECK(wasmtime_wat2wasm(guest_text.data(), guest_text.size(), &binary) == nullptr);
    const auto loaded = store.load(std::as_bytes(std::span(binary.data, binary.size)), "bench");
    wasm_byte_vec_delete(&binary);
    CLOCHE_CHECK(loaded.ok());
    module = *linker.link(*loaded);
  }

  std::unique_ptr<Instance> make() { return *Instance::create(module, {}); }
};

Guests& guests() {
  static Guests instance;
  return instance;
}

// Benches call into guests, so they run on a thread with the stack for it.
template <typename Body>
void on_guest_thread(Body body) {
  std::promise<void> done;
  CLOCHE_CHECK(guests()
                   .threads
                   .run([&] {
                     body();
                     done.set_value();
                   })
                   .ok());
  done.get_future().wait();
}

void touch(Instance& instance, std::uint32_t first_page, std::uint32_t pages) {
  for (std::uint32_t i = 0; i < pages; ++i) {
    CLOCHE_CHECK(instance.memory().write<std::uint32_t>((first_page + i) * 4096, i + 1).ok());
  }
}

void BM_WasmInstantiate(benchmark::State& state) {
  on_guest_thread([&] {
    for (auto _ : state) benchmark::DoNotOptimize(guests().make());
  });
}
BENCHMARK(BM_WasmInstantiate)->Unit(benchmark::kMicrosecond);

void BM_WasmCallOfAGuest(benchmark::State& state) {
  on_guest_thread([&] {
    const auto guest = guests().make();
    for (auto _ : state) benchmark::DoNotOptimize(guest->call("nothing"));
  });
}
BENCHMARK(BM_WasmCallOfAGuest);

void BM_WasmHostCall(benchmark::State& state) {
  on_guest_thread([&] {
    const auto guest = guests().make();
    constexpr int count = 1000;
    for (auto _ : state) benchmark::DoNotOptimize(guest->call("calls", {Value::i32(count)}));
    state.SetItemsProcessed(state.iterations() * count);
  });
}
BENCHMARK(BM_WasmHostCall)->Unit(benchmark::kMicrosecond);

void BM_WasmUnwind(benchmark::State& state) {
  on_guest_thread([&] {
    const auto guest = guests().make();
    for (auto _ : state) benchmark::DoNotOptimize(guest->call("exit"));
  });
}
BENCHMARK(BM_WasmUnwind)->Unit(benchmark::kMicrosecond);

// A shell's clone: a new instance, the boot image, and as many pages as the argument says.
void BM_WasmClone(benchmark::State& state) {
  on_guest_thread([&] {
    const auto boot = guests().make();
    touch(*boot, 0, 300);
    const auto image = *MemoryImage::capture(*boot);
    const auto parent = guests().make();
    CLOCHE_CHECK(image->map_into(*parent).ok());
    touch(*parent, 20, static_cast<std::uint32_t>(state.range(0)));
    for (auto _ : state) {
      const auto child = guests().make();
      CLOCHE_CHECK(copy_into_clone(*parent, *child).ok());
    }
  });
}
BENCHMARK(BM_WasmClone)->Arg(20)->Arg(200)->Unit(benchmark::kMicrosecond);

// A start from a boot image.
void BM_WasmMapImage(benchmark::State& state) {
  on_guest_thread([&] {
    const auto boot = guests().make();
    touch(*boot, 0, 300);
    const auto image = *MemoryImage::capture(*boot);
    for (auto _ : state) {
      const auto child = guests().make();
      CLOCHE_CHECK(image->map_into(*child).ok());
    }
  });
}
BENCHMARK(BM_WasmMapImage)->Unit(benchmark::kMicrosecond);

// A live guest's second image: 10 MB of state in grown memory, and some pages written elsewhere.
void BM_WasmForkWithState(benchmark::State& state) {
  on_guest_thread([&] {
    const auto boot = guests().make();
    const auto image = *MemoryImage::capture(*boot);
    for (auto _ : state) {
      state.PauseTiming();
      auto parent = guests().make();
      CLOCHE_CHECK(image->map_into(*parent).ok() && prepare_for_capture(*parent).ok() &&
                   parent->grow(160).ok());
      touch(*parent, 384, 2560);
      touch(*parent, 0, 100);
      state.ResumeTiming();
      const auto fork = *MemoryImage::capture(*parent);
      auto child = guests().make();
      CLOCHE_CHECK(fork->map_into(*child).ok());
      state.PauseTiming();
      parent.reset();
      child.reset();
      state.ResumeTiming();
    }
  });
}
BENCHMARK(BM_WasmForkWithState)->Unit(benchmark::kMicrosecond)->Iterations(200);

void BM_WasmHandOffToAThread(benchmark::State& state) {
  for (auto _ : state) on_guest_thread([] {});
}
BENCHMARK(BM_WasmHandOffToAThread)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cloche::wasm
