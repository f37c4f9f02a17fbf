// SPDX-License-Identifier: Apache-2.0
#include "doors/http/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/json_string.h"
#include "doors/http/date.h"

namespace cloche::http {
namespace {

constexpr std::size_t value_max_bytes = 300;

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::info: return "INFO";
    case LogLevel::warning: return "WARNING";
    case LogLevel::error: return "ERROR";
  }
  return "INFO";
}

bool is_plain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

std::string figures_json(const std::vector<std::string>& paths) {
  std::string json;
  for (const std::string& path : paths) json += (json.empty() ? "" : ",") + json_string(path);
  return json.empty() ? json : ",\"figures\":[" + json + "]";
}

Log::Detail::Detail(std::string_view name, double number)
    : key(name), value(fmt::format("{:.1f}", number)), is_number(true) {}

std::string Log::line(LogFormat format, LogLevel level, std::string_view name,
                      std::initializer_list<Detail> details, std::string_view timestamp,
                      const TraceContext* trace) {
  std::string line;
  if (format == LogFormat::json) {
    line = fmt::format(R"({{"time":"{}","level":"{}","event":{})", timestamp, name_of(level),
                       json_string(name));
    for (const Detail& each : details) {
      const std::string_view part = std::string_view(each.value).substr(0, value_max_bytes);
      line += fmt::format(",{}:{}", json_string(each.key),
                          each.is_number ? std::string(part) : json_string(part));
    }
    if (trace)
      line += fmt::format(R"(,"trace_id":"{}","span_id":"{}")", trace->trace_id, trace->span_id);
    line += "}";
  } else {
    line = fmt::format("{} {} {}", timestamp, name_of(level), name);
    for (const Detail& each : details) {
      const std::string_view part = std::string_view(each.value).substr(0, value_max_bytes);
      line +=
          fmt::format(" {}={}", each.key, is_plain(part) ? std::string(part) : json_string(part));
    }
    if (trace) line += fmt::format(" trace_id={} span_id={}", trace->trace_id, trace->span_id);
  }
  line += '\n';
  return line;
}

void Log::event(LogLevel level, std::string_view name, std::initializer_list<Detail> details) {
  const std::string text = line(format_, level, name, details,
                                iso_timestamp(std::chrono::system_clock::now()), current_trace());
  const MutexLock lock(mutex_);
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads the log: that is no reason to stop
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace cloche::http
