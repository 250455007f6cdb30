# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# A step of the installation: what `program` prints of itself, where shells and man look for it below
# the folders `share` and `manuals` of the prefix.
foreach(page
    "bash-completion/completions/quadrille|completion;bash" "zsh/site-functions/_quadrille|completion;zsh"
    "man1/quadrille.1|man")
  string(REGEX MATCH "^(.*)[|](.*)$" parts "${page}")
  set(file ${CMAKE_MATCH_1})
  set(arguments ${CMAKE_MATCH_2})
  set(folder ${share})
  if(arguments STREQUAL "man")
    set(folder ${manuals})
  endif()
  execute_process(COMMAND ${program} ${arguments} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  if(NOT IS_ABSOLUTE ${folder})
    set(folder ${CMAKE_INSTALL_PREFIX}/${folder})
  endif()
  message(STATUS "Installing: $ENV{DESTDIR}${folder}/${file}")
  file(WRITE $ENV{DESTDIR}${folder}/${file} "${text}")
endforeach()
