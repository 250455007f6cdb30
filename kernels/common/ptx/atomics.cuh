// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Atomics, loads and stores with an order and a scope, and fences between them.

#include "common/ptx/instruction.cuh"

#ifdef QUAD_KERNELS

#include <type_traits>

namespace quadrille::ptx {

// Atomics, named as in CUDA, by order and scope: <order> is relaxed, acquire, release or acq_rel,
// <scope> cta, gpu or sys. Addresses in global or shared memory.
//
//   T atomic_add_<order>_<scope>(T* p, T v)              u32 s32 u64 f32 f64   atom.add
//   T atomic_min_<order>_<scope>(T* p, T v), _max_       u32 s32 u64 s64       atom.{min,max}
//   T atomic_exchange_<order>_<scope>(T* p, T v)         4 or 8 bytes          atom.exch
//   T atomic_compare_and_swap_<order>_<scope>(T* p, T expected, T v)           atom.cas
//                                                        4 or 8 bytes, compares bits
//   all of these return the value before
//   void red_add_<order>_<scope>(T* p, T v), red_min_, red_max_   <order> relaxed, release   red
//   T load_<order>_<scope>(T const* p)          4 or 8 bytes, <order> relaxed, acquire       ld
//   void store_<order>_<scope>(T* p, T v)       4 or 8 bytes, <order> relaxed, release       st
//   void load_pair_relaxed_sys(u64 const* p, u64& low, u64& high)    ld.v2
//   void store_pair_relaxed_sys(u64* p, u64 low, u64 high)           st.v2, aligned to 16 bytes; each
//                                               word is accessed whole, the two in any order

#ifdef __CUDACC__

namespace detail {
template <class T>
constexpr bool is_word_v = std::is_integral_v<T> && sizeof(T) == 4;
template <class T>
constexpr bool is_long_v = std::is_integral_v<T> && sizeof(T) == 8;
}  // namespace detail

#define QUAD_PTX_ADD(order, scope)                                                   \
  template <class T>                                                                 \
  QUAD_INSTRUCTION T atomic_add_##order##_##scope(T* p, std::type_identity_t<T> v) { \
    T old;                                                                           \
    if constexpr (std::is_same_v<T, float>) {                                        \
      asm volatile("atom." #order "." #scope ".add.f32 %0, [%1], %2;"                \
                   : "=f"(old)                                                       \
                   : "l"(p), "f"(v)                                                  \
                   : "memory");                                                      \
    } else if constexpr (std::is_same_v<T, double>) {                                \
      asm volatile("atom." #order "." #scope ".add.f64 %0, [%1], %2;"                \
                   : "=d"(old)                                                       \
                   : "l"(p), "d"(v)                                                  \
                   : "memory");                                                      \
    } else if constexpr (detail::is_word_v<T>) {                                     \
      asm volatile("atom." #order "." #scope ".add.u32 %0, [%1], %2;"                \
                   : "=r"(old)                                                       \
                   : "l"(p), "r"(v)                                                  \
                   : "memory");                                                      \
    } else {                                                                         \
      static_assert(detail::is_long_v<T>);                                           \
      asm volatile("atom." #order "." #scope ".add.u64 %0, [%1], %2;"                \
                   : "=l"(old)                                                       \
                   : "l"(p), "l"(v)                                                  \
                   : "memory");                                                      \
    }                                                                                \
    return old;                                                                      \
  }

#define QUAD_PTX_MIN_MAX(op, order, scope)                                              \
  template <class T>                                                                    \
  QUAD_INSTRUCTION T atomic_##op##_##order##_##scope(T* p, std::type_identity_t<T> v) { \
    T old;                                                                              \
    if constexpr (detail::is_word_v<T> && std::is_signed_v<T>) {                        \
      asm volatile("atom." #order "." #scope "." #op ".s32 %0, [%1], %2;"               \
                   : "=r"(old)                                                          \
                   : "l"(p), "r"(v)                                                     \
                   : "memory");                                                         \
    } else if constexpr (detail::is_word_v<T>) {                                        \
      asm volatile("atom." #order "." #scope "." #op ".u32 %0, [%1], %2;"               \
                   : "=r"(old)                                                          \
                   : "l"(p), "r"(v)                                                     \
                   : "memory");                                                         \
    } else if constexpr (detail::is_long_v<T> && std::is_signed_v<T>) {                 \
      asm volatile("atom." #order "." #scope "." #op ".s64 %0, [%1], %2;"               \
                   : "=l"(old)                                                          \
                   : "l"(p), "l"(v)                                                     \
                   : "memory");                                                         \
    } else {                                                                            \
      static_assert(detail::is_long_v<T>);                                              \
      asm volatile("atom." #order "." #scope "." #op ".u64 %0, [%1], %2;"               \
                   : "=l"(old)                                                          \
                   : "l"(p), "l"(v)                                                     \
                   : "memory");                                                         \
    }                                                                                   \
    return old;                                                                         \
  }

#define QUAD_PTX_EXCHANGE(order, scope)                                                   \
  template <class T>                                                                      \
  QUAD_INSTRUCTION T atomic_exchange_##order##_##scope(T* p, std::type_identity_t<T> v) { \
    auto const bits = __builtin_bit_cast(detail::Bits<T>, v);                             \
    detail::Bits<T> old;                                                                  \
    if constexpr (sizeof(T) == 4) {                                                       \
      asm volatile("atom." #order "." #scope ".exch.b32 %0, [%1], %2;"                    \
                   : "=r"(old)                                                            \
                   : "l"(p), "r"(bits)                                                    \
                   : "memory");                                                           \
    } else {                                                                              \
      asm volatile("atom." #order "." #scope ".exch.b64 %0, [%1], %2;"                    \
                   : "=l"(old)                                                            \
                   : "l"(p), "l"(bits)                                                    \
                   : "memory");                                                           \
    }                                                                                     \
    return __builtin_bit_cast(T, old);                                                    \
  }                                                                                       \
  template <class T>                                                                      \
  QUAD_INSTRUCTION T atomic_compare_and_swap_##order##_##scope(                           \
      T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {                \
    auto const expected_bits = __builtin_bit_cast(detail::Bits<T>, expected);             \
    auto const bits = __builtin_bit_cast(detail::Bits<T>, v);                             \
    detail::Bits<T> old;                                                                  \
    if constexpr (sizeof(T) == 4) {                                                       \
      asm volatile("atom." #order "." #scope ".cas.b32 %0, [%1], %2, %3;"                 \
                   : "=r"(old)                                                            \
                   : "l"(p), "r"(expected_bits), "r"(bits)                                \
                   : "memory");                                                           \
    } else {                                                                              \
      asm volatile("atom." #order "." #scope ".cas.b64 %0, [%1], %2, %3;"                 \
                   : "=l"(old)                                                            \
                   : "l"(p), "l"(expected_bits), "l"(bits)                                \
                   : "memory");                                                           \
    }                                                                                     \
    return __builtin_bit_cast(T, old);                                                    \
  }

#define QUAD_PTX_RED(order, scope)                                                             \
  template <class T>                                                                           \
  QUAD_INSTRUCTION void red_add_##order##_##scope(T* p, std::type_identity_t<T> v) {           \
    if constexpr (std::is_same_v<T, float>) {                                                  \
      asm volatile("red." #order "." #scope ".add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); \
    } else if constexpr (std::is_same_v<T, double>) {                                          \
      asm volatile("red." #order "." #scope ".add.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory"); \
    } else if constexpr (detail::is_word_v<T>) {                                               \
      asm volatile("red." #order "." #scope ".add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); \
    } else {                                                                                   \
      static_assert(detail::is_long_v<T>);                                                     \
      asm volatile("red." #order "." #scope ".add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); \
    }                                                                                          \
  }

#define QUAD_PTX_RED_MIN_MAX(op, order, scope)                                                     \
  template <class T>                                                                               \
  QUAD_INSTRUCTION void red_##op##_##order##_##scope(T* p, std::type_identity_t<T> v) {            \
    if constexpr (detail::is_word_v<T> && std::is_signed_v<T>) {                                   \
      asm volatile("red." #order "." #scope "." #op ".s32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); \
    } else if constexpr (detail::is_word_v<T>) {                                                   \
      asm volatile("red." #order "." #scope "." #op ".u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); \
    } else if constexpr (detail::is_long_v<T> && std::is_signed_v<T>) {                            \
      asm volatile("red." #order "." #scope "." #op ".s64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); \
    } else {                                                                                       \
      static_assert(detail::is_long_v<T>);                                                         \
      asm volatile("red." #order "." #scope "." #op ".u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); \
    }                                                                                              \
  }

#define QUAD_PTX_LOAD(order, scope)                                                            \
  template <class T>                                                                           \
  QUAD_INSTRUCTION T load_##order##_##scope(T const* p) {                                      \
    detail::Bits<T> bits;                                                                      \
    if constexpr (sizeof(T) == 4) {                                                            \
      asm volatile("ld." #order "." #scope ".b32 %0, [%1];" : "=r"(bits) : "l"(p) : "memory"); \
    } else {                                                                                   \
      asm volatile("ld." #order "." #scope ".b64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory"); \
    }                                                                                          \
    return __builtin_bit_cast(T, bits);                                                        \
  }

#define QUAD_PTX_STORE(order, scope)                                                         \
  template <class T>                                                                         \
  QUAD_INSTRUCTION void store_##order##_##scope(T* p, std::type_identity_t<T> v) {           \
    auto const bits = __builtin_bit_cast(detail::Bits<T>, v);                                \
    if constexpr (sizeof(T) == 4) {                                                          \
      asm volatile("st." #order "." #scope ".b32 [%0], %1;" ::"l"(p), "r"(bits) : "memory"); \
    } else {                                                                                 \
      asm volatile("st." #order "." #scope ".b64 [%0], %1;" ::"l"(p), "l"(bits) : "memory"); \
    }                                                                                        \
  }

QUAD_INSTRUCTION void load_pair_relaxed_sys(std::uint64_t const* p, std::uint64_t& low,
                                            std::uint64_t& high) {
  asm volatile("ld.relaxed.sys.v2.b64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"(p) : "memory");
}
QUAD_INSTRUCTION void store_pair_relaxed_sys(std::uint64_t* p, std::uint64_t low,
                                             std::uint64_t high) {
  asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};" ::"l"(p), "l"(low), "l"(high) : "memory");
}

#define QUAD_PTX_FENCE(scope)                               \
  QUAD_INSTRUCTION void fence_acq_rel_##scope() {           \
    asm volatile("fence.acq_rel." #scope ";" ::: "memory"); \
  }

#else

namespace detail {

enum class Order { relaxed, acquire, release, acq_rel };
enum class Scope { cta, gpu, sys };
enum class Update { add, min, max, exchange, compare_and_swap };

/// Represents an address of device memory as one block sees it: what is released at the scope of a
/// block reaches that block alone, as does what is released at any address that is not of device
/// memory.
QUAD_SIMT_MODEL inline void const* key_in_block(void const* p) {
  if (simt::is_shared(p)) return p;
  return reinterpret_cast<void const*>(~reinterpret_cast<std::uintptr_t>(p));
}
QUAD_SIMT_MODEL inline void release(void const* p, Order order, Scope scope) {
  if (!simt::race::enabled() || order == Order::relaxed || order == Order::acquire) return;
  void const* const in_block = key_in_block(p);
  simt::race::release(in_block);
  if (scope != Scope::cta && in_block != p) simt::race::release(p);
}
QUAD_SIMT_MODEL inline void acquire(void const* p, Order order, Scope scope) {
  if (!simt::race::enabled() || order == Order::relaxed || order == Order::release) return;
  void const* const in_block = key_in_block(p);
  simt::race::acquire(in_block);
  if (scope != Scope::cta && in_block != p) simt::race::acquire(p);
}

template <Update kUpdate, class T>
QUAD_SIMT_MODEL T updated(T old, T value) {
  if constexpr (kUpdate == Update::add) {
    // Wraps around where the type is signed.
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Bits<T>>(old) + static_cast<Bits<T>>(value));
    } else {
      return old + value;
    }
  } else if constexpr (kUpdate == Update::min) {
    return value < old ? value : old;
  } else if constexpr (kUpdate == Update::max) {
    return old < value ? value : old;
  } else {
    return value;
  }
}

template <class T>
QUAD_SIMT_MODEL bool same_bits(T a, T b) {
  return __builtin_bit_cast(Bits<T>, a) == __builtin_bit_cast(Bits<T>, b);
}

/// Replaces the value and returns the one before. Blocks share one operating system thread, so that
/// nothing comes between the two.
template <Update kUpdate, class T>
QUAD_SIMT_MODEL T update(T* p, T value, T expected, Order order, Scope scope, simt::Place where) {
  if constexpr (kUpdate == Update::min || kUpdate == Update::max) {
    static_assert(std::is_integral_v<T>);
  } else if constexpr (kUpdate == Update::add) {
    static_assert(std::is_arithmetic_v<T>);
  }
  require_alignment(p, sizeof(T), "atomic", where);
  simt::preempt();
  simt::race::atomic_access(p, sizeof(T), true, where);
  T const old = *p;
  acquire(p, order, scope);
  if (kUpdate != Update::compare_and_swap || same_bits(old, expected)) {
    release(p, order, scope);
    *p = updated<kUpdate, T>(old, value);
  }
  // Nothing changed: a loop that waits for another thread may be around this.
  if (same_bits(old, *p)) simt::yield(where);
  return old;
}

template <class T>
QUAD_SIMT_MODEL T load(T const* p, Order order, Scope scope, simt::Place where) {
  require_alignment(p, sizeof(T), "atomic load", where);
  simt::yield(where);  // a loop around this waits for another thread
  simt::race::atomic_access(p, sizeof(T), false, where);
  acquire(p, order, scope);
  return *p;
}

template <class T>
QUAD_SIMT_MODEL void store(T* p, T value, Order order, Scope scope, simt::Place where) {
  require_alignment(p, sizeof(T), "atomic store", where);
  simt::preempt();
  simt::race::atomic_access(p, sizeof(T), true, where);
  release(p, order, scope);
  *p = value;
}

}  // namespace detail

QUAD_INSTRUCTION void load_pair_relaxed_sys(std::uint64_t const* p, std::uint64_t& low,
                                            std::uint64_t& high QUAD_WHERE) {
  detail::require_alignment(p, 16, "load of a pair", where);
  high = detail::load(p + 1, detail::Order::relaxed, detail::Scope::sys, where);
  low = detail::load(p, detail::Order::relaxed, detail::Scope::sys, where);
}
QUAD_INSTRUCTION void store_pair_relaxed_sys(std::uint64_t* p, std::uint64_t low,
                                             std::uint64_t high QUAD_WHERE) {
  detail::require_alignment(p, 16, "store of a pair", where);
  bool const high_first = simt::random() % 2 != 0;
  if (high_first) detail::store(p + 1, high, detail::Order::relaxed, detail::Scope::sys, where);
  detail::store(p, low, detail::Order::relaxed, detail::Scope::sys, where);
  if (!high_first) detail::store(p + 1, high, detail::Order::relaxed, detail::Scope::sys, where);
}

#define QUAD_PTX_UPDATE(op, order, scope)                                                          \
  template <class T>                                                                               \
  QUAD_INSTRUCTION T atomic_##op##_##order##_##scope(T* p, std::type_identity_t<T> v QUAD_WHERE) { \
    return detail::update<detail::Update::op, T>(p, v, T{}, detail::Order::order,                  \
                                                 detail::Scope::scope, where);                     \
  }
#define QUAD_PTX_ADD(order, scope) QUAD_PTX_UPDATE(add, order, scope)
#define QUAD_PTX_MIN_MAX(op, order, scope) QUAD_PTX_UPDATE(op, order, scope)
#define QUAD_PTX_EXCHANGE(order, scope)                                               \
  QUAD_PTX_UPDATE(exchange, order, scope)                                             \
  template <class T>                                                                  \
  QUAD_INSTRUCTION T atomic_compare_and_swap_##order##_##scope(                       \
      T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v QUAD_WHERE) { \
    return detail::update<detail::Update::compare_and_swap, T>(                       \
        p, v, expected, detail::Order::order, detail::Scope::scope, where);           \
  }
#define QUAD_PTX_RED_MIN_MAX(op, order, scope)                                                     \
  template <class T>                                                                               \
  QUAD_INSTRUCTION void red_##op##_##order##_##scope(T* p, std::type_identity_t<T> v QUAD_WHERE) { \
    detail::update<detail::Update::op, T>(p, v, T{}, detail::Order::order, detail::Scope::scope,   \
                                          where);                                                  \
  }
#define QUAD_PTX_RED(order, scope) QUAD_PTX_RED_MIN_MAX(add, order, scope)
#define QUAD_PTX_LOAD(order, scope)                                               \
  template <class T>                                                              \
  QUAD_INSTRUCTION T load_##order##_##scope(T const* p QUAD_WHERE) {              \
    return detail::load<T>(p, detail::Order::order, detail::Scope::scope, where); \
  }
#define QUAD_PTX_STORE(order, scope)                                                          \
  template <class T>                                                                          \
  QUAD_INSTRUCTION void store_##order##_##scope(T* p, std::type_identity_t<T> v QUAD_WHERE) { \
    detail::store<T>(p, v, detail::Order::order, detail::Scope::scope, where);                \
  }
#define QUAD_PTX_FENCE(scope)                                      \
  QUAD_INSTRUCTION void fence_acq_rel_##scope() {                  \
    simt::race::fence(detail::Scope::scope != detail::Scope::cta); \
    simt::preempt();                                               \
  }

#endif

#define QUAD_PTX_ATOMICS(order, scope) \
  QUAD_PTX_ADD(order, scope)           \
  QUAD_PTX_MIN_MAX(min, order, scope)  \
  QUAD_PTX_MIN_MAX(max, order, scope)  \
  QUAD_PTX_EXCHANGE(order, scope)
#define QUAD_PTX_REDS(order, scope)       \
  QUAD_PTX_RED(order, scope)              \
  QUAD_PTX_RED_MIN_MAX(min, order, scope) \
  QUAD_PTX_RED_MIN_MAX(max, order, scope)
#define QUAD_PTX_SCOPE(scope)      \
  QUAD_PTX_ATOMICS(relaxed, scope) \
  QUAD_PTX_ATOMICS(acquire, scope) \
  QUAD_PTX_ATOMICS(release, scope) \
  QUAD_PTX_ATOMICS(acq_rel, scope) \
  QUAD_PTX_REDS(relaxed, scope)    \
  QUAD_PTX_REDS(release, scope)    \
  QUAD_PTX_LOAD(relaxed, scope)    \
  QUAD_PTX_LOAD(acquire, scope)    \
  QUAD_PTX_STORE(relaxed, scope)   \
  QUAD_PTX_STORE(release, scope)   \
  QUAD_PTX_FENCE(scope)

QUAD_PTX_SCOPE(cta)
QUAD_PTX_SCOPE(gpu)
QUAD_PTX_SCOPE(sys)

#undef QUAD_PTX_SCOPE
#undef QUAD_PTX_REDS
#undef QUAD_PTX_ATOMICS
#undef QUAD_PTX_ADD
#undef QUAD_PTX_MIN_MAX
#undef QUAD_PTX_EXCHANGE
#undef QUAD_PTX_RED
#undef QUAD_PTX_RED_MIN_MAX
#undef QUAD_PTX_LOAD
#undef QUAD_PTX_STORE
#undef QUAD_PTX_FENCE
#undef QUAD_PTX_UPDATE

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
