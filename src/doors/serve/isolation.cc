// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/isolation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/descriptor_channel.h"
#include "base/json_lookup.h"
#include "cluster/ask.h"
#include "cluster/hop.h"
#include "cluster/router.h"

namespace cloche::serve {
namespace {

constexpr std::chrono::seconds send_patience{30};
constexpr std::chrono::seconds ask_patience{1};
constexpr std::chrono::minutes create_patience{5};  // which may install packages
constexpr std::uint64_t page_max_bytes = 1 << 20;
constexpr std::uint64_t list_max_bytes = 64 << 20;

std::string get_text(std::string_view path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
}

std::optional<http::Response> ask_one(UniqueFd connection, std::string_view text,
                                      std::chrono::milliseconds patience) {
  std::vector<UniqueFd> connections;
  connections.push_back(std::move(connection));
  auto answers = cluster::ask_connected(
      std::move(connections), text, std::chrono::steady_clock::now() + patience, page_max_bytes);
  return std::move(answers[0]);
}

std::string name_of(const std::string& owner) { return owner.empty() ? "everybody" : owner; }

cluster::WorkerSet::Options set_options(const Options& options, http::Log& log,
                                        http::Metrics& metrics, cluster::MetricsSum& sum,
                                        std::atomic<bool>& is_lost) {
  cluster::WorkerSet::Options set;
  set.limit = options.isolation.worker_limit;
  set.limit_per_owner = options.sessions.session_limit_per_owner;
  set.idle = options.isolation.idle;
  set.state_folder = options.isolation.state_folder;
  set.started = [&log, &metrics](session::CellKey key, const std::string& owner) {
    metrics.count("cloche_workers_started_total");
    log.event(http::LogLevel::info, "worker_started", {{"worker", key}, {"owner", name_of(owner)}});
  };
  set.ended = [&log, &metrics, &sum](const cluster::WorkerEnd& end, const std::string& owner) {
    sum.worker_ended(end.key, owner);
    metrics.count("cloche_workers_ended_total",
                  end.is_crash() ? R"(how="crashed")" : R"(how="idle")");
    log.event(end.is_crash() ? http::LogLevel::error : http::LogLevel::info, "worker_ended",
              {{"worker", end.key}, {"owner", name_of(owner)}, {"reason", end.reason()}});
  };
  // What it has counted since it was asked last.
  set.leaving = [&sum](session::CellKey key, UniqueFd connection) {
    const auto answer = ask_one(std::move(connection), get_text("/metrics"), ask_patience);
    if (answer && answer->status == 200) sum.worker_said(key, answer->body);
  };
  set.lost = [&log, &is_lost] {
    is_lost = true;
    log.event(http::LogLevel::error, "spawner_lost",
              {{"message", "the process that starts workers has ended, and so does the server"}});
    ::kill(::getpid(), SIGTERM);
  };
  return set;
}

}  // namespace

Options front_options(Options options) {
  options.isolation.state_folder = std::exchange(options.sessions.state_folder, {});
  // It shows the sessions of one process.
  if (options.isolation.by == Isolation::By::session) options.use_console = false;
  return options;
}

Options worker_options(Options options, const cluster::WorkerTask& task) {
  options.http.listens = false;
  options.http.tls_certificate.clear();
  options.http.tls_key.clear();
  options.makes_certificate = false;
  options.isolation.state_folder.clear();
  if (!options.tokens_file.empty()) {
    options.isolation.tokens = std::make_shared<http::TokenStore>(
        http::TokenStore::SoleOwner{task.owner, options.tokens_file});
  }
  options.tokens_file.clear();
  options.drain_notice = std::chrono::seconds(0);
  options.use_console = false;
  options.audit_log.reset();  // the server's, which a worker must not reach
  options.sessions.cell = task.key;
  if (options.isolation.by == Isolation::By::session) {
    options.requests_per_minute = 0;  // which the server counts
    // A worker that has nothing ends, and takes a place until then.
    options.sessions.overdue_kept = std::chrono::seconds(0);
    options.http.threads = 1;
  }
  if (options.isolation.worker_memory_bytes > 0) {
    options.sessions.memory_limit_bytes = options.isolation.worker_memory_bytes;
    options.http.received_limit_bytes =
        std::min(options.http.received_limit_bytes, options.isolation.worker_memory_bytes / 2);
  }
  return options;
}

Workers::Workers(cluster::Spawner& spawner, const Options& options, http::Log& log,
                 http::Metrics& metrics)
    : by_(options.isolation.by),
      workers_(spawner, set_options(options, log, metrics, metrics_, is_lost_)) {
  metrics.describe("cloche_workers_started_total", "Worker processes that were started.");
  metrics.describe("cloche_workers_ended_total", "Worker processes that have ended, and how.");
  metrics.gauge("cloche_workers", "Worker processes there are.",
                [this] { return static_cast<double>(workers_.count()); });
  metrics.gauge("cloche_workers_limit", "Worker processes there may be.",
                [this] { return static_cast<double>(workers_.limit()); });
}

bool Workers::is_of_another(std::string_view path, const std::string& owner) const {
  const auto key = session::cell_of(cluster::session_of_path(path));
  return key && key != workers_.key_of(owner);
}

std::string Workers::owner_of_path(std::string_view path) const {
  const auto key = session::cell_of(cluster::session_of_path(path));
  const auto owner = key ? workers_.owner_of(*key) : std::nullopt;
  return owner.value_or(std::string());
}

std::optional<session::CellKey> Workers::key_of(std::string_view session_id,
                                                const std::string* owner) const {
  const auto key = session::cell_of(session_id);
  const auto its = key ? workers_.owner_of(*key) : std::nullopt;
  return its && (!owner || *its == *owner) ? key : std::nullopt;
}

double Workers::headroom() const {
  const std::size_t limit = workers_.limit();
  return static_cast<double>(limit - std::min(workers_.count(), limit)) /
         static_cast<double>(limit);
}

void Workers::relay(const http::Request& request, Connected connected,
                    const std::shared_ptr<http::Exchange>& exchange, const Refuse& refuse) {
  if (const auto* none = std::get_if<cluster::NoWorker>(&connected))
    return exchange->send(refuse(*none));
  UniqueFd fd = std::get<UniqueFd>(std::move(connected));
  // Where the worker takes no more it has said why, or it is silent: the exchange says so then.
  (void)cluster::send_all(fd.get(), cluster::worker_text(request),
                          std::chrono::steady_clock::now() + send_patience);
  exchange->relay_to(std::move(fd));
}

void Workers::pass_on(const http::Request& request, const std::string& owner,
                      const std::shared_ptr<http::Exchange>& exchange, const Refuse& refuse) {
  relay(request, workers_.connect(owner), exchange, refuse);
}

void Workers::pass_on_to(session::CellKey key, const http::Request& request,
                         const std::shared_ptr<http::Exchange>& exchange, const Refuse& refuse) {
  relay(request, workers_.connect(key), exchange, refuse);
  if (request.method == "DELETE") workers_.may_be_idle(key);
}

void Workers::pass_on_to_new(const http::Request& request, const std::string& owner,
                             const std::shared_ptr<http::Exchange>& exchange,
                             const Refuse& refuse) {
  auto made = workers_.connect_new(owner);
  if (auto* none = std::get_if<cluster::NoWorker>(&made)) return exchange->send(refuse(*none));
  relay(request, std::get<cluster::WorkerSet::NewWorker>(std::move(made)).connection, exchange,
        refuse);
}

std::variant<http::Response, cluster::NoWorker> Workers::create(const http::Request& request,
                                                                const std::string& owner) {
  auto made = workers_.connect_new(owner);
  if (auto* none = std::get_if<cluster::NoWorker>(&made)) return std::move(*none);
  auto& [key, connection] = std::get<cluster::WorkerSet::NewWorker>(made);
  auto answer = ask_one(std::move(connection), cluster::worker_text(request), create_patience);
  if (!answer || answer->status >= 300) workers_.may_be_idle(key);
  if (!answer) {
    return cluster::NoWorker{cluster::NoWorker::Why::failed,
                             "the worker of the new session has ended, or does not answer"};
  }
  cluster::leave_out_server_fields(*answer);
  return *std::move(answer);
}

std::vector<std::pair<session::CellKey, std::optional<http::Response>>> Workers::ask(
    std::string_view path, std::uint64_t answer_max_bytes, const std::string* owner) {
  std::vector<std::pair<session::CellKey, std::optional<http::Response>>> answers;
  std::vector<UniqueFd> connections;
  for (auto& [key, fd] : workers_.connect_all(owner)) {
    answers.emplace_back(key, std::nullopt);
    connections.push_back(std::move(fd));
  }
  auto told =
      cluster::ask_connected(std::move(connections), get_text(path),
                             std::chrono::steady_clock::now() + ask_patience, answer_max_bytes);
  for (std::size_t i = 0; i < told.size(); ++i) answers[i].second = std::move(told[i]);
  return answers;
}

http::Response Workers::list(const std::string& owner, const http::Request& /*request*/,
                             cluster::SessionPage own, std::size_t limit, std::size_t offset) {
  std::vector<session::CellKey> missing = workers_.keys_away(owner);
  std::vector<cluster::SessionPage> pages;
  pages.push_back(std::move(own));
  const std::string path = fmt::format("/v1/sessions?limit={}&offset=0", offset + limit);
  for (const auto& [key, answer] : ask(path, list_max_bytes, &owner)) {
    auto page =
        answer && answer->status == 200 ? cluster::page_of_json(answer->body) : std::nullopt;
    if (page)
      pages.push_back(*std::move(page));
    else
      missing.push_back(key);
  }
  http::Response response =
      http::json_response(200, cluster::merged_json(std::move(pages), limit, offset));
  if (!missing.empty())
    response.fields.emplace_back("X-Cloche-Missing-Cells",
                                 fmt::format("{}", fmt::join(missing, ", ")));
  return response;
}

http::Response AskedByServer::list(const std::string& /*owner*/, const http::Request& /*request*/,
                                   cluster::SessionPage own, std::size_t limit,
                                   std::size_t offset) {
  return http::json_response(200, cluster::page_json(own, limit, offset));
}

std::string Workers::not_ready() {
  for (const auto& [key, answer] : ask("/v1/ready", page_max_bytes)) {
    // One that is starting, or busy, says nothing: that is no trouble.
    if (!answer || answer->status == 200) continue;
    const auto json = parse_json(answer->body);
    if (const std::string* reason = json ? find_text(*json, "reason") : nullptr) return *reason;
    return fmt::format("worker {} is not ready", key);
  }
  return {};
}

std::string Workers::metrics_page(std::string_view own) {
  std::vector<std::pair<session::CellKey, std::string>> pages;
  const std::uint64_t asked_at = metrics_.ends();
  for (auto& [key, answer] : ask("/metrics", page_max_bytes)) {
    if (answer && answer->status == 200) pages.emplace_back(key, std::move(answer->body));
  }
  return metrics_.page(own, pages, asked_at);
}

WorkerLink::WorkerLink(UniqueFd channel, http::Server& server, std::function<bool()> is_idle)
    : channel_(std::move(channel)),
      server_(server),
      is_idle_(std::move(is_idle)),
      thread_([this] { hear(); }) {}

WorkerLink::~WorkerLink() {
  ::shutdown(channel_.get(), SHUT_RD);
  thread_.join();
}

void WorkerLink::hear() {
  while (std::optional<ChannelMessage> message = receive_message(channel_.get())) {
    if (message->descriptor) {
      server_.adopt(std::move(message->descriptor));
    } else if (message->text.starts_with(cluster::question_message)) {
      const bool idle = server_.connections() == 0 && is_idle_();
      const std::string number = message->text.substr(cluster::question_message.size());
      (void)send_message(
          channel_.get(),
          std::string(idle ? cluster::idle_message : cluster::busy_message) + number);
    }
  }
  ::kill(::getpid(), SIGTERM);
}

}  // namespace cloche::serve
