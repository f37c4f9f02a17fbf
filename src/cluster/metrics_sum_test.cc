// SPDX-License-Identifier: Apache-2.0
#include "cluster/metrics_sum.h"

#include <gtest/gtest.h>

namespace cloche::cluster {
namespace {

constexpr const char* own =
    "# HELP cloche_http_requests_total Answered.\n# TYPE cloche_http_requests_total counter\n"
    "cloche_http_requests_total{code=\"200\"} 7\n"
    "# HELP cloche_sessions There are.\n# TYPE cloche_sessions gauge\ncloche_sessions 0\n"
    "# TYPE cloche_steps_total counter\ncloche_steps_total{a=\"x y\"} 1\n";

std::string worker(int sessions, int steps) {
  return "# TYPE cloche_http_requests_total counter\ncloche_http_requests_total 100\n"
         "# TYPE cloche_sessions gauge\ncloche_sessions " +
         std::to_string(sessions) +
         "\n# TYPE cloche_sessions_limit gauge\ncloche_sessions_limit 1000\n"
         "# TYPE cloche_steps_total counter\ncloche_steps_total{a=\"x y\"} " +
         std::to_string(steps) + "\ncloche_steps_total{a=\"z\"} 1\n";
}

TEST(MetricsSum, AddsWhatIsTheWorkersMatter) {
  MetricsSum metrics;
  EXPECT_EQ(
      metrics.page(own, {{1, worker(2, 10)}, {2, worker(3, 20)}}),
      "# HELP cloche_http_requests_total Answered.\n# TYPE cloche_http_requests_total counter\n"
      "cloche_http_requests_total{code=\"200\"} 7\n"
      "# HELP cloche_sessions There are.\n# TYPE cloche_sessions gauge\ncloche_sessions 5\n"
      "# TYPE cloche_steps_total counter\ncloche_steps_total{a=\"x y\"} 31\n"
      "cloche_steps_total{a=\"z\"} 2\n");
}

TEST(MetricsSum, WhatCountsStaysWhenAWorkerHasEnded) {
  MetricsSum metrics;
  (void)metrics.page(own, {{1, worker(2, 10)}});
  metrics.worker_ended(1, "");
  metrics.worker_ended(9, "");
  const std::string page = metrics.page(own, {{1, worker(1, 2)}});
  EXPECT_NE(page.find("cloche_sessions 1\n"), page.npos) << page;
  EXPECT_NE(page.find("cloche_steps_total{a=\"x y\"} 13\n"), page.npos) << page;
}

TEST(MetricsSum, WhatAWorkerSaidLastCountsOnce) {
  MetricsSum metrics;
  const std::uint64_t asked_at = metrics.ends();
  metrics.worker_said(1, worker(1, 10));
  metrics.worker_ended(1, "");
  // It had answered before it ended.
  const std::string page = metrics.page(own, {{1, worker(1, 10)}}, asked_at);
  EXPECT_EQ(page, metrics.page(own, {}));
  EXPECT_NE(page.find("cloche_steps_total{a=\"x y\"} 11\n"), page.npos) << page;
}

TEST(MetricsSum, OneThatDoesNotAnswerCountsAsItLastDid) {
  MetricsSum metrics;
  (void)metrics.page(own, {{1, worker(2, 10)}});
  const std::string page = metrics.page(own, {});
  EXPECT_NE(page.find("cloche_sessions 2\n"), page.npos) << page;
}

TEST(MetricsSum, WhatIsNoPageIsPassedOver) {
  MetricsSum metrics;
  EXPECT_EQ(metrics.page("no page\n\n# TYPE x counter\nx y\nx", {{1, "x 1"}}),
            "# TYPE x counter\n");
}

// A worker in hostile hands says other names each time that it ends.
TEST(MetricsSum, WhatHasEndedIsBounded) {
  MetricsSum metrics;
  for (int round = 0; round < 200; ++round) {
    std::string page;
    for (int metric = 0; metric < 20; ++metric) {
      const std::string name = "cloche_" + std::to_string(round) + "_" + std::to_string(metric);
      page += "# TYPE " + name + " counter\n";
      for (int i = 0; i < 50; ++i)
        page += name + "{a=\"" + std::to_string(i) + std::string(300, 'x') + "\"} 1\n";
      page += "# TYPE " + name + std::string(10'000, 'y') + " counter\n";
    }
    metrics.worker_said(1, page);
    metrics.worker_ended(1, std::to_string(round % 2));
  }
  EXPECT_LT(metrics.page(own, {}).size(), std::size_t{2} << 20);
  // Another owner's has room all the same.
  metrics.worker_said(
      2, worker(1, 10) + "# TYPE cloche_commands_total counter\ncloche_commands_total 3\n");
  metrics.worker_ended(2, "another");
  const std::string page = metrics.page(own, {});
  EXPECT_NE(page.find("cloche_steps_total{a=\"z\"} 1\n"), page.npos);
  EXPECT_NE(page.find("\ncloche_commands_total 3\n"), page.npos);
}

TEST(MetricsSum, WhatIsNoCountSpoilsNone) {
  MetricsSum metrics;
  for (const char* value : {"nan", "inf", "-inf", "-1", "1e999"}) {
    metrics.worker_said(
        1, std::string("# TYPE cloche_steps_total counter\ncloche_steps_total{a=\"x y\"} ") +
               value + "\n");
    metrics.worker_ended(1, "");
  }
  EXPECT_NE(metrics.page(own, {}).find("cloche_steps_total{a=\"x y\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace cloche::cluster
