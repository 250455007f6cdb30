// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Blocks to others, and to memory of the host and back, by the copy engines of a GPU.
///
///   to block places[2 i + 1] of k and v, block places[2 i], where the problem says from which pool
///
/// Technique    by_copy_engine: a call for each block of k and of v, which takes no multiprocessor from
///              the step beside it. vendor: one call for all of them
/// Shapes       any heads, blocks and places
/// Work         each element is read and written once
/// Launch       2 count copies of a block; their places are read by the host
/// Accuracy     exact
#include "device/device.hpp"
#include "kv_cache/kv_cache.hpp"

#include <vector>

#ifdef QUADRILLE_CUDA_TOOLKIT
#include "device/cuda/check.hpp"
#include "device/cuda/stream.hpp"

#if CUDART_VERSION >= 13000
#define QUAD_HAS_BATCHED_COPIES
#endif
#endif

namespace quadrille::kernels::kv_cache {
namespace {

/// Calls f(to, from, bytes) for each block of k and of v.
template <class F>
void for_blocks(Problem const& p, F const& f) {
  Ends const ends = ends_of(p);
  std::size_t const bytes = static_cast<std::size_t>(p.shape.rows_of_block() * p.shape.head_size) *
                            core::size_of(p.k.type);
  auto const block = [&](device::MatrixView const& pool, std::int32_t place) {
    return static_cast<std::byte*>(pool.data) + static_cast<std::size_t>(place) * bytes;
  };
  for (std::int64_t i = 0; i < p.count; ++i) {
    std::int32_t const from = p.places_of_host[2 * i], to = p.places_of_host[2 * i + 1];
    f(block(ends.to_k, to), block(ends.from_k, from), bytes);
    f(block(ends.to_v, to), block(ends.from_v, from), bytes);
  }
}

void launch(Problem const& p, device::StreamView stream) {
  for_blocks(p, [&](std::byte* to, std::byte const* from, std::size_t bytes) {
    stream.copy(to, from, bytes);
  });
}

std::string unsupported(Problem const& p) {
  return is_of_tokens(p.action) ? "moves whole blocks, no tokens" : "";
}

#ifdef QUAD_HAS_BATCHED_COPIES

void launch_batched(Problem const& p, device::StreamView stream) {
  std::vector<void*> to;
  std::vector<void const*> from;
  std::vector<std::size_t> bytes;
  for_blocks(p, [&](std::byte* target, std::byte const* source, std::size_t size) {
    to.push_back(target);
    from.push_back(source);
    bytes.push_back(size);
  });
  if (to.empty()) return;
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
  QUAD_CUDA(cudaMemcpyBatchAsync(to.data(), from.data(), bytes.data(), to.size(), &attributes,
                                 &first, 1, device::cuda_stream(stream)));
}
constexpr auto kLaunchBatched = launch_batched;
constexpr std::string_view kLacksBatches{};
#else
constexpr void (*kLaunchBatched)(Problem const&, device::StreamView) = nullptr;
#ifdef QUADRILLE_CUDA_TOOLKIT
constexpr std::string_view kLacksBatches = "CUDA 13.0 or later";
#else
constexpr std::string_view kLacksBatches{};
#endif
#endif

}  // namespace

extern constinit Variant<Problem> const by_copy_engine{
    {.name = "by_copy_engine",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.other = "whole blocks"},
     .preference = 2,
     .batch_invariant = true,
     .source = "own",
     .summary = "a call of the driver for each block of k and of v"},
    launch,
    {.unsupported = unsupported}};

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.other = "whole blocks"},
     .graph_capturable = false,
     .source = "CUDA",
     .summary = "one cudaMemcpyBatchAsync for all blocks",
     .lacks = kLacksBatches},
    kLaunchBatched,
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::kv_cache
