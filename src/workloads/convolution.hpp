// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conv2d/conv2d.hpp"
#include "core/options.hpp"
#include "measure/workload.hpp"

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

}  // namespace quadrille::workloads
