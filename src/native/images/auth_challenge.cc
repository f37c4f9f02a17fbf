// SPDX-License-Identifier: Apache-2.0
#include "native/images/auth_challenge.h"

#include <algorithm>
#include <optional>

namespace cloche::images {
namespace {

constexpr std::size_t most_challenges = 16;
constexpr std::size_t most_parameters = 32;
constexpr std::size_t most_header = 16384;

bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text.substr(0, most_header)) {}

  std::vector<AuthChallenge> read() {
    std::vector<AuthChallenge> found;
    for (;;) {
      skip(" \t,");
      if (rest_.empty()) return found;
      if (!found.empty() && read_parameter(found.back())) continue;
      const std::string_view scheme = token();
      if (scheme.empty() || found.size() == most_challenges) return found;
      found.push_back({.scheme = lower(scheme), .parameters = {}});
      skip(" \t");
      if (!read_parameter(found.back())) skip_token68();
    }
  }

 private:
  void skip(std::string_view characters) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
  }

  std::string_view token() {
    const auto end = std::ranges::find_if_not(rest_, is_token_char);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    return word;
  }

  // Only where an end of the word comes next: "Negotiate, Basic" has two schemes.
  void skip_token68() {
    const std::size_t end = std::min(rest_.find(','), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    if (word.find_first_of(" \t\"") == word.npos) rest_.remove_prefix(end);
  }

  std::optional<std::string> quoted() {
    std::string value;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return value;
      }
      if (rest_[i] == '\\' && ++i == rest_.size()) break;
      value += rest_[i];
    }
    return std::nullopt;
  }

  // Nothing is taken where there is none.
  bool read_parameter(AuthChallenge& of) {
    const std::string_view before = rest_;
    const std::string name = lower(token());
    skip(" \t");
    if (!name.empty() && rest_.starts_with('=') && of.parameters.size() < most_parameters) {
      rest_.remove_prefix(1);
      skip(" \t");
      if (rest_.starts_with('"')) {
        if (auto value = quoted()) {
          of.parameters.emplace(name, std::move(*value));
          return true;
        }
      } else if (const std::string_view value = token(); !value.empty()) {
        of.parameters.emplace(name, value);
        return true;
      }
    }
    rest_ = before;
    return false;
  }

  std::string_view rest_;
};

}  // namespace

std::string AuthChallenge::parameter(const std::string& name) const {
  const auto it = parameters.find(name);
  return it == parameters.end() ? std::string() : it->second;
}

std::vector<AuthChallenge> parse_auth_challenges(std::string_view header) {
  return Reader(header).read();
}

}  // namespace cloche::images
