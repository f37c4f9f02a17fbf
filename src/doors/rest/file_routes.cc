// SPDX-License-Identifier: Apache-2.0
// Files up and down.
#include <fmt/format.h>

#include <memory>

#include "cloche/open_file.h"
#include "doors/http/body_source.h"
#include "doors/http/multipart.h"
#include "doors/rest/replies.h"
#include "doors/rest/rest_door.h"

namespace cloche::rest {
namespace {

// The last of that name; nothing when there is none.
std::optional<std::string> query_value(const http::Request& request, std::string_view name) {
  std::optional<std::string> found;
  for (auto& [key, value] : http::query_pairs(request.query)) {
    if (key == name) found = std::move(value);
  }
  return found;
}

// Relative paths start in /workspace; what ".." leads to is resolved by the sandbox itself.
std::string absolute(const std::string& path) {
  std::string_view rest = path;
  while (rest.starts_with("./")) rest.remove_prefix(2);
  return rest.starts_with('/') ? std::string(rest) : "/workspace/" + std::string(rest);
}

std::string last_component(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

constexpr std::uint32_t new_file_mode = 0644;

// A larger file is read while it is sent, from what it was at the start where that can be held.
constexpr std::size_t read_at_once_bytes = 256 << 10;
// What the kernel makes up says no size.
constexpr std::size_t made_up_max_bytes = 4 << 20;

// A file, read while it is sent: as it was at the start, or as long as it was then. A session that is deleted
// meanwhile, or a file that is cut, ends it.
class FileBody final : public http::PieceSource {
 public:
  FileBody(std::shared_ptr<session::Session> session, session::Session::Use sandbox,
           std::unique_ptr<OpenFile> file, std::uint64_t size)
      : PieceSource(0, size),
        session_(std::move(session)),
        sandbox_(std::move(sandbox)),
        file_(std::move(file)) {}

 private:
  std::optional<std::string> read(std::uint64_t offset, std::size_t size_bytes) override {
    if (session_->status() == session::Status::closed) return std::nullopt;
    Result<std::string> piece = file_->read(offset, size_bytes);
    if (!piece) return std::nullopt;
    session_->touch();
    return *std::move(piece);
  }

  const std::shared_ptr<session::Session> session_;
  const session::Session::Use sandbox_;
  const std::unique_ptr<OpenFile> file_;  // goes before the sandbox
};

http::Response missing(std::string_view what) {
  return error(400, "INVALID_PARAMETER", fmt::format("{} is required", what));
}

}  // namespace

http::Response RestDoor::upload(const session::Session& session, Sandbox& sandbox,
                                const http::Request& request) {
  const std::optional<std::string> given = query_value(request, "path");
  if (!given || given->empty()) return missing("path");
  if (given->find('\0') != std::string::npos)
    return error(400, "INVALID_PARAMETER", "path must not have a NUL");
  const std::string overwrite = query_value(request, "overwrite").value_or("false");
  if (overwrite != "true" && overwrite != "false" && overwrite != "1" && overwrite != "0")
    return error(400, "INVALID_PARAMETER", "overwrite must be true or false");

  std::string path = absolute(*given);
  std::string_view content = request.body;
  const std::string_view type = request.field("Content-Type");
  if (type.starts_with("multipart/")) {
    const auto boundary = http::multipart_boundary(type);
    const auto part = boundary ? http::find_part(request.body, *boundary, "file") : std::nullopt;
    if (!part) return error(400, "INVALID_REQUEST", "the form has no part called file");
    content = part->content;
    const Result<FileInfo> there = sandbox.files().stat(path);
    const bool is_folder = path.ends_with('/') || (there && there->kind == FileKind::directory);
    const std::string name = last_component(part->filename);
    if (is_folder && !name.empty() && name != "." && name != "..")
      path += (path.ends_with('/') ? "" : "/") + name;
  }
  if (content.size() > limits_.upload_bytes)
    return error(413, "INVALID_REQUEST", "the file is larger than a session may have");
  if (path.ends_with('/')) return error(400, "INVALID_PARAMETER", "path names a folder");
  if (const Result<FileInfo> there = sandbox.files().stat(path);
      there && there->kind == FileKind::directory)
    return error(409, "INVALID_STATE", path + " is a folder");
  const bool replaces = overwrite == "true" || overwrite == "1";
  const Result<void> written = sandbox.files().write(path, content, new_file_mode,
                                                     replaces ? IfThere::replace : IfThere::refuse);
  if (!written && written.error() == Errno::exist)
    return error(409, "INVALID_STATE", path + " exists: say overwrite=true to replace it");
  if (!written && written.error() == Errno::canceled) return ended_meanwhile(session);
  if (!written) return file_error(written.error(), path);
  Result<FileInfo> info = sandbox.files().stat(path);
  if (!info) return file_error(info.error(), path);
  info->name = last_component(path);
  return http::json_response(201, file_json(*info, path, md5_hex(content)));
}

http::Response RestDoor::download(const SessionPtr& session, session::Session::Use& sandbox,
                                  const http::Request& request) {
  std::optional<std::string> given = query_value(request, "filePath");
  if (!given) given = query_value(request, "path");
  if (!given || given->empty()) return missing("filePath");
  const std::string path = absolute(*given);
  http::Response response{
      200,
      {{"Content-Type", "application/octet-stream"},
       {"Content-Disposition", "attachment; filename=" + http::quoted(last_component(path))}},
      {}};
  const Result<FileInfo> info = sandbox->files().stat(path);
  if (!info || info->kind != FileKind::file || info->size_bytes <= read_at_once_bytes) {
    Result<std::string> content = sandbox->files().read(path, made_up_max_bytes);
    if (content) {
      response.body = *std::move(content);
      return response;
    }
    // The guest may have put a large one there meanwhile.
    if (content.error() != Errno::fbig) return file_error(content.error(), path);
  }
  Result<std::unique_ptr<OpenFile>> file = sandbox->files().open(path, OpenMode::read);
  if (!file) return file_error(file.error(), path);
  (void)(*file)->hold();
  const Result<FileInfo> opened = (*file)->stat();
  if (!opened) return file_error(opened.error(), path);
  response.source =
      std::make_shared<FileBody>(session, std::move(sandbox), *std::move(file), opened->size_bytes);
  return response;
}

}  // namespace cloche::rest
