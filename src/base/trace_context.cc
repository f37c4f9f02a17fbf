// SPDX-License-Identifier: Apache-2.0
#include "base/trace_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace cloche {
namespace {

// version "-" trace-id "-" parent-id "-" flags
constexpr std::size_t trace_at = 3;
constexpr std::size_t trace_digits = 32;
constexpr std::size_t span_at = trace_at + trace_digits + 1;
constexpr std::size_t span_digits = 16;
constexpr std::size_t flags_at = span_at + span_digits + 1;
constexpr std::size_t text_size = flags_at + 2;
constexpr std::size_t later_max_bytes = 512;  // of a later version

thread_local const TraceContext* current = nullptr;

bool is_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_id(std::string_view digits) {
  return std::ranges::all_of(digits, is_digit) && digits.find_first_not_of('0') != digits.npos;
}

int value_of(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

// An id of zeros is none.
std::string new_id(std::size_t bytes) {
  std::string id = random_hex(bytes);
  while (!is_id(id)) id = random_hex(bytes);
  return id;
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < text_size || text.size() > later_max_bytes) return std::nullopt;
  const std::string_view version = text.substr(0, trace_at - 1);
  const std::string_view trace = text.substr(trace_at, trace_digits);
  const std::string_view span = text.substr(span_at, span_digits);
  const std::string_view flags = text.substr(flags_at, 2);
  if (!std::ranges::all_of(version, is_digit) || version == "ff") return std::nullopt;
  // What a later version adds comes after a dash.
  if (text.size() > text_size && (version == "00" || text[text_size] != '-')) return std::nullopt;
  if (text[trace_at - 1] != '-' || text[span_at - 1] != '-' || text[flags_at - 1] != '-')
    return std::nullopt;
  if (!is_id(trace) || !is_id(span) || !std::ranges::all_of(flags, is_digit)) return std::nullopt;
  return TraceContext{std::string(trace), std::string(span), (value_of(flags[1]) & 1) != 0};
}

std::string traceparent_text(const TraceContext& context) {
  return fmt::format("00-{}-{}-{}", context.trace_id, context.span_id,
                     context.sampled ? "01" : "00");
}

TraceContext new_trace() { return {new_id(trace_digits / 2), new_id(span_digits / 2), true}; }

TraceContext child_of(const TraceContext& parent) {
  return {parent.trace_id, new_id(span_digits / 2), parent.sampled};
}

const TraceContext* current_trace() { return current; }

TraceScope::TraceScope(const TraceContext* context) : before_(std::exchange(current, context)) {}

TraceScope::~TraceScope() { current = before_; }

std::function<void()> carry_trace(std::function<void()> work) {
  if (current == nullptr) return work;
  return [context = *current, work = std::move(work)]() mutable {
    const TraceScope scope(&context);
    work();
    work = nullptr;  // what it holds ends within the scope
  };
}

}  // namespace cloche
