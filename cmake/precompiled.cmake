# SPDX-License-Identifier: Apache-2.0
# cloche_precompiled(TARGET HEADER PIC): the sources of TARGET start from cmake/HEADER.h, compiled once per build folder and kind of
# code (PIC: -fPIC or -fPIE, as the target has it). It halves what most files cost. g++ only: another compiler would want its own
# file, and so finds the includes that a file forgot.
#
# ccache takes such a file by the hash in HEADER.h.gch.sum, which is the same in all build folders.
option(CLOCHE_PRECOMPILED "precompiled headers, with g++" ON)

function(cloche_precompiled target header pic)
  if(NOT CLOCHE_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(folder ${CMAKE_BINARY_DIR}/precompiled${pic})
  set(made ${folder}/${header}.h.gch)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  if(NOT TARGET ${header}${pic})
    separate_arguments(given UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
    set(flags ${given} -std=c++${CMAKE_CXX_STANDARD} ${pic} -DFMT_SHARED
      "$<TARGET_PROPERTY:cloche_flags,INTERFACE_COMPILE_OPTIONS>"
      "-D$<JOIN:$<TARGET_PROPERTY:cloche_flags,INTERFACE_COMPILE_DEFINITIONS>,$<SEMICOLON>-D>")
    # As every source of the target has them, or g++ does not take the file.
    if(header STREQUAL "precompiled_tests")
      list(APPEND flags -DGTEST_HAS_PTHREAD=1)
    endif()
    # A DEPFILE's paths count from the current binary folder, and ccache writes them as seen from where it runs: both are one
    # folder, or the header is never up to date, and nothing that includes it.
    file(RELATIVE_PATH told ${CMAKE_CURRENT_BINARY_DIR} ${made})
    set(compiler ${CMAKE_CXX_COMPILER} ${flags} -w -x c++-header ${folder}/${header}.h)
    add_custom_command(
      OUTPUT ${made}
      COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/cmake/precompiled.h ${CMAKE_SOURCE_DIR}/cmake/${header}.h ${folder}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${compiler} -o ${made} -MD -MF ${made}.d -MT ${told}
      COMMAND ${compiler} -E -dD -P -o ${made}.text
      COMMAND ${CMAKE_COMMAND} -E chdir ${folder} ${CMAKE_COMMAND} -E sha256sum ${header}.h.gch.text > ${made}.sum
      DEPENDS ${CMAKE_SOURCE_DIR}/cmake/precompiled.h ${CMAKE_SOURCE_DIR}/cmake/${header}.h
      DEPFILE ${made}.d
      WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
      COMMENT "Precompiling ${header}.h (${pic})"
      COMMAND_EXPAND_LISTS VERBATIM)
    file(MAKE_DIRECTORY ${folder})
    add_custom_target(${header}${pic} DEPENDS ${made})
  endif()
  get_target_property(sources ${target} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${made})
  add_dependencies(${target} ${header}${pic})
  # What stands in such a file is no system header to g++ 12 any more, and these checks take the standard library's own
  # code for wrong there. Builds without it (clang's, CLOCHE_PRECOMPILED=OFF) keep them.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow -Wno-restrict)
  target_compile_options(${target} PRIVATE -Winvalid-pch -Wno-error=invalid-pch -fpch-preprocess "SHELL:-include ${folder}/${header}.h")
endfunction()
