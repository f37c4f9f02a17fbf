# SPDX-License-Identifier: Apache-2.0
# Everything that stands on the whole library and is no layer: tests/*_test.cc (contract, hostile),
# bench/*.cc, fuzz/*_fuzz.cc, examples/*.cc. A folder with nothing in it yet adds nothing.

set(all_layers cloche_cli cloche_serve cloche_console cloche_remote cloche_rpc cloche_mcp cloche_lines cloche_rest cloche_grading cloche_skills cloche_e2b cloche_ssh cloche_steps cloche_telemetry cloche_cluster cloche_http
    cloche_session cloche_sandbox cloche_native cloche_images cloche_warden cloche_packages cloche_python cloche_kernel cloche_vfs
    cloche_wasm cloche_base)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*.cc)
list(FILTER sources EXCLUDE REGEX "/tests/(guests|differential|native|engines|faults)/")
cloche_split(${sources})
if(test_sources)
  cloche_test(cloche_test
    SOURCES ${test_sources} ${testing_sources} ${library_sources}
    LIBRARIES ${all_layers} cloche_cli_testing)
  add_dependencies(cloche_test cloche cloche-compile cloche-warden cloche-unpack)  # some of them run the program
endif()

add_subdirectory(tests/differential)
add_subdirectory(tests/native)
add_subdirectory(tests/engines)
add_subdirectory(tests/rpc)
add_subdirectory(tests/http)
add_subdirectory(tests/node)
add_subdirectory(tests/git)
add_subdirectory(tests/faults)
add_subdirectory(tests/mcp)
add_subdirectory(tests/e2b)
add_subdirectory(tests/adapters)
add_subdirectory(tests/real_work)
add_subdirectory(tests/skills)
add_subdirectory(tests/typescript)
add_subdirectory(tests/console)
add_subdirectory(tests/curses)
add_subdirectory(tests/component)
add_subdirectory(tests/packaging)
add_subdirectory(tests/scripts)
add_subdirectory(tests/examples)

file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.cc)
if(bench_sources)
  add_executable(cloche_bench ${bench_sources})
  target_link_libraries(cloche_bench PRIVATE cloche_program_flags ${all_layers} benchmark::benchmark)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/bench/main.cc)
    target_link_libraries(cloche_bench PRIVATE benchmark::benchmark_main)
  endif()
endif()

add_executable(http_load ${CMAKE_SOURCE_DIR}/bench/load/http_load.cc)
target_link_libraries(http_load PRIVATE cloche_program_flags)

# Each public header compiles alone, and with nothing else of this tree.
file(GLOB public_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/cloche/*.h)
foreach(header IN LISTS public_headers)
  cmake_path(GET header STEM name)
  set(alone ${CMAKE_BINARY_DIR}/public_headers/${name}.cc)
  file(CONFIGURE OUTPUT ${alone} CONTENT "#include <cloche/${name}.h>\n#include <cloche/${name}.h>\n")
  list(APPEND alone_sources ${alone})
endforeach()
add_library(public_headers OBJECT ${alone_sources})
target_include_directories(public_headers PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(public_headers PRIVATE cloche_flags)

file(GLOB example_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.cc)
foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM name)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE cloche_program_flags cloche_sandbox)
endforeach()

# A fuzz target searches under the fuzz preset; everywhere else the same code runs over its corpus
# once, as a test.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc)
add_custom_target(fuzzers)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  add_dependencies(fuzzers ${name})
  target_link_libraries(${name} PRIVATE cloche_program_flags ${all_layers} cloche_unpack cloche_http_testing cloche_wasm_testing
    cloche_base_testing)
  if(CLOCHE_SANITIZE STREQUAL "fuzzer")
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/fuzz_replay.cc)
    add_test(NAME ${name}_corpus COMMAND ${name} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name}
      ${CMAKE_SOURCE_DIR}/fuzz/found/${name}.base64)
    set_tests_properties(${name}_corpus PROPERTIES TIMEOUT 300 LABELS fuzz)
  endif()
endforeach()
