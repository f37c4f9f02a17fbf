// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the Errno of a system call of the same meaning; Result<T, Error>: a value,
// or an error with a sentence. It never throws and is never ignored.
//
//   Result<FileInfo> r = files.stat(path);
//   if (!r) return r.error();
//   use(*r);
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "cloche/errno.h"
#include "cloche/error.h"

namespace cloche {

namespace base {
// A bug of the caller: the process ends.
[[noreturn]] void result_misread(const char* what) noexcept;

// What becomes the E of a Result where it is returned: an Errno, or an error of a more special
// type.
template <typename Given, typename E>
inline constexpr bool becomes_error =
    std::is_convertible_v<Given, E> && (std::is_same_v<std::remove_cvref_t<Given>, Errno> ||
                                        std::is_base_of_v<E, std::remove_cvref_t<Given>> ||
                                        std::is_same_v<std::remove_cvref_t<Given>, E>);
}  // namespace base

template <typename T, typename E = Errno>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  template <typename Given>
    requires(base::becomes_error<Given, E>)
  Result(Given&& error) : state_(std::in_place_index<1>, std::forward<Given>(error)) {}
  template <typename U = T>
    requires(std::is_constructible_v<T, U &&> && !base::becomes_error<U, E> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // The error; only when !ok().
  const E& error() const& {
    if (ok()) base::result_misread("the error of a result that has none");
    return *std::get_if<1>(&state_);
  }
  E error() && {
    if (ok()) base::result_misread("the error of a result that has none");
    return std::move(*std::get_if<1>(&state_));
  }

  // The value; only when ok().
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    if (!ok()) base::result_misread("the value of a result that has none");
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    if (!ok()) base::result_misread("the value of a result that has none");
    return *std::get_if<0>(&state_);
  }

 private:
  std::variant<T, E> state_;
};

template <typename E>
class [[nodiscard]] Result<void, E> {
 public:
  using value_type = void;

  Result() = default;
  template <typename Given>
    requires(base::becomes_error<Given, E>)
  Result(Given&& error) : error_(std::forward<Given>(error)) {}

  bool ok() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return ok(); }
  const E& error() const& {
    if (ok()) base::result_misread("the error of a result that has none");
    return *error_;
  }
  E error() && {
    if (ok()) base::result_misread("the error of a result that has none");
    return *std::move(error_);
  }

 private:
  std::optional<E> error_;
};

}  // namespace cloche
