// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_plan.h"

#include <gtest/gtest.h>

namespace cloche::e2b {
namespace {

const std::string hash(64, 'a');

std::string fault_of(std::string_view body) {
  const auto read = read_plan(body);
  const auto* wrong = std::get_if<http::Response>(&read);
  return wrong ? wrong->body : std::string();
}

std::string with_step(const std::string& step) {
  return R"({"fromImage":"debian","steps":[)" + step + "]}";
}

TEST(TemplatePlan, ReadsWhatClientsSend) {
  const auto read = read_plan(R"({"fromImage":"python:3","force":false,"startCmd":"serve",
      "readyCmd":"true","steps":[
      {"type":"RUN","args":["make","root"],"force":false},
      {"type":"COPY","args":["src","/dst/","",""],"filesHash":")" +
                              hash + R"(","forceUpload":null},
      {"type":"ENV","args":["A","1","B",""]},
      {"type":"WORKDIR","args":["/app"]},{"type":"USER","args":["root"]}]})");
  const auto* plan = std::get_if<TemplatePlan>(&read);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->from_image, "python:3");
  EXPECT_EQ(plan->start_command, "serve");
  EXPECT_EQ(plan->ready_command, "true");
  ASSERT_EQ(plan->steps.size(), 5U);
  EXPECT_EQ(plan->steps[0].kind, TemplateStep::Kind::run);
  EXPECT_EQ(plan->steps[0].arguments, (std::vector<std::string>{"make", "root"}));
  EXPECT_EQ(plan->steps[1].files_hash, hash);
  EXPECT_EQ(plan->steps[2].arguments.size(), 4U);
}

TEST(TemplatePlan, BeginsWithOneOfTwo) {
  EXPECT_EQ(fault_of(R"({"fromTemplate":"base"})"), "");
  EXPECT_NE(fault_of("{}"), "");
  EXPECT_NE(fault_of(R"({"fromTemplate":"base","fromImage":"debian"})"), "");
  EXPECT_NE(fault_of(R"({"fromTemplate":7})"), "");
}

TEST(TemplatePlan, SaysWhichStepIsWrongAndWhy) {
  for (const auto& [step, words] : std::vector<std::pair<std::string, std::string>>{
           {"7", "object"},
           {R"({"args":[]})", "type"},
           {R"({"type":"SHELL","args":["x"]})", "RUN, COPY"},
           {R"({"type":"RUN"})", "args"},
           {R"({"type":"RUN","args":[]})", "1 to 2"},
           {R"({"type":"RUN","args":[""]})", "command"},
           {R"({"type":"RUN","args":[7]})", "strings"},
           {R"({"type":"RUN","args":["a\u0000b"]})", "NUL"},
           {R"({"type":"RUN","args":["true","eve"]})", "eve"},
           {R"({"type":"USER","args":[""]})", "users"},
           {R"({"type":"COPY","args":["a","b"]})", "filesHash"},
           {R"({"type":"COPY","args":["a","b"],"filesHash":"../../etc"})", "filesHash"},
           {R"({"type":"COPY","args":["a","b","eve:eve"],"filesHash":")" + hash + "\"}", "eve"},
           {R"({"type":"COPY","args":["a","b","","rwx"],"filesHash":")" + hash + "\"}", "octal"},
           {R"({"type":"ENV","args":["A","1","B"]})", "value"},
           {R"({"type":"ENV","args":["A=B","1"]})", "name"},
           {R"({"type":"WORKDIR","args":[""]})", "folder"}}) {
    const std::string fault = fault_of(with_step(step));
    EXPECT_NE(fault.find("steps[0]"), std::string::npos) << step;
    EXPECT_NE(fault.find(words), std::string::npos) << step << ": " << fault;
  }
  EXPECT_NE(fault_of(R"({"fromImage":"x","steps":{}})"), "");
}

}  // namespace
}  // namespace cloche::e2b
