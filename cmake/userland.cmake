# SPDX-License-Identifier: Apache-2.0
# The guests' root file system. Every build folder shares the one in build/rootfs: the programs in it
# are WebAssembly and do not depend on how the host is compiled.
set(CLOCHE_ROOTFS ${CMAKE_SOURCE_DIR}/build/rootfs CACHE PATH "the guests' root file system")

if(NOT CLOCHE_ROOTFS STREQUAL ${CMAKE_BINARY_DIR}/rootfs)
  file(CREATE_LINK ${CLOCHE_ROOTFS} ${CMAKE_BINARY_DIR}/rootfs SYMBOLIC)
endif()

set(sysroot_id ${CMAKE_BINARY_DIR}/guests/sysroot.id)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/guests)
if(EXISTS ${CMAKE_SOURCE_DIR}/userland/build/build.py)
  add_custom_target(userland
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/userland ${CLOCHE_ROOTFS} ${sysroot_id}
    BYPRODUCTS ${sysroot_id}
    USES_TERMINAL
    COMMENT "Guest programs")
else()
  message(WARNING "userland/build/build.py is absent: no guest programs are built")
  add_custom_target(userland)
endif()

# The C++ library for guests, which no program of the system needs.
add_custom_target(cxx_library
  COMMAND ${CMAKE_SOURCE_DIR}/userland/build/build.py --cxx
  USES_TERMINAL
  COMMENT "The C++ library for guests")

# Small guests for tests, one a file: tests/guests/NAME.c (or .cc), tests/hostile/NAME.c and the C programs of userland/tests,
# become guests/NAME.wasm in the build folder, which tests know as CLOCHE_GUESTS_DIR.
add_custom_target(guests)
file(GLOB guest_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/guests/*.c
     ${CMAKE_SOURCE_DIR}/tests/guests/*.cc ${CMAKE_SOURCE_DIR}/tests/hostile/*.c
     ${CMAKE_SOURCE_DIR}/userland/tests/*.c)
foreach(source IN LISTS guest_sources)
  cmake_path(GET source STEM name)
  cmake_path(GET source EXTENSION extension)
  set(compiler ${CMAKE_SOURCE_DIR}/userland/cc)
  if(extension STREQUAL ".cc")
    set(compiler ${CMAKE_SOURCE_DIR}/userland/cxx)
  endif()
  add_custom_command(
    OUTPUT ${CMAKE_BINARY_DIR}/guests/${name}.wasm
    COMMAND ${compiler} -Wall -Wextra -Werror -o ${CMAKE_BINARY_DIR}/guests/${name}.wasm ${source}
    DEPENDS ${source} ${compiler} ${sysroot_id}
    VERBATIM)
  add_custom_target(guest_${name} DEPENDS ${CMAKE_BINARY_DIR}/guests/${name}.wasm)
  if(extension STREQUAL ".cc")
    add_dependencies(guest_${name} cxx_library)
  endif()
  add_dependencies(guests guest_${name})
endforeach()
