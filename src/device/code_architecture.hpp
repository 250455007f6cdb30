// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <string>
#include <string_view>

namespace quadrille::device {

/// What a GPU of a compute capability (times ten) runs of kernels that were compiled for
/// `architectures`, separated by commas and written as in CMAKE_CUDA_ARCHITECTURES:
///
///   80          machine code for 8.0 to 8.9, and PTX, of which the driver makes code for any later GPU
///   80-real     only the machine code; 80-virtual only the PTX
///   90a         machine code and PTX for 9.0 alone
///   100f        for 10.0 and later 10.x
///
/// Machine code goes before PTX, and later architectures before earlier ones.
CodeArchitecture code_for(std::string_view architectures, int compute_capability);

/// That of this program.
CodeArchitecture code_of_program(int compute_capability);

/// Why a GPU can run none of this program's kernels, and the way out; empty where it can.
std::string missing_code_reason(Facts const& gpu);

}  // namespace quadrille::device
