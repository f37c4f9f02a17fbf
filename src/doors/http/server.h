// SPDX-License-Identifier: Apache-2.0
// Server: HTTP/1.1 over TCP or TLS, and HTTP/2 over TLS, asynchronous: some threads serve all
// connections, and a connection that waits costs memory only. An application that waits costs a
// thread as long as it does (loops.h).
//
// What comes in is bounded: the head, the body (by what the application admits), the number of
// connections, and the time that each part may take. A client that is too slow, or never reads,
// loses its connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "doors/http/answer_stream.h"
#include "doors/http/message.h"
#include "doors/http/own_certificate.h"
#include "doors/http/web_socket.h"

namespace cloche::http {

// The answer to one request. Thread-safe; it may be given from any thread, at any time, also when
// the client is gone. One that is destroyed without an answer answers 500.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void send(Response response) = 0;

  // Says that the answer may take long. Where it is not there after `interval` a head with status
  // 200 goes out, then a blank after each `interval`; the answer's body follows them, its status is
  // lost. For bodies before which blanks mean nothing, such as JSON.
  virtual void send_blanks_until_answer(std::chrono::milliseconds interval) = 0;

  // Instead, for CONNECT, which HTTP/2 has not here: answers 200 with `fields` and hands over the
  // connection when the client has sent its first byte: `opened` owns the descriptor, a stream
  // socket that does not block. Not called when the client goes away before. Called on a thread of
  // the server: it must not wait.
  virtual void open_tunnel(Fields fields, std::function<void(int fd)> opened) = 0;

  // Instead, for who answers in HTTP/1.1 (Admission::only_http1): hands over the connection as it
  // is, with what the client has sent after its request. `taken` as `opened`.
  virtual void hand_over(std::function<void(int fd)> taken) = 0;

  // Instead: the head goes out now, without a length; its body is written to the stream.
  virtual std::shared_ptr<AnswerStream> begin(Response head, StreamOptions options) = 0;

  // Instead, for a request that asks for a WebSocket, `head`: the connection becomes one. With a
  // `protocol` that is the subprotocol.
  virtual void open_web_socket(Request head, std::string protocol,
                               std::shared_ptr<WebSocketUser> user) = 0;

  // Instead: whoever is behind that stream socket answers. From now on bytes go both ways as they
  // are, until that one has said all; then the connection ends. Where that one says nothing the
  // answer is 502.
  virtual void relay_to(UniqueFd fd) = 0;
};

// What the application says to a request's head, before there is a body.
struct Admission {
  std::uint64_t body_limit_bytes = 1 << 20;
  std::optional<Response> refusal = std::nullopt;  // sent instead of reading the body
  Fields fields = {};      // that every answer to this request has, besides its own
  std::string owner = {};  // whose answer it is: what it keeps in memory counts for them
  // Whoever answers speaks HTTP/1.1: a client of HTTP/2 is told to ask again by that.
  bool only_http1 = false;
  // The body is not read: `handle` is called as soon as there is a head, and who takes the
  // connection over (Exchange::hand_over) reads it. The request's `body` is empty.
  bool leaves_body = false;
};

class Application {
 public:
  virtual ~Application() = default;
  // Both are called on threads of the server.
  virtual Admission admit(const Request& head) = 0;  // does not wait
  // May wait: after a millisecond or two the connections that this thread serves go on without it.
  // An answer that is given before it returns goes out at its return.
  virtual void handle(Request request, std::shared_ptr<Exchange> exchange) = 0;
  // The answer to what is no HTTP, or not served: 400, 408, 413, 431, 501 or 502.
  virtual Response reject(int status, std::string_view reason) = 0;
  // Whether a client that asks TLS for that name (empty: for none) is offered HTTP/2. Does not
  // wait.
  virtual bool offers_http2(std::string_view /*server_name*/) const { return true; }
};

// The answer to a body for which there is no memory now: 503, to be asked again.
Response refusal_for_now(Application& application);

// The answer to one more request of an owner than may be in progress: 503, to be asked again.
Response refusal_of_more(Application& application);

// Has the application handle the request. Where that throws, as for want of memory, the answer is
// 500, and the server goes on.
void handle_by(Application& application, Request request, std::shared_ptr<Exchange> exchange);

struct ServerOptions {
  bool listens = true;  // false: its connections are those that it is given
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;       // 0: one that is free
  std::string tls_certificate;  // PEM files; both or none
  std::string tls_key;
  std::optional<OwnCertificate> own_certificate = {};  // instead of these
  bool has_tls() const noexcept { return own_certificate || !tls_certificate.empty(); }
  bool use_http2 = true;    // over TLS, with clients that know it
  std::size_t threads = 0;  // that serve at once; 0: one a processor
  // What the process may have of descriptors bounds it too, and one peer holds three quarters at
  // most, with one owner's requests on three quarters of these. Beyond it those leave that have
  // been silent for the longest time.
  std::size_t connection_limit = 4096;
  // What answers may keep in memory that clients have not read; one owner's half of it. Beyond it
  // those lose their connection that have read nothing for the longest time.
  std::uint64_t unsent_limit_bytes = 512ULL << 20;
  // What bodies of requests, and messages of WebSockets, may take in memory while they come and are
  // handled; one owner's half of it. Beyond it they are refused: 503, or 413 where a body is larger
  // than an owner's part.
  std::uint64_t received_limit_bytes = 1ULL << 30;
  std::uint32_t head_limit_bytes = 32 << 10;
  std::chrono::seconds first_byte_timeout{10};  // of a connection
  std::chrono::milliseconds head_timeout{15'000};
  std::chrono::seconds idle_timeout{75};   // between requests
  std::chrono::seconds stall_timeout{30};  // for a MiB of a body, either way, or what is left of it
};

class Server {
 public:
  // Listens, and serves from now on. Throws HostError with one sentence. `application` outlives it.
  Server(const ServerOptions& options, Application& application);
  ~Server();  // closes all connections
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const noexcept;
  std::size_t connections() const;

  // Serves a connection that was made elsewhere, a stream socket; it is counted from here on.
  void adopt(UniqueFd connection);

  // New connections have the certificate and the key that are in the files now. Throws HostError,
  // and keeps those before.
  void read_certificate();

  // From now on each answer is the last of its connection, and says so. New ones are taken.
  void close_after_answers();
  // Takes no more connections and no more requests; returns when all requests in progress have been
  // answered, or after `patience`.
  void drain(std::chrono::milliseconds patience);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche::http
