// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile_main.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/host_error.h"
#include "base/write_fully.h"
#include "compiler/jail.h"
#include "wasm/compiled_code.h"
#include "wasm/engine.h"
#include "wasm/guest_compiler.h"

namespace {

namespace protocol = cloche::wasm::compiler_protocol;

std::optional<std::uint64_t> number(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<std::span<const std::byte>> map_input() {
  struct stat status;
  if (fstat(protocol::wasm_fd, &status) != 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::span<const std::byte>{};
  void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, protocol::wasm_fd, 0);
  if (at == MAP_FAILED) return std::nullopt;
  return std::span(static_cast<const std::byte*>(at), size);
}

int compile(const cloche::compiler::JailLimits& limits) {
  // The engine looks at the machine that it is on, so it comes first.
  const cloche::wasm::Engine engine(cloche::wasm::Cpu::native, cloche::wasm::Threads::one);
  const auto wasm = map_input();
  if (!wasm || !cloche::compiler::enter_jail(limits)) return protocol::failed;
  const auto made = cloche::wasm::compile_to_file(engine, *wasm, protocol::code_fd);
  if (made) return protocol::done;
  if (made.error().code() != cloche::Errno::noexec) return protocol::no_memory;
  (void)cloche::write_fully(protocol::code_fd, made.error().sentence());
  return protocol::refused;
}

}  // namespace

namespace cloche::compiler {

int compile_main(int argc, char** argv) {
  const auto parent = number(argc > 1 ? argv[1] : "");
  const auto memory = number(argc > 2 ? argv[2] : "");
  const auto cpu = number(argc > 3 ? argv[3] : "");
  if (argc != 4 || !parent || !memory || !cpu) {
    std::fputs("cloche-compile is started by cloche, for programs that guests bring\n", stderr);
    return protocol::failed;
  }
  // At once: what was allocated is given back by the end, and nothing here has anything to say.
  try {
    _exit(compile({static_cast<int>(*parent), *memory, *cpu}));
  } catch (const std::bad_alloc&) {
    _exit(protocol::no_memory);
  } catch (const std::exception&) {
    _exit(protocol::failed);
  }
}

}  // namespace cloche::compiler
