// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "conv2d/conv2d.hpp"

#include "common/like.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::kernels::conv2d {

// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  vendor_host,
  vendor_cuda,
  naive,
  im2col_gemm,
  implicit_gemm,
  few_channels,
  few_channels_mma,
  implicit_gemm_mma,
  implicit_gemm_wgmma,
  winograd
);
// clang-format on

namespace {

/// A tensor as rows of images or filters.
device::MatrixView rows_of(core::DataType type, std::int64_t rows, std::int64_t elements) {
  return {nullptr, type, rows, elements, elements};
}

}  // namespace

Variants<Problem> variants() { return kTable; }

Problem unallocated(Shape const& shape, DataLayout layout, core::DataType type,
                    core::Compute compute) {
  return {.shape = shape,
          .layout = layout,
          .x = rows_of(type, shape.n, shape.c * shape.h * shape.w),
          .w = rows_of(type, shape.k, shape.terms()),
          .y = rows_of(type, shape.n, shape.k * shape.positions()),
          .compute = compute};
}

ProblemFacts facts_of(Problem const& p) {
  return {.types = {p.x.type, core::compute_for(p.x.type, p.compute), p.y.type},
          .result = {"y", p.y},
          .inputs = {{{"x", p.x}, {"w", p.w}}}};
}

std::string shape_error(Shape const& x) {
  bool const is_positive =
      x.h > 0 && x.w > 0 && x.r > 0 && x.s > 0 && x.stride > 0 && x.dilation > 0 && x.groups > 0;
  if (!is_positive || x.n < 0 || x.c < 0 || x.k < 0 || x.padding < 0) {
    return "h, w, r, s, stride, dilation and groups must be positive, and nothing negative";
  }
  if (x.c % x.groups != 0 || x.k % x.groups != 0) {
    return fmt::format(
        "{} groups do not divide both {} channels and {} filters; take a common divisor", x.groups,
        x.c, x.k);
  }
  auto const size = [](std::int64_t a, std::int64_t b) { return fmt::format("{} x {}", a, b); };
  if (x.out_h() == 0 || x.out_w() == 0) {
    return fmt::format(
        "filters of {} with dilation {} do not fit images of {} with padding {}: outputs have no "
        "size; take smaller filters or more padding",
        size(x.r, x.s), x.dilation, size(x.h, x.w), x.padding);
  }
  return {};
}

void require_consistent(Problem const& problem) {
  std::string const error = shape_error(problem.shape);
  QUAD_REQUIRE(error.empty(), "conv2d: " + error);
  Problem const like = unallocated(problem.shape, problem.layout, problem.x.type);
  QUAD_REQUIRE(is_like(problem.x, like.x), "conv2d: x is not n x (c h w) without gaps");
  QUAD_REQUIRE(is_like(problem.w, like.w),
               "conv2d: w is not k x (c / groups r s) without gaps, or of another type than x");
  QUAD_REQUIRE(is_like(problem.y, like.y),
               "conv2d: y is not n x (k p q) without gaps, or of another type than x");
}

double flop(Shape const& x) {
  return 2 * static_cast<double>(x.n) * static_cast<double>(x.k) *
         static_cast<double>(x.positions()) * static_cast<double>(x.terms());
}

double compulsory_bytes(Shape const& x, double element_bytes) {
  auto const n = static_cast<double>(x.n), k = static_cast<double>(x.k);
  double const image =
      static_cast<double>(x.c) * static_cast<double>(x.h) * static_cast<double>(x.w);
  return element_bytes * (n * image + k * static_cast<double>(x.terms()) +
                          n * k * static_cast<double>(x.positions()));
}

double column_bytes(Shape const& x, double element_bytes) {
  return element_bytes * static_cast<double>(x.groups) * static_cast<double>(x.terms()) *
         static_cast<double>(x.n) * static_cast<double>(x.positions());
}

std::string few_elements(Problem const& p) {
  constexpr std::int64_t kMax = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);
  for (Operand const& operand : {Operand{"x", p.x}, Operand{"w", p.w}, Operand{"y", p.y}}) {
    std::int64_t const elements = operand.view.rows * operand.view.cols;
    if (elements > kMax) {
      return fmt::format("takes tensors of up to {} elements, {} has {}", kMax, operand.name,
                         elements);
    }
  }
  constexpr std::int64_t kMaxPadded = (std::int64_t{1} << 30) - 1;
  std::int64_t const padded = std::max(p.shape.h, p.shape.w) + 2 * p.shape.padding;
  if (padded > kMaxPadded) {
    return fmt::format("takes images of up to {} rows and columns with their padding, this has {}",
                       kMaxPadded, padded);
  }
  return {};
}

}  // namespace quadrille::kernels::conv2d
