// SPDX-License-Identifier: Apache-2.0
// LoopbackServer: an HTTP server on the loopback of this machine, for tests of the network: plain,
// or with TLS under a certificate for `localhost` of an authority of its own.
//
// It answers each request with the request's own head and body as text, so that a test sees what
// left the sandbox. /slow waits 200 ms first; after /cut it ends without TLS's close_notify; /big?N
// answers with N bytes; a path that serves() was told of answers with that. By TLS /drops is
// answered with one record, a byte every 20 ms.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cloche::testing {

class LoopbackServer {
 public:
  enum class Speaks : std::uint8_t { http, https };

  explicit LoopbackServer(Speaks speaks);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  // "localhost:PORT"
  std::string rule() const { return "localhost:" + std::to_string(port_); }
  // Of the authority, PEM; empty for plain HTTP.
  const std::string& authority() const noexcept { return authority_; }
  int connections() const noexcept { return connections_; }
  // Whether some request had this in its head or body.
  bool has_heard(std::string_view text) {
    const std::lock_guard lock(mutex_);
    return heard_.find(text) != std::string::npos;
  }
  // What a request of this path is answered with from now on.
  void serves(const std::string& path, std::string body, std::string type = "text/plain") {
    const std::lock_guard lock(mutex_);
    pages_[path] = {std::move(body), std::move(type)};
  }

 private:
  struct Tls;
  struct Page {
    std::string body;
    std::string type;
  };

  void accept_all();
  void serve(int fd);

  int listener_;
  std::uint16_t port_ = 0;
  std::string authority_;
  std::unique_ptr<Tls> tls_;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::vector<int> open_;
  std::map<std::string, Page> pages_;
  std::string heard_;
  std::vector<std::thread> serving_;
  std::thread accepting_;
};

}  // namespace cloche::testing
