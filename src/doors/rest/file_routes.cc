// Files up and down.
#include <fmt/format.h>

#include "doors/rest/multipart.h"
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

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '_' : c;
  }
  return text + "\"";
}

http::Response missing(std::string_view what) {
  return error(400, "INVALID_PARAMETER", fmt::format("{} is required", what));
}

}  // namespace

http::Response RestDoor::upload(Sandbox& sandbox, const http::Request& request) {
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
    const auto boundary = multipart_boundary(type);
    const auto part = boundary ? find_part(request.body, *boundary, "file") : std::nullopt;
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
  if (const Result<FileInfo> there = sandbox.files().stat(path)) {
    if (there->kind == FileKind::directory)
      return error(409, "INVALID_STATE", path + " is a folder");
    if (overwrite == "false" || overwrite == "0")
      return error(409, "INVALID_STATE", path + " exists: say overwrite=true to replace it");
  }
  if (const Result<void> written = sandbox.files().write(path, content); !written)
    return file_error(written.error(), path);
  Result<FileInfo> info = sandbox.files().stat(path);
  if (!info) return file_error(info.error(), path);
  info->name = last_component(path);
  return http::json_response(201, file_json(*info, path, md5_hex(content)));
}

http::Response RestDoor::download(Sandbox& sandbox, const http::Request& request) {
  std::optional<std::string> given = query_value(request, "filePath");
  if (!given) given = query_value(request, "path");
  if (!given || given->empty()) return missing("filePath");
  const std::string path = absolute(*given);
  Result<std::string> content = sandbox.files().read(path);
  if (!content) return file_error(content.error(), path);
  return {200,
          {{"Content-Type", "application/octet-stream"},
           {"Content-Disposition", "attachment; filename=" + quoted_name(last_component(path))}},
          *std::move(content)};
}

}  // namespace cloche::rest
