# SPDX-License-Identifier: Apache-2.0
# What we build on. Debian's libraries come by their own CMake files; the registries' parts come
# through scripts/fetch, which checks them and keeps them in the user's cache.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(Boost 1.81 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(libssh 0.10 REQUIRED)  # the target ssh
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
include(GoogleTest)

# scripts/fetch prints one NAME=FOLDER a line; each becomes CLOCHE_DIR_<NAME>.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env CLOCHE_MACHINE=${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_SOURCE_DIR}/scripts/fetch --paths
  OUTPUT_VARIABLE fetched
  RESULT_VARIABLE fetch_status
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT fetch_status EQUAL 0)
  message(FATAL_ERROR "scripts/fetch failed, see above")
endif()
string(REPLACE "\n" ";" fetched "${fetched}")
foreach(line IN LISTS fetched)
  if(line MATCHES "^([^=]+)=(.+)$")
    set(CLOCHE_DIR_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endif()
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/third_party.lock.toml)
# The Makefile rewrites this file when a part has moved.
if(EXISTS ${CMAKE_SOURCE_DIR}/build/.parts)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/build/.parts)
endif()

include(wasmtime)
include(nghttp2)
