// SPDX-License-Identifier: Apache-2.0
// ByteStream: the bytes of a connection, whatever carries them. Used on the connection's loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>

namespace cloche::http {

class ByteStream {
 public:
  using Done = std::function<void(boost::system::error_code error, std::size_t bytes)>;
  virtual ~ByteStream() = default;

  virtual boost::asio::any_io_executor executor() = 0;
  // One of each at a time. `done` is called later, with an error where the stream was closed.
  virtual void read_some(boost::asio::mutable_buffer to, Done done) = 0;
  virtual void write_some(boost::asio::const_buffer from, Done done) = 0;
  virtual void shut_down_send() = 0;
  virtual void close() = 0;
};

}  // namespace cloche::http
