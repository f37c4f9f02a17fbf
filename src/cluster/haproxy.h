// SPDX-License-Identifier: Apache-2.0
// The configuration of an HAProxy in front of the cells: it sends a request to the cell whose key
// is in the session's id, and new sessions to one of those that are ready. It has no state.
#pragma once

#include <string>
#include <vector>

#include "session/cell_key.h"

namespace cloche::cluster {

struct Gateway {
  struct Cell {
    session::CellKey key = 0;
    std::string place;  // HOST:PORT
    std::string name;   // of its certificate; empty: HOST
  };
  std::vector<Cell> cells;
  std::string listen = "127.0.0.1:8000";
  bool resolves_names = false;  // again and again while it runs, not once at its start
  std::string authorities;      // of cells that speak TLS: as of PeerWire; empty: they do not
  std::size_t connection_limit = 8000;
};

// For HAProxy 2.6 and later.
std::string haproxy_configuration(const Gateway& gateway);

}  // namespace cloche::cluster
