// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "doors/mcp/instructions.h"
#include "doors/mcp/resources.h"
#include "doors/mcp/tool.h"

namespace cloche::mcp {
namespace {

constexpr int tools_ttl_ms = 3'600'000;

enum class Eras : std::uint8_t { both, legacy, modern };

struct Method {
  std::string_view name;
  Eras eras;
  void (*serve)(const std::shared_ptr<Request>& request, Peer& peer);  // throws ProtocolError
};

// What a client may keep of an answer, and for whom.
Reply cacheable(const Request& request, Reply result, int ttl_ms, std::string_view scope) {
  if (request.era() == Era::modern) {
    result["ttlMs"] = ttl_ms;
    result["cacheScope"] = scope;
  }
  return result;
}

// What waits for a sandbox's lock does so on a thread of its own.
template <typename Make>
void answer_later(const std::shared_ptr<Request>& request, Peer& peer, Make make) {
  const auto answer = [request, self = peer.shared_from_this(), make] {
    try {
      request->finish(make(*request, *self));
    } catch (const ProtocolError& error) {
      request->fail(error);
    } catch (const std::exception& problem) {
      request->fail({code::internal_error, problem.what()});
    }
  };
  peer.hub().pool().post(answer, peer.scope().owner);
}

Reply capabilities() { return {{"tools", Reply::object()}, {"resources", {{"subscribe", true}}}}; }

void initialize(const std::shared_ptr<Request>& request, Peer& peer) {
  const std::string version = peer.shake_hands(request->params());
  request->finish({{"protocolVersion", version},
                   {"capabilities", capabilities()},
                   {"serverInfo", server_info()},
                   {"instructions", instructions(peer.hub().options())}});
}

void ping(const std::shared_ptr<Request>& request, Peer&) { request->finish(Reply::object()); }

void discover(const std::shared_ptr<Request>& request, Peer& peer) {
  request->finish(cacheable(*request,
                            {{"supportedVersions", supported_versions()},
                             {"capabilities", capabilities()},
                             {"instructions", instructions(peer.hub().options())}},
                            tools_ttl_ms, "private"));
}

void list_tools(const std::shared_ptr<Request>& request, Peer& peer) {
  Reply list = Reply::array();
  for (const Tool& tool : tools(peer.hub().options().tools)) list.push_back(description_of(tool));
  request->finish(cacheable(*request, {{"tools", std::move(list)}}, tools_ttl_ms, "public"));
}

void list_templates(const std::shared_ptr<Request>& request, Peer&) {
  request->finish(cacheable(*request, resource_templates(), 0, "private"));
}

void list_files(const std::shared_ptr<Request>& request, Peer& peer) {
  answer_later(request, peer, [](Request& asked, Peer& by) {
    return cacheable(asked, list_resources(by.scope(), text_member(asked.params(), "cursor")), 0,
                     "private");
  });
}

void read_file(const std::shared_ptr<Request>& request, Peer& peer) {
  const std::string uri(text_member(request->params(), "uri"));
  if (uri.empty()) throw ProtocolError{code::invalid_params, "'uri' is missing: it is a string"};
  answer_later(request, peer, [uri](Request& asked, Peer& by) {
    return cacheable(asked, read_resource(by.scope(), asked.era(), uri), 0, "private");
  });
}

void begin_subscription(const std::shared_ptr<Request>& request, Peer& peer) {
  answer_later(request, peer, [](Request& asked, Peer& by) { return subscribe(asked, by); });
}

void end_subscription(const std::shared_ptr<Request>& request, Peer& peer) {
  request->finish(unsubscribe(*request, peer));
}

constexpr std::array table{
    Method{"initialize", Eras::legacy, initialize},
    Method{"ping", Eras::legacy, ping},
    Method{"server/discover", Eras::modern, discover},
    Method{"tools/list", Eras::both, list_tools},
    Method{"tools/call", Eras::both, call_tool},
    Method{"resources/list", Eras::both, list_files},
    Method{"resources/templates/list", Eras::both, list_templates},
    Method{"resources/read", Eras::both, read_file},
    Method{"resources/subscribe", Eras::legacy, begin_subscription},
    Method{"resources/unsubscribe", Eras::legacy, end_subscription},
    Method{"subscriptions/listen", Eras::modern, listen},
};

}  // namespace

void serve_method(const std::shared_ptr<Request>& request, Peer& peer) {
  const auto* method = std::ranges::find(table, request->method(), &Method::name);
  const Eras other = request->era() == Era::modern ? Eras::legacy : Eras::modern;
  if (method == table.end() || method->eras == other) {
    throw ProtocolError{code::no_such_method,
                        fmt::format("there is no method '{}'", shown(request->method()))};
  }
  method->serve(request, peer);
}

}  // namespace cloche::mcp
