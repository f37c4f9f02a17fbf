// SPDX-License-Identifier: Apache-2.0
// Span: one piece of work of a trace, as OpenTelemetry has it, and many of them as JSON of OTLP.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/trace_context.h"

namespace cloche::telemetry {

struct Span {
  enum class Kind : std::uint8_t { internal = 1, server = 2 };  // OTLP's numbers
  using Value = std::variant<std::string, std::int64_t>;

  TraceContext context = {};   // its own
  std::string parent_id = {};  // empty: the trace begins with it
  std::string name = {};       // from a small set
  Kind kind = Kind::internal;
  std::chrono::system_clock::time_point begin = {};
  std::chrono::system_clock::time_point end = {};
  std::vector<std::pair<std::string_view, Value>> attributes = {};
  bool failed = false;
};

// Whose spans these are.
struct Resource {
  std::string version;
  std::string instance;  // another one for each server
};

// An ExportTraceServiceRequest.
std::string otlp_json(const Resource& resource, std::span<const Span> spans);

}  // namespace cloche::telemetry
