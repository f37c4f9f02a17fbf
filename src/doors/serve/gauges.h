// SPDX-License-Identifier: Apache-2.0
// What /metrics and the log say of sessions.
#pragma once

#include <functional>
#include <string_view>

#include "doors/http/metrics.h"
#include "session/session_manager.h"
#include "session/worker_pool.h"

namespace cloche::serve {

// Of the log.
std::string_view event_name(session::Event event);
std::string_view event_reason(session::Event event);
// Of a metric.
std::string_view event_label(session::Event event);

// Has the manager count what it does. `metrics` outlives it.
void count_events(session::ManagerOptions& options, http::Metrics& metrics);

// What can be seen, each with a sentence. All outlive the metrics. `headroom`: how much room there
// is for more sessions, 0 to 1.
void define_gauges(http::Metrics& metrics, session::SessionManager& sessions,
                   session::WorkerPool& workers, std::function<double()> headroom);

}  // namespace cloche::serve
