// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/start_variables.h"

#include <algorithm>
#include <array>

namespace cloche::sandbox {
namespace {

// What a box may have changed and be as its image all the same (Box::is_as_image), so that no
// variable may lead an interpreter's start there.
constexpr std::array<std::string_view, 4> changing{"/workspace", "/tmp", "/dev", "/proc"};
// Of what a program is at home in, and where it writes: no start reads there.
constexpr std::array<std::string_view, 4> of_folders{"HOME=", "PWD=", "OLDPWD=", "TMPDIR="};

}  // namespace

bool may_change_a_start(std::string_view variable) {
  if (std::ranges::any_of(of_folders,
                          [&](std::string_view name) { return variable.starts_with(name); }))
    return false;
  const std::string_view value = variable.substr(std::min(variable.find('='), variable.size()));
  if (variable.starts_with("PATH=")) {  // relative folders
    for (std::string_view rest = value;;) {
      rest.remove_prefix(1);
      if (!rest.starts_with('/')) return true;
      if (rest.find(':') == std::string_view::npos) break;
      rest.remove_prefix(rest.find(':'));
    }
  }
  for (const std::string_view name :
       {"PYTHONPATH=", "PYTHONHOME=", "PYTHONUSERBASE=", "BASH_ENV=", "LD_"}) {
    if (variable.starts_with(name)) return true;
  }
  return std::ranges::any_of(changing, [&](std::string_view folder) {
    return value.find(folder) != std::string_view::npos;
  });
}

}  // namespace cloche::sandbox
