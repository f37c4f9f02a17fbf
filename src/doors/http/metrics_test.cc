// SPDX-License-Identifier: Apache-2.0
#include "doors/http/metrics.h"

#include <gmock/gmock.h>

namespace cloche::http {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, CountersHaveTheirLabels) {
  Metrics metrics;
  metrics.describe("asked_total", "What was asked.");
  metrics.count("asked_total", R"(code="200")");
  metrics.count("asked_total", R"(code="200")", 2);
  EXPECT_THAT(metrics.page(), HasSubstr("# HELP asked_total What was asked.\n"
                                        "# TYPE asked_total counter\n"
                                        "asked_total{code=\"200\"} 3\n"));
}

TEST(Metrics, AHistogramCountsEachTimeInAllBucketsAboveIt) {
  Metrics metrics;
  metrics.describe_times("wait_seconds", "How long one waits.");
  EXPECT_THAT(metrics.page(), HasSubstr("wait_seconds_count 0\n"));
  metrics.observe("wait_seconds", 0.001);  // a bound belongs to its bucket
  metrics.observe("wait_seconds", 0.3);
  metrics.observe("wait_seconds", 1000);
  const std::string page = metrics.page();
  EXPECT_THAT(page, HasSubstr("# TYPE wait_seconds histogram\n"));
  EXPECT_THAT(page, HasSubstr("wait_seconds_bucket{le=\"0.0005\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("wait_seconds_bucket{le=\"0.001\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("wait_seconds_bucket{le=\"0.25\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("wait_seconds_bucket{le=\"0.5\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("wait_seconds_bucket{le=\"60\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("wait_seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("wait_seconds_sum 1000.301\nwait_seconds_count 3\n"));
}

TEST(Metrics, ALevelGoesUpAndDown) {
  Metrics metrics;
  metrics.describe_level("running", "What runs.");
  {
    const RaisedLevel one(metrics, "running");
    EXPECT_THAT(metrics.page(), HasSubstr("# TYPE running gauge\nrunning 1\n"));
  }
  EXPECT_THAT(metrics.page(), HasSubstr("running 0\n"));
}

}  // namespace
}  // namespace cloche::http
