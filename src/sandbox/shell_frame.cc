// SPDX-License-Identifier: Apache-2.0
#include "sandbox/shell_frame.h"

#include <string_view>

namespace cloche::sandbox {
namespace {

void add_word(std::string& frame, std::string_view word) {
  frame += word.substr(0, word.find('\0'));
  frame += '\0';
}

void add_variables(std::string& frame, const std::map<std::string, std::string>& variables) {
  add_word(frame, std::to_string(variables.size()));
  for (const auto& [name, value] : variables) add_word(frame, name + "=" + value);
}

}  // namespace

std::string shell_frame(const RunOptions& options, const std::string& directory,
                        const std::map<std::string, std::string>& to_set) {
  std::string frame;
  add_word(frame, directory);
  add_word(frame, std::to_string(options.arguments.size()));
  for (const std::string& argument : options.arguments) add_word(frame, argument);
  add_variables(frame, to_set);
  add_variables(frame, options.environment);
  add_word(frame, options.script);
  return frame;
}

}  // namespace cloche::sandbox
