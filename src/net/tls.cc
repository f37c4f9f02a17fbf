// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <nlohmann/json.hpp>

#include "base/host_error.h"
#include "net/certificate.h"
#include "net/rule.h"
#include "net/socket_bio.h"

namespace cloche::net {
namespace {

void add_certificates(SSL_CTX* context, const std::string& pem) {
  BIO* in = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  if (in == nullptr) throw HostError("no memory for the trusted certificates");
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  int count = 0;
  while (X509* certificate = PEM_read_bio_X509(in, nullptr, nullptr, nullptr)) {
    if (X509_STORE_add_cert(store, certificate) == 1) ++count;
    X509_free(certificate);
  }
  BIO_free(in);
  ERR_clear_error();
  if (count == 0) throw HostError("the trusted certificates are no PEM certificates");
}

std::vector<unsigned char> alpn_wire(const std::vector<std::string>& protocols) {
  std::vector<unsigned char> wire;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255 || wire.size() > 1024) return {};
    wire.push_back(static_cast<unsigned char>(protocol.size()));
    wire.insert(wire.end(), protocol.begin(), protocol.end());
  }
  return wire;
}

std::string base64(std::span<const unsigned char> bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

std::string last_tls_error() {
  std::string text;
  for (unsigned long code = 0; (code = ERR_get_error()) != 0;) {
    const char* reason = ERR_reason_error_string(code);
    if (text.empty() && reason != nullptr) text = reason;
  }
  return text;
}

TlsContext::TlsContext(const std::string& trusted_certificates)
    : context_(SSL_CTX_new(TLS_client_method())) {
  if (context_ == nullptr) throw HostError("OpenSSL does not start: " + last_tls_error());
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  try {
    if (trusted_certificates.empty()) {
      SSL_CTX_set_default_verify_paths(context_);
    } else {
      add_certificates(context_, trusted_certificates);
    }
  } catch (...) {
    SSL_CTX_free(context_);
    throw;
  }
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::unique_ptr<TlsSession> TlsSession::start(const TlsContext& context, int fd,
                                              const TlsRequest& request) {
  SSL* session = SSL_new(context.get());
  if (session == nullptr) return nullptr;
  std::unique_ptr<TlsSession> result(new TlsSession(session, request.token));
  bool good = use_socket(session, fd);
  if (parse_literal(request.host)) {
    good =
        good && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), request.host.c_str()) == 1;
  } else {
    const std::string name = canonical_name(request.host);
    SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    good = good && !name.empty() && SSL_set1_host(session, name.c_str()) == 1 &&
           SSL_set_tlsext_host_name(session, name.c_str()) == 1;
  }
  const std::vector<unsigned char> alpn = alpn_wire(request.alpn);
  if (!alpn.empty())
    good =
        good && SSL_set_alpn_protos(session, alpn.data(), static_cast<unsigned>(alpn.size())) == 0;
  if (request.only_tls_1_3) SSL_set_min_proto_version(session, TLS1_3_VERSION);
  SSL_set_connect_state(session);
  return good ? std::move(result) : nullptr;
}

TlsSession::~TlsSession() { SSL_free(session_); }

TlsProgress TlsSession::judge(int result) {
  switch (SSL_get_error(session_, result)) {
    case SSL_ERROR_NONE: return TlsProgress::done;
    case SSL_ERROR_WANT_READ: return TlsProgress::wants_read;
    case SSL_ERROR_WANT_WRITE: return TlsProgress::wants_write;
    case SSL_ERROR_ZERO_RETURN: return TlsProgress::closed;
    default: break;
  }
  const long verified = SSL_get_verify_result(session_);
  problem_ = last_tls_error();
  if (verified != X509_V_OK) {
    reason_ = "CERTIFICATE_VERIFY_FAILED";
    problem_ =
        fmt::format("certificate verify failed: {}", X509_verify_cert_error_string(verified));
  } else {
    reason_ = "SSL_ERROR";
    if (problem_.empty()) problem_ = "the server ended the connection";
  }
  return TlsProgress::failed;
}

TlsProgress TlsSession::handshake() {
  ERR_clear_error();
  return judge(SSL_do_handshake(session_));
}

TlsProgress TlsSession::read(std::span<std::byte> to, std::size_t& count) {
  ERR_clear_error();
  const int result = SSL_read_ex(session_, to.data(), to.size(), &count);
  // Many servers end a connection without TLS's word for it: an end all the same, as programs have
  // it from their own libraries. How long a body is, HTTP says.
  if (result != 1 && ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
    return TlsProgress::closed;
  return judge(result);
}

TlsProgress TlsSession::write(std::span<const std::byte> from, std::size_t& count) {
  ERR_clear_error();
  return judge(SSL_write_ex(session_, from.data(), from.size(), &count));
}

void TlsSession::close() {
  ERR_clear_error();
  if (SSL_is_init_finished(session_)) SSL_shutdown(session_);
}

std::string TlsSession::problem() const { return problem_; }

bool TlsSession::has_said_end() const {
  return (SSL_get_shutdown(session_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

std::string TlsSession::protocol() const {
  const unsigned char* chosen = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(session_, &chosen, &length);
  return length == 0 ? std::string() : std::string(reinterpret_cast<const char*>(chosen), length);
}

int TlsSession::alert() const {
  switch (SSL_get_verify_result(session_)) {
    case X509_V_OK: return SSL_AD_HANDSHAKE_FAILURE;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: return SSL_AD_CERTIFICATE_EXPIRED;
    case X509_V_ERR_CERT_REVOKED: return SSL_AD_CERTIFICATE_REVOKED;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return SSL_AD_UNKNOWN_CA;
    default: return SSL_AD_BAD_CERTIFICATE;
  }
}

std::string TlsSession::describe() const {
  nlohmann::json info;
  if (!token_.empty()) info["token"] = token_;
  if (!problem_.empty()) {
    info["error"] = problem_;
    info["reason"] = reason_;
    info["verify_code"] = SSL_get_verify_result(session_);
    return info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  info["version"] = SSL_get_version(session_);
  if (const SSL_CIPHER* cipher = SSL_get_current_cipher(session_)) {
    info["cipher"] = {SSL_CIPHER_get_name(cipher), SSL_CIPHER_get_version(cipher),
                      SSL_CIPHER_get_bits(cipher, nullptr)};
  }
  if (std::string chosen = protocol(); !chosen.empty()) info["alpn"] = std::move(chosen);
  if (X509* certificate = SSL_get0_peer_certificate(session_)) {
    unsigned char* der = nullptr;
    const int length = i2d_X509(certificate, &der);
    if (length > 0) {
      info["certificate"] = base64({der, static_cast<std::size_t>(length)});
      OPENSSL_free(der);
    }
    info["peer"] = describe_certificate(certificate);
  }
  return info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cloche::net
