// SPDX-License-Identifier: Apache-2.0
// What clients send to the REST door, read and checked.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "doors/http/message.h"
#include "sandbox/language.h"
#include "session/session_manager.h"

namespace cloche::rest {

template <typename T>
using Checked = std::variant<T, http::Response>;  // or the answer that says what is wrong

struct CommandBody {
  std::string source;  // of the command or the code
  sandbox::Language language = sandbox::Language::bash;
  std::chrono::seconds timeout{60};
  std::map<std::string, std::string> environment;
  std::string folder;  // where it runs; empty: the usual one
};

// `wish`: of the request as JSON, where there is one.
struct CreateBody {
  session::SessionRequest request;
  std::optional<Json> wish;
};

Checked<CreateBody> read_create(std::string_view body);
Checked<CommandBody> read_command(std::string_view body);
Checked<CommandBody> read_code(std::string_view body);

struct PageQuery {
  std::size_t limit = 50;
  std::size_t offset = 0;
};
inline constexpr std::size_t page_limit_max = 100;
Checked<PageQuery> read_page_query(std::string_view query, std::size_t limit_max);

}  // namespace cloche::rest
