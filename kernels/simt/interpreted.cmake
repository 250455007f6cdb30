# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0

# quadrille_interpreted: what a target links that has CUDA kernels compiled by g++ for the interpreter, with
# checks of the kernel's own code and for the race detector, which schedules switch on. The interpreter
# defines what the checks call (sanitizer.cpp, race.cpp): neither libubsan nor libtsan is linked. Tests run
# these for a shorter time than g++ needs for them, most of which goes into headers: they are precompiled.
set(source ${CMAKE_CURRENT_BINARY_DIR}/simt/precompiled.cpp)
file(CONFIGURE OUTPUT ${source} CONTENT "" @ONLY)
add_library(quadrille_interpreted OBJECT EXCLUDE_FROM_ALL ${source})
target_precompile_headers(quadrille_interpreted PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR}/common/simt.cuh ${CMAKE_CURRENT_SOURCE_DIR}/common/ptx/atomics.cuh)
# Unroll pragmas are nvcc's, and so is that any type may alias another. Tensor maps are aligned to
# 64 bytes, about which g++ has a note; with sanitizers it is wrong about uninitialised values.
target_compile_options(quadrille_interpreted PUBLIC -Wno-unknown-pragmas
  -Wno-maybe-uninitialized -Wno-psabi -fno-strict-aliasing $<$<CONFIG:Release>:-O1>
  -fsanitize=alignment,null,bounds,shift-exponent,integer-divide-by-zero
  -fsanitize=signed-integer-overflow -fno-sanitize-recover=all
  -fsanitize=thread --param=tsan-instrument-func-entry-exit=0 -g1
  -fno-tree-sra)  # which splits accesses to vectors
target_link_libraries(quadrille_interpreted PUBLIC quadrille_simt PRIVATE quadrille_flags)

# quadrille_interpret(TARGET FILE.cu...): adds to the target, for each file, a C++ source that includes it.
function(quadrille_interpret target)
  foreach(file ${ARGN})
    get_filename_component(file ${file} ABSOLUTE)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${file})
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/simt/${name}.cpp)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${file}\"\n" @ONLY)
    target_sources(${target} PRIVATE ${wrapper})
  endforeach()
  target_precompile_headers(${target} REUSE_FROM quadrille_interpreted)
  target_link_libraries(${target} PRIVATE quadrille_interpreted)
endfunction()

# The operations' tables and references, with the rows of the CUDA kernels.
add_library(quadrille_kernels_host OBJECT EXCLUDE_FROM_ALL)
get_target_property(host_sources quadrille_kernels SOURCES)
list(FILTER host_sources INCLUDE REGEX "\\.cpp$")
target_sources(quadrille_kernels_host PRIVATE ${host_sources})
target_precompile_headers(quadrille_kernels_host PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR}/common/variant.hpp <fmt/format.h> <algorithm> <cmath>)
target_compile_options(quadrille_kernels_host PRIVATE $<$<CONFIG:Release>:-O1>)
target_compile_definitions(quadrille_kernels_host PRIVATE QUADRILLE_CUDA_KERNELS
  $<TARGET_PROPERTY:quadrille_kernels,COMPILE_DEFINITIONS>)
target_include_directories(quadrille_kernels_host PRIVATE
  $<TARGET_PROPERTY:quadrille_kernels,INCLUDE_DIRECTORIES>)
target_link_libraries(quadrille_kernels_host PRIVATE quadrille_core quadrille_device quadrille_flags)

# quadrille_kernels_simt: the operations with all their CUDA kernels.
get_property(kernels GLOBAL PROPERTY QUADRILLE_CUDA_KERNELS)
add_library(quadrille_kernels_simt STATIC EXCLUDE_FROM_ALL)
quadrille_interpret(quadrille_kernels_simt ${kernels})
target_link_libraries(quadrille_kernels_simt PRIVATE quadrille_kernels_host
  quadrille_kernels_host_simd quadrille_kernels_kokkos ${QUADRILLE_BLAS_LIBRARIES} quadrille_flags)
target_link_options(quadrille_kernels_simt INTERFACE LINKER:--undefined=quadrille_check_cpu)
