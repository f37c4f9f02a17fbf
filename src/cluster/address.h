// SPDX-License-Identifier: Apache-2.0
// Where peers are: as the operator says it, and as addresses to connect to.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace cloche::cluster {

struct Address {
  std::string name;  // HOST:PORT
  std::string host;  // as the operator says it: of dns:NAME:PORT that name
  sockaddr_storage bytes{};
  socklen_t size = 0;

  bool operator==(const Address& other) const { return name == other.name; }
};

// What --peers says: HOST:PORT,HOST:PORT,...; dns:NAME:PORT, every address of that name; or
// file:PATH, a HOST:PORT a line, where '#' begins a comment.
class PeerSource {
 public:
  // Nothing for a text that is none of these.
  static std::optional<PeerSource> parse(std::string_view text);

  // Of file:PATH; otherwise empty.
  std::string file() const { return kind_ == Kind::file ? places_[0] : std::string(); }

  // The addresses now; those that cannot be resolved are left out. Waits for the host's resolver.
  std::vector<Address> addresses() const;
  // The places, as they are said, that have none now. Waits too.
  std::vector<std::string> unknown() const;

 private:
  std::vector<std::string> places() const;

  enum class Kind { list, dns, file };
  Kind kind_ = Kind::list;
  std::vector<std::string> places_;  // HOST:PORT; of a file its path
};

// A TCP connection that is being made, or an empty one. It does not block.
UniqueFd begin_connect(const Address& address);

}  // namespace cloche::cluster
