// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/text.h"

#include <utility>

namespace cloche::rpc {
namespace {

// How many bytes a character has by its first one; 1 for a byte that begins none.
std::size_t length_by_first(unsigned char first) {
  if (first >= 0xf0 && first <= 0xf4) return 4;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  return 1;
}

}  // namespace

std::string Utf8Cutter::take(std::string_view bytes) {
  std::string all = std::exchange(kept_, {});
  all.append(bytes);
  for (std::size_t back = 1; back <= 3 && back <= all.size(); ++back) {
    const auto byte = static_cast<unsigned char>(all[all.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;  // goes on with a character: its first byte is before
    if (length_by_first(byte) > back) {
      kept_ = all.substr(all.size() - back);
      all.resize(all.size() - back);
    }
    break;
  }
  return all;
}

}  // namespace cloche::rpc
