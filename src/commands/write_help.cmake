# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# A step of the build: what `program` prints of itself for shells and man, into `folder`, from where it is
# installed. Where the program does not run on the machine that builds it, such as a login node without a GPU's
# driver, none of these is left.
foreach(page "quadrille.bash|completion;bash" "_quadrille|completion;zsh" "quadrille.1|man")
  string(REGEX MATCH "^(.*)[|](.*)$" parts "${page}")
  set(file ${folder}/${CMAKE_MATCH_1})
  execute_process(COMMAND ${program} ${CMAKE_MATCH_2} OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE code)
  if(code EQUAL 0)
    file(WRITE ${file} "${text}")
  else()
    message(STATUS "${program} does not run here: its completion and manual are not installed")
    file(REMOVE_RECURSE ${folder})
    return()
  endif()
endforeach()
