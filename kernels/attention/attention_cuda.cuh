// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "common/small_float.cuh"

#ifdef QUAD_KERNELS
#include <type_traits>
#endif

/// What the CUDA kernels of attention share: a problem as they see it.
namespace quadrille::kernels::attention {

#ifdef QUAD_KERNELS

/// What o has: of 8-bit types bf16.
template <class T>
using Stored = std::conditional_t<sizeof(T) == 1, __nv_bfloat16, T>;

/// One attention as kernels see it: unsupported_on_gpu() keeps what belongs to a head in 32 bits.
template <class T>
struct Operands {
  T const* q;
  T const* k;
  T const* v;
  Stored<T>* o;
  int heads;  ///< of queries, of all sequences
  int group;  ///< of them share one of keys
  int queries, keys;
  int seen_by_first;  ///< keys, or fewer, that query 0 sees; may be negative
  int more;           ///< that the next query sees
  int query_rows;     ///< from the queries of a head to those of the next one
  float scale;
};

template <class T>
Operands<T> operands(Problem const& problem) {
  Shape const& x = problem.shape;
  bool const is_causal = x.mask == Mask::causal;
  return {static_cast<T const*>(problem.q.data),
          static_cast<T const*>(problem.k.data),
          static_cast<T const*>(problem.v.data),
          static_cast<Stored<T>*>(problem.o.data),
          static_cast<int>(x.batch * x.heads),
          static_cast<int>(x.group()),
          static_cast<int>(x.queries),
          static_cast<int>(x.keys),
          static_cast<int>(is_causal ? x.keys - x.queries + 1 : x.keys),
          is_causal ? 1 : 0,
          static_cast<int>(x.queries),
          static_cast<float>(x.scale())};
}

/// Keys that a query sees, the first ones.
template <class T>
__device__ int visible(Operands<T> const& p, int query) {
  return min(max(p.seen_by_first + query * p.more, 0), p.keys);
}
/// Where a head's queries begin in q and o, and where the keys that it uses begin in k and v.
template <int kHead, class T>
__device__ long long first_query(Operands<T> const& p, int head) {
  return static_cast<long long>(head) * p.query_rows * kHead;
}
template <int kHead, class T>
__device__ long long first_key(Operands<T> const& p, int head) {
  return static_cast<long long>(head / p.group) * p.keys * kHead;
}

/// Below every score; 2^kLowest and its exponential are 0.
__device__ inline float lowest() { return __int_as_float(static_cast<int>(0xFF800000U)); }

/// Calls launch.operator()<T, head size>(), unless o is empty.
template <class Launch>
void with_type(Problem const& problem, Launch const& launch) {
  if (problem.o.rows == 0) return;
  auto const with_head = [&]<class T>() {
    return problem.shape.head_size == 64 ? launch.template operator()<T, 64>()
                                         : launch.template operator()<T, 128>();
  };
  switch (problem.q.type) {
    case core::DataType::f32: return with_head.template operator()<float>();
    case core::DataType::f16: return with_head.template operator()<__half>();
    default: return with_head.template operator()<__nv_bfloat16>();
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::attention
