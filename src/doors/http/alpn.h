// SPDX-License-Identifier: Apache-2.0
// ALPN: client and server agree on HTTP/2 or HTTP/1.1 within the handshake of TLS.
#pragma once

#include <openssl/ssl.h>

#include <functional>
#include <string_view>

namespace cloche::http {

// Whether HTTP/2 is offered to who asks for that name (empty: for none). Called on threads of the
// server.
using OffersHttp2 = std::function<bool(std::string_view server_name)>;

// `offers` outlives all connections of the context.
void offer_protocols(SSL_CTX* context, const OffersHttp2& offers);

bool is_http2(const SSL* connection);

}  // namespace cloche::http
