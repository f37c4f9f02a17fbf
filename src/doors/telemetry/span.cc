// SPDX-License-Identifier: Apache-2.0
#include "doors/telemetry/span.h"

#include <nlohmann/json.hpp>

namespace cloche::telemetry {
namespace {

using Json = nlohmann::json;

Json attribute(std::string_view key, const Span::Value& value) {
  // 64 bits are a string in the JSON of protocol buffers.
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return {{"key", key}, {"value", {{"intValue", std::to_string(*number)}}}};
  return {{"key", key}, {"value", {{"stringValue", std::get<std::string>(value)}}}};
}

std::string nanoseconds(std::chrono::system_clock::time_point time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

Json span_json(const Span& span) {
  static constexpr int error_code = 2;
  Json attributes = Json::array();
  for (const auto& [key, value] : span.attributes) attributes.push_back(attribute(key, value));
  Json json = {{"traceId", span.context.trace_id},
               {"spanId", span.context.span_id},
               {"name", span.name},
               {"kind", static_cast<int>(span.kind)},
               {"startTimeUnixNano", nanoseconds(span.begin)},
               {"endTimeUnixNano", nanoseconds(span.end)},
               {"attributes", std::move(attributes)}};
  if (!span.parent_id.empty()) json["parentSpanId"] = span.parent_id;
  if (span.failed) json["status"] = {{"code", error_code}};
  return json;
}

}  // namespace

std::string otlp_json(const Resource& resource, std::span<const Span> spans) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(span_json(span));
  const Json request = {
      {"resourceSpans",
       {{{"resource",
          {{"attributes",
            {attribute("service.name", "cloche"), attribute("service.version", resource.version),
             attribute("service.instance.id", resource.instance)}}}},
         {"scopeSpans",
          {{{"scope", {{"name", "cloche"}, {"version", resource.version}}},
            {"spans", std::move(list)}}}}}}}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cloche::telemetry
