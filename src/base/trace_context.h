// SPDX-License-Identifier: Apache-2.0
// TraceContext: which request of a client something is done for, as W3C Trace Context says it
// (`traceparent`), and what this thread does it for.
//
// A thread works for one request at a time, so a TraceScope around the work is enough: what is
// logged, audited or sent on in it finds the context without being given it. Work that goes on on
// another thread takes its context along (carry_trace).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cloche {

struct TraceContext {
  std::string trace_id;  // 32 hexadecimal digits in lower case, not all 0
  std::string span_id;   // 16
  bool sampled = true;   // whether the client, or whoever began the trace, has it recorded

  bool operator==(const TraceContext&) const = default;
};

// Of the field's text; nothing for one that is not valid: such a field is as good as none.
std::optional<TraceContext> parse_traceparent(std::string_view text);
std::string traceparent_text(const TraceContext& context);

TraceContext new_trace();
// A part of what `parent` is about.
TraceContext child_of(const TraceContext& parent);

// Null: nothing that is traced. It lives as long as the scope.
const TraceContext* current_trace();

class TraceScope {
 public:
  // Null: in it nothing is traced. `context` outlives the scope.
  explicit TraceScope(const TraceContext* context);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  const TraceContext* const before_;
};

// The same work, done for what this thread is doing now.
std::function<void()> carry_trace(std::function<void()> work);

}  // namespace cloche
