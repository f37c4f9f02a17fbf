// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of the system calls share: a kernel per input, one guest in it whose calls
// the input decides, and an end to it however it blocks.
//
// An input is a sequence of steps: a call with its arguments, or bytes for the guest's memory. An
// argument is a small number, one of some values worth trying (addresses near the ends of memory,
// sizes that overflow, prepared objects), or any number.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kernel/files/dev_layout.h"
#include "kernel/files/pipe.h"
#include "kernel/host/host_entry.h"
#include "kernel/kernel.h"
#include "kernel/linux/dispatch.h"
#include "kernel/process/spawn_request.h"
#include "kernel/time/timer_thread.h"
#include "kernel/wasi/register.h"
#include "vfs/base_builder.h"
#include "vfs/memfs.h"
#include "wasm/guest_threads.h"
#include "wasm/native.h"

namespace cloche::fuzz {

// The input, from front to back; zeros after its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool done() const { return rest_.empty(); }
  template <typename T>
  T take() {
    T value{};
    const std::size_t count = std::min(sizeof(T), rest_.size());
    if (count != 0) std::memcpy(&value, rest_.data(), count);
    rest_ = rest_.subspan(count);
    return value;
  }
  std::span<const std::uint8_t> take_bytes(std::size_t size) {
    const auto front = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(front.size());
    return front;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

inline constexpr std::uint32_t memory_bytes = 2 * 65536;
// Prepared objects in the guest's memory.
inline constexpr std::uint32_t names_at = 0x100;    // paths, 32 bytes each, NUL-terminated
inline constexpr std::uint32_t vectors_at = 0x400;  // iovecs, 8 bytes each
inline constexpr std::uint32_t scratch_at = 0x1000;
inline constexpr std::uint32_t pending_word_at = 0x10;

inline constexpr std::array<std::string_view, 24> names = {"/tmp",
                                                           "/tmp/file",
                                                           "tmp/file",
                                                           "/etc/file",
                                                           "../..//tmp/./dir/..",
                                                           "/tmp/dir",
                                                           "/tmp/link",
                                                           "/tmp/fifo",
                                                           "/tmp/new",
                                                           "/bin/program",
                                                           "/tmp/dir/nested",
                                                           "file",
                                                           "/dev/ptmx",
                                                           "/dev/pts/0",
                                                           "/dev/tty",
                                                           "/dev/shm/x",
                                                           "/proc/self/fd/3",
                                                           "/proc/self/maps",
                                                           "/dev/full",
                                                           "/dev/stdin",
                                                           "/proc",
                                                           "/proc/self/status",
                                                           "/proc/self/mountinfo",
                                                           "/proc/self/fdinfo/3"};

inline void prepare(const wasm::GuestMemory& memory) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    (void)memory.copy_out(static_cast<std::uint32_t>(names_at + 32 * i), names[i]);
  }
  constexpr std::array<std::array<std::uint32_t, 2>, 6> vectors{{{scratch_at, 16},
                                                                 {scratch_at + 64, 4096},
                                                                 {0, 0},
                                                                 {memory_bytes - 8, 16},
                                                                 {names_at, 9},
                                                                 {scratch_at, 0xffffffff}}};
  (void)memory.write(vectors_at, vectors);
}

inline std::uint64_t argument(Bytes& input) {
  constexpr std::array<std::uint64_t, 16> wild{0xffffffff,
                                               0x7fffffff,
                                               0x80000000,
                                               0xfffff000,
                                               memory_bytes - 1,
                                               memory_bytes,
                                               memory_bytes - 8,
                                               memory_bytes - 64,
                                               65536,
                                               4096,
                                               0x7fffffffffffffff,
                                               ~std::uint64_t{0},
                                               scratch_at,
                                               scratch_at + 128,
                                               std::uint64_t{1} << 40,
                                               0xffffff9c};
  const auto tag = input.take<std::uint8_t>();
  if (tag < 96) return tag;
  if (tag < 128) return scratch_at + (tag - 96U) * 64;
  if (tag < 160) return names_at + 32 * ((tag - 128U) % names.size());
  if (tag < 176) return vectors_at + 8 * ((tag - 160U) % 6);
  if (tag < 208) return wild[(tag - 176U) % wild.size()];
  return tag < 232 ? input.take<std::uint32_t>() : input.take<std::uint64_t>();
}

// The number of a Linux call: mostly one there is, sometimes any.
inline std::uint32_t call_number(Bytes& input) {
  const auto low = input.take<std::uint8_t>();
  const auto high = input.take<std::uint8_t>();
  if (high < 128) return low;
  if (high < 220) return 256U + low;
  return high < 240 ? 0x1000U + low % 8U : input.take<std::uint32_t>();
}

// Bytes for the guest's memory: an address, a length, the bytes.
inline void fill(const wasm::GuestMemory& memory, Bytes& input) {
  const auto address = static_cast<std::uint32_t>(argument(input));
  const auto bytes = input.take_bytes(input.take<std::uint8_t>());
  (void)memory.copy_out(address, std::as_bytes(bytes));
}

// What the guest does in its `_start`: on its own thread, without the kernel lock.
using Body = std::function<void(wasm::HostCall&)>;

class Machine {
 public:
  // `wat`: a program that calls `test.turn` in its `_start`. `define` adds imports of its own.
  explicit Machine(std::string_view wat, void (*define)(wasm::Linker&) = nullptr)
      : linker_(engine_), programs_(modules_, linker_) {
    if (define != nullptr) define(linker_);
    kernel::lnx::define_imports(linker_);
    kernel::wasi::define_imports(linker_);
    linker_.define(wasm::host_function<turn>("test", "turn"));
    wasm::ByteVec binary;
    const wasm::Native<wasmtime_error_t> error(wasmtime_wat2wasm(wat.data(), wat.size(), &binary));
    if (error) std::abort();
    const std::string program(reinterpret_cast<const char*>(binary.data), binary.size);
    vfs::BaseBuilder builder;
    const auto must = [](const Result<void>& result) {
      if (!result) std::abort();
    };
    constexpr vfs::BaseAttr sandbox_user{.mode = 0755, .uid = 1000, .gid = 1000};
    must(builder.add_dir("tmp", {.mode = 01777}));
    must(builder.add_dir("tmp/dir", sandbox_user));
    must(builder.add_file("etc/file", vfs::SharedBytes::from_string("read only")));
    must(builder.add_file("tmp/file", vfs::SharedBytes::from_string("content of a file"),
                          sandbox_user));
    must(builder.add_symlink("tmp/link", "file"));
    kernel::add_devices(builder);
    must(builder.add_file("bin/program", vfs::SharedBytes::from_string(program), {.mode = 0755}));
    base_ = builder.freeze();
  }

  // One input: ends when the body has, or after `limit`, whatever the guest and its children do
  // then.
  void run(Body body, std::chrono::milliseconds limit) {
    constexpr vfs::Quota quota{.bytes = 4 << 20, .inodes = 500};
    kernel::KernelOptions options;
    options.limits.max_processes = 8;
    options.limits.max_open_files = 64;
    options.limits.memory_bytes = 64 << 20;
    options.limits.process_memory_bytes = 16 << 20;
    options.trace_syscalls = true;
    // To see what an input does: CLOCHE_FUZZ_TRACE=1.
    static const char* const shown = std::getenv("CLOCHE_FUZZ_TRACE");
    options.trace_sink = [](std::string_view line) {
      if (shown != nullptr) fmt::print(stderr, "{}\n", line);
    };
    body_ = std::move(body);
    kernel::Kernel kernel(
        {engine_, threads_, programs_, timers_},
        std::make_unique<vfs::Namespace>(vfs::make_fs<vfs::MemFs>(base_, quota, vfs::host_clock())),
        std::move(options));
    kernel::SpawnRequest request;
    request.path = "/bin/program";
    request.argv = {"program", "argument"};
    request.environment = {"NAME=value"};
    {
      auto [reader, writer] = kernel::make_pipe(kernel);
      request.files = {{0, std::move(reader)}, {1, writer}, {2, std::move(writer)}};
    }
    current() = this;
    const Result<kernel::ProcessPtr> process = kernel.spawn(request);
    if (!process) std::abort();
    (void)kernel.wait_for(*process, std::chrono::steady_clock::now() + limit);
    kernel.kill_job(0);
    request.files.clear();
  }

 private:
  static Machine*& current() {
    static Machine* machine = nullptr;
    return machine;
  }

  // The first program that starts gets the body; those that an exec starts end at once.
  static void turn(wasm::HostCall& host) noexcept {
    if (Body body = std::exchange(current()->body_, nullptr)) {
      prepare(host.memory());
      body(host);
    }
    (void)kernel::enter_kernel(
        host, [](kernel::Task&, const wasm::GuestMemory&) -> Result<void> { return {}; });
  }

  wasm::Engine engine_;
  wasm::ModuleStore modules_{engine_, {}};
  wasm::Linker linker_;
  kernel::ProgramStore programs_;
  kernel::TimerThread timers_;
  wasm::GuestThreads threads_;
  vfs::Frozen base_;
  Body body_;
};

// Long enough for calls that do something, short enough for an input that sleeps.
inline constexpr std::chrono::milliseconds input_limit{50};
inline constexpr int max_steps = 200;

}  // namespace cloche::fuzz
