// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/code_kernel.h"

#include <gtest/gtest.h>

namespace cloche::e2b {
namespace {

TEST(CodeKernel, LanguagesHaveTheNamesThatClientsUse) {
  EXPECT_EQ(code_language("js"), CodeLanguage::javascript);
  EXPECT_EQ(code_language("ts"), CodeLanguage::typescript);
  EXPECT_EQ(name_of(CodeLanguage::typescript), "typescript");
  EXPECT_EQ(code_language("python"), CodeLanguage::python);
  EXPECT_EQ(code_language("cobol"), std::nullopt);
  EXPECT_EQ(name_of(CodeLanguage::bash), "bash");
}

TEST(CodeKernel, ARequestIsAsManyLinesAsItsKernelReads) {
  EXPECT_EQ(kernel_request(CodeLanguage::python, "m", "a\n'b'", {{"A", "1\n"}}),
            "{\"code\":\"a\\n'b'\",\"mark\":\"m\",\"env\":{\"A\":\"1\\n\"}}\n");
  EXPECT_EQ(kernel_request(CodeLanguage::bash, "m", "a\n'b' \\", {}),
            "m\n$''\n$'a\\n\\'b\\' \\\\'\n$''\n");
}

}  // namespace
}  // namespace cloche::e2b
