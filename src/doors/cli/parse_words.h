// SPDX-License-Identifier: Apache-2.0
// Words of a command line, for CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace cloche::cli {

// Throws an Error of kind request, which names the page of `command`.
inline void parse_words(CLI::App& app, std::vector<std::string> words, const std::string& command) {
  std::ranges::reverse(words);  // as CLI11 wants a vector
  try {
    app.parse(words);
  } catch (const CLI::ExtrasError&) {
    throw request_error("'" + app.remaining().front() + "' is nothing that " + command +
                        " takes; see cloche " + command + " --help");
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    const bool is_repeated = text.find(" At Most 1 ") != std::string::npos;
    std::string what = text.substr(0, text.find(':'));
    if (is_repeated) {
      what += " may be said once";
    } else if (text.ends_with(" missing")) {
      what += " wants a value";
    } else {
      what = text;
    }
    throw request_error(what + "; see cloche " + command + " --help");
  } catch (const CLI::ParseError& error) {
    throw request_error(std::string(error.what()) + "; see cloche " + command + " --help");
  }
}

}  // namespace cloche::cli
