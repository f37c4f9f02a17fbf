// SPDX-License-Identifier: Apache-2.0
// Texts and packets that our own code parses for a guest or a client, and no other target reaches:
// names asked for, network rules, heads of HTTP with secrets, wishes for packages, keys of SSH,
// schemas, members of JSON, commands of scp, what an interpreter says of its end. The first byte
// chooses one.
#include <array>
#include <stdexcept>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_members.h"
#include "doors/ssh/public_key.h"
#include "doors/ssh/scp_server.h"
#include "net/client_hello.h"
#include "net/dns.h"
#include "net/request_head.h"
#include "net/rule.h"
#include "net/secrets.h"
#include "packages/package_registry.h"
#include "pieces.h"
#include "python/json_schema.h"
#include "sandbox/python/execution_record.h"

namespace {

using namespace cloche;

constexpr std::string_view secret_value = "s3cret-value";

const std::shared_ptr<const net::SecretStore>& secrets() {
  static const auto store = std::make_shared<const net::SecretStore>(std::map<std::string, Secret>{
      {"KEY", {.value = std::string(secret_value), .hosts = {"api.test", "*.good.test"}}}});
  return store;
}

// "PLACEHOLDER" in the input stands for the one of the secret, which is drawn by chance.
std::string with_placeholder(std::string_view input) {
  constexpr std::string_view word = "PLACEHOLDER";
  std::string text(input);
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += 16)
    text.replace(at, word.size(), secrets()->entries().front().placeholder);
  return text;
}

// What comes out of `stream` for the text in pieces of that size.
template <typename Stream>
std::string in_pieces(Stream& stream, std::string_view text, std::size_t piece) {
  std::string out;
  while (!text.empty()) {
    out += stream.take(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  return out += stream.finish();
}

void read_names(std::string_view input) {
  const std::string_view name = net::read_server_name(input);
  CLOCHE_CHECK(name.empty() || name.size() + 5 == input.size());
  if (net::offers_protocol(input, "h2")) CLOCHE_CHECK(input.find("\x02h2") != input.npos);
  const auto query = net::parse_dns_query(std::as_bytes(std::span(input)));
  if (!query) return;
  CLOCHE_CHECK(query->name.size() <= 253);
  const std::vector<kernel::IpAddress> found(20, kernel::IpAddress::v4({192, 0, 2, 1}));
  CLOCHE_CHECK(net::dns_reply(*query, net::DnsAnswer::success, found).size() < 1024);
}

void read_rule(std::string_view input) try {
  const net::Rule rule(input);
  CLOCHE_CHECK(rule.text() == input);
  (void)rule.has_name("www.good.test");
  (void)rule.has_port(443);
  (void)rule.has_address(kernel::IpAddress::v4({10, 1, 2, 3}));
} catch (const Error&) {
  return;
}

void scrub(std::string_view input, std::size_t piece) {
  const std::string text = with_placeholder(input);
  net::StreamScrubber scrubber(secrets());
  const std::string whole = secrets()->scrub(text);
  CLOCHE_CHECK(in_pieces(scrubber, text, piece) == whole);
}

void rewrite(std::string_view input, std::size_t piece) {
  const std::string text = with_placeholder(input);
  const auto told = [](const std::string&, bool) {};
  net::RequestRewriter in_one(*secrets(), "api.test", told);
  net::RequestRewriter in_many(*secrets(), "api.test", told);
  CLOCHE_CHECK(in_pieces(in_one, text, text.size() + 1) == in_pieces(in_many, text, piece));
  // What two could read in two ways gets no value, nor does what follows it.
  const std::size_t end = text.find("\r\n\r\n");
  if (end != text.npos && !net::read_request_head(std::string_view(text).substr(0, end + 4))) {
    net::RequestRewriter unsure(*secrets(), "api.test", told);
    CLOCHE_CHECK(in_pieces(unsure, text, piece) == text);
  }
  // To another host everything goes as it is.
  net::RequestRewriter other(*secrets(), "evil.test", told);
  CLOCHE_CHECK(in_pieces(other, text, piece) == text);
}

void check_schema(std::string_view input) try {
  const python::JsonSchema schema(fuzz::next_piece(input));
  const auto value = python::read_json(input);
  if (value) (void)schema.problem(*value);
} catch (const Error&) {
  return;
}

// Each member in each way: what is read is in its range, and what is not is refused with a sentence.
void read_members(std::string_view input) {
  const auto read = read_json<Json>(input, {});
  const Json* value = std::get_if<Json>(&read);
  if (value == nullptr || !value->is_object()) return;
  const JsonMembers members(*value, "place.");
  constexpr Amounts range{.least = 10, .most = 1000};
  const auto check = [](const auto& reader) {
    try {
      reader();
    } catch (const WrongMember& wrong) {
      CLOCHE_CHECK(std::string_view(wrong.what()).starts_with("'place."));
    } catch (const Error&) {
      return;
    }
  };
  for (const auto& [key, item] : value->items()) {
    const char* name = key.c_str();
    check([&] {
      const auto count = members.optional_count(name, range);
      CLOCHE_CHECK(!count || (*count >= range.least && *count <= range.most));
    });
    check([&] {
      const auto bytes = members.optional_bytes(name, range);
      CLOCHE_CHECK(!bytes || (*bytes >= range.least && *bytes <= range.most));
    });
    check([&] {
      const auto time = members.optional_ms(name);
      CLOCHE_CHECK(!time || (time->count() >= 0 && *time <= JsonMembers::longest_time));
    });
    check([&] { (void)members.words(name); });
    check([&] { (void)members.word_map(name); });
    check([&] { (void)members.objects(name); });
    check([&] { (void)members.bytes(name); });
    check([&] { CLOCHE_CHECK(members.word(name).find('\0') == std::string::npos); });
  }
}

// The words are lines.
void read_scp(std::string_view input) {
  const std::string text(input);
  (void)ssh::is_one_command(text);
  std::vector<std::string> words;
  while (!input.empty()) words.emplace_back(fuzz::next_piece(input));
  const auto options = ssh::parse_scp(words);
  CLOCHE_CHECK(!options || (!options->paths.empty() && options->paths.size() <= words.size()));
}

void read_record(std::string_view input) {
  ExecuteOptions options;
  options.limits.steps = 100;
  for (const auto status : {python::TurnStatus::finished, python::TurnStatus::raised}) {
    ExecuteResult result;
    python::TurnResult turn;
    turn.status = status;
    (void)sandbox::read_record(input, turn, options, [](std::string text) { return text; }, result);
    CLOCHE_CHECK(result.steps <= options.limits.steps);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t most = 8192;
  if (size < 2 || size > most) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = data[1] == 0 ? 1 : data[1];
  constexpr std::uint8_t scp = 0xf0, record = 0xf1;
  if (data[0] == scp || data[0] == record) {
    data[0] == scp ? read_scp(input) : read_record(input);
    return 0;
  }
  switch (data[0] % 8) {
    case 0: read_names(input); break;
    case 1: read_rule(input); break;
    case 2: scrub(input, piece); break;
    case 3: rewrite(input, piece); break;
    case 4: (void)packages::parse_wish(input); break;
    case 5: (void)ssh::is_public_key(std::string(input)); break;
    case 6: check_schema(input); break;
    default: read_members(input); break;
  }
  return 0;
}
