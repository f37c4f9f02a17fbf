// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/check.h"
#include "kernel/linux/call.h"

namespace cloche::kernel::lnx {
namespace {

// asm-generic numbers end below 512, our own begin at 0x1000.
constexpr std::uint32_t generic_end = 512;
constexpr std::uint32_t own_begin = 0x1000;
constexpr std::uint32_t own_end = own_begin + 16;

class Table {
 public:
  Table() {
    for (const auto family :
         {fd_calls(), transfer_calls(), space_calls(), path_calls(), attribute_calls(),
          directory_calls(), pipe_calls(), poll_calls(), socket_calls(), time_calls(),
          process_calls(), exec_calls(), signal_calls(), memory_calls(), system_calls()}) {
      for (const Entry& entry : family) {
        const Entry*& place = slot(entry.number);
        CLOCHE_CHECK(place == nullptr);
        place = &entry;
      }
    }
  }

  const Entry* find(std::uint32_t number) const {
    if (number < generic_end) return generic_[number];
    if (number >= own_begin && number < own_end) return own_[number - own_begin];
    return nullptr;
  }

 private:
  const Entry*& slot(std::uint32_t number) {
    if (number < generic_end) return generic_[number];
    CLOCHE_CHECK(number >= own_begin && number < own_end);
    return own_[number - own_begin];
  }

  std::array<const Entry*, generic_end> generic_{};
  std::array<const Entry*, own_end - own_begin> own_{};
};

}  // namespace

const Entry* find_call(std::uint32_t number) noexcept {
  static const Table table;
  return table.find(number);
}

std::vector<const Entry*> all_calls() {
  std::vector<const Entry*> calls;
  for (std::uint32_t number = 0; number < own_end; ++number) {
    if (const Entry* entry = find_call(number)) calls.push_back(entry);
  }
  return calls;
}

}  // namespace cloche::kernel::lnx
