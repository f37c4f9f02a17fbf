// SPDX-License-Identifier: Apache-2.0
// ConnectionOf<Stream>: the life of a connection: handshake, then request by request: head,
// admission, body, the application, answer; or at the end a tunnel.
//
// A request that arrives whole, and is answered within its turn (loops.h), costs one read, one
// write and no timer. An answer that does not go out at once is counted (unsent_bytes.h), and goes
// on only while its client reads. While a body is streamed the connection is read too: that is how
// it is seen that the client has gone.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/unique_fd.h"
#include "doors/http/alpn.h"
#include "doors/http/answer.h"
#include "doors/http/answer_stream.h"
#include "doors/http/body_source.h"
#include "doors/http/connection.h"
#include "doors/http/deadline.h"
#include "doors/http/framing.h"
#include "doors/http/h2/connection.h"
#include "doors/http/h2/tls_bytes.h"
#include "doors/http/lost_peer.h"
#include "doors/http/owner_limit.h"
#include "doors/http/received_bytes.h"
#include "doors/http/relay.h"
#include "doors/http/response_head.h"
#include "doors/http/web_socket_of.h"

namespace cloche::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

using PlainStream = asio::ip::tcp::socket;
using TlsStream = asio::ssl::stream<PlainStream>;

inline std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

template <typename Stream>
class ConnectionOf final : public Connection,
                           public std::enable_shared_from_this<ConnectionOf<Stream>> {
  static constexpr bool is_tls = std::is_same_v<Stream, TlsStream>;
  static constexpr std::size_t first_read_bytes = 4 << 10;
  static constexpr std::size_t read_ahead_bytes = 64 << 10;
  static constexpr std::size_t untimed_max_bytes = 1 << 20;
  static constexpr std::size_t uncounted_max_bytes = 16 << 10;  // of an answer
  // What a client that has connected may take to send its request once the server drains.
  static constexpr std::chrono::seconds last_call{2};
  // The same for one that has been answered before: what it has sent meanwhile is on its way.
  static constexpr std::chrono::milliseconds last_call_again{50};
  using Error = boost::system::error_code;

 public:
  ConnectionOf(Host& host, Loop& loop, Stream stream)
      : Connection(peer_name_of(stream)),
        end_(host, *this),
        host_(host),
        options_(host.options()),
        loop_(loop),
        stream_(std::move(stream)) {
    Error ignored;
    const auto peer = socket().remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string() + ":" + std::to_string(peer.port());
    socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    if constexpr (!is_tls) socket().non_blocking(true, ignored);
  }

  void start() override {
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] {
      if constexpr (is_tls) {
        self->deadline_.expires_after(self->options_.head_timeout);
        self->stream_.async_handshake(asio::ssl::stream_base::server, [self](Error error) {
          if (error) return;
          if (is_http2(self->stream_.native_handle())) return self->become_http2();
          self->await_request();
        });
      } else {
        self->await_request();
      }
    });
  }

  void end_soon() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] {
      self->last_ = true;
      if (const auto socket = self->web_socket_.lock())
        return socket->close(1001, "the server is about to end");
      if (const auto http2 = self->http2_.lock()) return http2->end_soon();
      if (!self->idle_) return;
      if (self->request_number_ > 0) return self->deadline_.expires_after(last_call_again);
      self->deadline_.expires_after(last_call);  // its only request may be on its way
    });
  }

  void end_now() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->close(); });
  }

  void late() { close(); }  // for the deadline

 private:
  friend class Answer<ConnectionOf>;
  friend class Streamed<ConnectionOf>;
  template <typename Target, typename Body>
  friend void post_to(const std::shared_ptr<Target>& target, Body body);
  using Parser = bhttp::request_parser<bhttp::string_body>;

  static PlainStream& socket_of(Stream& stream) {
    if constexpr (is_tls) {
      return stream.next_layer();
    } else {
      return stream;
    }
  }
  static std::string peer_name_of(Stream& stream) {
    Error ignored;
    const auto address = socket_of(stream).remote_endpoint(ignored).address();
    if (!address.is_v6()) return address.to_string();
    auto bytes = address.to_v6().to_bytes();
    if (!address.to_v6().is_v4_mapped()) std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
    return {bytes.begin(), bytes.end()};
  }
  PlainStream& socket() { return socket_of(stream_); }

  // For its answers.
  auto executor() { return stream_.get_executor(); }
  Host& host() noexcept { return host_; }
  std::uint64_t request_number() const noexcept { return request_number_; }

  void close() {
    if (const auto socket = web_socket_.lock()) return socket->abort();
    if (const auto http2 = http2_.lock()) return http2->end_now();
    Error ignored;
    socket().shutdown(PlainStream::shutdown_both, ignored);
    socket().close(ignored);
    lose_stream();
  }

  // The client of a streamed answer has gone.
  void lose_stream() {
    if (!stream_state_) return;
    blanks_.cancel();
    const std::shared_ptr<StreamState> lost = std::move(stream_state_);
    lost->gone = true;
    if (lost->options.changed) lost->options.changed();
  }

  // --- a request --------------------------------------------------------------------------------

  void await_request() {
    const bool is_first = request_number_ == 0;
    const bool ends = last_ || host_.draining();
    if (buffer_.size() > 0) {
      // It came with the one before. Posted: there may be thousands.
      return asio::post(stream_.get_executor(),
                        [self = this->shared_from_this()] { self->read_head(); });
    }
    idle_ = true;
    if (!is_first) stand(Standing::Stage::idle);
    if (ends) {
      // The last answer has not said yet that it was the last.
      deadline_.expires_after(is_first ? last_call : last_call_again);
    } else {
      deadline_.expires_after(is_first ? options_.first_byte_timeout : options_.idle_timeout);
    }
    if (watching_) return;  // what it reads is the next request
    if (buffer_.capacity() > read_ahead_bytes) buffer_.shrink_to_fit();
    stream_.async_read_some(buffer_.prepare(first_read_bytes),
                            [self = this->shared_from_this()](Error error, std::size_t bytes) {
                              self->idle_ = false;
                              if (error) return;  // the last reference goes, and closes
                              self->buffer_.commit(bytes);
                              self->read_head();
                            });
  }

  void read_head() {
    if (request_number_ > 0) stand(Standing::Stage::receiving);
    parser_.emplace();
    folds_ = {};
    answer_fields_.clear();
    parser_->header_limit(options_.head_limit_bytes);
    parser_->body_limit(boost::none);
    has_time_ = false;
    read_until([this] { return parser_->is_header_done(); }, &ConnectionOf::admit);
  }

  // Feeds the parser until it is `done`, then goes on with `next`.
  template <typename Done>
  void read_until(Done done, void (ConnectionOf::*next)()) {
    while (!done()) {
      Error error;
      if (buffer_.size() > 0) {
        const bool in_head = !parser_->is_header_done();
        const std::size_t taken = parser_->put(buffer_.data(), error);
        if (in_head) folds_.take({static_cast<const char*>(buffer_.data().data()), taken});
        buffer_.consume(taken);
        if (received_ && !received_->grow_to(parser_->get().body().size())) return refuse_for_now();
      }
      if (error && error != bhttp::error::need_more) return refuse_input(error);
      if (done()) break;
      if (error == bhttp::error::need_more || buffer_.size() == 0) return read_more(done, next);
    }
    (this->*next)();
  }

  template <typename Done>
  void read_more(Done done, void (ConnectionOf::*next)()) {
    const std::size_t room = buffer_.max_size() - buffer_.size();
    if (room == 0) return refuse_input(bhttp::error::bad_chunk_extension);
    give_time();
    stream_.async_read_some(
        buffer_.prepare(std::min(read_ahead_bytes, room)),
        [self = this->shared_from_this(), done, next](Error error, std::size_t bytes) {
          if (error) return;  // gone, or too slow: there is nobody to answer
          self->buffer_.commit(bytes);
          self->untimed_bytes_ += bytes;
          self->read_until(done, next);
        });
  }

  // For a head once, however many pieces it comes in; for each MiB of a body.
  void give_time() {
    const bool in_head = !parser_->is_header_done();
    if (has_time_ && (in_head || untimed_bytes_ < untimed_max_bytes)) return;
    has_time_ = true;
    untimed_bytes_ = 0;
    deadline_.expires_after(in_head ? options_.head_timeout : options_.stall_timeout);
  }

  void admit() {
    const auto& message = parser_->get();
    request_ = {};
    request_.method = text_of(message.method_string());
    request_.target = text_of(message.target());
    request_.peer = peer_;
    request_.secure = is_tls;
    for (const auto& field : message)
      request_.fields.emplace_back(text_of(field.name_string()), text_of(field.value()));
    version_ = message.version();
    keep_alive_ = message.keep_alive() && request_.method != "CONNECT";
    head_only_ = request_.method == "HEAD";

    std::optional<std::string_view> fault = framing_fault(request_, version_);
    if (folds_.found()) fault = "the lines of a head must not be folded";
    if (!fault) fault = to_origin_form(request_);
    if (!fault) fault = target_fault(request_);
    const std::size_t mark = std::min(request_.target.find('?'), request_.target.size());
    request_.path = request_.target.substr(0, mark);
    request_.query = request_.target.substr(std::min(mark + 1, request_.target.size()));
    if (fault) {
      keep_alive_ = false;
      return write_response(host_.application().reject(400, *fault));
    }

    Admission admission = host_.application().admit(request_);
    answer_fields_ = std::move(admission.fields);
    owner_ = std::move(admission.owner);
    if (!admission.refusal && !host_.owner_limit().acquire(owner_, in_progress_))
      admission.refusal = refusal_of_more(host_.application());
    const auto length = parser_->content_length();
    if (!admission.leaves_body)
      admission.body_limit_bytes =
          std::min(admission.body_limit_bytes, host_.received()->owner_limit_bytes());
    if (!admission.refusal && length && *length > admission.body_limit_bytes)
      admission.refusal = host_.application().reject(413, "the body is too large");
    if (admission.refusal) {
      // What was not read stands between this request and the next one.
      if (!parser_->is_done()) keep_alive_ = false;
      return write_response(*std::move(admission.refusal));
    }
    parser_->body_limit(admission.body_limit_bytes);
    if (parser_->is_done()) return handle();
    if (admission.leaves_body) {
      keep_alive_ = false;
      return handle();
    }
    received_ = std::make_shared<ReceivedBody>(host_.received(), owner_);
    stand(Standing::Stage::receiving);
    if (version_ >= 11 && same_text(request_.field("Expect"), "100-continue"))
      return write_continue();
    read_body();
  }

  void write_continue() {
    deadline_.expires_after(options_.head_timeout);
    static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(text.data(), text.size()),
                      [self = this->shared_from_this()](Error error, std::size_t) {
                        if (!error) self->read_body();
                      });
  }

  void read_body() {
    parser_->eager(true);
    has_time_ = false;
    read_until([this] { return parser_->is_done(); }, &ConnectionOf::handle);
  }

  void handle() {
    request_.body = std::move(parser_->get().body());
    request_.received = std::move(received_);
    parser_.reset();
    deadline_.expires_never();
    stand(Standing::Stage::answering);
    ++request_number_;
    answer_due_ = true;
    auto answer = std::make_shared<Answer<ConnectionOf>>(this->shared_from_this());
    Loop::Turn turn(loop_);
    handle_by(host_.application(), std::move(request_), answer);
    std::optional<Response> early = answer->end_turn();
    answer.reset();
    if (turn.finish()) {
      if (early) write_response(*std::move(early));
    } else if (early) {
      // The loop, and so this connection, is another thread's now.
      asio::post(stream_.get_executor(),
                 [self = this->shared_from_this(), response = *std::move(early)]() mutable {
                   self->write_response(std::move(response));
                 });
    }
  }

  void refuse_for_now() {
    keep_alive_ = false;
    parser_->get().body() = {};
    received_.reset();
    write_response(refusal_for_now(host_.application()));
  }

  void refuse_input(Error error) {
    keep_alive_ = false;
    Application& application = host_.application();
    if (error == bhttp::error::header_limit)
      return write_response(application.reject(431, "the head is too large"));
    if (error == bhttp::error::body_limit)
      return write_response(application.reject(413, "the body is too large"));
    write_response(application.reject(400, "this is no HTTP/1.1 request"));
  }

  // --- an answer --------------------------------------------------------------------------------

  std::string head_of(const Response& response, std::optional<std::size_t> content_length) {
    if (host_.draining() || host_.closes_after_answers() || last_) keep_alive_ = false;
    return response_head(response, answer_fields_,
                         {.version = version_ >= 10 ? version_ : 11,
                          .persistence = keep_alive_ ? Persistence::keep_alive : Persistence::close,
                          .content_length = content_length,
                          .chunked = begun_ && chunked_});
  }

  void write_response(Response response) {
    answer_due_ = false;
    if (awaiting_) blanks_.cancel();
    awaiting_ = false;
    if (begun_) return finish(std::move(response));
    const bool bodiless = response.status == 204 || response.status == 304;
    std::optional<std::size_t> length;
    if (!bodiless) length = response.source ? response.source->size() : response.body.size();
    out_head_ = head_of(response, length);
    const bool with_body = !bodiless && !head_only_;
    out_body_ = with_body ? std::move(response.body) : std::string();
    source_ = with_body ? std::move(response.source) : nullptr;
    std::size_t written = 0;
    if constexpr (!is_tls) {
      // There is room nearly always.
      Error error;
      written = stream_.write_some(out_buffers(0), error);
      if (error && error != asio::error::would_block && error != asio::error::try_again) return;
      if (written == out_size() && !source_) return written_all();
    }
    count_unsent(out_size() - written + (source_ ? source_->kept_bytes() : 0));
    untimed_bytes_ = 0;
    deadline_.expires_after(options_.stall_timeout);
    send_rest(written);
  }

  void count_unsent(std::uint64_t bytes) {
    if (bytes <= uncounted_max_bytes) return;
    counted_ = true;
    stand(Standing::Stage::answering);  // it is from now on that it is not read
    host_.keep_unsent(this->shared_from_this(), owner_, bytes);
  }

  std::size_t out_size() const { return out_head_.size() + out_body_.size(); }

  // Sends what is left of out_head_ and out_body_ when `written` bytes of it are gone; then
  // sent_piece.
  void send_rest(std::size_t written) {
    if (written == out_size()) return sent_piece();
    stream_.async_write_some(out_buffers(written), [self = this->shared_from_this(), written](
                                                       Error error, std::size_t bytes) {
      if (error) return self->lose_stream();  // the last reference goes, and closes
      self->moved_out(bytes);
      self->send_rest(written + bytes);
    });
  }

  // The client reads: it has time for more.
  void moved_out(std::size_t bytes) {
    if (counted_) stand(Standing::Stage::answering);
    untimed_bytes_ += bytes;
    if (untimed_bytes_ < untimed_max_bytes) return;
    untimed_bytes_ = 0;
    deadline_.expires_after(options_.stall_timeout);
  }

  void sent_piece() {
    out_head_.clear();
    out_body_.clear();
    if (begun_) {
      writing_ = false;
      tell_stream_sent();
      write_pending();
    } else if (source_) {
      make_piece(&ConnectionOf::send_piece);
    } else {
      written_all();
    }
  }

  // Has the body's source make its next piece, in a turn of its own, and passes it on to `then`.
  void make_piece(void (ConnectionOf::*then)(std::string piece)) {
    asio::post(stream_.get_executor(), [self = this->shared_from_this(), then] {
      const std::shared_ptr<BodySource> source = self->source_;
      std::string piece;
      Loop::Turn turn(self->loop_);
      const bool made = source->next(piece);
      const auto go_on = [self, then, made](std::string its_piece) {
        if (!made) return self->close();
        if (its_piece.empty()) self->source_.reset();
        ((*self).*then)(std::move(its_piece));
      };
      if (turn.finish()) return go_on(std::move(piece));
      asio::post(self->stream_.get_executor(),
                 [go_on, piece = std::move(piece)]() mutable { go_on(std::move(piece)); });
    });
  }

  void send_piece(std::string piece) {
    out_body_ = std::move(piece);
    send_rest(0);
  }

  // What is left of the answer when `written` bytes are gone.
  std::array<asio::const_buffer, 2> out_buffers(std::size_t written) const {
    const std::size_t of_body = written - std::min(written, out_head_.size());
    return {asio::buffer(out_head_) + written, asio::buffer(out_body_) + of_body};
  }

  void written_all() {
    out_body_ = {};
    answered();
  }

  void answered() {
    in_progress_.reset();
    if (std::exchange(counted_, false)) host_.sent(this);
    if (keep_alive_) return await_request();
    finish_connection();
  }

  // Says that no more comes, and leaves the client some time to read it: what it still sends would
  // otherwise reset the connection under the answer.
  void finish_connection() {
    Error ignored;
    socket().shutdown(PlainStream::shutdown_send, ignored);
    if (ignored) return;
    lingering_ = true;
    deadline_.expires_after(std::chrono::seconds(2));
    linger();
  }

  void linger() {
    if (watching_) return;  // and comes back
    buffer_.clear();
    socket().async_read_some(buffer_.prepare(read_ahead_bytes),
                             [self = this->shared_from_this()](Error error, std::size_t) {
                               if (!error) self->linger();
                             });
  }

  // --- an answer in pieces (connection_pieces.h) ------------------------------------------------

  void await_answer(std::chrono::milliseconds interval, std::uint64_t request_number);
  void begin(const Response& head);
  void finish(Response response);
  void write_pending();
  void add_piece(std::string piece);
  void end_pieces();

  // Of a body that the application writes piece by piece.
  void begin_stream(std::shared_ptr<StreamState> stream, const Response& head);
  void stream_bytes(const std::shared_ptr<StreamState>& stream, std::string bytes);
  void end_stream(const std::shared_ptr<StreamState>& stream);
  void break_off(const std::shared_ptr<StreamState>& stream);
  void tell_stream_sent();
  void keep_pulse();
  void watch_client();

  // --- another one answers, or a tunnel ----------------------------------------------------------

  void relay_to(UniqueFd fd) {
    answer_due_ = false;
    deadline_.expires_never();
    start_relay(this->shared_from_this(), stream_, std::move(fd),
                beast::buffers_to_string(buffer_.data()), [this] {
                  Response silence = host_.application().reject(
                      502, "what has this session has ended before it answered");
                  keep_alive_ = false;
                  return head_of(silence, silence.body.size()) + silence.body;
                });
  }

  void tunnel(const Fields& fields, std::function<void(int fd)> opened) {
    auto text = std::make_unique<std::string>("HTTP/1.1 200 Connection Established\r\n");
    for (const auto& [name, value] : fields) *text += name + ": " + value + "\r\n";
    *text += "\r\n";
    deadline_.expires_after(options_.head_timeout);
    const asio::const_buffer bytes = asio::buffer(*text);
    asio::async_write(stream_, bytes,
                      [self = this->shared_from_this(), text = std::move(text),
                       opened = std::move(opened)](Error error, std::size_t) mutable {
                        if (!error) self->await_first_byte(std::move(opened));
                      });
  }

  void await_first_byte(std::function<void(int fd)> opened) {
    idle_ = true;
    deadline_.expires_after(options_.idle_timeout);
    if constexpr (!is_tls) {
      if (buffer_.size() == 0) {
        stream_.async_wait(PlainStream::wait_read, [self = this->shared_from_this(),
                                                    opened = std::move(opened)](Error error) {
          if (!error) self->hand_over(opened);
        });
        return;
      }
    } else {
      if (buffer_.size() == 0) {
        stream_.async_read_some(buffer_.prepare(read_ahead_bytes),
                                [self = this->shared_from_this(), opened = std::move(opened)](
                                    Error error, std::size_t bytes) {
                                  if (error) return;
                                  self->buffer_.commit(bytes);
                                  self->relay(opened);
                                });
        return;
      }
    }
    relay(opened);
  }

  void hand_over(const std::function<void(int fd)>& opened) {
    deadline_.expires_never();
    if constexpr (!is_tls) {
      if (buffer_.size() == 0) {
        const int fd = ::fcntl(stream_.native_handle(), F_DUPFD_CLOEXEC, 0);
        Error ignored;
        stream_.close(ignored);
        if (fd >= 0) opened(fd);
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
    deadline_.expires_never();
    start_relay(this->shared_from_this(), stream_, UniqueFd(ends[0]),
                beast::buffers_to_string(buffer_.data()));
    opened(ends[1]);
  }

  // --- HTTP/2 -----------------------------------------------------------------------------------

  // It takes the stream.
  void become_http2() {
    if constexpr (is_tls) {
      deadline_.expires_never();
      notice_lost_peer(socket().native_handle());
      const auto http2 =
          std::make_shared<H2Connection>(this->shared_from_this(), host_, loop_,
                                         std::make_unique<TlsBytes>(std::move(stream_)), peer_);
      http2_ = http2;
      http2->start();
    }
  }

  // --- a WebSocket ------------------------------------------------------------------------------

  // It takes the stream. A client waits for the answer before it sends a frame.
  void become_web_socket(const Request& head, std::string protocol,
                         std::shared_ptr<WebSocketUser> user) {
    if (buffer_.size() > 0) {
      keep_alive_ = false;
      user->closed();
      return write_response(host_.application().reject(400, "a frame before the handshake's end"));
    }
    answer_due_ = false;
    deadline_.expires_never();
    const auto socket = std::make_shared<WebSocketOf<Stream>>(
        this->shared_from_this(), host_, loop_, std::move(stream_), owner_, std::move(user));
    web_socket_ = socket;
    socket->start(head, std::move(protocol), answer_fields_);
  }

  // Tells the server, whose loops may go then: after all that is of them. Whoever holds the
  // connection last may be on any thread.
  class End {
   public:
    End(Host& host, Connection& connection) : host_(host), connection_(connection) {}
    ~End() { host_.ended(&connection_); }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

   private:
    Host& host_;
    Connection& connection_;
  };

  const End end_;  // the first
  Host& host_;
  const ServerOptions& options_;
  Loop& loop_;
  Stream stream_;
  std::weak_ptr<WebSocketOf<Stream>> web_socket_;  // that has taken the stream
  std::weak_ptr<H2Connection> http2_;              // or this one
  Deadline<ConnectionOf> deadline_{*this, stream_.get_executor()};
  std::string peer_;
  beast::flat_buffer buffer_{1 << 20};
  std::optional<Parser> parser_;
  FoldFinder folds_;
  bool has_time_ = false;          // the deadline is that of this head or body
  std::size_t untimed_bytes_ = 0;  // of it, or of an answer, since then
  Request request_;
  unsigned version_ = 11;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool idle_ = false;
  bool last_ = false;  // no request after this one
  std::uint64_t request_number_ = 0;
  bool answer_due_ = false;
  Fields answer_fields_;                    // besides the answer's own
  std::string out_head_;                    // of the answer that is being written
  std::shared_ptr<ReceivedBody> received_;  // of the request's body, while it comes
  std::string out_body_;
  std::shared_ptr<BodySource> source_;             // of what comes after out_body_
  std::string owner_;                              // of the request that is being answered
  std::optional<OwnerLimit::Permit> in_progress_;  // until it is answered
  bool counted_ = false;                           // with what it keeps for that owner
  // Of an answer after blanks.
  asio::steady_timer blanks_{stream_.get_executor()};
  bool awaiting_ = false;
  bool begun_ = false;
  bool chunked_ = false;
  bool writing_ = false;
  bool finished_ = false;  // all of the answer is there
  bool ended_ = false;     // all of it is being sent
  std::string pending_;
  // Of one that the application streams.
  std::shared_ptr<StreamState> stream_state_;  // null: there is none, or its client has gone
  std::size_t piece_bytes_ = 0;                // of the piece that is being written
  std::chrono::steady_clock::time_point last_piece_;
  bool watching_ = false;   // a read is in progress that is not for a request yet
  bool lingering_ = false;  // all has been sent, and what still comes is dropped
};

}  // namespace cloche::http

#include "doors/http/connection_pieces.h"
