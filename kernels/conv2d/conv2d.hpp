// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "gemm/gemm.hpp"

#include <string>
#include <string_view>

namespace quadrille::kernels::conv2d {

/// How images lie in memory, the last index fastest. Filters lie alike: k x c x r x s or k x r x s x c,
/// with the channels of one group.
enum class DataLayout { nchw, nhwc };
constexpr auto enum_names(DataLayout) {
  return core::EnumNames<DataLayout, 2>{{{DataLayout::nchw, "nchw"}, {DataLayout::nhwc, "nhwc"}}};
}

/// n images of c channels and h x w pixels, and k filters of r x s taps. The same stride, padding and
/// dilation both ways. Group g of the channels is seen by group g of the filters alone.
struct Shape {
  std::int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;

  std::int64_t out_h() const { return windows(h, r); }
  std::int64_t out_w() const { return windows(w, s); }
  /// Of an output image.
  std::int64_t positions() const { return out_h() * out_w(); }
  std::int64_t group_channels() const { return c / groups; }
  std::int64_t group_filters() const { return k / groups; }
  /// Terms of an output element, those in the padding among them: rows of the column matrix.
  std::int64_t terms() const { return group_channels() * r * s; }

 private:
  std::int64_t windows(std::int64_t extent, std::int64_t taps) const {
    std::int64_t const left = extent + 2 * padding - (dilation * (taps - 1) + 1);
    return left < 0 ? 0 : left / stride + 1;
  }
};

/// y(n, k, p, q) = sum over c, i, j of x(n, c, p stride + i dilation - padding, q stride + j dilation -
/// padding) w(k, c, i, j); what lies outside of an image is 0, and c runs over the channels of k's group.
struct Problem {
  static constexpr std::string_view kOperation = "conv2d";
  /// Of a variant.
  struct Notes {
    /// Device memory that a library's row allocates by itself, at most.
    std::int64_t workspace_bytes = 0;
  };

  Shape shape{};
  DataLayout layout = DataLayout::nchw;
  device::MatrixView x;  ///< n rows, an image each, without gaps between them
  device::MatrixView w;  ///< k rows, a filter each, without gaps
  device::MatrixView y;  ///< n rows, without gaps
  core::Compute compute = core::Compute::automatic;  ///< what products are multiplied and added in
  /// On a GPU: as much as the variant's scratch_bytes() says, aligned to 256 bytes, of which the first
  /// gemm::kScratchCounters words are 0 before and after.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

/// A problem whose tensors have no memory yet.
Problem unallocated(Shape const& shape, DataLayout layout, core::DataType type,
                    core::Compute compute = core::Compute::automatic);

/// Ends the job unless shape, extents and types fit together and outputs have a size. Any of n, c and k
/// may be 0.
void require_consistent(Problem const& problem);
/// Why there is no such convolution, with the way out; empty where there is one.
std::string shape_error(Shape const& shape);

/// Taps in the padding count as any other.
double flop(Shape const& shape);
/// Each of the three tensors once, of elements of so many bytes.
double compulsory_bytes(Shape const& shape, double element_bytes);
/// Of the column matrix of all images: terms() x n p q elements.
double column_bytes(Shape const& shape, double element_bytes);

/// What a right element of y may be off by: it is a sum of terms() products.
inline gemm::ErrorBound error_bound(Problem const& problem) {
  return {problem.y.type, core::compute_for(problem.x.type, problem.compute),
          problem.shape.terms()};
}

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

/// For Specifics::unsupported of kernels that count elements in 32 bits.
std::string few_elements(Problem const& problem);

}  // namespace quadrille::kernels::conv2d
