// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rowwise/rowwise.hpp"
#include "workloads/data.hpp"

#include <span>
#include <vector>

/// What a token's row becomes, each element with rowwise::ErrorBound, from values as memory has them.
namespace quadrille::workloads {

using RowOfToken = std::span<float const>;

/// x + residual.
std::vector<Expected> expected_sum(RowOfToken x, RowOfToken residual, core::DataType type);
/// Of r, which `is_sum` says was rounded to the type. `weights`: the gain, and of layer_norm the bias behind it.
std::vector<Expected> expected_norm(kernels::rowwise::Action action, RowOfToken r, bool is_sum,
                                    RowOfToken weights, core::DataType type);
/// gelu, or swiglu of twice as many elements.
std::vector<Expected> expected_activation(kernels::rowwise::Action action, RowOfToken x,
                                          core::DataType type);
/// `cos_sin` of the token's position.
std::vector<Expected> expected_rotary(RowOfToken x, RowOfToken cos_sin, core::DataType type);

}  // namespace quadrille::workloads
