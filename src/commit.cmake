# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Stamps the commit at build time: what was configured days ago must not name the commit of that day.

# quadrille_stamp_commit(TARGET HEADER): every build writes HEADER, which defines QUADRILLE_COMMIT, if
# the commit has changed, before it compiles TARGET.
function(quadrille_stamp_commit target header)
  add_custom_target(${target}_commit BYPRODUCTS ${header} VERBATIM COMMENT "Stamping the commit"
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DHEADER=${header}
      -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  add_dependencies(${target} ${target}_commit)
endfunction()

# The build step.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  # A source tree without git may lie within another project's: then this is not empty.
  execute_process(COMMAND git rev-parse --show-prefix WORKING_DIRECTORY ${SOURCE}
    RESULT_VARIABLE failed OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND NOT prefix)
    execute_process(COMMAND git describe --always --dirty --exclude=* WORKING_DIRECTORY ${SOURCE}
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT commit)
    set(commit "unknown")
  endif()
  file(CONFIGURE OUTPUT ${HEADER} CONTENT "#pragma once\n#define QUADRILLE_COMMIT \"${commit}\"\n" @ONLY)
endif()
