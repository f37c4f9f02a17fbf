// SPDX-License-Identifier: Apache-2.0
// Error: why something that was asked of Cloche was not done: whose it is to change that, the
// errno, and one sentence that says what is wrong and, where that is known, what to do.
//
// One class for both ways in which it is told: functions that may fail return it in a
// Result<T, Error>, constructors throw it. What a program in a sandbox does is no Error but part of
// its RunResult. docs/errors.md says what each door makes of one.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cloche/errno.h"

namespace cloche {

enum class ErrorKind : std::uint8_t {
  request,  // what was asked for makes no sense, or is not there: ask for something else
  sandbox,  // an operation in a sandbox failed, as a program in it would have seen it fail
  host,     // the machine or the build of Cloche lacks or refuses something: its operator's
};

class Error : public std::runtime_error {
 public:
  // Of an operation in a sandbox: what strerror says of `code`, and what it was about (a path).
  Error(Errno code, std::string_view about = {});
  Error(ErrorKind kind, Errno code, const std::string& sentence)
      : std::runtime_error(sentence), kind_(kind), code_(code) {}

  ErrorKind kind() const noexcept { return kind_; }
  Errno code() const noexcept { return code_; }
  std::string_view sentence() const noexcept { return what(); }

  // Whether it is that errno, whosever it is.
  friend bool operator==(const Error& error, Errno code) noexcept { return error.code() == code; }

 private:
  ErrorKind kind_;
  Errno code_;
};

}  // namespace cloche
