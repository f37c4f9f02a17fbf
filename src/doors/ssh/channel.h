// SPDX-License-Identifier: Apache-2.0
// Channel: one channel of an SSH connection, as far as all kinds of it are the same: bytes from the
// client and to the client, with flow control both ways.
//
// What a client can make the server keep is bounded: bytes to it wait in the sandbox while the
// connection is full, one that sends more than its window is told to go, and what all channels hold
// is counted for the owner of the session (held_bytes). It is the same where this process is the
// client: then what is called the client here is the server.
//
// Threads: that of its connection.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "cloche/run.h"

namespace cloche::ssh {

class Channel {
 public:
  virtual ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Moves what waits, both ways, without waiting. True when something moved. Who has closed it is
  // answered when all that was sent has been received, whatever goes on then.
  bool pump();
  // The client has closed it, and what it sent before is passed on where it must be, or everything
  // has been said.
  bool done() const noexcept { return closed_ || (client_closed_ && !owes_input()); }
  // The client has closed it, and it is not done: it wants to be looked at now and then.
  bool lingers() const noexcept { return client_closed_ && !done(); }
  // The client has sent what no client sends: its connection must end.
  bool misused() const noexcept { return misused_; }
  // What of the client's and for the client is in this process's memory.
  std::uint64_t held_bytes() const { return early_.size() + unread_[0] + unread_[1] + own_bytes(); }
  // The client has gone, and has closed nothing: it is as if it had.
  void lose_client();
  // A connection that the client forwards; otherwise something of its own.
  virtual bool is_forward() const noexcept { return false; }

  // What the client has started and does not wait for has that long to end by itself.
  static constexpr std::chrono::seconds linger_max{10};

 protected:
  // What the other side sends as errors: a client has none to send.
  enum class Errors : std::uint8_t { thrown_away, kept };
  // Takes over `handle`.
  explicit Channel(ssh_channel handle, Errors errors = Errors::thrown_away);

  virtual bool move() = 0;
  // Of what the client has sent, something must be passed on though the client has closed.
  virtual bool owes_input() const noexcept { return false; }
  // What it has itself of held_bytes().
  virtual std::uint64_t own_bytes() const = 0;
  // So many bytes more have come, and wait to be received.
  virtual void arrived(Stream /*stream*/, std::size_t /*bytes*/) {}

  ssh_channel handle() const noexcept { return handle_; }
  // All that the client has sent up to now, at most some MiB; nothing: not now. To be called when
  // what was received before has been passed on: that is what makes the client wait.
  std::string receive(Stream stream = Stream::out);
  // The client has said that it sends no more, and all of it has been received.
  bool input_ended() const noexcept { return input_ended_; }
  // Takes off `text` what the client has room for; true for any of it.
  bool send(Stream stream, std::string& text);
  void send_end_of_file();
  void close();
  bool client_has_closed() const noexcept { return client_closed_; }
  // linger_max has passed since the client has closed it.
  bool lingered() const noexcept;

 private:
  const ssh_channel handle_;
  const Errors errors_;
  ssh_channel_callbacks_struct callbacks_{};
  bool input_ended_ = false;
  bool end_of_file_sent_ = false;
  std::string early_;  // received, and not asked for yet: it is there when the connection is not
  std::array<std::uint64_t, 2> unread_{};  // that libssh has, of each stream
  bool client_closed_ = false;
  bool close_is_owed_ = false;
  std::chrono::steady_clock::time_point client_closed_at_;
  bool closed_ = false;
  bool misused_ = false;
};

}  // namespace cloche::ssh
