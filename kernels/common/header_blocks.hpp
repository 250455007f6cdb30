// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace quadrille::kernels {

/// What a kernel's file says of itself before its code.
struct HeaderBlock {
  std::string_view operation;  ///< the folder
  std::string_view file;       ///< "gemm_naive.cu"
  std::string_view variants;   ///< rows that the file defines, each between blanks: " naive "
  std::string_view text;       ///< technique, shapes, work, ..., without the comment's marks
};

/// Of every file below kernels/ that has one, as they were when this program was built.
std::span<HeaderBlock const> header_blocks();

}  // namespace quadrille::kernels
