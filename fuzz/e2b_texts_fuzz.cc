// SPDX-License-Identifier: Apache-2.0
// What programs for E2B say by REST and by the names of hosts, what of their requests a server in a
// sandbox gets, whose trace a request is of, and the operator's file of tokens. The first byte
// chooses one.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "base/host_error.h"
#include "base/trace_context.h"
#include "doors/e2b/rest_wire.h"
#include "doors/e2b/server_request.h"
#include "doors/e2b/target.h"
#include "doors/e2b/template_plan.h"
#include "doors/http/token_store.h"
#include "pieces.h"

namespace {

using namespace cloche;

// Lines NAME:VALUE after the first one, which is METHOD and TARGET.
http::Request request_of(std::string_view input) {
  http::Request request;
  const std::string_view first = fuzz::next_piece(input);
  const std::size_t space = std::min(first.find(' '), first.size());
  request.method = first.substr(0, space);
  request.target = first.substr(std::min(space + 1, first.size()));
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  request.path = request.target.substr(0, mark);
  request.query = request.target.substr(std::min(mark + 1, request.target.size()));
  while (!input.empty()) {
    const std::string_view line = fuzz::next_piece(input);
    const std::size_t colon = std::min(line.find(':'), line.size());
    request.fields.emplace_back(line.substr(0, colon),
                                line.substr(std::min(colon + 1, line.size())));
  }
  return request;
}

// What is refused has a status and a sentence.
template <typename T>
void check(const e2b::Checked<T>& read) {
  const auto* refusal = std::get_if<http::Response>(&read);
  constexpr int not_implemented = 501;
  CLOCHE_CHECK(!refusal || refusal->status == not_implemented ||
               (refusal->status >= 400 && refusal->status < 500));
}

void read_bodies(std::string_view input) {
  check(e2b::read_create(input, std::chrono::seconds(300)));
  check(e2b::read_list_query(input));
  const auto body = e2b::read_body(input);
  check(body);
  const Json* json = std::get_if<Json>(&body);
  if (!json) return;
  check(e2b::read_network(*json, *json));
  for (const char* name : {"timeout", "count", "name"}) {
    check(e2b::read_seconds(*json, name, std::chrono::seconds(1)));
    const auto count = e2b::read_count(*json, name, 1, 100, 50);
    const auto* number = std::get_if<std::int64_t>(&count);
    CLOCHE_CHECK(!number || (*number >= 1 && *number <= 100));
    check(e2b::read_truth(*json, name, true));
    check(e2b::read_text(*json, name));
  }
}

void read_plan(std::string_view input) {
  const auto plan = e2b::read_plan(input);
  check(plan);
  const auto* good = std::get_if<e2b::TemplatePlan>(&plan);
  if (!good) return;
  using Kind = e2b::TemplateStep::Kind;
  for (const e2b::TemplateStep& step : good->steps) {
    const std::size_t count = step.arguments.size();
    switch (step.kind) {
      case Kind::run: CLOCHE_CHECK(count >= 1); break;
      case Kind::copy: CLOCHE_CHECK(count >= 2 && e2b::is_files_hash(step.files_hash)); break;
      case Kind::set_variables: CLOCHE_CHECK(count % 2 == 0); break;
      case Kind::set_workdir:
      case Kind::set_user: CLOCHE_CHECK(count >= 1); break;
    }
  }
}

void find_target(std::string_view input) {
  using Kind = e2b::Target::Kind;
  // Headers may name any sandbox: what is none is not found.
  const e2b::Target target = e2b::target_of(request_of(input));
  CLOCHE_CHECK(target.kind != Kind::port || target.port != 0);
  const auto by_name = e2b::target_of_host(input);
  if (!by_name) return;
  CLOCHE_CHECK(by_name->kind == Kind::port && by_name->port != 0);
  CLOCHE_CHECK(e2b::is_sandbox_id(by_name->id));
}

// What a server in a sandbox gets has one end of its head, whatever a client's fields say.
void pass_on(std::string_view input) {
  http::Request request = request_of(input);
  // No head that was read as one has any of these.
  const auto is_of_no_head = [](std::string_view text) {
    return text.find_first_of("\r\n") != text.npos;
  };
  for (const auto& [name, value] : request.fields) {
    if (is_of_no_head(name) || is_of_no_head(value)) return;
  }
  if (is_of_no_head(request.target) || is_of_no_head(request.method)) return;
  const auto passed = e2b::request_for_server(request);
  if (!passed) return;
  CLOCHE_CHECK(passed->text.find("\r\n\r\n") == passed->text.size() - 4);
}

void read_trace(std::string_view input) {
  const auto trace = parse_traceparent(input);
  if (!trace) return;
  CLOCHE_CHECK(trace->trace_id.size() == 32 && trace->span_id.size() == 16);
  CLOCHE_CHECK((trace->trace_id + trace->span_id).find_first_not_of("0123456789abcdef") ==
               std::string::npos);
  CLOCHE_CHECK(parse_traceparent(traceparent_text(*trace)) == trace);
}

// Goes when the process ends.
class File {
 public:
  File() : path_(std::filesystem::temp_directory_path() / "cloche-fuzz-XXXXXX") {
    const int fd = ::mkstemp(path_.data());
    CLOCHE_CHECK(fd >= 0);
    ::close(fd);
  }
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void read_tokens(std::string_view input) try {
  static const File file;
  std::ofstream(file.path(), std::ios::binary) << input;
  const http::TokenStore store({}, file.path());
  CLOCHE_CHECK(!store.empty() && !store.owner_of("no token of it"));
} catch (const HostError&) {
  return;
}

constexpr std::array readers{read_bodies, read_plan, find_target, pass_on, read_trace, read_tokens};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 16384;
  if (size == 0 || size > most) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  readers.at(data[0] % readers.size())(input.substr(1));
  return 0;
}
