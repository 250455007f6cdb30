# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Stamps the commit at build time: what was configured days ago must not name the commit of that day.

# quadrille_stamp_commit(TARGET TEMPLATE HEADER): every build, before it compiles TARGET, writes HEADER
# from TEMPLATE if the commit has changed, which stands there as @QUADRILLE_COMMIT@.
function(quadrille_stamp_commit target template header)
  get_filename_component(template ${template} ABSOLUTE)
  add_custom_target(${target}_commit BYPRODUCTS ${header} VERBATIM COMMENT "Stamping the commit"
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DTEMPLATE=${template} -DHEADER=${header}
      -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  add_dependencies(${target} ${target}_commit)
endfunction()

# The build step.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  # Whoever owns the source: it is built, and git only reads it.
  set(git git -c safe.directory=${SOURCE})
  # A source tree without git may lie within another project's: then this is not empty.
  execute_process(COMMAND ${git} rev-parse --show-prefix WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE failed
    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE why ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND NOT prefix)
    execute_process(COMMAND ${git} describe --always --dirty --exclude=* WORKING_DIRECTORY ${SOURCE}
      OUTPUT_VARIABLE QUADRILLE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT QUADRILLE_COMMIT)
    if(failed AND EXISTS ${SOURCE}/.git)
      message(WARNING "Results will name no commit: ${why}")
    endif()
    set(QUADRILLE_COMMIT "unknown")
  endif()
  configure_file(${TEMPLATE} ${HEADER} @ONLY)
endif()
