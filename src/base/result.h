// SPDX-License-Identifier: Apache-2.0
// The public header, for the layers, with what shortens passing errors on.
#pragma once

#include "cloche/result.h"  // IWYU pragma: export

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
