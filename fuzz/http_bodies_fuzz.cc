// SPDX-License-Identifier: Apache-2.0
// What HTTP clients send, as far as our own code parses it: steps, forms, addresses, heads, options
// of sandboxes; and what is written of what programs print.
#include <cstdlib>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/json_string.h"
#include "base/utf8.h"
#include "doors/http/framing.h"
#include "doors/http/message.h"
#include "doors/http/multipart.h"
#include "doors/http/origin_guard.h"
#include "doors/rest/bodies.h"
#include "doors/steps/python_json.h"
#include "doors/steps/step_request.h"
#include "pieces.h"
#include "sandbox/options/option_json.h"

namespace {

using namespace cloche;

// Both readers of base agree with each other, and with what they have written.
void read_both(std::string_view input) {
  constexpr JsonBounds bounds{.repeated = RepeatedNames::last_wins};
  const auto ordered = read_json<OrderedJson>(input, bounds);
  const auto by_name = read_json<Json>(input, bounds);
  CLOCHE_CHECK(ordered.index() == by_name.index());
  if (ordered.index() != 0) return;
  CLOCHE_CHECK(Json(std::get<OrderedJson>(ordered)) == std::get<Json>(by_name));
  const auto again = read_json<OrderedJson>(write_json(std::get<OrderedJson>(ordered)), bounds);
  CLOCHE_CHECK(std::get<OrderedJson>(again) == std::get<OrderedJson>(ordered));
}

// A string of JSON is the same in one piece and in many, and means the valid text.
void write_string(std::string_view input, std::size_t piece) {
  const std::string whole = json_string(input);
  std::string pieces = "\"";
  for (std::size_t at = 0; at < input.size();) at = append_json_text(pieces, input, at, piece);
  CLOCHE_CHECK(pieces + "\"" == whole);
  CLOCHE_CHECK(json_text_size(input) + 2 == whole.size());
  CLOCHE_CHECK(std::get<Json>(read_json<Json>(whole, {})) == valid_utf8(input));
}

// Lines NAME:VALUE as a head, to the checks of what is asked of whom.
void check_head(std::string_view input, std::size_t piece) {
  static const http::OriginGuard guard("127.0.0.1", {"box.test"}, {"https://app.test"});
  http::Request head;
  head.method = "POST";
  http::FoldFinder in_one;
  http::FoldFinder in_many;
  in_one.take(input);
  for (std::size_t at = 0; at < input.size(); at += piece) in_many.take(input.substr(at, piece));
  CLOCHE_CHECK(in_one.found() == in_many.found());
  (void)http::OriginGuard::is_origin(input);
  while (!input.empty()) {
    const std::string_view line = fuzz::next_piece(input);
    const std::size_t colon = std::min(line.find(':'), line.size());
    head.fields.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
  }
  (void)http::framing_fault(head, 11);
  const auto fault = guard.fault(head, http::OriginGuard::Body::json);
  if (head.field("Host") == "evil.test") CLOCHE_CHECK(fault.has_value());
  (void)guard.allowed_origin(head);
}

// The target of a request: in origin form it stays as it is.
void check_target(std::string_view input) {
  const std::string_view target = fuzz::next_piece(input);
  for (const char* method : {"GET", "CONNECT", "OPTIONS"}) {
    http::Request head;
    head.method = method;
    head.target = target;
    if (http::to_origin_form(head) || http::target_fault(head)) continue;
    const std::string once = head.target;
    CLOCHE_CHECK(!http::to_origin_form(head) && head.target == once && !http::target_fault(head));
  }
}

// The first line is a Content-Type, the others the body.
void read_form(std::string_view input) {
  const std::size_t size = input.size();
  const auto boundary = http::multipart_boundary(fuzz::next_piece(input));
  if (!boundary) return;
  const auto part = http::find_part(input, *boundary, "file");
  CLOCHE_CHECK(!part || part->content.size() <= size);
  constexpr std::size_t most = 3;
  const auto parts = http::find_parts(input, *boundary, "file", most);
  if (!parts) return;
  CLOCHE_CHECK(!parts->empty() && parts->size() <= most && part);
  CLOCHE_CHECK(parts->front().content == part->content);
}

// What a client wishes of a sandbox, in each strictness.
void read_wish(std::string_view input) {
  const auto read = read_json<Json>(input, {});
  const Json* wish = std::get_if<Json>(&read);
  if (!wish || !wish->is_object()) return;
  using sandbox::OtherMembers;
  for (const auto others :
       {OtherMembers::refused, OtherMembers::refused_within, OtherMembers::left_alone}) {
    try {
      SandboxOptions options;
      sandbox::read_options(*wish, options, others);
    } catch (const WrongMember&) {
      continue;
    } catch (const Error& wrong) {
      CLOCHE_CHECK(wrong.kind() == ErrorKind::request);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)steps::parse_step("application/json", input);
  // What was read is written so that it reads the same.
  const auto parsed = steps::parse_python_json(input);
  if (const auto* value = std::get_if<steps::PyValue>(&parsed)) {
    if (const auto text = steps::dump_python_json(*value)) {
      const auto again = steps::parse_python_json(*text);
      CLOCHE_CHECK(std::holds_alternative<steps::PyValue>(again));
      CLOCHE_CHECK(steps::dump_python_json(std::get<steps::PyValue>(again)) == text);
    }
  }
  CLOCHE_CHECK(is_utf8(valid_utf8(input)));
  (void)http::query_pairs(input);
  const std::size_t piece = size == 0 ? 1 : data[0] % 32 + 1;
  read_both(input);
  write_string(input, piece);
  check_head(input, piece);
  check_target(input);
  read_form(input);
  read_wish(input);
  (void)rest::read_create(input);
  (void)rest::read_command(input);
  (void)rest::read_code(input);
  (void)rest::read_page_query(input, rest::page_limit_max);
  return 0;
}
