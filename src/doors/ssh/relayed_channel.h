// SPDX-License-Identifier: Apache-2.0
// RelayedChannel: a channel whose other end is in another cell: what the client asks for and sends
// goes there, and what comes from there to the client.
//
// Threads: that of its connection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "doors/ssh/channel.h"
#include "doors/ssh/far_session.h"

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
  using Channel::receive;
  using Channel::send;
  using Channel::send_end_of_file;

  // How it has ended, as a program does; nothing where that is not said.
  struct Signal {
    std::string name;
    std::string message;
  };
  const std::optional<int>& exit_status() const noexcept { return exit_status_; }
  const std::optional<Signal>& exit_signal() const noexcept { return exit_signal_; }

 private:
  bool move() override { return false; }

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
  std::string inward_;                  // not yet sent to the other cell
  bool inward_ended_ = false;           // and that is told
  std::array<std::string, 2> outward_;  // not yet sent to the client, of each stream
};

}  // namespace cloche::ssh
