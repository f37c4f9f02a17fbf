// SPDX-License-Identifier: Apache-2.0
// How OpenSSL reads and writes a socket of ours. Its own way writes so that a peer that has gone
// sends SIGPIPE to the thread, which ends a program that does not expect it; this one does not.
#pragma once

#include <openssl/ssl.h>

namespace cloche::net {

// The session reads and writes `fd`, which stays its owner's to close. False without memory.
bool use_socket(SSL* session, int fd);

}  // namespace cloche::net
