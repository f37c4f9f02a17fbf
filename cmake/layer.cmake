# SPDX-License-Identifier: Apache-2.0
# cloche_layer(NAME [LAYERS name...] [LIBRARIES target...] [PROGRAM name])
#
# A folder is a layer: all its *.cc (in subfolders too) make the static library cloche_NAME, and all
# its *_test.cc the program NAME_test. Test helpers (*_testing.cc) belong to the tests; they may be
# used by tests of the layers above through cloche_NAME_testing. LAYERS are the layers below that it
# may use: no other layer's headers are on its include path (and scripts/tidy.py says so in words). A layer of headers only, or one with
# nothing in it yet, is an interface library. With PROGRAM its main.cc makes that program in bin/, with MODULE a library that programs load.
#
# The target layer_tests has the tests of all layers. They need no guests' system: what does is in tests/.
add_custom_target(layer_tests)
function(cloche_layer name)
  cmake_parse_arguments(arg "" "PROGRAM;MODULE" "LAYERS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(main ${CMAKE_CURRENT_SOURCE_DIR}/main.cc)
  if(arg_PROGRAM OR arg_MODULE)
    list(REMOVE_ITEM sources ${main})
  endif()
  cloche_split(${sources})

  # What a layer can include is what it links: its folder is found through a path of its own.
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src OUTPUT_VARIABLE place)
  set(view ${CMAKE_BINARY_DIR}/layers/${name}/${place})
  cmake_path(GET view PARENT_PATH above)
  file(MAKE_DIRECTORY ${above})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${view} SYMBOLIC)

  list(TRANSFORM arg_LAYERS PREPEND cloche_ OUTPUT_VARIABLE layers)
  if(library_sources)
    cloche_grouped(${name} ${library_sources})
    add_library(cloche_${name} STATIC ${grouped_sources})
    set(scope PUBLIC)
    target_link_libraries(cloche_${name} PRIVATE cloche_flags)
    target_compile_options(cloche_${name} PRIVATE -ffile-prefix-map=${CMAKE_BINARY_DIR}/layers/${name}/=src/)
    cloche_precompiled(cloche_${name} precompiled -fPIC)
  else()
    add_library(cloche_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(cloche_${name} ${scope} ${CMAKE_BINARY_DIR}/layers/${name} ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(cloche_${name} ${scope} ${layers} ${arg_LIBRARIES})

  list(TRANSFORM arg_LAYERS REPLACE "(.+)" "cloche_\\1_testing" OUTPUT_VARIABLE below_testing)
  if(testing_sources)
    add_library(cloche_${name}_testing STATIC ${testing_sources})
    target_link_libraries(cloche_${name}_testing
      PUBLIC cloche_${name} ${below_testing} GTest::gmock PRIVATE cloche_flags)
    cloche_precompiled(cloche_${name}_testing precompiled -fPIC)
  else()
    add_library(cloche_${name}_testing INTERFACE)
    target_link_libraries(cloche_${name}_testing INTERFACE cloche_${name} ${below_testing})
  endif()

  if(arg_PROGRAM AND EXISTS ${main})
    add_executable(${arg_PROGRAM} ${main})
    target_link_libraries(${arg_PROGRAM} PRIVATE cloche_flags cloche_${name})
  endif()

  if(arg_MODULE)
    add_library(${arg_MODULE} MODULE ${main})
  endif()

  if(test_sources)
    cloche_test(${name}_test SOURCES ${test_sources} LIBRARIES cloche_${name} cloche_${name}_testing)
    add_dependencies(layer_tests ${name}_test)
  endif()
endfunction()

# cloche_grouped(NAME source...): sets grouped_sources in the caller to what is compiled of the layer's sources. Those of one
# folder are compiled four at a time, which halves the time of all: most of it goes to the headers, and to templates that each
# would instantiate for itself. So what the unnamed namespaces of a folder define has a name of its own there. With clang each
# is compiled alone, which finds the includes that a file forgot.
option(CLOCHE_GROUPED "compile sources of a folder four at a time, with g++" ON)
set(sources_per_group 4)
function(cloche_grouped name)
  if(NOT CLOCHE_GROUPED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(grouped_sources ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(grouped "")
  set(group "")
  foreach(source IN LISTS ARGN ITEMS "")
    set(folder "")
    set(alone ON)
    if(source)
      cmake_path(GET source PARENT_PATH folder)
      get_property(definitions SOURCE ${source} PROPERTY COMPILE_DEFINITIONS)
      get_property(skipped SOURCE ${source} PROPERTY SKIP_UNITY_BUILD_INCLUSION)
      if(NOT definitions AND NOT skipped)
        set(alone OFF)
      endif()
    endif()
    list(LENGTH group count)
    if(count GREATER 0 AND (alone OR count EQUAL sources_per_group OR NOT folder STREQUAL group_folder))
      cloche_write_group(made ${group})
      list(APPEND grouped ${made})
      set(group "")
    endif()
    if(NOT alone)
      list(APPEND group ${source})
      set(group_folder ${folder})
    elseif(source)
      list(APPEND grouped ${source})
    endif()
  endforeach()
  set(grouped_sources ${grouped} PARENT_SCOPE)
endfunction()

# cloche_write_group(VARIABLE source...): a file that includes all of them; a single one stands for itself.
function(cloche_write_group made)
  list(LENGTH ARGN count)
  list(GET ARGN 0 first)
  if(count EQUAL 1)
    set(${made} ${first} PARENT_SCOPE)
    return()
  endif()
  # By the layer's own include path, so that the text is the same in all work trees.
  set(text "// Made by cmake/layer.cmake.\n")
  foreach(member IN LISTS ARGN)
    cmake_path(RELATIVE_PATH member BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src)
    string(APPEND text "#include \"${member}\"\n")
  endforeach()
  cmake_path(RELATIVE_PATH first BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src)
  set(file ${CMAKE_BINARY_DIR}/groups/${first})
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
  # g++ takes what is included for a header, and warns of a class in it that uses an unnamed namespace; and a name that only
  # another file of the group has is no mistake.
  set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "-Wno-subobject-linkage;-Wno-shadow;-Wshadow=local")
  set(${made} ${file} PARENT_SCOPE)
endfunction()

# cloche_program_without_library(target): needs nothing of a C library, so none of the compiler's checks that need one, and finds the
# headers of the program of a host command.
function(cloche_program_without_library target)
  set_target_properties(${target} PROPERTIES LINK_LIBRARIES "" RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  target_include_directories(${target} PRIVATE
    ${CMAKE_BINARY_DIR}/layers/caller ${CMAKE_BINARY_DIR}/layers/warden)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Os -g0 -ffreestanding -fno-exceptions -fno-rtti
    -fno-stack-protector -fno-asynchronous-unwind-tables -U_FORTIFY_SOURCE
    $<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -fcf-protection=none)
  endif()
  target_link_options(${target} PRIVATE -nostdlib -s -Wl,--build-id=none,-z,noseparate-code,-z,noexecstack,-z,norelro)
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fno-pie)
    target_link_options(${target} PRIVATE -static -no-pie)
  endif()
endfunction()

# cloche_program_without_threads(target): ThreadSanitizer finds nothing in it, and its own thread keeps it from making namespaces:
# beside programs built for that lies the one of the build without.
function(cloche_program_without_threads target)
  if(CLOCHE_SANITIZE STREQUAL "thread")
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/build/bin/${target} $<TARGET_FILE:${target}>)
  endif()
endfunction()

# cloche_split(source...): sets library_sources, testing_sources and test_sources in the caller.
function(cloche_split)
  set(test_sources ${ARGN})
  list(FILTER test_sources INCLUDE REGEX "_test\\.cc$")
  set(testing_sources ${ARGN})
  list(FILTER testing_sources INCLUDE REGEX "_testing\\.cc$")
  set(library_sources ${ARGN})
  list(FILTER library_sources EXCLUDE REGEX "_(test|testing)\\.cc$")
  foreach(kind IN ITEMS library_sources testing_sources test_sources)
    set(${kind} ${${kind}} PARENT_SCOPE)
  endforeach()
endfunction()

# cloche_test(NAME SOURCES file... LIBRARIES target...): one GoogleTest program, known to ctest.
function(cloche_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE cloche_program_flags ${arg_LIBRARIES} GTest::gmock_main)
  cloche_precompiled(${name} precompiled_tests -fPIE)
  target_compile_definitions(${name} PRIVATE
    CLOCHE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" CLOCHE_BINARY_DIR="${CMAKE_BINARY_DIR}"
    CLOCHE_ROOTFS_DIR="${CLOCHE_ROOTFS}" CLOCHE_GUESTS_DIR="${CMAKE_BINARY_DIR}/guests")
  # The list of tests is asked for when ctest runs, not in the build, so a program that cannot start
  # is a failed test and not a failed build.
  gtest_discover_tests(${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 LABELS ${name})
endfunction()
