// SPDX-License-Identifier: Apache-2.0
// Bodies that are made while they are sent, so that what a client has not read yet costs no more
// than what it is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "doors/http/message.h"

namespace cloche::http {

// One thread at a time uses it.
class BodySource {
 public:
  virtual ~BodySource() = default;
  // Of the whole body; never changes.
  virtual std::uint64_t size() const = 0;
  // What it keeps in memory for it.
  virtual std::uint64_t kept_bytes() const = 0;
  // Appends the next piece, some hundred KiB at most; nothing at the end. May wait for a moment.
  // False where the body cannot be gone on with: the client is to see that it is not whole.
  virtual bool next(std::string& to) = 0;
};

// A JSON answer with what a program has written: `before`, the output as a string with its quotes,
// `between`, the errors as one, `after`.
Response output_response(int status, std::string_view before, std::string output,
                         std::string_view between, std::string errors, std::string_view after);

}  // namespace cloche::http
