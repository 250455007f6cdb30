// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <memory>

namespace quadrille::device {

/// Place for the execution space of the stream's Kokkos kernels; what is in it ends before the
/// stream. Untyped, so that streams do not depend on Kokkos. One thread at a time.
std::shared_ptr<void>& cuda_execution_place(StreamView stream);

}  // namespace quadrille::device
