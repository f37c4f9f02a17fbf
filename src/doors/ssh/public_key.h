// SPDX-License-Identifier: Apache-2.0
// Public keys as OpenSSH writes them in a line: TYPE BASE64 COMMENT.
#pragma once

#include <string>

struct ssh_key_struct;

namespace cloche::ssh {

// Of a type that may log in: ed25519, ecdsa, rsa.
bool is_public_key(const std::string& line);

// Whether `key` is the one of the line.
bool is_same_key(const std::string& line, ssh_key_struct* key);

}  // namespace cloche::ssh
