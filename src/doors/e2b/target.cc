// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/target.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace cloche::e2b {
namespace {

constexpr std::size_t id_bytes = 20;

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

bool is_sandbox_id(std::string_view text) {
  return text.size() == id_bytes && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
         });
}

std::optional<Target> target_of_host(std::string_view host) {
  const std::string_view label = host.substr(0, host.find('.'));
  const std::size_t dash = label.find('-');
  if (dash == label.npos || label.size() == host.size()) return std::nullopt;
  const auto port = port_of(label.substr(0, dash));
  const std::string_view id = label.substr(dash + 1);
  if (!port || !is_sandbox_id(id)) return std::nullopt;
  return Target{Target::Kind::port, std::string(id), *port};
}

Target target_of(const http::Request& head) {
  if (auto target = target_of_host(head.field("Host"))) return *std::move(target);
  const std::string_view id = head.field("E2b-Sandbox-Id");
  const std::string_view port = head.field("E2b-Sandbox-Port");
  if (!id.empty() || !port.empty()) {
    const auto number = port_of(port);
    if (id.empty() || !number) return {Target::Kind::broken, {}, 0};
    return {Target::Kind::port, std::string(id), *number};
  }
  if (head.path == "/files" && query_value(head, "signature"))
    return {Target::Kind::signed_address, {}, agent_port};
  static constexpr std::array<std::string_view, 9> folders{
      "/sandboxes",    "/v2/sandboxes", "/snapshots", "/templates",   "/v2/templates",
      "/v3/templates", "/volumes",      "/secrets",   "/v3/sandboxes"};
  const bool is_rest = std::ranges::any_of(
      folders, [&](std::string_view each) { return is_below(head.path, each); });
  return {is_rest ? Target::Kind::rest : Target::Kind::none, {}, 0};
}

std::optional<std::string> query_value(const http::Request& request, std::string_view name) {
  for (auto& [key, value] : http::query_pairs(request.query)) {
    if (key == name) return std::move(value);
  }
  return std::nullopt;
}

}  // namespace cloche::e2b
