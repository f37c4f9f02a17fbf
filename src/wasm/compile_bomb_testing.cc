// SPDX-License-Identifier: Apache-2.0
#include "wasm/compile_bomb_testing.h"

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

namespace cloche::wasm {
namespace {

using Bytes = std::vector<std::byte>;

void put(Bytes& to, std::initializer_list<unsigned> bytes) {
  for (const unsigned byte : bytes) to.push_back(static_cast<std::byte>(byte));
}

void put_number(Bytes& to, std::size_t value) {
  while (value >= 0x80) {
    put(to, {static_cast<unsigned>((value & 0x7f) | 0x80)});
    value >>= 7;
  }
  put(to, {static_cast<unsigned>(value)});
}

void put_sized(Bytes& to, const Bytes& content) {
  put_number(to, content.size());
  to.insert(to.end(), content.begin(), content.end());
}

void put_section(Bytes& to, unsigned id, const Bytes& content) {
  put(to, {id});
  put_sized(to, content);
}

Bytes bytes(std::initializer_list<unsigned> content) {
  Bytes result;
  put(result, content);
  return result;
}

}  // namespace

std::vector<std::byte> compile_bomb(std::uint32_t locals, std::uint32_t loops,
                                    std::uint32_t functions) {
  constexpr unsigned i32 = 0x7f, loop = 0x03, empty = 0x40, end = 0x0b, local_get = 0x20,
                     local_set = 0x21, i32_const = 0x41, i32_add = 0x6a, br_if = 0x0d;
  Bytes body;
  put(body, {1});
  put_number(body, locals);
  put(body, {i32});
  for (std::uint32_t i = 0; i < loops; ++i) {
    put(body, {loop, empty, local_get});
    put_number(body, i % locals);
    put(body, {i32_const, 1, i32_add, local_set});
    put_number(body, (i * 7 + 1) % locals);
  }
  for (std::uint32_t i = 0; i < loops; ++i) {
    put(body, {local_get});
    put_number(body, (i * 3) % locals);
    put(body, {br_if, 0, end});
  }
  put(body, {end});

  Bytes types, code;
  put_number(types, functions);
  put_number(code, functions);
  for (std::uint32_t i = 0; i < functions; ++i) {
    put(types, {0});
    put_sized(code, body);
  }
  Bytes module = bytes({0, 'a', 's', 'm', 1, 0, 0, 0});
  put_section(module, 1, bytes({1, 0x60, 0, 0}));
  put_section(module, 3, types);
  put_section(module, 7, bytes({1, 6, '_', 's', 't', 'a', 'r', 't', 0, 0}));
  put_section(module, 10, code);
  return module;
}

std::vector<std::byte> slow_compile_bomb() { return compile_bomb(60, 100, 5000); }

bool compiler_lives(int parent) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::string name, of;
    if (std::getline(file, name, '\0') && std::getline(file, of, '\0') &&
        name.ends_with("cloche-compile") && of == std::to_string(parent)) {
      return true;
    }
  }
  return false;
}

}  // namespace cloche::wasm
