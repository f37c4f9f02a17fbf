// SPDX-License-Identifier: Apache-2.0
#include "native/pull/registry_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/base64.h"
#include "base/host_error.h"
#include "base/json.h"
#include "base/json_lookup.h"
#include "native/images/auth_challenge.h"
#include "native/pull/pace.h"

namespace cloche::pull {
namespace {

constexpr int most_steps = 6;  // from one place to the next
constexpr int most_tries = 4;
constexpr std::chrono::milliseconds first_pause{200};
constexpr std::size_t most_token_bytes = 1 << 20;
constexpr std::size_t most_words = 300;

// Docker's own has another name than its images say.
Url base_of(const images::Reference& reference, Transport transport) {
  const std::string host =
      reference.registry == "docker.io" ? "registry-1.docker.io" : reference.registry;
  const bool plain =
      transport == Transport::plain || is_own_machine(host.substr(0, host.find(':')));
  return Url(fmt::format("{}://{}/", plain ? "http" : "https", host));
}

bool is_one_of(long status, std::initializer_list<long> all) {
  return std::ranges::find(all, status) != all.end();
}

// What comes from elsewhere and is told to a person.
std::string shown(const std::string& text) {
  std::string out = text.substr(0, most_words);
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

// A registry's own words for why it did not: {"errors": [{"message": ...}]}.
std::string words_of(const std::string& body) {
  const auto read = read_json<Json>(body, {});
  const Json* whole = std::get_if<Json>(&read);
  if (whole == nullptr || !whole->is_object()) return {};
  const auto errors = whole->find("errors");
  if (errors == whole->end() || !errors->is_array() || errors->empty()) return {};
  return shown(text_in(errors->front(), "message"));
}

// Appends, within bounds.
BodySink into(std::string& text, std::size_t most, const char* what) {
  return [&text, most, what](const HttpAnswer&, std::string_view piece) {
    if (piece.size() > most - text.size())
      throw request_error(fmt::format("{} is longer than {} bytes", what, most));
    text += piece;
  };
}

}  // namespace

RegistryClient::RegistryClient(const images::Reference& reference, Credentials credentials,
                               Transport transport)
    : reference_(reference),
      credentials_(std::move(credentials)),
      transport_(transport),
      base_(base_of(reference, transport)),
      origin_(base_.origin()) {}

void RegistryClient::check_step(const Url& from, const Url& to) const {
  if (to.scheme() == "https") return;
  if (from.scheme() == "http" && (transport_ == Transport::plain || is_own_machine(to.host())))
    return;
  throw request_error(fmt::format("the registry {} leads to {}, which is not asked without TLS",
                                  reference_.registry, shown(to.origin())));
}

std::string RegistryClient::basic() const {
  return "Basic " + to_base64(credentials_.user + ":" + credentials_.password);
}

std::string RegistryClient::token(const std::string& realm, const std::string& service,
                                  const std::string& scope) {
  Url url(realm);
  check_step(base_, url);
  if (!service.empty()) url = url.with("service", service);
  url = url.with("scope", scope.empty() ? "repository:" + reference_.repository + ":pull" : scope);
  std::string text;
  const HttpAnswer answer =
      http_.ask({.url = url.text(),
                 .accept = "application/json",
                 .authorization = credentials_.empty() ? "" : basic()},
                into(text, most_token_bytes, "what the registry's place of tokens says"));
  if (answer.status != 200)
    throw request_error(
        fmt::format("{} gives no token for {} (status {}): is the image there, and the user right?",
                    url.origin(), reference_.text(), answer.status));
  const auto read = read_json<Json>(text, {});
  const Json* whole = std::get_if<Json>(&read);
  std::string found = whole == nullptr ? "" : text_in(*whole, "token");
  if (found.empty() && whole != nullptr) found = text_in(*whole, "access_token");
  // It goes into a header.
  if (found.empty() || !std::ranges::all_of(found, [](char c) { return c > ' ' && c <= '~'; }))
    throw request_error(fmt::format("{} gives no token that can be used", url.origin()));
  return found;
}

void RegistryClient::authorize(const HttpAnswer& answer) {
  bool wants_user = false;
  for (const std::string& header : answer.challenges) {
    for (const images::AuthChallenge& challenge : images::parse_auth_challenges(header)) {
      if (challenge.scheme == "bearer") {
        authorization_ =
            "Bearer " + token(challenge.parameter("realm"), challenge.parameter("service"),
                              challenge.parameter("scope"));
        return;
      }
      if (challenge.scheme != "basic") continue;
      wants_user = true;
      if (credentials_.empty()) continue;
      authorization_ = basic();
      return;
    }
  }
  throw request_error(
      wants_user ? fmt::format("the registry {} wants a user and a password: give --registry-auth",
                               reference_.registry)
                 : fmt::format("the registry {} wants to know who asks, and does not say how",
                               reference_.registry));
}

HttpAnswer RegistryClient::get(const std::string& path, const std::string& accept,
                               std::uint64_t from, const BodySink& sink) {
  Url url = base_.at(path);
  bool is_authorized = false;
  for (int step = 0; step < most_steps;) {
    const bool is_registry = url.origin() == origin_;
    HttpAnswer answer = http_.ask({.url = url.text(),
                                   .accept = accept,
                                   .authorization = is_registry ? authorization_ : "",
                                   .from = from},
                                  sink);
    if (answer.status == 401 && is_registry && !is_authorized) {
      is_authorized = true;
      authorize(answer);
      continue;
    }
    if (!is_one_of(answer.status, {301, 302, 303, 307, 308}) || answer.location.empty())
      return answer;
    Url next = url.at(answer.location);
    check_step(url, next);
    url = std::move(next);
    ++step;
  }
  throw request_error(fmt::format("the registry {} leads from one place to the next without end",
                                  reference_.registry));
}

HttpAnswer RegistryClient::get_in_the_end(const std::string& path, const std::string& accept,
                                          const std::function<std::uint64_t()>& started,
                                          const BodySink& sink) {
  auto pause = first_pause;
  Progress progress(std::chrono::steady_clock::now());
  for (int tried = 1;; ++tried, pause *= 2) {
    const std::uint64_t from = started();
    // What comes further each time does not end here.
    if (progress.has_come_further(from, std::chrono::steady_clock::now()))
      tried = 1, pause = first_pause;
    try {
      HttpAnswer answer = get(path, accept, from, sink);
      if (tried == most_tries || !is_one_of(answer.status, {408, 429, 500, 502, 503, 504}))
        return answer;
    } catch (const Interrupted& problem) {
      if (tried == most_tries) throw HostError(shown(problem.what()));
    }
    std::this_thread::sleep_for(pause);
  }
}

void RegistryClient::refuse(const HttpAnswer& answer, const std::string& what) const {
  const std::string words = words_of(answer.text);
  const std::string reason = words.empty() ? "" : fmt::format(" ({})", words);
  if (answer.status == 404)
    throw request_error(
        fmt::format("{} has no {} of {}{}", reference_.registry, what, reference_.text(), reason),
        Errno::noent);
  if (is_one_of(answer.status, {401, 403}))
    throw request_error(fmt::format("{} refuses {} of {}{}: is the user right, or --registry-auth "
                                    "to be given?",
                                    reference_.registry, what, reference_.text(), reason),
                        Errno::acces);
  throw HostError(fmt::format("{} answers for {} of {} with status {}{}", reference_.registry, what,
                              reference_.text(), answer.status, reason));
}

std::string RegistryClient::manifest(const std::string& version) {
  std::string text;
  const HttpAnswer answer = get_in_the_end(
      "/v2/" + reference_.repository + "/manifests/" + version, images::manifest_media_types(),
      [&] {
        text.clear();
        return 0;
      },
      into(text, images::most_manifest_bytes, "the image's manifest"));
  if (answer.status != 200) refuse(answer, "manifest " + version);
  if (images::is_sha256_digest(version) && sha256_digest(text) != version)
    throw request_error(fmt::format(
        "the registry sends another manifest than {}: it was damaged, or is a forgery", version));
  return text;
}

void RegistryClient::fetch(const images::Descriptor& blob, BlobFile& file) {
  std::uint64_t from = 0;
  bool is_first = true;
  const HttpAnswer answer = get_in_the_end(
      "/v2/" + reference_.repository + "/blobs/" + blob.digest, "",
      [&] {
        is_first = true;
        return from = file.bytes();
      },
      [&](const HttpAnswer& head, std::string_view piece) {
        if (is_first && head.status == 200 && from > 0) file.restart();
        if (is_first && head.status == 206 &&
            !head.content_range.starts_with(fmt::format("bytes {}-", from)))
          throw request_error(
              fmt::format("the registry sends another part of {} than asked", blob.digest));
        is_first = false;
        file.add(piece);
      });
  if (answer.status != 200 && answer.status != 206) refuse(answer, "blob " + blob.digest);
  file.finish();
}

}  // namespace cloche::pull
