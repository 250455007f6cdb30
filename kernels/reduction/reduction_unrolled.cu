// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum by a tree that is written out for its block size.
///
///   s = sum x[i]
///
/// Technique    the block size is a template value, so every step is there or not at compile time:
///              no loop, no counter, one condition per step. `unrolled` has the 256 threads of the
///              rungs before, and two steps of the block before those of the last warp;
///              `unrolled_64` has none, `unrolled_128` one, `unrolled_512` three, `unrolled_1024`
///              four
/// Before       unrolled_last_warp
/// Shapes       x: n contiguous elements, any n
/// Work         n s bytes read; log2 of the block size shared-memory steps, and a partial result for
///              two elements of each thread more
/// Launch       256 threads per block, as variants 64 to 1024, two elements each; then one block of
///              1024 for the partial results in scratch memory
/// Accuracy     256 threads: at worst (9 + n / 2^19 + 15) eps / 2 sum|x| with eps of the accumulator;
///              i32 exact below 2^53, in i32 where a block's sum is below 2^31
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

#ifdef QUAD_KERNELS

/// Adds the upper half of 2 kHalf values to the lower, where the block has so many.
template <unsigned kBlock, unsigned kHalf, class Acc>
__device__ inline void fold_upper_half(Acc* sum, unsigned t) {
  if constexpr (kBlock >= 2 * kHalf) {
    if (t < kHalf) sum[t] += sum[t + kHalf];
    __syncthreads();  // the next step reads what this one wrote
  }
}

/// One step of the last warp. Lanes whose result is not used add what they read.
template <class Acc>
__device__ inline Acc add_from(Acc* sum, unsigned t, Acc mine, unsigned distance) {
  mine += sum[t + distance];
  __syncwarp();  // all lanes have read
  sum[t] = mine;
  __syncwarp();  // all lanes have written
  return mine;
}

template <unsigned kBlock, class T, class Acc>
__global__ void __launch_bounds__(kBlock)
    reduction_unrolled_kernel(T const* x, std::int64_t n, Acc* partials) {
  static_assert(kBlock >= 64 && kBlock <= 1024 && (kBlock & (kBlock - 1)) == 0);
  QUAD_SHARED(Acc, sum, [kBlock]);
  unsigned const t = threadIdx.x;
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * 2 * kBlock + t;
  Acc const near = i < n ? static_cast<Acc>(x[i]) : Acc{0};
  Acc const far = i + kBlock < n ? static_cast<Acc>(x[i + kBlock]) : Acc{0};
  sum[t] = near + far;
  __syncthreads();
  // changed: a step is there or not when the block's size is compiled
  fold_upper_half<kBlock, 512>(sum, t);
  fold_upper_half<kBlock, 256>(sum, t);
  fold_upper_half<kBlock, 128>(sum, t);
  fold_upper_half<kBlock, 64>(sum, t);
  if (t < 32) {
    Acc mine = sum[t];
    mine = add_from(sum, t, mine, 32);
    mine = add_from(sum, t, mine, 16);
    mine = add_from(sum, t, mine, 8);
    mine = add_from(sum, t, mine, 4);
    mine = add_from(sum, t, mine, 2);
    add_from(sum, t, mine, 1);
  }
  if (t == 0) partials[blockIdx.x] = sum[0];
}

template <unsigned kBlock>
void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  unsigned const blocks = tree_blocks<2 * kBlock>(problem.n);
  visit_tree_types(problem, [&]<class T, class Acc>() {
    QUAD_LAUNCH((reduction_unrolled_kernel<kBlock, T, Acc>), dim3(blocks), dim3(kBlock), 0, stream,
                first_of<T>(problem), problem.n, partials_of<Acc>(problem));
  });
  if (problem.finish) finish_tree<2 * kBlock>(problem, stream);
}

#endif  // QUAD_KERNELS

/// What the block sizes share.
constexpr VariantInfo row(std::string_view name, std::string_view summary) {
  return {.name = name,
          .where = Where::cuda,
          .types = kTreeTypes,
          .needs = {.other = "sum, not reproducible"},
          .source = "CUDA tutorial, chapter 09/04",
          .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const unrolled{
    row("unrolled", "all steps written out by a template"),
    QUAD_KERNEL_LAUNCH(launch<kTreeThreads>),
    {.unsupported = sum_only,
     .notes = {.block_elements = 2 * kTreeThreads,
               .chain = chain_of_tree<2 * kTreeThreads>,
               .finish = finish_tree<2 * kTreeThreads>}}};

extern constinit Variant<Problem> const unrolled_64{
    row("unrolled_64", "the same with blocks of 64: a step of the block, the rest of one warp"),
    QUAD_KERNEL_LAUNCH(launch<64>),
    {.unsupported = sum_only, .notes = {.chain = chain_of_tree<128>, .finish = finish_tree<128>}}};

extern constinit Variant<Problem> const unrolled_128{
    row("unrolled_128", "the same with blocks of 128"),
    QUAD_KERNEL_LAUNCH(launch<128>),
    {.unsupported = sum_only, .notes = {.chain = chain_of_tree<256>, .finish = finish_tree<256>}}};

extern constinit Variant<Problem> const unrolled_512{
    row("unrolled_512", "the same with blocks of 512"),
    QUAD_KERNEL_LAUNCH(launch<512>),
    {.unsupported = sum_only,
     .notes = {.chain = chain_of_tree<1024>, .finish = finish_tree<1024>}}};

extern constinit Variant<Problem> const unrolled_1024{
    row("unrolled_1024", "the same with blocks of 1024: two fill a multiprocessor"),
    QUAD_KERNEL_LAUNCH(launch<1024>),
    {.unsupported = sum_only,
     .notes = {.chain = chain_of_tree<2048>, .finish = finish_tree<2048>}}};

}  // namespace quadrille::kernels::reduction
