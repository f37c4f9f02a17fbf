// SPDX-License-Identifier: Apache-2.0
// docs/python-replaced.md names each module of the interpreter's side, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace cloche::python {
namespace {

const std::filesystem::path source = CLOCHE_SOURCE_DIR;

// What stands between backquotes in the first column of the page's tables.
std::set<std::string> modules_of_the_page() {
  std::set<std::string> names;
  std::ifstream page(source / "docs/python-replaced.md");
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    std::istringstream column(line.substr(2, line.find(" |", 2) - 2));
    for (std::string word; std::getline(column, word, '`');) {
      if (!word.empty() && word != ", ") names.insert(word);
    }
  }
  return names;
}

TEST(ReplacedPage, NamesEachModule) {
  std::set<std::string> modules;
  for (const auto& entry :
       std::filesystem::directory_iterator(source / "userland/python/lib/_cloche")) {
    if (entry.path().extension() == ".py") modules.insert(entry.path().stem().string());
  }
  ASSERT_GT(modules.size(), 20U);
  EXPECT_EQ(modules_of_the_page(), modules);
}

}  // namespace
}  // namespace cloche::python
