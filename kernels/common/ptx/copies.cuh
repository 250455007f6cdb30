// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Copies by a thread: cp.async, and loads, stores and prefetches that say how long the caches should
/// keep the data.

#include "common/ptx/instruction.cuh"

#ifdef QUAD_KERNELS

#include <type_traits>

namespace quadrille::ptx {

/// Starts a copy of 4, 8 or 16 bytes from global to shared memory; zeros, and no read of the
/// source, when not valid. 16 bytes may bypass L1 (.cg) or not (.ca), fewer go through it. kL2Line,
/// for 16 bytes: hints that L2 should fetch the whole 128 bytes that they lie in.
/// PTX cp.async.{ca,cg}.shared.global{,.L2::128B}.
template <int kBytes, bool kL2Line = false, bool kThroughL1 = (kBytes < 16)>
QUAD_INSTRUCTION void cp_async(void* to, void const* from, bool valid = true QUAD_WHERE) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  static_assert(kBytes == 16 || (kThroughL1 && !kL2Line));
#ifdef __CUDACC__
  int const source_bytes = valid ? kBytes : 0;
  if constexpr (kL2Line && kThroughL1) {
    asm volatile(
        "cp.async.ca.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(detail::shared_address(to)),
        "l"(from), "r"(source_bytes)
        : "memory");
  } else if constexpr (kL2Line) {
    asm volatile(
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(detail::shared_address(to)),
        "l"(from), "r"(source_bytes)
        : "memory");
  } else if constexpr (!kThroughL1) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(detail::shared_address(to)),
                 "l"(from), "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(detail::shared_address(to)),
                 "l"(from), "n"(kBytes), "r"(source_bytes)
                 : "memory");
  }
#else
  detail::require_alignment(to, kBytes, "cp.async to shared memory", where);
  detail::require_alignment(valid ? from : nullptr, kBytes, "cp.async from global memory", where);
  simt::async_copy(to, from, valid ? kBytes : 0, kBytes, where);
#endif
}

/// The same, by way of L1 or not as kBytes says, of the first `bytes` alone, at most kBytes, with
/// zeros behind them. Without any, the source is not read. PTX cp.async with a size of the source.
template <int kBytes>
QUAD_INSTRUCTION void cp_async_first(void* to, void const* from, int bytes QUAD_WHERE) {
  static_assert(kBytes == 8 || kBytes == 16);
#ifdef __CUDACC__
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(detail::shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(detail::shared_address(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
  }
#else
  detail::require_alignment(to, kBytes, "cp.async to shared memory", where);
  detail::require_alignment(bytes > 0 ? from : nullptr, kBytes, "cp.async from global memory",
                            where);
  simt::async_copy(to, from, static_cast<unsigned>(bytes), kBytes, where);
#endif
}

/// Closes the group of this thread's copies since the last commit. PTX cp.async.commit_group.
QUAD_INSTRUCTION void cp_async_commit() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  simt::async_copy_commit();
#endif
}

/// Waits until at most the kNewest youngest groups of this thread are in flight; other threads see
/// the data after a barrier. PTX cp.async.wait_group.
template <int kNewest>
QUAD_INSTRUCTION void cp_async_wait() {
  static_assert(kNewest >= 0);
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
#else
  simt::async_copy_wait(kNewest);
#endif
}

/// Waits for all copies of this thread, committed or not. PTX cp.async.wait_all.
QUAD_INSTRUCTION void cp_async_wait_all() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_all;" ::: "memory");
#else
  simt::async_copy_commit();
  simt::async_copy_wait(0);
#endif
}

/// Loads 4, 8 or 16 bytes that are read once and that this kernel never writes (nor a kernel beside
/// it). PTX ld.global.nc.L1::no_allocate. It spares L1, which shares its memory with shared memory,
/// the lines; unlike ld.cs (__ldcs, see load_evict_first) it leaves L2 its usual order, so that
/// data that fit there stay for the next kernel.
template <class T>
QUAD_INSTRUCTION T load_streaming(T const* p QUAD_WHERE) {
#ifdef __CUDACC__
  detail::Bits<T> bits;
  // Volatile, so that no load moves above a barrier or griddepcontrol.wait.
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(bits) : "l"(p));
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(bits) : "l"(p));
  } else {
    asm volatile("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                 : "l"(p));
  }
  return __builtin_bit_cast(T, bits);
#else
  detail::require_alignment(p, sizeof(detail::Bits<T>), "ld.global.nc", where);
  simt::race::read(p, sizeof(T), where);
  simt::traffic::access(p, sizeof(T), simt::traffic::Kind::load, where);
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<void const*>(p), sizeof(T));
  return value;
#endif
}

/// Loads 4, 8 or 16 bytes that are read once, also where the kernel writes them later; the lines
/// are the first to leave L1 and L2. PTX ld.global.cs.
template <class T>
QUAD_INSTRUCTION T load_evict_first(T const* p QUAD_WHERE) {
#ifdef __CUDACC__
  detail::Bits<T> bits;
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.global.cs.b32 %0, [%1];" : "=r"(bits) : "l"(p) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("ld.global.cs.b64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory");
  } else {
    asm volatile("ld.global.cs.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
                 : "l"(p)
                 : "memory");
  }
  return __builtin_bit_cast(T, bits);
#else
  detail::require_alignment(p, sizeof(detail::Bits<T>), "ld.global.cs", where);
  simt::race::read(p, sizeof(T), where);
  simt::traffic::access(p, sizeof(T), simt::traffic::Kind::load, where);
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<void const*>(p), sizeof(T));
  return value;
#endif
}

/// Stores 4, 8 or 16 bytes that nobody reads soon; the lines are the first to leave L2.
/// PTX st.global.cs.
template <class T>
QUAD_INSTRUCTION void store_streaming(T* p, std::type_identity_t<T> const& value QUAD_WHERE) {
#ifdef __CUDACC__
  auto const bits = __builtin_bit_cast(detail::Bits<T>, value);
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.global.cs.b32 [%0], %1;" ::"l"(p), "r"(bits) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("st.global.cs.b64 [%0], %1;" ::"l"(p), "l"(bits) : "memory");
  } else {
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(bits.x), "r"(bits.y),
                 "r"(bits.z), "r"(bits.w)
                 : "memory");
  }
#else
  detail::require_alignment(p, sizeof(detail::Bits<T>), "st.global.cs", where);
  simt::race::write(p, sizeof(T), where);
  simt::traffic::access(p, sizeof(T), simt::traffic::Kind::store, where);
  std::memcpy(static_cast<void*>(p), static_cast<void const*>(&value), sizeof(T));
#endif
}

/// Brings the line to L1; any address is allowed. PTX prefetch.global.L1.
QUAD_INSTRUCTION void prefetch_l1([[maybe_unused]] void const* p) {
#ifdef __CUDACC__
  asm volatile("prefetch.global.L1 [%0];" ::"l"(p));
#endif
}

/// Brings the line to L2; any address is allowed. PTX prefetch.global.L2.
QUAD_INSTRUCTION void prefetch_l2([[maybe_unused]] void const* p) {
#ifdef __CUDACC__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
