// SPDX-License-Identifier: Apache-2.0
// Log: one line an event, on standard error, as text or as JSON. Thread-safe; a line is never torn.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/trace_context.h"

namespace cloche::http {

enum class LogFormat { text, json };
enum class LogLevel { info, warning, error };

class Log {
 public:
  // Writes to `fd`, which stays the caller's.
  explicit Log(LogFormat format, int fd = 2) : format_(format), fd_(fd) {}

  // A number is one in JSON too, so that what reads the log can compare it.
  struct Detail {
    Detail(std::string_view name, std::string text) : key(name), value(std::move(text)) {}
    template <std::integral Number>
    Detail(std::string_view name, Number number)
        : key(name), value(std::to_string(number)), is_number(true) {}
    // With one digit behind the point.
    Detail(std::string_view name, double number);

    std::string_view key;
    std::string value;
    bool is_number = false;
  };
  // 2026-01-02T03:04:05.678Z INFO session_created session_id=...; values are cut at 300 bytes. What
  // this thread does it for (base/trace_context.h) comes last: trace_id=... span_id=...
  void event(LogLevel level, std::string_view name, std::initializer_list<Detail> details)
      EXCLUDES(mutex_);

  static std::string line(LogFormat format, LogLevel level, std::string_view name,
                          std::initializer_list<Detail> details, std::string_view timestamp,
                          const TraceContext* trace = nullptr);

 private:
  const LogFormat format_;
  const int fd_;
  Mutex mutex_;  // held while a line is written
};

// What the result of a run has of figures (RunResult::figures): a further field,
// `,"figures":[...]`, or nothing where there are none.
std::string figures_json(const std::vector<std::string>& paths);

}  // namespace cloche::http
