// SPDX-License-Identifier: Apache-2.0
#include "cluster/session_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <variant>

#include "base/json.h"
#include "cluster/json_numbers.h"

namespace cloche::cluster {

std::optional<SessionPage> page_of_json(std::string_view text) try {
  // Who says it may be in somebody else's hands; what is nested deeper is not written again, for
  // that takes the stack.
  constexpr JsonBounds bounds{.depth = 128,
                              .values = std::numeric_limits<std::size_t>::max(),
                              .repeated = RepeatedNames::last_wins};
  // Metadata is told as it came, in its order.
  const auto read = read_json<OrderedJson>(text, bounds);
  if (!std::holds_alternative<OrderedJson>(read)) return std::nullopt;
  const OrderedJson& json = std::get<OrderedJson>(read);
  SessionPage page;
  page.total = number_of<std::size_t>(json.at("total"));
  for (const auto& session : json.at("sessions"))
    page.sessions.push_back({session.at("createdAt"), session.at("sessionId"), session.dump()});
  return page;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

std::string page_json(const SessionPage& page, std::size_t limit, std::size_t offset) {
  std::string sessions;
  for (const SessionPage::Entry& entry : page.sessions)
    sessions += (sessions.empty() ? "" : ",") + entry.json;
  return fmt::format(R"({{"sessions":[{}],"total":{},"limit":{},"offset":{}}})", sessions,
                     page.total, limit, offset);
}

std::string merged_json(std::vector<SessionPage> pages, std::size_t limit, std::size_t offset) {
  SessionPage all;
  for (SessionPage& page : pages) {
    all.total += page.total;
    std::ranges::move(page.sessions, std::back_inserter(all.sessions));
  }
  // Two that were made in the same millisecond have some order, which is always the same.
  std::ranges::stable_sort(all.sessions, std::greater<>(), [](const SessionPage::Entry& entry) {
    return std::tie(entry.created, entry.id);
  });
  SessionPage page{.sessions = {}, .total = all.total};
  for (std::size_t i = offset; i < all.sessions.size() && i - offset < limit; ++i)
    page.sessions.push_back(std::move(all.sessions[i]));
  return page_json(page, limit, offset);
}

}  // namespace cloche::cluster
