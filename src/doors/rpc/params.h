// SPDX-License-Identifier: Apache-2.0
// The parameters of a request, each read by name and type. What is missing or of another type is
// an invalid_params error that names it; null counts as absent.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/rpc/protocol.h"

namespace cloche::rpc {

class Params {
 public:
  // `value` is an object or null, and outlives this.
  explicit Params(const Json& value) : value_(value) {}

  // Strings may hold any character but NUL where a system call takes them: those are `word`s.
  std::string word(const char* name) const;
  std::optional<std::string> optional_word(const char* name) const;
  std::optional<std::string> optional_text(const char* name) const;
  std::string text(const char* name) const;
  std::string bytes(const char* name) const;  // base64

  bool flag(const char* name) const;  // absent: false
  // Not negative; a fraction is rounded up. What is out of range is the nearest number in it.
  std::optional<std::uint64_t> optional_count(const char* name) const;
  // The same, or a text such as "512m"; "30s".
  std::optional<std::uint64_t> optional_bytes(const char* name) const;
  std::optional<std::chrono::milliseconds> optional_ms(const char* name) const;

  std::vector<std::string> words(const char* name) const;               // absent: none
  std::map<std::string, std::string> word_map(const char* name) const;  // absent: none
  std::vector<Json> objects(const char* name) const;                    // absent: none

  // Null when absent.
  const Json* find(const char* name) const;

 private:
  const Json& value_;
};

}  // namespace cloche::rpc
