// SPDX-License-Identifier: Apache-2.0
// What tools and resources say of files: types by name and content, addresses of resources, and
// content of a result.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/sandbox.h"
#include "doors/mcp/protocol.h"
#include "doors/mcp/subscriptions.h"

namespace cloche::mcp {

inline constexpr std::uint64_t blob_limit_bytes = 1U << 20;

// image/png, image/jpeg, image/gif or image/webp; empty: `bytes` begin no picture.
std::string_view picture_type(std::string_view bytes);
// Whether bytes that a file begins with are text.
bool is_text(std::string_view beginning);
// By the picture that it is, or its name; text/plain or application/octet-stream else.
std::string mime_type(std::string_view path, std::string_view beginning);

// sandbox://NAME/PATH
std::string address_of(std::string_view sandbox, std::string_view path);
// Nothing for what is no such address, or has "." or ".." in it.
std::optional<FileAddress> read_address(std::string_view uri);

// 2026-07-28T12:00:00Z
std::string time_text(std::chrono::system_clock::time_point time);

Reply text_content(std::string_view text);
Reply image_content(std::string_view type, std::string_view bytes);
Reply link_content(std::string_view sandbox, std::string_view path, std::string_view type,
                   std::uint64_t size);

}  // namespace cloche::mcp
