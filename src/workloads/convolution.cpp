// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/convolution.hpp"

#include "workloads/tables.hpp"

#include <algorithm>

namespace quadrille::workloads {

namespace conv2d = kernels::conv2d;

conv2d::Shape shape_of(core::Case const& spec, ConvolutionKeys const& keys) {
  auto const& size = spec.size;
  return {.n = size[0],
          .c = size[1],
          .h = size[2],
          .w = size[3],
          .k = size[4],
          .r = size[5],
          .s = size[6],
          .stride = keys.stride,
          .padding = keys.padding,
          .dilation = keys.dilation,
          .groups = keys.groups};
}

std::string convolution_conflict(core::Case const& spec, ConvolutionKeys const& keys) {
  conv2d::Shape const shape = shape_of(spec, keys);
  std::string const error = conv2d::shape_error(shape);
  return error.empty() ? elements_conflict(conv2d::compulsory_bytes(shape, 1)) : error;
}

double workspace_bytes(measure::Selection const& selected) {
  std::int64_t most = 0;
  for (kernels::VariantInfo const* variant : selected) {
    most = std::max(most, row_of(conv2d::variants(), *variant).specifics.notes.workspace_bytes);
  }
  return static_cast<double>(most);
}

}  // namespace quadrille::workloads
