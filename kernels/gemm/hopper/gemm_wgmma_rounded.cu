// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of f32 matrices that are rounded to bf16, by `wgmma`.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    wgmma multiplies 16-bit operands twice as fast as tf32 and reads them in either order.
///              So A and B are copied once, rounded to bf16 on the way, and `wgmma_persistent` has the
///              product of the copies: the copies take O(n^2) time, which a product of O(n^3) earns
///              back where it is large. Sums and C stay f32
/// Before       wgmma_persistent
/// Shapes       row-major, A and B as they are or transposed, any extents and leading dimensions
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 256) bytes through the L2 cache, and 6 bytes
///              of device memory for each element of A and B
/// Launch       256 threads for each copy, a row of blocks for each row; then as `wgmma_persistent`
/// Accuracy     inputs 2^-8 each, then k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/small_float.cuh"
#include "gemm/hopper/gemm_wgmma.cuh"

namespace quadrille::kernels::gemm {

extern Variant<Problem> const wgmma_persistent;

namespace {

/// The matrix as the tensor cores get it, without memory.
device::MatrixView rounded(device::MatrixView const& x) {
  device::MatrixView copy{nullptr, core::DataType::bf16, x.rows, x.cols, 0};
  copy.ld = copied_ld(copy);
  return copy;
}
std::size_t bytes_of(device::MatrixView const& copy) {
  return static_cast<std::size_t>(copy.rows * copy.ld) * core::size_of(copy.type);
}
std::size_t scratch_bytes(Problem const& problem, device::Facts const& /*device*/) {
  return KMajorCopies::kCounterBytes + bytes_of(rounded(problem.a)) + bytes_of(rounded(problem.b));
}

#ifdef QUAD_KERNELS

void launch(Problem const& given, device::StreamView stream) {
  std::size_t const bytes = scratch_bytes(given, stream.facts());
  QUAD_REQUIRE(given.scratch_bytes >= bytes,
               "gemm/wgmma_rounded: needs " + std::to_string(bytes) + " bytes of scratch memory");
  Problem problem = given;
  auto* to = static_cast<std::byte*>(given.scratch) + KMajorCopies::kCounterBytes;
  for (device::MatrixView* const x : {&problem.a, &problem.b}) {
    device::MatrixView copy = rounded(*x);
    copy.data = to;
    to += bytes_of(copy);
    if (x->rows > 0 && x->cols > 0) align<float, __nv_bfloat16>(*x, copy, stream);
    *x = copy;
  }
  problem.compute = core::Compute::f32;
  wgmma_persistent.enqueue(problem, stream);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo in_bf16(VariantInfo info) {
  info = any_rows(info);
  info.types = {{core::DataType::f32, core::Compute::bf16}};
  info.needs.other = "scratch for rounded copies";
  return info;
}

}  // namespace

extern constinit Variant<Problem> const wgmma_rounded{
    in_bf16(row("wgmma_rounded", "wgmma_persistent of copies that are rounded to bf16", kSlim, 40)),
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::gemm
