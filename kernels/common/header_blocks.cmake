# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# A step of the build: writes OUTPUT, which holds the header blocks of the kernels' files below ROOT.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.cpp ${ROOT}/*.cu)
set(rows "")
foreach(path ${files})
  file(READ ${ROOT}/${path} text)
  if(NOT text MATCHES "\n/// @file\n((///[^\n]*\n)+)")
    continue()
  endif()
  set(block "${CMAKE_MATCH_1}")
  # As table rows are written: by hand, by a function called row, by one of another name.
  string(REGEX MATCHALL "(\\.name = |[a-z_>]\\( *\n? *)\"[a-z0-9_]+\"" definitions "${text}")
  set(variants " ")
  foreach(definition ${definitions})
    string(REGEX REPLACE ".*\"([a-z0-9_]+)\"" "\\1" name "${definition}")
    string(APPEND variants "${name} ")
  endforeach()
  string(REGEX REPLACE "(^|\n)/// ?" "\\1" block "${block}")
  string(REGEX MATCH "^([^/]+)/(.*)$" parts ${path})
  string(APPEND rows
    "    {\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\", \"${variants}\", R\"quadrille(${block})quadrille\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[// Made from the kernels' files by common/header_blocks.cmake.
#include "common/header_blocks.hpp"

namespace quadrille::kernels {
namespace {

constexpr HeaderBlock kBlocks[] = {
@rows@};

}  // namespace

std::span<HeaderBlock const> header_blocks() { return kBlocks; }

}  // namespace quadrille::kernels
]])
