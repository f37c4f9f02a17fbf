// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools/text_edit.h"

#include <gtest/gtest.h>

#include "doors/mcp/tool_error.h"

namespace cloche::mcp {
namespace {

std::string fault_of(std::string_view text, std::string_view old_text) {
  try {
    (void)edit_text("f", text, old_text, "new", Replace::one);
    return {};
  } catch (const ToolError& error) {
    return error.sentence;
  }
}

TEST(EditText, SaysWhatHasChanged) {
  const Edit edit = edit_text("f", "a\nb\nc\nd\ne\n", "c", "C", Replace::one);
  EXPECT_EQ(edit.text, "a\nb\nC\nd\ne\n");
  EXPECT_EQ(edit.diff, "@@ -1,5 +1,5 @@\n a\n b\n-c\n+C\n d\n e\n");
  EXPECT_EQ(edit.first_line, 3U);
}

TEST(EditText, LinesThatJoinAreOneChange) {
  const Edit edit = edit_text("f", "a\nb\nc\n", "a\n", "x", Replace::one);
  EXPECT_EQ(edit.text, "xb\nc\n");
  EXPECT_EQ(edit.diff, "@@ -1,3 +1,2 @@\n-a\n-b\n+xb\n c\n");
  const Edit all = edit_text("f", "a\na\na", "\n", "", Replace::all);
  EXPECT_EQ(all.text, "aaa");
  EXPECT_EQ(all.replacements, 2U);
  EXPECT_EQ(all.diff,
            "@@ -1,3 +1 @@\n-a\n-a\n-a\n\\ No newline at end of file\n+aaa\n\\ No newline at end "
            "of file\n");
}

TEST(EditText, WholeLinesThatGo) {
  EXPECT_EQ(edit_text("f", "a\nb\nc\n", "b\n", "", Replace::one).diff,
            "@@ -1,3 +1,2 @@\n a\n-b\n c\n");
  EXPECT_EQ(edit_text("f", "a\n", "a\n", "", Replace::one).diff, "@@ -1 +0,0 @@\n-a\n");
}

TEST(EditText, KeepsLineEnds) {
  EXPECT_EQ(edit_text("f", "a\r\nb\r\n", "a\nb", "x\ny", Replace::one).text, "x\r\ny\r\n");
  EXPECT_EQ(edit_text("f", "a\r\nb\r\n", "a", "x\ny", Replace::one).text, "x\r\ny\r\nb\r\n");
  EXPECT_EQ(edit_text("f", "a\nb\n", "a", "x\ny", Replace::one).text, "x\ny\nb\n");
}

TEST(EditText, ThatCannotBeDoneSaysWhy) {
  EXPECT_EQ(fault_of("x = 1\nx = 1\n", "x = 1"),
            "old_text is in f 2 times: give more of what is around it, or replace_all");
  EXPECT_EQ(fault_of("def f():\n  return a + b\n", "return a * b"),
            "old_text is not in f; the nearest is line 2: return a + b");
  EXPECT_EQ(fault_of("", "x"), "old_text is not in f: read the file again");
  EXPECT_NE(fault_of("x", ""), "");
}

TEST(EditText, ChangesThatAreFarApartStandApart) {
  std::string text;
  for (int line = 1; line <= 30; ++line) text += std::to_string(line) + "\n";
  const Edit edit = edit_text("f", "x\n" + text + "x\n", "x", "y", Replace::all);
  EXPECT_EQ(edit.diff,
            "@@ -1,4 +1,4 @@\n-x\n+y\n 1\n 2\n 3\n@@ -29,4 +29,4 @@\n 28\n 29\n 30\n-x\n+y\n");
}

}  // namespace
}  // namespace cloche::mcp
