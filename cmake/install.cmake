# SPDX-License-Identifier: Apache-2.0
# What is installed, below a prefix that may be chosen, and moved, later:
#
#   bin/cloche, bin/sbs             the program
#   lib/cloche/                     what belongs to it: libwasmtime.so, cloche-compile, cloche-warden, rootfs/ (the guests' system),
#                                   code/ (machine code for it, where that was made)
#   lib/libcloche.so, libcloche.a   the library; lib/cmake/cloche and lib/pkgconfig find it
#   include/cloche/                 its headers
#   share/man, completions          made from the program's help
#
# The target `installation` builds all of it; `cmake --install` copies, and asks no network.

set(private_folder lib/cloche)
set(library_layers base wasm vfs kernel net python packages warden images native sandbox)
list(TRANSFORM library_layers REPLACE "(.+)" "$<TARGET_OBJECTS:cloche_\\1>" OUTPUT_VARIABLE library_objects)

# One archive, and one shared library, of the layers that an embedding program uses. The shared one shows what the
# public headers declare, and nothing else.
add_library(cloche_static STATIC EXCLUDE_FROM_ALL ${library_objects})
add_library(cloche_shared SHARED EXCLUDE_FROM_ALL ${library_objects})
set(exported ${CMAKE_SOURCE_DIR}/packaging/libcloche.map)
set_target_properties(cloche_static cloche_shared PROPERTIES OUTPUT_NAME cloche LINKER_LANGUAGE CXX)
# The build folder's lib/ has the layers; what is installed lies apart.
set_target_properties(cloche_static cloche_shared PROPERTIES
  ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/installation
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/installation)
set_target_properties(cloche_shared PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  INSTALL_RPATH "$ORIGIN/cloche" LINK_DEPENDS ${exported})
target_link_options(cloche_shared PRIVATE -Wl,--version-script=${exported} -Wl,--no-undefined)
target_link_libraries(cloche_shared PRIVATE cloche_flags wasmtime::wasmtime fmt::fmt OpenSSL::SSL OpenSSL::Crypto
  Threads::Threads)
set_target_properties(cloche PROPERTIES INSTALL_RPATH "$ORIGIN/../${private_folder}")
set_target_properties(cloche-compile PROPERTIES INSTALL_RPATH "$ORIGIN")

set(manual ${CMAKE_BINARY_DIR}/installation/manual)
file(GLOB manual_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/packaging/manual/*.py)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_command(
  OUTPUT ${manual}/stamp
  COMMAND Python3::Interpreter -B ${CMAKE_SOURCE_DIR}/packaging/manual/make.py ${manual} ${CMAKE_CROSSCOMPILING_EMULATOR}
          $<TARGET_FILE:cloche>
  DEPENDS cloche ${manual_sources}
  COMMENT "Manual pages and shell completion"
  VERBATIM)
add_custom_target(installation DEPENDS ${manual}/stamp)
add_dependencies(installation cloche cloche-compile cloche-warden cloche-unpack cloche_static cloche_shared)

# cloche_strip_installed(FILE COMMAND...): of what CMake does not strip by itself.
function(cloche_strip_installed file)
  list(JOIN ARGN " " command)
  install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND ${command} \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${file} COMMAND_ERROR_IS_FATAL ANY)
endif()")
endfunction()

install(TARGETS cloche RUNTIME DESTINATION bin)
install(TARGETS cloche-compile cloche-unpack RUNTIME DESTINATION ${private_folder})
# It is static: there is no path of libraries to change in it.
install(PROGRAMS $<TARGET_FILE:cloche-warden> DESTINATION ${private_folder})
cloche_strip_installed(${private_folder}/cloche-warden ${CMAKE_STRIP})
install(CODE [[file(CREATE_LINK cloche $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/sbs SYMBOLIC)]])
install(TARGETS cloche_shared LIBRARY DESTINATION lib)
# Debug information of an archive is most of it.
install(TARGETS cloche_static ARCHIVE DESTINATION lib)
cloche_strip_installed(lib/libcloche.a ${CMAKE_OBJCOPY} --strip-debug)
install(FILES ${wasmtime_library} DESTINATION ${private_folder})
cloche_strip_installed(${private_folder}/libwasmtime.so ${CMAKE_STRIP} --strip-unneeded)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/cloche DESTINATION include)
install(DIRECTORY ${manual}/man1 DESTINATION share/man)
install(FILES ${manual}/bash/cloche DESTINATION share/bash-completion/completions)
install(FILES ${manual}/zsh/_cloche DESTINATION share/zsh/site-functions)

set(package_folder ${CMAKE_BINARY_DIR}/installation/cmake)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${package_folder}/clocheConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_SOURCE_DIR}/packaging/clocheConfig.cmake.in ${package_folder}/clocheConfig.cmake @ONLY)
install(FILES ${package_folder}/clocheConfig.cmake ${package_folder}/clocheConfigVersion.cmake
        DESTINATION lib/cmake/cloche)
configure_file(${CMAKE_SOURCE_DIR}/packaging/cloche.pc.in ${package_folder}/cloche.pc @ONLY)
install(FILES ${package_folder}/cloche.pc DESTINATION lib/pkgconfig)

# The system's files are those that its index names, besides the few at its top.
set(CLOCHE_CODE ${CMAKE_BINARY_DIR}/machine-code)
configure_file(${CMAKE_SOURCE_DIR}/cmake/install_system.cmake.in ${CMAKE_BINARY_DIR}/installation/system.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/installation/system.cmake)
