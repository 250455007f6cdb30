// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product of few rows and few columns along a long k: inner products.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    the time is that of reading A and B once, if enough of both is on its way. Every warp
///              of the device takes chunks of k, 128 bytes of each row of A and as many k of B, and
///              multiplies all of C's elements for them: neighbouring warps read neighbouring
///              chunks. It copies to a ring of its own, of which each lane reads what it copied
///              (`gemm_thin.cuh`), so that there is no barrier until k ends. Then a block adds up
///              what its warps have, and a second kernel, whose blocks wait on the device before
///              the first ends, what the blocks have: in a fixed order
/// Shapes       row-major, any layouts; m and n up to 32, any k
/// Work         2 m n k flop, of 2 32 32 k that are computed; traffic (m k + k n) s + m n s bytes and
///              16 KiB for each block
/// Launch       384 threads, 192 KiB of shared memory, one block per multiprocessor; then 32 blocks of
///              384 threads
/// Accuracy     f64 k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data; f32, multiplied and
///              added as f64, eps |c|; of 16-bit types the same as f64 in eps of f32, and eps |c|
///              for storing them
#include "common/ptx/threads.cuh"
#include "gemm/cuda_cores/gemm_thin.cuh"

#include <algorithm>
#include <string>

namespace quadrille::kernels::gemm {
namespace {

constexpr int kElements = thin::kSide * thin::kSide;  // of C, as blocks see it

/// For elements of C of every block, after the counters that variants share.
std::size_t scratch_bytes(Problem const&, device::Facts const& device) {
  return sizeof(float) * kScratchCounters +
         sizeof(double) * static_cast<std::size_t>(device.multiprocessors) * kElements;
}

#ifdef QUAD_KERNELS

using namespace thin;

// As many as have room for their accumulators: a warp waits for its own instructions most of the
// time.
constexpr int kWarps = 12;
constexpr int kThreads = kWarps * 32;
constexpr int kRing = kRings / kWarps;  // bytes

template <class T, bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(kThreads, 1)
    gemm_thin_k_partial_kernel(Product<T> p, Sum<T>* partials) {
  using A = Panel<T, kAlongA>;
  using B = Panel<T, kAlongB>;
  constexpr int kBytesA = A::bytes_of(kChunk<T>), kStage = kBytesA + B::bytes_of(kChunk<T>);
  constexpr int kStages = kRing / kStage;
  QUAD_DYNAMIC_SHARED(unsigned char, rings);
  int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  int const warps = static_cast<int>(gridDim.x) * kWarps;
  int const first = static_cast<int>(blockIdx.x) * kWarps + warp;
  int const chunks = divide_up(p.k, kChunk<T>);
  unsigned char* const ring = rings + warp * kRing;
  auto const copy = [&](int chunk, int stage) {
    if (chunk < chunks) {
      int const k = chunk * kChunk<T>, count = p.k - k;
      A::copy(ring + stage * kStage, p.a, p.lda, p.m, k, count, lane);
      B::copy(ring + stage * kStage + kBytesA, p.b, p.ldb, p.n, k, count, lane);
    }
    ptx::cp_async_commit();
  };
  Sum<T> accumulators[kLaneSides / 2][kLaneSides][4] = {};
#pragma unroll 1
  for (int stage = 0; stage < kStages; ++stage) copy(first + stage * warps, stage);
  int stage = 0;
#pragma unroll 1
  for (int chunk = first; chunk < chunks; chunk += warps) {
    ptx::cp_async_wait<kStages - 1>();
    unsigned char const* const pieces = ring + stage * kStage;
#pragma unroll
    for (int step = 0; step < kSteps<T>; ++step) {
      if (!has_step<T>(step, p.k - chunk * kChunk<T>)) continue;
      Word<T> a[kLaneSides][kWords<T>], b[kLaneSides][kWords<T>];
      A::read(pieces, step, lane, a);
      B::read(pieces + kBytesA, step, lane, b);
#pragma unroll
      for (int q = 0; q < kLaneSides / 2; ++q) {
#pragma unroll
        for (int j = 0; j < kLaneSides; ++j) {
          // The first rows and columns of an instruction are those of lane 0.
          if (A::side_of(2 * q, 0) >= p.m || B::side_of(j, 0) >= p.n) continue;
          multiply<T>(accumulators[q][j], a[2 * q], a[2 * q + 1], b[j]);
        }
      }
    }
    // Behind the instructions, which have read this stage.
    copy(chunk + kStages * warps, stage);
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  ptx::cp_async_wait_all();
  ptx::griddepcontrol_launch_dependents();

  // Each warp stores its elements in its own ring: other warps need not have left theirs.
  __syncwarp();  // all lanes have read what they copied
  Sum<T>* const own = reinterpret_cast<Sum<T>*>(ring);
#pragma unroll
  for (int r = 0; r < kElements / 32; ++r)
    own[r * 32 + lane] = accumulators[r / 16][r / 4 % 4][r % 4];
  __syncthreads();  // all warps have stored their elements
#pragma unroll 1
  for (int e = static_cast<int>(threadIdx.x); e < kElements; e += kThreads) {
    Sum<T> sum{};
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += reinterpret_cast<Sum<T>*>(rings + w * kRing)[e];
    // What lane e % 32 has as its accumulator e / 32.
    int const q = e / 512, j = e / 128 % 4, c = e / 32 % 4, g = e % 32 / 4, t = e % 4;
    int const row = A::side_of(2 * q + c / 2, g), col = B::side_of(j, 2 * t + c % 2);
    if (gridDim.x > 1) {
      partials[blockIdx.x * kElements + row * kSide + col] = sum;
    } else if (row < p.m && col < p.n) {
      update_element(p, row, col, sum);
    }
  }
}

constexpr int kSumElements = 32;  // of C, for a block

/// The warps have blocks in turn, the lanes neighbouring elements.
template <class T>
__global__ void __launch_bounds__(kThreads)
    gemm_thin_k_sum_kernel(Product<T> p, Sum<T> const* partials, int blocks) {
  QUAD_SHARED(Sum<T>, accumulators, [kWarps][kSumElements]);
  int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  int const e = static_cast<int>(blockIdx.x) * kSumElements + lane;
  ptx::griddepcontrol_wait();
  Sum<T> sum{};
#pragma unroll 8
  for (int block = warp; block < blocks; block += kWarps) sum += partials[block * kElements + e];
  accumulators[warp][lane] = sum;
  __syncthreads();  // sums of all warps are there
  if (warp > 0 || e / kSide >= p.m || e % kSide >= p.n) return;
  sum = {};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += accumulators[w][lane];
  update_element(p, e / kSide, e % kSide, sum);
}

void launch(Problem const& problem, device::StreamView stream) {
  device::Facts const& device = stream.facts();
  std::size_t const bytes = scratch_bytes(problem, device);
  QUAD_REQUIRE(problem.scratch != nullptr && problem.scratch_bytes >= bytes,
               "gemm/thin_k: needs " + std::to_string(bytes) + " bytes of scratch memory");
  QUAD_REQUIRE(reinterpret_cast<std::uintptr_t>(problem.scratch) % 16 == 0,
               "gemm/thin_k: scratch memory must be aligned to 16 bytes");
  if (problem.m() == 0 || problem.n() == 0) return;
  with_layout(problem, [&]<class T, bool kAlongA, bool kAlongB>(Product<T> const& p) {
    auto* const partials =
        reinterpret_cast<Sum<T>*>(static_cast<float*>(problem.scratch) + kScratchCounters);
    int const blocks =
        std::clamp(divide_up(divide_up(p.k, kChunk<T>), kWarps), 1, device.multiprocessors);
    QUAD_LAUNCH((gemm_thin_k_partial_kernel<T, kAlongA, kAlongB>),
                dim3(static_cast<unsigned>(blocks)), dim3(kThreads), kRings, stream, p, partials);
    if (blocks == 1) return;
    LaunchShape const shape{
        .grid = dim3(kElements / kSumElements), .block = dim3(kThreads), .overlaps_previous = true};
    QUAD_LAUNCH(gemm_thin_k_sum_kernel<T>, shape, stream, p, partials, blocks);
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  if (problem.m() <= thin::kSide && problem.n() <= thin::kSide) return {};
  return "takes up to " + std::to_string(thin::kSide) + " rows and columns of C, which has " +
         std::to_string(problem.m()) + " x " + std::to_string(problem.n());
}

}  // namespace

extern constinit Variant<Problem> const thin_k{
    {.name = "thin_k",
     .where = Where::cuda,
     .types = thin::kTypes,
     .needs = {.compute_capability = 90,
               .shared_bytes = thin::kRings,
               .ld_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .other = "m and n up to 32, scratch"},
     .preference = 60,
     .source = "own",
     .summary = "long k, few rows and columns: every warp has chunks of k"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::gemm
