// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/content.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/base64.h"
#include "base/utf8.h"
#include "doors/http/message.h"

namespace cloche::mcp {
namespace {

using Type = std::pair<std::string_view, std::string_view>;
constexpr std::array types_by_name{
    Type{".c", "text/x-c"},
    Type{".cc", "text/x-c++"},
    Type{".cpp", "text/x-c++"},
    Type{".css", "text/css"},
    Type{".csv", "text/csv"},
    Type{".gif", "image/gif"},
    Type{".gz", "application/gzip"},
    Type{".h", "text/x-c"},
    Type{".htm", "text/html"},
    Type{".html", "text/html"},
    Type{".jpeg", "image/jpeg"},
    Type{".jpg", "image/jpeg"},
    Type{".js", "text/javascript"},
    Type{".json", "application/json"},
    Type{".md", "text/markdown"},
    Type{".pdf", "application/pdf"},
    Type{".png", "image/png"},
    Type{".py", "text/x-python"},
    Type{".sh", "text/x-shellscript"},
    Type{".svg", "image/svg+xml"},
    Type{".tar", "application/x-tar"},
    Type{".toml", "application/toml"},
    Type{".ts", "text/x-typescript"},
    Type{".tsv", "text/tab-separated-values"},
    Type{".txt", "text/plain"},
    Type{".wasm", "application/wasm"},
    Type{".webp", "image/webp"},
    Type{".xml", "application/xml"},
    Type{".yaml", "application/yaml"},
    Type{".yml", "application/yaml"},
    Type{".zip", "application/zip"},
};

constexpr std::string_view scheme = "sandbox://";

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~' || c == '/';
}

}  // namespace

std::string_view picture_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP")
    return "image/webp";
  return {};
}

bool is_text(std::string_view beginning) {
  if (beginning.find('\0') != std::string_view::npos) return false;
  for (std::size_t at = 0; at < beginning.size();) {
    at += ascii_run(beginning, at);
    if (at == beginning.size()) break;
    const Utf8Piece piece = utf8_piece(beginning, at);
    if (!piece.valid) {  // the last character may be cut
      const auto first = static_cast<unsigned char>(beginning[at]);
      return first >= 0xc2 && first <= 0xf4 && at + piece.bytes == beginning.size() &&
             piece.bytes < 4;
    }
    at += piece.bytes;
  }
  return true;
}

std::string mime_type(std::string_view path, std::string_view beginning) {
  if (const std::string_view picture = picture_type(beginning); !picture.empty())
    return std::string(picture);
  const bool text = is_text(beginning);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) {
    std::string ending(name.substr(dot));
    std::ranges::transform(ending, ending.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto* found = std::ranges::find(types_by_name, ending, &Type::first);
    // A name promises nothing: a file that does not begin as a picture is bytes.
    const bool fits =
        found != types_by_name.end() && (text || found->second.starts_with("application/"));
    if (fits && (found->second == "image/svg+xml" || !found->second.starts_with("image/")))
      return std::string(found->second);
  }
  return text ? "text/plain" : "application/octet-stream";
}

std::string address_of(std::string_view sandbox, std::string_view path) {
  std::string uri = fmt::format("{}{}", scheme, sandbox);
  if (!path.starts_with('/')) uri += '/';
  for (const char c : path) {
    if (is_unreserved(c)) {
      uri.push_back(c);
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

std::optional<FileAddress> read_address(std::string_view uri) {
  if (!uri.starts_with(scheme)) return std::nullopt;
  uri.remove_prefix(scheme.size());
  const std::size_t slash = uri.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  FileAddress address{std::string(uri.substr(0, slash)), http::percent_decode(uri.substr(slash))};
  if (!is_name(address.sandbox) || !is_utf8(address.path) ||
      address.path.find('\0') != std::string::npos)
    return std::nullopt;
  for (std::string_view rest = address.path; !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (part == "." || part == "..") return std::nullopt;
    rest.remove_prefix(part.size());
  }
  return address;
}

std::string time_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

Reply text_content(std::string_view text) { return {{"type", "text"}, {"text", valid_utf8(text)}}; }

Reply image_content(std::string_view type, std::string_view bytes) {
  return {{"type", "image"}, {"data", to_base64(bytes)}, {"mimeType", type}};
}

Reply link_content(std::string_view sandbox, std::string_view path, std::string_view type,
                   std::uint64_t size) {
  return {{"type", "resource_link"},
          {"uri", address_of(sandbox, path)},
          {"name", valid_utf8(path.substr(path.rfind('/') + 1))},
          {"mimeType", type},
          {"size", size}};
}

}  // namespace cloche::mcp
