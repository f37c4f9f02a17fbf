// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the Errno a guest sees. It never throws and is never ignored.
//
//   Result<Stat> r = fs.stat(ino);
//   if (!r) return r.error();
//   use(*r);
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "cloche/check.h"
#include "cloche/errno.h"

namespace cloche {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(Errno error) : state_(std::in_place_index<1>, error) {}
  template <typename U = T>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::remove_cvref_t<U>, Errno> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // The error; only when !ok().
  Errno error() const {
    CLOCHE_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

  // The value; only when ok().
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    CLOCHE_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    CLOCHE_CHECK(ok());
    return *std::get_if<0>(&state_);
  }

 private:
  std::variant<T, Errno> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Errno error) : error_(error) {}

  bool ok() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return ok(); }
  Errno error() const {
    CLOCHE_CHECK(error_);
    return *error_;
  }

 private:
  std::optional<Errno> error_;
};

}  // namespace cloche

// CLOCHE_TRY(expression): returns the error of a Result<...> from the enclosing function, if it has
// one.
#define CLOCHE_TRY(expression)                                                  \
  do {                                                                          \
    if (auto cloche_try = (expression); !cloche_try) return cloche_try.error(); \
  } while (false)

// CLOCHE_ASSIGN(declaration, expression): declares a variable with the value, or returns the error.
#define CLOCHE_ASSIGN_CAT2(a, b) a##b
#define CLOCHE_ASSIGN_CAT(a, b) CLOCHE_ASSIGN_CAT2(a, b)
#define CLOCHE_ASSIGN(declaration, expression) \
  CLOCHE_ASSIGN_IMPL(CLOCHE_ASSIGN_CAT(cloche_result_, __LINE__), declaration, expression)
#define CLOCHE_ASSIGN_IMPL(result, declaration, expression) \
  auto result = (expression);                               \
  if (!result) return result.error();                       \
  declaration = *std::move(result)
