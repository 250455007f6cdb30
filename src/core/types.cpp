// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/types.hpp"

namespace quadrille::core {

double epsilon_of(DataType type) {
  switch (type) {
    case DataType::f64: return 0x1p-52;
    case DataType::f32: return 0x1p-23;
    case DataType::f16: return 0x1p-10;
    case DataType::bf16: return 0x1p-7;
    case DataType::e4m3: return 0x1p-3;
    case DataType::e5m2: return 0x1p-2;
    case DataType::i64:
    case DataType::i32:
    case DataType::i8: return 0;
  }
  return 0;
}

double epsilon_of(Compute compute) {
  switch (compute) {
    case Compute::f64: return epsilon_of(DataType::f64);
    case Compute::f32:
    case Compute::tf32:
    case Compute::bf16: return epsilon_of(DataType::f32);
    case Compute::f16: return epsilon_of(DataType::f16);
    case Compute::automatic:  // these depend on the type
    case Compute::emulated:
    case Compute::i64:
    case Compute::i32: return 0;
  }
  return 0;
}

double least_of(DataType type) {
  switch (type) {
    case DataType::f64: return 0x1p-1074;
    case DataType::f32: return 0x1p-149;
    case DataType::f16: return 0x1p-24;
    case DataType::bf16: return 0x1p-133;
    case DataType::e4m3: return 0x1p-9;
    case DataType::e5m2: return 0x1p-16;
    case DataType::i64:
    case DataType::i32:
    case DataType::i8: return 0;
  }
  return 0;
}

}  // namespace quadrille::core
