// SPDX-License-Identifier: Apache-2.0
// RunningServer: all doors over one engine and one set of sessions, from the first connection that
// is taken until a signal asks for the end. Its members are in the order in which they are made,
// and go in the opposite one.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "base/file_watch.h"
#include "base/unique_fd.h"
#include "cluster/elsewhere.h"
#include "cluster/peer_table.h"
#include "cluster/peer_wire.h"
#include "cluster/router.h"
#include "cluster/spawner.h"
#include "doors/console/console_door.h"
#include "doors/e2b/boxes.h"
#include "doors/e2b/debug_listeners.h"
#include "doors/e2b/e2b_door.h"
#include "doors/grading/grading_door.h"
#include "doors/http/login_cookies.h"
#include "doors/http/origin_guard.h"
#include "doors/http/server.h"
#include "doors/http/token_store.h"
#include "doors/mcp/http_door.h"
#include "doors/mcp/hub.h"
#include "doors/remote/remote_door.h"
#include "doors/rest/rest_door.h"
#include "doors/serve/application.h"
#include "doors/serve/isolation.h"
#include "doors/serve/options.h"
#include "doors/serve/server_process.h"
#include "doors/serve/signals.h"
#include "doors/serve/ssh_requests.h"
#include "doors/ssh/ssh_door.h"
#include "doors/steps/step_door.h"
#include "session/session_manager.h"
#include "session/worker_pool.h"

namespace cloche::serve {

class RunningServer {
 public:
  // To be made before the first thread starts. `spawner`: of a server whose sandboxes are in
  // workers, otherwise null; it outlives this. `channel`: of a worker, otherwise none. Throws
  // HostError, and an Error of kind request, as ServerProcess does.
  RunningServer(Options options, cluster::Spawner* spawner, UniqueFd channel);
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  // Serves until a signal asks for the end, and ends what runs. Returns the exit status; where a
  // compilation still goes on, which cannot be stopped, the process ends here with it.
  int run(const Signals& signals);

 private:
  // A part that what was made before it reaches, from any thread, while this is there.
  template <typename Part>
  class Known {
   public:
    Known(std::atomic<Part*>& place, Part& part) : place_(place) { place_ = &part; }
    ~Known() { place_ = nullptr; }
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;

   private:
    std::atomic<Part*>& place_;
  };

  // How it begins.
  const session::ManagerOptions& watched_sessions();
  void join_cells();
  void make_doors();
  void make_agents_doors();
  void make_server();
  cluster::Elsewhere* elsewhere();

  // What it says of itself. A sentence; empty: it is ready.
  std::string not_ready();
  static std::string ending_sentence() { return "the server is about to end"; }
  cluster::CellReport report();
  void answer_peer(const http::Request& request, const std::shared_ptr<http::Exchange>& exchange);
  http::Response answer_key(const http::Request& request);
  void record_login(const ssh::Login& login);

  // While it runs.
  void say_listening();
  void prepare_programs();
  void cannot_prepare(const std::exception& error);
  void read_changed_files();
  void read_all_files();
  void read_tokens();
  void read_certificate();

  void end(const Signals& signals);

  const bool is_worker_;
  cluster::Spawner* const spawner_;
  UniqueFd channel_;
  ServerProcess process_;
  Options& options_ = process_.options;
  http::Log& log_ = process_.log;
  http::Metrics& metrics_ = process_.metrics;
  const bool is_isolated_by_session_;

  std::atomic<bool> is_ending_ = false;
  std::atomic<ssh::SshDoor*> known_ssh_ = nullptr;
  std::atomic<e2b::Boxes*> known_boxes_ = nullptr;
  std::atomic<cluster::Router*> known_router_ = nullptr;

  FileWatch tokens_watch_;
  std::array<FileWatch, 3> tls_watches_;
  const std::shared_ptr<http::TokenStore> token_store_;
  http::TokenStore& tokens_ = *token_store_;
  session::SessionManager sessions_;
  ssh::SshDoor ssh_;
  const Known<ssh::SshDoor> ssh_is_known_{known_ssh_, ssh_};

  // The doors, and other processes with sandboxes. Workers use them, and so go before them.
  std::optional<steps::StepDoor> steps_;
  std::optional<rest::RestDoor> rest_;
  std::optional<mcp::Hub> mcp_hub_;
  std::optional<mcp::HttpDoor> mcp_;
  http::LoginCookies logins_;
  const http::OriginGuard guard_;
  const http::OriginGuard mcp_guard_;
  std::optional<remote::RemoteDoor> remote_;
  std::optional<e2b::Boxes> boxes_;
  std::optional<e2b::E2bDoor> e2b_door_;
  std::optional<grading::GradingDoor> grading_;
  std::optional<Application> application_;
  std::optional<cluster::PeerWire> peer_wire_;
  std::optional<cluster::PeerTable> peers_;
  std::optional<cluster::Router> router_;
  std::optional<SshElsewhere> ssh_elsewhere_;
  std::optional<Workers> isolated_;
  AskedByServer asked_by_server_;
  session::WorkerPool workers_;
  std::optional<Known<cluster::Router>> router_is_known_;
  std::optional<Known<e2b::Boxes>> boxes_are_known_;
  console::ConsoleDoor console_;

  std::optional<http::Server> server_;
  std::optional<e2b::DebugListeners> debug_;
  std::optional<WorkerLink> link_;
  std::future<void> prepared_;
};

}  // namespace cloche::serve
