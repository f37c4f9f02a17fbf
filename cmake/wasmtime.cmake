# SPDX-License-Identifier: Apache-2.0
# wasmtime::wasmtime: the shared library of the Python wheel under the headers of the crate.

file(GLOB wheel_library ${CLOCHE_DIR_wasmtime}/wasmtime/linux-*/_libwasmtime.so)
if(NOT wheel_library)
  message(FATAL_ERROR "no _libwasmtime.so under ${CLOCHE_DIR_wasmtime}: run make distclean, then make")
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(wasmtime_library ${CMAKE_BINARY_DIR}/lib/libwasmtime.so)
file(COPY_FILE ${wheel_library} ${wasmtime_library} ONLY_IF_DIFFERENT)

# scripts/fetch makes conf.h beside the headers: one path for all build folders, and so for ccache.
set(WASMTIME_HEADERS ${CLOCHE_DIR_wasmtime_headers}/include)

add_library(wasmtime::wasmtime SHARED IMPORTED GLOBAL)
set_target_properties(wasmtime::wasmtime PROPERTIES
  IMPORTED_LOCATION ${wasmtime_library}
  # The file names no SONAME; without this the linker would write its full path into programs.
  IMPORTED_NO_SONAME TRUE
  INTERFACE_INCLUDE_DIRECTORIES ${WASMTIME_HEADERS})
