# SPDX-License-Identifier: Apache-2.0
# The target nghttp2::nghttp2: Debian's libnghttp2, which has no CMake files of its own.
find_path(nghttp2_headers nghttp2/nghttp2.h REQUIRED)
find_library(nghttp2_library nghttp2 REQUIRED)
mark_as_advanced(nghttp2_headers nghttp2_library)
add_library(nghttp2::nghttp2 UNKNOWN IMPORTED)
set_target_properties(nghttp2::nghttp2 PROPERTIES
  IMPORTED_LOCATION ${nghttp2_library} INTERFACE_INCLUDE_DIRECTORIES ${nghttp2_headers})
