// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Bulk and tensor copies (sm_90): one thread starts a copy that the asynchronous proxy carries
/// out; barriers.cuh says what that requires.

#include "common/ptx/barriers.cuh"
#include "common/tensor_map.hpp"

#ifdef QUAD_KERNELS

#ifndef __CUDACC__
#include "simt/bulk_copies.hpp"
#endif

namespace quadrille::ptx {

/// How long data should stay in the L2 cache.
enum class L2Hint : std::uint64_t {
  none = 0,
  evict_normal = 0x1000000000000000,
  evict_first = 0x12F0000000000000,
  evict_last = 0x14F0000000000000,
};

// Bulk copies: one thread starts a copy of contiguous bytes; 16-byte aligned addresses and size.

/// Copies `bytes` from global to shared memory, and then counts them on `barrier`.
template <L2Hint hint = L2Hint::none>
QUAD_INSTRUCTION void bulk_load(void* shared, void const* global, unsigned bytes,
                                MBarrier* barrier QUAD_WHERE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    QUAD_ASM_SM90(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(detail::shared_address(shared)),
        "l"(global), "r"(bytes), "r"(detail::shared_address(barrier))
        : "memory");
  } else {
    QUAD_ASM_SM90(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1], %2, [%3], %4;" ::"r"(detail::shared_address(shared)),
        "l"(global), "r"(bytes), "r"(detail::shared_address(barrier)),
        "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::bulk_load(shared, global, bytes, barrier, where);
#endif
}

/// Copies `bytes` from shared to global memory, in the current bulk group of this thread.
template <L2Hint hint = L2Hint::none>
QUAD_INSTRUCTION void bulk_store(void* global, void const* shared, unsigned bytes QUAD_WHERE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    QUAD_ASM_SM90("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                  "r"(detail::shared_address(shared)), "r"(bytes)
                  : "memory");
  } else {
    QUAD_ASM_SM90(
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(
            global),
        "r"(detail::shared_address(shared)), "r"(bytes), "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::bulk_store(global, shared, bytes, where);
#endif
}

/// Adds `bytes` of f32 in shared memory to global memory, element by element, each atomically and
/// rounded to nearest, in the current bulk group of this thread.
template <L2Hint hint = L2Hint::none>
QUAD_INSTRUCTION void bulk_reduce_add_f32(float* global, float const* shared,
                                          unsigned bytes QUAD_WHERE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    QUAD_ASM_SM90(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(global),
        "r"(detail::shared_address(shared)), "r"(bytes)
        : "memory");
  } else {
    QUAD_ASM_SM90(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 [%0], [%1], %2, "
        "%3;" ::"l"(global),
        "r"(detail::shared_address(shared)), "r"(bytes), "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::bulk_reduce_add_f32(global, shared, bytes, where);
#endif
}

/// Ends the current bulk group of this thread: all its stores since the last call.
QUAD_INSTRUCTION void bulk_commit() {
#ifdef __CUDACC__
  QUAD_ASM_SM90("cp.async.bulk.commit_group;" ::: "memory");
#else
  simt::bulk_commit();
#endif
}

/// Waits until all but the `newest` youngest bulk groups of this thread have written global memory.
template <int newest>
QUAD_INSTRUCTION void bulk_wait() {
#ifdef __CUDACC__
  QUAD_ASM_SM90("cp.async.bulk.wait_group %0;" ::"n"(newest) : "memory");
#else
  simt::bulk_wait(newest);
#endif
}

/// Waits until all but the `newest` youngest bulk groups of this thread have read shared memory,
/// which may then be overwritten. A block must not end before.
template <int newest>
QUAD_INSTRUCTION void bulk_wait_read() {
#ifdef __CUDACC__
  QUAD_ASM_SM90("cp.async.bulk.wait_group.read %0;" ::"n"(newest) : "memory");
#else
  simt::bulk_wait(newest);
#endif
}

/// Prefetches `bytes` of global memory to the L2 cache; address and size in 16 bytes.
QUAD_INSTRUCTION void bulk_prefetch(void const* global, unsigned bytes QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
#else
  simt::bulk_prefetch(global, bytes, where);
#endif
}

// Tensor copies: one thread moves the box of a tensor map at (row, column), or at a position of
// three to five indices, which may lie partly or wholly outside of the matrix or tensor; loads may
// also start at negative indices. The column, the last index, must be at a multiple of 16 bytes.
// Other columns, and stores at negative indices, are an illegal instruction on sm_90. `shared` is
// aligned to 128 bytes, with a swizzle to 8 rows of its span (256, 512 or 1024 bytes). The barrier
// counts the whole box.

/// Prefetches a tensor map to the constant cache.
QUAD_INSTRUCTION void tensor_map_prefetch(TensorMap const& map) {
#ifdef __CUDACC__
  QUAD_ASM_SM90("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#else
  (void)map;
#endif
}

/// Copies a box from global to shared memory; outside of the matrix it is zero.
template <L2Hint hint = L2Hint::none>
QUAD_INSTRUCTION void tensor_load(void* shared, TensorMap const& map, int row, int column,
                                  MBarrier* barrier QUAD_WHERE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    QUAD_ASM_SM90(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3}], [%4];" ::"r"(detail::shared_address(shared)),
        "l"(&map), "r"(column), "r"(row), "r"(detail::shared_address(barrier))
        : "memory");
  } else {
    QUAD_ASM_SM90(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::"
        "cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(detail::shared_address(shared)),
        "l"(&map), "r"(column), "r"(row), "r"(detail::shared_address(barrier)),
        "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  int const at[] = {row, column};
  simt::tensor_load(shared, map, at, barrier, where);
#endif
}

/// Copies a box from shared to global memory, in the current bulk group of this thread. Rows and
/// pieces of 16 bytes outside of the matrix are left out: where a row of the matrix ends inside of
/// a piece, the rest of the piece is written too, and must be padding.
template <L2Hint hint = L2Hint::none>
QUAD_INSTRUCTION void tensor_store(TensorMap const& map, int row, int column,
                                   void const* shared QUAD_WHERE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    QUAD_ASM_SM90(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
            &map),
        "r"(column), "r"(row), "r"(detail::shared_address(shared))
        : "memory");
  } else {
    QUAD_ASM_SM90(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%1, %2}], "
        "[%3], %4;" ::"l"(&map),
        "r"(column), "r"(row), "r"(detail::shared_address(shared)),
        "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  int const at[] = {row, column};
  simt::tensor_store(map, at, shared, false, where);
#endif
}

/// Adds a box in shared memory to global memory, element by element, each atomically, in the
/// current bulk group of this thread; what is left out is as in tensor_store(). The model knows f32
/// and i32.
template <L2Hint hint = L2Hint::none>
QUAD_INSTRUCTION void tensor_reduce_add(TensorMap const& map, int row, int column,
                                        void const* shared QUAD_WHERE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    QUAD_ASM_SM90(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], "
        "[%3];" ::"l"(&map),
        "r"(column), "r"(row), "r"(detail::shared_address(shared))
        : "memory");
  } else {
    QUAD_ASM_SM90(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group.L2::cache_hint "
        "[%0, {%1, %2}], [%3], %4;" ::"l"(&map),
        "r"(column), "r"(row), "r"(detail::shared_address(shared)),
        "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  int const at[] = {row, column};
  simt::tensor_store(map, at, shared, true, where);
#endif
}

#ifdef __CUDACC__
// Tensor copies of DIMS dimensions. AT has the numbers of the position's operands, which are the
// last arguments, POLICY that of the hint for L2. The instructions have the fastest dimension first.
#define QUAD_TENSOR_LOAD(DIMS, AT, POLICY, ...)                                               \
  if constexpr (hint == L2Hint::none) {                                                       \
    QUAD_ASM_SM90("cp.async.bulk.tensor." #DIMS                                               \
                  "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " AT \
                  "], [%2];" ::"r"(detail::shared_address(shared)),                           \
                  "l"(&map), "r"(detail::shared_address(barrier)), __VA_ARGS__                \
                  : "memory");                                                                \
  } else {                                                                                    \
    QUAD_ASM_SM90(                                                                            \
        "cp.async.bulk.tensor." #DIMS                                                         \
        "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0],"     \
        " [%1, " AT "], [%2], " POLICY ";" ::"r"(detail::shared_address(shared)),             \
        "l"(&map), "r"(detail::shared_address(barrier)), __VA_ARGS__,                         \
        "l"(static_cast<std::uint64_t>(hint))                                                 \
        : "memory");                                                                          \
  }
#define QUAD_TENSOR_STORE(DIMS, AT, POLICY, ...)                                                \
  if constexpr (hint == L2Hint::none) {                                                         \
    QUAD_ASM_SM90("cp.async.bulk.tensor." #DIMS "d.global.shared::cta.tile.bulk_group [%0, " AT \
                  "], [%1];" ::"l"(&map),                                                       \
                  "r"(detail::shared_address(shared)), __VA_ARGS__                              \
                  : "memory");                                                                  \
  } else {                                                                                      \
    QUAD_ASM_SM90("cp.async.bulk.tensor." #DIMS                                                 \
                  "d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, " AT                \
                  "], [%1], " POLICY ";" ::"l"(&map),                                           \
                  "r"(detail::shared_address(shared)), __VA_ARGS__,                             \
                  "l"(static_cast<std::uint64_t>(hint))                                         \
                  : "memory");                                                                  \
  }
#endif

/// tensor_load() of three to five dimensions: {plane, row, column} and so on.
template <L2Hint hint = L2Hint::none, int kDimensions>
QUAD_INSTRUCTION void tensor_load(void* shared, TensorMap const& map, int const (&at)[kDimensions],
                                  MBarrier* barrier QUAD_WHERE) {
  static_assert(kDimensions >= 3 && kDimensions <= 5);
#ifdef __CUDACC__
  if constexpr (kDimensions == 3) {
    QUAD_TENSOR_LOAD(3, "{%3, %4, %5}", "%6", "r"(at[2]), "r"(at[1]), "r"(at[0]))
  } else if constexpr (kDimensions == 4) {
    QUAD_TENSOR_LOAD(4, "{%3, %4, %5, %6}", "%7", "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]))
  } else {
    QUAD_TENSOR_LOAD(5, "{%3, %4, %5, %6, %7}", "%8", "r"(at[4]), "r"(at[3]), "r"(at[2]),
                     "r"(at[1]), "r"(at[0]))
  }
#else
  simt::tensor_load(shared, map, at, barrier, where);
#endif
}

/// Copies a column of a map of images: channels, from position[3] on, of the pixel `pixel` rows and
/// columns (0 to 255) into each window, from the one on that begins at row position[1] and column
/// position[2] of image position[0]. Windows of images beyond the last are zero.
QUAD_INSTRUCTION void tensor_load_pixels(void* shared, TensorMap const& map,
                                         int const (&position)[4], std::uint16_t const (&pixel)[2],
                                         MBarrier* barrier QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(detail::shared_address(shared)),
      "l"(&map), "r"(detail::shared_address(barrier)), "r"(position[3]), "r"(position[2]),
      "r"(position[1]), "r"(position[0]), "h"(pixel[1]), "h"(pixel[0])
      : "memory");
#else
  simt::tensor_load_pixels(shared, map, position, pixel, barrier, where);
#endif
}

/// tensor_store() of three to five dimensions.
template <L2Hint hint = L2Hint::none, int kDimensions>
QUAD_INSTRUCTION void tensor_store(TensorMap const& map, int const (&at)[kDimensions],
                                   void const* shared QUAD_WHERE) {
  static_assert(kDimensions >= 3 && kDimensions <= 5);
#ifdef __CUDACC__
  if constexpr (kDimensions == 3) {
    QUAD_TENSOR_STORE(3, "{%2, %3, %4}", "%5", "r"(at[2]), "r"(at[1]), "r"(at[0]))
  } else if constexpr (kDimensions == 4) {
    QUAD_TENSOR_STORE(4, "{%2, %3, %4, %5}", "%6", "r"(at[3]), "r"(at[2]), "r"(at[1]), "r"(at[0]))
  } else {
    QUAD_TENSOR_STORE(5, "{%2, %3, %4, %5, %6}", "%7", "r"(at[4]), "r"(at[3]), "r"(at[2]),
                      "r"(at[1]), "r"(at[0]))
  }
#else
  simt::tensor_store(map, at, shared, false, where);
#endif
}

/// Prefetches a box to the L2 cache.
QUAD_INSTRUCTION void tensor_prefetch(TensorMap const& map, int row, int column) {
#ifdef __CUDACC__
  QUAD_ASM_SM90("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map),
                "r"(column), "r"(row)
                : "memory");
#else
  (void)map;
  (void)row;
  (void)column;
#endif
}

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
