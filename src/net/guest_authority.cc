// SPDX-License-Identifier: Apache-2.0
#include "net/guest_authority.h"

#include <fmt/format.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstddef>

#include "base/host_error.h"
#include "base/random.h"
#include "net/guest_tls.h"

namespace cloche::net {
namespace {

constexpr const char* authority_name = "Cloche: the authority of this sandbox";
// Of a machine whose clock was set back a little, and of sandboxes that are kept for long.
constexpr long day_seconds = 86'400;
constexpr long authority_days = 3650;
constexpr long host_days = 30;                // each connection has a certificate of its own
constexpr std::size_t most_common_name = 64;  // as RFC 5280 has it
constexpr std::size_t serial_bytes = 16;

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool good = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return good;
}

bool set_serial(X509* certificate) {
  std::array<std::byte, serial_bytes> bytes;
  fill_random(bytes);
  bytes[0] = (bytes[0] & std::byte{0x3f}) | std::byte{0x40};  // positive, and as long as it is
  return ASN1_STRING_set(X509_get_serialNumber(certificate), bytes.data(),
                         static_cast<int>(bytes.size())) == 1;
}

bool set_name(X509_NAME* name, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool set_times(X509* certificate, long days) {
  return X509_gmtime_adj(X509_getm_notBefore(certificate), -day_seconds) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), days * day_seconds) != nullptr;
}

std::string pem_of(X509* certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  if (out == nullptr || PEM_write_bio_X509(out.get(), certificate) != 1) return {};
  char* data = nullptr;
  const long length = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(length)};
}

SSL_CTX* make_context() {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) return nullptr;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // A connection is judged by what it says itself: none goes on from an earlier one.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  return context;
}

}  // namespace

void GuestAuthority::Free::operator()(evp_pkey_st* key) const noexcept { EVP_PKEY_free(key); }
void GuestAuthority::Free::operator()(x509_st* certificate) const noexcept {
  X509_free(certificate);
}
void GuestAuthority::Free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }

GuestAuthority::GuestAuthority()
    : key_(EVP_EC_gen("P-256")), host_key_(EVP_EC_gen("P-256")), context_(make_context()) {
  if (key_ && host_key_) certificate_ = sign({});
  if (certificate_) text_ = pem_of(certificate_.get());
  if (text_.empty() || !context_)
    throw HostError("OpenSSL makes no authority for the secrets of a sandbox");
  GuestTls::prepare(context_.get());
}

GuestAuthority::~GuestAuthority() = default;

std::string GuestAuthority::hash() const {
  return fmt::format("{:08x}", X509_subject_name_hash(certificate_.get()));
}

GuestAuthority::Certificate GuestAuthority::sign(const std::string& host) const {
  const bool is_own = host.empty();
  Certificate made(X509_new());
  if (!made) return nullptr;
  X509* certificate = made.get();
  X509* issuer = is_own ? certificate : certificate_.get();
  const bool is_named =
      X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
      set_times(certificate, is_own ? authority_days : host_days) &&
      X509_set_pubkey(certificate, is_own ? key_.get() : host_key_.get()) == 1 &&
      set_name(X509_get_subject_name(certificate), is_own ? authority_name
                                                   : host.size() <= most_common_name
                                                       ? host
                                                       : "a host with a secret") &&
      X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
      add_extension(certificate, issuer, NID_subject_key_identifier, "hash");
  if (!is_named) return nullptr;
  const bool is_whole =
      is_own ? add_extension(certificate, issuer, NID_basic_constraints,
                             "critical,CA:TRUE,pathlen:0") &&
                   add_extension(certificate, issuer, NID_key_usage, "critical,keyCertSign")
             : add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always") &&
                   add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                   add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
                   add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth") &&
                   add_extension(certificate, issuer, NID_subject_alt_name, "DNS:" + host);
  if (!is_whole || X509_sign(certificate, key_.get(), EVP_sha256()) == 0) return nullptr;
  return made;
}

bool GuestAuthority::vouch(ssl_st* session, const std::string& host) const {
  const Certificate certificate = sign(host);
  return certificate && SSL_use_certificate(session, certificate.get()) == 1 &&
         SSL_use_PrivateKey(session, host_key_.get()) == 1;
}

}  // namespace cloche::net
