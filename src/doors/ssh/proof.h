// SPDX-License-Identifier: Apache-2.0
// Proof: what somebody who logs in has shown: a password, or a public key whose other half he has.
#pragma once

#include <cstdint>
#include <string>

#include "doors/http/token_store.h"
#include "session/session_facts.h"

struct ssh_key_struct;

namespace cloche::ssh {

struct Proof {
  enum class Kind : std::uint8_t { password, key };
  Kind kind = Kind::password;
  std::string text;  // the password; or the key as in a line of OpenSSH's, TYPE BASE64
};

// Empty text where the key cannot be written.
Proof proof_of_key(ssh_key_struct* key);

// Whether it opens that session. `password` opens every one; empty: there is none such.
bool opens(const Proof& proof, const session::Facts& session, const http::TokenStore& tokens,
           const std::string& password);

}  // namespace cloche::ssh
