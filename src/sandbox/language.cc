// SPDX-License-Identifier: Apache-2.0
#include "sandbox/language.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cloche::sandbox {
namespace {

constexpr std::array<std::string_view, 3> names{"bash", "python", "javascript"};

}  // namespace

std::string_view language_name(Language language) noexcept {
  return names[static_cast<std::size_t>(language)];
}

std::optional<Language> language_named(std::string_view name) noexcept {
  const auto* found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Language>(found - names.begin());
}

std::vector<std::string> code_command(Sandbox& sandbox, Language language, std::string source) {
  const auto has = [&](const char* program) {
    const auto found = sandbox.files().stat(program);
    return found || found.error() != Errno::noent;
  };
  switch (language) {
    case Language::bash: return {has("/bin/bash") ? "/bin/bash" : "sh", "-c", std::move(source)};
    case Language::python: return {"python3", "-c", std::move(source)};
    case Language::javascript: break;
  }
  return {has("/usr/bin/node") ? "node" : "qjs", "-e", std::move(source)};
}

}  // namespace cloche::sandbox
