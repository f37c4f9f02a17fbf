// SPDX-License-Identifier: Apache-2.0
// `cloche cells`: which cells there are, and which keys they have; and a key given to another one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/json_lookup.h"
#include "cluster/ask.h"
#include "cluster/hop.h"
#include "cluster/peer_table.h"
#include "doors/serve/key_requests.h"

namespace cloche::serve {
namespace {

constexpr int cells_usage_status = 2;
constexpr int cells_failed_status = 1;
constexpr std::uint64_t cell_answer_max_bytes = 1 << 20;
constexpr std::chrono::seconds cells_patience{5};
constexpr std::chrono::seconds move_patience{60};  // besides what runs

constexpr const char* cells_page =
    R"page(cloche cells [list | move KEY CELL] --peers PEERS --peer-token-file FILE [--patience SECONDS]

Asks cells, servers with a --cell-key and --peers, which keys of sessions they have; or gives a key, with all the sessions that
have it in their ids, to another cell: before one ends for good, or for one that has been lost. Both must have the same
--state-dir, on storage that they share, and the one that gets the key --take-keys.

  list                      the cells, their keys, sessions and room (this, unless something else is said)
  move KEY CELL             CELL, the own key of a cell, has KEY from now on
  --peers PEERS             as of cloche serve
  --peer-token-file FILE    the secret by which cells know each other
  --peer-ca FILE|system     cells speak TLS: who vouches for them, as of cloche serve
  --patience SECONDS        what runs in the key's sessions has that long to end (3)

Requests for the key's sessions wait while it is moved. Exit status: 0, or 1 where a cell refuses or a place of
--peers is not heard, and then says why.
)page";

struct CellsWanted {
  std::optional<cluster::PeerSource> peers;
  std::string authorities;
  std::string token;
  std::optional<std::pair<cluster::CellKey, cluster::CellKey>> move;  // a key, and where to
  std::chrono::seconds patience{3};
};

template <typename Number>
Number number_in(const std::string& what, const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw request_error(fmt::format("{} wants a number, not '{}'", what, text));
  return number;
}

cluster::CellKey need_key(const std::string& text) {
  const auto key = number_in<cluster::CellKey>("move", text);
  if (key == 0) throw request_error("a key is 1 to 65535");
  return key;
}

CellsWanted parse_cells(const std::vector<std::string>& words) {
  CellsWanted wanted;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& name = words[i];
    if (name == "list") continue;
    if (name != "move" && !name.starts_with('-'))
      throw request_error("cells knows list and move, not '" + name + "'");
    const std::size_t values = name == "move" ? 2 : 1;
    if (i + values >= words.size())
      throw request_error(name + (name == "move" ? " wants KEY and CELL" : " wants a value"));
    const std::string& value = words[i + 1];
    if (name == "move") {
      wanted.move = {need_key(value), need_key(words[i + 2])};
    } else if (name == "--peers") {
      wanted.peers = cluster::PeerSource::parse(value);
      if (!wanted.peers)
        throw request_error("--peers wants HOST:PORT,..., dns:NAME:PORT or file:FILE, not '" +
                            value + "'");
    } else if (name == "--peer-token-file") {
      std::ifstream stream(value);
      if (!std::getline(stream, wanted.token) || wanted.token.empty())
        throw request_error(name + " wants a file with a secret, not '" + value + "'");
    } else if (name == "--peer-ca") {
      wanted.authorities = value;
    } else if (name == "--patience") {
      wanted.patience = std::chrono::seconds(number_in<unsigned>(name, value));
    } else {
      throw request_error("there is no option '" + name + "'");
    }
    i += values;
  }
  if (!wanted.peers || wanted.token.empty())
    throw request_error("say --peers and --peer-token-file");
  return wanted;
}

cluster::Question question(const CellsWanted& wanted, const cluster::Address& to,
                           std::string_view method, std::string_view target) {
  return {to, fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n{}: {}\r\nContent-Length: 0\r\n"
                          "Connection: close\r\n\r\n",
                          method, target, to.name, cluster::hop_field, wanted.token)};
}

struct Cells {
  std::vector<cluster::Peer> heard;  // by key
  std::vector<std::string> unheard;  // a sentence each
};

Cells ask_cells(const CellsWanted& wanted, const cluster::PeerWire& wire) {
  std::vector<cluster::Question> questions;
  for (const cluster::Address& address : wanted.peers->addresses())
    questions.push_back(question(wanted, address, "GET", "/cell"));
  const auto answers = cluster::ask_all(
      wire, questions, std::chrono::steady_clock::now() + cells_patience, cell_answer_max_bytes);
  Cells cells;
  for (const std::string& place : wanted.peers->unknown())
    cells.unheard.push_back(place + " has no address");
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto report = answers[i] && answers[i]->status == 200
                            ? cluster::report_of_json(answers[i]->body)
                            : std::nullopt;
    if (report) {
      cells.heard.push_back({questions[i].address, *report, true});
    } else {
      cells.unheard.push_back(questions[i].address.name +
                              (answers[i] ? " is no cell, or knows another secret"
                               : wanted.authorities.empty()
                                   ? " does not answer: where cells speak TLS, say --peer-ca"
                                   : " does not answer, or shows no certificate for its name"));
    }
  }
  std::ranges::sort(cells.heard, {}, [](const cluster::Peer& cell) { return cell.report.key; });
  return cells;
}

// What it says; throws where it refuses.
void ask_for_key(const CellsWanted& wanted, const cluster::PeerWire& wire,
                 const cluster::Peer& cell, std::string_view method, const std::string& target) {
  const cluster::Question one = question(wanted, cell.address, method, target);
  const auto answers = cluster::ask_all(
      wire, std::span(&one, 1), std::chrono::steady_clock::now() + move_patience + wanted.patience,
      cell_answer_max_bytes);
  if (!answers[0])
    throw Error(ErrorKind::host, Errno::io,
                fmt::format("cell {} does not answer", cell.report.key));
  if (answers[0]->status == 200) return;
  const std::optional<Json> json = parse_json(answers[0]->body);
  const std::string* why = json ? find_text(*json, "message") : nullptr;
  throw Error(ErrorKind::host, Errno::io,
              fmt::format("cell {} refuses: {}", cell.report.key,
                          why ? *why : fmt::format("status {}", answers[0]->status)));
}

void move_key(const CellsWanted& wanted, cluster::CellKey key, cluster::CellKey to) {
  const cluster::PeerWire wire(wanted.authorities);
  const std::vector<cluster::Peer> cells = ask_cells(wanted, wire).heard;
  const auto target =
      std::ranges::find(cells, to, [](const auto& cell) { return cell.report.key; });
  if (target == cells.end())
    throw Error(ErrorKind::host, Errno::noent, fmt::format("cell {} does not answer", to));
  const auto has_key = [key](const cluster::Peer& cell) {
    return std::ranges::find(cell.report.keys, key) != cell.report.keys.end();
  };
  const std::string path = fmt::format("/cell/keys/{}", key);
  if (!has_key(*target)) {
    const auto holder = std::ranges::find_if(cells, has_key);
    if (holder != cells.end()) {
      ask_for_key(wanted, wire, *holder, "DELETE",
                  fmt::format("{}?patience={}", path, wanted.patience.count()));
    }
    try {
      ask_for_key(wanted, wire, *target, "PUT", path);
    } catch (const Error&) {
      // Nobody's sessions must be left without a cell.
      if (holder != cells.end()) ask_for_key(wanted, wire, *holder, "PUT", path);
      throw;
    }
  }
  fmt::print("key {} is with cell {}\n", key, to);
}

// Whether each of them is heard.
bool list_cells(const CellsWanted& wanted) {
  const cluster::PeerWire wire(wanted.authorities);
  const Cells cells = ask_cells(wanted, wire);
  for (const cluster::Peer& cell : cells.heard) {
    const cluster::CellReport& report = cell.report;
    const std::string keys =
        report.keys.empty() ? "none" : fmt::format("{}", fmt::join(report.keys, ","));
    fmt::print("cell {} {} {}, keys {}, sessions {}, headroom {:.2f}, version {}\n", report.key,
               cell.address.name, report.ready ? "ready" : "not ready", keys, report.sessions,
               report.headroom, report.version);
  }
  for (const std::string& sentence : cells.unheard)
    fmt::print(stderr, "cloche cells: {}\n", sentence);
  if (cells.heard.empty() && cells.unheard.empty())
    fmt::print(stderr, "cloche cells: --peers names no place\n");
  return !cells.heard.empty() && cells.unheard.empty();
}

}  // namespace

int cells_command(const std::vector<std::string>& words) {
  if (std::ranges::any_of(words,
                          [](const auto& word) { return word == "--help" || word == "-h"; })) {
    fmt::print("{}", cells_page);
    return 0;
  }
  try {
    const CellsWanted wanted = parse_cells(words);
    if (wanted.move) {
      move_key(wanted, wanted.move->first, wanted.move->second);
    } else if (!list_cells(wanted)) {
      return cells_failed_status;
    }
    return 0;
  } catch (const Error& error) {
    const bool is_usage = error.kind() == ErrorKind::request;
    fmt::print(stderr, "cloche cells: {}{}\n", error.sentence(),
               is_usage ? "; see cloche cells --help" : "");
    return is_usage ? cells_usage_status : cells_failed_status;
  }
}

}  // namespace cloche::serve
