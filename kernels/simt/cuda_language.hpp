// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// CUDA C++ for g++: what nvcc knows without an include, on top of the interpreter. Only
/// common/simt.cuh includes this. What is not here (__activemask, cooperative groups, textures)
/// kernels do without.

#include "common/launch.cuh"
#include "core/error.hpp"
#include "device/views.hpp"
#include "simt/engine.hpp"
#include "simt/race.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector_functions.h>
#include <vector_types.h>

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __managed__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#undef __forceinline__
#undef __noinline__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static_assert(false, "use QUAD_SHARED or QUAD_DYNAMIC_SHARED");
#define __launch_bounds__(...)
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

#define threadIdx (::quadrille::simt::current->index)
#define blockIdx (::quadrille::simt::current->block->index)
#define blockDim (::quadrille::simt::current_launch->block)
#define gridDim (::quadrille::simt::current_launch->grid)
#define warpSize 32

// The type of a lambda is a key that no other declaration has, nor another instantiation of a
// template around it.
#define QUAD_SHARED(T, name, ...) \
  auto& name = ::quadrille::simt::shared_reference<T __VA_ARGS__, decltype([] {})>(#name)
#define QUAD_DYNAMIC_SHARED(T, name) \
  T* const name = static_cast<T*>(::quadrille::simt::dynamic_shared())

namespace quadrille::simt {

/// Fails on a stream of another device, or none.
void require_cuda_stream(device::StreamView stream);

}  // namespace quadrille::simt

namespace quadrille::kernels {
inline namespace interpreted {

/// Runs the grid at once: streams of the interpreter's device are never behind.
template <class... Parameters, class... Arguments>
void launch(KernelCall call, void (*kernel)(Parameters...), LaunchShape const& shape,
            device::StreamView stream, Arguments&&... arguments) {
  require_cluster(call, shape);
  simt::require_cuda_stream(stream);
  std::tuple<std::decay_t<Parameters>...> const values{static_cast<Parameters>(arguments)...};
  std::string_view plain{
      call.kernel};  // without the parentheses that keep commas of a template together
  if (plain.starts_with('(')) plain = plain.substr(1, plain.size() - 2);
  simt::run_grid({shape.grid, shape.block, shape.shared_bytes, std::string{plain}, shape.cluster,
                  shape.overlaps_previous},
                 [&] { std::apply(kernel, values); });
}

/// There are no caches to make room for.
template <class... Parameters>
void prefer_shared(void (*)(Parameters...), int) {}

}  // namespace interpreted
}  // namespace quadrille::kernels

namespace quadrille::simt::language {

/// The bits of a value of up to 8 bytes, as the lanes of a warp hand them on. By value, so that the
/// access is the caller's, which may be a model.
template <class T>
std::uint64_t bits_of(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

enum class Shuffle { index, up, down, exclusive_or };
/// `value` of the lane that the shuffle says.
std::uint64_t shuffle(Shuffle kind, unsigned mask, std::uint64_t value, unsigned argument,
                      int width, Place place, char const* what);
/// Lanes of the mask whose predicate holds.
unsigned ballot(unsigned mask, bool predicate, Place place, char const* what);
/// Lanes of the mask with the same value.
unsigned match_any(unsigned mask, std::uint64_t value, Place place);
enum class Reduce { add, min, max, bit_and, bit_or, bit_xor };
std::int64_t reduce(Reduce kind, unsigned mask, std::int64_t value, Place place);

/// *p = change(*p), which returns what *p was.
template <class T, class Change>
QUAD_SIMT_MODEL T atomic(T* p, Place place, Change const& change) {
  preempt();
  if (reinterpret_cast<std::uintptr_t>(p) % sizeof(T) != 0) fail("misaligned atomic", place);
  race::atomic_access(p, sizeof(T), true, place);
  T const before = *p;
  *p = change(before);
  return before;
}

/// An atomic that changed nothing is how loops poll.
template <class T, class Change>
QUAD_SIMT_MODEL T polling_atomic(T* p, Place place, Change const& change) {
  T const before = atomic(p, place, change);
  if (bits_of(before) == bits_of(*p)) yield(place);
  return before;
}

}  // namespace quadrille::simt::language

/// The place of the call, as last parameter.
#define QUAD_SIMT_PLACE quadrille::simt::Place place = quadrille::simt::Place::current()

// Barriers and fences.

inline void __syncthreads(QUAD_SIMT_PLACE) {
  quadrille::simt::barrier(0, 0, place, "__syncthreads");
}
inline int __syncthreads_and(int predicate, QUAD_SIMT_PLACE) {
  return quadrille::simt::barrier(0, 0, place, "__syncthreads_and", predicate != 0).all;
}
inline int __syncthreads_or(int predicate, QUAD_SIMT_PLACE) {
  return quadrille::simt::barrier(0, 0, place, "__syncthreads_or", predicate != 0).any;
}
inline int __syncthreads_count(int predicate, QUAD_SIMT_PLACE) {
  return quadrille::simt::barrier(0, 0, place, "__syncthreads_count", predicate != 0).count;
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFF, QUAD_SIMT_PLACE) {
  quadrille::simt::warp_meet(mask, nullptr, nullptr, place, "__syncwarp", true);
}
inline void __threadfence() {
  quadrille::simt::race::fence(true);
  quadrille::simt::preempt();
}
inline void __threadfence_system() { __threadfence(); }
inline void __threadfence_block() {
  quadrille::simt::race::fence(false);
  quadrille::simt::preempt();
}
inline void __nanosleep(unsigned, QUAD_SIMT_PLACE) { quadrille::simt::yield(place); }
[[noreturn]] inline void __trap(QUAD_SIMT_PLACE) { quadrille::simt::fail("__trap", place); }

// Warp collectives.

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, QUAD_SIMT_PLACE) {
  namespace language = quadrille::simt::language;
  return language::from_bits<T>(
      language::shuffle(language::Shuffle::index, mask, language::bits_of(value),
                        static_cast<unsigned>(lane), width, place, "__shfl_sync"));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, QUAD_SIMT_PLACE) {
  namespace language = quadrille::simt::language;
  return language::from_bits<T>(language::shuffle(language::Shuffle::up, mask,
                                                  language::bits_of(value), delta, width, place,
                                                  "__shfl_up_sync"));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, QUAD_SIMT_PLACE) {
  namespace language = quadrille::simt::language;
  return language::from_bits<T>(language::shuffle(language::Shuffle::down, mask,
                                                  language::bits_of(value), delta, width, place,
                                                  "__shfl_down_sync"));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, QUAD_SIMT_PLACE) {
  namespace language = quadrille::simt::language;
  return language::from_bits<T>(
      language::shuffle(language::Shuffle::exclusive_or, mask, language::bits_of(value),
                        static_cast<unsigned>(lane_mask), width, place, "__shfl_xor_sync"));
}
inline unsigned __ballot_sync(unsigned mask, int predicate, QUAD_SIMT_PLACE) {
  return quadrille::simt::language::ballot(mask, predicate != 0, place, "__ballot_sync");
}
inline int __any_sync(unsigned mask, int predicate, QUAD_SIMT_PLACE) {
  return quadrille::simt::language::ballot(mask, predicate != 0, place, "__any_sync") != 0;
}
inline int __all_sync(unsigned mask, int predicate, QUAD_SIMT_PLACE) {
  return quadrille::simt::language::ballot(mask, predicate != 0, place, "__all_sync") == mask;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, QUAD_SIMT_PLACE) {
  return quadrille::simt::language::match_any(mask, quadrille::simt::language::bits_of(value),
                                              place);
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all, QUAD_SIMT_PLACE) {
  *all = __match_any_sync(mask, value, place) == mask;
  return *all != 0 ? mask : 0;
}
#define QUAD_SIMT_REDUCE(name, kind, T)                                                           \
  inline T name(unsigned mask, T value, QUAD_SIMT_PLACE) {                                        \
    return static_cast<T>(quadrille::simt::language::reduce(                                      \
        quadrille::simt::language::Reduce::kind, mask, static_cast<std::int64_t>(value), place)); \
  }
QUAD_SIMT_REDUCE(__reduce_add_sync, add, int)
QUAD_SIMT_REDUCE(__reduce_add_sync, add, unsigned)
QUAD_SIMT_REDUCE(__reduce_min_sync, min, int)
QUAD_SIMT_REDUCE(__reduce_min_sync, min, unsigned)
QUAD_SIMT_REDUCE(__reduce_max_sync, max, int)
QUAD_SIMT_REDUCE(__reduce_max_sync, max, unsigned)
QUAD_SIMT_REDUCE(__reduce_and_sync, bit_and, unsigned)
QUAD_SIMT_REDUCE(__reduce_or_sync, bit_or, unsigned)
QUAD_SIMT_REDUCE(__reduce_xor_sync, bit_xor, unsigned)
#undef QUAD_SIMT_REDUCE

// Atomics. The value has the type of the word, as if each were overloaded.

#define QUAD_SIMT_ATOMIC(name, model, expression)                                      \
  template <class T>                                                                   \
  T name(T* p, std::type_identity_t<T> value, QUAD_SIMT_PLACE) {                       \
    return quadrille::simt::language::model(                                           \
        p, place, [=]([[maybe_unused]] T old) __attribute__((no_sanitize("thread"))) { \
          return T(expression);                                                        \
        });                                                                            \
  }
QUAD_SIMT_ATOMIC(atomicAdd, polling_atomic, old + value)
QUAD_SIMT_ATOMIC(atomicSub, polling_atomic, old - value)
QUAD_SIMT_ATOMIC(atomicExch, polling_atomic, value)
QUAD_SIMT_ATOMIC(atomicMin, atomic, value < old ? value : old)
QUAD_SIMT_ATOMIC(atomicMax, atomic, old < value ? value : old)
QUAD_SIMT_ATOMIC(atomicAnd, polling_atomic, old& value)
QUAD_SIMT_ATOMIC(atomicOr, polling_atomic, old | value)
QUAD_SIMT_ATOMIC(atomicXor, polling_atomic, old ^ value)
QUAD_SIMT_ATOMIC(atomicInc, atomic, old >= value ? 0 : old + 1)
QUAD_SIMT_ATOMIC(atomicDec, atomic, old == 0 || old > value ? value : old - 1)
#undef QUAD_SIMT_ATOMIC
template <class T>
T atomicCAS(T* p, std::type_identity_t<T> compare, std::type_identity_t<T> value, QUAD_SIMT_PLACE) {
  namespace language = quadrille::simt::language;
  return language::polling_atomic(
      p, place, [=](T old) __attribute__((no_sanitize("thread"))) {
        return language::bits_of(old) == language::bits_of(compare) ? value : old;
      });
}

#undef QUAD_SIMT_PLACE

// Loads and stores with cache hints, which have no meaning here.

#define QUAD_SIMT_LOAD(name) \
  template <class T>         \
  T name(T const* p) {       \
    return *p;               \
  }
QUAD_SIMT_LOAD(__ldg)
QUAD_SIMT_LOAD(__ldca)
QUAD_SIMT_LOAD(__ldcg)
QUAD_SIMT_LOAD(__ldcs)
QUAD_SIMT_LOAD(__ldcv)
QUAD_SIMT_LOAD(__ldlu)
#undef QUAD_SIMT_LOAD
#define QUAD_SIMT_STORE(name)                      \
  template <class T>                               \
  void name(T* p, std::type_identity_t<T> value) { \
    *p = value;                                    \
  }
QUAD_SIMT_STORE(__stcg)
QUAD_SIMT_STORE(__stcs)
QUAD_SIMT_STORE(__stwb)
QUAD_SIMT_STORE(__stwt)
#undef QUAD_SIMT_STORE

// Arithmetic. Contraction and approximate functions differ from the GPU's: compare with bounds.

template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmin(static_cast<T>(a), static_cast<T>(b));
  } else {
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
  }
}
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmax(static_cast<T>(a), static_cast<T>(b));
  } else {
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
  }
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0F, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __saturatef(float x) { return x > 0 ? std::fmin(x, 1.0F) : 0.0F; }
inline void __sincosf(float x, float* s, float* c) {
  *s = std::sin(x);
  *c = std::cos(x);
}
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }

namespace quadrille::simt::language {
/// sin(pi x), exact in its argument: x is brought to [-1/4, 1/4] before it meets pi.
template <class T>
T sin_pi(T x) {
  constexpr T kPi = static_cast<T>(3.14159265358979323846);
  T const r = std::fmod(x, T{2});
  T const quarter = std::nearbyint(2 * r);
  T const rest = (r - quarter / 2) * kPi;
  switch (static_cast<int>(quarter) & 3) {
    case 0: return std::sin(rest);
    case 1: return std::cos(rest);
    case 2: return -std::sin(rest);
    default: return -std::cos(rest);
  }
}
template <class T>
T cos_pi(T x) {
  return sin_pi(std::fmod(std::fabs(x), T{2}) + static_cast<T>(0.5));
}
}  // namespace quadrille::simt::language
inline float sinpif(float x) { return quadrille::simt::language::sin_pi(x); }
inline float cospif(float x) { return quadrille::simt::language::cos_pi(x); }
inline double sinpi(double x) { return quadrille::simt::language::sin_pi(x); }
inline double cospi(double x) { return quadrille::simt::language::cos_pi(x); }
inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
inline void sincospi(double x, double* s, double* c) {
  *s = sinpi(x);
  *c = cospi(x);
}

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long reversed = 0;
  for (int i = 0; i < 64; ++i) reversed |= (x >> i & 1) << (63 - i);
  return reversed;
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>(std::int64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}
/// The sum of the products of bytes.
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 32; i += 8) sum += (a >> i & 0xFF) * (b >> i & 0xFF);
  return sum;
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  std::uint64_t const bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    // The function, unlike the instruction, leaves out bit 3, which would repeat a sign.
    unsigned const which = selector >> (4 * i) & 7;
    result |= static_cast<unsigned>(bytes >> (8 * which) & 0xFF) << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 |
                               static_cast<unsigned>(low));
}
inline int __float2int_rn(float x) { return static_cast<int>(std::lrint(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __double2int_rn(double x) { return static_cast<int>(std::lrint(x)); }
inline int __double2int_rz(double x) { return static_cast<int>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

// What cuda_fp16.h and cuda_bf16.h keep from a host compiler. f64 holds a product of two exactly,
// and rounding its sum first to f64 changes the result in no case that tests could see.

inline __half __hfma(__half a, __half b, __half c) {
  return __double2half(static_cast<double>(__half2float(a)) * __half2float(b) + __half2float(c));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __halves2half2(__hfma(__low2half(a), __low2half(b), __low2half(c)),
                        __hfma(__high2half(a), __high2half(b), __high2half(c)));
}
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __double2bfloat16(static_cast<double>(__bfloat162float(a)) * __bfloat162float(b) +
                           __bfloat162float(c));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return __halves2bfloat162(__hfma(__low2bfloat16(a), __low2bfloat16(b), __low2bfloat16(c)),
                            __hfma(__high2bfloat16(a), __high2bfloat16(b), __high2bfloat16(c)));
}
