// SPDX-License-Identifier: Apache-2.0
// Files up and down as they are: /files of the agent, also by addresses that are signed with the
// sandbox's token.
#pragma once

#include "doors/e2b/boxes.h"
#include "doors/http/message.h"

namespace cloche::e2b {

http::Response download(const BoxPtr& box, session::Session::Use use, const http::Request& request);
http::Response upload(Sandbox& sandbox, const http::Request& request);

// Whether the request's signature is of this sandbox, for this path and use.
enum class Signature : std::uint8_t { good, wrong, expired };
Signature signature_in(const Box& box, const http::Request& request);
// The running sandbox that it is of, expired or not; null where there is none.
BoxPtr find_signer(const Boxes& boxes, const http::Request& request);

// v1_ and base64 without padding of the SHA-256 of PATH:OPERATION:NAME:TOKEN[:EXPIRATION].
std::string signature_of(std::string_view path, std::string_view operation, std::string_view name,
                         std::string_view token, std::string_view expiration);

}  // namespace cloche::e2b
