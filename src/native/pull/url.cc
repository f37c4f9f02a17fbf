// SPDX-License-Identifier: Apache-2.0
#include "native/pull/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/error.h"

namespace cloche::pull {
namespace {

// What comes from elsewhere and is told to a person.
std::string shown_address(const std::string& text) {
  std::string out = text.substr(0, 200);
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

[[noreturn]] void refuse(const std::string& said) {
  throw request_error(fmt::format("'{}' is no address of HTTP that is asked", shown_address(said)));
}

}  // namespace

void Url::Free::operator()(Curl_URL* url) const noexcept { curl_url_cleanup(url); }

Url::Url(const std::string& text) : url_(curl_url()) {
  if (!url_) throw std::bad_alloc();
  if (curl_url_set(url_.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER) != CURLUE_OK)
    refuse(text);
  check(text);
}

void Url::check(const std::string& said) const {
  const std::string its_scheme = scheme();
  if ((its_scheme != "http" && its_scheme != "https") || host().empty()) refuse(said);
  if (!part(CURLUPART_USER, 0).empty() || !part(CURLUPART_PASSWORD, 0).empty()) refuse(said);
}

Url Url::at(const std::string& location) const {
  Url other(curl_url_dup(url_.get()));
  if (!other.url_) throw std::bad_alloc();
  if (curl_url_set(other.url_.get(), CURLUPART_URL, location.c_str(),
                   CURLU_DISALLOW_USER | CURLU_URLENCODE) != CURLUE_OK)
    refuse(location);
  other.check(location);
  return other;
}

Url Url::with(const std::string& name, const std::string& value) const {
  Url other(curl_url_dup(url_.get()));
  if (!other.url_) throw std::bad_alloc();
  if (curl_url_set(other.url_.get(), CURLUPART_QUERY, (name + "=" + value).c_str(),
                   CURLU_APPENDQUERY | CURLU_URLENCODE) != CURLUE_OK)
    refuse(value);
  return other;
}

std::string Url::part(int which, unsigned flags) const {
  char* text = nullptr;
  std::string found;
  if (curl_url_get(url_.get(), static_cast<CURLUPart>(which), &text, flags) == CURLUE_OK)
    found = text;
  curl_free(text);
  return found;
}

std::string Url::text() const { return part(CURLUPART_URL, 0); }
std::string Url::scheme() const { return part(CURLUPART_SCHEME, 0); }
std::string Url::host() const { return part(CURLUPART_HOST, 0); }
std::string Url::origin() const {
  return fmt::format("{}://{}:{}", scheme(), host(), part(CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

bool is_own_machine(std::string_view host) {
  std::string name(host);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (name == "localhost" || name.ends_with(".localhost") || name == "::1") return true;
  in_addr address{};
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

}  // namespace cloche::pull
