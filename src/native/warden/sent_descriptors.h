// SPDX-License-Identifier: Apache-2.0
// SentDescriptors: those that guests have on their way between sockets, and that no process has
// open. A socket that somebody has open says how many are on their way to it. One that is on its
// way itself is in no table, and nothing says what it holds. But such a socket is in the list of
// the box's network; and the kernel, which refuses to send where more are on their way than a
// process may have open, so tells how many there are of one user of the machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cloche::warden {

class SentDescriptors {
 public:
  void begin() noexcept { seen_count_ = 0; }
  // A process has this socket open: what /proc says of it, `socket:[NUMBER]`.
  void see(std::string_view what) noexcept;

  // Beside those `told` of, that sockets which nobody has open may hold: as many at most, for other
  // boxes of the user may have theirs. 0 where there are no such sockets, or none that was one when
  // this was last asked. Of a process without threads, whose limit of open files is another one
  // meanwhile.
  std::uint64_t hidden(std::uint64_t told) noexcept;

 private:
  bool is_one_unseen() noexcept;

  static constexpr std::size_t most = 8192;
  // Of more the last take each other's place, and some of them count as unseen.
  std::array<std::uint64_t, most> seen_{};
  std::size_t seen_count_ = 0;
  // Of the look that is, and of the one before, in order.
  std::array<std::uint64_t, most> unseen_{}, unseen_before_{};
  std::size_t unseen_count_ = 0;
};

}  // namespace cloche::warden
