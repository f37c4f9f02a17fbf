// SPDX-License-Identifier: Apache-2.0
#include "cluster/hop.h"

#include <gtest/gtest.h>

namespace cloche::cluster {
namespace {

bool is_plain(std::string target) {
  http::Request request;
  request.target = std::move(target);
  return has_plain_path(request);
}

TEST(Hop, APathThatSomebodyMayFoldIsNotPassedOn) {
  for (const char* target :
       {"/sessions/ID/../../cell/keys/7", "/sessions/ID/..", "/sessions/ID/./files", "/..",
        "/sessions/ID/%2e%2E/x", "/sessions/ID/.%2e/x", "/sessions/ID%2f..%2Fcell",
        "/sessions/ID\\..\\cell", "/sessions/ID%5C..%5ccell", "/sessions/ID/..?x=1", "/v1/%2e"})
    EXPECT_FALSE(is_plain(target)) << target;
  for (const char* target :
       {"", "/", "/sessions", "/sessions/ID/files?path=../x", "/sessions/ID/commands",
        "/v1/sessions/ID/v1.2/...", "/sessions/ID/..x", "/sessions/ID/x..", "/sessions/%2", "/%",
        "/sessions/ID/.hidden", "/sessions/ID#/../x"})
    EXPECT_TRUE(is_plain(target)) << target;
}

}  // namespace
}  // namespace cloche::cluster
