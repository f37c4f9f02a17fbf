// SPDX-License-Identifier: Apache-2.0
// The table of methods in docs/rpc.md is the one of methods.cc. CLOCHE_WRITE_DOCS=1 in the
// environment writes it anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "doors/rpc/methods.h"

namespace cloche::rpc {
namespace {

constexpr std::string_view head = "| method | parameters | result |\n|---|---|---|\n";

std::string rows() {
  std::string text;
  for (const Method& method : methods())
    text += fmt::format("| `{}` | {}{}| {} |\n", method.name, method.parameters,
                        method.parameters.empty() ? "" : " ", method.result);
  return text;
}

TEST(MethodsPage, SaysWhatTheTableSays) {
  const std::string path = CLOCHE_SOURCE_DIR "/docs/rpc.md";
  std::string page;
  {
    std::ifstream file(path);
    page.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::size_t found = page.find(head);
  ASSERT_NE(found, page.npos);
  const std::size_t start = found + head.size();
  const std::size_t end = page.find("\n\n", start) + 1;
  if (std::getenv("CLOCHE_WRITE_DOCS") != nullptr)
    std::ofstream(path) << page.replace(start, end - start, rows());
  EXPECT_EQ(page.substr(start, rows().size()), rows())
      << "write it anew: CLOCHE_WRITE_DOCS=1 rpc_test --gtest_filter=MethodsPage.*";
  EXPECT_EQ(page.substr(start + rows().size(), 1), "\n");
}

TEST(MethodsPage, EachMethodIsThereOnceAndSaysWhatItAnswers) {
  std::set<std::string_view> names;
  for (const Method& method : methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_FALSE(method.result.empty()) << method.name;
  }
}

}  // namespace
}  // namespace cloche::rpc
