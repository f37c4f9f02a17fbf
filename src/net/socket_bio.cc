// SPDX-License-Identifier: Apache-2.0
#include "net/socket_bio.h"

#include <openssl/bio.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace cloche::net {
namespace {

int fd_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

bool may_try_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int write(BIO* bio, const char* data, int size) {
  const ssize_t count = send(fd_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (count < 0 && may_try_again()) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int read(BIO* bio, char* to, int size) {
  const ssize_t count = recv(fd_of(bio), to, static_cast<std::size_t>(size), 0);
  BIO_clear_retry_flags(bio);
  if (count < 0 && may_try_again()) BIO_set_retry_read(bio);
  if (count == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(count);
}

long control(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_EOF: return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    case BIO_CTRL_FLUSH: return 1;  // nothing is held back
    default: return 0;
  }
}

BIO_METHOD* make_method() {
  BIO_METHOD* method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
  CLOCHE_CHECK(method != nullptr && BIO_meth_set_write(method, write) == 1 &&
               BIO_meth_set_read(method, read) == 1 && BIO_meth_set_ctrl(method, control) == 1);
  return method;
}

}  // namespace

bool use_socket(SSL* session, int fd) {
  // Never freed: sessions of an engine that is static end when the program does.
  static BIO_METHOD* const method = make_method();
  BIO* bio = BIO_new(method);
  if (bio == nullptr) return false;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session, bio, bio);
  return true;
}

}  // namespace cloche::net
