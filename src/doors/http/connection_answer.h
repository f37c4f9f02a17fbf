// SPDX-License-Identifier: Apache-2.0
// ConnectionOf<Stream>::Answer: the application's end of a request, on any thread.
#pragma once

#include "doors/http/connection_of.h"

namespace cloche::http {

// The answer to one request. Within the request's turn, and on its thread, it is kept for the
// connection, which is there; otherwise it is posted to the connection's thread.
// The body of an answer, as the application writes it.
template <typename Stream>
class ConnectionOf<Stream>::Streamed final : public AnswerStream {
 public:
  Streamed(std::shared_ptr<ConnectionOf> connection, std::shared_ptr<StreamState> state)
      : connection_(std::move(connection)), state_(std::move(state)) {}
  ~Streamed() override {
    if (!ended_) break_off();
  }

  void write(std::string bytes) override {
    if (bytes.empty() || ended_ || state_->gone) return;
    state_->unsent_bytes += bytes.size();
    post([state = state_, bytes = std::move(bytes)](ConnectionOf& connection) mutable {
      connection.stream_bytes(state, std::move(bytes));
    });
  }
  void end() override {
    if (ended_.exchange(true)) return;
    post([state = state_](ConnectionOf& connection) { connection.end_stream(state); });
  }
  void break_off() override {
    if (ended_.exchange(true)) return;
    post([state = state_](ConnectionOf& connection) { connection.break_off(state); });
  }
  void call_changed() override {
    post([state = state_](ConnectionOf&) {
      if (state->options.changed) state->options.changed();
    });
  }
  std::size_t unsent_bytes() const override { return state_->unsent_bytes; }
  bool gone() const override { return state_->gone; }

 private:
  template <typename Body>
  void post(Body body) {
    asio::post(connection_->stream_.get_executor(),
               [connection = connection_, body = std::move(body)]() mutable { body(*connection); });
  }

  const std::shared_ptr<ConnectionOf> connection_;
  const std::shared_ptr<StreamState> state_;
  std::atomic<bool> ended_ = false;
};

template <typename Stream>
class ConnectionOf<Stream>::Answer final : public Exchange {
 public:
  explicit Answer(std::shared_ptr<ConnectionOf> connection)
      : connection_(std::move(connection)), request_number_(connection_->request_number_) {}
  ~Answer() override {
    if (!answered_) send(connection_->host_.application().reject(500, "no answer"));
  }

  void send(Response response) override {
    answered_ = true;
    if (std::this_thread::get_id() == turn_thread_ && in_turn_) {
      early_ = std::move(response);
      return;
    }
    post([response = std::move(response)](ConnectionOf& connection) mutable {
      connection.write_response(std::move(response));
    });
  }

  void send_blanks_until_answer(std::chrono::milliseconds interval) override {
    post([interval, number = request_number_](ConnectionOf& connection) {
      connection.await_answer(interval, number);
    });
  }

  void open_tunnel(std::function<void(int fd)> opened) override {
    answered_ = true;
    post([opened = std::move(opened)](ConnectionOf& connection) mutable {
      connection.tunnel(std::move(opened));
    });
  }

  void open_web_socket(Request head, std::string protocol,
                       std::shared_ptr<WebSocketUser> user) override {
    answered_ = true;
    post([head = std::move(head), protocol = std::move(protocol),
          user = std::move(user)](ConnectionOf& connection) mutable {
      connection.become_web_socket(head, std::move(protocol), std::move(user));
    });
  }

  void hand_over(std::function<void(int fd)> taken) override {
    answered_ = true;
    post([taken = std::move(taken)](ConnectionOf& connection) { connection.hand_over(taken); });
  }

  void relay_to(UniqueFd fd) override {
    answered_ = true;
    // A function that is posted can be copied.
    post([kept = std::make_shared<UniqueFd>(std::move(fd))](ConnectionOf& connection) {
      connection.relay_to(std::move(*kept));
    });
  }

  std::shared_ptr<AnswerStream> begin(Response head, StreamOptions options) override {
    answered_ = true;
    auto state = std::make_shared<StreamState>(std::move(options));
    post([state, head = std::move(head)](ConnectionOf& connection) mutable {
      connection.begin_stream(std::move(state), head);
    });
    return std::make_shared<Streamed>(connection_, std::move(state));
  }

  // On the thread of the turn: the answer, if it is there.
  std::optional<Response> end_turn() {
    in_turn_ = false;
    return std::move(early_);
  }

 private:
  template <typename Body>
  void post(Body body) {
    asio::post(connection_->stream_.get_executor(),
               [connection = connection_, body = std::move(body)]() mutable { body(*connection); });
  }

  const std::shared_ptr<ConnectionOf> connection_;
  const std::uint64_t request_number_;
  const std::thread::id turn_thread_ = std::this_thread::get_id();
  bool in_turn_ = true;  // these two are turn_thread_'s
  std::optional<Response> early_;
  std::atomic<bool> answered_ = false;
};

}  // namespace cloche::http
