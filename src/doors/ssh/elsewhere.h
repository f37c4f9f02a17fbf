// SPDX-License-Identifier: Apache-2.0
// Elsewhere: sessions that are not here, of other cells. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "doors/ssh/proof.h"

namespace cloche::ssh {

// What a tunnel is for, which needs no login any more: its client has logged in at another cell.
struct Forwarded {
  std::string client;  // as it calls itself: SSH-2.0-...
};

class Elsewhere {
 public:
  virtual ~Elsewhere() = default;

  enum class Verdict : std::uint8_t {
    opens,
    refused,
    none,  // there is no such session
    away,  // its cell does not answer, or cannot take it now
  };
  // Whether the proof would do. Waits.
  virtual Verdict judge(std::string_view session_id, const Proof& proof) = 0;
  struct Opened {
    Verdict verdict = Verdict::away;
    UniqueFd tunnel = UniqueFd();
    std::string owner = {};  // of the session
  };
  // A tunnel to the session, for who has shown that; `client` as of Forwarded. Waits.
  virtual Opened open(std::string_view session_id, const Proof& proof, std::string_view client) = 0;
};

}  // namespace cloche::ssh
