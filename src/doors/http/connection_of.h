// ConnectionOf<Stream>: the life of a connection: handshake, then request by request: head,
// admission, body, the application, answer; or at the end a tunnel.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <type_traits>

#include "base/unique_fd.h"
#include "doors/http/connection.h"
#include "doors/http/date.h"
#include "doors/http/relay.h"

namespace cloche::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

inline std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

template <typename Stream>
class ConnectionOf final : public Connection,
                           public std::enable_shared_from_this<ConnectionOf<Stream>> {
  static constexpr bool is_tls = !std::is_same_v<Stream, beast::tcp_stream>;
  static constexpr std::size_t bytes_per_second_at_least = 64 << 10;
  static constexpr std::size_t read_ahead_bytes = 64 << 10;

 public:
  ConnectionOf(Host& host, Stream stream)
      : host_(host), options_(host.options()), stream_(std::move(stream)) {
    boost::system::error_code ignored;
    const auto peer = lowest().socket().remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string() + ":" + std::to_string(peer.port());
    lowest().socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  }
  ~ConnectionOf() override { host_.ended(this); }

  void start() override {
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] {
      if constexpr (is_tls) {
        self->lowest().expires_after(self->options_.head_timeout);
        self->stream_.async_handshake(asio::ssl::stream_base::server,
                                      [self](boost::system::error_code error) {
                                        if (!error) self->await_request();
                                      });
      } else {
        self->await_request();
      }
    });
  }

  void end_soon() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] {
      self->last_ = true;
      if (self->idle_) self->close();
    });
  }

  void end_now() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->close(); });
  }

 private:
  class Answer;
  using Parser = bhttp::request_parser<bhttp::string_body>;

  auto& lowest() { return beast::get_lowest_layer(stream_); }

  void close() {
    boost::system::error_code ignored;
    lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    lowest().close();
  }

  // --- a request --------------------------------------------------------------------------------

  void await_request() {
    if (last_ || host_.draining()) return finish_connection();
    if (buffer_.size() > 0) return read_head();
    idle_ = true;
    lowest().expires_after(options_.idle_timeout);
    stream_.async_read_some(
        buffer_.prepare(4096),
        [self = this->shared_from_this()](boost::system::error_code error, std::size_t bytes) {
          self->idle_ = false;
          if (error) return;  // the last reference goes, and closes
          self->buffer_.commit(bytes);
          self->read_head();
        });
  }

  void read_head() {
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(options_.head_limit_bytes);
    parser_->body_limit(boost::none);
    lowest().expires_after(options_.head_timeout);
    bhttp::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](boost::system::error_code error, std::size_t) {
          if (error) return self->refuse_input(error);
          self->admit();
        });
  }

  void admit() {
    const auto& message = parser_->get();
    request_ = {};
    request_.method = text_of(message.method_string());
    request_.target = text_of(message.target());
    request_.peer = peer_;
    request_.secure = is_tls;
    const std::size_t mark = std::min(request_.target.find('?'), request_.target.size());
    request_.path = request_.target.substr(0, mark);
    request_.query = request_.target.substr(std::min(mark + 1, request_.target.size()));
    for (const auto& field : message)
      request_.fields.emplace_back(text_of(field.name_string()), text_of(field.value()));
    version_ = message.version();
    keep_alive_ = message.keep_alive() && request_.method != "CONNECT";
    head_only_ = request_.method == "HEAD";

    Admission admission = host_.application().admit(request_);
    const auto length = parser_->content_length();
    if (!admission.refusal && length && *length > admission.body_limit_bytes)
      admission.refusal = host_.application().reject(413, "the body is too large");
    if (admission.refusal) {
      // What was not read stands between this request and the next one.
      if (!parser_->is_done()) keep_alive_ = false;
      return write_response(*std::move(admission.refusal));
    }
    parser_->body_limit(admission.body_limit_bytes);
    if (parser_->is_done()) return handle();
    if (same_text(request_.field("Expect"), "100-continue")) return write_continue();
    read_body();
  }

  void write_continue() {
    lowest().expires_after(options_.head_timeout);
    static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(
        stream_, asio::buffer(text.data(), text.size()),
        [self = this->shared_from_this()](boost::system::error_code error, std::size_t) {
          if (!error) self->read_body();
        });
  }

  void read_body() {
    const auto length = parser_->content_length();
    expires_for(length ? static_cast<std::size_t>(*length) : 0);
    bhttp::async_read(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](boost::system::error_code error, std::size_t) {
          if (error) return self->refuse_input(error);
          self->handle();
        });
  }

  void expires_for(std::size_t bytes) {
    lowest().expires_after(options_.stall_timeout +
                           std::chrono::seconds(bytes / bytes_per_second_at_least));
  }

  void handle() {
    request_.body = std::move(parser_->get().body());
    parser_.reset();
    lowest().expires_never();
    host_.application().handle(std::move(request_),
                               std::make_shared<Answer>(this->shared_from_this()));
  }

  void refuse_input(boost::system::error_code error) {
    keep_alive_ = false;
    Application& application = host_.application();
    if (error == bhttp::error::header_limit)
      return write_response(application.reject(431, "the head is too large"));
    if (error == bhttp::error::body_limit)
      return write_response(application.reject(413, "the body is too large"));
    if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category() &&
        error != bhttp::error::end_of_stream && error != bhttp::error::partial_message)
      return write_response(application.reject(400, "this is no HTTP/1.1 request"));
    // Gone, or too slow: there is nobody to answer.
  }

  // --- an answer --------------------------------------------------------------------------------

  template <typename Message>
  void set_head(Message& message, const Response& response) {
    message.version(version_ >= 10 ? version_ : 11);
    message.result(static_cast<unsigned>(response.status));
    for (const auto& [name, value] : response.fields) message.insert(name, value);
    message.set(bhttp::field::server, "cloche");
    message.set(bhttp::field::date, http_date(std::chrono::system_clock::now()));
    if (host_.draining() || last_) keep_alive_ = false;
    message.keep_alive(keep_alive_);
  }

  void write_response(Response response) {
    awaiting_ = false;
    blanks_.cancel();
    if (begun_) return finish(std::move(response.body));
    const std::size_t size = response.body.size();
    const bool bodiless = response.status == 204 || response.status == 304;
    auto message = std::make_shared<bhttp::response<bhttp::string_body>>();
    set_head(*message, response);
    if (!bodiless) message->content_length(size);
    if (!head_only_ && !bodiless) message->body() = std::move(response.body);
    expires_for(size);
    bhttp::async_write(
        stream_, *message,
        [self = this->shared_from_this(), message](boost::system::error_code error, std::size_t) {
          if (!error) self->answered();
        });
  }

  void answered() {
    if (keep_alive_) return await_request();
    finish_connection();
  }

  // Says that no more comes, and leaves the client some time to read it: what it still sends would
  // otherwise reset the connection under the answer.
  void finish_connection() {
    boost::system::error_code ignored;
    lowest().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    if (ignored) return;
    lowest().expires_after(std::chrono::seconds(2));
    linger();
  }

  void linger() {
    buffer_.clear();
    lowest().async_read_some(
        buffer_.prepare(read_ahead_bytes),
        [self = this->shared_from_this()](boost::system::error_code error, std::size_t) {
          if (!error) self->linger();
        });
  }

  // --- an answer after blanks -------------------------------------------------------------------

  void await_answer(std::chrono::milliseconds interval) {
    awaiting_ = true;
    blanks_.expires_after(interval);
    blanks_.async_wait(
        [self = this->shared_from_this(), interval](boost::system::error_code error) {
          if (error || !self->awaiting_) return;
          self->pending_ += ' ';
          if (!self->begun_) {
            self->begin();
          } else {
            self->write_pending();
          }
          self->await_answer(interval);
        });
  }

  void begin() {
    begun_ = true;
    auto message = std::make_shared<bhttp::response<bhttp::empty_body>>();
    chunked_ = version_ >= 11;
    if (!chunked_) keep_alive_ = false;
    set_head(*message, json_response(200, {}));
    if (chunked_) message->chunked(true);
    auto serializer = std::make_shared<bhttp::response_serializer<bhttp::empty_body>>(*message);
    writing_ = true;
    expires_for(0);
    bhttp::async_write_header(stream_, *serializer,
                              [self = this->shared_from_this(), message, serializer](
                                  boost::system::error_code error, std::size_t) {
                                self->writing_ = false;
                                if (!error) self->write_pending();
                              });
  }

  void finish(std::string body) {
    pending_ += body;
    finished_ = true;
    write_pending();
  }

  void write_pending() {
    if (writing_) return;
    if (head_only_) pending_.clear();
    std::string piece;
    if (!pending_.empty()) {
      if (chunked_)
        piece = to_hex(pending_.size()) + "\r\n" + pending_ + "\r\n";
      else
        piece = std::move(pending_);
      pending_.clear();
    }
    const bool last = finished_;
    if (last && chunked_ && !head_only_) piece += "0\r\n\r\n";
    if (piece.empty()) {
      if (last) {
        end_pieces();
      } else {
        lowest().expires_never();
      }
      return;
    }
    writing_ = true;
    expires_for(piece.size());
    auto text = std::make_shared<std::string>(std::move(piece));
    asio::async_write(stream_, asio::buffer(*text),
                      [self = this->shared_from_this(), text, last](boost::system::error_code error,
                                                                    std::size_t) {
                        self->writing_ = false;
                        if (error) return;
                        if (!last) return self->write_pending();
                        self->end_pieces();
                      });
  }

  void end_pieces() {
    finished_ = false;
    begun_ = false;
    answered();
  }

  static std::string to_hex(std::size_t value) {
    std::string text;
    do {
      text.insert(text.begin(), "0123456789abcdef"[value % 16]);
      value /= 16;
    } while (value > 0);
    return text;
  }

  // --- a tunnel ---------------------------------------------------------------------------------

  void tunnel(std::function<void(int fd)> opened) {
    static constexpr std::string_view text = "HTTP/1.1 200 Connection Established\r\n\r\n";
    lowest().expires_after(options_.head_timeout);
    asio::async_write(stream_, asio::buffer(text.data(), text.size()),
                      [self = this->shared_from_this(), opened = std::move(opened)](
                          boost::system::error_code error, std::size_t) mutable {
                        if (!error) self->await_first_byte(std::move(opened));
                      });
  }

  void await_first_byte(std::function<void(int fd)> opened) {
    idle_ = true;
    lowest().expires_after(options_.idle_timeout);
    if constexpr (!is_tls) {
      if (buffer_.size() == 0) {
        lowest()
            .expires_never();  // async_wait goes past the stream's timer: a guard stands in for it
        auto guard =
            std::make_shared<asio::steady_timer>(stream_.get_executor(), options_.idle_timeout);
        guard->async_wait([self = this->weak_from_this()](boost::system::error_code error) {
          if (const auto alive = self.lock(); alive && !error) alive->close();
        });
        lowest().socket().async_wait(
            asio::ip::tcp::socket::wait_read,
            [self = this->shared_from_this(), guard,
             opened = std::move(opened)](boost::system::error_code error) {
              guard->cancel();
              if (error) return;
              const int fd = ::fcntl(self->lowest().socket().native_handle(), F_DUPFD_CLOEXEC, 0);
              self->lowest().close();
              if (fd >= 0) opened(fd);
            });
        return;
      }
    } else {
      if (buffer_.size() == 0) {
        stream_.async_read_some(buffer_.prepare(read_ahead_bytes),
                                [self = this->shared_from_this(), opened = std::move(opened)](
                                    boost::system::error_code error, std::size_t bytes) {
                                  if (error) return;
                                  self->buffer_.commit(bytes);
                                  self->relay(opened);
                                });
        return;
      }
    }
    relay(opened);
  }

  // The bytes that were read already, or are encrypted, reach the tunnel through a pair of sockets.
  void relay(const std::function<void(int fd)>& opened) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
      return;
    lowest().expires_never();
    start_relay(this->shared_from_this(), stream_, UniqueFd(ends[0]),
                beast::buffers_to_string(buffer_.data()));
    opened(ends[1]);
  }

  Host& host_;
  const ServerOptions& options_;
  Stream stream_;
  std::string peer_;
  beast::flat_buffer buffer_{1 << 20};
  std::unique_ptr<Parser> parser_;
  Request request_;
  unsigned version_ = 11;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool idle_ = false;
  bool last_ = false;  // no request after this one
  // Of an answer after blanks.
  asio::steady_timer blanks_{stream_.get_executor()};
  bool awaiting_ = false;
  bool begun_ = false;
  bool chunked_ = false;
  bool writing_ = false;
  bool finished_ = false;
  std::string pending_;
};

// The answer to one request: posts to the connection's thread.
template <typename Stream>
class ConnectionOf<Stream>::Answer final : public Exchange {
 public:
  explicit Answer(std::shared_ptr<ConnectionOf> connection) : connection_(std::move(connection)) {}
  ~Answer() override {
    if (!answered_) send(connection_->host_.application().reject(500, "no answer"));
  }

  void send(Response response) override {
    answered_ = true;
    post([response = std::move(response)](ConnectionOf& connection) mutable {
      connection.write_response(std::move(response));
    });
  }

  void send_blanks_until_answer(std::chrono::milliseconds interval) override {
    post([interval](ConnectionOf& connection) { connection.await_answer(interval); });
  }

  void open_tunnel(std::function<void(int fd)> opened) override {
    answered_ = true;
    post([opened = std::move(opened)](ConnectionOf& connection) mutable {
      connection.tunnel(std::move(opened));
    });
  }

 private:
  template <typename Body>
  void post(Body body) {
    asio::post(connection_->stream_.get_executor(),
               [connection = connection_, body = std::move(body)]() mutable { body(*connection); });
  }

  const std::shared_ptr<ConnectionOf> connection_;
  std::atomic<bool> answered_ = false;
};

}  // namespace cloche::http
