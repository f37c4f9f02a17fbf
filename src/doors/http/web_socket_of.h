// SPDX-License-Identifier: Apache-2.0
// WebSocketOf<Stream>: a WebSocket on a connection's stream: the handshake, messages in and out,
// pings.
//
// Everything happens on the connection's loop, but for `send`, `close` and `wait_for_room`, which
// any thread may call. A message goes out in frames of some KiB, so that pings go between them.
#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "doors/http/connection.h"
#include "doors/http/message.h"
#include "doors/http/received_bytes.h"
#include "doors/http/web_socket.h"

namespace cloche::http {

template <typename Stream>
class WebSocketOf final : public WebSocket,
                          public std::enable_shared_from_this<WebSocketOf<Stream>> {
  using Error = boost::system::error_code;
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t piece_bytes = 64 << 10;
  static constexpr std::size_t message_limit_bytes = std::size_t{384} << 20;
  static constexpr std::size_t kept_buffer_bytes = 256 << 10;
  static constexpr std::size_t room_bytes = 1 << 20;
  static constexpr std::size_t account_step_bytes = 1 << 20;
  static constexpr std::chrono::seconds ping_interval{20};
  static constexpr std::chrono::seconds pong_patience{60};
  static constexpr std::chrono::seconds read_patience{2};

 public:
  // `connection` is what the stream was taken from: the server counts it.
  WebSocketOf(std::shared_ptr<Connection> connection, Host& host, Loop& loop, Stream stream,
              std::string owner, std::shared_ptr<WebSocketUser> user)
      : connection_(std::move(connection)),
        host_(host),
        loop_(loop),
        socket_(std::in_place, std::move(stream)),
        owner_(std::move(owner)),
        received_(host.received(), owner_),
        user_(std::move(user)) {}

  // Answers the request that asks for it. On the loop, as all that is private.
  void start(const Request& head, std::string protocol, Fields fields) {
    namespace websocket = boost::beast::websocket;
    websocket::stream_base::timeout timeout{};
    timeout.handshake_timeout = host_.options().head_timeout;
    timeout.idle_timeout = websocket::stream_base::none();
    timeout.keep_alive_pings = false;
    socket_->set_option(timeout);
    socket_->set_option(websocket::stream_base::decorator(
        [protocol = std::move(protocol), fields = std::move(fields)](auto& response) {
          if (!protocol.empty())
            response.set(boost::beast::http::field::sec_websocket_protocol, protocol);
          for (const auto& [name, value] : fields) response.set(name, value);
        }));
    socket_->read_message_max(message_limit_bytes);
    socket_->auto_fragment(true);
    socket_->write_buffer_bytes(piece_bytes);
    socket_->control_callback([this](auto, auto) { heard_ = Clock::now(); });
    request_.method(boost::beast::http::verb::get);
    request_.target(head.target);
    request_.version(11);
    for (const auto& [name, value] : head.fields) request_.insert(name, value);
    socket_->async_accept(request_, [self = this->shared_from_this()](Error error) {
      if (error) return self->end();
      self->begin();
    });
  }

  void send(Frame frame, Kind kind, std::string message) override {
    const MutexLock lock(mutex_);
    if (!open_) return;
    const std::size_t bytes = message.size();
    if (kind == Kind::notice && notice_bytes_ + bytes > notices_limit_bytes) {
      open_ = false;
      changed_.notify_all();
      return post([](WebSocketOf& self) { self.abort(); });
    }
    unsent_bytes_ += bytes;
    if (kind == Kind::notice) notice_bytes_ += bytes;
    queue_.push_back({frame, kind, std::move(message)});
    if (writing_) {
      // What is being written may never be taken.
      if (unsent_bytes_ / account_step_bytes != (unsent_bytes_ - bytes) / account_step_bytes)
        post([](WebSocketOf& self) { self.account(); });
      return;
    }
    writing_ = true;
    moved_ = Clock::now();
    post([](WebSocketOf& self) { self.write(); });
  }

  bool wait_for_room() override {
    const MutexLock lock(mutex_);
    while (open_ && unsent_bytes_ > room_bytes) {
      const auto until = moved_ + read_patience;
      if (Clock::now() >= until) break;
      changed_.wait_until(mutex_, until);
    }
    return open_;
  }

  void close(std::uint16_t code, std::string reason) override {
    post([code, reason = std::move(reason)](WebSocketOf& self) {
      if (self.close_code_ == 0) {
        self.close_code_ = code;
        self.close_reason_ = reason.substr(0, boost::beast::websocket::reason_string().max_size());
      }
      const MutexLock lock(self.mutex_);
      if (!self.writing_) self.say_goodbye();
    });
  }

  // At once.
  void abort() {
    if (!socket_) return;
    Error ignored;
    auto& lowest = boost::beast::get_lowest_layer(*socket_);
    lowest.shutdown(std::remove_reference_t<decltype(lowest)>::shutdown_both, ignored);
    lowest.close(ignored);
  }

 private:
  struct Message {
    Frame frame;
    Kind kind;
    std::string bytes;
  };

  template <typename Body>
  void post(Body body) {
    boost::asio::post(timer_.get_executor(), [self = this->shared_from_this(),
                                              body = std::move(body)]() mutable { body(*self); });
  }

  // A call of the user, which may wait: `then` goes on afterwards, on the loop.
  template <typename Call, typename Then>
  void ask_user(Call call, Then then) {
    const auto self = this->shared_from_this();
    Loop::Turn turn(loop_);
    call();
    if (turn.finish()) return then(*this);
    self->post(std::move(then));
  }

  void begin() {
    {
      const MutexLock lock(mutex_);
      open_ = true;
    }
    heard_ = Clock::now();
    handling_ = true;
    await_ping();
    ask_user([this] { user_->opened(this->shared_from_this()); },
             [](WebSocketOf& self) { self.read(); });
  }

  // --- in ---------------------------------------------------------------------------------------

  void read() {
    handling_ = false;
    heard_ = Clock::now();
    if (gone_) return end();
    if (goodbye_said_) return;  // what says it reads on
    socket_->async_read_some(
        buffer_, piece_bytes,
        [self = this->shared_from_this()](Error error, std::size_t) { self->take(error); });
  }

  void take(Error error) {
    if (error || ended_) return end();
    if (!received_.grow_to(buffer_.size())) {
      close(1013, "the server has no memory for this message now");
      return drain();
    }
    if (!socket_->is_message_done()) return read();
    handling_ = true;
    std::string message = boost::beast::buffers_to_string(buffer_.data());
    const Frame frame = socket_->got_text() ? Frame::text : Frame::binary;
    buffer_.consume(buffer_.size());
    if (buffer_.capacity() > kept_buffer_bytes) buffer_.shrink_to_fit();
    ask_user(
        [this, frame, message = std::move(message)]() mutable {
          user_->received(frame, std::move(message));
          received_.clear();
        },
        [](WebSocketOf& self) { self.read(); });
  }

  // What still comes is dropped, until the client has closed too.
  void drain() {
    if (goodbye_said_) return;
    buffer_.consume(buffer_.size());
    socket_->async_read_some(buffer_, piece_bytes,
                             [self = this->shared_from_this()](Error error, std::size_t) {
                               if (error) return self->end();
                               self->drain();
                             });
  }

  // --- out --------------------------------------------------------------------------------------

  void write() {
    {
      const MutexLock lock(mutex_);
      if (queue_.empty() || !open_) {
        writing_ = false;
        if (close_code_ != 0) say_goodbye();
        return;
      }
      sending_ = std::move(queue_.front());
      queue_.pop_front();
    }
    account();
    socket_->text(sending_.frame == Frame::text);
    socket_->async_write(
        boost::asio::buffer(sending_.bytes),
        [self = this->shared_from_this()](Error error, std::size_t) { self->written(error); });
  }

  void written(Error error) {
    {
      const MutexLock lock(mutex_);
      unsent_bytes_ -= sending_.bytes.size();
      if (sending_.kind == Kind::notice) notice_bytes_ -= sending_.bytes.size();
      moved_ = Clock::now();
      changed_.notify_all();
    }
    sending_.bytes = {};
    if (error) return abort();                       // the read ends then, and with it all
    connection_->stand(Standing::Stage::answering);  // its client reads
    write();
  }

  // Tells the server what is kept for this client, in steps.
  void account() {
    if (ended_) return;
    std::size_t bytes = 0;
    {
      const MutexLock lock(mutex_);
      bytes = unsent_bytes_;
    }
    const std::size_t steps = bytes / account_step_bytes;
    if (steps == accounted_steps_) return;
    accounted_steps_ = steps;
    if (steps == 0) return host_.sent(connection_.get());
    host_.keep_unsent(connection_, owner_, bytes);
  }

  void say_goodbye() REQUIRES(mutex_) {
    if (std::exchange(goodbye_said_, true)) return;
    open_ = false;
    changed_.notify_all();
    boost::beast::websocket::close_reason reason(close_code_);
    reason.reason = close_reason_;
    socket_->async_close(reason, [self = this->shared_from_this()](Error) { self->leave(); });
    timer_.expires_after(2 * host_.options().head_timeout);
    timer_.async_wait([weak = this->weak_from_this()](Error error) {
      const auto self = weak.lock();
      if (error || !self || self->ended_) return;
      self->leave();
      self->post([](WebSocketOf& late) { late.socket_.reset(); });
    });
  }

  // After the goodbye. A read may still be there, which ends as well.
  void leave() {
    abort();
    gone_ = true;
    if (!handling_) end();
  }

  // --- its life ---------------------------------------------------------------------------------

  void await_ping() {
    timer_.expires_after(ping_interval);
    timer_.async_wait([weak = this->weak_from_this()](Error error) {
      const auto self = weak.lock();
      if (error || !self || self->ended_) return;
      self->ping();
    });
  }

  void ping() {
    if (goodbye_said_) return;
    // While a message is being served nothing is read: no pong could be heard.
    if (!handling_ && Clock::now() - heard_ > pong_patience) return abort();
    if (!std::exchange(pinging_, true)) {
      socket_->async_ping({}, [self = this->shared_from_this()](Error) { self->pinging_ = false; });
    }
    await_ping();
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    {
      const MutexLock lock(mutex_);
      open_ = false;
      queue_.clear();
      changed_.notify_all();
    }
    timer_.cancel();
    host_.sent(connection_.get());
    abort();
    ask_user([this] { std::exchange(user_, nullptr)->closed(); }, [](WebSocketOf&) {});
  }

  const std::shared_ptr<Connection> connection_;
  Host& host_;
  Loop& loop_;
  // None any more where Beast does not end: a read that meets what is no frame waits for the close
  // that is being written, and that for the read. Both hold this object, and the stream has them.
  std::optional<boost::beast::websocket::stream<Stream, false>> socket_;
  const std::string owner_;
  ReceivedBody received_;  // the message that comes, or is being handled
  std::shared_ptr<WebSocketUser> user_;
  boost::beast::http::request<boost::beast::http::empty_body> request_;
  boost::beast::flat_buffer buffer_{message_limit_bytes + piece_bytes};
  boost::asio::steady_timer timer_{socket_->get_executor()};
  Clock::time_point heard_ = Clock::now();
  bool handling_ = false;
  bool pinging_ = false;
  bool ended_ = false;
  bool goodbye_said_ = false;
  bool gone_ = false;             // after the goodbye
  std::uint16_t close_code_ = 0;  // 0: it is not to be closed
  std::string close_reason_;
  Message sending_{};
  std::size_t accounted_steps_ = 0;

  Mutex mutex_;
  Condition changed_;
  std::deque<Message> queue_ GUARDED_BY(mutex_);
  std::size_t unsent_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t notice_bytes_ GUARDED_BY(mutex_) = 0;
  Clock::time_point moved_ GUARDED_BY(mutex_) = Clock::now();
  bool writing_ GUARDED_BY(mutex_) = false;
  bool open_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::http
