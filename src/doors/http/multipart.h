// SPDX-License-Identifier: Apache-2.0
// The part that is a file of a multipart/form-data body (RFC 7578).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::http {

struct FilePart {
  std::string filename;
  std::string_view content;  // a part of the body
};

// The boundary of a Content-Type; nothing when it is no multipart/form-data.
std::optional<std::string> multipart_boundary(std::string_view content_type);

// The parts called `name`, `most` of them. Nothing where there is none, there are more, or the body
// is malformed.
std::optional<std::vector<FilePart>> find_parts(std::string_view body, std::string_view boundary,
                                                std::string_view name, std::size_t most);

// The first part called `name`. Nothing where there is none, or the body is malformed.
std::optional<FilePart> find_part(std::string_view body, std::string_view boundary,
                                  std::string_view name);

}  // namespace cloche::http
