// SPDX-License-Identifier: Apache-2.0
#include "net/certificate.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string>

namespace cloche::net {
namespace {

constexpr std::size_t alternatives_max = 1000;  // a certificate is bounded by the handshake anyway

std::string text_of(const ASN1_STRING* value) {
  unsigned char* bytes = nullptr;
  const int length = ASN1_STRING_to_UTF8(&bytes, value);
  if (length < 0) return {};
  std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
  OPENSSL_free(bytes);
  return text;
}

nlohmann::json name_of(const X509_NAME* name) {
  nlohmann::json parts = nlohmann::json::array();
  int set = -1;
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    std::array<char, 80> attribute{};
    OBJ_obj2txt(attribute.data(), attribute.size(), X509_NAME_ENTRY_get_object(entry), 0);
    if (X509_NAME_ENTRY_set(entry) != set) parts.push_back(nlohmann::json::array());
    set = X509_NAME_ENTRY_set(entry);
    parts.back().push_back({attribute.data(), text_of(X509_NAME_ENTRY_get_data(entry))});
  }
  return parts;
}

std::string time_of(const ASN1_TIME* time) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  if (out == nullptr || ASN1_TIME_print(out.get(), time) != 1) return {};
  char* data = nullptr;
  const long length = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(length)};
}

std::string address_of(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int length = ASN1_STRING_length(address);
  if (length != 4 && length != 16) return "<invalid>";
  inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text.data(),
            text.size());
  return text.data();
}

nlohmann::json alternatives_of(const GENERAL_NAMES* names) {
  nlohmann::json list = nlohmann::json::array();
  for (int i = 0; i < sk_GENERAL_NAME_num(names) && list.size() < alternatives_max; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    switch (name->type) {
      case GEN_DNS: list.push_back({"DNS", text_of(name->d.dNSName)}); break;
      case GEN_EMAIL: list.push_back({"email", text_of(name->d.rfc822Name)}); break;
      case GEN_URI: list.push_back({"URI", text_of(name->d.uniformResourceIdentifier)}); break;
      case GEN_IPADD: list.push_back({"IP Address", address_of(name->d.iPAddress)}); break;
      default: break;
    }
  }
  return list;
}

}  // namespace

nlohmann::json describe_certificate(const X509* certificate) {
  nlohmann::json info;
  info["subject"] = name_of(X509_get_subject_name(certificate));
  info["issuer"] = name_of(X509_get_issuer_name(certificate));
  info["version"] = X509_get_version(certificate) + 1;
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> serial(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr), &BN_free);
  if (char* hex = serial == nullptr ? nullptr : BN_bn2hex(serial.get()); hex != nullptr) {
    info["serialNumber"] = hex;
    OPENSSL_free(hex);
  }
  info["notBefore"] = time_of(X509_get0_notBefore(certificate));
  info["notAfter"] = time_of(X509_get0_notAfter(certificate));
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  if (names != nullptr) info["subjectAltName"] = alternatives_of(names.get());
  return info;
}

}  // namespace cloche::net
