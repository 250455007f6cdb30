// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Instructions of sm_90 and sm_90a that C++ cannot say: mbarriers, bulk and tensor copies, wgmma.
/// One function per instruction, with the instruction for nvcc and its model (simt/hopper.hpp) for
/// the interpreter. Pointers are generic; `shared` in a name or comment means that it must point
/// into shared memory of the block.
///
/// Two proxies: ordinary loads and stores (and cp.async) go through the generic proxy, bulk copies,
/// tensor copies and wgmma through the asynchronous one. Who writes shared memory by ordinary
/// stores that a bulk store, a tensor store or wgmma then reads calls fence_proxy_async() after the
/// stores and before the barrier. An mbarrier orders the other direction, from copy to load.

#include "common/ptx.cuh"
#include "common/simt.cuh"
#include "common/tensor_map.hpp"

#include <cstdint>

#ifdef __CUDACC__
#define QUAD_HOPPER __device__ __forceinline__
/// The place of a call, which the interpreter names in its errors.
#define QUAD_HOPPER_PLACE
#define QUAD_HOPPER_ONLY_PLACE
#define QUAD_HOPPER_SAME_PLACE
#else
#include "simt/hopper.hpp"
#define QUAD_HOPPER inline
#define QUAD_HOPPER_ONLY_PLACE simt::Place place = simt::Place::current()
#define QUAD_HOPPER_PLACE , QUAD_HOPPER_ONLY_PLACE
#define QUAD_HOPPER_SAME_PLACE , place
#endif

namespace quadrille::ptx {

#ifdef __CUDACC__

/// A barrier in shared memory that counts arrivals and bytes. Its phase ends when all expected
/// arrivals and all expected bytes have come; then the next one begins.
struct alignas(8) MBarrier {
  std::uint64_t opaque;
};

#else

using simt::hopper::MBarrier;

#endif

/// How long data should stay in the L2 cache.
enum class L2Hint : std::uint64_t {
  none = 0,
  evict_normal = 0x1000000000000000,
  evict_first = 0x12F0000000000000,
  evict_last = 0x14F0000000000000,
};

// mbarrier

/// Makes a barrier whose phases end after `count` arrivals. One thread calls it, then
/// fence_mbarrier_init(), then the block meets at __syncthreads().
QUAD_HOPPER void mbarrier_init(MBarrier* barrier, unsigned count QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(detail::shared_address(barrier)),
               "r"(count)
               : "memory");
#else
  simt::hopper::mbarrier_init(barrier, count, place);
#endif
}

/// Ends the life of a barrier, so that its memory can be used for something else.
QUAD_HOPPER void mbarrier_inval(MBarrier* barrier QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(detail::shared_address(barrier))
               : "memory");
#else
  simt::hopper::mbarrier_inval(barrier, place);
#endif
}

/// Arrives `count` times: what the thread did before is visible to who waits for the phase.
QUAD_HOPPER void mbarrier_arrive(MBarrier* barrier, unsigned count = 1 QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  asm volatile(
      "mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(detail::shared_address(barrier)),
      "r"(count)
      : "memory");
#else
  simt::hopper::mbarrier_arrive(barrier, count, place);
#endif
}

/// Adds `bytes` to what the phase waits for, then arrives once.
QUAD_HOPPER void mbarrier_arrive_expect_tx(MBarrier* barrier, unsigned bytes QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   detail::shared_address(barrier)),
               "r"(bytes)
               : "memory");
#else
  simt::hopper::mbarrier_expect_tx(barrier, bytes, place);
  simt::hopper::mbarrier_arrive(barrier, 1, place);
#endif
}

/// Adds `bytes` to what the phase waits for, and does not arrive.
QUAD_HOPPER void mbarrier_expect_tx(MBarrier* barrier, unsigned bytes QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                   detail::shared_address(barrier)),
               "r"(bytes)
               : "memory");
#else
  simt::hopper::mbarrier_expect_tx(barrier, bytes, place);
#endif
}

/// Whether the phase of this parity has ended: 0 for the first phase, 1 for the second, 0 for the
/// third. A barrier that has ended no phase yet answers true to parity 1.
QUAD_HOPPER bool mbarrier_test(MBarrier* barrier, unsigned parity QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  unsigned ended = 0;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(ended)
      : "r"(detail::shared_address(barrier)), "r"(parity)
      : "memory");
  return ended != 0;
#else
  return simt::hopper::mbarrier_test(barrier, parity, place);
#endif
}

/// Waits for the end of the phase of this parity.
QUAD_HOPPER void mbarrier_wait(MBarrier* barrier, unsigned parity QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  while (!mbarrier_test(barrier, parity)) {
  }
#else
  simt::hopper::mbarrier_wait(barrier, parity, place);
#endif
}

/// Makes initialised barriers visible to the asynchronous proxy and to the cluster.
QUAD_HOPPER void fence_mbarrier_init() {
#ifdef __CUDACC__
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  simt::hopper::fence_mbarrier_init();
#endif
}

/// Makes this thread's ordinary stores to shared memory visible to the asynchronous proxy: bulk and
/// tensor stores, wgmma.
QUAD_HOPPER void fence_proxy_async() {
#ifdef __CUDACC__
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  simt::hopper::fence_proxy_async();
#endif
}

// Bulk copies: one thread starts a copy of contiguous bytes; 16-byte aligned addresses and size.

/// Copies `bytes` from global to shared memory, and then counts them on `barrier`.
template <L2Hint hint = L2Hint::none>
QUAD_HOPPER void bulk_load(void* shared, void const* global, unsigned bytes,
                           MBarrier* barrier QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(detail::shared_address(shared)),
        "l"(global), "r"(bytes), "r"(detail::shared_address(barrier))
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1], %2, [%3], %4;" ::"r"(detail::shared_address(shared)),
        "l"(global), "r"(bytes), "r"(detail::shared_address(barrier)),
        "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::hopper::bulk_load(shared, global, bytes, barrier, place);
#endif
}

/// Copies `bytes` from shared to global memory, in the current bulk group of this thread.
template <L2Hint hint = L2Hint::none>
QUAD_HOPPER void bulk_store(void* global, void const* shared, unsigned bytes QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(detail::shared_address(shared)), "r"(bytes)
                 : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(
            global),
        "r"(detail::shared_address(shared)), "r"(bytes), "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::hopper::bulk_store(global, shared, bytes, place);
#endif
}

/// Adds `bytes` of f32 in shared memory to global memory, element by element, each atomically and
/// rounded to nearest, in the current bulk group of this thread.
template <L2Hint hint = L2Hint::none>
QUAD_HOPPER void bulk_reduce_add_f32(float* global, float const* shared,
                                     unsigned bytes QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(global),
        "r"(detail::shared_address(shared)), "r"(bytes)
        : "memory");
  } else {
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.f32 [%0], [%1], %2, "
        "%3;" ::"l"(global),
        "r"(detail::shared_address(shared)), "r"(bytes), "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::hopper::bulk_reduce_add_f32(global, shared, bytes, place);
#endif
}

/// Ends the current bulk group of this thread: all its stores since the last call.
QUAD_HOPPER void bulk_commit() {
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
  simt::hopper::bulk_commit();
#endif
}

/// Waits until all but the `newest` youngest bulk groups of this thread have written global memory.
template <int newest>
QUAD_HOPPER void bulk_wait() {
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(newest) : "memory");
#else
  simt::hopper::bulk_wait(newest);
#endif
}

/// Waits until all but the `newest` youngest bulk groups of this thread have read shared memory,
/// which may then be overwritten. A block must not end before.
template <int newest>
QUAD_HOPPER void bulk_wait_read() {
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(newest) : "memory");
#else
  simt::hopper::bulk_wait(newest);
#endif
}

/// Asks for `bytes` of global memory to be brought to the L2 cache; address and size in 16 bytes.
QUAD_HOPPER void bulk_prefetch(void const* global, unsigned bytes QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
#else
  simt::hopper::bulk_prefetch(global, bytes, place);
#endif
}

// Tensor copies: one thread moves the box of a tensor map at (row, column), which may lie partly or
// wholly outside of the matrix; loads may also begin at negative places. The column must be at a
// multiple of 16 bytes. Other columns, and stores at negative places, are an illegal instruction
// on sm_90. `shared` is aligned to 128 bytes, with a swizzle to 8 rows of its span (256, 512 or
// 1024 bytes). The barrier counts the whole box.

/// Brings a tensor map to the constant cache, ahead of its first use.
QUAD_HOPPER void tensor_map_prefetch(TensorMap const& map) {
#ifdef __CUDACC__
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#else
  (void)map;
#endif
}

/// Copies a box from global to shared memory; outside of the matrix it is zero.
template <L2Hint hint = L2Hint::none>
QUAD_HOPPER void tensor_load(void* shared, TensorMap const& map, int row, int column,
                             MBarrier* barrier QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3}], [%4];" ::"r"(detail::shared_address(shared)),
        "l"(&map), "r"(column), "r"(row), "r"(detail::shared_address(barrier))
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::"
        "cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(detail::shared_address(shared)),
        "l"(&map), "r"(column), "r"(row), "r"(detail::shared_address(barrier)),
        "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::hopper::tensor_load(shared, map, row, column, barrier, place);
#endif
}

/// Copies a box from shared to global memory, in the current bulk group of this thread. Rows and
/// pieces of 16 bytes outside of the matrix are left out: where a row of the matrix ends inside of
/// a piece, the rest of the piece is written too, and must be padding.
template <L2Hint hint = L2Hint::none>
QUAD_HOPPER void tensor_store(TensorMap const& map, int row, int column,
                              void const* shared QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
            &map),
        "r"(column), "r"(row), "r"(detail::shared_address(shared))
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%1, %2}], "
        "[%3], %4;" ::"l"(&map),
        "r"(column), "r"(row), "r"(detail::shared_address(shared)),
        "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::hopper::tensor_store(map, row, column, shared, false, place);
#endif
}

/// Adds a box in shared memory to global memory, element by element, each atomically, in the
/// current bulk group of this thread; what is left out is as in tensor_store(). The model knows f32
/// and i32.
QUAD_HOPPER void tensor_reduce_add(TensorMap const& map, int row, int column,
                                   void const* shared QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  asm volatile(
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], "
      "[%3];" ::"l"(&map),
      "r"(column), "r"(row), "r"(detail::shared_address(shared))
      : "memory");
#else
  simt::hopper::tensor_store(map, row, column, shared, true, place);
#endif
}

/// Asks for a box to be brought to the L2 cache.
QUAD_HOPPER void tensor_prefetch(TensorMap const& map, int row, int column) {
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map),
               "r"(column), "r"(row)
               : "memory");
#else
  (void)map;
  (void)row;
  (void)column;
#endif
}

// wgmma: the 128 threads of a warpgroup (four consecutive warps, the first one's number a multiple
// of four) together start D = A B or D += A B; D is 64 x N in registers, A is 64 x K, B is K x N
// with K of 32 bytes (16 for f16 and bf16, 8 for tf32), N one of 8, 16, 32, 64, 96, 128, 192, 256.
//
//   wgmma_fence();                                  // registers and shared memory as they are now
//   for (...) wgmma_f16<N>(d, a, b, accumulate);    // start
//   wgmma_commit();                                 // these make a group
//   wgmma_wait<0>(d);                               // d may be used, shared memory overwritten
//
// Accumulators: thread t of the warpgroup holds, for pair p = 0 .. N / 4 - 1,
//   D[t / 32 * 16 + t % 32 / 4 + p % 2 * 8][p / 2 * 8 + t % 4 * 2 + {0, 1}]
// in d[2 p], d[2 p + 1] (f32), or in the low and high half of d[p] (f16). accumulator_row() and
// accumulator_column() compute it. From the start to the wait nobody touches d.
// A in registers: the same thread holds in a[i], i = 0 .. 3 (16-bit types, low half first)
//   A[t / 32 * 16 + t % 32 / 4 + i % 2 * 8][i / 2 * 8 + t % 4 * 2 + {0, 1}]
// and for tf32 one value: A[the same row][i / 2 * 4 + t % 4].

/// Which index of an operand is contiguous in shared memory: K, or M of A and N of B. Only 16-bit
/// types have `mn`.
enum class Major : int { k = 0, mn = 1 };

/// What wgmma is told about an operand in shared memory.
struct MatrixDescriptor {
  std::uint64_t bits = 0;
};

/// Descriptor of an operand that starts at `shared`: aligned to 16 bytes, and inside of a tile that
/// is aligned to 8 rows of the swizzle's span. A row is an index along M or N of a K-major operand,
/// along K of an MN-major one. 8 rows of span bytes (16 without a swizzle) make a dense block:
///
///   K-major, swizzle       stride_bytes from one block to the next along M or N; K stays within
///                          the rows, leading_bytes is not used
///   K-major, no swizzle    stride_bytes along M or N, leading_bytes along K
///   MN-major, swizzle      leading_bytes along M or N, stride_bytes along K
///   MN-major, no swizzle   stride_bytes along M or N, leading_bytes along K
QUAD_HOPPER MatrixDescriptor matrix_descriptor(void const* shared, Swizzle swizzle,
                                               unsigned leading_bytes,
                                               unsigned stride_bytes QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  std::uint64_t const address = detail::shared_address(shared);
#else
  std::uint64_t const address = simt::hopper::matrix_address(shared, place);
#endif
  std::uint64_t const mode = swizzle == Swizzle::none       ? 0
                             : swizzle == Swizzle::bytes_32 ? 3
                             : swizzle == Swizzle::bytes_64 ? 2
                                                            : 1;
  auto const field = [](std::uint64_t bytes) { return (bytes & 0x3FFFF) >> 4; };
  return {field(address) | field(leading_bytes) << 16 | field(stride_bytes) << 32 | mode << 62};
}

/// Descriptor of a K-major operand whose rows are span_of(swizzle) bytes long and follow each
/// other: what a tensor copy with the same swizzle leaves. The next 32 bytes of K: advanced(d, 32).
/// Without a swizzle, boxes of such rows lie `box_bytes` apart along K.
QUAD_HOPPER MatrixDescriptor k_major_descriptor(void const* shared, Swizzle swizzle,
                                                unsigned box_bytes = 16 QUAD_HOPPER_PLACE) {
  return matrix_descriptor(shared, swizzle, box_bytes, 8 * span_of(swizzle) QUAD_HOPPER_SAME_PLACE);
}

/// Descriptor of an MN-major operand made of boxes (rows are K, span_of(swizzle) bytes of M or N)
/// that lie `box_bytes` apart along M or N: what tensor copies with the same swizzle leave. The
/// next 16 of K: advanced(d, 16 * span_of(swizzle)).
QUAD_HOPPER MatrixDescriptor mn_major_descriptor(void const* shared, Swizzle swizzle,
                                                 unsigned box_bytes QUAD_HOPPER_PLACE) {
  if (swizzle == Swizzle::none) {
    return matrix_descriptor(shared, swizzle, 128, box_bytes QUAD_HOPPER_SAME_PLACE);
  }
  return matrix_descriptor(shared, swizzle, box_bytes, 8 * span_of(swizzle) QUAD_HOPPER_SAME_PLACE);
}

/// The descriptor of the same operand `bytes` further on, a multiple of 16.
QUAD_HD constexpr MatrixDescriptor advanced(MatrixDescriptor descriptor, unsigned bytes) {
  return {descriptor.bits + (bytes >> 4)};
}

/// Row of D, 0 to 63, of accumulator `i` of thread `t` of the warpgroup.
QUAD_HD constexpr int accumulator_row(int t, int i) {
  return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
}
/// Column of D, 0 to N - 1, of accumulator `i` of thread `t` of the warpgroup.
QUAD_HD constexpr int accumulator_column(int t, int i) { return i / 4 * 8 + t % 4 * 2 + i % 2; }

/// Before the first wgmma, and whenever other instructions have touched its registers. All threads
/// of the warpgroup call it, as they do the following.
QUAD_HOPPER void wgmma_fence(QUAD_HOPPER_ONLY_PLACE) {
#ifdef __CUDACC__
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#else
  simt::hopper::wgmma_fence(place);
#endif
}

/// Ends the current group: all wgmma of the warpgroup since the last call.
QUAD_HOPPER void wgmma_commit(QUAD_HOPPER_ONLY_PLACE) {
#ifdef __CUDACC__
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
  simt::hopper::wgmma_commit(place);
#endif
}

/// Waits for all but the `newest` youngest groups. Accumulators that are complete then must be
/// given, so that the compiler cannot use them before: see the overloads.
template <int newest>
QUAD_HOPPER void wgmma_wait(QUAD_HOPPER_ONLY_PLACE) {
#ifdef __CUDACC__
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(newest) : "memory");
#else
  simt::hopper::wgmma_wait(newest, place);
#endif
}

#ifdef __CUDACC__
namespace detail {

/// The compiler takes the registers to change here.
template <int count>
__device__ __forceinline__ void touch(float (&d)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int count>
__device__ __forceinline__ void touch(unsigned (&d)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

}  // namespace detail
#endif

template <int newest, class T, int count>
QUAD_HOPPER void wgmma_wait(T (&d)[count] QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  wgmma_wait<newest>();
  detail::touch(d);
#else
  (void)d;
  simt::hopper::wgmma_wait(newest, place);
#endif
}
template <int newest, class T, int count>
QUAD_HOPPER void wgmma_wait(T (&d)[count], T (&e)[count] QUAD_HOPPER_PLACE) {
#ifdef __CUDACC__
  wgmma_wait<newest>();
  detail::touch(d);
  detail::touch(e);
#else
  (void)d;
  (void)e;
  simt::hopper::wgmma_wait(newest, place);
#endif
}

#ifdef __CUDACC__

// The text of wgmma needs every register by number: the accumulators are %0, %1, ..., the other
// operands have the numbers after them. REGISTERS_n lists the first n, OPERANDS_n binds d[0] to
// d[n - 1] to them, and BY_N has a line for each N with the numbers that follow. Only the line of
// the N that a kernel uses is instantiated.
#define QUAD_REGISTERS_2 "%0, %1"
#define QUAD_REGISTERS_4 QUAD_REGISTERS_2 ", %2, %3"
#define QUAD_REGISTERS_8 QUAD_REGISTERS_4 ", %4, %5, %6, %7"
#define QUAD_REGISTERS_16 QUAD_REGISTERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define QUAD_REGISTERS_24 QUAD_REGISTERS_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define QUAD_REGISTERS_32 QUAD_REGISTERS_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define QUAD_REGISTERS_48 \
  QUAD_REGISTERS_32       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define QUAD_REGISTERS_64 \
  QUAD_REGISTERS_48       \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define QUAD_REGISTERS_96                                                                   \
  QUAD_REGISTERS_64                                                                         \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, " \
  "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define QUAD_REGISTERS_128                                                                     \
  QUAD_REGISTERS_96                                                                            \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "   \
  "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, " \
  "%126, %127"
#define QUAD_OPERANDS_2(c, i) c(d[i]), c(d[(i) + 1])
#define QUAD_OPERANDS_4(c, i) QUAD_OPERANDS_2(c, i), QUAD_OPERANDS_2(c, (i) + 2)
#define QUAD_OPERANDS_8(c, i) QUAD_OPERANDS_4(c, i), QUAD_OPERANDS_4(c, (i) + 4)
#define QUAD_OPERANDS_16(c, i) QUAD_OPERANDS_8(c, i), QUAD_OPERANDS_8(c, (i) + 8)
#define QUAD_OPERANDS_24(c, i) QUAD_OPERANDS_16(c, i), QUAD_OPERANDS_8(c, (i) + 16)
#define QUAD_OPERANDS_32(c, i) QUAD_OPERANDS_16(c, i), QUAD_OPERANDS_16(c, (i) + 16)
#define QUAD_OPERANDS_48(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_16(c, (i) + 32)
#define QUAD_OPERANDS_64(c, i) QUAD_OPERANDS_32(c, i), QUAD_OPERANDS_32(c, (i) + 32)
#define QUAD_OPERANDS_96(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_32(c, (i) + 64)
#define QUAD_OPERANDS_128(c, i) QUAD_OPERANDS_64(c, i), QUAD_OPERANDS_64(c, (i) + 64)
#define QUAD_WGMMA_F32_BY_N(FORM, TYPES)                                                           \
  if constexpr (N == 8) {                                                                          \
    FORM(TYPES, 8, QUAD_REGISTERS_4, QUAD_OPERANDS_4("+f", 0), 4, 5, 6, 7, 8, 9, 10);              \
  } else if constexpr (N == 16) {                                                                  \
    FORM(TYPES, 16, QUAD_REGISTERS_8, QUAD_OPERANDS_8("+f", 0), 8, 9, 10, 11, 12, 13, 14);         \
  } else if constexpr (N == 32) {                                                                  \
    FORM(TYPES, 32, QUAD_REGISTERS_16, QUAD_OPERANDS_16("+f", 0), 16, 17, 18, 19, 20, 21, 22);     \
  } else if constexpr (N == 64) {                                                                  \
    FORM(TYPES, 64, QUAD_REGISTERS_32, QUAD_OPERANDS_32("+f", 0), 32, 33, 34, 35, 36, 37, 38);     \
  } else if constexpr (N == 96) {                                                                  \
    FORM(TYPES, 96, QUAD_REGISTERS_48, QUAD_OPERANDS_48("+f", 0), 48, 49, 50, 51, 52, 53, 54);     \
  } else if constexpr (N == 128) {                                                                 \
    FORM(TYPES, 128, QUAD_REGISTERS_64, QUAD_OPERANDS_64("+f", 0), 64, 65, 66, 67, 68, 69, 70);    \
  } else if constexpr (N == 192) {                                                                 \
    FORM(TYPES, 192, QUAD_REGISTERS_96, QUAD_OPERANDS_96("+f", 0), 96, 97, 98, 99, 100, 101, 102); \
  } else if constexpr (N == 256) {                                                                 \
    FORM(TYPES, 256, QUAD_REGISTERS_128, QUAD_OPERANDS_128("+f", 0), 128, 129, 130, 131, 132, 133, \
         134);                                                                                     \
  }
#define QUAD_WGMMA_F16_BY_N(FORM, TYPES)                                                        \
  if constexpr (N == 8) {                                                                       \
    FORM(TYPES, 8, QUAD_REGISTERS_2, QUAD_OPERANDS_2("+r", 0), 2, 3, 4, 5, 6, 7, 8);            \
  } else if constexpr (N == 16) {                                                               \
    FORM(TYPES, 16, QUAD_REGISTERS_4, QUAD_OPERANDS_4("+r", 0), 4, 5, 6, 7, 8, 9, 10);          \
  } else if constexpr (N == 32) {                                                               \
    FORM(TYPES, 32, QUAD_REGISTERS_8, QUAD_OPERANDS_8("+r", 0), 8, 9, 10, 11, 12, 13, 14);      \
  } else if constexpr (N == 64) {                                                               \
    FORM(TYPES, 64, QUAD_REGISTERS_16, QUAD_OPERANDS_16("+r", 0), 16, 17, 18, 19, 20, 21, 22);  \
  } else if constexpr (N == 96) {                                                               \
    FORM(TYPES, 96, QUAD_REGISTERS_24, QUAD_OPERANDS_24("+r", 0), 24, 25, 26, 27, 28, 29, 30);  \
  } else if constexpr (N == 128) {                                                              \
    FORM(TYPES, 128, QUAD_REGISTERS_32, QUAD_OPERANDS_32("+r", 0), 32, 33, 34, 35, 36, 37, 38); \
  } else if constexpr (N == 192) {                                                              \
    FORM(TYPES, 192, QUAD_REGISTERS_48, QUAD_OPERANDS_48("+r", 0), 48, 49, 50, 51, 52, 53, 54); \
  } else if constexpr (N == 256) {                                                              \
    FORM(TYPES, 256, QUAD_REGISTERS_64, QUAD_OPERANDS_64("+r", 0), 64, 65, 66, 67, 68, 69, 70); \
  }

// A and B in shared memory; 16-bit types say whether they are MN-major.
#define QUAD_WGMMA_SHARED(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6)            \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x2                                          \
               ", 0;\n"                                                                          \
               "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, %" #x0 ", %" #x1 \
               ", p, 1, 1, %" #x3 ", %" #x4 ";\n}"                                               \
               : OPERANDS                                                                        \
               : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)),                    \
                 "n"(static_cast<int>(a_major)), "n"(static_cast<int>(b_major)))
#define QUAD_WGMMA_SHARED_TF32(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6)       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x2                                          \
               ", 0;\n"                                                                          \
               "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, %" #x0 ", %" #x1 \
               ", p, 1, 1;\n}"                                                                   \
               : OPERANDS                                                                        \
               : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(accumulate)))
// A in registers.
#define QUAD_WGMMA_REGISTERS(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6)          \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x5                                           \
               ", 0;\n"                                                                           \
               "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, {%" #x0 ", %" #x1 \
               ", %" #x2 ", %" #x3 "}, %" #x4 ", p, 1, 1, %" #x6 ";\n}"                           \
               : OPERANDS                                                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits),                         \
                 "r"(static_cast<int>(accumulate)), "n"(static_cast<int>(b_major)))
#define QUAD_WGMMA_REGISTERS_TF32(TYPES, N_, REGISTERS, OPERANDS, x0, x1, x2, x3, x4, x5, x6)     \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #x5                                           \
               ", 0;\n"                                                                           \
               "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" REGISTERS "}, {%" #x0 ", %" #x1 \
               ", %" #x2 ", %" #x3 "}, %" #x4 ", p, 1, 1;\n}"                                     \
               : OPERANDS                                                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits),                         \
                 "r"(static_cast<int>(accumulate)))

#endif

/// The N that wgmma has here.
QUAD_HD constexpr bool is_wgmma_n(int n) {
  return n == 8 || n == 16 || n == 32 || n == 64 || n == 96 || n == 128 || n == 192 || n == 256;
}

/// f16 operands, f32 accumulators. Without `accumulate`, D = A B.
template <int N, Major a_major = Major::k, Major b_major = Major::k>
QUAD_HOPPER void wgmma_f16(float (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                           bool accumulate = true QUAD_HOPPER_PLACE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_SHARED, "k16.f32.f16.f16")
#else
  simt::hopper::wgmma(
      {simt::hopper::WgmmaType::f16, N, a_major == Major::mn, b_major == Major::mn, accumulate}, d,
      a.bits, nullptr, b.bits, place);
#endif
}
/// f16 operands, f32 accumulators; A in registers.
template <int N, Major b_major = Major::k>
QUAD_HOPPER void wgmma_f16(float (&d)[N / 2], unsigned const (&a)[4], MatrixDescriptor b,
                           bool accumulate = true QUAD_HOPPER_PLACE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_REGISTERS, "k16.f32.f16.f16")
#else
  simt::hopper::wgmma({simt::hopper::WgmmaType::f16, N, false, b_major == Major::mn, accumulate}, d,
                      0, a, b.bits, place);
#endif
}

/// f16 operands and accumulators, of which a register holds two.
template <int N, Major a_major = Major::k, Major b_major = Major::k>
QUAD_HOPPER void wgmma_f16(unsigned (&d)[N / 4], MatrixDescriptor a, MatrixDescriptor b,
                           bool accumulate = true QUAD_HOPPER_PLACE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F16_BY_N(QUAD_WGMMA_SHARED, "k16.f16.f16.f16")
#else
  simt::hopper::wgmma({simt::hopper::WgmmaType::f16_in_f16, N, a_major == Major::mn,
                       b_major == Major::mn, accumulate},
                      d, a.bits, nullptr, b.bits, place);
#endif
}
/// f16 operands and accumulators, of which a register holds two; A in registers.
template <int N, Major b_major = Major::k>
QUAD_HOPPER void wgmma_f16(unsigned (&d)[N / 4], unsigned const (&a)[4], MatrixDescriptor b,
                           bool accumulate = true QUAD_HOPPER_PLACE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F16_BY_N(QUAD_WGMMA_REGISTERS, "k16.f16.f16.f16")
#else
  simt::hopper::wgmma(
      {simt::hopper::WgmmaType::f16_in_f16, N, false, b_major == Major::mn, accumulate}, d, 0, a,
      b.bits, place);
#endif
}

/// bf16 operands, f32 accumulators.
template <int N, Major a_major = Major::k, Major b_major = Major::k>
QUAD_HOPPER void wgmma_bf16(float (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                            bool accumulate = true QUAD_HOPPER_PLACE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_SHARED, "k16.f32.bf16.bf16")
#else
  simt::hopper::wgmma(
      {simt::hopper::WgmmaType::bf16, N, a_major == Major::mn, b_major == Major::mn, accumulate}, d,
      a.bits, nullptr, b.bits, place);
#endif
}
/// bf16 operands, f32 accumulators; A in registers.
template <int N, Major b_major = Major::k>
QUAD_HOPPER void wgmma_bf16(float (&d)[N / 2], unsigned const (&a)[4], MatrixDescriptor b,
                            bool accumulate = true QUAD_HOPPER_PLACE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_REGISTERS, "k16.f32.bf16.bf16")
#else
  simt::hopper::wgmma({simt::hopper::WgmmaType::bf16, N, false, b_major == Major::mn, accumulate},
                      d, 0, a, b.bits, place);
#endif
}

/// f32 operands of which the tensor cores read the upper 19 bits, f32 accumulators; both K-major.
template <int N>
QUAD_HOPPER void wgmma_tf32(float (&d)[N / 2], MatrixDescriptor a, MatrixDescriptor b,
                            bool accumulate = true QUAD_HOPPER_PLACE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_SHARED_TF32, "k8.f32.tf32.tf32")
#else
  simt::hopper::wgmma({simt::hopper::WgmmaType::tf32, N, false, false, accumulate}, d, a.bits,
                      nullptr, b.bits, place);
#endif
}
/// f32 operands of which the tensor cores read the upper 19 bits, f32 accumulators; A in registers.
template <int N>
QUAD_HOPPER void wgmma_tf32(float (&d)[N / 2], unsigned const (&a)[4], MatrixDescriptor b,
                            bool accumulate = true QUAD_HOPPER_PLACE) {
  static_assert(is_wgmma_n(N));
#ifdef __CUDACC__
  QUAD_WGMMA_F32_BY_N(QUAD_WGMMA_REGISTERS_TF32, "k8.f32.tf32.tf32")
#else
  simt::hopper::wgmma({simt::hopper::WgmmaType::tf32, N, false, false, accumulate}, d, 0, a, b.bits,
                      place);
#endif
}

#ifdef __CUDACC__

/// Clusters have no model: kernels that use them say `simt: no` in their header block.

/// Arrives at the barrier of all threads of the cluster, and does not wait.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/// Waits until all threads of the cluster have arrived. Each thread arrives before it waits.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The number of this block in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// The same variable of this block's shared memory in block `rank` of the cluster.
template <class T>
__device__ __forceinline__ T* cluster_map(T* shared, unsigned rank) {
  std::uint64_t mapped = 0;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(shared), "r"(rank));
  return reinterpret_cast<T*>(mapped);
}

/// Arrives once at the same barrier of block `rank` of the cluster.
__device__ __forceinline__ void mbarrier_arrive_cluster(MBarrier* barrier, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(detail::shared_address(barrier)),
      "r"(rank)
      : "memory");
}

/// Waits for the end of the phase of this parity, and sees what other blocks of the cluster did
/// before they arrived.
__device__ __forceinline__ void mbarrier_wait_cluster(MBarrier* barrier, unsigned parity) {
  unsigned ended = 0;
  while (ended == 0) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(ended)
        : "r"(detail::shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

/// Copies a box to the same place of each block whose bit is set in `blocks`, and counts it on the
/// same barrier of each.
__device__ __forceinline__ void tensor_load_multicast(void* shared, TensorMap const& map, int row,
                                                      int column, MBarrier* barrier,
                                                      std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(detail::shared_address(shared)),
      "l"(&map), "r"(column), "r"(row), "r"(detail::shared_address(barrier)), "h"(blocks)
      : "memory");
}

#endif

}  // namespace quadrille::ptx
