// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/signed_address.h"

#include <charconv>
#include <chrono>

#include "base/base64.h"
#include "base/constant_time.h"
#include "doors/e2b/target.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t number_max_bytes = 20;  // longer ones are no number of seconds

}  // namespace

SignedAddress::SignedAddress(const http::Request& request)
    : signature_(query_value(request, "signature").value_or("")),
      expiration_(query_value(request, "signature_expiration").value_or("")) {
  begin_.add(query_value(request, "path").value_or(""));
  begin_.add(request.method == "POST" ? ":write:" : ":read:");
  begin_.add(query_value(request, "username").value_or(""));
  begin_.add(":");
  if (expiration_.size() > number_max_bytes) signature_.clear();
}

std::string SignedAddress::signature_with(std::string_view token) const {
  Sha256 hash = begin_.copy();
  hash.add(token);
  if (!expiration_.empty()) {
    hash.add(":");
    hash.add(expiration_);
  }
  const auto digest = hash.end();
  std::string text = to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (text.ends_with('=')) text.pop_back();
  return "v1_" + text;
}

Signature SignedAddress::of(const Box& box) const {
  if (box.agent_token.empty() || signature_.empty() ||
      !is_same_secret(signature_, signature_with(box.agent_token)))
    return Signature::wrong;
  if (expiration_.empty()) return Signature::good;
  std::int64_t when = 0;
  const char* const text_end = expiration_.data() + expiration_.size();
  const auto [end, error] = std::from_chars(expiration_.data(), text_end, when);
  if (error != std::errc() || end != text_end) return Signature::wrong;
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  return when < now ? Signature::expired : Signature::good;
}

BoxPtr SignedAddress::find_signer(const Boxes& boxes) const {
  BoxPtr signer;
  if (signature_.empty()) return signer;
  for (const BoxPtr& box : boxes.all()) {
    if (of(*box) != Signature::wrong) signer = box;
  }
  return signer;
}

}  // namespace cloche::e2b
