// SPDX-License-Identifier: Apache-2.0
#include "session/event_log.h"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.h"

namespace cloche::session {
namespace {

std::string_view name_of(RunEvent::Kind kind) {
  switch (kind) {
    case RunEvent::Kind::command: return "command";
    case RunEvent::Kind::terminal: return "terminal";
    case RunEvent::Kind::python: return "python";
  }
  return "command";
}

std::string_view name_of(NetworkEvent::Kind kind) {
  switch (kind) {
    case NetworkEvent::Kind::resolve: return "resolve";
    case NetworkEvent::Kind::connect: return "connect";
    case NetworkEvent::Kind::tls: return "tls";
    case NetworkEvent::Kind::secret: return "secret";
    case NetworkEvent::Kind::left_out: return "left_out";
  }
  return "connect";
}

std::string shortened(std::string_view text) {
  return valid_utf8(text.substr(0, EventLog::text_limit_bytes));
}

}  // namespace

void EventLog::add(LoggedEvent event) {
  event.time = std::chrono::system_clock::now();
  if (witness_) witness_(event);
  const MutexLock lock(mutex_);
  event.number = ++last_;
  for (const Subscriber& subscriber : subscribers_) {
    if (subscriber.wants(event)) subscriber.sink(event);
  }
  events_.push_back(std::move(event));
  if (events_.size() > kept) events_.pop_front();
}

void EventLog::add_run(const std::string& session_id, const std::string& owner,
                       const RunEvent& event) {
  const bool ended = event.moment == RunEvent::Moment::ended;
  LoggedEvent logged;
  logged.session_id = session_id;
  logged.owner = owner;
  logged.kind = fmt::format("{}.{}", name_of(event.kind), ended ? "ended" : "started");
  logged.text = shortened(event.text);
  logged.run = event.number;
  if (ended) {
    logged.exit_code = event.exit_code;
    logged.duration_ms = std::chrono::duration<double, std::milli>(event.duration).count();
    logged.reason = shortened(event.reason);
  }
  add(std::move(logged));
}

void EventLog::add_network(const std::string& session_id, const std::string& owner,
                           const NetworkEvent& event) {
  LoggedEvent logged;
  logged.session_id = session_id;
  logged.owner = owner;
  if (event.kind == NetworkEvent::Kind::left_out) {
    logged.kind = "network.left_out";
    logged.text = fmt::format("{} events", event.count);
    logged.reason = event.reason;
    logged.count = event.count;
    return add(std::move(logged));
  }
  logged.kind = event.allowed ? "network.allowed" : "network.refused";
  const std::string& place = event.host.empty() ? event.address : event.host;
  logged.text =
      shortened(event.port == 0 ? fmt::format("{} {}", name_of(event.kind), place)
                                : fmt::format("{} {}:{}", name_of(event.kind), place, event.port));
  logged.reason = shortened(event.reason);
  add(std::move(logged));
}

EventLog::Subscription EventLog::subscribe(std::string owner, std::string session_id,
                                           std::uint64_t since, Sink sink) {
  Subscription subscription;
  const MutexLock lock(mutex_);
  subscribers_.push_back(
      {++last_subscriber_, std::move(owner), std::move(session_id), std::move(sink)});
  const Subscriber& subscriber = subscribers_.back();
  for (const LoggedEvent& event : events_) {
    if (event.number > since && subscriber.wants(event)) subscriber.sink(event);
  }
  subscription.log_ = this;
  subscription.id_ = subscriber.id;
  return subscription;
}

EventLog::Subscription::Subscription(Subscription&& other) noexcept
    : log_(std::exchange(other.log_, nullptr)), id_(other.id_) {}

EventLog::Subscription& EventLog::Subscription::operator=(Subscription&& other) noexcept {
  std::swap(log_, other.log_);
  std::swap(id_, other.id_);
  return *this;
}

EventLog::Subscription::~Subscription() {
  if (!log_) return;
  const MutexLock lock(log_->mutex_);
  log_->subscribers_.remove_if([this](const Subscriber& one) { return one.id == id_; });
}

}  // namespace cloche::session
