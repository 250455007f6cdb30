// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conv2d/conv2d.hpp"
#include "core/options.hpp"
#include "workloads/data.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What conv2d and conv2d_halo share.
namespace quadrille::workloads {

inline std::vector<std::string_view> convolution_extents() {
  return {"n", "c", "h", "w", "k", "r", "s"};
}

/// Their keys.
struct ConvolutionKeys {
  kernels::conv2d::DataLayout layout = kernels::conv2d::DataLayout::nchw;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool operator==(ConvolutionKeys const&) const = default;
};
/// Of a workload whose parameters have them in member `keys`.
template <class Owner>
std::vector<core::Option> convolution_options(ConvolutionKeys Owner::*keys) {
  namespace options = core::options;
  constexpr std::int64_t kMaxStep = 1 << 20;
  auto const count = [&](std::string_view key, std::int64_t ConvolutionKeys::*member,
                         std::int64_t least, std::string_view help) {
    return options::count(key, options::at(keys, member), help, {.least = least, .most = kMaxStep});
  };
  return {options::choice("layout", options::at(keys, &ConvolutionKeys::layout),
                          "how images lie in memory, the last index fastest"),
          count("stride", &ConvolutionKeys::stride, 1, "pixels from a window to the next"),
          count("padding", &ConvolutionKeys::padding, 0, "zeros around an image"),
          count("dilation", &ConvolutionKeys::dilation, 1, "pixels from a tap to the next"),
          count("groups", &ConvolutionKeys::groups, 1,
                "of channels, and of filters that see no others")};
}
kernels::conv2d::Shape shape_of(core::Case const& spec, ConvolutionKeys const& keys);
/// What no convolution of the case can be made of, with the way out; empty where nothing is.
std::string convolution_conflict(core::Case const& spec, ConvolutionKeys const& keys);

/// Device memory that a library's row among these allocates by itself, at most.
double workspace_bytes(measure::Selection const& selected);

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
