// SPDX-License-Identifier: Apache-2.0
#include "session/cell_key.h"

#include <gtest/gtest.h>

#include <set>

namespace cloche::session {
namespace {

TEST(CellKey, IsInTheIdThatStaysAUuidOfVersion4) {
  for (const CellKey cell : {CellKey{1}, CellKey{10}, CellKey{0x4a7f}, CellKey{65535}}) {
    const std::string id = new_session_id(cell);
    EXPECT_EQ(id.size(), 36U);
    EXPECT_EQ(id[14], '4');
    EXPECT_NE(std::string_view("89ab").find(id[19]), std::string_view::npos);
    EXPECT_EQ(cell_of(id), cell);
  }
  EXPECT_TRUE(new_session_id(0x4a7f).ends_with("4a7f"));
}

TEST(CellKey, IdsOfOneCellDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 10'000; ++i) ids.insert(new_session_id(7));
  EXPECT_EQ(ids.size(), 10'000U);
}

TEST(CellKey, IsOfNothingElse) {
  EXPECT_EQ(cell_of(""), std::nullopt);
  EXPECT_EQ(cell_of("nonesuch"), std::nullopt);
  const std::string good = "01234567-89ab-4cde-8f01-234567890003";
  EXPECT_EQ(cell_of(good), CellKey{3});
  EXPECT_EQ(cell_of("01234567-89ab-4cde-8f01-234567890000"), std::nullopt);
  EXPECT_EQ(cell_of("01234567-89ab-4cde-8f01-23456789000G"), std::nullopt);
  EXPECT_EQ(cell_of("01234567-89ab-1cde-8f01-234567890003"), std::nullopt);
  EXPECT_EQ(cell_of("01234567-89ab-4cde-cf01-234567890003"), std::nullopt);
  EXPECT_EQ(cell_of("01234567-89AB-4CDE-8F01-234567890003"), std::nullopt);
  EXPECT_EQ(cell_of("01234567x89ab-4cde-8f01-234567890003"), std::nullopt);
  EXPECT_EQ(cell_of(good + "0"), std::nullopt);
}

}  // namespace
}  // namespace cloche::session
