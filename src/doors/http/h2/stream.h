// SPDX-License-Identifier: Apache-2.0
// H2Stream: one request of an HTTP/2 connection and its answer, as ConnectionOf has them of
// HTTP/1.1. It counts as one of the server's streams until nobody works for it any more, also
// when its client has long taken the request back.
//
// Used on the connection's loop, but for end_now.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "doors/http/answer_stream.h"
#include "doors/http/body_source.h"
#include "doors/http/connection.h"
#include "doors/http/h2/connection.h"
#include "doors/http/owner_limit.h"

namespace cloche::http {

class RelayedAnswer;

class H2Stream final : public AnswerKeeper, public std::enable_shared_from_this<H2Stream> {
 public:
  using Clock = H2Connection::Clock;

  H2Stream(std::shared_ptr<H2Connection> connection, std::int32_t id, ShareLimit::Permit permit,
           H2StreamCount alive);
  ~H2Stream() override;

  void end_now() override;

  // --- what the connection tells ---
  void admit(H2Head head, H2User::Ends ends);
  void take_body(std::string_view bytes);
  void end_request();
  std::optional<H2User::Piece> take_piece(std::uint8_t* to, std::size_t size);
  void tell_sent();  // what take_piece gave is on its way
  void close(std::uint32_t error);
  void late();
  Clock::time_point due() const noexcept { return due_; }
  bool is_answering() const noexcept { return stage_ == Standing::Stage::answering; }

  // --- what an answer needs (answer.h) ---
  boost::asio::any_io_executor executor() { return connection_->executor(); }
  Host& host() { return connection_->host(); }
  static std::uint64_t request_number() { return 0; }  // it is the only one
  void write_response(Response response);
  void await_answer(std::chrono::milliseconds interval, std::uint64_t request_number);
  void tunnel(const Fields& fields, const std::function<void(int fd)>& opened);
  void become_web_socket(const Request& head, const std::string& protocol,
                         const std::shared_ptr<WebSocketUser>& user);
  void hand_over(const std::function<void(int fd)>& taken);
  void relay_to(UniqueFd fd);
  void begin_stream(std::shared_ptr<StreamState> stream, const Response& head);
  void stream_bytes(const std::shared_ptr<StreamState>& stream, std::string bytes);
  void end_stream(const std::shared_ptr<StreamState>& stream);
  void break_off(const std::shared_ptr<StreamState>& stream);

  // --- what a relay needs: it makes the answer from what another process says ---
  bool is_for_head() const noexcept { return head_only_; }
  void begin_relayed(int status, const Fields& fields);
  void add_relayed(std::string_view bytes);
  void end_relayed();
  void break_relayed();
  std::size_t unsent_bytes() const noexcept { return pending_.size() - pending_at_; }

 private:
  void handle();
  void begin(const Response& head, std::optional<std::uint64_t> length);
  void refuse(int status, std::string_view reason);
  void append(std::string bytes);
  void make_piece();
  void count_unsent(std::uint64_t bytes);
  void keep_pulse();
  void reset(std::uint32_t error);
  void let_go();
  void enter(Standing::Stage stage);
  void due_after(std::chrono::milliseconds time);
  void due_never() noexcept { due_ = Clock::time_point::max(); }
  void go_on();

  const std::shared_ptr<H2Connection> connection_;
  const std::int32_t id_;
  const ShareLimit::Permit permit_;
  const H2StreamCount alive_;
  std::optional<OwnerLimit::Permit> in_progress_;
  Standing::Stage stage_ = Standing::Stage::receiving;
  Clock::time_point due_ = Clock::time_point::max();

  Request request_;
  std::uint64_t body_limit_bytes_ = 0;
  std::string owner_;
  Fields answer_fields_;
  bool head_only_ = false;
  bool takes_body_ = false;
  std::size_t untimed_bytes_ = 0;  // of a body, either way, since its deadline was set

  bool answer_due_ = false;
  bool begun_ = false;     // the head is said
  bool finished_ = false;  // all of the answer is there, but for what its source makes
  bool ended_ = false;     // and the session has it
  bool closed_ = false;
  bool awaiting_ = false;
  bool making_ = false;   // a piece
  bool counted_ = false;  // with what it keeps for its owner
  std::string pending_;   // of which pending_at_ bytes are gone
  std::size_t pending_at_ = 0;
  std::size_t piece_bytes_ = 0;  // that the session took since the last tell_sent
  std::shared_ptr<BodySource> source_;
  std::shared_ptr<StreamState> stream_state_;
  std::optional<boost::asio::steady_timer> blanks_;  // of blanks, or a pulse
  Clock::time_point last_piece_;
  std::shared_ptr<RelayedAnswer> relayed_;
};

}  // namespace cloche::http
