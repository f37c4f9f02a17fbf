// SPDX-License-Identifier: Apache-2.0
// `--isolate owner`: each owner's sandboxes are in a process of their own; `--isolate session`:
// each session is. The server lets clients in, and passes what they ask on to the worker that has
// it; a worker is a server too, in a jail of its own, whose connections are those that it is given.
//
// Where each session has a worker the key in its id says which one. What belongs to an owner and to
// no session, agents' sandboxes and gradings, is in a worker of that owner; a WebSocket of JSON-RPC
// is to the worker of the session that it names, or has one of its own for the sessions that it
// makes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/elsewhere.h"
#include "cluster/metrics_sum.h"
#include "cluster/worker_set.h"
#include "doors/http/log.h"
#include "doors/http/metrics.h"
#include "doors/http/server.h"
#include "doors/serve/options.h"

namespace cloche::serve {

// What such a server itself does with its options: it has no session, and what is written to its
// state folder is who has which key.
Options front_options(Options options);
// What a worker is told of them: neither tokens nor keys of TLS, and its own owner, key and limits.
Options worker_options(Options options, const cluster::WorkerTask& task);

// The server's side.
class Workers final : public cluster::Elsewhere {
 public:
  // `spawner`, `log` and `metrics` outlive it. Throws HostError.
  Workers(cluster::Spawner& spawner, const Options& options, http::Log& log,
          http::Metrics& metrics);

  bool are_of_sessions() const noexcept { return by_ == Isolation::By::session; }

  // Makes the answer where there is no worker.
  using Refuse = std::function<http::Response(const cluster::NoWorker& why)>;
  // The owner's worker answers, or `refuse` has. Waits until the worker has the request.
  void pass_on(const http::Request& request, const std::string& owner,
               const std::shared_ptr<http::Exchange>& exchange, const Refuse& refuse);
  // The same for the worker of that key.
  void pass_on_to(session::CellKey key, const http::Request& request,
                  const std::shared_ptr<http::Exchange>& exchange, const Refuse& refuse);
  // And for a new one.
  void pass_on_to_new(const http::Request& request, const std::string& owner,
                      const std::shared_ptr<http::Exchange>& exchange, const Refuse& refuse);
  // What a new worker answers to a request for a session. Waits for it.
  std::variant<http::Response, cluster::NoWorker> create(const http::Request& request,
                                                         const std::string& owner);

  // The key in a session's id, where that has a worker, or is saved; of that owner, if one is
  // named.
  std::optional<session::CellKey> key_of(std::string_view session_id,
                                         const std::string* owner) const;
  // Whether a path is about a session that by its id is not that owner's.
  bool is_of_another(std::string_view path, const std::string& owner) const;
  // The owner of the session that a path is about, where its id says one that has a worker.
  std::string owner_of_path(std::string_view path) const;

  // What is wrong with one of them, a sentence; empty: nothing. Waits for those that run.
  std::string not_ready();
  // The server's page of metrics with theirs added. Waits.
  std::string metrics_page(std::string_view own);

  // 0 to 1: how many more workers there may be, of sessions.
  double headroom() const;

  // The sessions in all of an owner's workers.
  bool is_from_peer(const http::Request&) const override { return false; }
  http::Response list(const std::string& owner, const http::Request& request,
                      cluster::SessionPage own, std::size_t limit, std::size_t offset) override;

  // Whether the spawner has gone by itself, and so the server ends: that is no good end.
  bool is_lost() const { return is_lost_; }
  void begin_to_end() { workers_.begin_to_end(); }
  void stop() { workers_.stop(); }

 private:
  using Connected = std::variant<UniqueFd, cluster::NoWorker>;
  static void relay(const http::Request& request, Connected connected,
                    const std::shared_ptr<http::Exchange>& exchange, const Refuse& refuse);
  // What those that run say to `GET path` of the REST API; those of one owner, where one is named.
  std::vector<std::pair<session::CellKey, std::optional<http::Response>>> ask(
      std::string_view path, std::uint64_t answer_max_bytes, const std::string* owner = nullptr);

  const Isolation::By by_;
  cluster::MetricsSum metrics_;
  std::atomic<bool> is_lost_ = false;
  cluster::WorkerSet workers_;
};

// What a worker of a session is told by the server is of one that knows of the others: it has
// counted the request.
class AskedByServer final : public cluster::Elsewhere {
 public:
  bool is_from_peer(const http::Request&) const override { return true; }
  http::Response list(const std::string& owner, const http::Request& request,
                      cluster::SessionPage own, std::size_t limit, std::size_t offset) override;
};

// The worker's side: takes the connections that come over the channel, and answers whether there is
// nothing to do. When the server goes it has this process end as by SIGTERM.
class WorkerLink {
 public:
  // `server` outlives it. `is_idle` besides its connections.
  WorkerLink(UniqueFd channel, http::Server& server, std::function<bool()> is_idle);
  ~WorkerLink();  // hears no more
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;

 private:
  void hear();

  const UniqueFd channel_;
  http::Server& server_;
  const std::function<bool()> is_idle_;
  std::thread thread_;
};

}  // namespace cloche::serve
