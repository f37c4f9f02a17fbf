// SPDX-License-Identifier: Apache-2.0
// RelayedChannel: a channel whose other end is in another cell: what the client asks for and sends
// goes there, and what comes from there to the client.
//
// Threads: that of its connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "doors/ssh/channel.h"
#include "doors/ssh/far_session.h"
#include "doors/ssh/ordered_output.h"

namespace cloche::ssh {

// The end of it that is the other cell's.
class FarChannel final : public Channel {
 public:
  // Takes over `handle`, which is open.
  explicit FarChannel(ssh_channel handle);
  ~FarChannel() override;

  using Channel::client_has_closed;
  using Channel::close;
  using Channel::handle;
  using Channel::input_ended;
  using Channel::send;
  using Channel::send_end_of_file;

  // All that has come, of both streams, in the order in which it came. As receive() is to be
  // called.
  OrderedOutput receive_all();

  // How it has ended, as a program does; nothing where that is not said.
  struct Signal {
    std::string name;
    std::string message;
  };
  const std::optional<int>& exit_status() const noexcept { return exit_status_; }
  const std::optional<Signal>& exit_signal() const noexcept { return exit_signal_; }

 private:
  bool move() override { return false; }
  std::uint64_t own_bytes() const override { return received_[0].size() + received_[1].size(); }
  void arrived(Stream stream, std::size_t bytes) override;

  std::array<std::string, 2> received_;               // of each stream
  std::deque<std::pair<Stream, std::size_t>> order_;  // of that, and of what is to be received
  ssh_channel_callbacks_struct told_{};
  std::optional<int> exit_status_;
  std::optional<Signal> exit_signal_;
};

class RelayedChannel final : public Channel {
 public:
  enum class Kind : std::uint8_t { session, forward };
  // Takes over both, which are open. `session` outlives it.
  RelayedChannel(ssh_channel near, ssh_channel far, FarSession& session, Kind kind);
  ~RelayedChannel() override;

  bool is_forward() const noexcept override { return kind_ == Kind::forward; }

 private:
  bool move() override;
  bool owes_input() const noexcept override;
  std::uint64_t own_bytes() const override;
  bool move_in();
  bool move_out();
  bool drop_out();
  void finish();
  void set_callbacks();

  FarSession& session_;
  const Kind kind_;
  FarChannel far_;
  bool has_terminal_ = false;
  ssh_channel_callbacks_struct requests_{};
  std::string inward_;         // not yet sent to the other cell
  bool inward_ended_ = false;  // and that is told
  OrderedOutput outward_;      // not yet sent to the client
};

}  // namespace cloche::ssh
