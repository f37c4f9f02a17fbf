// SPDX-License-Identifier: Apache-2.0
// What is recorded of the events of sessions: lines of the audit, and a span for each command,
// terminal and Python turn that has ended. It belongs to the request that this thread works for,
// where there is one.
#pragma once

#include "doors/telemetry/audit_log.h"
#include "doors/telemetry/span_exporter.h"
#include "session/event_log.h"

namespace cloche::telemetry {

// Where things are recorded; null: not there.
struct Recorders {
  SpanExporter* spans = nullptr;
  AuditLog* audit = nullptr;
};

void record_event(const session::LoggedEvent& event, const Recorders& to);

}  // namespace cloche::telemetry
