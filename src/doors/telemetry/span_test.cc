// SPDX-License-Identifier: Apache-2.0
#include "doors/telemetry/span.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "doors/telemetry/span_exporter.h"

namespace cloche::telemetry {
namespace {

using Json = nlohmann::json;

TEST(Span, IsWhatOtlpWantsInJson) {
  Span span;
  span.context = {"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", true};
  span.parent_id = "b7ad6b7169203331";
  span.name = "POST /sessions";
  span.kind = Span::Kind::server;
  span.begin =
      std::chrono::system_clock::time_point(std::chrono::nanoseconds(1'700'000'000'000'000'001));
  span.end = span.begin + std::chrono::microseconds(5);
  span.attributes = {{"http.response.status_code", std::int64_t{500}}, {"url.path", "/a\xff"}};
  span.failed = true;
  const Json json = Json::parse(otlp_json({"1.2", "cell-3"}, {&span, 1}));
  const Json& group = json["resourceSpans"].at(0);
  EXPECT_EQ(group["resource"]["attributes"].at(0),
            Json::parse(R"({"key":"service.name","value":{"stringValue":"cloche"}})"));
  EXPECT_EQ(group["resource"]["attributes"].at(2),
            Json::parse(R"({"key":"service.instance.id","value":{"stringValue":"cell-3"}})"));
  EXPECT_EQ(group["scopeSpans"].at(0)["spans"].at(0), Json::parse(R"({
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00f067aa0ba902b7",
    "parentSpanId": "b7ad6b7169203331", "name": "POST /sessions", "kind": 2,
    "startTimeUnixNano": "1700000000000000001", "endTimeUnixNano": "1700000000000005001",
    "attributes": [{"key": "http.response.status_code", "value": {"intValue": "500"}},
                   {"key": "url.path", "value": {"stringValue": "/a\ufffd"}}],
    "status": {"code": 2}})"));
}

TEST(Span, OneThatBeginsATraceHasNoParentAndOneThatWentWellNoStatus) {
  const Span span{.context = new_trace(), .name = "command"};
  const Json json = Json::parse(otlp_json({"1", "x"}, {&span, 1}));
  const Json& one = json["resourceSpans"].at(0)["scopeSpans"].at(0)["spans"].at(0);
  EXPECT_FALSE(one.contains("parentSpanId"));
  EXPECT_FALSE(one.contains("status"));
  EXPECT_EQ(one["attributes"], Json::array());
}

TEST(Collector, IsAPlaceAndAPath) {
  const auto place = [](std::string_view url) {
    const auto collector = Collector::parse(url);
    return collector ? collector->host() + collector->path() : "";
  };
  EXPECT_EQ(place("http://collector"), "collector:4318/v1/traces");
  EXPECT_EQ(place("http://127.0.0.1:80/"), "127.0.0.1:80/v1/traces");
  EXPECT_EQ(place("http://[::1]/otlp/"), "[::1]:4318/otlp/v1/traces");
  EXPECT_EQ(place("http://[::1]:99"), "[::1]:99/v1/traces");
  for (const char* wrong : {"", "collector", "https://collector", "http://", "http:///v1",
                            "http://a:b", "http://user@host", "http://a,b", "http://dns:a:1",
                            "http://a/b c", "http://a/b\r\nX: y", "http://file:80"})
    EXPECT_EQ(place(wrong), "") << wrong;
}

}  // namespace
}  // namespace cloche::telemetry
