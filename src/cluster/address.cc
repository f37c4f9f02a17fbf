// SPDX-License-Identifier: Apache-2.0
#include "cluster/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace cloche::cluster {
namespace {

constexpr std::size_t addresses_max = 4096;

// HOST and PORT of HOST:PORT, where HOST may be [IPv6]; nothing for anything else.
std::optional<std::pair<std::string, std::string>> split_place(std::string_view place) {
  const std::size_t colon = place.rfind(':');
  if (colon == place.npos || colon == 0 || colon + 1 == place.size()) return std::nullopt;
  std::string_view host = place.substr(0, colon);
  const std::string_view port = place.substr(colon + 1);
  if (port.size() > 5 || port.find_first_not_of("0123456789") != port.npos) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    return std::nullopt;
  }
  if (host.empty() || host.find_first_of("/@ \t") != host.npos) return std::nullopt;
  return std::pair(std::string(host), std::string(port));
}

enum class Which { first, all };

void resolve(const std::string& place, Which which, std::vector<Address>& to) {
  const auto parts = split_place(place);
  if (!parts) return;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(parts->first.c_str(), parts->second.c_str(), &hints, &found) != 0) return;
  for (const addrinfo* each = found; each && to.size() < addresses_max; each = each->ai_next) {
    Address address;
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    address.host = parts->first;
    std::array<char, NI_MAXHOST> host{};
    if (which == Which::first) {
      address.name = place;
    } else if (::getnameinfo(each->ai_addr, each->ai_addrlen, host.data(), host.size(), nullptr, 0,
                             NI_NUMERICHOST) == 0) {
      const bool is_v6 = each->ai_family == AF_INET6;
      address.name =
          fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host.data(), is_v6 ? "]" : "", parts->second);
    }
    if (std::ranges::find(to, address) == to.end()) to.push_back(std::move(address));
    if (which == Which::first) break;
  }
  ::freeaddrinfo(found);
}

}  // namespace

std::optional<PeerSource> PeerSource::parse(std::string_view text) {
  static constexpr std::string_view dns = "dns:";
  static constexpr std::string_view file = "file:";
  PeerSource source;
  if (text.starts_with(file)) {
    source.kind_ = Kind::file;
    source.places_.emplace_back(text.substr(file.size()));
    return source.places_[0].empty() ? std::nullopt : std::optional(source);
  }
  if (text.starts_with(dns)) {
    source.kind_ = Kind::dns;
    text.remove_prefix(dns.size());
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (!split_place(text.substr(0, end))) return std::nullopt;
    source.places_.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return source.places_.empty() ? std::nullopt : std::optional(source);
}

std::vector<std::string> PeerSource::places() const {
  if (kind_ != Kind::file) return places_;
  std::vector<std::string> places;
  std::ifstream stream(places_[0]);
  for (std::string line; std::getline(stream, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos) continue;
    places.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
  }
  return places;
}

std::vector<Address> PeerSource::addresses() const {
  std::vector<Address> addresses;
  for (const std::string& place : places())
    resolve(place, kind_ == Kind::dns ? Which::all : Which::first, addresses);
  return addresses;
}

std::vector<std::string> PeerSource::unknown() const {
  std::vector<std::string> unknown = places();
  std::erase_if(unknown, [](const std::string& place) {
    std::vector<Address> found;
    resolve(place, Which::first, found);
    return !found.empty();
  });
  return unknown;
}

UniqueFd begin_connect(const Address& address) {
  UniqueFd fd(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  const int one = 1;
  (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 &&
      errno != EINPROGRESS)
    fd.reset();
  return fd;
}

}  // namespace cloche::cluster
