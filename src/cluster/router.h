// SPDX-License-Identifier: Apache-2.0
// Router: any cell answers for all. What belongs to another cell is passed on to it, by one hop,
// with the client's own token; what belongs to all is asked of all.
//
// A request that was passed on is passed on no further (but see hop.h). One for a cell that does
// not answer, or for a key that no cell has, waits some seconds, in all cells together: it may be
// starting anew, or another one, this one too, may be taking the key. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/mutex.h"
#include "base/share_limit.h"
#include "base/unique_fd.h"
#include "cluster/elsewhere.h"
#include "cluster/peer_table.h"
#include "doors/http/metrics.h"
#include "doors/http/server.h"
#include "session/session_manager.h"

namespace cloche::cluster {

// What counts of an owner's sessions where a cell does not say how many it has of them: only those
// of the others, and so an owner may have more than the limit; or no session is made.
enum class OwnerRule : std::uint8_t { those_that_answer, all };

class Router final : public Elsewhere {
 public:
  // All of them outlive it.
  struct Parts {
    const PeerTable& peers;
    const PeerWire& wire;
    session::SessionManager& sessions;
    http::Metrics& metrics;
  };
  struct Options {
    std::string token;
    std::chrono::milliseconds patience{5000};  // for a cell that does not answer, or has no key
    OwnerRule owner_rule = OwnerRule::those_that_answer;
  };
  // Makes the answer where a cell cannot be reached.
  using Away = std::function<http::Response(CellKey cell)>;

  Router(Parts parts, Options options);

  bool is_from_peer(const http::Request& request) const override;

  // A use of a key that is here. While there is one, who gives the key up waits for a while.
  class Hold {
   public:
    Hold() = default;
    ~Hold() { release(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    friend class Router;
    void take(Router& router, CellKey key) REQUIRES(router.mutex_);
    void release();
    Router* router_ = nullptr;
    CellKey key_ = 0;
  };

  // True: another cell answers the request, or `away` has. `path` is the request's path without a
  // prefix. Waits. False: the request is for this cell, which keeps the session's key while there
  // is `hold`.
  bool pass_on(const http::Request& request, std::string_view path,
               const std::shared_ptr<http::Exchange>& exchange, const Away& away, Hold& hold);

  // As of SessionManager; requests for the key's sessions that have come already have their time,
  // and those that come meanwhile wait.
  Result<void, Error> give_up_key(CellKey key, std::chrono::milliseconds patience);
  Result<void, Error> take_key(CellKey key);

  // What the cell that has the session says to a request of cells, by the status of its answer; 503
  // where it does not answer, the session's key goes on and on, or has come here. With 200 to
  // CONNECT there is the tunnel. Waits.
  struct Reply {
    int status = 503;
    UniqueFd tunnel = UniqueFd();
    http::Fields fields = {};
  };
  Reply ask_cell_of(std::string_view session, const http::Request& request);

  http::Response list(const std::string& owner, const http::Request& request, SessionPage own,
                      std::size_t limit, std::size_t offset) override;

  // An owner's sessions in the other cells, for a place of that rank (session/places.h). Waits for
  // those that have just been there, and answers for those that know each other.
  session::CountElsewhere count_of(const std::string& owner, const session::Rank& rank);
  // The answer to another cell that counts so.
  http::Response answer_count(const http::Request& request);
  static bool is_count_path(std::string_view path);

  // Requests that look for a cell, or wait for it.
  std::size_t waiting() const { return waiting_.held(); }

 private:
  bool pass_on_to(CellKey cell, std::string_view session, const http::Request& request,
                  const std::shared_ptr<http::Exchange>& exchange, const Away& away, Hold* hold);
  // The session's key where it is not here, or about to go; otherwise `hold` has it.
  std::optional<CellKey> other_cell(std::string_view session, Hold* hold);
  bool is_elsewhere(CellKey cell) const;
  bool is_leaving(CellKey key) const;
  // A connection to the cell that has the session's key; none where it cannot be reached, or where
  // this cell has taken the key meanwhile.
  struct Way {
    UniqueFd fd = UniqueFd();
    bool is_here = false;
  };
  // `who`: by whose token is asked, who has three quarters of the places at most; empty: by none.
  // `known_since`: what cells have said before does not count.
  Way way_to(std::string_view session, std::string_view who,
             std::chrono::steady_clock::time_point deadline,
             std::chrono::steady_clock::time_point known_since, Hold* hold);
  bool create_elsewhere(const http::Request& request,
                        const std::shared_ptr<http::Exchange>& exchange);
  struct Count {
    std::size_t sum = 0;
    std::string silent;    // a cell that does not say, and has not been gone for long
    std::string not_said;  // one that may have been
  };
  Count count_once(const std::string& target) const;
  bool knows(CellKey cell) const;
  // The pages of the other cells; `missing` gets the keys of those that do not say.
  std::vector<SessionPage> pages_elsewhere(const http::Request& request, std::size_t count,
                                           std::string& missing) const;

  const Parts parts_;
  const Options options_;
  static constexpr std::size_t waiting_max = 256;
  ShareLimit waiting_{waiting_max};  // a token's three quarters
  mutable Mutex mutex_;
  Condition let_go_;
  std::map<CellKey, std::size_t> holds_ GUARDED_BY(mutex_);
  std::multiset<CellKey> leaving_ GUARDED_BY(mutex_);  // keys that are being given up
};

// The session that a path is about, "/sessions/ID...", or a tunnel's target, "ID:22"; or nothing.
std::string_view session_of_path(std::string_view path);

}  // namespace cloche::cluster
