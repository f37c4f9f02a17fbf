// SPDX-License-Identifier: Apache-2.0
// Checks for our own bugs. A failed check prints where and what, and aborts: no guest or client
// input may reach one.
#pragma once

namespace cloche::base {
[[noreturn]] void check_failed(const char* file, int line, const char* what) noexcept;
}  // namespace cloche::base

// CLOCHE_CHECK(condition): on in every build.
#define CLOCHE_CHECK(condition)                        \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::cloche::base::check_failed(__FILE__, __LINE__, #condition))
