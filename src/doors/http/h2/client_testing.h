// SPDX-License-Identifier: Apache-2.0
// A client of HTTP/2 and the H2Connection that it talks to, in memory, on one thread.
#pragma once

#include <nghttp2/nghttp2.h>

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doors/http/connection.h"
#include "doors/http/h2/connection.h"
#include "doors/http/loops.h"
#include "doors/http/message.h"
#include "doors/http/owner_limit.h"
#include "doors/http/received_bytes.h"

namespace cloche::http {

// Bytes that the server is given, and what it has written; both stay as long as they are not taken.
class BytesInMemory final : public ByteStream {
 public:
  explicit BytesInMemory(boost::asio::io_context& context) : context_(context) {}

  void give(std::string_view bytes);
  void end();                           // the client closes
  void hold_writes() { held_ = true; }  // the client reads nothing
  void release_writes();
  std::string taken() { return std::exchange(written_, {}); }
  bool is_closed() const noexcept { return closed_; }

  boost::asio::any_io_executor executor() override { return context_.get_executor(); }
  void read_some(boost::asio::mutable_buffer to, Done done) override;
  void write_some(boost::asio::const_buffer from, Done done) override;
  void shut_down_send() override {}
  void close() override;

 private:
  void serve_read();

  boost::asio::io_context& context_;
  std::string given_;
  std::string written_;
  boost::asio::mutable_buffer read_to_;
  Done read_done_;
  boost::asio::const_buffer write_from_;
  Done write_done_;
  bool held_ = false;
  bool ended_ = false;
  bool closed_ = false;
};

// The server as far as a connection knows it, and an application that does what it is told.
class HostInMemory final : public Host, public Application {
 public:
  explicit HostInMemory(std::size_t most_streams = 1000) : stream_limit_(most_streams) {}

  ServerOptions its_options;
  bool is_draining = false;
  std::function<Admission(const Request&)> on_admit = [](const Request&) { return Admission{}; };
  std::function<void(Request, std::shared_ptr<Exchange>)> on_handle;
  std::function<void()> on_ended = [] {};
  std::map<std::string, std::uint64_t> unsent;  // by owner, the last that was told

  const ServerOptions& options() const override { return its_options; }
  Application& application() override { return *this; }
  bool draining() const override { return is_draining; }
  bool closes_after_answers() const override { return false; }
  void keep_unsent(const std::shared_ptr<AnswerKeeper>&, const std::string& owner,
                   std::uint64_t bytes) override {
    unsent[owner] = bytes;
  }
  void sent(AnswerKeeper*) override { unsent.clear(); }
  const std::shared_ptr<ReceivedBytes>& received() const override { return received_; }
  void ended(Connection*) override { on_ended(); }
  ShareLimit& stream_limit() override { return stream_limit_; }
  OwnerLimit& owner_limit() override { return owner_limit_; }
  Admission admit(const Request& head) override { return on_admit(head); }
  void handle(Request request, std::shared_ptr<Exchange> exchange) override {
    on_handle(std::move(request), std::move(exchange));
  }
  Response reject(int status, std::string_view reason) override {
    return text_response(status, std::string(reason));
  }

 private:
  ShareLimit stream_limit_;
  OwnerLimit owner_limit_{1000};
  const std::shared_ptr<ReceivedBytes> received_ =
      std::make_shared<ReceivedBytes>(8 << 20, 4 << 20);
};

// The connection under test.
class ServedInMemory {
 public:
  explicit ServedInMemory(HostInMemory& host);
  ~ServedInMemory();

  BytesInMemory& bytes() noexcept { return *bytes_; }
  H2Connection& connection() noexcept { return *connection_; }
  const Connection& counted() const noexcept { return *counted_; }
  void run();  // until nothing more happens by itself
  // Until that is so, however long it takes.
  void run_until(const std::function<bool()>& so);

 private:
  class Counted;
  Loops loops_{1};
  std::shared_ptr<Connection> counted_;
  BytesInMemory* bytes_ = nullptr;
  std::shared_ptr<H2Connection> connection_;
};

class ClientInMemory {
 public:
  struct Answer {
    int status = 0;
    std::map<std::string, std::string> fields;
    std::string body;
    bool ended = false;
    std::optional<std::uint32_t> error;  // with which the stream ended
  };

  explicit ClientInMemory(ServedInMemory& served, std::int32_t window_bytes = 1 << 20);

  // Asks; a body that is nothing is not ended, and `more` and `end` go on with it.
  std::int32_t ask(const Fields& fields, std::optional<std::string> body = "");
  std::int32_t get(const std::string& path);
  void more(std::int32_t stream, const std::string& bytes);
  void end(std::int32_t stream);
  void cancel(std::int32_t stream);
  void read_on(std::int32_t stream, std::int32_t bytes);  // gives the server that much window
  // A frame as it stands.
  void send_frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream,
                  std::string_view payload);
  // Passes bytes both ways until both have no more.
  void exchange();

  Answer& answer(std::int32_t stream) { return answers_[stream]; }
  std::optional<std::uint32_t> goodbye() const { return goodbye_; }  // the error of GOAWAY
  nghttp2_session* session() noexcept { return session_.get(); }

 private:
  struct Callbacks;
  struct Delete {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  struct Upload {
    std::string bytes;
    bool ended = false;
  };

  void hear_goodbye(std::string_view bytes);

  ServedInMemory& served_;
  std::unique_ptr<nghttp2_session, Delete> session_;
  std::map<std::int32_t, Answer> answers_;
  std::map<std::int32_t, Upload> uploads_;
  std::string unread_;  // of frames that are not whole
  std::optional<std::uint32_t> goodbye_;
};

}  // namespace cloche::http
