// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "cluster/address.h"
#include "cluster/haproxy.h"
#include "doors/serve/serve.h"

namespace cloche::serve {
namespace {

constexpr const char* page = R"page(cloche route --haproxy --cell KEY=HOST:PORT[,NAME]... [OPTIONS]

Prints the configuration of an HAProxy (2.6 or later) in front of cells, servers with a --cell-key: each request goes to the
cell whose key is in the session's id, new sessions to one that is ready. Requests for a cell that starts anew are held.

  --cell KEY=HOST:PORT      a cell; repeated for each. ,NAME behind it is whose certificate it shows, where that is not HOST
  --listen ADDRESS:PORT     where HAProxy listens (127.0.0.1:8000)
  --resolve                 names are resolved while it runs, as cells come and go, not once at its start
  --peer-ca FILE|system     cells speak TLS: HAProxy checks their certificates by this file, or as this machine does
  --max-connections N       (8000)

  cloche route --haproxy --cell 1=10.0.0.1:8000 --cell 2=10.0.0.2:8000 --listen :80 > haproxy.cfg
)page";

// Of a line of the configuration.
bool is_word(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7f && c != '#' && c != '"' && c != '\'' && c != '\\';
  });
}

std::optional<cluster::Gateway::Cell> cell_of(const std::string& text) {
  cluster::Gateway::Cell cell;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cell.key);
  if (error != std::errc() || cell.key == 0 || end == text.data() + text.size() || *end != '=')
    return std::nullopt;
  cell.place = end + 1;
  if (const std::size_t comma = cell.place.find(','); comma != cell.place.npos) {
    cell.name = cell.place.substr(comma + 1);
    cell.place.resize(comma);
    if (cell.name.empty() || cell.name.find_first_of(",:()") != cell.name.npos) return std::nullopt;
  }
  if (!is_word(cell.place) || !is_word(cell.name) || !cluster::PeerSource::parse(cell.place))
    return std::nullopt;
  return cell;
}

cluster::Gateway parse_route(const std::vector<std::string>& words) {
  cluster::Gateway gateway;
  bool is_haproxy = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& name = words[i];
    if (name == "--haproxy") {
      is_haproxy = true;
      continue;
    }
    if (name == "--resolve") {
      gateway.resolves_names = true;
      continue;
    }
    if (name != "--cell" && name != "--listen" && name != "--peer-ca" &&
        name != "--max-connections")
      throw request_error("there is no option '" + name + "'");
    if (++i == words.size()) throw request_error(name + " wants a value");
    const std::string& value = words[i];
    if (name == "--cell") {
      auto cell = cell_of(value);
      if (!cell)
        throw request_error(name + " wants KEY=HOST:PORT or KEY=HOST:PORT,NAME, not '" + value +
                            "'");
      if (std::ranges::find(gateway.cells, cell->key, &cluster::Gateway::Cell::key) !=
          gateway.cells.end())
        throw request_error(fmt::format("there are two cells with the key {}", cell->key));
      gateway.cells.push_back(*std::move(cell));
    } else if (name == "--peer-ca") {
      if (value.empty() || !is_word(value))
        throw request_error(name + " wants a file of a plain name, not '" + value + "'");
      gateway.authorities = value;
    } else if (name == "--listen") {
      if (value.find(':') == value.npos || !is_word(value))
        throw request_error(name + " wants ADDRESS:PORT, not '" + value + "'");
      gateway.listen = value;
    } else {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), gateway.connection_limit);
      if (error != std::errc() || end != value.data() + value.size() ||
          gateway.connection_limit == 0)
        throw request_error(name + " wants a number, not '" + value + "'");
    }
  }
  if (!is_haproxy) throw request_error("say for what: --haproxy");
  if (gateway.cells.empty()) throw request_error("there is no cell: say --cell KEY=HOST:PORT");
  return gateway;
}

}  // namespace

int route_command(const std::vector<std::string>& words) {
  if (std::ranges::any_of(words,
                          [](const auto& word) { return word == "--help" || word == "-h"; })) {
    fmt::print("{}", page);
    return 0;
  }
  try {
    fmt::print("{}", cluster::haproxy_configuration(parse_route(words)));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "cloche route: {}; see cloche route --help\n", error.sentence());
    return usage_status;
  }
}

}  // namespace cloche::serve
