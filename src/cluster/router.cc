// SPDX-License-Identifier: Apache-2.0
#include "cluster/router.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/constant_time.h"
#include "cluster/ask.h"
#include "cluster/hop.h"
#include "cluster/picker.h"
#include "doors/http/lost_peer.h"

namespace cloche::cluster {
namespace {

using Clock = std::chrono::steady_clock;

// Nothing tells that another process listens again, or that another cell has taken a key.
constexpr std::chrono::milliseconds first_pause{10};
constexpr std::chrono::milliseconds longest_pause{200};
constexpr std::chrono::milliseconds connect_patience{1000};
constexpr std::chrono::seconds send_patience{30};
constexpr std::chrono::seconds list_patience{5};
constexpr std::chrono::seconds create_patience{30};
constexpr std::uint64_t page_max_bytes = 64 << 20;
constexpr std::uint64_t session_max_bytes = 1 << 20;

std::chrono::milliseconds time_until(SteadyTime then) {
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(then - Clock::now()),
                  std::chrono::milliseconds(0));
}

bool is_hop(const http::Request& request) { return !request.field(hop_field).empty(); }

bool is_list(std::string_view path) { return path == "/sessions" || path == "/sessions/"; }

}  // namespace

std::string_view session_of_path(std::string_view path) {
  static constexpr std::string_view folder = "/sessions/";
  if (!path.starts_with('/')) return path.substr(0, path.rfind(':'));
  if (!path.starts_with(folder)) return {};
  path.remove_prefix(folder.size());
  return path.substr(0, path.find('/'));
}

Router::Router(Parts parts, Options options) : parts_(parts), options_(std::move(options)) {}

bool Router::is_from_peer(const http::Request& request) const {
  return is_hop(request) && is_same_secret(request.field(hop_field), options_.token);
}

void Router::Hold::take(Router& router, CellKey key) {
  ++router.holds_[key];
  router_ = &router;
  key_ = key;
}

void Router::Hold::release() {
  if (!router_) return;
  const MutexLock lock(router_->mutex_);
  const auto it = router_->holds_.find(key_);
  if (--it->second > 0) return;
  router_->holds_.erase(it);
  router_->let_go_.notify_all();
}

std::optional<CellKey> Router::other_cell(std::string_view session, Hold* hold) {
  const MutexLock lock(mutex_);
  if (const auto cell = parts_.sessions.other_cell(session)) return cell;
  const auto own = session::cell_of(session);
  if (own && leaving_.contains(*own)) return own;
  if (own && hold) hold->take(*this, *own);
  return std::nullopt;
}

bool Router::is_leaving(CellKey key) const {
  const MutexLock lock(mutex_);
  return leaving_.contains(key);
}

// Whoever has come before, and has not found its session yet, finds it still. What takes long is
// for the sessions to wait for, or to end.
Result<void, Error> Router::give_up_key(CellKey key, std::chrono::milliseconds patience) {
  const SteadyTime deadline = Clock::now() + patience;
  {
    const MutexLock lock(mutex_);
    leaving_.insert(key);
    (void)let_go_.wait_until(mutex_, Clock::now() + patience / 2,
                             [&]() REQUIRES(mutex_) { return !holds_.contains(key); });
  }
  const Result<void, Error> done = parts_.sessions.give_up_key(key, time_until(deadline));
  {
    const MutexLock lock(mutex_);
    leaving_.erase(leaving_.find(key));
  }
  parts_.peers.wake();
  return done;
}

Result<void, Error> Router::take_key(CellKey key) {
  const Result<void, Error> done = parts_.sessions.take_key(key);
  parts_.peers.wake();
  return done;
}

bool Router::pass_on(const http::Request& request, std::string_view path,
                     const std::shared_ptr<http::Exchange>& exchange, const Away& away,
                     Hold& hold) {
  if (!has_plain_path(request)) return false;
  const std::string_view session = session_of_path(path);
  const auto cell = other_cell(session, &hold);
  if (is_hop(request) && !(cell && is_from_peer(request) && may_hop_on(request))) return false;
  if (request.method == "POST" && is_list(path)) {
    return parts_.sessions.room().headroom() <= 0 && create_elsewhere(request, exchange);
  }
  return cell && is_elsewhere(*cell) && pass_on_to(*cell, session, request, exchange, away, &hold);
}

// Whether there is a cell of that key, or was a moment ago, or may be among those that are starting.
bool Router::is_elsewhere(CellKey cell) const {
  return is_leaving(cell) || parts_.sessions.has_given_up(cell) || parts_.peers.find(cell) ||
         !parts_.peers.is_complete();
}

// Nothing has been sent while there is no connection: that may be tried again without harm.
Router::Way Router::way_to(std::string_view session, std::string_view who, SteadyTime deadline,
                           SteadyTime known_since, Hold* hold) {
  Way way;
  Backoff backoff(first_pause, longest_pause);
  SteadyTime next_look = SteadyTime::min();
  const auto place = who.empty() ? waiting_.acquire() : waiting_.acquire(std::string(who));
  for (;;) {
    const std::uint64_t news = parts_.peers.news();
    const std::optional<CellKey> cell = other_cell(session, hold);
    way.is_here = !cell;
    if (way.is_here) break;
    // A key that is given up is nobody's for a moment.
    const std::optional<Peer> peer = parts_.peers.find(*cell);
    const bool has_it = peer && peer->asked >= known_since && !is_leaving(*cell) &&
                        std::ranges::find(peer->report.keys, *cell) != peer->report.keys.end();
    // One that stands still takes connections, and would never answer.
    const bool is_silent =
        peer && !peer->answers && Clock::now() - peer->answered > options_.patience;
    if (has_it && !is_silent)
      way.fd = parts_.wire.connect(peer->address, Clock::now() + connect_patience);
    const SteadyTime now = Clock::now();
    if (way.fd || !place || now >= deadline) break;
    if (now >= next_look) {
      next_look = now + backoff.next();
      if (!has_it) parts_.peers.look_again();
    }
    parts_.peers.wait_for_news(news, std::min(deadline, next_look));
  }
  if (way.is_here) return way;
  parts_.metrics.count("cloche_forwarded_total",
                       way.fd ? R"(result="passed")" : R"(result="away")");
  if (way.fd) http::notice_lost_peer(way.fd.get());
  return way;
}

// False: it is for this cell now.
bool Router::pass_on_to(CellKey cell, std::string_view session, const http::Request& request,
                        const std::shared_ptr<http::Exchange>& exchange, const Away& away,
                        Hold* hold) {
  // Who has passed it on did not know where the key has gone, and two that are mistaken would pass it
  // to each other: then it is what cells say from now on that counts.
  const SteadyTime now = Clock::now();
  const auto patience =
      std::min(options_.patience, is_hop(request) ? patience_of(request).value_or(options_.patience)
                                                  : options_.patience);
  const SteadyTime deadline = now + patience;
  Way way = way_to(session, request.field("Authorization"), deadline,
                   is_hop(request) ? now : SteadyTime::min(), hold);
  if (way.is_here) return false;
  if (!way.fd) {
    exchange->send(away(cell));
    return true;
  }
  // Where the cell takes no more it has said why: its answer is passed back all the same.
  (void)send_all(way.fd.get(),
                 hop_text(request, request.target, options_.token, time_until(deadline)),
                 Clock::now() + send_patience);
  exchange->relay_to(std::move(way.fd));
  return true;
}

Router::Reply Router::ask_cell_of(std::string_view session, const http::Request& request) {
  constexpr int moved_status = 421;
  const std::optional<CellKey> cell = parts_.sessions.other_cell(session);
  if (!cell || !is_elsewhere(*cell)) return Reply{404, UniqueFd()};
  const SteadyTime deadline = Clock::now() + options_.patience;
  const std::string text = hop_text(request, request.target, options_.token);
  SteadyTime known_since = SteadyTime::min();
  for (;;) {
    Way way = way_to(session, {}, deadline, known_since, nullptr);
    if (!way.fd) return Reply{};
    known_since = Clock::now();
    const SteadyTime answered_by = known_since + list_patience;
    std::optional<http::Response> head;
    if (send_all(way.fd.get(), text, answered_by)) head = read_head(way.fd.get(), answered_by);
    if (head && head->status != moved_status) {
      const bool is_open = head->status == 200 && request.method == "CONNECT";
      return Reply{head->status, is_open ? std::move(way.fd) : UniqueFd(), std::move(head->fields)};
    }
    // It has ended just now, or the key is going from one cell to another: it is what cells say from
    // now on that counts.
    if (Clock::now() >= deadline) return Reply{};
  }
}

// False: no other cell has room either.
bool Router::create_elsewhere(const http::Request& request,
                              const std::shared_ptr<http::Exchange>& exchange) {
  const std::vector<Peer> peers = parts_.peers.all();
  std::vector<double> headrooms;
  headrooms.reserve(peers.size());
  for (const Peer& peer : peers)
    headrooms.push_back(peer.answers && peer.report.ready ? peer.report.headroom : 0);
  const std::string text = hop_text(request, request.target, options_.token);
  for (const std::size_t i : pick_three(headrooms, draw_random)) {
    const Question question{peers[i].address, text};
    auto answers = ask_all(parts_.wire, std::span(&question, 1), Clock::now() + create_patience,
                           session_max_bytes);
    // Whether a cell that says nothing has made one is not known: another one makes one. The one
    // that nobody knows of ends by itself.
    if (!answers[0] || answers[0]->status == 503) continue;
    http::Response answer = *std::move(answers[0]);
    leave_out_server_fields(answer);
    parts_.metrics.count("cloche_forwarded_total", R"(result="created")");
    exchange->send(std::move(answer));
    return true;
  }
  return false;
}

std::vector<SessionPage> Router::pages_elsewhere(const http::Request& request, std::size_t count,
                                                 std::string& missing) const {
  const std::vector<Peer> peers = parts_.peers.all();
  http::Request asked;
  asked.method = "GET";
  asked.fields = request.fields;
  const std::string target = fmt::format("/v1/sessions?limit={}&offset=0", count);
  const std::string text = hop_text(asked, target, options_.token);
  std::vector<Question> questions;
  for (const Peer& peer : peers) {
    // One that did not answer a moment ago is not waited for.
    if (peer.answers) questions.push_back({peer.address, text});
  }
  const auto answers =
      ask_all(parts_.wire, questions, Clock::now() + list_patience, page_max_bytes);
  std::vector<SessionPage> pages;
  auto next = answers.begin();
  for (const Peer& peer : peers) {
    std::optional<SessionPage> page;
    if (peer.answers) {
      const auto& answer = *next++;
      if (answer && answer->status == 200) page = page_of_json(answer->body);
    }
    if (page) {
      pages.push_back(*std::move(page));
    } else {
      missing += (missing.empty() ? "" : ", ") + std::to_string(peer.report.key);
    }
  }
  return pages;
}

http::Response Router::list(const std::string& /*owner*/, const http::Request& request,
                            SessionPage own, std::size_t limit, std::size_t offset) {
  std::string missing;
  std::vector<SessionPage> pages = pages_elsewhere(request, offset + limit, missing);
  pages.push_back(std::move(own));
  // One that has never answered has a key that nobody knows.
  if (!parts_.peers.is_complete()) missing += missing.empty() ? "?" : ", ?";
  http::Response response = http::json_response(200, merged_json(std::move(pages), limit, offset));
  if (!missing.empty()) response.fields.emplace_back("X-Cloche-Missing-Cells", missing);
  return response;
}

}  // namespace cloche::cluster
