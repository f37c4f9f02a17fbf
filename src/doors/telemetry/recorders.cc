// SPDX-License-Identifier: Apache-2.0
#include "doors/telemetry/recorders.h"

#include <string_view>

namespace cloche::telemetry {
namespace {

constexpr std::string_view ended = ".ended";
constexpr std::string_view network = "network.";

bool has_failed(const session::LoggedEvent& event) {
  return !event.reason.empty() || event.exit_code.value_or(0) != 0;
}

// The text of a command is what somebody has written, and may have secrets in it: it is left out.
void record_line(const session::LoggedEvent& event, AuditLog& audit) {
  const bool of_network = event.kind.starts_with(network);
  const bool of_run = event.run.has_value();
  const std::string kind = of_network || of_run ? event.kind : "session." + event.kind;
  AuditEntry entry;
  entry.who = event.owner;
  entry.what = kind;
  if (of_network) entry.target = event.text;
  entry.session = event.session_id;
  if (event.kind == "network.refused") entry.outcome = "refused";
  if (event.kind == "network.left_out") entry.outcome = "failed";
  if (of_run && event.kind.ends_with(ended) && has_failed(event)) entry.outcome = "failed";
  entry.code = event.exit_code;
  entry.run = event.run;
  event.kind == "network.refused" ? audit.add_refusal(entry) : audit.add(entry);
}

void record_span(const session::LoggedEvent& event, SpanExporter& spans) {
  if (!event.run || !event.kind.ends_with(ended)) return;
  const TraceContext* parent = current_trace();
  Span span;
  span.context = parent ? child_of(*parent) : new_trace();
  if (parent) span.parent_id = parent->span_id;
  span.name = event.kind.substr(0, event.kind.size() - ended.size());
  span.end = event.time;
  span.begin =
      event.time - std::chrono::duration_cast<std::chrono::system_clock::duration>(
                       std::chrono::duration<double, std::milli>(event.duration_ms.value_or(0)));
  span.attributes = {{"cloche.session.id", event.session_id},
                     {"cloche.run", static_cast<std::int64_t>(*event.run)}};
  if (event.exit_code)
    span.attributes.emplace_back("process.exit.code", static_cast<std::int64_t>(*event.exit_code));
  // What a program says by its exit code is its own affair; what has not ended by itself is not.
  span.failed = !event.reason.empty();
  spans.add(std::move(span));
}

}  // namespace

void record_event(const session::LoggedEvent& event, const Recorders& to) {
  if (to.audit) record_line(event, *to.audit);
  if (to.spans) record_span(event, *to.spans);
}

}  // namespace cloche::telemetry
