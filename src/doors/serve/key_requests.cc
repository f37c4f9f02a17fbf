// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/key_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/json_string.h"

namespace cloche::serve {
namespace {

constexpr std::string_view keys_folder = "/cell/keys/";
constexpr std::chrono::seconds usual_patience{3};
constexpr std::chrono::seconds patience_max{600};

std::optional<std::uint64_t> decimal_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

http::Response key_answer(int status, std::string_view sentence) {
  return http::json_response(status, fmt::format(R"({{"message":{}}})", json_string(sentence)));
}

int status_of_key(const Error& error) {
  switch (error.code()) {
    case Errno::inval: return 400;
    case Errno::noent: return 404;
    case Errno::busy:
    case Errno::nospc: return 503;
    default: return 409;  // another server has it, or the key's folder cannot be used
  }
}

http::Response key_answer(const Result<void, Error>& done, std::string_view sentence) {
  return done ? key_answer(200, sentence)
              : key_answer(status_of_key(done.error()), done.error().sentence());
}

}  // namespace

bool is_key_path(std::string_view path) { return path.starts_with(keys_folder); }

http::Response answer_key_request(const http::Request& request, cluster::Router& router,
                                  session::CellKey own, KeyRule rule) {
  const auto number = decimal_of(std::string_view(request.path).substr(keys_folder.size()));
  if (!number || *number == 0 || *number > 65535) return key_answer(400, "a key is 1 to 65535");
  const auto key = static_cast<session::CellKey>(*number);
  if (request.method == "PUT") {
    if (rule == KeyRule::only_own && key != own)
      return key_answer(403, "this cell takes no keys of others: start it with --take-keys");
    return key_answer(router.take_key(key), fmt::format("key {} is here", key));
  }
  if (request.method != "DELETE") return key_answer(405, "a key is PUT here, or DELETEd");
  std::chrono::seconds patience = usual_patience;
  for (const auto& [name, value] : http::query_pairs(request.query)) {
    const auto seconds = decimal_of(value);
    if (name != "patience" || !seconds)
      return key_answer(400, "a key is given up with ?patience=SECONDS");
    patience = std::chrono::seconds(
        std::min<std::uint64_t>(*seconds, static_cast<std::uint64_t>(patience_max.count())));
  }
  return key_answer(router.give_up_key(key, patience), fmt::format("key {} is given up", key));
}

}  // namespace cloche::serve
