// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/file_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/result.h"
#include "cloche/open_file.h"
#include "doors/e2b/agent.h"
#include "doors/e2b/by_root.h"
#include "doors/e2b/file_entry.h"
#include "doors/e2b/gzip.h"
#include "doors/e2b/rest_wire.h"
#include "doors/e2b/target.h"
#include "doors/http/body_source.h"
#include "doors/http/multipart.h"
#include "doors/http/received_bytes.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t parts_max = 1000;
constexpr std::string_view metadata_field = "X-Metadata-";
constexpr std::uint32_t new_file_mode = 0644;
constexpr std::size_t made_up_max_bytes = 1 << 20;

http::Response no_room_for_file() {
  return rest_error(507, "there is not enough room for the file");
}

http::Response file_answer(Errno error, const std::string& path) {
  if (error == Errno::canceled) return rest_error(502, sandbox_not_found);
  if (error == Errno::noent) return rest_error(404, fmt::format("path '{}' does not exist", path));
  if (error == Errno::isdir) return rest_error(400, fmt::format("path '{}' is a directory", path));
  if (error == Errno::nospc || error == Errno::dquot || error == Errno::fbig)
    return no_room_for_file();
  const int status = error == Errno::acces || error == Errno::perm ? 403 : 400;
  return rest_error(status, fmt::format("path '{}': {}", path, errno_info(error).message));
}

Result<std::string, http::Response> unpacked_body(const http::Request& request,
                                                  std::uint64_t file_limit_bytes) {
  std::uint64_t limit = file_limit_bytes;
  if (request.received) {
    const std::uint64_t most = request.received->most_bytes();
    limit = std::min(limit, most - std::min<std::uint64_t>(most, request.body.size()));
  }
  auto text = unpack_gzip(request.body, limit, [&request](std::uint64_t bytes) {
    return !request.received || request.received->grow_to(request.body.size() + bytes);
  });
  if (text) return *std::move(text);
  switch (text.error()) {
    case GzipFault::malformed: return rest_error(400, "the body is not gzip");
    case GzipFault::too_large:
      if (limit == file_limit_bytes) return no_room_for_file();
      return rest_error(413, fmt::format("the body unpacks to more than {} bytes", limit));
    case GzipFault::no_room: break;
  }
  http::Response refusal = rest_error(503, "the server has no memory for this body now: ask again");
  refusal.fields.emplace_back("Retry-After", "1");
  return refusal;
}

// Who asks: named in the address, or as for calls.
Checked<Actor> actor_for(const http::Request& request) {
  const auto name = query_value(request, "username");
  auto actor = name && !name->empty() ? actor_named(*name) : actor_of(request);
  if (const auto* error = std::get_if<CallError>(&actor)) return rest_error(401, error->message);
  return std::get<Actor>(std::move(actor));
}

struct Range {
  std::uint64_t first;
  std::uint64_t last;
};

// Of `bytes=A-B`, `bytes=A-`, `bytes=-N`: nothing for another text, or for several ranges, which are then
// answered with all; `beyond` for one that begins after the end.
std::optional<Range> range_of(std::string_view field, std::uint64_t size, bool& beyond) {
  static constexpr std::string_view unit = "bytes=";
  if (!field.starts_with(unit) || field.find(',') != field.npos) return std::nullopt;
  field.remove_prefix(unit.size());
  const std::size_t dash = field.find('-');
  if (dash == field.npos) return std::nullopt;
  const auto number = [](std::string_view text) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
      return std::nullopt;
    return value;
  };
  const auto first = number(field.substr(0, dash));
  const auto last = number(field.substr(dash + 1));
  if (dash == 0) {
    if (!last) return std::nullopt;
    beyond = *last == 0 || size == 0;
    return Range{size - std::min(size, *last), size == 0 ? 0 : size - 1};
  }
  if (!first || (!last && dash + 1 != field.size()) || (last && *last < *first))
    return std::nullopt;
  beyond = *first >= size;
  return Range{*first, last ? std::min(*last, size == 0 ? 0 : size - 1) : size == 0 ? 0 : size - 1};
}

std::string_view type_by_name(std::string_view name) {
  static const std::map<std::string_view, std::string_view> types{
      {"css", "text/css; charset=utf-8"},
      {"csv", "text/csv; charset=utf-8"},
      {"gif", "image/gif"},
      {"html", "text/html; charset=utf-8"},
      {"jpeg", "image/jpeg"},
      {"jpg", "image/jpeg"},
      {"js", "text/javascript; charset=utf-8"},
      {"json", "application/json"},
      {"md", "text/markdown; charset=utf-8"},
      {"pdf", "application/pdf"},
      {"png", "image/png"},
      {"py", "text/x-python; charset=utf-8"},
      {"svg", "image/svg+xml"},
      {"txt", "text/plain; charset=utf-8"},
      {"wasm", "application/wasm"},
      {"xml", "text/xml; charset=utf-8"},
      {"zip", "application/zip"}};
  const std::size_t dot = name.rfind('.');
  const auto found = dot == name.npos ? types.end() : types.find(name.substr(dot + 1));
  return found == types.end() ? "application/octet-stream" : found->second;
}

// A page among them would have all that its origin has, such as the console's cookie, where it is
// not one of an origin of its own. Viewers of PDF are that by themselves, and begin in no such page.
http::Fields fields_for(const std::string& path) {
  const std::string_view type = type_by_name(path);
  http::Fields fields{
      {"Content-Type", std::string(type)},
      {"Content-Disposition", "inline; filename=" + http::quoted(last_component(path))},
      {"X-Content-Type-Options", "nosniff"},
      {"Accept-Ranges", "bytes"}};
  if (type != "application/pdf")
    fields.emplace_back("Content-Security-Policy", "sandbox allow-scripts");
  return fields;
}

// A part of a file, read while it is sent. A sandbox that ends meanwhile, or a file that is cut,
// breaks it off.
class FileSlice final : public http::PieceSource {
 public:
  FileSlice(BoxPtr box, session::Session::Use use, std::unique_ptr<OpenFile> file, Range range)
      : PieceSource(range.first, range.last + 1),
        box_(std::move(box)),
        use_(std::move(use)),
        file_(std::move(file)) {}

 private:
  std::optional<std::string> read(std::uint64_t offset, std::size_t size_bytes) override {
    if (box_->session->status() == session::Status::closed) return std::nullopt;
    Result<std::string> piece = file_->read(offset, size_bytes);
    if (!piece) return std::nullopt;
    return *std::move(piece);
  }

  const BoxPtr box_;
  const session::Session::Use use_;
  const std::unique_ptr<OpenFile> file_;  // goes before the sandbox
};

// X-Metadata-KEY: VALUE, as attributes.
std::map<std::string, std::string> metadata_of(const http::Request& request) {
  std::map<std::string, std::string> metadata;
  for (const auto& [name, value] : request.fields) {
    if (name.size() <= metadata_field.size() ||
        !http::same_text(std::string_view(name).substr(0, metadata_field.size()), metadata_field))
      continue;
    const std::string key = http::lowered(std::string_view(name).substr(metadata_field.size()));
    metadata[std::string(metadata_space) + key] = value;
  }
  return metadata;
}

Result<void> set_metadata(Files& files, const std::string& path,
                          const std::map<std::string, std::string>& metadata) {
  CLOCHE_ASSIGN(const auto old, files.attributes(path));
  for (const auto& [name, value] : old) {
    if (name.starts_with(metadata_space) && !metadata.contains(name))
      CLOCHE_TRY(files.remove_attribute(path, name));
  }
  for (const auto& [name, value] : metadata) CLOCHE_TRY(files.set_attribute(path, name, value));
  return {};
}

// The clients' agent gives a new file to its user, which those who watch its folder are told of
// between that it was made and that it was written.
Result<void> write_as_the_agent(Files& files, const std::string& path, std::string_view content) {
  const Result<void> made = files.write(path, {}, new_file_mode, IfThere::refuse);
  if (!made && made.error() == Errno::exist) return files.write(path, content);
  CLOCHE_TRY(made);
  const Result<void> given = files.change_mode(path, new_file_mode);
  const Result<void> written = given ? files.write(path, content) : given;
  if (written) return written;
  // Others may have filled it meanwhile.
  if (const auto there = files.link_stat(path); there && there->size_bytes == 0)
    (void)files.remove(path);
  return written;
}

}  // namespace

http::Response download(const BoxPtr& box, session::Session::Use use,
                        const http::Request& request) {
  auto actor = actor_for(request);
  if (auto* wrong = std::get_if<http::Response>(&actor)) return std::move(*wrong);
  const Actor& who = std::get<Actor>(actor);
  auto path = path_of(who, query_value(request, "path").value_or(""));
  if (const auto* error = std::get_if<CallError>(&path)) return rest_error(400, error->message);
  const std::string& name = std::get<std::string>(path);
  const Result<FileInfo> info =
      with_files(*use, who, [&](const Files& files) { return files.stat(name); });
  if (!info) return file_answer(info.error(), name);
  if (info->kind == FileKind::directory) return file_answer(Errno::isdir, name);
  Result<std::unique_ptr<OpenFile>> file =
      with_files(*use, who, [&](Files& files) { return files.open(name, OpenMode::read); });
  if (!file) return file_answer(file.error(), name);
  (void)(*file)->hold();
  const Result<FileInfo> opened = (*file)->stat();
  if (!opened) return file_answer(opened.error(), name);
  const std::uint64_t size = opened->size_bytes;
  http::Response response{200, fields_for(name), {}};
  bool beyond = false;
  const auto range = range_of(request.field("Range"), size, beyond);
  if (range && beyond) {
    http::Response refusal = rest_error(416, "the range begins after the end of the file");
    refusal.fields.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return refusal;
  }
  if (range) {
    response.status = 206;
    response.fields.emplace_back("Content-Range",
                                 fmt::format("bytes {}-{}/{}", range->first, range->last, size));
  }
  if (size == 0) {
    // It may have more than it says: what the kernel makes up does.
    Result<std::string> all = with_files(
        *use, who, [&](const Files& files) { return files.read(name, made_up_max_bytes); });
    if (!all) return file_answer(all.error(), name);
    response.body = *std::move(all);
    return response;
  }
  response.source = std::make_shared<FileSlice>(box, std::move(use), *std::move(file),
                                                range ? *range : Range{0, size - 1});
  return response;
}

http::Response upload(Sandbox& sandbox, const http::Request& request) {
  auto actor = actor_for(request);
  if (auto* wrong = std::get_if<http::Response>(&actor)) return std::move(*wrong);
  const Actor& who = std::get<Actor>(actor);
  const std::string given = query_value(request, "path").value_or("");
  std::string unpacked;
  std::string_view body = request.body;
  if (http::same_text(request.field("Content-Encoding"), "gzip")) {
    auto text = unpacked_body(request, sandbox.options().file_limit_bytes);
    if (!text) return text.error();
    unpacked = *std::move(text);
    body = unpacked;
  }
  std::vector<http::FilePart> parts;
  const std::string_view type = request.field("Content-Type");
  if (type.starts_with("multipart/")) {
    const auto boundary = http::multipart_boundary(type);
    auto found = boundary ? http::find_parts(body, *boundary, "file", parts_max) : std::nullopt;
    if (!found) return rest_error(400, "the form has no part called file, or too many");
    parts = *std::move(found);
  } else {
    if (given.empty()) return rest_error(400, "path is required");
    parts.push_back({given, body});
  }
  const auto metadata = metadata_of(request);
  OrderedJson written = OrderedJson::array();
  for (const http::FilePart& part : parts) {
    auto path = path_of(who, given.empty() ? part.filename : given);
    if (const auto* error = std::get_if<CallError>(&path)) return rest_error(400, error->message);
    const std::string& name = std::get<std::string>(path);
    if (given.empty() && part.filename.empty()) return rest_error(400, "a part has no file name");
    const Result<void> done = with_files_at(sandbox, who, name, [&](Files& files) -> Result<void> {
      CLOCHE_TRY(write_as_the_agent(files, name, part.content));
      return set_metadata(files, name, metadata);
    });
    if (!done) return file_answer(done.error(), name);
    OrderedJson entry{{"path", name}, {"name", last_component(name)}, {"type", "file"}};
    if (!metadata.empty()) {
      for (const auto& [key, value] : metadata)
        entry["metadata"][key.substr(metadata_space.size())] = value;
    }
    written.push_back(std::move(entry));
  }
  return http::json_response(200, write_json(written));
}

}  // namespace cloche::e2b
