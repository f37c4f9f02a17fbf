// SPDX-License-Identifier: Apache-2.0
// What a certificate says, as Python's ssl module tells of it (SSLSocket.getpeercert).
#pragma once

#include <openssl/x509.h>
#include <nlohmann/json.hpp>

namespace cloche::net {

// An object with subject, issuer, version, serialNumber, notBefore, notAfter and subjectAltName;
// what the certificate does not have is absent. Names are lists of lists of [attribute, value].
// Texts are the certificate's own bytes: they need not be UTF-8.
nlohmann::json describe_certificate(const X509* certificate);

}  // namespace cloche::net
