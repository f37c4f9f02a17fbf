// SPDX-License-Identifier: Apache-2.0
// GuestAuthority: the authority of one sandbox and its forks, in which the sandbox's programs
// trust, and nobody else: it vouches for the hosts whose TLS ends in this process, because they
// have a secret (GuestTls). Its key is made with it, and is in this process's memory alone.
//
// Immutable; thread-safe.
#pragma once

#include <memory>
#include <string>

struct evp_pkey_st;
struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace cloche::net {

class GuestAuthority {
 public:
  // Throws HostError with one sentence.
  GuestAuthority();
  ~GuestAuthority();
  GuestAuthority(const GuestAuthority&) = delete;
  GuestAuthority& operator=(const GuestAuthority&) = delete;

  // PEM.
  const std::string& certificate() const noexcept { return text_; }
  // By which OpenSSL's folders of certificates name its file: eight digits.
  std::string hash() const;

  // What sessions with the sandbox's programs are made of.
  ssl_ctx_st* context() const noexcept { return context_.get(); }
  // The session is that of this host from now on. False without memory.
  bool vouch(ssl_st* session, const std::string& host) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const noexcept;
    void operator()(x509_st* certificate) const noexcept;
    void operator()(ssl_ctx_st* context) const noexcept;
  };
  using Key = std::unique_ptr<evp_pkey_st, Free>;
  using Certificate = std::unique_ptr<x509_st, Free>;

  // Null without memory. Of `host`; the authority's own where that is empty.
  Certificate sign(const std::string& host) const;

  Key key_;
  Key host_key_;  // of all hosts
  Certificate certificate_;
  std::string text_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace cloche::net
