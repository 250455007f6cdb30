// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose.hpp"

namespace quadrille::kernels::transpose {
namespace {

using core::DataType;

std::vector<Variant<Problem>> const& table() {
  static std::vector<DataType> const every{DataType::f64,  DataType::f32, DataType::f16,
                                           DataType::bf16, DataType::i64, DataType::i32,
                                           DataType::i8};
  static std::vector<Variant<Problem>> const rows{
      {{"reference", Backend::reference, every, "none", "own", "two loops, one thread"},
       launch_reference},
      {{"kokkos", Backend::kokkos, every, "none", "own",
        "small squares turned in registers, whole lines written past the caches", 0, false, true},
       QUAD_KOKKOS_LAUNCH(launch_kokkos)},
      {{"vendor",
        Backend::vendor,
        {DataType::f64, DataType::f32},
        "none",
        "OpenBLAS, cuBLAS",
        "cblas_domatcopy, cblas_somatcopy; cublasDgeam, cublasSgeam"},
       launch_vendor},
      {{"naive_32x8", Backend::cuda, every, "none", "note on Nsight Compute",
        "an element a thread, blocks 32 wide; f32 sectors per request 4 and 32"},
       QUAD_CUDA_LAUNCH(launch_naive_32x8)},
      {{"naive_8x32", Backend::cuda, every, "none", "note on Nsight Compute",
        "an element a thread, blocks 8 wide; f32 sectors per request 4 and 8"},
       QUAD_CUDA_LAUNCH(launch_naive_8x32)},
      {{"register_4x4",
        Backend::cuda,
        {DataType::f32, DataType::i32},
        "extents % 4 == 0, rows aligned to 16 bytes",
        "note on Nsight Compute",
        "4 x 4 patches turned in registers; f32 sectors per request 16 and 16"},
       QUAD_CUDA_LAUNCH(launch_register_4x4)},
      {{"shared_tile", Backend::cuda, every, "none", "own",
        "tiles in shared memory, with bank conflicts; f32 sectors per request 4 and 4"},
       QUAD_CUDA_LAUNCH(launch_shared_tile)},
      {{"shared_padded", Backend::cuda, every, "none", "own",
        "padded tiles in shared memory; f32 sectors per request 4 and 4"},
       QUAD_CUDA_LAUNCH(launch_shared_padded)},
      {{"shared_swizzled", Backend::cuda, every, "none", "own",
        "16-byte accesses throughout, swizzled tiles; f32 sectors per request 16 and 16"},
       QUAD_CUDA_LAUNCH(launch_shared_swizzled)},
      {{"bulk_tensor", Backend::cuda, every,
        "sm_90, rows aligned to 16 bytes, rows of out whole multiples", "own",
        "tensor copies bring and take tiles", 90},
       QUAD_CUDA_LAUNCH(launch_bulk_tensor)},
      {{"in_place", Backend::cuda, every, "square, out is in", "own",
        "pairs of tiles change places; f32 sectors per request 4 and 4"},
       QUAD_CUDA_LAUNCH(launch_in_place)},
  };
  return rows;
}

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

std::string refusal(VariantInfo const& variant, core::DataType type, std::int64_t m,
                    std::int64_t n) {
  std::string const way_out = "; use variant 'shared_swizzled'";
  if (variant.name == "in_place" && m != n) return "needs a square matrix" + way_out;
  if (variant.name == "register_4x4" && (m % 4 != 0 || n % 4 != 0)) {
    return "needs rows and columns in multiples of 4" + way_out;
  }
  auto const width = static_cast<std::int64_t>(core::size_of(type));
  if (variant.name == "bulk_tensor" && (m * width % 16 != 0 || n * width % 16 != 0)) {
    return "needs rows and columns in multiples of 16 bytes" + way_out;
  }
  return {};
}

void launch_vendor(Problem const& problem, device::StreamView stream) {
  if (stream.device().kind() == device::Kind::host) return launch_vendor_host(problem, stream);
#ifdef QUADRILLE_CUBLAS
  launch_vendor_cuda(problem, stream);
#else
  core::fail("transpose/vendor: this build has no CUDA", core::Exit::environment);
#endif
}

void require_consistent(Problem const& problem) {
  device::MatrixView const& in = problem.in;
  device::MatrixView const& out = problem.out;
  QUAD_REQUIRE(in.rows >= 0 && in.cols >= 0, "transpose: an extent is negative");
  QUAD_REQUIRE(in.type == out.type, "transpose: input and output differ in type");
  QUAD_REQUIRE(in.rows == out.cols && in.cols == out.rows,
               "transpose: the output of an m x n input must be n x m");
  QUAD_REQUIRE(in.ld >= in.cols && out.ld >= out.cols,
               "transpose: a leading dimension is below the columns; rows would overlap");
}

}  // namespace quadrille::kernels::transpose
