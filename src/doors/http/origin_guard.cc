// SPDX-License-Identifier: Apache-2.0
#include "doors/http/origin_guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cloche::http {
namespace {

constexpr std::size_t name_max_bytes = 255;

// What JavaScript may send to another site without a preflight request: the types of forms.
constexpr std::array<std::string_view, 3> form_types{"application/x-www-form-urlencoded",
                                                     "multipart/form-data", "text/plain"};

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return ::inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

// The name in NAME, NAME:PORT, [ADDRESS] or [ADDRESS]:PORT; empty for anything else.
std::string_view name_of(std::string_view authority) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return {};
    port = authority.substr(end + 1);
    authority = authority.substr(1, end - 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    port = authority.substr(colon);
    authority = authority.substr(0, colon);
  }
  if (!port.empty() && (port[0] != ':' || port.find_first_not_of("0123456789", 1) != port.npos))
    return {};
  if (authority.ends_with('.')) authority.remove_suffix(1);
  return authority;
}

std::string_view authority_of(std::string_view origin) {
  const std::size_t end = origin.find("://");
  if (end == std::string_view::npos) return {};
  const std::string_view scheme = origin.substr(0, end);
  if (scheme != "http" && scheme != "https") return {};
  return origin.substr(end + 3);
}

bool is_form_type(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ') || content_type.ends_with('\t')) content_type.remove_suffix(1);
  return std::ranges::any_of(form_types,
                             [&](std::string_view type) { return same_text(type, content_type); });
}

// What a browser says about the page that asks. A field that is present and empty counts too.
struct Asker {
  bool has_origin = false;
  std::string_view origin;
  std::string_view site;  // Sec-Fetch-Site
  bool is_browser = false;

  explicit Asker(const Request& head) {
    for (const auto& [name, value] : head.fields) {
      if (same_text(name, "Origin")) {
        has_origin = is_browser = true;
        origin = value;
      } else if (same_text(name, "Sec-Fetch-Site")) {
        is_browser = true;
        site = value;
      } else if (same_text(name, "Sec-Fetch-Mode") || same_text(name, "Referer")) {
        is_browser = true;
      }
    }
  }
};

}  // namespace

OriginGuard::OriginGuard(const std::string& host, const std::vector<std::string>& names,
                         std::vector<std::string> origins)
    : any_address_(host == "0.0.0.0" || host == "::"),
      names_{"localhost", "127.0.0.1", "::1", lowered(host)},
      origins_(std::move(origins)) {
  for (std::string_view name : names) {
    if (name == "*") any_name_ = true;
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    names_.push_back(lowered(name));
  }
}

bool OriginGuard::is_origin(std::string_view text) {
  const std::string_view authority = authority_of(text);
  return text == lowered(text) && !name_of(authority).empty() &&
         authority.find_first_of("/?#@ \t\\") == std::string_view::npos;
}

bool OriginGuard::has_name(std::string_view host_field) const {
  if (any_name_) return true;
  if (host_field.size() > name_max_bytes) return false;
  const std::string name = lowered(name_of(host_field));
  if (std::ranges::find(names_, name) != names_.end()) return true;
  // A request to an address was not led here by a name of somebody else's.
  return any_address_ && is_address(name);
}

std::string_view OriginGuard::allowed_origin(const Request& head) const {
  if (origins_.empty()) return {};
  const std::string_view origin = head.field("Origin");
  return std::ranges::find(origins_, origin) == origins_.end() ? std::string_view() : origin;
}

std::optional<OriginGuard::Fault> OriginGuard::fault(const Request& head, Body body) const {
  const std::string_view host = head.field("Host");
  // CONNECT names where the tunnel goes to, and no page can ask for one. Browsers always say a
  // name.
  if (!host.empty() && head.method != "CONNECT" && !has_name(host)) {
    constexpr std::size_t enough = 100;
    return Fault{403, fmt::format("this server is not called {}: say --allow-host to call it so",
                                  host.substr(0, enough))};
  }
  if (const auto fault = page_fault(head)) return fault;
  if (head.method == "POST" && body == Body::json && Asker(head).is_browser &&
      is_form_type(head.field("Content-Type")))
    return Fault{415, "the body of a page's request must be application/json"};
  return std::nullopt;
}

std::optional<OriginGuard::Fault> OriginGuard::page_fault(const Request& head) const {
  const std::string_view host = head.field("Host");
  const Asker asker(head);
  if (!asker.is_browser) return std::nullopt;
  const bool is_own =
      asker.has_origin && !host.empty() && same_text(authority_of(asker.origin), host);
  const bool is_allowed = is_own || !allowed_origin(head).empty();
  if (asker.has_origin && !is_allowed)
    return Fault{403, "a page of another origin asks: say --allow-origin to let it"};
  const bool from_elsewhere =
      !asker.site.empty() && asker.site != "same-origin" && asker.site != "none";
  if (from_elsewhere && !is_allowed) return Fault{403, "a page of another site asks"};
  return std::nullopt;
}

}  // namespace cloche::http
