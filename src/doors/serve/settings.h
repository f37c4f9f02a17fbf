// SPDX-License-Identifier: Apache-2.0
// What each option of the server's own does with its value. Those of its sessions are in the table
// of sandbox/options.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "doors/serve/options.h"

namespace cloche::serve {

// What a command line has said so far, with what is decided at its end.
struct Said {
  Options options;
  std::optional<std::chrono::seconds> idle_timeout;  // absent: the usual one of the API
  bool has_save = false;
  bool has_token_limit = false;  // of sessions
  std::string of_workers;        // an option that is of no use without --isolate
};

// An option as it was given, and its value.
struct Word {
  std::string name;
  std::string value;
};

// Throws an Error of kind request for a value that is none.
using Setter = void (*)(Said& to, const Word& word);

// Null: the server has no option of that name with a value.
Setter find_setter(std::string_view name);

// Whether there is an option of that name without a value; it is turned then.
bool turn_switch(Options& options, std::string_view name);

}  // namespace cloche::serve
