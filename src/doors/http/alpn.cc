// SPDX-License-Identifier: Apache-2.0
#include "doors/http/alpn.h"

namespace cloche::http {
namespace {

// As ALPN has a list: each name behind its length.
constexpr std::string_view http2_first = "\x02h2\x08http/1.1";
constexpr std::string_view http1_alone = "\x08http/1.1";

int choose(SSL* connection, const unsigned char** chosen, unsigned char* chosen_size,
           const unsigned char* asked, unsigned asked_size, void* user_data) noexcept {
  const char* name = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
  const bool offers = (*static_cast<const OffersHttp2*>(user_data))(name ? name : "");
  const std::string_view ours = offers ? http2_first : http1_alone;
  unsigned char* found = nullptr;
  const int status = SSL_select_next_proto(&found, chosen_size,
                                           reinterpret_cast<const unsigned char*>(ours.data()),
                                           static_cast<unsigned>(ours.size()), asked, asked_size);
  *chosen = found;
  // A client that asks only for others may still know HTTP/1.1.
  return status == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

void offer_protocols(SSL_CTX* context, const OffersHttp2& offers) {
  SSL_CTX_set_alpn_select_cb(context, choose, const_cast<OffersHttp2*>(&offers));
}

bool is_http2(const SSL* connection) {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(connection, &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

}  // namespace cloche::http
