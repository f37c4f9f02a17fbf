// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/gauges.h"

#include <fmt/format.h>

#include <utility>

namespace cloche::serve {
namespace {

std::string_view label_of(session::RefusalReason reason) {
  using Reason = session::RefusalReason;
  switch (reason) {
    case Reason::owner_limit: return "owner";
    case Reason::owner_unsure: return "owner_unsure";
    case Reason::session_limit: return "sessions";
    case Reason::memory: return "memory";
    case Reason::ending: return "ending";
    case Reason::failed: return "failed";
    case Reason::not_saved: return "not_saved";
  }
  return "failed";
}

void count_save(http::Metrics& metrics, const session::SaveEvent& event) {
  using Result = session::SaveEvent::Result;
  const std::string_view result = event.result == Result::saved       ? "saved"
                                  : event.result == Result::unchanged ? "unchanged"
                                                                      : "failed";
  metrics.count("cloche_saves_total", fmt::format(R"(result="{}")", result));
  metrics.count("cloche_save_bytes_total", {}, static_cast<double>(event.bytes));
  metrics.observe("cloche_save_seconds", event.duration.count());
}

std::string_view label_of(session::LiveEvent event) {
  switch (event) {
    case session::LiveEvent::saved: return "saved";
    case session::LiveEvent::left_out: return "left_out";
    case session::LiveEvent::restored: return "restored";
    case session::LiveEvent::dropped: return "dropped";
  }
  return "dropped";
}

}  // namespace

std::string_view event_name(session::Event event) {
  switch (event) {
    case session::Event::created: return "session_created";
    case session::Event::forked: return "session_forked";
    case session::Event::extended: return "session_extended";
    case session::Event::restored: return "session_restored";
    case session::Event::closed:
    case session::Event::expired:
    case session::Event::idled:
    case session::Event::ended: return "session_closed";
    case session::Event::left: return "session_left";
    case session::Event::paused: return "session_paused";
    case session::Event::resumed: return "session_resumed";
  }
  return "session";
}

std::string_view event_reason(session::Event event) {
  switch (event) {
    case session::Event::closed: return "deleted";
    case session::Event::expired: return "expired";
    case session::Event::idled: return "idle";
    case session::Event::ended: return "server_ended";
    default: return "asked";
  }
}

std::string_view event_label(session::Event event) {
  switch (event) {
    case session::Event::created: return "created";
    case session::Event::forked: return "forked";
    case session::Event::extended: return "extended";
    case session::Event::restored: return "restored";
    case session::Event::paused: return "paused";
    case session::Event::resumed: return "resumed";
    case session::Event::ended: return "ended";
    case session::Event::left: return "left";
    default: return event_reason(event);
  }
}

void count_events(session::ManagerOptions& options, http::Metrics& metrics) {
  options.saved = [&metrics](const session::SaveEvent& event) { count_save(metrics, event); };
  options.live_python = [&metrics](session::LiveEvent event) {
    metrics.count("cloche_live_pythons_total", fmt::format(R"(result="{}")", label_of(event)));
  };
  options.refused = [&metrics](session::RefusalReason reason) {
    metrics.count("cloche_creates_refused_total", fmt::format(R"(reason="{}")", label_of(reason)));
  };
  options.timed = [&metrics](session::Timed what, std::chrono::duration<double> duration) {
    metrics.observe(
        what == session::Timed::creation ? "cloche_create_seconds" : "cloche_restore_seconds",
        duration.count());
  };
}

void define_gauges(http::Metrics& metrics, session::SessionManager& sessions,
                   session::WorkerPool& workers, std::function<double()> headroom) {
  metrics.describe("cloche_http_requests_total", "Answered HTTP requests.");
  metrics.describe("cloche_http_rejected_total", "What came in and was no HTTP request.");
  metrics.describe("cloche_sessions_total", "Events of sessions.");
  metrics.describe("cloche_creates_refused_total", "Sessions that were not made, by why.");
  metrics.describe("cloche_steps_total", "Steps that have ended.");
  metrics.describe("cloche_step_seconds_total", "How long steps took.");
  metrics.describe("cloche_commands_total", "Commands and code by REST that have ended.");
  metrics.describe("cloche_ssh_connections_total", "SSH connections that logged in, or did not.");
  metrics.describe("cloche_network_events_left_out_total",
                   "Decisions about the network that came faster than they could be recorded.");
  metrics.count("cloche_network_events_left_out_total", {}, 0);
  metrics.describe("cloche_saves_total", "Saves of sessions, by how they went.");
  metrics.describe("cloche_save_bytes_total", "What was written for them.");
  for (const std::string_view result : {"saved", "unchanged", "failed"})
    metrics.count("cloche_saves_total", fmt::format(R"(result="{}")", result), 0);
  metrics.describe("cloche_live_pythons_total",
                   "Live Pythons of paused sessions, by what came of them.");
  for (const std::string_view result : {"saved", "left_out", "restored", "dropped"})
    metrics.count("cloche_live_pythons_total", fmt::format(R"(result="{}")", result), 0);
  metrics.describe_times("cloche_save_seconds", "How long saves took.");
  metrics.describe_times("cloche_create_seconds", "How long sessions took to make.");
  metrics.describe_times("cloche_restore_seconds", "How long saved sessions took to read.");
  metrics.describe_times("cloche_command_wait_seconds",
                         "From the request for a command or code by REST to its start.");
  metrics.describe_level("cloche_commands_running", "Commands, code and steps that run.");
  metrics.gauge("cloche_unsaved_sessions", "Sessions whose last save has failed.",
                [&sessions] { return static_cast<double>(sessions.unsaved()); });
  metrics.gauge("cloche_sessions", "Sessions there are.",
                [&sessions] { return static_cast<double>(sessions.count()); });
  metrics.gauge("cloche_sessions_limit", "Sessions there may be.",
                [&sessions] { return static_cast<double>(sessions.room().session_limit); });
  metrics.gauge("cloche_memory_bytes", "What the server has in memory.",
                [&sessions] { return static_cast<double>(sessions.room().memory_bytes); });
  metrics.gauge("cloche_memory_limit_bytes", "With more than that no session is made; 0: none.",
                [&sessions] { return static_cast<double>(sessions.room().memory_limit_bytes); });
  metrics.gauge("cloche_headroom",
                "How much of sessions or memory is left, whichever is less: 0, nothing, to 1.",
                std::move(headroom));
  metrics.gauge("cloche_worker_threads", "Threads that run something or wait for work.",
                [&workers] { return static_cast<double>(workers.threads()); });
}

}  // namespace cloche::serve
