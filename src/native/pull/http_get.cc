// SPDX-License-Identifier: Apache-2.0
#include "native/pull/http_get.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>

#include "base/host_error.h"
#include "native/pull/pace.h"
#include "native/pull/url.h"

namespace cloche::pull {
namespace {

constexpr long connect_seconds = 30;
constexpr std::size_t most_head_bytes = 128 << 10;
constexpr std::size_t most_error_text = 16 << 10;

struct Exchange {
  HttpAnswer answer;
  const BodySink& sink;
  Pace pace;
  std::size_t head_bytes = 0;
  std::exception_ptr problem;
};

bool is_header(std::string_view line, std::string_view name, std::string& value) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  if (line.size() <= name.size() || line[name.size()] != ':' ||
      !std::ranges::equal(line.substr(0, name.size()), name, same))
    return false;
  line.remove_prefix(name.size() + 1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.remove_suffix(1);
  value = line;
  return true;
}

// Nothing may be thrown through libcurl: a short count ends its transfer.
std::size_t take_header(const char* data, std::size_t, std::size_t size, void* user) noexcept try {
  Exchange& exchange = *static_cast<Exchange*>(user);
  const std::string_view line(data, size);
  exchange.pace.add(size);
  if ((exchange.head_bytes += size) > most_head_bytes) {
    exchange.problem =
        std::make_exception_ptr(request_error("the registry's answer has too long a head"));
    return 0;
  }
  if (line.starts_with("HTTP/")) exchange.answer = {};  // 100 Continue comes before others
  std::string value;
  if (is_header(line, "location", value)) exchange.answer.location = value;
  if (is_header(line, "content-range", value)) exchange.answer.content_range = value;
  if (is_header(line, "www-authenticate", value)) exchange.answer.challenges.push_back(value);
  return size;
} catch (...) {
  return 0;
}

struct Transfer {
  CURL* curl;
  Exchange exchange;
};

std::size_t take_body(const char* data, std::size_t, std::size_t size, void* user) noexcept {
  auto& [curl, exchange] = *static_cast<Transfer*>(user);
  exchange.pace.add(size);
  try {
    const std::string_view piece(data, size);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &exchange.answer.status);
    if (exchange.answer.status == 200 || exchange.answer.status == 206) {
      exchange.sink(exchange.answer, piece);
    } else {
      std::string& text = exchange.answer.text;
      text += piece.substr(0, most_error_text - text.size());
      // The rest of what explains an error is not waited for.
      if (text.size() == most_error_text) return 0;
    }
    return size;
  } catch (...) {
    exchange.problem = std::current_exception();
    return 0;
  }
}

// libcurl asks about once a second, whether anything comes or not. Anything but 0 ends the transfer.
int look_at_pace(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  return static_cast<Exchange*>(user)->pace.is_too_slow(std::chrono::steady_clock::now()) ? 1 : 0;
}

template <typename Value>
void set(CURL* curl, CURLoption option, Value value) {
  if (const CURLcode code = curl_easy_setopt(curl, option, value); code != CURLE_OK)
    throw HostError(fmt::format("libcurl cannot be set up: {}", curl_easy_strerror(code)));
}

using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

void add(Headers& headers, const std::string& line) {
  curl_slist* more = curl_slist_append(headers.get(), line.c_str());
  if (more == nullptr) throw std::bad_alloc();
  (void)headers.release();
  headers.reset(more);
}

bool is_lasting(CURLcode code) {
  constexpr std::array lasting{
      CURLE_URL_MALFORMAT,      CURLE_UNSUPPORTED_PROTOCOL, CURLE_PEER_FAILED_VERIFICATION,
      CURLE_SSL_CACERT_BADFILE, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
      CURLE_OUT_OF_MEMORY};
  return std::ranges::find(lasting, code) != lasting.end();
}

}  // namespace

HttpGet::HttpGet() {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw HostError("libcurl does not start");
  curl_ = curl_easy_init();
  if (curl_ == nullptr) throw HostError("libcurl does not start");
}

HttpGet::~HttpGet() {
  curl_easy_cleanup(curl_);
  curl_global_cleanup();
}

HttpAnswer HttpGet::ask(const HttpQuestion& question, const BodySink& sink) {
  Transfer transfer{curl_,
                    {.answer = {},
                     .sink = sink,
                     .pace = Pace(std::chrono::steady_clock::now()),
                     .head_bytes = 0,
                     .problem = nullptr}};
  Exchange& exchange = transfer.exchange;
  CURL* const curl = curl_;
  curl_easy_reset(curl);
  std::array<char, CURL_ERROR_SIZE> words{};
  Headers headers(nullptr, &curl_slist_free_all);
  if (!question.accept.empty()) add(headers, "Accept: " + question.accept);
  if (!question.authorization.empty()) add(headers, "Authorization: " + question.authorization);
  if (question.from > 0) add(headers, fmt::format("Range: bytes={}-", question.from));
  set(curl, CURLOPT_URL, question.url.c_str());
  set(curl, CURLOPT_HTTPHEADER, headers.get());
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_FOLLOWLOCATION, 0L);
  set(curl, CURLOPT_SSL_VERIFYPEER, 1L);
  set(curl, CURLOPT_SSL_VERIFYHOST, 2L);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_USERAGENT, "cloche");
  set(curl, CURLOPT_ERRORBUFFER, words.data());
  set(curl, CURLOPT_CONNECTTIMEOUT, connect_seconds);
  set(curl, CURLOPT_NOPROGRESS, 0L);
  set(curl, CURLOPT_XFERINFOFUNCTION, &look_at_pace);
  set(curl, CURLOPT_XFERINFODATA, &exchange);
  set(curl, CURLOPT_HEADERFUNCTION, &take_header);
  set(curl, CURLOPT_HEADERDATA, &exchange);
  set(curl, CURLOPT_WRITEFUNCTION, &take_body);
  set(curl, CURLOPT_WRITEDATA, &transfer);
  // libcurl does not read this variable, which programs that use OpenSSL do.
  if (const char* trusted = std::getenv("SSL_CERT_FILE"); trusted != nullptr && *trusted != '\0')
    set(curl, CURLOPT_CAINFO, trusted);
  // No proxy is asked for what is on this machine.
  if (is_own_machine(Url(question.url).host())) set(curl, CURLOPT_PROXY, "");

  const CURLcode code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &exchange.answer.status);
  if (exchange.problem) std::rethrow_exception(exchange.problem);
  const bool is_error = exchange.answer.status != 200 && exchange.answer.status != 206;
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && exchange.answer.status != 0 && is_error))
    return exchange.answer;
  const char* const told = words[0] != '\0' ? words.data() : curl_easy_strerror(code);
  const std::string reason =
      code == CURLE_ABORTED_BY_CALLBACK
          ? fmt::format("less than {} bytes a second came for a minute", least_bytes_a_second)
          : told;
  const std::string sentence = fmt::format("{}: {}", Url(question.url).origin(), reason);
  if (is_lasting(code)) throw HostError(sentence);
  throw Interrupted(sentence);
}

}  // namespace cloche::pull
