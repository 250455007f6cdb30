// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/peaks.hpp"

#include "device/host/topology.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace quadrille::device {
namespace {

using core::Compute;
using core::DataType;

/// Multiply-adds per clock of one multiprocessor. Source: CUDA C++ Programming Guide, "Arithmetic
/// Instructions", and NVIDIA's descriptions of the architectures, dense matrices.
struct Rate {
  int compute_capability;
  int f64, f32, f16, i32;  // CUDA cores
  int tensor_f64, tensor_tf32, tensor_f16, tensor_i8;
  bool has_bf16;
};
constexpr Rate kRates[] = {
    {70, 32, 64, 128, 64, 0, 0, 512, 0, false},
    {75, 2, 64, 128, 64, 0, 0, 512, 1024, false},
    {80, 32, 64, 256, 64, 64, 512, 1024, 2048, true},
    {86, 2, 128, 128, 64, 0, 256, 512, 1024, true},
    {89, 2, 128, 128, 64, 0, 256, 512, 1024, true},
    {90, 64, 128, 256, 64, 128, 1024, 2048, 4096, true},
    {100, 64, 128, 256, 64, 64, 2048, 4096, 8192, true},
    {120, 2, 128, 128, 64, 0, 256, 512, 1024, true},
};

int on_cuda_cores(Rate const& rate, DataType in, Compute compute) {
  bool const is_16_bit = in == DataType::f16 || in == DataType::bf16;
  if (in == DataType::f64 && compute == Compute::f64) return rate.f64;
  if (in == DataType::f32 && compute == Compute::f32) return rate.f32;
  if (is_16_bit && compute == Compute::f32) return rate.f32;  // after a conversion
  if (in == DataType::f16 && compute == Compute::f16) return rate.f16;
  if (in == DataType::i32 && compute == Compute::i32) return rate.i32;
  return 0;
}

int on_tensor_cores(Rate const& rate, DataType in, Compute compute) {
  if (in == DataType::f64 && compute == Compute::f64) return rate.tensor_f64;
  if (in == DataType::f32 && compute == Compute::tf32) return rate.tensor_tf32;
  if (in == DataType::f16 && (compute == Compute::f16 || compute == Compute::f32)) {
    return rate.tensor_f16;
  }
  bool const is_bf16 = in == DataType::bf16 && compute == Compute::f32;
  bool const is_rounded_to_bf16 = in == DataType::f32 && compute == Compute::bf16;
  if (is_bf16 || is_rounded_to_bf16) return rate.has_bf16 ? rate.tensor_f16 : 0;
  if (in == DataType::i8 && compute == Compute::i32) return rate.tensor_i8;
  if (core::is_float_of_8_bits(in) && compute == Compute::f32) {
    return rate.compute_capability >= 89 ? rate.tensor_i8 : 0;
  }
  int const products = compute == Compute::emulated ? core::emulating_products(in) : 0;
  if (products > 0) return rate.tensor_i8 / products;
  return 0;
}

/// Elements that a core multiplies and adds in a clock, in bits: two vectors, on all processors of
/// servers that have the instructions. 0 where they are not known.
int fused_bits_of_core() {
#ifdef __x86_64__
  bool const has_avx512 = __builtin_cpu_supports("avx512f") != 0;
  bool const halves_vectors = __builtin_cpu_is("amdfam19h") != 0;  // Zen 4: in two steps
  if (has_avx512 && !halves_vectors) return 2 * 512;
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return 2 * 256;
#endif
  return 0;
}

/// Cycles per second of the core that runs this, from rotations each of which needs the one before
/// and takes one cycle. The shortest of many runs: others wait for the core too, and a clock takes
/// milliseconds to rise.
double measured_clock() {
  using Clock = std::chrono::steady_clock;
  constexpr int kRotations = 100'000;
  constexpr int kUnrolled = 20;  // some processors need two cycles to jump
  constexpr auto kEnough = std::chrono::milliseconds{20};
  double shortest = 1;
  std::uint64_t x = 1;
  for (auto const first = Clock::now(); Clock::now() - first < kEnough;) {
    auto const start = Clock::now();
    for (int i = 0; i < kRotations; i += kUnrolled) {
#pragma GCC unroll 20
      for (int u = 0; u < kUnrolled; ++u) {
        x = std::rotl(x, 7);
        asm volatile("" : "+r"(x));  // or the compiler would make one rotation of all
      }
    }
    shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return kRotations / shortest;
}

}  // namespace

Peaks host_peaks(int threads) {
  int const bits = fused_bits_of_core();
  if (bits == 0) return {};
  // Threads of one core share its units.
  auto const usable = static_cast<int>(cores_of(usable_cpus()).size());
  int const cores = std::max(1, std::min(threads, usable));
  return {.clocks_of_all_units = cores * measured_clock(), .fused_bits = bits};
}

double Peaks::of(Unit unit, DataType in, Compute compute) const {
  auto const* const rate = std::ranges::find(kRates, compute_capability, &Rate::compute_capability);
  if (rate == std::end(kRates)) return 0;
  int const fused = unit == Unit::cuda_cores ? on_cuda_cores(*rate, in, compute)
                                             : on_tensor_cores(*rate, in, compute);
  return 2 * clocks_of_all_units * fused;
}

double Peaks::of(DataType in, Compute compute) const {
  if (fused_bits > 0) {
    bool const is_float = in == DataType::f64 || in == DataType::f32;
    int const width = compute == Compute::f64 ? 64 : compute == Compute::f32 ? 32 : 0;
    return is_float && width > 0 ? 2 * clocks_of_all_units * fused_bits / width : 0;
  }
  return std::max(of(Unit::cuda_cores, in, compute), of(Unit::tensor_cores, in, compute));
}

}  // namespace quadrille::device
