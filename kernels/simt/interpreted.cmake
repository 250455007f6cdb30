# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0

# CUDA kernels compiled by g++ for the interpreter, in a mode: "simt" with checks of the kernel's own
# code, "race" with the race detector, "asan" with AddressSanitizer.

# quadrille_interpreted(MODE OUT FILE.cu...): for each file a C++ source that includes it.
function(quadrille_interpreted mode out)
  # The interpreter defines what the checks call (sanitizer.cpp, race.cpp), so that neither libubsan
  # nor libtsan is linked.
  set(options_simt -fsanitize=alignment,null,bounds,shift-exponent,integer-divide-by-zero
    -fsanitize=signed-integer-overflow -fno-sanitize-recover=all)
  set(options_race -fsanitize=thread --param=tsan-instrument-func-entry-exit=0 -g1)
  set(options_asan -fsanitize=address -fno-omit-frame-pointer)
  set(wrappers)
  foreach(file ${ARGN})
    get_filename_component(file ${file} ABSOLUTE)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${file})
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${mode}/${name}.cpp)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${file}\"\n" @ONLY)
    # Unroll pragmas are nvcc's, and so is that any type may alias another. Tensor maps are aligned
    # to 64 bytes, about which g++ has a note; with sanitizers it is wrong about uninitialised values.
    set_source_files_properties(${wrapper} PROPERTIES
      COMPILE_OPTIONS "-Wno-unknown-pragmas;-Wno-maybe-uninitialized;-Wno-psabi;-fno-strict-aliasing;$<$<CONFIG:Release>:-O2>;${options_${mode}}")
    list(APPEND wrappers ${wrapper})
  endforeach()
  set(${out} ${wrappers} PARENT_SCOPE)
endfunction()

# The operations' tables and references, with the rows of the CUDA kernels.
add_library(quadrille_kernels_host OBJECT EXCLUDE_FROM_ALL)
get_target_property(host_sources quadrille_kernels SOURCES)
list(FILTER host_sources INCLUDE REGEX "\\.cpp$")
target_sources(quadrille_kernels_host PRIVATE ${host_sources})
# Only tests run it, and most of them are compiled for longer than they run.
target_compile_options(quadrille_kernels_host PRIVATE $<$<CONFIG:Release>:-O1>)
target_compile_definitions(quadrille_kernels_host PRIVATE QUADRILLE_CUDA_KERNELS
  $<TARGET_PROPERTY:quadrille_kernels,COMPILE_DEFINITIONS>)
target_include_directories(quadrille_kernels_host PRIVATE
  $<TARGET_PROPERTY:quadrille_kernels,INCLUDE_DIRECTORIES>)
target_link_libraries(quadrille_kernels_host PRIVATE quadrille_core quadrille_device quadrille_flags)

# quadrille_kernels_simt, _race, _asan: the operations with all their CUDA kernels.
get_property(kernels GLOBAL PROPERTY QUADRILLE_CUDA_KERNELS)
foreach(mode simt race asan)
  quadrille_interpreted(${mode} wrappers ${kernels})
  add_library(quadrille_kernels_${mode} STATIC EXCLUDE_FROM_ALL ${wrappers})
  set(engine quadrille_simt)
  if(mode STREQUAL "asan")
    set(engine quadrille_simt_asan)
  endif()
  target_link_libraries(quadrille_kernels_${mode} PUBLIC ${engine}
    PRIVATE quadrille_kernels_host quadrille_kernels_kokkos Kokkos::kokkos ${OPENBLAS_LIBRARY}
      quadrille_flags)
  target_link_options(quadrille_kernels_${mode} INTERFACE LINKER:--undefined=quadrille_check_cpu)
endforeach()
