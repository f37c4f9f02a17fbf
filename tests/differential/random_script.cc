// SPDX-License-Identifier: Apache-2.0
#include "random_script.h"

#include <fmt/format.h>

#include <array>
#include <random>
#include <span>
#include <string_view>

namespace cloche::differential {
namespace {

using Choices = std::span<const std::string_view>;

// std::uniform_int_distribution may differ between libraries; this does not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  std::string_view of(Choices choices) { return choices[below(choices.size())]; }

 private:
  std::mt19937_64 engine_;
};

constexpr std::array<std::string_view, 5> names{"a", "b", "c", "n", "s"};
constexpr std::array<std::string_view, 3> functions{"f", "g", "h"};
constexpr std::array<std::string_view, 23> literals{
    "x",   "abc",    "'a b'", "\"q r\"",      "''",     "1",    "42",       "-7", "a*c",
    "?",   "'*'",    "[ab]c", "{1,2}",        "{1..4}", "\\$x", "$'t\\tn'", "é",  "\"it's\"",
    "x=y", "a:b::c", "-n",    "'two\nlines'", "/a/b.c"};
constexpr std::array<std::string_view, 20> operators{
    "#",    "##*",  "%",      "%%?",   "/a/X", "//[a-c]/<&>", "^",  "^^",  ",,",    ":1",
    ":0:2", ": -2", ":-dflt", ":+alt", "-d",   "+p",          "@Q", "#a*", "/#x/Y", "/%c/Z"};
constexpr std::array<std::string_view, 12> arithmetic{
    "+", "-", "*", "<", ">", "==", "&", "|", "^", "&&", "||", "<<"};
constexpr std::array<std::string_view, 8> patterns{"a*", "?",   "[0-9]*", "*b*",
                                                   "''", "'*'", "[!x]*",  "x|1"};
constexpr std::array<std::string_view, 7> filters{"cat",
                                                  "tr a-c A-C",
                                                  "sort",
                                                  "sed -n 1,2p",
                                                  "wc -l | tr -d ' '",
                                                  "{ read -r l; echo \"l=$l\"; cat; }",
                                                  "while IFS= read -r l; do echo \"<$l>\"; done"};
constexpr std::array<std::string_view, 46> tokens{
    "if",   "then", "else", "elif", "fi",         "for",   "in",   "do", "done", "case",
    "esac", "{",    "}",    "(",    ")",          ";",     ";;",   "&&", "||",   "|",
    "!",    "[[",   "]]",   "((",   "))",         "$(",    "`",    "\"", "'",    "#",
    "<",    ">",    "<<<",  "<<E",  "\n",         "\nE\n", "echo", "x",  "y=1",  "$x",
    "${x",  "}}",   "$((",  "=",    "function f", "a[1]="};

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : dice_(seed) {}

  std::string program() {
    std::string text = "a=abc b='x y z' c= n=3; arr=(p 'q r' s); declare -A map=([k]=v)\n";
    text += "touch abc axc 1file; set -- one 'two three' four\n";
    if (dice_.one_in(4)) text += "trap 'echo \"exit $?\"' EXIT\n";
    if (dice_.one_in(6)) text += "set -u\n";
    if (dice_.one_in(8)) text += "set -e\n";
    if (dice_.one_in(8)) text += "set -o pipefail\n";
    if (dice_.one_in(10)) text += "trap 'echo err $?' ERR\n";
    if (dice_.one_in(8)) text += "shopt -s nullglob\n";
    if (dice_.one_in(8)) text += "shopt -s extglob\n";
    if (dice_.one_in(10)) text += "IFS=:\n";
    for (const std::string_view name : functions) {
      if (dice_.one_in(2))
        text += fmt::format("{}() {{\n  local v=$1\n{}}}\n", name, block(1, 2 + dice_.below(3)));
    }
    in_body_ = true;
    text += block(0, 5 + dice_.below(8));
    text += "echo \"end $? $a|$b|$c|$n|${arr[*]}|$*\"\n";
    return text;
  }

 private:
  std::string block(int depth, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += std::string(static_cast<std::size_t>(depth) * 2, ' ') + statement(depth) + "\n";
    return text;
  }

  std::string body(int depth) { return "\n" + block(depth + 1, 1 + dice_.below(2)); }

  std::string name() { return std::string(dice_.of(names)); }

  std::string expansion() {
    switch (dice_.below(12)) {
      case 0: return "$" + name();
      case 1: return fmt::format("${{{}{}}}", name(), dice_.of(operators));
      case 2: return fmt::format("\"${{{}{}}}\"", name(), dice_.of(operators));
      case 3: return fmt::format("\"${{arr[{}]}}\"", dice_.below(4) == 3 ? "@" : "1");
      case 4: return "${#" + name() + "}";
      case 5: return "\"$@\"";
      case 6: return "$*";
      case 7: return "$((" + number(2) + "))";
      case 8: return "$(" + simple() + ")";
      case 9: return "\"$(" + simple() + ")\"";
      case 10: return "${arr[@]" + std::string(dice_.of(operators)) + "}";
      default: return "\"$" + name() + "\"";
    }
  }

  std::string word() {
    if (dice_.one_in(2)) return std::string(dice_.of(literals));
    if (dice_.one_in(5)) return std::string(dice_.of(literals)) + expansion();
    return expansion();
  }

  std::string words(std::size_t most) {
    std::string text;
    for (std::size_t i = dice_.below(most) + 1; i-- > 0;) text += " " + word();
    return text;
  }

  std::string number(int depth) {
    if (depth == 0 || dice_.one_in(3))
      return dice_.one_in(3) ? "n" : fmt::format("{}", dice_.below(9));
    if (dice_.one_in(8)) return "(" + number(depth - 1) + ")";
    if (dice_.one_in(8)) return "-" + number(0);
    if (dice_.one_in(10)) return number(0) + " ? " + number(0) + " : " + number(0);
    return fmt::format("{} {} {}", number(depth - 1), dice_.of(arithmetic), number(depth - 1));
  }

  std::string condition() {
    switch (dice_.below(8)) {
      case 0: return fmt::format("[[ {} == {} ]]", word(), dice_.of(patterns).substr(0, 2));
      case 1: return fmt::format("[ \"${}\" = {} ]", name(), dice_.of(literals));
      case 2: return "((" + number(2) + "))";
      case 3: return "[[ -n $" + name() + " ]]";
      case 4: return "[ -e " + std::string(dice_.one_in(2) ? "abc" : "none") + " ]";
      case 5: return fmt::format("[[ ${} =~ ^[a-z]+(.?) ]]", name());
      case 6: return dice_.one_in(2) ? "true" : "false";
      default: return "! " + condition();
    }
  }

  std::string simple() {
    switch (dice_.below(7)) {
      case 0: return "printf '[%s]'" + words(3);
      case 1: return "echo" + words(3);
      case 2: return "echo \"$" + name() + "\"" + words(2);
      case 3: return in_body_ ? std::string(dice_.of(functions)) + words(2) + " 2>/dev/null" : ":";
      case 4: return "printf '%s\\n'" + words(3);
      case 5: return "echo $?" + words(1);
      default: return "eval echo \"\\$" + name() + "\"";
    }
  }

  std::string assignment() {
    switch (dice_.below(9)) {
      case 0: return fmt::format("n=$(({}))", number(2));
      case 1: return fmt::format("arr[{}]={}", dice_.below(5), word());
      case 2: return fmt::format("arr+=({})", words(2).substr(1));
      case 3: return fmt::format("map[{}]={}", dice_.one_in(2) ? "k" : "j", word());
      case 4: return fmt::format("{}+={}", name(), dice_.of(literals));
      case 5: return fmt::format("printf -v {} '%s-' {}", name(), word());
      case 6: return fmt::format("read -r {} {} <<< {}", name(), name(), word());
      case 7: return fmt::format("((n {}= {}))", dice_.one_in(2) ? "+" : "-", dice_.below(5));
      default: return fmt::format("{}={}", name(), word());
    }
  }

  std::string statement(int depth) {
    if (depth > 2) return dice_.one_in(3) ? assignment() : simple();
    switch (dice_.below(22)) {
      case 0: return fmt::format("if {}; then{}fi", condition(), body(depth));
      case 1: return fmt::format("if {}; then{}else{}fi", condition(), body(depth), body(depth));
      case 2: return fmt::format("for i in{}; do{}done", words(3), body(depth) + "echo \"i=$i\"\n");
      case 3:
        return fmt::format("for ((i{0}=0; i{0}<{1}; i{0}++)); do{2}done", ++made_, dice_.below(4),
                           body(depth));
      case 4:
        return fmt::format("w{0}={1}; while ((w{0}-- > 0)); do{2}{3}done", ++made_, dice_.below(4),
                           body(depth), dice_.one_in(3) ? condition() + " && break\n" : "");
      case 5: {
        std::string text = "case " + word() + " in";
        for (std::size_t i = dice_.below(3) + 1; i-- > 0;) {
          text += fmt::format("\n{}){}{}", dice_.of(patterns), body(depth),
                              dice_.one_in(5) ? ";;&" : ";;");
        }
        return text + "\nesac";
      }
      case 6: return fmt::format("({})", body(depth));
      case 7: return fmt::format("{{{}}}", body(depth));
      case 8: return fmt::format("{} && {} || {}", condition(), simple(), simple());
      case 9: return fmt::format("{} | {}", simple(), dice_.of(filters));
      case 10: return fmt::format("{{{}}} | {}", body(depth), dice_.of(filters));
      case 11: return fmt::format("cat <<E\n$a ${{b}} $((n+1)) {}\nE", dice_.of(literals));
      case 12: return fmt::format("{0} > out{1}; cat out{1}", simple(), ++made_);
      case 13: return fmt::format("{} >> log; wc -l < log | tr -d ' '", simple());
      case 14: return fmt::format("cat <<< {}", word());
      case 15: return fmt::format("{} 2>&1 | cat; echo \"${{PIPESTATUS[*]}}\"", simple());
      case 16: return in_body_ ? "set --" + words(3) + "; set -- \"${@:1:5}\"" : "shift; echo $#";
      case 17: return "for k in \"${!arr[@]}\"; do echo \"$k=${arr[k]}\"; done";
      case 18: return "declare -p arr n";
      case 19: return fmt::format("{} & wait $!; echo $?", simple());
      default: return dice_.one_in(2) ? assignment() : simple();
    }
  }

  Dice dice_;
  unsigned made_ = 0;     // loops and files so far, which get names of their own
  bool in_body_ = false;  // functions do not call each other: they would have no end
};

}  // namespace

std::string random_program(std::uint64_t seed) { return Writer(seed).program(); }

std::string random_tokens(std::uint64_t seed) {
  Dice dice(seed);
  std::string text = "echo begin\n";
  for (std::size_t i = dice.below(12) + 2; i-- > 0;) {
    text += dice.of(tokens);
    text += dice.one_in(4) ? "\n" : " ";
  }
  return text + "\necho end $?\n";
}

}  // namespace cloche::differential
