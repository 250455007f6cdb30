// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Keys and values of tokens to their slots or from there, or blocks to others, an element for each thread.
///
///   write  k[row of slot places[i], head h] = token_k[i][h]         and v likewise, and read the other way
///   copy   k[block places[2 i + 1]] = k[block places[2 i]]          and v likewise, as swaps
///
/// Technique    the definition: a thread finds its token, head and element by division, and moves one
///              element of k and one of v. Neighbours move neighbours, so that accesses are coalesced, but
///              each is as narrow as its type
/// Shapes       any heads, blocks and places
/// Work         each element is read and written once
/// Launch       256 threads
/// Accuracy     exact
#include "common/simt.cuh"
#include "kv_cache/kv_cache.hpp"

namespace quadrille::kernels::kv_cache {
namespace {

#ifdef QUAD_KERNELS

constexpr int kThreads = 256;

template <class T>
struct Tensors {
  T *k, *v;
  T const *from_k, *from_v;
  std::int64_t ld_k, ld_v;  ///< of the rows of tokens
};

template <class T, bool kReads>
__global__ void __launch_bounds__(kThreads)
    kv_cache_token_element_kernel(Tensors<T> all, Shape shape, std::int32_t const* slots,
                                  std::int64_t elements) {
  std::int64_t const e = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (e >= elements) return;
  std::int64_t const row = e / shape.head_size, token = row / shape.kv_heads,
                     head = row % shape.kv_heads, slot = slots[token];
  std::int64_t const in_pool = shape.row_of(slot, head) * shape.head_size + e % shape.head_size;
  std::int64_t const at = e - token * shape.kv_heads * shape.head_size;
  std::int64_t const in_k = token * all.ld_k + at, in_v = token * all.ld_v + at;
  all.k[kReads ? in_k : in_pool] = all.from_k[kReads ? in_pool : in_k];
  all.v[kReads ? in_v : in_pool] = all.from_v[kReads ? in_pool : in_v];
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    kv_cache_copy_element_kernel(Tensors<T> all, std::int64_t block_elements,
                                 std::int32_t const* pairs, std::int64_t elements) {
  std::int64_t const e = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (e >= elements) return;
  std::int64_t const pair = e / block_elements, at = e % block_elements;
  std::int64_t const from = pairs[2 * pair] * block_elements + at,
                     to = pairs[2 * pair + 1] * block_elements + at;
  all.k[to] = all.from_k[from];
  all.v[to] = all.from_v[from];
}

template <class T>
void launch_as(Problem const& p, device::StreamView stream) {
  Ends const ends = ends_of(p);
  Tensors<T> const all{static_cast<T*>(ends.to_k.data),
                       static_cast<T*>(ends.to_v.data),
                       static_cast<T const*>(ends.from_k.data),
                       static_cast<T const*>(ends.from_v.data),
                       p.token_k.ld,
                       p.token_v.ld};
  std::int64_t const each =
      (is_of_tokens(p.action) ? p.shape.kv_heads : p.shape.rows_of_block()) * p.shape.head_size;
  std::int64_t const elements = p.count * each;
  dim3 const grid(static_cast<unsigned>((elements + kThreads - 1) / kThreads));
  if (p.action == Action::write) {
    QUAD_LAUNCH((kv_cache_token_element_kernel<T, false>), grid, dim3(kThreads), 0, stream, all,
                p.shape, p.places, elements);
  } else if (p.action == Action::read) {
    QUAD_LAUNCH((kv_cache_token_element_kernel<T, true>), grid, dim3(kThreads), 0, stream, all,
                p.shape, p.places, elements);
  } else {
    QUAD_LAUNCH((kv_cache_copy_element_kernel<T>), grid, dim3(kThreads), 0, stream, all, each,
                p.places, elements);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.count == 0) return;
  if (problem.k.type == core::DataType::f32) return launch_as<float>(problem, stream);
  launch_as<std::uint16_t>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const by_element{
    {.name = "by_element",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 1,
     .batch_invariant = true,
     .source = "own",
     .summary = "an element of k and of v for each thread"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::kv_cache
