// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/peaks.hpp"

#include <algorithm>

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
  if (in == DataType::bf16 && compute == Compute::f32) return rate.has_bf16 ? rate.tensor_f16 : 0;
  if (in == DataType::i8 && compute == Compute::i32) return rate.tensor_i8;
  return 0;
}

}  // namespace

double Peaks::of(Unit unit, DataType in, Compute compute) const {
  auto const* const rate = std::ranges::find(kRates, compute_capability, &Rate::compute_capability);
  if (rate == std::end(kRates)) return 0;
  int const fused = unit == Unit::cuda_cores ? on_cuda_cores(*rate, in, compute)
                                             : on_tensor_cores(*rate, in, compute);
  return 2 * clocks_of_all_units * fused;
}

double Peaks::of(DataType in, Compute compute) const {
  return std::max(of(Unit::cuda_cores, in, compute), of(Unit::tensor_cores, in, compute));
}

}  // namespace quadrille::device
