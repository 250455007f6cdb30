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

}  // namespace quadrille::core
