// SPDX-License-Identifier: Apache-2.0
// What a sandbox may use. Every limit is enforced by the kernel where the resource is taken.
#pragma once

#include <cstdint>

namespace cloche::kernel {

struct KernelLimits {
  std::uint32_t max_processes = 64;  // EAGAIN from clone and spawn beyond
  // Of interpreters, beside the one of each process, all together: no more begin.
  std::uint32_t max_interpreter_threads = 512;
  std::uint32_t max_open_files = 1024;  // per process, RLIMIT_NOFILE: EMFILE
  // How many of its processes compute as fast as those of other sandboxes: further ones have a low
  // priority, so that they get what nobody else wants.
  std::uint32_t cpus = 3;
  std::uint64_t memory_bytes = 1ULL << 30;          // of all processes together: ENOMEM
  std::uint64_t process_memory_bytes = 1ULL << 30;  // linear memory of one process
  std::uint64_t program_bytes = 128ULL << 20;  // a wasm file brought by the user: ENOEXEC beyond
  std::uint32_t argument_bytes = 2U << 20;     // argv + environ of an exec: E2BIG
};

}  // namespace cloche::kernel
