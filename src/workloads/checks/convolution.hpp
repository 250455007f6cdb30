// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conv2d/conv2d.hpp"
#include "workloads/data.hpp"

namespace quadrille::workloads {

/// Generated images and filters, and this rank's box of the outputs of their convolution.
struct Convolution {
  kernels::conv2d::Shape shape{};  ///< of the whole
  kernels::conv2d::DataLayout layout = kernels::conv2d::DataLayout::nchw;
  core::DataType type = core::DataType::f32;
  core::Compute compute = core::Compute::automatic;
  Source x{};                            ///< row n is image n, without padding
  Source w{};                            ///< row k is filter k
  core::Range images{}, rows{}, cols{};  ///< of the outputs; with all k of them
  device::MatrixView y{};                ///< a row for each image of the box, without gaps
};

/// All outputs of a problem.
Convolution whole_convolution(kernels::conv2d::Problem const& problem, Source const& x,
                              Source const& w);

/// Judges y from values that are generated again. Sampled elements each against the error bound; and
/// for a full check every output: over the output channels of a position, with whole numbers f_k,
///
///   sum_k f_k y(n, k, p, q) = sum_{c, i, j} x(...) (sum_k f_k w(k, c, i, j))
///
/// costs a k-th part of the convolution. The roundings of the channels are independent, so that the
/// difference is compared with twice the 2-norm of their bounds times f. Two sets of f. Of a position that
/// fails each element is computed, to name the wrong one. On whole numbers that fit their type
/// everything is exact and the bound is 0. Collective; a rank's box may be empty.
measure::Verdict check_convolution(Convolution const& convolution, comm::World const& world,
                                   core::Check check);

}  // namespace quadrille::workloads
