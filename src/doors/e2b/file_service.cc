// SPDX-License-Identifier: Apache-2.0
// filesystem.Filesystem of the agent.
#include <fmt/format.h>

#include <map>

#include "base/result.h"
#include "doors/e2b/by_root.h"
#include "doors/e2b/file_entry.h"
#include "doors/e2b/message_list.h"
#include "doors/e2b/stream_call.h"

namespace cloche::e2b {
namespace {

constexpr std::int64_t depth_max = 100;
constexpr std::size_t listed_max = 100'000;

CallResult<std::string> path_at(const Call& call, const Json& message, std::string_view name) {
  CLOCHE_CALL(const std::string path, text_at(message, name));
  return path_of(call.actor, path);
}

CallResult<OrderedJson> entry_answer(const Call& call, const std::string& path) {
  Result<OrderedJson> entry =
      with_files(*call.use, call.actor, [&](const Files& files) { return entry_of(files, path); });
  if (!entry) return file_error(entry.error(), path);
  return OrderedJson{{"entry", *std::move(entry)}};
}

CallResult<OrderedJson> stat(const Call& call, const Json& message) {
  CLOCHE_CALL(const std::string path, path_at(call, message, "path"));
  return entry_answer(call, path);
}

// Depth first, each folder before what is in it.
Result<void> add_entries(const Files& files, const std::string& folder, std::int64_t depth,
                         MessageList& entries) {
  CLOCHE_ASSIGN(const std::vector<FileInfo> found, files.list(folder));
  for (const FileInfo& info : found) {
    if (entries.size() >= listed_max) return Errno::fbig;
    const std::string path = (folder == "/" ? "" : folder) + "/" + info.name;
    Result<OrderedJson> entry = entry_of(files, path);
    if (!entry && entry.error() == Errno::noent) continue;  // removed meanwhile
    if (!entry) return entry.error();
    entries.add(*entry);
    if (depth > 1 && info.kind == FileKind::directory) {
      const Result<void> added = add_entries(files, path, depth - 1, entries);
      if (!added && added.error() != Errno::noent && added.error() != Errno::acces)
        return added.error();
    }
  }
  return {};
}

CallResult<std::string> list_dir(const Call& call, const Json& message) {
  CLOCHE_CALL(const std::string path, path_at(call, message, "path"));
  CLOCHE_CALL(const std::int64_t depth, number_at(message, "depth"));
  if (depth < 0 || depth > depth_max)
    return CallError{"invalid_argument", fmt::format("depth must be up to {}", depth_max)};
  MessageList entries("entries");
  const Result<void> added =
      with_files(*call.use, call.actor, [&](const Files& files) -> Result<void> {
        entries = MessageList("entries");
        CLOCHE_ASSIGN(const FileInfo there, files.stat(path));
        if (there.kind != FileKind::directory) return Errno::notdir;
        return add_entries(files, path, depth == 0 ? 1 : depth, entries);
      });
  if (!added && added.error() == Errno::notdir)
    return CallError{"invalid_argument", fmt::format("path is not a directory: {}", path)};
  if (!added) return file_error(added.error(), path);
  return std::move(entries).take();
}

CallResult<OrderedJson> make_dir(const Call& call, const Json& message) {
  CLOCHE_CALL(const std::string path, path_at(call, message, "path"));
  const Result<FileInfo> there =
      with_files(*call.use, call.actor, [&](const Files& files) { return files.stat(path); });
  if (there) {
    if (there->kind == FileKind::directory)
      return CallError{"already_exists", fmt::format("directory already exists: {}", path)};
    return CallError{"invalid_argument",
                     fmt::format("path already exists but it is not a directory: {}", path)};
  }
  const Result<void> made = with_files_at(
      *call.use, call.actor, path, [&](Files& files) { return files.make_directories(path); });
  if (!made) return file_error(made.error(), path);
  return entry_answer(call, path);
}

Result<void> make_parent(Files& files, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? Result<void>()
                                          : files.make_directories(path.substr(0, slash));
}

CallResult<OrderedJson> move(const Call& call, const Json& message) {
  CLOCHE_CALL(const std::string source, path_at(call, message, "source"));
  CLOCHE_CALL(const std::string destination, path_at(call, message, "destination"));
  const Result<FileInfo> there = with_files(
      *call.use, call.actor, [&](const Files& files) { return files.link_stat(source); });
  if (!there) return file_error(there.error(), source);
  const Result<void> made =
      with_files_at(*call.use, call.actor, destination.substr(0, destination.rfind('/')),
                    [&](Files& files) { return make_parent(files, destination); });
  if (!made) return file_error(made.error(), destination);
  const Result<void> moved = with_files(
      *call.use, call.actor, [&](Files& files) { return files.rename(source, destination); });
  if (!moved) return file_error(moved.error(), destination);
  return entry_answer(call, destination);
}

CallResult<OrderedJson> remove(const Call& call, const Json& message) {
  CLOCHE_CALL(const std::string path, path_at(call, message, "path"));
  const Result<void> removed =
      with_files(*call.use, call.actor, [&](Files& files) { return files.remove_all(path); });
  if (!removed && removed.error() != Errno::noent) return file_error(removed.error(), path);
  return OrderedJson(OrderedJson::object());
}

CallResult<WatchWish> read_watch(const Call& call, const Json& message) {
  WatchWish wish;
  CLOCHE_CALL(wish.path, path_at(call, message, "path"));
  CLOCHE_CALL(const bool is_recursive, truth_at(message, "recursive", false));
  CLOCHE_CALL(const bool has_entries, truth_at(message, "includeEntry", false));
  if (is_recursive) wish.depth = WatchDepth::tree;
  if (has_entries) wish.detail = WatchWish::Detail::entries;
  wish.account = call.actor.account;
  return wish;
}

CallResult<bool> watch_dir(const Call& call) {
  CLOCHE_CALL(const Json message, only_message(call.request));
  CLOCHE_CALL(WatchWish wish, read_watch(call, message));
  call.box->watches->start(
      call.use, std::move(wish),
      EventStream::begin(*call.exchange, silence_of(call.request), connect_form()),
      time_limit_of(call.request));
  return true;
}

CallResult<OrderedJson> create_watcher(const Call& call, const Json& message) {
  CLOCHE_CALL(WatchWish wish, read_watch(call, message));
  CLOCHE_CALL(std::string name, call.box->watches->create(call.use, std::move(wish)));
  return OrderedJson{{"watcherId", std::move(name)}};
}

CallResult<std::string> watcher_events(const Call& call, const Json& message) {
  CLOCHE_CALL(const std::string name, text_at(message, "watcherId"));
  CLOCHE_CALL(MessageList events, call.box->watches->events(name));
  return std::move(events).take();
}

CallResult<OrderedJson> remove_watcher(const Call& call, const Json& message) {
  CLOCHE_CALL(const std::string name, text_at(message, "watcherId"));
  CLOCHE_CALL(const bool done, call.box->watches->remove(name));
  (void)done;
  return OrderedJson(OrderedJson::object());
}

const std::map<std::string_view, Unary>& unary_methods() {
  static const std::map<std::string_view, Unary> methods{
      {"Stat", stat},
      {"MakeDir", make_dir},
      {"Move", move},
      {"Remove", remove},
      {"CreateWatcher", create_watcher},
      {"RemoveWatcher", remove_watcher},
  };
  return methods;
}

}  // namespace

void call_file_service(std::string_view method, Call call) {
  if (method == "WatchDir") {
    const auto watched = watch_dir(call);
    if (const auto* error = std::get_if<CallError>(&watched)) refuse_stream(call, *error);
    return;
  }
  if (method == "ListDir") return answer_unary(list_dir, call);
  if (method == "GetWatcherEvents") return answer_unary(watcher_events, call);
  const auto found = unary_methods().find(method);
  if (found == unary_methods().end()) {
    return call.exchange->send(
        error_answer({"unimplemented", fmt::format("there is no method {}", method)}));
  }
  answer_unary(found->second, call);
}

}  // namespace cloche::e2b
