// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>

#include "base/json.h"

namespace cloche::grading {
namespace {

std::vector<RunRequest> numbered(std::size_t count) {
  std::vector<RunRequest> requests(count);
  for (std::size_t i = 0; i < count; ++i) requests[i].code = std::to_string(i);
  return requests;
}

Json answer_of(std::vector<RunRequest> requests, const Batch::Grade& grade, bool closed = false) {
  std::promise<std::string> done;
  session::WorkerPool workers(8);
  Gate gate(workers, {.running = 3});
  if (closed) gate.close();
  std::make_shared<Batch>("", std::move(requests), grade, [&](std::string text) {
    done.set_value(std::move(text));
  })->start(gate, 3);
  return Json::parse(done.get_future().get());
}

RunVerdict printed(std::string out) {
  RunVerdict verdict;
  verdict.outcome = Outcome::finished;
  verdict.return_code = 0;
  verdict.out = std::move(out);
  return verdict;
}

TEST(BatchTest, AnswersInOrder) {
  const Json answer =
      answer_of(numbered(50), [](const RunRequest& one) { return printed(one.code); });
  ASSERT_EQ(answer["results"].size(), 50U);
  for (std::size_t i = 0; i < 50; ++i)
    EXPECT_EQ(answer["results"][i]["run_result"]["stdout"], std::to_string(i));
  EXPECT_EQ(answer_of({}, {})["results"].size(), 0U);
}

TEST(BatchTest, OneThatCannotBeGradedIsAnError) {
  const Json answer = answer_of(numbered(5), [](const RunRequest& one) {
    if (one.code == "2") throw std::runtime_error("no memory");
    return printed(one.code);
  });
  ASSERT_EQ(answer["results"].size(), 5U);
  EXPECT_EQ(answer["results"][2]["message"], "no memory");
  EXPECT_EQ(answer["results"][4]["run_result"]["stdout"], "4");
}

TEST(BatchTest, RunsAsManyAtOnceAsItIsWide) {
  std::mutex mutex;
  std::condition_variable changed;
  int now = 0;
  int most = 0;
  answer_of(numbered(3), [&](const RunRequest& one) {
    std::unique_lock lock(mutex);
    most = std::max(most, ++now);
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(10), [&] { return most == 3; });
    --now;
    return printed(one.code);
  });
  EXPECT_EQ(most, 3);
}

TEST(BatchTest, AnswersThatAreTooLongTogetherAreErrors) {
  const Json answer = answer_of(numbered(3), [](const RunRequest&) {
    return printed(std::string(Batch::answer_limit_bytes / 2, 'x'));
  });
  std::size_t whole = 0;
  for (const Json& one : answer["results"]) whole += one["status"] == "Success";
  EXPECT_EQ(whole, 1U);
}

TEST(BatchTest, AClosedGateIsAnErrorOfEachOfThem) {
  const Json answer = answer_of(numbered(batch_limit), {}, true);
  ASSERT_EQ(answer["results"].size(), batch_limit);
  for (const Json& one : answer["results"]) EXPECT_EQ(one["status"], "SandboxError");
}

}  // namespace
}  // namespace cloche::grading
