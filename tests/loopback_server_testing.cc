// SPDX-License-Identifier: Apache-2.0
#include "loopback_server_testing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "net/socket_bio.h"

namespace cloche::testing {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key make_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

void add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  ASSERT_NE(extension, nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate make_certificate(const char* name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), issuer == nullptr ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509* signer = issuer == nullptr ? certificate.get() : issuer;
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  if (issuer == nullptr) {
    add_extension(certificate.get(), signer, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate.get(), signer, NID_key_usage, "critical,keyCertSign");
  } else {
    add_extension(certificate.get(), signer, NID_subject_alt_name, "DNS:localhost");
  }
  X509_sign(certificate.get(), issuer_key, EVP_sha256());
  return certificate;
}

std::string pem_of(X509* certificate) {
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(out, certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(out);
  return text;
}

int select_http_1_1(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* in, unsigned in_length, void*) {
  static constexpr unsigned char ours[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_length, ours, sizeof ours, in, in_length) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

struct LoopbackServer::Tls {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  ~Tls() { SSL_CTX_free(context); }
};

LoopbackServer::LoopbackServer(Speaks speaks) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
  if (speaks == Speaks::https) {
    const Key authority_key = make_key();
    const Key key = make_key();
    const Certificate authority =
        make_certificate("authority of a test", authority_key.get(), nullptr, authority_key.get());
    const Certificate certificate =
        make_certificate("localhost", key.get(), authority.get(), authority_key.get());
    authority_ = pem_of(authority.get());
    tls_ = std::make_unique<Tls>();
    SSL_CTX_use_certificate(tls_->context, certificate.get());
    SSL_CTX_use_PrivateKey(tls_->context, key.get());
    SSL_CTX_set_alpn_select_cb(tls_->context, select_http_1_1, nullptr);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 64), 0);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { accept_all(); });
}

LoopbackServer::~LoopbackServer() {
  ending_ = true;
  shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : serving_) thread.join();
  for (const int fd : open_) close(fd);
  close(listener_);
}

void LoopbackServer::accept_all() {
  while (!ending_) {
    const int fd = accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    ++connections_;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    serving_.emplace_back([this, fd] { serve(fd); });
  }
}

void LoopbackServer::serve(int fd) {
  bool says_nothing_at_the_end = false;
  SSL* tls = nullptr;
  if (tls_) {
    tls = SSL_new(tls_->context);
    net::use_socket(tls, fd);
    if (SSL_accept(tls) != 1) {
      SSL_free(tls);
      shutdown(fd, SHUT_RDWR);
      return;
    }
  }
  const auto read_some = [&](std::string& to) {
    char piece[4096];
    const auto count = tls ? SSL_read(tls, piece, sizeof piece)
                           : static_cast<int>(recv(fd, piece, sizeof piece, 0));
    if (count > 0) to.append(piece, static_cast<std::size_t>(count));
    return count > 0;
  };
  const auto write_all = [&](const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const auto left = static_cast<int>(text.size() - at);
      const auto count = tls ? SSL_write(tls, text.data() + at, left)
                             : static_cast<int>(send(fd, text.data() + at,
                                                     static_cast<std::size_t>(left), MSG_NOSIGNAL));
      if (count <= 0) return;
      at += static_cast<std::size_t>(count);
    }
  };
  std::string got;
  for (;;) {
    std::size_t end = std::string::npos;
    while ((end = got.find("\r\n\r\n")) == std::string::npos && read_some(got)) {
    }
    if (end == std::string::npos) break;
    const std::string head = got.substr(0, end + 4);
    got.erase(0, end + 4);
    std::size_t length = 0;
    if (const std::size_t at = head.find("Content-Length: "); at != std::string::npos)
      length = static_cast<std::size_t>(std::atoi(head.c_str() + at + 16));
    while (got.size() < length && read_some(got)) {
    }
    std::string body = head + got.substr(0, length);
    got.erase(0, length);
    {
      const std::lock_guard lock(mutex_);
      heard_ += body;
    }
    if (head.find(" /slow") != std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (const std::size_t at = head.find(" /big?"); at != std::string::npos)
      body.assign(static_cast<std::size_t>(std::atoi(head.c_str() + at + 6)), 'x');
    std::string type = "text/plain";
    {
      const std::size_t target = head.find(' ') + 1;
      const std::lock_guard lock(mutex_);
      const auto page = pages_.find(head.substr(target, head.find(' ', target) - target));
      if (page != pages_.end()) {
        body = page->second.body;
        type = page->second.type;
      }
    }
    if (head.find(" /size") != std::string::npos)
      body = std::to_string(body.size() - head.size()) + "\n";
    if (head.find(" /never") != std::string::npos) {
      while (read_some(got)) {
      }
      break;
    }
    if (const std::size_t at = head.find(" /to?"); at != std::string::npos) {
      const std::string to = head.substr(at + 5, head.find(' ', at + 5) - at - 5);
      write_all("HTTP/1.1 302 Found\r\nLocation: " + to + "\r\nContent-Length: 0\r\n\r\n");
      continue;
    }
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Type: " + type +
                               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                               body;
    if (tls && head.find(" /drops") != std::string::npos) {
      SSL_set0_wbio(tls, BIO_new(BIO_s_mem()));
      (void)SSL_write(tls, answer.data(), static_cast<int>(answer.size()));
      for (char drop = 0; BIO_read(SSL_get_wbio(tls), &drop, 1) == 1;) {
        if (send(fd, &drop, 1, MSG_NOSIGNAL) != 1) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      break;
    }
    write_all(answer);
    if (head.find("Connection: close") != std::string::npos) break;
    says_nothing_at_the_end = head.find(" /cut ") != std::string::npos;
    if (says_nothing_at_the_end) break;
  }
  if (tls) {
    if (!says_nothing_at_the_end) SSL_shutdown(tls);
    SSL_free(tls);
  }
  shutdown(fd, SHUT_RDWR);
}

}  // namespace cloche::testing
