// SPDX-License-Identifier: Apache-2.0
// The members of a JSON object that a client has sent, each read by name and type. What is missing
// or of another type is a WrongMember, whose sentence names it; null counts as absent.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cloche/error.h"

namespace cloche {

// What an amount may be, both ends included.
struct Amounts {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
};

// EINVAL, a request's. A type of its own, because doors have codes for it: -32602 of JSON-RPC,
// INVALID_PARAMETER of REST.
class WrongMember : public Error {
 public:
  explicit WrongMember(const std::string& sentence)
      : Error(ErrorKind::request, Errno::inval, sentence) {}
};

class JsonMembers {
 public:
  // `value` is an object or null, and outlives this; so does `place`, which stands before each name
  // in a sentence: "limits.".
  explicit JsonMembers(const Json& value, std::string_view place = {})
      : value_(value), place_(place) {}

  // Strings may hold any character but NUL where a system call takes them: those are `word`s. One
  // with a NUL is an Error of kind request.
  std::string word(const char* name) const;
  std::optional<std::string> optional_word(const char* name) const;
  std::optional<std::string> optional_text(const char* name) const;
  std::string text(const char* name) const;
  std::string bytes(const char* name) const;  // base64

  bool flag(const char* name) const;  // absent: false
  // A fraction is rounded up. What is out of range is a WrongMember that says the range.
  std::optional<std::uint64_t> optional_count(const char* name, Amounts range = {}) const;
  // The same, or a text such as "512m"; "30s".
  std::optional<std::uint64_t> optional_bytes(const char* name, Amounts range = {}) const;
  // `range` is of milliseconds, and ends at longest_time.
  static constexpr std::chrono::milliseconds longest_time = std::chrono::hours(24 * 365 * 10);
  std::optional<std::chrono::milliseconds> optional_ms(
      const char* name, Amounts range = {.least = 0, .most = longest_time.count()}) const;

  std::vector<std::string> words(const char* name) const;               // absent: none
  std::map<std::string, std::string> word_map(const char* name) const;  // absent: none
  std::vector<Json> objects(const char* name) const;                    // absent: none

  // Null when absent.
  const Json* find(const char* name) const;
  const Json& all() const noexcept { return value_; }

  // For who reads a member in a way of its own: "'limits.cpus' must be WANTED".
  WrongMember wrong(const char* name, std::string_view wanted) const;

 private:
  WrongMember missing(const char* name) const;
  WrongMember out_of_range(const char* name, Amounts range, std::string_view unit) const;
  // Nothing when absent.
  std::optional<std::uint64_t> number(const char* name, Amounts range, std::string_view unit) const;
  const std::string& string_of(const Json& value, const char* name) const;
  const std::string& word_of(const Json& value, const char* name) const;

  const Json& value_;
  std::string_view place_;
};

}  // namespace cloche
