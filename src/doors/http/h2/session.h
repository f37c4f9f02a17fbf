// SPDX-License-Identifier: Apache-2.0
// H2Session: the frames of one HTTP/2 connection, as bytes that come and bytes that go; nghttp2
// reads and writes them. It knows no socket, no clock but for floods, and no application: what
// comes is told to an H2User.
//
// What a client may ask of it is bounded: streams at a time, the size of a head, windows, frames
// that ask for nothing (flood_budget.h), resets, answers that it owes. A client that goes beyond is
// told so by GOAWAY, and is_over.
//
// One thread at a time uses it.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "doors/http/h2/flood_budget.h"
#include "doors/http/message.h"

namespace cloche::http {

// A request's head, as it came. Where it is too large only its beginning was kept.
struct H2Head {
  Request request;
  std::size_t bytes = 0;
  bool too_large = false;
  bool two_names = false;  // :authority and Host are not the same
};

// What the session tells, within receive and output; it may be asked for answers and resets then,
// and for nothing else.
class H2User {
 public:
  enum class Ends : bool { no, yes };
  virtual void head_began(std::int32_t stream) = 0;  // and is not whole yet
  virtual void head_came(std::int32_t stream, H2Head head, Ends ends) = 0;
  virtual void trailer_came() = 0;
  virtual void body_came(std::int32_t stream, std::string_view bytes) = 0;
  virtual void request_ended(std::int32_t stream) = 0;
  // Nothing is told of it afterwards. 0: all was said, on both sides.
  virtual void stream_closed(std::int32_t stream, std::uint32_t error) = 0;

  struct Piece {
    std::size_t bytes = 0;
    bool last = false;
  };
  // Writes the next bytes of the stream's answer. Nothing: none are there now, `resume` says when.
  virtual std::optional<Piece> take_piece(std::int32_t stream, std::uint8_t* to,
                                          std::size_t size) = 0;

 protected:
  ~H2User() = default;
};

class H2Session {
 public:
  static constexpr std::uint32_t streams_max = 100;
  static constexpr std::int32_t stream_window_bytes = 1 << 20;
  static constexpr std::int32_t connection_window_bytes = 4 << 20;

  H2Session(H2User& user, std::uint32_t head_limit_bytes);  // throws std::bad_alloc
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  // What came from the client. False: this is no HTTP/2, or too much of it; what there is to send
  // is sent still, and then the connection ends.
  bool receive(std::string_view bytes);
  // Appends what there is to send, until that is `enough_bytes` or more. False: it broke.
  bool output(std::string& to, std::size_t enough_bytes);

  enum class Body : bool { none, follows };
  void answer(std::int32_t stream, int status, const Fields& fields, Body body);
  void go_on(std::int32_t stream);  // 100 Continue
  void resume(std::int32_t stream);
  void reset(std::int32_t stream, std::uint32_t error);
  // No more streams than there are; once they have ended the session is over.
  void go_away();

  bool is_over() const;
  // Frames that wait to be sent, besides those of answers.
  std::size_t waiting_frames() const;

 private:
  struct Callbacks;
  struct Delete {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  void spend(std::int64_t amount);
  void take_field(std::string_view name, std::string_view value);
  void end_head(std::int32_t stream, H2User::Ends ends);

  H2User& user_;
  const std::uint32_t head_limit_bytes_;
  FloodBudget budget_{std::chrono::steady_clock::now()};
  std::unique_ptr<nghttp2_session, Delete> session_;
  H2Head head_;  // that is coming: one at a time is
  bool is_trailer_ = false;
  bool is_broken_ = false;
};

}  // namespace cloche::http
