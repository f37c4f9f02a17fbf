// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/target.h"

#include <gtest/gtest.h>

namespace cloche::e2b {
namespace {

const std::string id = "abcdefghij0123456789";

http::Request request(const std::string& path, http::Fields fields, const std::string& query = "") {
  http::Request head;
  head.path = path;
  head.query = query;
  head.fields = std::move(fields);
  return head;
}

Target::Kind kind_of(const std::string& path, http::Fields fields = {},
                     const std::string& query = "") {
  return target_of(request(path, std::move(fields), query)).kind;
}

TEST(E2bTarget, TheHostNamesAPortOfASandbox) {
  const Target target = target_of(request("/x", {{"Host", "49983-" + id + ".any.where:80"}}));
  EXPECT_EQ(target.kind, Target::Kind::port);
  EXPECT_EQ(target.id, id);
  EXPECT_EQ(target.port, agent_port);
  for (const std::string& host :
       {"49983-" + id, "0-" + id + ".a", "65536-" + id + ".a", "-1-" + id + ".a", "x-" + id + ".a",
        "80-" + id + "x.a", std::string("80-ABCDEFGHIJ0123456789.a"), id + ".a",
        std::string("80-.a")})
    EXPECT_EQ(kind_of("/x", {{"Host", host}}), Target::Kind::none) << host;
}

TEST(E2bTarget, OrTwoHeadersDo) {
  const Target target =
      target_of(request("/metrics", {{"e2b-sandbox-id", "debug"}, {"E2B-SANDBOX-PORT", "8000"}}));
  EXPECT_EQ(target.kind, Target::Kind::port);
  EXPECT_EQ(target.id, "debug");
  EXPECT_EQ(target.port, 8000);
  EXPECT_EQ(kind_of("/", {{"E2b-Sandbox-Id", id}}), Target::Kind::broken);
  EXPECT_EQ(kind_of("/", {{"E2b-Sandbox-Port", "1"}}), Target::Kind::broken);
  EXPECT_EQ(kind_of("/", {{"E2b-Sandbox-Id", id}, {"E2b-Sandbox-Port", "no"}}),
            Target::Kind::broken);
}

TEST(E2bTarget, OrASignatureOrThePath) {
  EXPECT_EQ(kind_of("/files", {}, "path=a&signature=b"), Target::Kind::signed_address);
  EXPECT_EQ(kind_of("/files", {}, "path=a"), Target::Kind::none);
  for (const char* path : {"/sandboxes", "/v2/sandboxes", "/sandboxes/x/pause", "/snapshots"})
    EXPECT_EQ(kind_of(path), Target::Kind::rest) << path;
  for (const char* path : {"/", "/sandboxes2", "/v1/sessions", "/sessions", "/metrics", "/health"})
    EXPECT_EQ(kind_of(path), Target::Kind::none) << path;
}

}  // namespace
}  // namespace cloche::e2b
