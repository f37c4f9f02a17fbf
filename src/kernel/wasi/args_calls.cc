// SPDX-License-Identifier: Apache-2.0
// args_get, args_sizes_get, environ_get, environ_sizes_get: the start block of the program.
#include "kernel/wasi/wasi_call.h"

namespace cloche::kernel::wasi {
namespace {

using Strings = std::vector<std::string>;

// Strings come from exec, which bounds them far below 4 GiB.
std::uint32_t bytes_of(const Strings& strings) {
  std::size_t bytes = 0;
  for (const std::string& text : strings) bytes += text.size() + 1;
  return static_cast<std::uint32_t>(bytes);
}

Result<void> sizes(const Call& call, const Strings& strings, std::uint32_t count_out,
                   std::uint32_t bytes_out) {
  CLOCHE_TRY(call.check_out<std::uint32_t>(bytes_out));
  CLOCHE_TRY(call.memory.write(count_out, static_cast<std::uint32_t>(strings.size())));
  return call.memory.write(bytes_out, bytes_of(strings));
}

Result<void> get(const Call& call, const Strings& strings, std::uint32_t pointers_out,
                 std::uint32_t strings_out) {
  std::vector<std::uint32_t> pointers;
  pointers.reserve(strings.size());
  std::string block;
  block.reserve(bytes_of(strings));
  for (const std::string& text : strings) {
    pointers.push_back(strings_out + static_cast<std::uint32_t>(block.size()));
    block.append(text.c_str(), text.size() + 1);
  }
  CLOCHE_TRY(call.memory.slice(strings_out, block.size()));
  CLOCHE_TRY(call.memory.write_array(pointers_out, std::span<const std::uint32_t>(pointers)));
  return call.memory.copy_out(strings_out, block);
}

Result<void> args_get(Call& call, std::uint32_t pointers_out, std::uint32_t strings_out)
    REQUIRES(kernel_lock) {
  return get(call, call.process.words->argv, pointers_out, strings_out);
}

Result<void> args_sizes_get(Call& call, std::uint32_t count_out, std::uint32_t bytes_out)
    REQUIRES(kernel_lock) {
  return sizes(call, call.process.words->argv, count_out, bytes_out);
}

Result<void> environ_get(Call& call, std::uint32_t pointers_out, std::uint32_t strings_out)
    REQUIRES(kernel_lock) {
  return get(call, call.process.words->environment, pointers_out, strings_out);
}

Result<void> environ_sizes_get(Call& call, std::uint32_t count_out, std::uint32_t bytes_out)
    REQUIRES(kernel_lock) {
  return sizes(call, call.process.words->environment, count_out, bytes_out);
}

}  // namespace

Functions args_calls() {
  return {function<"args_get", args_get>(), function<"args_sizes_get", args_sizes_get>(),
          function<"environ_get", environ_get>(),
          function<"environ_sizes_get", environ_sizes_get>()};
}

}  // namespace cloche::kernel::wasi
