// SPDX-License-Identifier: Apache-2.0
// Files that are compiled into the program: CLOCHE_EMBED(page, PAGES_FOLDER "/index.html") outside
// of functions defines page(), its content. The assembler copies it between two symbols, so that
// each name is used once in a program. What the file is made of is for CMake to say, as
// OBJECT_DEPENDS.
#pragma once

#include <cstddef>
#include <string_view>

#define CLOCHE_EMBED(name, file)                                                \
  __asm__(                                                                      \
      ".pushsection .rodata\n"                                                  \
      ".balign 16\n"                                                            \
      ".global " #name                                                          \
      "_begin\n"                                                                \
      ".global " #name "_end\n" #name                                           \
      "_begin:\n"                                                               \
      ".incbin \"" file "\"\n" #name                                            \
      "_end:\n"                                                                 \
      ".byte 0\n"                                                               \
      ".popsection\n");                                                         \
  extern "C" const char name##_begin[];                                         \
  extern "C" const char name##_end[];                                           \
  static std::string_view name() {                                              \
    return {name##_begin, static_cast<std::size_t>(name##_end - name##_begin)}; \
  }
