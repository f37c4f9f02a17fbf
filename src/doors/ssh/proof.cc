// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/proof.h"

#include <fmt/format.h>
#include <libssh/libssh.h>

#include <memory>
#include <optional>

#include "base/constant_time.h"
#include "doors/ssh/public_key.h"

namespace cloche::ssh {
namespace {

struct FreeText {
  void operator()(char* text) const { ::ssh_string_free_char(text); }
};

bool is_good_password(const std::string& given, const session::Facts& session,
                      const http::TokenStore& tokens, const std::string& password) {
  if (!password.empty() && is_same_secret(given, password)) return true;
  // The bearer token of whom the session belongs to. With no tokens at all there is nothing to
  // know: then a session with a key is for who has the key.
  const std::optional<std::string> owner = tokens.owner_of(given);
  const bool by_token = !tokens.empty() || session.ssh_public_key.empty();
  return by_token && owner && *owner == session.owner;
}

}  // namespace

Proof proof_of_key(ssh_key key) {
  char* base64 = nullptr;
  if (::ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) return {Proof::Kind::key, {}};
  const std::unique_ptr<char, FreeText> freed(base64);
  const char* type = ::ssh_key_type_to_char(::ssh_key_type(key));
  return {Proof::Kind::key, type ? fmt::format("{} {}", type, base64) : std::string()};
}

bool opens(const Proof& proof, const session::Facts& session, const http::TokenStore& tokens,
           const std::string& password) {
  if (proof.kind == Proof::Kind::password)
    return is_good_password(proof.text, session, tokens, password);
  return !session.ssh_public_key.empty() && are_same_keys(session.ssh_public_key, proof.text);
}

}  // namespace cloche::ssh
