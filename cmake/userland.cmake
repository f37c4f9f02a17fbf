# The guests' root file system. Every build folder shares the one in build/rootfs: the programs in it
# are WebAssembly and do not depend on how the host is compiled.
set(CLOCHE_ROOTFS ${CMAKE_SOURCE_DIR}/build/rootfs CACHE PATH "the guests' root file system")

if(NOT CLOCHE_ROOTFS STREQUAL ${CMAKE_BINARY_DIR}/rootfs)
  file(CREATE_LINK ${CLOCHE_ROOTFS} ${CMAKE_BINARY_DIR}/rootfs SYMBOLIC)
endif()

if(EXISTS ${CMAKE_SOURCE_DIR}/userland/build/build.py)
  add_custom_target(userland
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/userland --out ${CLOCHE_ROOTFS}
    USES_TERMINAL
    COMMENT "Guest programs")
else()
  message(WARNING "userland/build/build.py is absent: no guest programs are built")
  add_custom_target(userland)
endif()
