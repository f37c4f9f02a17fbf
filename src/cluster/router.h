// SPDX-License-Identifier: Apache-2.0
// Router: any cell answers for all. What belongs to another cell is passed on to it, by one hop,
// with the client's own token; what belongs to all is asked of all.
//
// A request that was passed on is passed on no further (but see hop.h). One for a cell that does
// not answer, or for a key that no cell has, waits some seconds: it may be starting anew, or taking
// the key. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/elsewhere.h"
#include "cluster/peer_table.h"
#include "doors/http/metrics.h"
#include "doors/http/server.h"
#include "session/session_manager.h"

namespace cloche::cluster {

class Router final : public Elsewhere {
 public:
  // All of them outlive it.
  struct Parts {
    const PeerTable& peers;
    const session::SessionManager& sessions;
    http::Metrics& metrics;
  };
  struct Options {
    std::string token;
    std::chrono::milliseconds patience{5000};  // for a cell that does not answer
  };
  // Makes the answer where a cell cannot be reached.
  using Away = std::function<http::Response(CellKey cell)>;

  Router(Parts parts, Options options);

  bool is_from_peer(const http::Request& request) const override;

  // True: another cell answers the request, or `away` has. `path` is the request's path without a
  // prefix. Waits.
  bool pass_on(const http::Request& request, std::string_view path,
               const std::shared_ptr<http::Exchange>& exchange, const Away& away);

  http::Response list(const std::string& owner, const http::Request& request, SessionPage own,
                      std::size_t limit, std::size_t offset) override;
  std::size_t sessions_elsewhere(const http::Request& request) override;

 private:
  bool pass_on_to(CellKey cell, const http::Request& request,
                  const std::shared_ptr<http::Exchange>& exchange, const Away& away);
  bool create_elsewhere(const http::Request& request,
                        const std::shared_ptr<http::Exchange>& exchange);
  // The pages of the other cells; `missing` gets the keys of those that do not say.
  std::vector<SessionPage> pages_elsewhere(const http::Request& request, std::size_t count,
                                           std::string& missing) const;

  const Parts parts_;
  const Options options_;
  std::atomic<std::size_t> waiting_ = 0;  // requests for cells that do not answer
};

// The session that a path is about, "/sessions/ID...", or a tunnel's target, "ID:22"; or nothing.
std::string_view session_of_path(std::string_view path);

}  // namespace cloche::cluster
