// SPDX-License-Identifier: Apache-2.0
// `--isolate owner`: each owner's sandboxes are in a process of their own. The server lets clients
// in, and passes what they ask on to their worker; a worker is a server too, in a jail of its own,
// whose connections are those that it is given.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

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
class Workers {
 public:
  // `spawner`, `log` and `metrics` outlive it. Throws HostError.
  Workers(cluster::Spawner& spawner, const Options& options, http::Log& log,
          http::Metrics& metrics);

  // Makes the answer to what no worker can be asked: its status and one sentence.
  using Refuse = std::function<http::Response(int status, std::string_view sentence)>;
  // The owner's worker answers, or `refuse` has. Waits until the worker has the request.
  void pass_on(const http::Request& request, const std::string& owner,
               const std::shared_ptr<http::Exchange>& exchange, const Refuse& refuse);
  // Whether a path is about a session that by its id is not that owner's.
  bool is_of_another(std::string_view path, const std::string& owner) const;
  // The owner of the session that a path is about, where its id says one that has a worker.
  std::string owner_of_path(std::string_view path) const;

  // What is wrong with one of them, a sentence; empty: nothing. Waits for those that run.
  std::string not_ready();
  // The server's page of metrics with theirs added. Waits.
  std::string metrics_page(std::string_view own);

  void begin_to_end() { workers_.begin_to_end(); }
  void stop() { workers_.stop(); }

 private:
  // What those that run say to `GET path` of the REST API.
  std::vector<std::pair<session::CellKey, std::optional<http::Response>>> ask(
      std::string_view path);

  cluster::MetricsSum metrics_;
  cluster::WorkerSet workers_;
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
