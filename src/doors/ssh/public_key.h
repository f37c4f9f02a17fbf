// SPDX-License-Identifier: Apache-2.0
// Public keys as OpenSSH writes them in a line: TYPE BASE64 COMMENT.
#pragma once

#include <string>

namespace cloche::ssh {

// Of a type that may log in: ed25519, ecdsa, rsa.
bool is_public_key(const std::string& line);

// Whether both lines have the same key, of such a type.
bool are_same_keys(const std::string& one, const std::string& other);

}  // namespace cloche::ssh
