// SPDX-License-Identifier: Apache-2.0
#include "doors/http/answer_memory.h"

#include <gtest/gtest.h>

#include "doors/http/body_source.h"
#include "doors/http/exchange_testing.h"

namespace cloche::http {
namespace {

// What a client got.
struct Got {
  std::vector<Response> answers;
  int blanks = 0;
  bool gone = false;  // nobody can answer any more
};

class RecordingExchange final : public UnexpectedExchange {
 public:
  explicit RecordingExchange(Got& got) : got_(got) {}
  ~RecordingExchange() override { got_.gone = true; }
  void send(Response response) override { got_.answers.push_back(std::move(response)); }
  void send_blanks_until_answer(std::chrono::milliseconds) override { ++got_.blanks; }

 private:
  Got& got_;
};

class AnswerMemoryTest : public ::testing::Test {
 protected:
  static Request request(const std::string& key, const std::string& body = "{}") {
    return {.method = "POST",
            .target = "/sessions/x/commands",
            .fields = {{"idempotency-key", key}},
            .body = body};
  }
  // The exchange to answer by; null: it is answered, or waits.
  std::shared_ptr<Exchange> ask(Got& got, const Request& request, std::string_view scope = "me",
                                std::string_view owner = "") {
    return memory_.admit(request, owner, scope, std::make_shared<RecordingExchange>(got),
                         [](int status, std::string_view reason) {
                           return text_response(status, std::string(reason));
                         });
  }
  static bool is_replayed(const Response& response) {
    for (const auto& [name, value] : response.fields) {
      if (name == "X-Cloche-Replayed") return value == "true";
    }
    return false;
  }

  void answer(const std::string& key, std::string_view scope, std::size_t bytes,
              std::string_view owner = "") {
    Got got;
    ask(got, request(key), scope, owner)->send(json_response(200, std::string(bytes, 'x')));
  }
  bool is_kept(const std::string& key, std::string_view scope, std::string_view owner = "") {
    Got got;
    return ask(got, request(key), scope, owner) == nullptr;
  }

  std::chrono::steady_clock::time_point now_{};
  AnswerMemory memory_{{.answers_of_scope = 3,
                        .answer_max_bytes = 1000,
                        .bytes = 10'000,
                        .age = std::chrono::hours(1)},
                       [this] { return now_; }};
};

TEST_F(AnswerMemoryTest, TheSecondAskerGetsTheFirstAnswer) {
  Got first;
  Got second;
  const auto exchange = ask(first, request("k"));
  ASSERT_NE(exchange, nullptr);
  exchange->send(json_response(200, "1"));
  EXPECT_EQ(ask(second, request("k")), nullptr);
  ASSERT_EQ(second.answers.size(), 1U);
  EXPECT_EQ(second.answers[0].body, "1");
  EXPECT_TRUE(is_replayed(second.answers[0]));
  EXPECT_FALSE(is_replayed(first.answers.at(0)));
}

TEST_F(AnswerMemoryTest, WithoutAKeyNothingIsKept) {
  Got got;
  Request plain = request("");
  plain.fields.clear();
  ask(got, plain)->send(json_response(200, "1"));
  EXPECT_NE(ask(got, plain), nullptr);
}

TEST_F(AnswerMemoryTest, KeysThatAreNoneAreRefused) {
  for (const std::string& key :
       {std::string("a b"), std::string("\xc3\xa4"), std::string(256, 'k')}) {
    Got got;
    EXPECT_EQ(ask(got, request(key)), nullptr);
    EXPECT_EQ(got.answers.at(0).status, 400);
  }
}

TEST_F(AnswerMemoryTest, WhoAsksMeanwhileWaits) {
  Got first;
  Got second;
  Got third;
  const auto exchange = ask(first, request("k"));
  EXPECT_EQ(ask(second, request("k")), nullptr);
  EXPECT_TRUE(second.answers.empty());
  exchange->send_blanks_until_answer(std::chrono::seconds(10));
  EXPECT_EQ(second.blanks, 1);
  EXPECT_EQ(ask(third, request("k")), nullptr);
  EXPECT_EQ(third.blanks, 1);
  exchange->send(json_response(200, "1"));
  for (const Got* got : {&first, &second, &third}) {
    ASSERT_EQ(got->answers.size(), 1U);
    EXPECT_EQ(got->answers[0].body, "1");
  }
}

TEST_F(AnswerMemoryTest, AnotherContentOrAskerIsAnotherRequest) {
  Got got;
  ask(got, request("k"))->send(json_response(200, "1"));
  Got other;
  EXPECT_EQ(ask(other, request("k", "{ }")), nullptr);
  EXPECT_EQ(other.answers.at(0).status, 422);
  EXPECT_NE(ask(other, request("k"), "you"), nullptr);
}

TEST_F(AnswerMemoryTest, WhatWasNotDoneIsTriedAgain) {
  for (const int status : {400, 404, 409, 421, 429, 503}) {
    Got got;
    Got waiting;
    const auto exchange = ask(got, request("k"));
    ASSERT_NE(exchange, nullptr) << status;
    EXPECT_EQ(ask(waiting, request("k")), nullptr);
    exchange->send(json_response(status, "1"));
    EXPECT_EQ(waiting.answers.at(0).status, status);
  }
  Got got;
  ask(got, request("k")).reset();  // without an answer
  const auto exchange = ask(got, request("k"));
  ASSERT_NE(exchange, nullptr);
  exchange->send(json_response(507, "done, and not saved"));
  EXPECT_EQ(ask(got, request("k")), nullptr);
}

TEST_F(AnswerMemoryTest, WhoWaitsForNothingIsLetGo) {
  Got first;
  Got second;
  auto exchange = ask(first, request("k"));
  EXPECT_EQ(ask(second, request("k")), nullptr);
  exchange.reset();
  EXPECT_TRUE(second.gone);
}

TEST_F(AnswerMemoryTest, AnswersThatAreMadeWhileTheyAreSentAreKeptToo) {
  Got first;
  Got second;
  ask(first, request("k"))->send(output_response(200, "{\"o\":", "out", ",\"e\":", "err", "}"));
  EXPECT_EQ(ask(second, request("k")), nullptr);
  EXPECT_EQ(second.answers.at(0).body, R"({"o":"out","e":"err"})");
  EXPECT_EQ(first.answers.at(0).body, second.answers.at(0).body);
}

TEST_F(AnswerMemoryTest, OfALargeAnswerOnlyThatItWasGivenIsKept) {
  Got first;
  Got waiting;
  Got second;
  const auto exchange = ask(first, request("k"));
  EXPECT_EQ(ask(waiting, request("k")), nullptr);
  exchange->send(output_response(200, "{\"o\":", std::string(5000, 'x'), ",\"e\":", "", "}"));
  EXPECT_EQ(first.answers.at(0).status, 200);
  EXPECT_EQ(waiting.answers.at(0).status, 409);
  EXPECT_EQ(ask(second, request("k")), nullptr);
  EXPECT_EQ(second.answers.at(0).status, 409);
}

TEST_F(AnswerMemoryTest, TheOldestGoFirst) {
  for (const char* key : {"1", "2", "3", "4"}) answer(key, "a", 10);
  EXPECT_FALSE(is_kept("1", "a"));
  for (const char* key : {"2", "3", "4"}) EXPECT_TRUE(is_kept(key, "a"));
  for (int i = 0; i < 10; ++i) answer("large", "b" + std::to_string(i), 900);
  EXPECT_FALSE(is_kept("4", "a"));
  EXPECT_FALSE(is_kept("large", "b0"));
  EXPECT_TRUE(is_kept("large", "b9"));
  now_ += std::chrono::hours(2);
  EXPECT_FALSE(is_kept("large", "b9"));
}

// Who asks for something once more would have it done twice.
TEST_F(AnswerMemoryTest, NobodysPushOutAnothersAnswers) {
  answer("mine", "a", 900, "me");
  for (int i = 0; i < 100; ++i) answer("large", "b" + std::to_string(i), 900, "other");
  EXPECT_TRUE(is_kept("mine", "a", "me"));
  EXPECT_FALSE(is_kept("large", "b0", "other"));
  EXPECT_TRUE(is_kept("large", "b99", "other"));
  now_ += std::chrono::hours(2);
  EXPECT_FALSE(is_kept("mine", "a", "me"));
  EXPECT_FALSE(is_kept("large", "b99", "other"));
}

}  // namespace
}  // namespace cloche::http
