// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/convolution.hpp"

#include "workloads/tables.hpp"

#include <fmt/format.h>

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
  bool const has_type = spec.type == core::DataType::f32 || spec.type == core::DataType::f16 ||
                        spec.type == core::DataType::bf16;
  if (!has_type) {
    return fmt::format("{} has no type = \"{}\"; take f32, f16 or bf16", spec.workload->name,
                       core::to_text(spec.type));
  }
  if (spec.size.auto_fraction > 0) {
    return fmt::format("{} takes seven extents; auto knows one", spec.workload->name);
  }
  conv2d::Shape const shape = shape_of(spec, keys);
  std::string error = conv2d::shape_error(shape);
  if (!error.empty()) return error;
  constexpr double kMax = 0x1p50;
  if (conv2d::compulsory_bytes(shape, 1) > kMax) {
    return "the tensors have more than 2^50 elements; take smaller extents";
  }
  return {};
}

double workspace_bytes(measure::Selection const& selected) {
  std::int64_t most = 0;
  for (kernels::VariantInfo const* variant : selected) {
    most = std::max(most, row_of(conv2d::variants(), *variant).specifics.notes.workspace_bytes);
  }
  return static_cast<double>(most);
}

}  // namespace quadrille::workloads
