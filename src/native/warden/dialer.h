// SPDX-License-Identifier: Apache-2.0
// Dialer: connections of a box to the world outside. A guest's connect waits until pid 1 has looked
// at the place where it must go. Cloche is asked; it connects to there by itself, and then the
// guest's socket is joined to one of ours, which Cloche gets. A guest's own connect reaches the
// box's loopback and nothing else, for there is no more in the box's network: so a guest that says
// one thing and does another is alone with itself.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "native/warden/fd.h"
#include "native/warden/outcome.h"
#include "native/warden/question.h"
#include "native/warden/wire.h"

namespace cloche::warden {

class Dialer {
 public:
  explicit Dialer(Questions& questions) noexcept : questions_(questions) {}

  // Guests that are started from now on ask. Without it there is no network, and this box works.
  void begin() noexcept { error_ = questions_.begin() ? 0 : errno; }

  // From now on there is a network: Cloche is asked on `socket`. `names` are sockets for queries at
  // port 53 of the loopback, as many as there are.
  Outcome open(Fd socket, std::array<Fd, 2>& names) noexcept;

  // Of a connect.
  void take_question(Question question) noexcept;
  // Readable when take_answer has something to do. False: Cloche wants no more.
  int socket() const noexcept { return socket_.get(); }
  bool take_answer() noexcept;

  // The threads that wait for an answer: no signal but a deadly one moves them.
  using Threads = std::array<pid_t, most_dials>;
  std::span<const pid_t> waiting(Threads& to) const noexcept;

 private:
  struct Waiting {
    Question question;
    std::uint32_t id = 0;  // 0: the place is free
  };
  using Table = std::array<Waiting, most_dials>;

  bool ask(Question& question, bool is_loopback) noexcept;
  void finish(Waiting& waiting, const DialAnswer& answer) noexcept;
  int join_and_tell(const Waiting& waiting) noexcept;
  bool tell(Dial::Tell what, std::uint32_t id, int fd = -1) noexcept;

  Questions& questions_;
  int error_ = ENOSYS;
  Fd socket_;
  std::uint32_t last_id_ = 0;
  std::unique_ptr<Table> waiting_;  // where there is a network
};

}  // namespace cloche::warden
