// SPDX-License-Identifier: Apache-2.0
#include "native/images/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace cloche::images {
namespace {

constexpr std::size_t most_text = 512;
constexpr std::size_t most_name_bytes = 255;
constexpr std::size_t most_tag = 128;
constexpr std::string_view default_registry = "docker.io";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return (c >= 'a' && c <= 'z') || is_digit(c); }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

// Words of letters and digits with one separator between two: . or _ or __ or any number of -.
bool is_component(std::string_view text) {
  while (!text.empty()) {
    const auto word =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_lower) - text.begin());
    if (word == 0) return false;
    text.remove_prefix(word);
    if (text.empty()) return true;
    if (text.starts_with("__")) {
      text.remove_prefix(2);
    } else if (text.front() == '.' || text.front() == '_') {
      text.remove_prefix(1);
    } else {
      const std::size_t dashes = std::min(text.find_first_not_of('-'), text.size());
      if (dashes == 0) return false;
      text.remove_prefix(dashes);
    }
  }
  return false;  // nothing, or a separator at the end
}

bool is_label(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || c == '-'; });
}

// A name or an IPv4 address, and a port.
bool is_registry(std::string_view text) {
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    const std::string_view port = text.substr(colon + 1);
    if (port.empty() || port.size() > 5 || !std::ranges::all_of(port, is_digit)) return false;
    text = text.substr(0, colon);
  }
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_repository(std::string_view text) {
  for (;;) {
    const std::size_t slash = text.find('/');
    if (!is_component(text.substr(0, slash))) return false;
    if (slash == text.npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= most_tag && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(
             text, [](char c) { return is_letter(c) || c == '_' || c == '.' || c == '-'; });
}

[[noreturn]] void refuse(std::string_view text) {
  throw request_error(fmt::format(
      "'{}' is no name of an image in a registry: [HOST[:PORT]/]NAME[:TAG][@sha256:DIGITS] in "
      "lower case, such as debian:12",
      text.substr(0, most_text)));
}

}  // namespace

bool is_sha256_digest(std::string_view text) {
  constexpr std::string_view kind = "sha256:";
  return text.size() == kind.size() + 64 && text.starts_with(kind) &&
         std::ranges::all_of(text.substr(kind.size()),
                             [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

Reference Reference::parse(std::string_view whole) {
  constexpr std::string_view scheme = "docker://";
  std::string_view rest = whole.starts_with(scheme) ? whole.substr(scheme.size()) : whole;
  if (rest.size() > most_text) refuse(whole);
  Reference reference;
  if (const std::size_t at = rest.find('@'); at != rest.npos) {
    reference.digest = rest.substr(at + 1);
    if (!is_sha256_digest(reference.digest)) refuse(whole);
    rest = rest.substr(0, at);
  }
  const std::size_t last = rest.rfind('/') == rest.npos ? 0 : rest.rfind('/') + 1;
  if (const std::size_t colon = rest.find(':', last); colon != rest.npos) {
    reference.tag = rest.substr(colon + 1);
    if (!is_tag(reference.tag)) refuse(whole);
    rest = rest.substr(0, colon);
  }
  if (rest.size() > most_name_bytes) refuse(whole);
  // The first word is a host where it can be nothing else.
  const std::size_t slash = rest.find('/');
  const std::string_view first = slash == rest.npos ? std::string_view() : rest.substr(0, slash);
  if (first.find_first_of(".:") != first.npos || first == "localhost") {
    if (!is_registry(first)) refuse(whole);
    reference.registry = first;
    std::ranges::transform(reference.registry, reference.registry.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    rest.remove_prefix(slash + 1);
  } else {
    reference.registry = default_registry;
  }
  if (!is_repository(rest)) refuse(whole);
  reference.repository = rest;
  if (reference.registry == default_registry && rest.find('/') == rest.npos)
    reference.repository = "library/" + reference.repository;
  if (reference.tag.empty() && reference.digest.empty()) reference.tag = "latest";
  return reference;
}

std::string Reference::text() const {
  return registry + "/" + repository + (tag.empty() ? "" : ":" + tag) +
         (digest.empty() ? "" : "@" + digest);
}

}  // namespace cloche::images
