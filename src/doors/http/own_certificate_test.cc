// SPDX-License-Identifier: Apache-2.0
#include "doors/http/own_certificate.h"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

TEST(OwnCertificate, IsAnotherOneEachTime) {
  const OwnCertificate one = make_own_certificate();
  const OwnCertificate other = make_own_certificate();
  EXPECT_TRUE(one.key.starts_with("-----BEGIN PRIVATE KEY-----\n"));
  EXPECT_TRUE(one.certificate.starts_with("-----BEGIN CERTIFICATE-----\n"));
  EXPECT_EQ(one.fingerprint.size(), 64U);
  EXPECT_NE(one.fingerprint, other.fingerprint);
  EXPECT_NE(one.key, other.key);
}

}  // namespace
}  // namespace cloche::http
