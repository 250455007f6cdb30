// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simt/engine.hpp"

#include <cstdint>

/// Model of common/ptx/wgmma.cuh.
namespace quadrille::simt {

enum class WgmmaType { f16, f16_in_f16, bf16, tf32, s8, e4m3, e5m2 };
struct Wgmma {
  WgmmaType type;
  int n;
  bool a_mn_major;
  bool b_mn_major;
  bool accumulate;
  bool operator==(Wgmma const&) const = default;
};

/// The address of an operand as descriptors have it.
std::uint64_t matrix_address(void const* shared, Place place);
/// A comes from the descriptor, or from registers where these are given. `d` is NaN from here to
/// the wait.
void wgmma(Wgmma const& operation, void* d, std::uint64_t a, unsigned const* a_registers,
           std::uint64_t b, Place place);
void wgmma_fence(Place place);
void wgmma_commit(Place place);
void wgmma_wait(unsigned newest, Place place);

}  // namespace quadrille::simt
