// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/channel.hpp"
#include "common/combine.hpp"
#include "core/error.hpp"

namespace quadrille::comm {

inline kernels::Combine combine_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return kernels::Combine::sum;
    case ReduceOp::min: return kernels::Combine::min;
    case ReduceOp::max: return kernels::Combine::max;
  }
  core::fail("a reduction of no known operation");
}

}  // namespace quadrille::comm
