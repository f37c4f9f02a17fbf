// SPDX-License-Identifier: Apache-2.0
// The bytes of a TLS connection whose handshake is done.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <utility>

#include "doors/http/h2/byte_stream.h"

namespace cloche::http {

class TlsBytes final : public ByteStream {
 public:
  using Stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;

  explicit TlsBytes(Stream stream) : stream_(std::move(stream)) {}

  boost::asio::any_io_executor executor() override { return stream_.get_executor(); }
  void read_some(boost::asio::mutable_buffer to, Done done) override {
    stream_.async_read_some(to, std::move(done));
  }
  void write_some(boost::asio::const_buffer from, Done done) override {
    stream_.async_write_some(from, std::move(done));
  }
  void shut_down_send() override {
    boost::system::error_code ignored;
    stream_.next_layer().shutdown(boost::asio::socket_base::shutdown_send, ignored);
  }
  void close() override {
    boost::system::error_code ignored;
    stream_.next_layer().shutdown(boost::asio::socket_base::shutdown_both, ignored);
    stream_.next_layer().close(ignored);
  }

 private:
  Stream stream_;
};

}  // namespace cloche::http
