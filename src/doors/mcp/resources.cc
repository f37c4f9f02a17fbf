// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/resources.h"

#include <fmt/format.h>

#include <charconv>
#include <ranges>

#include "base/base64.h"
#include "base/random.h"
#include "base/utf8.h"
#include "doors/mcp/content.h"

namespace cloche::mcp {
namespace {

constexpr std::size_t page_size = 100;
constexpr std::string_view home = "/workspace";
constexpr std::uint64_t read_limit_bytes = std::uint64_t{16} << 20;
constexpr std::size_t beginning_bytes = 4096;
constexpr std::size_t listing_limit = 10'000;

[[noreturn]] void not_found(Era era, std::string_view uri) {
  throw ProtocolError{era == Era::modern ? code::invalid_params : code::no_such_resource,
                      fmt::format("there is no resource '{}'", shown(uri)),
                      {{"uri", shown(uri)}}};
}

void add_folder(Reply& list, const Box& box) {
  list.push_back({{"uri", address_of(box.name(), home)},
                  {"name", fmt::format("{}:{}", box.name(), home)},
                  {"title", fmt::format("Working folder of the sandbox {}", box.name())},
                  {"mimeType", "inode/directory"}});
}

// What of a folder there is, one name a line; folders end in a slash.
std::string listing_of(const std::vector<FileInfo>& entries) {
  std::string text;
  for (const FileInfo& entry : entries | std::views::take(listing_limit)) {
    text += valid_utf8(entry.name);
    text += entry.kind == FileKind::directory ? "/\n" : "\n";
  }
  if (entries.size() > listing_limit)
    text += fmt::format("... and {} more\n", entries.size() - listing_limit);
  return text;
}

std::string_view uri_of(const Request& request) {
  const std::string_view uri = text_member(request.params(), "uri");
  if (uri.empty()) throw ProtocolError{code::invalid_params, "'uri' is missing: it is a string"};
  return uri;
}

}  // namespace

Reply resource_templates() {
  return {{"resourceTemplates",
           Reply::array({{{"uriTemplate", "sandbox://{sandbox}/{+path}"},
                          {"name", "file"},
                          {"title", "A file or folder of a sandbox"},
                          {"description",
                           "Any file by the sandbox's name and its absolute path, such as "
                           "sandbox://default/workspace/notes.txt; of a folder its listing."}}})}};
}

Reply list_resources(const Scope& scope, std::string_view cursor) {
  std::size_t first = 0;
  if (!cursor.empty()) {
    const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), first);
    if (error != std::errc() || end != cursor.data() + cursor.size())
      throw ProtocolError{code::invalid_params, "'cursor' is none that was given here"};
  }
  Reply list = Reply::array();
  std::size_t number = 0;
  bool more = false;
  const auto take = [&] {
    const bool is_here = number >= first && list.size() < page_size;
    more = more || (number >= first && list.size() >= page_size);
    ++number;
    return is_here;
  };
  for (const std::shared_ptr<Box>& box : scope.all()) {
    const LiveSandbox live = box->live_if_made();
    if (!live) continue;
    if (take()) add_folder(list, *box);
    const Result<std::vector<FileInfo>> entries = live.sandbox->files().list(home);
    if (!entries) continue;
    for (const FileInfo& entry : *entries) {
      if (entry.kind != FileKind::file || entry.name.starts_with('.') || !take()) continue;
      const std::string path = fmt::format("{}/{}", home, entry.name);
      const Result<std::string> beginning =
          live.sandbox->files().read_range(path, 0, beginning_bytes);
      list.push_back({{"uri", address_of(box->name(), path)},
                      {"name", valid_utf8(entry.name)},
                      {"mimeType", mime_type(path, beginning ? *beginning : std::string())},
                      {"size", entry.size_bytes}});
    }
  }
  const std::size_t next = first + list.size();
  Reply result{{"resources", std::move(list)}};
  if (more) result["nextCursor"] = std::to_string(next);
  return result;
}

Reply read_resource(const Scope& scope, Era era, std::string_view uri) {
  const std::optional<FileAddress> address = read_address(uri);
  const std::shared_ptr<Box> box = address ? scope.find(address->sandbox) : nullptr;
  const LiveSandbox live = box ? box->live_if_made() : LiveSandbox();
  if (!live) not_found(era, uri);
  const Files& files = live.sandbox->files();
  const Result<FileInfo> info = files.stat(address->path);
  if (!info || info->kind == FileKind::other) not_found(era, uri);
  Reply content{{"uri", uri}};
  if (info->kind == FileKind::directory) {
    const Result<std::vector<FileInfo>> entries = files.list(address->path);
    if (!entries) not_found(era, uri);
    content["mimeType"] = "inode/directory";
    content["text"] = listing_of(*entries);
  } else {
    const Result<std::string> bytes = files.read(address->path, read_limit_bytes);
    if (!bytes && bytes.error() == Errno::fbig) {
      throw ProtocolError{code::invalid_params,
                          fmt::format("EFBIG: the file has {} bytes; {} are the most that one "
                                      "answer carries",
                                      info->size_bytes, read_limit_bytes)};
    }
    if (!bytes) not_found(era, uri);
    content["mimeType"] = mime_type(address->path, std::string_view(*bytes).substr(0, 4096));
    if (is_utf8(*bytes) && bytes->find('\0') == std::string::npos) {
      content["text"] = *bytes;
    } else {
      content["blob"] = to_base64(*bytes);
    }
  }
  return {{"contents", Reply::array({std::move(content)})}};
}

Reply subscribe(Request& request, Peer& peer) {
  const std::string uri(uri_of(request));
  const std::optional<FileAddress> address = read_address(uri);
  if (!address) not_found(request.era(), uri);
  const bool added = peer.scope().subscriptions->add(
      peer.scope(), peer.name(), uri, *address,
      [weak = peer.weak_from_this()](const std::string& changed) {
        if (const std::shared_ptr<Peer> there = weak.lock())
          there->send_event(notification("notifications/resources/updated", {{"uri", changed}}));
      });
  if (!added) {
    throw ProtocolError{code::invalid_params,
                        fmt::format("there are {} subscriptions already", Subscriptions::limit)};
  }
  return Reply::object();
}

Reply unsubscribe(Request& request, Peer& peer) {
  peer.scope().subscriptions->remove(peer.name(), std::string(uri_of(request)));
  return Reply::object();
}

void listen(const std::shared_ptr<Request>& request, Peer& peer) {
  const Json* wanted = member(request->params(), "notifications");
  const Json* uris = wanted == nullptr ? nullptr : member(*wanted, "resourceSubscriptions");
  const std::shared_ptr<Subscriptions> subscriptions = peer.scope().subscriptions;
  const std::string name = random_hex(8);
  const Reply about{{meta::subscription, request->id()}};
  Reply honored = Reply::object();
  std::vector<std::string> taken;
  if (uris != nullptr && uris->is_array()) {
    for (const Json& uri : *uris) {
      if (!uri.is_string()) continue;
      const std::string& text = uri.get_ref<const std::string&>();
      const std::optional<FileAddress> address = read_address(text);
      if (address && taken.size() < Subscriptions::limit) taken.push_back(text);
    }
  }
  if (!taken.empty()) honored["resourceSubscriptions"] = taken;
  request->notify("notifications/subscriptions/acknowledged",
                  {{"notifications", std::move(honored)}, {"_meta", about}});
  for (const std::string& uri : taken) {
    (void)subscriptions->add(
        peer.scope(), name, uri, *read_address(uri), [request, about](const std::string& changed) {
          request->notify("notifications/resources/updated", {{"uri", changed}, {"_meta", about}});
        });
  }
  peer.hold(request, [subscriptions, name] { subscriptions->remove_all(name); });
}

}  // namespace cloche::mcp
