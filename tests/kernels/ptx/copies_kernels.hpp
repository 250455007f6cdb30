// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cstdint>

/// Kernels around the instructions of common/ptx/copies.cuh. Pointers are to device memory.
namespace quadrille::test {

/// What a thread copies: 4, 8 or 16 bytes; 16 also with the hint for L2, and through L1.
struct CopySize {
  int bytes;
  bool l2_line = false, through_l1 = bytes < 16;
};

/// 32 threads copy so many bytes each to shared memory in two groups; of the second group
/// every third copy, from the first on, is not valid and names `invalid_from` as its source. The
/// shifts, in bytes, are added to the addresses. 64 times the bytes of a thread come back in `to`.
void launch_cp_async(CopySize size, unsigned char const* from, unsigned char const* invalid_from,
                     unsigned char* to, int from_shift, int to_shift, device::StreamView stream);

/// 32 threads copy, of pieces of 8 or 16 bytes, the first i % (bytes + 1) each by way of shared memory,
/// and zeros behind them; those that copy nothing name no source.
void launch_cp_async_first(int bytes, unsigned char const* from, unsigned char* to,
                           device::StreamView stream);

/// Copies n items of `bytes` (4, 8, 16) with prefetches; the first half is read with
/// load_streaming, the second with load_evict_first.
void launch_streaming(int bytes, unsigned char const* from, unsigned char* to, int n,
                      device::StreamView stream);

}  // namespace quadrille::test
