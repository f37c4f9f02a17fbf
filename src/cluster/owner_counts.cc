// SPDX-License-Identifier: Apache-2.0
// How many sessions an owner has in all cells: GET /cell/owned?owner=HEX&number=N&cell=KEY, for a
// place of that rank, answers {"count": N, "sure": BOOL}.
//
// A cell is not sure where it does not know the one that asks, which it could not count with then,
// and where it has given a key up that nobody has taken yet, with sessions that nobody counts. That
// passes, and is waited for.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/backoff.h"
#include "base/hex.h"
#include "cluster/ask.h"
#include "cluster/hop.h"
#include "cluster/json_numbers.h"
#include "cluster/router.h"

namespace cloche::cluster {
namespace {

constexpr std::string_view count_path = "/cell/owned";
constexpr std::chrono::milliseconds count_first_pause{5};
constexpr std::chrono::milliseconds count_longest_pause{200};
constexpr std::chrono::milliseconds count_patience{2000};
constexpr std::uint64_t count_max_bytes = 4096;

struct OwnerQuestion {
  std::string owner;
  session::Rank rank;
};

std::optional<OwnerQuestion> question_in(std::string_view query) {
  OwnerQuestion question;
  for (const auto& [name, value] : http::query_pairs(query)) {
    const char* end = value.data() + value.size();
    if (name == "owner") {
      std::vector<std::uint8_t> bytes(value.size() / 2);
      if (!from_hex(value, bytes)) return std::nullopt;
      question.owner.assign(bytes.begin(), bytes.end());
    } else if (name == "number") {
      if (std::from_chars(value.data(), end, question.rank.number).ptr != end) return std::nullopt;
    } else if (name == "cell") {
      if (std::from_chars(value.data(), end, question.rank.cell).ptr != end) return std::nullopt;
    }
  }
  return question.rank.cell == 0 ? std::nullopt : std::optional(question);
}

struct Counted {
  std::size_t count = 0;
  bool is_sure = false;
};

std::optional<Counted> counted_in(const std::optional<http::Response>& answer) try {
  if (!answer || answer->status != 200) return std::nullopt;
  const auto json = nlohmann::json::parse(answer->body);
  return Counted{number_of<std::size_t>(json.at("count")), json.at("sure")};
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

}  // namespace

bool Router::is_count_path(std::string_view path) { return path == count_path; }

// Whether it would be asked about an owner from here.
bool Router::knows(CellKey cell) const {
  const std::vector<Peer> peers = parts_.peers.all();
  return std::ranges::any_of(
      peers, [cell](const Peer& peer) { return peer.report.key == cell && peer.answers; });
}

http::Response Router::answer_count(const http::Request& request) {
  const auto question = question_in(request.query);
  if (!question) return http::text_response(400, "an owner and a rank are asked for\n");
  // Before it is counted: who is known from here on has been asked, or is larger in rank.
  const auto given_up = parts_.sessions.keys_given_up();
  const bool is_sure =
      knows(question->rank.cell) && std::ranges::all_of(given_up, [this](CellKey key) {
        const std::optional<Peer> peer = parts_.peers.find(key);
        return peer && std::ranges::find(peer->report.keys, key) != peer->report.keys.end();
      });
  const std::size_t count = parts_.sessions.count_of(question->owner, question->rank);
  return http::json_response(200, nlohmann::json{{"count", count}, {"sure", is_sure}}.dump());
}

Router::Count Router::count_once(const std::string& target) const {
  const auto now = std::chrono::steady_clock::now();
  std::vector<Peer> asked;
  std::vector<Question> questions;
  http::Request request;
  request.method = "GET";
  request.fields = {{"Host", "cell"}};
  const std::string text = hop_text(request, target, options_.token);
  Count count;
  for (Peer& peer : parts_.peers.all()) {
    if (!peer.answers && !peer.has_keys) continue;
    if (!peer.answers) {
      const std::string key = std::to_string(peer.report.key);
      (now - peer.answered < options_.patience ? count.silent : count.not_said) = key;
      continue;
    }
    questions.push_back({peer.address, text});
    asked.push_back(std::move(peer));
  }
  const auto answers = ask_all(parts_.wire, questions, now + count_patience, count_max_bytes);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::optional<Counted> counted = counted_in(answers[i]);
    if (counted) count.sum += counted->count;
    if (!counted || !counted->is_sure) count.silent = std::to_string(asked[i].report.key);
  }
  return count;
}

session::CountElsewhere Router::count_of(const std::string& owner, const session::Rank& rank) {
  const std::string target = fmt::format(
      "{}?owner={}&number={}&cell={}", count_path,
      to_hex(std::span(reinterpret_cast<const std::uint8_t*>(owner.data()), owner.size())),
      rank.number, rank.cell);
  const bool all = options_.owner_rule == OwnerRule::all;
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  Backoff backoff(count_first_pause, count_longest_pause);
  for (;;) {
    Count count = count_once(target);
    const bool is_waited_for =
        !count.silent.empty() || (all && (!count.not_said.empty() || !parts_.peers.is_complete()));
    if (is_waited_for && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(backoff.next());
      continue;
    }
    if (is_waited_for || !count.not_said.empty())
      parts_.metrics.count("cloche_owners_not_counted_total");
    if (!is_waited_for || !all) return {count.sum, {}};
    const std::string& who = count.silent.empty() ? count.not_said : count.silent;
    return {count.sum,
            who.empty()
                ? "a cell does not say how many sessions you have: try again"
                : fmt::format("cell {} does not say how many sessions you have: try again", who)};
  }
}

}  // namespace cloche::cluster
