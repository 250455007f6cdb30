// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/tensor_map.hpp"
#include "simt/engine.hpp"

#include <cstdint>

/// Models of the instructions in common/hopper.cuh.
namespace quadrille::simt::hopper {

/// An mbarrier; shared memory that was never written is not a valid one.
struct alignas(8) MBarrier {
  std::uint16_t count;    ///< arrivals of a phase; 0xFFFF: not initialised
  std::uint16_t pending;  ///< arrivals that the current phase still needs
  std::int32_t state;     ///< twice the bytes still to come, plus the parity of the phase
};
static_assert(sizeof(MBarrier) == 8);

void mbarrier_init(MBarrier* barrier, unsigned count, Place place);
void mbarrier_inval(MBarrier* barrier, Place place);
void mbarrier_arrive(MBarrier* barrier, unsigned count, Place place);
void mbarrier_expect_tx(MBarrier* barrier, unsigned bytes, Place place);
bool mbarrier_test(MBarrier* barrier, unsigned parity, Place place);
void mbarrier_wait(MBarrier* barrier, unsigned parity, Place place);
void fence_mbarrier_init();
void fence_proxy_async();

/// Loads complete at a random moment; stores when they are issued or when they are waited for.
void bulk_load(void* shared, void const* global, unsigned bytes, MBarrier* barrier, Place place);
void bulk_store(void* global, void const* shared, unsigned bytes, Place place);
void bulk_reduce_add_f32(float* global, float const* shared, unsigned bytes, Place place);
void bulk_commit();
void bulk_wait(unsigned newest);
void bulk_prefetch(void const* global, unsigned bytes, Place place);
void tensor_load(void* shared, ptx::TensorMap const& map, int row, int column, MBarrier* barrier,
                 Place place);
void tensor_store(ptx::TensorMap const& map, int row, int column, void const* shared, bool add,
                  Place place);

enum class WgmmaType { f16, f16_in_f16, bf16, tf32 };
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

}  // namespace quadrille::simt::hopper
