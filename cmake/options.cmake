# SPDX-License-Identifier: Apache-2.0
# Language, warnings, hardening and sanitizers, for every target of ours.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

set(CLOCHE_SANITIZE "" CACHE STRING "empty, address (with UBSan), thread, or fuzzer (with both, clang only)")
set_property(CACHE CLOCHE_SANITIZE PROPERTY STRINGS "" address thread fuzzer)
option(CLOCHE_WERROR "warnings are errors" ON)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# The folder may be moved as a whole: bin/ finds lib/ beside itself.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_BUILD_RPATH "$ORIGIN/../lib")
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

include(CheckPIESupported)
check_pie_supported()

# Work trees share what they compile: where they and their build folders lie is not part of ccache's key.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_PCH_EXTSUM=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Line numbers and function names; CXXFLAGS=-g adds what a debugger wants of variables.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")

add_library(cloche_flags INTERFACE)
target_compile_options(cloche_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough -Wundef -Wvla)
if(CLOCHE_WERROR)
  target_compile_options(cloche_flags INTERFACE -Werror)
endif()
target_compile_definitions(cloche_flags INTERFACE _GLIBCXX_ASSERTIONS)
# g++ collects its garbage whenever its heap has doubled, which a precompiled header's size makes often: a tenth of the time, to save
# less than 100 MB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cloche_flags INTERFACE --param=ggc-min-heapsize=1048576)
endif()
# No compiler writes the path of the source tree into a program.
target_compile_options(cloche_flags INTERFACE -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

# With its own checks in the code g++ 12 takes members of a variant for uninitialized that are not; the build without sanitizers
# keeps that warning.
if(CLOCHE_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
      -Wno-maybe-uninitialized)
elseif(CLOCHE_SANITIZE STREQUAL "thread")
  # -Wno-tsan: Boost.Asio has fences, which this sanitizer does not understand.
  set(sanitize -fsanitize=thread -fno-omit-frame-pointer -Wno-maybe-uninitialized -Wno-tsan)
elseif(CLOCHE_SANITIZE STREQUAL "fuzzer")
  # clang warns of what libstdc++ 12 does inside of std::stable_sort.
  set(sanitize -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
      -fno-omit-frame-pointer -Wno-deprecated-declarations)
elseif(CLOCHE_SANITIZE STREQUAL "")
  set(sanitize "")
else()
  message(FATAL_ERROR "CLOCHE_SANITIZE is '${CLOCHE_SANITIZE}': say address, thread, fuzzer or nothing")
endif()

if(sanitize)
  # Fortified libc functions hide accesses from the sanitizers.
  target_compile_options(cloche_flags INTERFACE ${sanitize} -U_FORTIFY_SOURCE)
  target_link_options(cloche_flags INTERFACE ${sanitize})
  target_compile_definitions(cloche_flags INTERFACE CLOCHE_SANITIZED=1)
  # Nothing in a program asks for these functions by name, so the linker is told to.
  add_library(cloche_sanitizer_options STATIC cmake/sanitizer_options.cc)
  target_link_libraries(cloche_flags INTERFACE cloche_sanitizer_options)
  target_link_options(cloche_flags INTERFACE
    -Wl,-u,__asan_default_options,-u,__ubsan_default_options,-u,__tsan_default_options,-u,__tsan_default_suppressions)
else()
  target_compile_options(cloche_flags INTERFACE
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
    -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(cloche_flags INTERFACE -fcf-protection)
  endif()
endif()
target_link_options(cloche_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)

# For tests, benches and examples: what a designated initializer leaves out has its default, and g++ 12
# and clang warn of it all the same.
add_library(cloche_program_flags INTERFACE)
target_compile_options(cloche_program_flags INTERFACE -Wno-missing-field-initializers)
target_link_libraries(cloche_program_flags INTERFACE cloche_flags)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Of clang the last word counts: this comes behind the flags that ask for it.
  add_library(cloche_designated INTERFACE)
  target_compile_options(cloche_designated INTERFACE -Wno-missing-designated-field-initializers)
  target_link_libraries(cloche_program_flags INTERFACE cloche_designated)
endif()
