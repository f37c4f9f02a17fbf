// SPDX-License-Identifier: Apache-2.0
#include "doors/http/own_certificate.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/hex.h"
#include "base/host_error.h"

namespace cloche::http {
namespace {

constexpr long valid_before_s = 60L * 60;  // clocks differ
constexpr long valid_after_s = 10L * 365 * 24 * 60 * 60;

template <auto free_it>
struct FreeBy {
  template <typename T>
  void operator()(T* it) const {
    free_it(it);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeBy<::EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeBy<::X509_free>>;
using BioPtr = std::unique_ptr<BIO, FreeBy<::BIO_free>>;

void need(bool done) {
  if (!done) throw HostError("cannot make a certificate for TLS");
}

std::string text_in(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  need(size > 0);
  return {bytes, static_cast<std::size_t>(size)};
}

CertificatePtr make_certificate(EVP_PKEY* key) {
  CertificatePtr certificate(::X509_new());
  need(certificate != nullptr);
  X509* it = certificate.get();
  std::array<std::uint8_t, 8> serial{};
  need(::RAND_bytes(serial.data(), static_cast<int>(serial.size())) == 1);
  std::uint64_t number = 0;
  for (const std::uint8_t byte : serial) number = number << 8 | byte;
  X509_NAME* name = ::X509_get_subject_name(it);
  const auto* common_name = reinterpret_cast<const unsigned char*>("cloche");
  need(::X509_set_version(it, X509_VERSION_3) == 1 &&
       ::ASN1_INTEGER_set_uint64(::X509_get_serialNumber(it), number >> 1 | 1) == 1 &&
       ::X509_gmtime_adj(::X509_getm_notBefore(it), -valid_before_s) != nullptr &&
       ::X509_gmtime_adj(::X509_getm_notAfter(it), valid_after_s) != nullptr &&
       ::X509_set_pubkey(it, key) == 1 &&
       ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1 &&
       ::X509_set_issuer_name(it, name) == 1 && ::X509_sign(it, key, ::EVP_sha256()) > 0);
  return certificate;
}

}  // namespace

OwnCertificate make_own_certificate() {
  const KeyPtr key(::EVP_EC_gen("P-256"));
  need(key != nullptr);
  const CertificatePtr certificate = make_certificate(key.get());
  const BioPtr key_text(::BIO_new(::BIO_s_mem()));
  const BioPtr certificate_text(::BIO_new(::BIO_s_mem()));
  need(key_text && certificate_text &&
       ::PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                  nullptr) == 1 &&
       ::PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1);
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  need(::X509_digest(certificate.get(), ::EVP_sha256(), digest.data(), &size) == 1);
  return {text_in(key_text.get()), text_in(certificate_text.get()),
          to_hex(std::span(digest).first(size))};
}

}  // namespace cloche::http
