// SPDX-License-Identifier: Apache-2.0
// Bodies that are made while they are sent, so that what a client has not read yet costs no more
// than what it is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  // False where the body cannot go on: the client must see that it is not whole.
  virtual bool next(std::string& to) = 0;
};

// A body that is a part of something larger, read from there a piece at a time.
class PieceSource : public BodySource {
 public:
  std::uint64_t size() const final { return size_; }
  std::uint64_t kept_bytes() const final { return piece_bytes; }
  bool next(std::string& to) final;

 protected:
  PieceSource(std::uint64_t begin, std::uint64_t end) : at_(begin), end_(end), size_(end - begin) {}

 private:
  static constexpr std::size_t piece_bytes = 256 << 10;

  // What is there; nothing, or less than is asked for, breaks the body off.
  virtual std::optional<std::string> read(std::uint64_t offset, std::size_t size_bytes) = 0;

  std::uint64_t at_;
  const std::uint64_t end_;
  const std::uint64_t size_;
};

// A JSON answer with what a program has written: `before`, the output as a string with its quotes,
// `between`, the errors as one, `after`.
Response output_response(int status, std::string_view before, std::string output,
                         std::string_view between, std::string errors, std::string_view after);

}  // namespace cloche::http
