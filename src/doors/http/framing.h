// SPDX-License-Identifier: Apache-2.0
// Framing: where a request ends, and to whom it goes, said in one way only. What another program on
// the way could read differently is no request.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "doors/http/message.h"

namespace cloche::http {

// What is wrong with the fields that say where the request ends (Content-Length and
// Transfer-Encoding) and to whom it goes (Host), or nothing. `version` is 10 or 11.
std::optional<std::string_view> framing_fault(const Request& head, unsigned version);

// Makes of a target in absolute form (`GET http://NAME/a`) one in origin form and the field Host,
// as which that name counts, whatever else was there (RFC 9112, 3.2.2). Says what is wrong with it,
// or nothing; other targets stay as they are.
std::optional<std::string_view> to_origin_form(Request& head);

// What is wrong with the target, or nothing: that of CONNECT names a server, and that of OPTIONS
// may be "*"; any other is a path. Asked before the path is looked at by anybody, as another one
// could read it differently.
std::optional<std::string_view> target_fault(const Request& head);

// Finds lines of a head that go on with the line before (RFC 9112, 5.2: folds).
class FoldFinder {
 public:
  // The next bytes of the head, as they came.
  void take(std::string_view bytes);
  bool found() const noexcept { return found_; }

 private:
  bool at_line_start_ = false;
  bool found_ = false;
};

}  // namespace cloche::http
