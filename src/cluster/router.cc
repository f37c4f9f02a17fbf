// SPDX-License-Identifier: Apache-2.0
#include "cluster/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/backoff.h"
#include "base/constant_time.h"
#include "cluster/ask.h"
#include "cluster/hop.h"
#include "cluster/picker.h"
#include "doors/http/lost_peer.h"

namespace cloche::cluster {
namespace {

constexpr std::size_t waiting_max = 256;
// Nothing tells that another process listens again.
constexpr std::chrono::milliseconds first_connect_pause{10};
constexpr std::chrono::milliseconds longest_connect_pause{200};
constexpr std::chrono::milliseconds connect_patience{1000};
constexpr std::chrono::seconds send_patience{30};
constexpr std::chrono::seconds list_patience{5};
constexpr std::chrono::seconds create_patience{30};
constexpr std::uint64_t page_max_bytes = 64 << 20;
constexpr std::uint64_t session_max_bytes = 1 << 20;

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

bool Router::pass_on(const http::Request& request, std::string_view path,
                     const std::shared_ptr<http::Exchange>& exchange, const Away& away) {
  const auto cell = parts_.sessions.other_cell(session_of_path(path));
  if (is_hop(request) && !(cell && is_from_peer(request) && hops_of(request) < hops_max))
    return false;
  if (request.method == "POST" && is_list(path)) {
    return parts_.sessions.room().headroom() <= 0 && create_elsewhere(request, exchange);
  }
  return cell && is_elsewhere(*cell) && pass_on_to(*cell, request, exchange, away);
}

// Whether there is a cell of that key, or was a moment ago.
bool Router::is_elsewhere(CellKey cell) const {
  return parts_.sessions.has_given_up(cell) || parts_.peers.find(cell);
}

// Nothing has been sent while there is no connection: that may be tried again without harm.
UniqueFd Router::connect_to(CellKey cell, std::chrono::steady_clock::time_point deadline,
                            std::chrono::steady_clock::time_point known_since) {
  UniqueFd fd;
  Backoff backoff(first_connect_pause, longest_connect_pause);
  const bool may_wait = waiting_.fetch_add(1) < waiting_max;
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    // A key that is given up is nobody's for a moment.
    const std::optional<Peer> peer = parts_.peers.find(cell);
    const bool is_new = peer && peer->asked >= known_since;
    const bool has_it =
        is_new && std::ranges::find(peer->report.keys, cell) != peer->report.keys.end();
    // One that stands still takes connections, and would never answer.
    const bool is_silent = peer && !peer->answers && now - peer->answered > options_.patience;
    if (has_it && !is_silent) fd = parts_.wire.connect(peer->address, now + connect_patience);
    if (fd || !may_wait || now >= deadline) break;
    if (!is_new) parts_.peers.look_again();
    std::this_thread::sleep_for(backoff.next());
  }
  --waiting_;
  parts_.metrics.count("cloche_forwarded_total", fd ? R"(result="passed")" : R"(result="away")");
  if (fd) http::notice_lost_peer(fd.get());
  return fd;
}

bool Router::pass_on_to(CellKey cell, const http::Request& request,
                        const std::shared_ptr<http::Exchange>& exchange, const Away& away) {
  // Who has passed it on did not know where the key has gone, and two that are mistaken would pass it
  // to each other: then it is what cells say from now on that counts.
  const auto now = std::chrono::steady_clock::now();
  UniqueFd fd = connect_to(cell, now + options_.patience,
                           is_hop(request) ? now : std::chrono::steady_clock::time_point::min());
  if (!fd) {
    exchange->send(away(cell));
    return true;
  }
  // Where the cell takes no more it has said why: its answer is passed back all the same.
  (void)send_all(fd.get(), hop_text(request, request.target, options_.token),
                 std::chrono::steady_clock::now() + send_patience);
  exchange->relay_to(std::move(fd));
  return true;
}

Router::Reply Router::ask_cell_of(std::string_view session, const http::Request& request) {
  constexpr int moved_status = 421;
  const std::optional<CellKey> cell = parts_.sessions.other_cell(session);
  if (!cell || !is_elsewhere(*cell)) return Reply{404, UniqueFd()};
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  const std::string text = hop_text(request, request.target, options_.token);
  Backoff backoff(first_connect_pause, longest_connect_pause);
  for (;;) {
    UniqueFd fd = connect_to(*cell, deadline);
    if (!fd) return Reply{};
    const auto answered_by = std::chrono::steady_clock::now() + list_patience;
    const int status =
        send_all(fd.get(), text, answered_by) ? read_status(fd.get(), answered_by) : 0;
    const bool is_open = status == 200 && request.method == "CONNECT";
    if (status != 0 && status != moved_status)
      return Reply{status, is_open ? std::move(fd) : UniqueFd()};
    // It has ended just now, or the key is going from one cell to another.
    if (std::chrono::steady_clock::now() >= deadline) return Reply{};
    std::this_thread::sleep_for(backoff.next());
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
    auto answers = ask_all(parts_.wire, std::span(&question, 1),
                           std::chrono::steady_clock::now() + create_patience, session_max_bytes);
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
  const auto answers = ask_all(parts_.wire, questions,
                               std::chrono::steady_clock::now() + list_patience, page_max_bytes);
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
  http::Response response = http::json_response(200, merged_json(std::move(pages), limit, offset));
  if (!missing.empty()) response.fields.emplace_back("X-Cloche-Missing-Cells", missing);
  return response;
}

}  // namespace cloche::cluster
