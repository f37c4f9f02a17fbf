// SPDX-License-Identifier: Apache-2.0
#include "native/images/reference.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "native/images/auth_challenge.h"
#include "native/images/manifest.h"

namespace cloche::images {
namespace {

const std::string digits(64, 'a');

TEST(Reference, HasARegistryARepositoryAndAVersion) {
  const auto whole = [](std::string_view text) { return Reference::parse(text).text(); };
  EXPECT_EQ(whole("debian"), "docker.io/library/debian:latest");
  EXPECT_EQ(whole("docker.io/debian:12"), "docker.io/library/debian:12");
  EXPECT_EQ(whole("docker://a/b"), "docker.io/a/b:latest");
  EXPECT_EQ(whole("localhost/b"), "localhost/b:latest");
  EXPECT_EQ(whole("Host.io/b"), "host.io/b:latest");
  EXPECT_EQ(whole("127.0.0.1:5000/a/b_c/d__e/f---g.h:T_1.x-y"),
            "127.0.0.1:5000/a/b_c/d__e/f---g.h:T_1.x-y");
  EXPECT_EQ(whole("a@sha256:" + digits), "docker.io/library/a@sha256:" + digits);
  const Reference both = Reference::parse("h.io/a:1@sha256:" + digits);
  EXPECT_EQ(both.version(), "sha256:" + digits);
  EXPECT_EQ(both.tag, "1");
}

TEST(Reference, AnythingElseIsRefused) {
  for (const std::string& text : {std::string(),
                                  std::string("/"),
                                  std::string("a/"),
                                  std::string("A"),
                                  std::string("a_"),
                                  std::string("a..b"),
                                  std::string("a___b"),
                                  std::string("-a"),
                                  std::string("a:"),
                                  std::string("a:-b"),
                                  std::string("h.io:x/a"),
                                  std::string("h..io/a"),
                                  std::string("h.io:123456/a"),
                                  std::string("[::1]/a"),
                                  std::string("a b"),
                                  std::string("a\n"),
                                  std::string("a@"),
                                  std::string("a@sha256:12"),
                                  "a@sha256:" + std::string(64, 'A'),
                                  "a@sha256:" + digits + "@sha256:" + digits,
                                  "a:" + std::string(129, 'b'),
                                  std::string(256, 'a'),
                                  std::string(100'000, 'a')})
    EXPECT_THROW(Reference::parse(text), Error) << text.substr(0, 100);
}

TEST(AuthChallenges, AreReadAsTheStandardSays) {
  const auto all = parse_auth_challenges(
      R"(Negotiate abc==, BEARER Realm = "https://x/t?a=1,2" , service=reg,scope="a \"b\"", Basic)");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].scheme, "negotiate");
  EXPECT_EQ(all[1].scheme, "bearer");
  EXPECT_EQ(all[1].parameter("realm"), "https://x/t?a=1,2");
  EXPECT_EQ(all[1].parameter("service"), "reg");
  EXPECT_EQ(all[1].parameter("scope"), "a \"b\"");
  EXPECT_EQ(all[1].parameter("other"), "");
  EXPECT_EQ(all[2].scheme, "basic");
}

TEST(AuthChallenges, OfNonsenseThereIsLittle) {
  EXPECT_TRUE(parse_auth_challenges("").empty());
  EXPECT_TRUE(parse_auth_challenges(",,, ,").empty());
  EXPECT_TRUE(parse_auth_challenges("=x").empty());
  EXPECT_EQ(parse_auth_challenges("Bearer realm=\"open").front().parameter("realm"), "");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "S x=1,";
  EXPECT_EQ(parse_auth_challenges(many).size(), 16U);
}

TEST(Manifests, TheSizesOfBlobsAddUp) {
  const std::string blob = R"("digest":"sha256:)" + digits + "\"";
  const Manifest manifest = parse_manifest(
      R"({"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json",)" +
      blob + R"(,"size":7},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar",)" +
      blob + R"(,"size":3},{"mediaType":"application/vnd.oci.image.layer.v1.tar+zstd",)" + blob +
      R"(,"size":30}]})");
  EXPECT_FALSE(manifest.chosen);
  EXPECT_EQ(manifest.bytes(), 40U);
  ASSERT_EQ(manifest.layers.size(), 2U);
  EXPECT_EQ(manifest.layers[1].size, 30U);
}

}  // namespace
}  // namespace cloche::images
