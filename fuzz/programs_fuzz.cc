// SPDX-License-Identifier: Apache-2.0
// Programs that guests bring, as far as Cloche reads them itself: how big they are, what an instance
// costs, their data apart from their code, and what makes them interruptible. And the end of a file
// of machine code, as a compiler's process hands it over.
//
// The first byte chooses; a program may leave out the eight bytes that it begins with.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/unique_fd.h"
#include "wasm/compiled_code.h"
#include "wasm/engine.h"
#include "wasm/guest_compiler.h"
#include "wasm/initial_memory.h"
#include "wasm/module_limits.h"
#include "wasm/native.h"
#include "wasm/preemptible_program.h"
#include "wasm/private_pages.h"
#include "wasm/wat_testing.h"

namespace {

using namespace cloche;
using Bytes = std::vector<std::byte>;

bool is_valid(std::span<const std::byte> wasm) {
  const wasm::Native<wasmtime_error_t> error(
      wasmtime_module_validate(wasm::test_engine().native(),
                               reinterpret_cast<const std::uint8_t*>(wasm.data()), wasm.size()));
  return !error;
}

void read_program(std::span<const std::byte> given) {
  constexpr std::array<std::uint8_t, 8> head{0, 'a', 's', 'm', 1, 0, 0, 0};
  const auto begins = std::as_bytes(std::span(head));
  Bytes wasm(begins.begin(), begins.end());
  const bool has_head = given.size() >= 4 && std::memcmp(given.data(), head.data(), 4) == 0;
  wasm.insert(wasm.end(),
              given.begin() + (has_head ? std::min<std::ptrdiff_t>(8, std::ssize(given)) : 0),
              given.end());

  const auto problem = wasm::beyond_limits(wasm);
  CLOCHE_CHECK(!problem || !problem->empty());
  CLOCHE_CHECK(wasm::largest_function_bytes(wasm) <= wasm.size());
  CLOCHE_CHECK(wasm::engine_bytes_of(wasm) <=
               wasm.size() * 64 + wasm::max_table_elements * 16 * wasm::max_tables * 256);
  (void)wasm::compile_memory_bytes(wasm);
  const auto split = wasm::split_data(wasm);
  const auto preemptible = wasm::make_preemptible(wasm);
  if (split) {
    CLOCHE_CHECK(split->start % wasm::host_page_bytes() == 0);
    CLOCHE_CHECK(split->data.size() % wasm::host_page_bytes() == 0);
    CLOCHE_CHECK(split->data.size() <= std::uint64_t{4} << 30);
  }
  if (!is_valid(wasm)) return;
  CLOCHE_CHECK(!split || is_valid(split->wasm));
  // One with handlers that uses exceptions as values in other ways becomes none, and checks epochs.
  constexpr std::string_view handlers = "__cloche_signal";
  const std::string_view text(reinterpret_cast<const char*>(wasm.data()), wasm.size());
  CLOCHE_CHECK(!preemptible || text.find(handlers) != text.npos || is_valid(*preemptible));
}

// Machine code that is good, before an end that is not.
void read_code_file(std::span<const std::byte> end) {
  static const Bytes code = [] {
    const Bytes wasm = wasm::from_wat("(module (memory 1) (data (i32.const 0) \"x\"))");
    const UniqueFd file(::memfd_create("code", MFD_CLOEXEC));
    CLOCHE_CHECK(wasm::compile_to_file(wasm::test_engine(), wasm, file.get()).ok());
    Bytes made(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)));
    CLOCHE_CHECK(::pread(file.get(), made.data(), made.size(), 0) ==
                 static_cast<ssize_t>(made.size()));
    return made;
  }();
  constexpr std::size_t footer_bytes = 40;
  Bytes file = code;
  const std::size_t kept = footer_bytes - std::min(end.size(), footer_bytes);
  std::copy_n(end.begin(), footer_bytes - kept,
              file.end() - static_cast<std::ptrdiff_t>(footer_bytes - kept));
  const UniqueFd fd(::memfd_create("code", MFD_CLOEXEC));
  CLOCHE_CHECK(::pwrite(fd.get(), file.data(), file.size(), 0) ==
               static_cast<ssize_t>(file.size()));
  const auto opened = wasm::open_code_file(wasm::test_engine(), fd.get());
  if (!opened) return;
  CLOCHE_CHECK(opened->initial.end() % wasm::host_page_bytes() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 1 << 14;
  if (size < 1 || size > most) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 8 == 7) {
    read_code_file(input);
  } else {
    read_program(input);
  }
  return 0;
}
