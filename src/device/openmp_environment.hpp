// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace quadrille::device {

/// Variables of OpenMP, as "OMP_PROC_BIND=close", that were set when this process started and have been
/// taken out of its environment, because they would leave kernels fewer threads or cores than they ask
/// for. OpenMP never saw them.
std::span<char const* const> removed_openmp_variables();

}  // namespace quadrille::device
