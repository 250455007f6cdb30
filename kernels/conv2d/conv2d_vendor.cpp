// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution by BLAS on the column matrix: the bar on the host.
///
///   Y = W X_col
///
/// Technique    the positions of an image are cut into blocks; each thread writes the columns
///              (im2col, Chellapilla et al. 2006) of a block to a buffer of its own and has
///              cblas_sgemm multiply them by the filters, straight into the output
/// Shapes       nchw or nhwc, any extents; taps outside of the image are 0
/// Work         2 n k p q (c / groups) r s flop; the columns, c r s floats a position, are written once
///              and read once
/// Launch       one parallel loop of the stream; the library is set to one thread. A buffer of 2 MiB for
///              each thread, or a column of 16 positions where that is more
/// Accuracy     that of the library; eps (sqrt(c r s) + 2) w for random data
#include "conv2d/conv2d.hpp"
#include "conv2d/conv2d_columns.hpp"
#include "device/host/parallel.hpp"
#include "vendor/blas.hpp"
#include "vendor/cblas.hpp"

#include <algorithm>
#include <vector>

namespace quadrille::kernels::conv2d {
namespace {

constexpr std::int64_t kBufferFloats = 1 << 19;
constexpr std::int64_t kMinPositions = 16;

void convolve(Problem const& problem, device::StreamView stream) {
  Shape const& z = problem.shape;
  blas::use_threads(1);
  std::int64_t const terms = z.terms();
  std::int64_t const positions = z.positions();
  std::int64_t const block = std::min(
      positions, std::max(kMinPositions, kBufferFloats / std::max<std::int64_t>(terms, 1)));
  std::int64_t const blocks = (positions + block - 1) / block;
  std::int64_t const filters = z.group_filters();
  if (z.n == 0 || z.k == 0) return;
  device::parallel_for(
      stream, z.n * blocks,
      [=, &z](std::int64_t part) {
        thread_local std::vector<float> buffer;
        core::Range const at = core::split_evenly(positions, blocks, part % blocks);
        std::int64_t const image = part / blocks;
        buffer.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, terms * at.count)));
        for (std::int64_t g = 0; g < z.groups; ++g) {
          columns<float>(problem, image, g, at, buffer.data(), at.count);
          float const* const w = problem.w.as<float>() + g * filters * terms;
          float* const y = problem.y.as<float>() + image * z.k * positions;
          auto const narrow = [](std::int64_t x) { return static_cast<int>(x); };
          int const ld_w = narrow(std::max<std::int64_t>(1, terms));
          if (problem.layout == DataLayout::nchw) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, narrow(filters),
                        narrow(at.count), narrow(terms), 1, w, ld_w, buffer.data(),
                        narrow(at.count), 0, y + g * filters * positions + at.first,
                        narrow(positions));
          } else {
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasTrans, narrow(at.count), narrow(filters),
                        narrow(terms), 1, buffer.data(), narrow(at.count), w, ld_w, 0,
                        y + at.first * z.k + g * filters, narrow(z.k));
          }
        }
      },
      device::Schedule::dynamic);
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] { convolve(problem, stream); });
}

std::string unsupported(Problem const& p) {
  Shape const& z = p.shape;
  bool const fits = std::max({z.terms(), z.positions(), z.k}) <= gemm::kMaxInt;
  return fits ? "" : "takes k, p q and c r s below 2^31";
}

}  // namespace

extern constinit Variant<Problem> const vendor_host{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::host,
     .types = {core::DataType::f32},
     .needs = {.other = "k, p q and c r s below 2^31"},
     .source = QUADRILLE_BLAS,
     .summary = "cblas_sgemm on blocks of the column matrix, 2 MiB for each thread"},
    launch,
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::conv2d
