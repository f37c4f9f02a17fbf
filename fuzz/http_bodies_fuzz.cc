// What HTTP clients send, as far as our own code parses it: steps, forms, addresses, tokens'
// headers.
#include <cstdlib>

#include "cloche/check.h"
#include "doors/http/log.h"
#include "doors/http/message.h"
#include "doors/rest/bodies.h"
#include "doors/rest/multipart.h"
#include "doors/steps/python_json.h"
#include "doors/steps/step_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
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
  CLOCHE_CHECK(http::is_utf8(http::valid_utf8(input)));
  (void)http::json_string(input);
  (void)http::query_pairs(input);
  const std::size_t line = std::min(input.find('\n'), input.size());
  if (const auto boundary = rest::multipart_boundary(input.substr(0, line))) {
    const auto part =
        rest::find_part(input.substr(std::min(line + 1, input.size())), *boundary, "file");
    CLOCHE_CHECK(!part || part->content.size() <= input.size());
  }
  (void)rest::read_create(input);
  (void)rest::read_code(input);
  (void)rest::read_page_query(input);
  return 0;
}
