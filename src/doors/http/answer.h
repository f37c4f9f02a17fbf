// SPDX-License-Identifier: Apache-2.0
// Answer<Target>: the application's end of a request, on any thread. The target is what sends the
// answer: a connection of HTTP/1.1 or a stream of HTTP/2; all its functions are called on its loop.
#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "doors/http/answer_stream.h"
#include "doors/http/connection.h"
#include "doors/http/server.h"

namespace cloche::http {

template <typename Target, typename Body>
void post_to(const std::shared_ptr<Target>& target, Body body) {
  boost::asio::post(target->executor(),
                    [target, body = std::move(body)]() mutable { body(*target); });
}

// The body of an answer, as the application writes it.
template <typename Target>
class Streamed final : public AnswerStream {
 public:
  Streamed(std::shared_ptr<Target> target, std::shared_ptr<StreamState> state)
      : target_(std::move(target)), state_(std::move(state)) {}
  ~Streamed() override {
    if (!ended_) break_off();
  }

  void write(std::string bytes) override {
    if (bytes.empty() || ended_ || state_->gone) return;
    state_->unsent_bytes += bytes.size();
    post_to(target_, [state = state_, bytes = std::move(bytes)](Target& target) mutable {
      target.stream_bytes(state, std::move(bytes));
    });
  }
  void end() override {
    if (ended_.exchange(true)) return;
    post_to(target_, [state = state_](Target& target) { target.end_stream(state); });
  }
  void break_off() override {
    if (ended_.exchange(true)) return;
    post_to(target_, [state = state_](Target& target) { target.break_off(state); });
  }
  void call_changed() override {
    post_to(target_, [state = state_](Target&) {
      if (state->options.changed) state->options.changed();
    });
  }
  std::size_t unsent_bytes() const override { return state_->unsent_bytes; }
  bool gone() const override { return state_->gone; }

 private:
  const std::shared_ptr<Target> target_;
  const std::shared_ptr<StreamState> state_;
  std::atomic<bool> ended_ = false;
};

// The answer to one request. Within the request's turn, and on its thread, it is kept for the
// target, which is there; otherwise it is posted to the target's thread.
template <typename Target>
class Answer final : public Exchange {
 public:
  explicit Answer(std::shared_ptr<Target> target)
      : target_(std::move(target)), request_number_(target_->request_number()) {}
  ~Answer() override {
    if (!answered_) send(target_->host().application().reject(500, "no answer"));
  }

  void send(Response response) override {
    answered_ = true;
    if (std::this_thread::get_id() == turn_thread_ && in_turn_) {
      early_ = std::move(response);
      return;
    }
    post_to(target_, [response = std::move(response)](Target& target) mutable {
      target.write_response(std::move(response));
    });
  }

  void send_blanks_until_answer(std::chrono::milliseconds interval) override {
    post_to(target_, [interval, number = request_number_](Target& target) {
      target.await_answer(interval, number);
    });
  }

  void open_tunnel(Fields fields, std::function<void(int fd)> opened) override {
    answered_ = true;
    post_to(target_, [fields = std::move(fields), opened = std::move(opened)](
                         Target& target) mutable { target.tunnel(fields, std::move(opened)); });
  }

  void open_web_socket(Request head, std::string protocol,
                       std::shared_ptr<WebSocketUser> user) override {
    answered_ = true;
    post_to(target_, [head = std::move(head), protocol = std::move(protocol),
                      user = std::move(user)](Target& target) mutable {
      target.become_web_socket(head, std::move(protocol), std::move(user));
    });
  }

  void hand_over(std::function<void(int fd)> taken) override {
    answered_ = true;
    post_to(target_, [taken = std::move(taken)](Target& target) { target.hand_over(taken); });
  }

  void relay_to(UniqueFd fd) override {
    answered_ = true;
    // A function that is posted can be copied.
    post_to(target_, [kept = std::make_shared<UniqueFd>(std::move(fd))](Target& target) {
      target.relay_to(std::move(*kept));
    });
  }

  std::shared_ptr<AnswerStream> begin(Response head, StreamOptions options) override {
    answered_ = true;
    auto state = std::make_shared<StreamState>(std::move(options));
    post_to(target_, [state, head = std::move(head)](Target& target) mutable {
      target.begin_stream(std::move(state), head);
    });
    return std::make_shared<Streamed<Target>>(target_, std::move(state));
  }

  // On the thread of the turn: the answer, if it is there.
  std::optional<Response> end_turn() {
    in_turn_ = false;
    return std::move(early_);
  }

 private:
  const std::shared_ptr<Target> target_;
  const std::uint64_t request_number_;
  const std::thread::id turn_thread_ = std::this_thread::get_id();
  bool in_turn_ = true;  // these two are turn_thread_'s
  std::optional<Response> early_;
  std::atomic<bool> answered_ = false;
};

}  // namespace cloche::http
