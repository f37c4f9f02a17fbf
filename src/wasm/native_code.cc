// SPDX-License-Identifier: Apache-2.0
#include "wasm/native_code.h"

#include <elf.h>
#include <wasmtime.h>

#include <cstring>
#include <string_view>

#include "wasm/preemptible_program.h"

namespace cloche::wasm {
namespace {

constexpr std::string_view function_prefix = "wasm[0]::function[";

// The symbols of an image, in the order in which their code lies.
class Symbols {
 public:
  static std::optional<Symbols> find(std::span<const std::byte> image) noexcept {
    Symbols found(image);
    if (!found.read_sections()) return std::nullopt;
    return found;
  }

  // Without the first one, which is none.
  std::size_t count() const noexcept { return symbols_.size() / sizeof(Elf64_Sym) - 1; }
  Elf64_Sym at(std::size_t index) const noexcept {
    return read<Elf64_Sym>(symbols_, (index + 1) * sizeof(Elf64_Sym));
  }
  bool is_function(const Elf64_Sym& symbol) const noexcept {
    if (symbol.st_name >= names_.size()) return false;
    const auto name = names_.subspan(symbol.st_name);
    return name.size() >= function_prefix.size() &&
           std::memcmp(name.data(), function_prefix.data(), function_prefix.size()) == 0;
  }
  // In the function that does nothing but trap.
  std::optional<std::uint64_t> find_trap(const Elf64_Sym& symbol) const noexcept {
    constexpr std::string_view trap("\x0f\x0b", 2);
    constexpr std::uint64_t longest = 16;
    if (symbol.st_size > longest) return std::nullopt;
    const auto code = image_.subspan(text_offset_ + symbol.st_value, symbol.st_size);
    const auto at =
        std::string_view(reinterpret_cast<const char*>(code.data()), code.size()).find(trap);
    if (at == std::string_view::npos) return std::nullopt;
    return text_offset_ + symbol.st_value + at;
  }
  // push rbp; mov rbp, rsp
  bool begins_with_frame(const Elf64_Sym& symbol) const noexcept {
    constexpr std::string_view frame("\x55\x48\x89\xe5", 4);
    if (symbol.st_size < frame.size()) return false;
    const auto code = image_.subspan(text_offset_ + symbol.st_value, frame.size());
    return std::memcmp(code.data(), frame.data(), frame.size()) == 0;
  }
  // Where exceptions are caught, from the start of the code: the last of the arrays of 32 bits in
  // their section, after its two counts, three arrays of the first and two of the second.
  std::vector<std::uint32_t> landings() const {
    constexpr std::size_t word = sizeof(std::uint32_t);
    const std::size_t calls = read<std::uint32_t>(exceptions_, 0);
    const std::size_t count = read<std::uint32_t>(exceptions_, word);
    std::vector<std::uint32_t> found;
    for (std::size_t i = 0; i < count; ++i)
      found.push_back(read<std::uint32_t>(exceptions_, (2 + 3 * calls + 2 * count + i) * word));
    return found;
  }
  std::uint64_t text_offset() const noexcept { return text_offset_; }
  std::uint64_t text_bytes() const noexcept { return text_bytes_; }

 private:
  explicit Symbols(std::span<const std::byte> image) noexcept : image_(image) {}

  template <typename T>
  static T read(std::span<const std::byte> bytes, std::size_t offset) noexcept {
    T value{};
    if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset)
      std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }

  std::span<const std::byte> part(const Elf64_Shdr& section) const noexcept {
    if (section.sh_offset > image_.size() || section.sh_size > image_.size() - section.sh_offset)
      return {};
    return image_.subspan(section.sh_offset, section.sh_size);
  }

  bool read_sections() noexcept {
    const auto header = read<Elf64_Ehdr>(image_, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
      return false;
    const auto section = [&](std::size_t index) {
      return read<Elf64_Shdr>(image_, header.e_shoff + index * sizeof(Elf64_Shdr));
    };
    const auto section_names = part(section(header.e_shstrndx));
    const auto is_named = [&](const Elf64_Shdr& one, std::string_view name) {
      return one.sh_name < section_names.size() &&
             section_names.size() - one.sh_name > name.size() &&
             std::memcmp(section_names.data() + one.sh_name, name.data(), name.size()) == 0;
    };
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      const Elf64_Shdr one = section(i);
      if (one.sh_type == SHT_SYMTAB) {
        symbols_ = part(one);
        names_ = part(section(one.sh_link));
      } else if (is_named(one, ".wasmtime.exceptions")) {
        exceptions_ = part(one);
      } else if (one.sh_type == SHT_PROGBITS && (one.sh_flags & SHF_EXECINSTR) != 0) {
        if (text_bytes_ != 0 || part(one).empty()) return false;
        text_offset_ = one.sh_offset;
        text_bytes_ = one.sh_size;
      }
    }
    return text_bytes_ != 0 && symbols_.size() >= 2 * sizeof(Elf64_Sym);
  }

  std::span<const std::byte> image_;
  std::span<const std::byte> symbols_;
  std::span<const std::byte> names_;
  std::span<const std::byte> exceptions_;
  std::uint64_t text_offset_ = 0;
  std::uint64_t text_bytes_ = 0;
};

// `count` functions come first, the exits last of them.
std::optional<NativeCode> range_of(const Symbols& symbols, std::size_t count) noexcept {
  if (count <= functions_of_exits) return std::nullopt;
  const Elf64_Sym first = symbols.at(0);
  const Elf64_Sym throws = symbols.at(count - functions_of_exits);
  const Elf64_Sym raises = symbols.at(count - functions_of_exits + 1);
  const Elf64_Sym last = symbols.at(count - 1);
  const std::uint64_t end = last.st_value + last.st_size;
  if (first.st_value > throws.st_value || throws.st_value > raises.st_value ||
      raises.st_value > last.st_value || end > symbols.text_bytes())
    return std::nullopt;
  if (count < symbols.count() && symbols.at(count).st_value < end) return std::nullopt;
  const auto trap = symbols.find_trap(last);
  if (!trap) return std::nullopt;
  const std::uint64_t text = symbols.text_offset();
  return NativeCode{.begin = text + first.st_value,
                    .end = text + throws.st_value,
                    .raise = text + raises.st_value,
                    .trap = *trap};
}

}  // namespace

std::optional<NativeCode> functions_of(const wasmtime_module* module) {
  void* start = nullptr;
  void* end = nullptr;
  wasmtime_module_image_range(module, &start, &end);
  const auto base = reinterpret_cast<std::uintptr_t>(start);
  const std::span image(static_cast<const std::byte*>(start),
                        reinterpret_cast<std::uintptr_t>(end) - base);
  const auto symbols = Symbols::find(image);
  if (!symbols) return std::nullopt;
  // What is no function has none after it: check_layout saw to that.
  std::size_t low = 0;
  std::size_t high = symbols->count();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (symbols->is_function(symbols->at(middle))) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const auto range = range_of(*symbols, low);
  if (!range) return std::nullopt;
  NativeCode code{.begin = base + range->begin,
                  .end = base + range->end,
                  .raise = base + range->raise,
                  .trap = base + range->trap};
  const std::uintptr_t text = base + symbols->text_offset();
  for (const std::uint32_t landing : symbols->landings()) {
    std::size_t after = 0;
    for (std::size_t beyond = low; after < beyond;) {
      const std::size_t middle = after + (beyond - after) / 2;
      if (symbols->at(middle).st_value <= landing) {
        after = middle + 1;
      } else {
        beyond = middle;
      }
    }
    if (after == 0) continue;
    const Elf64_Sym function = symbols->at(after - 1);
    code.catching.push_back(
        {text + function.st_value, text + function.st_value + function.st_size});
  }
  std::ranges::sort(code.catching, {}, &NativeCode::Range::begin);
  return code;
}

std::optional<NativeCode> check_layout(std::span<const std::byte> image) noexcept {
  const auto symbols = Symbols::find(image);
  if (!symbols) return std::nullopt;
  std::size_t functions = 0;
  std::uint64_t reached = 0;
  for (std::size_t i = 0; i < symbols->count(); ++i) {
    const Elf64_Sym symbol = symbols->at(i);
    if (symbol.st_value < reached) return std::nullopt;
    reached = symbol.st_value + symbol.st_size;
    if (!symbols->is_function(symbol)) continue;
    if (functions != i || !symbols->begins_with_frame(symbol)) return std::nullopt;
    ++functions;
  }
  return range_of(*symbols, functions);
}

}  // namespace cloche::wasm
