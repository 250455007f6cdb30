// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/requests.hpp"
#include "simt/engine.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// What warps ask of memory: requests, the 32-byte sectors that those of global memory touch, and the
/// wavefronts that those of shared memory need, as a profiler counts them, on request. Kernels
/// compiled with -fsanitize=thread report each access before they make it, as do the models of cp.async,
/// ldmatrix, stmatrix and of loads and stores with hints. Not counted: atomics, wmma fragments, and
/// what the asynchronous proxy moves (bulk and tensor copies, wgmma).
///
/// Threads run one after the other, so that a warp's instruction is put together afterwards: of
/// accesses by the same instruction, the k-th of each lane since the last barrier of the whole block
/// are one request. That is wrong only where lanes skip an instruction in different rounds of a loop
/// without barriers. Instructions are those of g++: nvcc may load neighbouring elements together
/// that the source loads one by one.
///
/// Shared memory has 32 banks of 4 bytes. Lanes with up to 4 bytes are served together, those with 8
/// by half warps, with 16 by quarters (8 lanes, as rows of ldmatrix); each such part with an active
/// lane takes as many wavefronts as the bank with most different words has words.
namespace quadrille::simt::traffic {

using kernels::Accesses, kernels::Requests;

struct KernelCounts {
  std::string kernel;
  Accesses counts;
};

/// Counts all launches until stop(), which returns one entry for each.
void start();
std::vector<KernelCounts> stop();

enum class Kind { load, store };

extern bool counting;
/// An access by the current thread; `site` is the same for all executions of an instruction.
void record(void const* p, std::size_t bytes, Kind kind, std::uint64_t site);

inline void access(void const* p, std::size_t bytes, Kind kind, std::uint64_t site) {
  if (counting) [[unlikely]]
    record(p, bytes, kind, site);
}
/// The same by a model, for its caller.
inline void access(void const* p, std::size_t bytes, Kind kind, Place place) {
  if (counting) [[unlikely]] {
    std::uint64_t const site = reinterpret_cast<std::uintptr_t>(place.file_name()) * 4099 +
                               (std::uint64_t{place.line()} << 12) + place.column();
    record(p, bytes, kind, site);
  }
}

// The engine tells what happens.
void launch_begins(Launch const& launch);
/// All threads of a block have met, or have ended.
void block_meets(Block const& block);

}  // namespace quadrille::simt::traffic
