// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/run_request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

namespace cloche::grading {
namespace {

using namespace std::chrono_literals;

RunRequest good(std::string_view body) {
  auto read = read_run_request(body);
  if (const auto* bad = std::get_if<BadRequest>(&read)) ADD_FAILURE() << bad->sentence;
  return std::get<RunRequest>(std::move(read));
}

std::string fault(std::string_view body) {
  auto read = read_run_request(body);
  const auto* bad = std::get_if<BadRequest>(&read);
  return bad ? bad->sentence : "";
}

TEST(RunRequestTest, TakesWhatClientsSend) {
  const RunRequest plain = good(R"x({"code":"print(1)","language":"python"})x");
  EXPECT_EQ(plain.program, "python3") << "the first one of the PATH";
  EXPECT_EQ(plain.file_name, "main.py");
  EXPECT_EQ(plain.timeout, 10s);
  EXPECT_EQ(plain.memory_limit_bytes, 0U);
  EXPECT_EQ(plain.input, "");
  const RunRequest full = good(
      R"({"code":"x","language":"bash","compile_timeout":1.5,"run_timeout":0.25,"memory_limit_MB":512,
          "stdin":"in","files":{"a/b":"AAE=","none":null},"fetch_files":["a/b"],"args":[]})");
  EXPECT_EQ(full.timeout, 250ms);
  EXPECT_EQ(full.memory_limit_bytes, 512ULL << 20);
  EXPECT_EQ(full.input, "in");
  EXPECT_EQ(full.files.size(), 1U);
  EXPECT_EQ(full.files.at("a/b"), std::string("\0\1", 2));
  EXPECT_EQ(full.fetch_files, std::vector<std::string>{"a/b"});
  EXPECT_GE(full.bytes(), 2U + 3U + 2U + 1U);
  EXPECT_EQ(good(R"({"code":"","language":"nodejs","memory_limit_MB":-1,"stdin":null})")
                .memory_limit_bytes,
            0U);
}

TEST(RunRequestTest, SaysWhatIsWrong) {
  for (const char* body : {"",
                           "{",
                           "7",
                           "[]",
                           R"({"language":"python"})",
                           R"({"code":"x"})",
                           R"({"code":7,"language":"bash"})",
                           R"({"code":"x","language":"cobol"})",
                           R"({"code":"x","language":"bash","run_timeout":0})",
                           R"({"code":"x","language":"bash","run_timeout":-1})",
                           R"({"code":"x","language":"bash","run_timeout":1e9})",
                           R"({"code":"x","language":"bash","run_timeout":"1"})",
                           R"({"code":"x","language":"bash","stdin":1})",
                           R"({"code":"x","language":"bash","memory_limit_MB":1.5})",
                           R"({"code":"x","language":"bash","files":[]})",
                           R"({"code":"x","language":"bash","files":{"a":"?"}})",
                           R"({"code":"x","language":"bash","files":{"":"AA=="}})",
                           R"({"code":"x","language":"bash","files":{"a\u0000b":"AA=="}})",
                           R"({"code":"x","language":"bash","fetch_files":"a"})",
                           R"({"code":"x","language":"bash","fetch_files":[7]})"})
    EXPECT_NE(fault(body), "") << body;
  EXPECT_NE(fault(R"({"code":"x","language":"rust"})").find("python, bash and nodejs"),
            std::string::npos);
}

TEST(RunRequestTest, ABatchIsAListOfThem) {
  const auto read =
      read_batch(R"({"requests":[{"code":"a","language":"bash"},{"code":"b","language":"bash"}]})");
  ASSERT_TRUE(std::holds_alternative<std::vector<RunRequest>>(read));
  EXPECT_EQ(std::get<std::vector<RunRequest>>(read).at(1).code, "b");
  for (const char* body : {"[]", "{}", R"({"requests":7})", R"({"requests":[{"code":"a"}]})"})
    EXPECT_TRUE(std::holds_alternative<BadRequest>(read_batch(body))) << body;
  std::string many = R"({"requests":[)";
  for (std::size_t i = 0; i <= batch_limit; ++i)
    many += fmt::format(R"({}{{"code":"","language":"bash"}})", i ? "," : "");
  EXPECT_TRUE(std::holds_alternative<BadRequest>(read_batch(many + "]}")));
}

TEST(RunRequestTest, AnswersAsClientsReadIt) {
  RunVerdict verdict;
  verdict.outcome = Outcome::finished;
  verdict.return_code = 0;
  verdict.out = "1\n\xff";
  verdict.duration = 1500ms;
  verdict.files.emplace("a", "x");
  EXPECT_EQ(
      to_json(verdict),
      R"({"status":"Success","message":"","compile_result":null,"run_result":{"status":"Finished",)"
      R"("execution_time":1.5,"return_code":0,"stdout":"1\n)"
      "\xef\xbf\xbd"
      R"(","stderr":""},)"
      R"("executor_pod_name":null,"files":{"a":"eA=="}})");
  verdict.return_code = -9;
  EXPECT_NE(to_json(verdict).find(R"({"status":"Failed")"), std::string::npos);
  verdict.outcome = Outcome::time_limit_exceeded;
  verdict.return_code = std::nullopt;
  EXPECT_NE(to_json(verdict).find(R"("status":"TimeLimitExceeded")"), std::string::npos);
  EXPECT_NE(to_json(verdict).find(R"({"status":"Failed")"), std::string::npos);
  EXPECT_NE(to_json({}).find(R"({"status":"SandboxError")"), std::string::npos);
}

}  // namespace
}  // namespace cloche::grading
