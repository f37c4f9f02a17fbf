// SPDX-License-Identifier: Apache-2.0
#include "net/socket_bio.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <sys/socket.h>

#include <csignal>
#include <memory>
#include <string>

#include "base/unique_fd.h"

namespace cloche::net {
namespace {

class SocketBio : public testing::Test {
 protected:
  SocketBio() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
    context_.reset(SSL_CTX_new(TLS_client_method()));
    session_.reset(SSL_new(context_.get()));
    EXPECT_TRUE(use_socket(session_.get(), ours_.get()));
    bio_ = SSL_get_wbio(session_.get());
  }

  UniqueFd ours_, theirs_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> session_{nullptr, SSL_free};
  BIO* bio_ = nullptr;
};

TEST_F(SocketBio, BytesGoBothWaysAndNothingYetIsNoEnd) {
  char byte = 0;
  EXPECT_EQ(BIO_read(bio_, &byte, 1), -1);
  EXPECT_TRUE(BIO_should_read(bio_));
  EXPECT_FALSE(BIO_eof(bio_));
  EXPECT_EQ(BIO_write(bio_, "a", 1), 1);
  EXPECT_EQ(recv(theirs_.get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'a');
  EXPECT_EQ(send(theirs_.get(), "b", 1, 0), 1);
  EXPECT_EQ(BIO_read(bio_, &byte, 1), 1);
  EXPECT_EQ(byte, 'b');
}

TEST_F(SocketBio, AFullSocketIsToBeTriedAgain) {
  const std::string much(std::size_t{1} << 16, 'x');
  int count = 0;
  while ((count = BIO_write(bio_, much.data(), static_cast<int>(much.size()))) > 0) {
  }
  EXPECT_EQ(count, -1);
  EXPECT_TRUE(BIO_should_write(bio_));
}

TEST_F(SocketBio, APeerThatHasGoneIsAnErrorAndNoSignal) {
  theirs_ = UniqueFd();
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(BIO_write(bio_, "a", 1), -1);
  EXPECT_FALSE(BIO_should_retry(bio_));
  char byte = 0;
  EXPECT_EQ(BIO_read(bio_, &byte, 1), 0);
  EXPECT_TRUE(BIO_eof(bio_));
}

}  // namespace
}  // namespace cloche::net
