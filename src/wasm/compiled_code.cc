// SPDX-License-Identifier: Apache-2.0
#include "wasm/compiled_code.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cstring>

#include "base/descriptor_path.h"
#include "base/write_fully.h"
#include "wasm/preemptible_program.h"
#include "wasm/private_pages.h"
#include "wasm/wasm_reader.h"

namespace cloche::wasm {
namespace {

struct Footer {
  std::array<char, 8> magic;
  std::uint64_t code_bytes;
  std::uint64_t data_offset;
  std::uint64_t data_bytes;
  std::uint64_t data_start;  // in linear memory
};
constexpr std::array<char, 8> footer_magic{'c', 'l', 'o', 'c', 'h', 'e', '-', '1'};

std::string first_line(std::string text) {
  if (const auto end = text.find('\n'); end != text.npos) text.resize(end);
  return text;
}

bool is_binary(std::span<const std::byte> wasm) {
  // The C API also reads text and machine code under the same name; programs are binary wasm.
  static constexpr char magic[] = {'\0', 'a', 's', 'm'};
  return wasm.size() >= 8 && std::memcmp(wasm.data(), magic, sizeof(magic)) == 0;
}

bool write_file(int fd, std::span<const std::byte> code, const SplitProgram* split) {
  const std::uint64_t page = host_page_bytes();
  const std::uint64_t padding = (page - code.size() % page) % page;
  Footer footer{footer_magic, code.size(), code.size() + padding, 0, 0};
  if (split != nullptr) {
    footer.data_bytes = split->data.size();
    footer.data_start = split->start;
  }
  const std::vector<std::byte> zeros(static_cast<std::size_t>(padding));
  return write_fully(fd, code) && write_fully(fd, zeros) &&
         (split == nullptr || write_fully(fd, split->data)) &&
         write_fully(fd, std::as_bytes(std::span(&footer, 1)));
}

std::optional<Footer> read_footer(int fd) {
  struct stat status;
  Footer footer;
  if (fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(footer)))
    return std::nullopt;
  const auto at = status.st_size - static_cast<off_t>(sizeof(footer));
  if (pread(fd, &footer, sizeof(footer), at) != static_cast<ssize_t>(sizeof(footer)))
    return std::nullopt;
  const std::uint64_t page = host_page_bytes();
  if (footer.magic != footer_magic || footer.data_offset % page != 0 ||
      footer.data_bytes % page != 0 || footer.data_start % page != 0 ||
      footer.data_offset + footer.data_bytes != static_cast<std::uint64_t>(at)) {
    return std::nullopt;
  }
  return footer;
}

bool has_start(std::span<const std::byte> wasm) {
  return !for_each_section(wasm, [](const WasmSection& section) {
    return section.id != static_cast<std::uint8_t>(Section::start);
  });
}

Error no_program(const std::string& sentence) {
  return {ErrorKind::sandbox, Errno::noexec, sentence};
}

}  // namespace

Result<void, Error> compile_to_file(const Engine& engine, std::span<const std::byte> wasm, int fd,
                                    Interruption interruption) {
  if (!is_binary(wasm)) return no_program("not a WebAssembly program");
  const bool preempted = interruption == Interruption::signals;
  if (preempted && has_start(wasm)) return no_program("a program with a start function");
  const std::optional<SplitProgram> split = split_data(wasm);
  std::span<const std::byte> bytes = split ? std::span(split->wasm) : wasm;
  std::optional<std::vector<std::byte>> rewritten;
  if (preempted) {
    rewritten = make_preemptible(bytes);
    if (!rewritten) return no_program("a program with code that signals cannot interrupt");
    bytes = *rewritten;
  }
  wasmtime_module_t* made = nullptr;
  const Native<wasmtime_error_t> error(wasmtime_module_new(
      engine.native(interruption), reinterpret_cast<const std::uint8_t*>(bytes.data()),
      bytes.size(), &made));
  const Native<wasmtime_module_t> module(made);
  if (error) return no_program("not a valid program: " + first_line(message_of(error.get())));
  ByteVec code;
  const Native<wasmtime_error_t> failed(wasmtime_module_serialize(module.get(), &code));
  if (!failed && preempted && !check_layout(std::as_bytes(std::span(code.data, code.size))))
    return no_program("a program whose machine code is not laid out as expected");
  if (failed ||
      !write_file(fd, std::as_bytes(std::span(code.data, code.size)), split ? &*split : nullptr))
    return Error(ErrorKind::host, Errno::io, "the machine code cannot be written");
  return {};
}

std::optional<OpenedCode> open_code_file(const Engine& engine, int fd, Interruption interruption) {
  const std::optional<Footer> footer = read_footer(fd);
  if (!footer) return std::nullopt;
  // By descriptor: what was checked is what is mapped.
  const std::string path = descriptor_path(fd);
  wasmtime_module_t* module = nullptr;
  const Native<wasmtime_error_t> error(
      wasmtime_module_deserialize_file(engine.native(interruption), path.c_str(), &module));
  if (error) return std::nullopt;  // of another wasmtime or CPU
  OpenedCode opened{.module = Native<wasmtime_module_t>(module), .initial = {}};
  if (interruption == Interruption::signals) {
    opened.preempted = functions_of(module);
    if (!opened.preempted) return std::nullopt;
  }
  if (footer->data_bytes > 0) {
    auto initial =
        InitialMemory::open(fd, footer->data_offset, footer->data_bytes, footer->data_start);
    if (!initial) return std::nullopt;
    opened.initial = *std::move(initial);
  }
  return opened;
}

}  // namespace cloche::wasm
