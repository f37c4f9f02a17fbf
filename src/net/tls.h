// SPDX-License-Identifier: Apache-2.0
// TLS as a client, by the host's OpenSSL: the server's certificate is always checked, and its name.
//
// TlsContext: trusted certificates; immutable, thread-safe. TlsSession: one connection, over a
// non-blocking descriptor that it does not own; for one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct ssl_ctx_st;
struct ssl_st;

namespace cloche::net {

class TlsContext {
 public:
  // `trusted_certificates`: PEM; empty: the system's. Throws HostError with one sentence.
  explicit TlsContext(const std::string& trusted_certificates);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get() const noexcept { return context_; }

 private:
  ssl_ctx_st* context_;
};

// What OpenSSL said last, in its words, and forgets; empty: nothing.
std::string last_tls_error();

struct TlsRequest {
  std::string host;  // a name, or an address
  std::vector<std::string> alpn;
  bool only_tls_1_3 = false;
  std::string token = {};  // is in describe(): nobody else who answers knows it
};

enum class TlsProgress : std::uint8_t { done, wants_read, wants_write, closed, failed };

class TlsSession {
 public:
  // Null when the host has no memory for it or the request makes no sense.
  static std::unique_ptr<TlsSession> start(const TlsContext& context, int fd,
                                           const TlsRequest& request);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  TlsProgress handshake();
  // `count` is what was done, with TlsProgress::done.
  TlsProgress read(std::span<std::byte> to, std::size_t& count);
  TlsProgress write(std::span<const std::byte> from, std::size_t& count);
  // close_notify; nothing more is written.
  void close();

  // Whether the server has said that it ends; after TlsProgress::closed.
  bool has_said_end() const;
  // The protocol that the server has chosen of those offered (ALPN); empty: none.
  std::string protocol() const;

  // The alert by which TLS tells another of what has failed here.
  int alert() const;

  // After a handshake, for the guest: JSON. Where it failed it has "error" and "reason".
  std::string describe() const;
  std::string problem() const;

 private:
  explicit TlsSession(ssl_st* session, std::string token)
      : session_(session), token_(std::move(token)) {}
  TlsProgress judge(int result);

  ssl_st* session_;
  std::string token_;
  std::string problem_;
  std::string reason_;
};

}  // namespace cloche::net
