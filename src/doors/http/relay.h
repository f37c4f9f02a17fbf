// SPDX-License-Identifier: Apache-2.0
// Relay: passes bytes both ways between a client's stream and a descriptor, until both ways have
// ended. Where nothing has come from the descriptor the client gets some last words.
#pragma once

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "doors/http/lost_peer.h"

namespace cloche::http {

template <typename Owner, typename Stream>
class Relay : public std::enable_shared_from_this<Relay<Owner, Stream>> {
 public:
  using LastWords = std::function<std::string()>;  // empty: none

  Relay(std::shared_ptr<Owner> owner, Stream& stream, UniqueFd fd, std::string first,
        LastWords last_words)
      : owner_(std::move(owner)),
        stream_(stream),
        inside_(stream.get_executor()),
        first_(std::move(first)),
        last_words_(std::move(last_words)) {
    Error error;
    inside_.assign(boost::asio::local::stream_protocol(), fd.get(), error);
    if (!error) (void)fd.release();
  }

  void start() {
    if (!inside_.is_open()) return end();  // the host can watch no more of them
    notice_lost_peer(boost::beast::get_lowest_layer(stream_).native_handle());
    boost::asio::async_write(
        inside_, boost::asio::buffer(first_),
        [self = this->shared_from_this()](boost::system::error_code error, std::size_t) {
          if (!error) self->inward();
        });
    outward();
  }

 private:
  using Error = boost::system::error_code;

  void inward() {
    stream_.async_read_some(boost::asio::buffer(in_), [self = this->shared_from_this()](
                                                          Error error, std::size_t bytes) {
      if (error) {
        Error ignored;
        self->inside_.shutdown(boost::asio::socket_base::shutdown_send, ignored);
        return;
      }
      boost::asio::async_write(self->inside_, boost::asio::buffer(self->in_.data(), bytes),
                               [self](Error failed, std::size_t) {
                                 if (!failed) self->inward();
                               });
    });
  }

  void outward() {
    inside_.async_read_some(boost::asio::buffer(out_), [self = this->shared_from_this()](
                                                           Error error, std::size_t bytes) {
      if (error) return self->end();
      self->last_words_ = nullptr;
      boost::asio::async_write(self->stream_, boost::asio::buffer(self->out_.data(), bytes),
                               [self](Error failed, std::size_t) {
                                 if (!failed) self->outward();
                               });
    });
  }

  void end() {
    if (!last_words_) return owner_->end_now();
    first_ = last_words_();
    boost::asio::async_write(
        stream_, boost::asio::buffer(first_),
        [self = this->shared_from_this()](Error, std::size_t) { self->owner_->end_now(); });
  }

  const std::shared_ptr<Owner> owner_;  // of the stream
  Stream& stream_;
  boost::asio::local::stream_protocol::socket inside_;
  std::string first_;  // what the client had sent before; at the end the last words
  LastWords last_words_;
  std::array<char, 32768> in_;
  std::array<char, 32768> out_;
};

template <typename Owner, typename Stream>
void start_relay(std::shared_ptr<Owner> owner, Stream& stream, UniqueFd fd, std::string first,
                 std::function<std::string()> last_words = nullptr) {
  std::make_shared<Relay<Owner, Stream>>(std::move(owner), stream, std::move(fd), std::move(first),
                                         std::move(last_words))
      ->start();
}

}  // namespace cloche::http
