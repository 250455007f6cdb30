# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0

# How the folders list their tests. A test is called FOLDER/NAME and has its first folder for a label.
set(QUADRILLE_TESTS ${CMAKE_CURRENT_LIST_DIR})

# quadrille_add_test(NAME COMMAND word... [RANKS n] [TIMEOUT seconds] [LABELS label...]
#   [ENVIRONMENT variable=value...])
# One CTest entry. With RANKS it counts for so many when tests run side by side. Labels "slow" and
# "speed" run only where they are asked for (tests/run.sh --slow, --speed), the latter one at a time.
# Exit code 77 is "skipped". The file test_targets has a line for each: its name, and the targets that it
# starts.
function(quadrille_add_test name)
  cmake_parse_arguments(ARG "" "RANKS;TIMEOUT" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)  # five times what the longest takes on two idle cores
  endif()
  file(RELATIVE_PATH folder ${QUADRILLE_TESTS} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" label ${folder})
  set(name ${folder}/${name})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set(targets)
  foreach(word ${ARG_COMMAND})
    string(REGEX REPLACE ".*<TARGET_FILE:([^>]*)>.*" "\\1" word "${word}")
    if(TARGET "${word}")
      list(APPEND targets ${word})
    endif()
  endforeach()
  list(JOIN targets " " targets)
  file(APPEND ${CMAKE_BINARY_DIR}/test_targets "${name} ${targets}\n")
  if(ARG_RANKS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${ARG_RANKS})
    list(APPEND ARG_LABELS mpi)
  endif()
  if("speed" IN_LIST ARG_LABELS)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    LABELS "${label};${ARG_LABELS}" ENVIRONMENT "${QUADRILLE_TEST_ENVIRONMENT};${ARG_ENVIRONMENT}")
endfunction()

# quadrille_ranks(VARIABLE n...): the numbers of ranks that a test runs on; the second alone under sanitizers,
# as what ranks own and run is alike on all.
function(quadrille_ranks variable)
  set(numbers ${ARGN})
  if(QUADRILLE_SANITIZE)
    list(GET numbers 1 numbers)
  endif()
  set(${variable} ${numbers} PARENT_SCOPE)
endfunction()

# Sets NAME to the file's name without its suffix, TARGET to FOLDER_NAME in the caller's scope.
function(quadrille_names_of file)
  get_filename_component(name ${file} NAME_WE)
  file(RELATIVE_PATH target ${QUADRILLE_TESTS} ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  string(REPLACE "/" "_" target ${target})
  set(name ${name} PARENT_SCOPE)
  set(target ${target} PARENT_SCOPE)
endfunction()

# quadrille_test(FILE [NP n...] [LIBS target...] [LABELS label...] [TIMEOUT seconds] [MAIN target])
# One executable per file; with NP one CTest entry per rank count, started by mpiexec, under sanitizers
# one for the last. MAIN is a library of tests/support in place of GoogleTest's. What is labelled "gpu"
# is built by the target quadrille_gpu_tests alone.
function(quadrille_test file)
  cmake_parse_arguments(ARG "" "TIMEOUT;MAIN" "NP;LIBS;LABELS" ${ARGN})
  quadrille_names_of(${file})
  if(QUADRILLE_SANITIZE AND "speed" IN_LIST ARG_LABELS)
    return()  # sanitizers cost time, of which it would judge
  endif()
  if(NOT ARG_MAIN)
    set(ARG_MAIN GTest::gtest_main)
  endif()
  add_executable(${target} ${file})
  target_include_directories(${target} PRIVATE ${QUADRILLE_TESTS})
  # What GoogleTest needs of strings is looked for in the C++ library first: in C++20 any object that uses some
  # has copies, and one of a kernel brings all kernels.
  target_link_libraries(${target} PRIVATE ${ARG_MAIN} ${ARG_LIBS} quadrille_flags GTest::gtest stdc++
    ${QUADRILLE_LEAK_CHECKS})
  if(NOT "Kokkos::kokkos" IN_LIST ARG_LIBS)  # whose options are others
    target_precompile_headers(${target} REUSE_FROM quadrille_gpu_main)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if("gpu" IN_LIST ARG_LABELS)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    add_dependencies(quadrille_gpu_tests ${target})
  endif()
  if(NOT ARG_NP)
    quadrille_add_test(${name} COMMAND ${target} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT})
  endif()
  if(QUADRILLE_SANITIZE AND ARG_NP)
    list(GET ARG_NP -1 ARG_NP)
  endif()
  foreach(np ${ARG_NP})
    quadrille_add_test(${name}.np${np} RANKS ${np} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT}
      COMMAND ${QUADRILLE_MPIRUN} -n ${np} $<TARGET_FILE:${target}>)
  endforeach()
endfunction()

# quadrille_fuzz_test(FILE [LIBS target...])
# A test of hostile input (support/fuzz.hpp), and the same for 10 s a test with the label "slow".
function(quadrille_fuzz_test file)
  quadrille_test(${file} ${ARGN})
  quadrille_names_of(${file})
  quadrille_add_test(${name}_long COMMAND ${target} LABELS slow
    ENVIRONMENT QUADRILLE_FUZZ_SECONDS=10)
endfunction()

# quadrille_kernel_test(FILE [OWN_KERNELS] [MODES mode...] [SOURCES file.cu...] [TIMEOUT seconds])
# A test of CUDA kernels, built once for each mode, by default "simt gpu": in the interpreter with its
# race detector, on a GPU. SOURCES are kernels of the test's own; with OWN_KERNELS there are no others. What runs on a GPU is built by the target
# quadrille_gpu_tests alone.
function(quadrille_kernel_test file)
  cmake_parse_arguments(ARG "OWN_KERNELS" "TIMEOUT" "MODES;SOURCES" ${ARGN})
  if(NOT ARG_MODES)
    set(ARG_MODES simt gpu)
  endif()
  quadrille_names_of(${file})
  set(modes)
  foreach(mode ${ARG_MODES})
    if(TARGET quadrille_runner_${mode})
      list(APPEND modes ${mode})
    endif()
  endforeach()
  if(NOT modes)
    return()
  endif()
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${file})
  target_include_directories(${target} PRIVATE
    ${QUADRILLE_TESTS} ${CMAKE_SOURCE_DIR}/kernels)
  target_include_directories(${target} SYSTEM PRIVATE ${QUADRILLE_CUDA_HEADERS})
  target_link_libraries(${target} PRIVATE
    quadrille_core quadrille_device quadrille_flags GTest::gtest)
  target_precompile_headers(${target} REUSE_FROM quadrille_gpu_main)
  foreach(mode ${modes})
    set(program ${target}_${mode})
    set(command ${program})
    add_executable(${program} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${target}>)
    target_include_directories(${program} PRIVATE ${QUADRILLE_TESTS} ${CMAKE_SOURCE_DIR}/kernels)
    if(mode STREQUAL "gpu")
      set(command bash ${QUADRILLE_TESTS}/support/if_built.sh $<TARGET_FILE:${program}>)
      add_dependencies(quadrille_gpu_tests ${program})
      target_sources(${program} PRIVATE ${ARG_SOURCES})
      set(kernels quadrille_kernels)
      target_link_libraries(${program} PRIVATE
        quadrille_core quadrille_device quadrille_gpu_main GTest::gtest)
    else()
      set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL OFF)
      quadrille_interpret(${program} ${ARG_SOURCES})
      set(kernels quadrille_kernels_${mode})
      target_link_libraries(${program} PRIVATE GTest::gtest_main)
    endif()
    if(NOT ARG_OWN_KERNELS)
      target_link_libraries(${program} PRIVATE ${kernels})
    endif()
    target_link_libraries(${program} PRIVATE quadrille_runner_${mode})
    target_link_libraries(${program} PRIVATE quadrille_flags ${QUADRILLE_LEAK_CHECKS})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    quadrille_add_test(${name}_${mode} COMMAND ${command} LABELS ${mode} TIMEOUT ${ARG_TIMEOUT})
  endforeach()
endfunction()

# quadrille_program_test(NAME SCRIPT RANKS [TIMEOUT seconds] [LABELS label...] ARGS argument...)
# A script in Python that starts the program as a user does.
function(quadrille_program_test name script ranks)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;ARGS" ${ARGN})
  if(NOT SYSTEM_PYTHON3)
    return()
  endif()
  quadrille_add_test(${name} RANKS ${ranks} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT}
    COMMAND ${SYSTEM_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARG_ARGS}
      $<TARGET_FILE:quadrille> ${QUADRILLE_MPIRUN})
endfunction()
