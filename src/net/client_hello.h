// SPDX-License-Identifier: Apache-2.0
// What two extensions of TLS's ClientHello say (RFC 6066, RFC 7301), as OpenSSL has found them in
// one: it reads all else.
#pragma once

#include <string_view>

namespace cloche::net {

// The name that a server_name extension has; empty for none, more than one, and what is none.
std::string_view read_server_name(std::string_view extension);

// Whether an extension of protocols (ALPN) has this one.
bool offers_protocol(std::string_view extension, std::string_view protocol);

}  // namespace cloche::net
