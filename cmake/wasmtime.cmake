# wasmtime::wasmtime: the shared library of the Python wheel under the headers of the crate.

file(GLOB wheel_library ${CLOCHE_DIR_wasmtime}/wasmtime/linux-*/_libwasmtime.so)
if(NOT wheel_library)
  message(FATAL_ERROR "no _libwasmtime.so under ${CLOCHE_DIR_wasmtime}: run make distclean, then make")
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(wasmtime_library ${CMAKE_BINARY_DIR}/lib/libwasmtime.so)
file(COPY_FILE ${wheel_library} ${wasmtime_library} ONLY_IF_DIFFERENT)

# conf.h says with which features the library was built. The wheel's has every one but the two
# left out here: logging is on, and only the own architecture has a code generator.
set(WASMTIME_HEADERS ${CLOCHE_DIR_wasmtime_headers}/include)
set(conf_dir ${CMAKE_BINARY_DIR}/third_party/wasmtime-include)
foreach(feature IN ITEMS
    PROFILING WAT CACHE PARALLEL_COMPILATION WASI WASI_HTTP LOGGING COREDUMP ADDR2LINE DEMANGLE
    THREADS GC GC_DRC GC_NULL ASYNC CRANELIFT WINCH DEBUG_BUILTINS POOLING_ALLOCATOR
    COMPONENT_MODEL COMPONENT_MODEL_ASYNC PULLEY)
  set(WASMTIME_FEATURE_${feature} ON)
endforeach()
configure_file(${WASMTIME_HEADERS}/wasmtime/conf.h.in ${conf_dir}/wasmtime/conf.h)

add_library(wasmtime::wasmtime SHARED IMPORTED GLOBAL)
set_target_properties(wasmtime::wasmtime PROPERTIES
  IMPORTED_LOCATION ${wasmtime_library}
  # The file names no SONAME; without this the linker would write its full path into programs.
  IMPORTED_NO_SONAME TRUE
  INTERFACE_INCLUDE_DIRECTORIES "${conf_dir};${WASMTIME_HEADERS}")
