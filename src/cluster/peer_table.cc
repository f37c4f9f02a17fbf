// SPDX-License-Identifier: Apache-2.0
#include "cluster/peer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/thread_name.h"
#include "cluster/ask.h"
#include "cluster/hop.h"
#include "cluster/json_numbers.h"

namespace cloche::cluster {
namespace {

constexpr std::chrono::milliseconds patience{1000};
constexpr std::uint64_t report_max_bytes = 16 << 10;
// Between two times that all are asked, however many want it.
constexpr std::chrono::milliseconds shortest_pause{20};

}  // namespace

std::string to_json(const CellReport& report) {
  return nlohmann::json{{"key", report.key},           {"keys", report.keys},
                        {"sessions", report.sessions}, {"ready", report.ready},
                        {"headroom", report.headroom}, {"rank", report.rank},
                        {"version", report.version}}
      .dump();
}

std::optional<CellReport> report_of_json(std::string_view text) try {
  const auto json = nlohmann::json::parse(text);
  // The release before has no other keys than its own, and says nothing of ranks.
  const auto key = number_of<CellKey>(json.at("key"));
  std::vector<CellKey> keys;
  for (const auto& held : json.value("keys", nlohmann::json::array({key})))
    keys.push_back(number_of<CellKey>(held));
  const CellReport report{
      .key = key,
      .keys = std::move(keys),
      .sessions = number_of<std::size_t>(json.value("sessions", nlohmann::json(0U))),
      .ready = json.at("ready"),
      .headroom = json.at("headroom"),
      .rank = number_of<std::uint64_t>(json.value("rank", nlohmann::json(0U))),
      .version = json.at("version")};
  return report.key == 0 ? std::nullopt : std::optional(report);
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

PeerTable::PeerTable(Options options) : options_(std::move(options)) {
  ask();
  worker_ = std::thread(with_name("cloche-peers", [this] { work(); }));
}

PeerTable::~PeerTable() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  worker_.join();
}

void PeerTable::ask() {
  const auto asked = std::chrono::steady_clock::now();
  std::vector<Question> questions;
  for (Address& address : options_.source.addresses()) {
    std::string text =
        fmt::format("GET /cell HTTP/1.1\r\nHost: {}\r\n{}: {}\r\nConnection: close\r\n\r\n",
                    address.name, hop_field, options_.token);
    questions.push_back({std::move(address), std::move(text)});
  }
  auto answers = ask_all(options_.wire, questions, std::chrono::steady_clock::now() + patience,
                         report_max_bytes);
  std::vector<std::optional<CellReport>> reports;
  for (const auto& answer : answers) {
    reports.push_back(answer && answer->status == 200 ? report_of_json(answer->body)
                                                      : std::nullopt);
    if (reports.back() && options_.heard) options_.heard(*reports.back());
  }
  const MutexLock lock(mutex_);
  for (auto& [key, peer] : peers_) peer.answers = false;
  is_complete_ = true;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::optional<CellReport>& report = reports[i];
    if (!report) {
      is_complete_ = is_complete_ && std::ranges::any_of(peers_, [&](const auto& each) {
                       return each.second.address == questions[i].address;
                     });
      continue;
    }
    if (report->key == options_.self) continue;
    Peer& peer = peers_[report->key];
    // A cell that ends and the one after it may both be there for a moment.
    if (peer.answers && peer.report.ready) continue;
    peer = {.address = std::move(questions[i].address),
            .report = *report,
            .answers = true,
            .asked = asked,
            .answered = std::chrono::steady_clock::now()};
    for (const CellKey held : report->keys) homes_[held] = report->key;
  }
  ++news_;
  told_.notify_all();
}

void PeerTable::work() {
  ReleasableMutexLock lock(mutex_);
  const auto is_closing = [this]() REQUIRES(mutex_) { return closing_; };
  const auto is_due = [this]() REQUIRES(mutex_) { return closing_ || is_wanted_; };
  while (!changed_.wait_for(mutex_, shortest_pause, is_closing)) {
    changed_.wait_for(mutex_, options_.interval - shortest_pause, is_due);
    if (closing_) return;
    is_wanted_ = false;
    lock.unlock();
    ask();
    lock.lock();
  }
}

void PeerTable::look_again() const {
  const MutexLock lock(mutex_);
  is_wanted_ = true;
  changed_.notify_all();
}

std::uint64_t PeerTable::news() const {
  const MutexLock lock(mutex_);
  return news_;
}

void PeerTable::wait_for_news(std::uint64_t known,
                              std::chrono::steady_clock::time_point until) const {
  const MutexLock lock(mutex_);
  (void)told_.wait_until(mutex_, until, [&]() REQUIRES(mutex_) { return news_ != known; });
}

void PeerTable::wake() const {
  const MutexLock lock(mutex_);
  ++news_;
  told_.notify_all();
}

std::optional<Peer> PeerTable::find(CellKey key) const {
  const MutexLock lock(mutex_);
  const auto home = homes_.find(key);
  const auto it = home == homes_.end() ? peers_.end() : peers_.find(home->second);
  return it == peers_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<Peer> PeerTable::all() const {
  std::vector<Peer> all;
  const MutexLock lock(mutex_);
  for (const auto& [key, peer] : peers_) {
    all.push_back(peer);
    all.back().has_keys = std::ranges::any_of(
        peer.report.keys, [&](CellKey held) REQUIRES(mutex_) { return homes_.at(held) == key; });
  }
  return all;
}

bool PeerTable::is_complete() const {
  const MutexLock lock(mutex_);
  return is_complete_;
}

}  // namespace cloche::cluster
