// SPDX-License-Identifier: Apache-2.0
#include "doors/steps/python_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json_string.h"
#include "base/utf8.h"

namespace cloche::steps {
namespace {

constexpr int depth_max = 900;            // CPython gives up at about a thousand
constexpr std::size_t digits_max = 4300;  // CPython's limit on the digits of an int
// A step has five. CPython would read more, and an answer would quote them all.
constexpr std::size_t values_max = 100'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_code_point(std::string& text, unsigned code) {
  const auto add = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

// repr() of a float: the shortest digits that give it back, with an exponent below 1e-4 and from
// 1e16 on.
std::string repr_of(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto done =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view all(buffer, static_cast<std::size_t>(done.ptr - buffer));
  const std::size_t e = all.find('e');
  int exponent = 0;
  const std::string_view exponent_text = all.substr(all[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  std::string digits;
  std::string sign;
  for (const char c : all.substr(0, e)) {
    if (c == '-') sign = "-";
    if (is_digit(c)) digits += c;
  }
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    std::string text = sign + digits.substr(0, 1);
    if (count > 1) text += "." + digits.substr(1);
    const std::string number = std::to_string(std::abs(exponent));
    return text + "e" + (exponent < 0 ? "-" : "+") + (number.size() < 2 ? "0" : "") + number;
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return sign + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  const auto whole = static_cast<std::size_t>(exponent + 1);
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::variant<PyValue, PyJsonError, Unreadable> parse() {
    try {
      skip_space();
      PyValue value = read_value(0);
      skip_space();
      if (at_ != text_.size()) fail("Extra data", at_);
      return value;
    } catch (const Failure& failure) {
      // Characters, not bytes.
      const auto position =
          std::count_if(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(failure.byte),
                        [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
      return PyJsonError{failure.message, static_cast<std::size_t>(position)};
    } catch (const Unreadable& unreadable) {
      return unreadable;
    }
  }

 private:
  struct Failure {
    const char* message;
    std::size_t byte;
  };

  [[noreturn]] static void fail(const char* message, std::size_t byte) {
    throw Failure{message, byte};
  }

  bool more() const { return at_ < text_.size(); }
  bool next_is(char c) const { return more() && text_[at_] == c; }

  void skip_space() {
    while (more() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  PyValue read_value(int depth) {
    if (depth > depth_max || ++values_ > values_max) throw Unreadable{};
    if (!more()) fail("Expecting value", at_);
    const char c = text_[at_];
    if (c == '"') return PyValue(PyValue::Kind::string, read_string());
    if (c == '{') return read_object(depth);
    if (c == '[') return read_array(depth);
    if (take_word("null")) return PyValue();
    if (take_word("true")) return PyValue(PyValue::Kind::boolean, "true");
    if (take_word("false")) return PyValue(PyValue::Kind::boolean, "false");
    if (take_word("NaN")) return PyValue(PyValue::Kind::real, "nan");
    if (take_word("Infinity")) return PyValue(PyValue::Kind::real, "inf");
    if (take_word("-Infinity")) return PyValue(PyValue::Kind::real, "-inf");
    return read_number();
  }

  PyValue read_number() {
    std::size_t i = at_;
    const auto digits = [&] {
      const std::size_t start = i;
      while (i < text_.size() && is_digit(text_[i])) ++i;
      return i - start;
    };
    if (i < text_.size() && text_[i] == '-') ++i;
    if (i < text_.size() && text_[i] == '0') {
      ++i;
    } else if (digits() == 0) {
      fail("Expecting value", at_);
    }
    bool real = false;
    const std::size_t whole_end = i;
    if (i < text_.size() && text_[i] == '.') {
      ++i;
      if (digits() > 0) {
        real = true;
      } else {
        i = whole_end;
      }
    }
    const std::size_t fraction_end = i;
    if (i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
      ++i;
      if (i < text_.size() && (text_[i] == '+' || text_[i] == '-')) ++i;
      if (digits() > 0) {
        real = true;
      } else {
        i = fraction_end;
      }
    }
    std::string number(text_.substr(at_, i - at_));
    at_ = i;
    if (!real) {
      if (number.size() > digits_max) throw Unreadable{};
      if (number == "-0") number = "0";
      return PyValue(PyValue::Kind::integer, std::move(number));
    }
    // strtod gives infinity and zero for what is too large and too small, as Python does.
    return PyValue(PyValue::Kind::real, repr_of(std::strtod(number.c_str(), nullptr)));
  }

  unsigned read_hex(std::size_t escape) {
    unsigned code = 0;
    if (at_ + 4 >= text_.size()) fail("Invalid \\uXXXX escape", escape);
    const char* from = text_.data() + at_;
    for (int i = 0; i < 4; ++i) {
      if (from[i] == '+' || from[i] == '-') fail("Invalid \\uXXXX escape", escape);
    }
    const auto [end, error] = std::from_chars(from, from + 4, code, 16);
    if (error != std::errc() || end != from + 4) fail("Invalid \\uXXXX escape", escape);
    at_ += 4;
    return code;
  }

  void read_escape(std::string& to, std::size_t begin) {
    const std::size_t backslash = at_++;
    if (!more()) fail("Unterminated string starting at", begin);
    const char c = text_[at_++];
    static constexpr std::string_view letters = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (c != 'u') {
      const std::size_t which = letters.find(c);
      if (which == std::string_view::npos) fail("Invalid \\escape", backslash);
      to += meanings[which];
      return;
    }
    unsigned code = read_hex(backslash + 1);
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
      const std::size_t back = at_;
      at_ += 2;
      const unsigned low = read_hex(back + 1);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else {
        at_ = back;
      }
    }
    append_code_point(to, code);
  }

  std::string read_string() {
    const std::size_t begin = at_++;
    std::string value;
    for (;;) {
      if (!more()) fail("Unterminated string starting at", begin);
      const char c = text_[at_];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) fail("Invalid control character at", at_);
      if (c == '\\') {
        read_escape(value, begin);
      } else {
        value += c;
        ++at_;
      }
    }
    ++at_;
    return value;
  }

  PyValue read_array(int depth) {
    PyValue value(PyValue::Kind::array);
    ++at_;
    skip_space();
    if (next_is(']')) {
      ++at_;
      return value;
    }
    for (;;) {
      value.items.push_back(read_value(depth + 1));
      skip_space();
      if (next_is(']')) break;
      if (!next_is(',')) fail("Expecting ',' delimiter", at_);
      ++at_;
      skip_space();
    }
    ++at_;
    return value;
  }

  PyValue read_object(int depth) {
    PyValue value(PyValue::Kind::object);
    ++at_;
    skip_space();
    if (next_is('}')) {
      ++at_;
      return value;
    }
    for (;;) {
      if (!next_is('"')) fail("Expecting property name enclosed in double quotes", at_);
      std::string key = read_string();
      skip_space();
      if (!next_is(':')) fail("Expecting ':' delimiter", at_);
      ++at_;
      skip_space();
      PyValue member = read_value(depth + 1);
      value.members.emplace_back(std::move(key), std::move(member));
      skip_space();
      if (next_is('}')) break;
      if (!next_is(',')) fail("Expecting ',' delimiter", at_);
      ++at_;
      skip_space();
    }
    ++at_;
    drop_repeated(value);
    return value;
  }

  static void drop_repeated(PyValue& object) {
    auto& members = object.members;
    std::vector<std::size_t> order(members.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return members[a].first < members[b].first;
    });
    std::vector<bool> dropped(members.size());
    bool any = false;
    for (std::size_t i = 0; i < order.size();) {
      std::size_t last = i;
      while (last + 1 < order.size() && members[order[last + 1]].first == members[order[i]].first)
        ++last;
      if (last > i) {
        members[order[i]].second = std::move(members[order[last]].second);
        for (std::size_t k = i + 1; k <= last; ++k) dropped[order[k]] = any = true;
      }
      i = last + 1;
    }
    if (!any) return;
    std::vector<std::pair<std::string, PyValue>> kept;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!dropped[i]) kept.push_back(std::move(members[i]));
    }
    members = std::move(kept);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
};

bool dump_to(const PyValue& value, std::string& json) {
  using Kind = PyValue::Kind;
  switch (value.kind) {
    case Kind::null: json += "null"; return true;
    case Kind::boolean:
    case Kind::integer: json += value.text; return true;
    case Kind::real:
      if (value.text.find('n') != std::string::npos) return false;
      json += value.text;
      return true;
    case Kind::string:
      if (has_surrogate(value.text)) return false;
      append_json_string(json, value.text);
      return true;
    case Kind::array: {
      json += '[';
      const char* comma = "";
      for (const PyValue& item : value.items) {
        json += std::exchange(comma, ",");
        if (!dump_to(item, json)) return false;
      }
      json += ']';
      return true;
    }
    case Kind::object: {
      json += '{';
      const char* comma = "";
      for (const auto& [key, member] : value.members) {
        json += std::exchange(comma, ",");
        if (has_surrogate(key)) return false;
        append_json_string(json, key);
        json += ':';
        if (!dump_to(member, json)) return false;
      }
      json += '}';
      return true;
    }
  }
  return false;
}

// The bytes of the character at `at` that repr() shows as an escape, and that escape; no bytes for
// one that it prints.
std::pair<std::size_t, std::string> repr_escape(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  switch (text[at]) {
    case '\n': return {1, "\\n"};
    case '\r': return {1, "\\r"};
    case '\t': return {1, "\\t"};
    default: break;
  }
  if (byte(0) < 0x20 || byte(0) == 0x7f) return {1, fmt::format("\\x{:02x}", byte(0))};
  // U+0080 to U+00A0 and the soft hyphen.
  if (byte(0) == 0xc2 && (byte(1) <= 0xa0 || byte(1) == 0xad))
    return {2, fmt::format("\\x{:02x}", byte(1))};
  if (byte(0) == 0xed && byte(1) >= 0xa0)
    return {3, fmt::format("\\u{:04x}", 0xd000 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f))};
  return {0, {}};
}

void append_string_repr(std::string& to, std::string_view text) {
  const char quote =
      text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  to += quote;
  for (std::size_t at = 0; at < text.size();) {
    const auto [bytes, escape] = repr_escape(text, at);
    if (bytes > 0) {
      to += escape;
      at += bytes;
      continue;
    }
    const char c = text[at++];
    if (c == quote || c == '\\') to += '\\';
    to += c;
  }
  to += quote;
}

// repr(), appended.
void append_repr(std::string& text, const PyValue& value) {
  using Kind = PyValue::Kind;
  const char* comma = "";
  switch (value.kind) {
    case Kind::string: append_string_repr(text, value.text); return;
    case Kind::array:
      text += '[';
      for (const PyValue& item : value.items) {
        text += std::exchange(comma, ", ");
        append_repr(text, item);
      }
      text += ']';
      return;
    case Kind::object:
      text += '{';
      for (const auto& [key, member] : value.members) {
        text += std::exchange(comma, ", ");
        append_string_repr(text, key);
        text += ": ";
        append_repr(text, member);
      }
      text += '}';
      return;
    default: text += python_str(value);
  }
}

// UTF-8 in which surrogates may stand alone: json.loads decodes so ("surrogatepass").
bool is_wide_utf8(std::string_view text) {
  if (is_utf8(text)) return true;
  std::string rest(text);
  for (std::size_t at = 0; at + 2 < rest.size(); ++at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[at + i]); };
    if (byte(0) == 0xed && (byte(1) & 0xe0) == 0xa0 && (byte(2) & 0xc0) == 0x80)
      rest.replace(at, 3, "???");
  }
  return is_utf8(rest);
}

}  // namespace

const PyValue* PyValue::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::variant<PyValue, PyJsonError, Unreadable> parse_python_json(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (!is_wide_utf8(text)) return Unreadable{};
  return Parser(text).parse();
}

std::optional<std::string> dump_python_json(const PyValue& value) {
  std::string json;
  if (!dump_to(value, json)) return std::nullopt;
  return json;
}

std::string python_str(const PyValue& value) {
  switch (value.kind) {
    case PyValue::Kind::null: return "None";
    case PyValue::Kind::boolean: return value.text == "true" ? "True" : "False";
    case PyValue::Kind::array:
    case PyValue::Kind::object: {
      std::string text;
      append_repr(text, value);
      return text;
    }
    default: return value.text;
  }
}

// What came in was UTF-8 but for them.
bool has_surrogate(std::string_view text) { return !is_utf8(text); }

}  // namespace cloche::steps
