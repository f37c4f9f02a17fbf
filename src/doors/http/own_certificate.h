// SPDX-License-Identifier: Apache-2.0
// OwnCertificate: a key and a certificate that a server makes for itself, and that live as long as
// it does. Nobody vouches for it: its clients are told its fingerprint by a way that they trust.
#pragma once

#include <string>

namespace cloche::http {

struct OwnCertificate {
  std::string key;          // PEM
  std::string certificate;  // PEM
  std::string fingerprint;  // SHA-256 of the certificate as it is sent, in hex
};

// Throws HostError.
OwnCertificate make_own_certificate();

}  // namespace cloche::http
