// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/code_kernel.h"

#include <fmt/format.h>

#include "base/json.h"
#include "doors/http/embedded.h"

CLOCHE_EMBED(cloche_python_charts, CLOCHE_KERNELS_DIR "/python_charts.py")
CLOCHE_EMBED(cloche_python_kernel, CLOCHE_KERNELS_DIR "/python.py")
CLOCHE_EMBED(cloche_javascript_kernel, CLOCHE_KERNELS_DIR "/javascript.js")
CLOCHE_EMBED(cloche_bash_kernel, CLOCHE_KERNELS_DIR "/bash.sh")

namespace cloche::e2b {
namespace {

// As one word of bash on one line.
std::string bash_word(std::string_view text) {
  std::string word = "$'";
  for (const char c : text) {
    if (c == '\n') {
      word += "\\n";
    } else if (c == '\r') {
      word += "\\r";
    } else {
      if (c == '\\' || c == '\'') word += '\\';
      word += c;
    }
  }
  return word + '\'';
}

std::string bash_request(const std::string& mark, const std::string& code,
                         const std::map<std::string, std::string>& environment) {
  std::string before;
  std::string after;
  for (const auto& [name, value] : environment) {
    before += fmt::format(
        "if [ -n \"${{{0}+x}}\" ]; then __cell_was_{0}=${0}; else unset __cell_was_{0}; fi\n"
        "export {0}={1}\n",
        name, bash_word(value));
    after += fmt::format(
        "if [ -n \"${{__cell_was_{0}+x}}\" ]; then {0}=$__cell_was_{0}; else unset {0}; fi\n",
        name);
  }
  return fmt::format("{}\n{}\n{}\n{}\n", mark, bash_word(before), bash_word(code),
                     bash_word(after));
}

}  // namespace

std::optional<CodeLanguage> code_language(std::string_view name) {
  if (name == "python" || name == "python3") return CodeLanguage::python;
  if (name == "javascript" || name == "js") return CodeLanguage::javascript;
  if (name == "typescript" || name == "ts") return CodeLanguage::typescript;
  if (name == "bash" || name == "sh") return CodeLanguage::bash;
  return std::nullopt;
}

std::string_view name_of(CodeLanguage language) {
  switch (language) {
    case CodeLanguage::python: return "python";
    case CodeLanguage::javascript: return "javascript";
    case CodeLanguage::typescript: return "typescript";
    case CodeLanguage::bash: break;
  }
  return "bash";
}

std::vector<std::string> kernel_command(CodeLanguage language) {
  switch (language) {
    case CodeLanguage::python:
      return {"python3", "-c",
              std::string(cloche_python_charts()) + std::string(cloche_python_kernel())};
    case CodeLanguage::javascript:
    case CodeLanguage::typescript: return {"node", "-e", std::string(cloche_javascript_kernel())};
    case CodeLanguage::bash: break;
  }
  return {"bash", "-c", std::string(cloche_bash_kernel()), "bash"};
}

std::string kernel_request(CodeLanguage language, const std::string& mark, const std::string& code,
                           const std::map<std::string, std::string>& environment) {
  if (language == CodeLanguage::bash) return bash_request(mark, code, environment);
  OrderedJson request{{"code", code}, {"mark", mark}, {"env", environment}};
  if (language == CodeLanguage::typescript) request["types"] = true;
  return write_json(request) + "\n";
}

}  // namespace cloche::e2b
