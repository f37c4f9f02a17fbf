// SPDX-License-Identifier: Apache-2.0
// WebSocket: a connection that has become one (RFC 6455), and whoever talks through it.
//
// Messages come one at a time, text is UTF-8, and each end may close. A client that answers no ping
// for a minute is lost, and so is one that leaves too much unread of what it was told without
// asking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cloche::http {

// Thread-safe.
class WebSocket {
 public:
  virtual ~WebSocket() = default;

  enum class Frame : std::uint8_t { text, binary };
  // An answer was asked for, and may be large; notices were not, and at most notices_limit_bytes of
  // them may be unread.
  enum class Kind : std::uint8_t { answer, notice };
  static constexpr std::size_t notices_limit_bytes = std::size_t{16} << 20;

  // Never waits; what is sent to a socket that is closed is dropped.
  virtual void send(Frame frame, Kind kind, std::string message) = 0;
  // Waits while the client has much to read and does read: for who can be slowed down. False: it is
  // closed.
  virtual bool wait_for_room() = 0;
  // After what was sent before. `code` is one of RFC 6455.
  virtual void close(std::uint16_t code, std::string reason) = 0;
};

// Called on the server's threads, one call at a time.
class WebSocketUser {
 public:
  virtual ~WebSocketUser() = default;

  virtual void opened(std::shared_ptr<WebSocket> socket) = 0;
  // May wait: the next message does.
  virtual void received(WebSocket::Frame frame, std::string message) = 0;
  // Once, and last; also where `opened` was never called. May wait.
  virtual void closed() = 0;
};

}  // namespace cloche::http
