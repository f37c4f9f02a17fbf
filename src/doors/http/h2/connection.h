// SPDX-License-Identifier: Apache-2.0
// H2Connection: a connection of HTTP/2: what its streams (stream.h) share. It takes the bytes of a
// Connection that the server counts, and keeps that one alive.
//
// Each stream stands for what a connection of HTTP/1.1 is: it is admitted, bounded and timed as
// one. Of the connection itself a head must be whole in time, what is sent must be read in time,
// and one without a stream ends as an idle one does. While a client does not read what it has
// asked for, nothing more is read of it.
//
// Threads: as Connection says.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "doors/http/connection.h"
#include "doors/http/h2/byte_stream.h"
#include "doors/http/h2/session.h"

namespace cloche::http {

class H2Stream;
// How many there are of a connection; they end on any thread.
using H2StreamCount = std::shared_ptr<std::atomic<std::size_t>>;

class H2Connection final : public std::enable_shared_from_this<H2Connection>, private H2User {
 public:
  using Clock = std::chrono::steady_clock;

  // `peer` is the client's address and port.
  H2Connection(std::shared_ptr<Connection> counted, Host& host, Loop& loop,
               std::unique_ptr<ByteStream> bytes, std::string peer);
  ~H2Connection();

  // On the loop, as all that follows.
  void start();
  void end_soon();
  void end_now();

  // --- for its streams ---
  Host& host() noexcept { return host_; }
  Loop& loop() noexcept { return loop_; }
  boost::asio::any_io_executor executor() { return bytes_->executor(); }
  H2Session& session() noexcept { return session_; }
  const std::string& peer() const noexcept { return peer_; }
  // What was given to the session goes out soon.
  void flush_soon();
  // Something is late at that time, unless it is said otherwise until then.
  void expect(Clock::time_point time);
  // The stream has bytes on their way.
  void moved(const std::shared_ptr<H2Stream>& stream) { moved_.push_back(stream); }
  // How its streams stand has changed.
  void changed();
  // Where the server wants its connections to end, this one takes no more streams.
  void leave_if_asked();

 private:
  void head_began(std::int32_t id) override;
  void head_came(std::int32_t id, H2Head head, Ends ends) override;
  void trailer_came() override;
  void body_came(std::int32_t id, std::string_view bytes) override;
  void request_ended(std::int32_t id) override;
  void stream_closed(std::int32_t id, std::uint32_t error) override;
  std::optional<Piece> take_piece(std::int32_t id, std::uint8_t* to, std::size_t size) override;

  void read();
  void take(std::size_t bytes);
  void flush();
  void write_rest(std::size_t written);
  void go_away();
  void finish();
  void linger();
  void close();
  void arm(Clock::time_point time);
  void look();

  const std::shared_ptr<Connection> counted_;
  Host& host_;
  Loop& loop_;
  const std::unique_ptr<ByteStream> bytes_;
  const std::string peer_;
  H2Session session_;
  boost::asio::steady_timer timer_{bytes_->executor()};
  std::unordered_map<std::int32_t, std::shared_ptr<H2Stream>> streams_;
  std::vector<std::shared_ptr<H2Stream>> moved_;
  std::vector<char> in_;
  std::string out_;
  H2StreamCount alive_ = std::make_shared<std::atomic<std::size_t>>(0);

  Clock::time_point idle_due_ = Clock::time_point::max();
  std::int32_t head_stream_ = 0;  // of which head_due_ is
  Clock::time_point head_due_ = Clock::time_point::max();
  Clock::time_point write_due_ = Clock::time_point::max();
  Clock::time_point armed_ = Clock::time_point::max();
  bool has_asked_ = false;  // for anything
  bool heard_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool flush_posted_ = false;
  bool leaving_ = false;   // GOAWAY was said
  bool last_ = false;      // and must be, with the first request
  bool broken_ = false;    // nothing more is read
  bool finished_ = false;  // all was sent
  bool closed_ = false;
};

}  // namespace cloche::http
