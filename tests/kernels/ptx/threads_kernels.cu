// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/threads.cuh"
#include "kernels/ptx/threads_kernels.hpp"

namespace quadrille::test {
namespace {

constexpr unsigned kWarp = 32;

__global__ void ptx_special_kernel(Special* out) {
  Special seen{};
  seen.lane = ptx::laneid();
  seen.elected = ptx::elect_one();
  if (seen.lane == 5 || seen.lane == 9) {
    seen.elected_of_some = ptx::elect_one(1U << 5 | 1U << 9);
  }
  seen.multiprocessor = ptx::smid();
  std::uint64_t const cycles = ptx::clock64(), time = ptx::globaltimer();
  ptx::nanosleep(10000);
  seen.cycles_advance = ptx::clock64() > cycles;
  seen.time_advances = ptx::globaltimer() >= time;
  out[threadIdx.x] = seen;
}

__global__ void __launch_bounds__(384, 1) ptx_registers_kernel(int* out) {
  ptx::griddepcontrol_wait();
  if (threadIdx.x < 128) {
    ptx::setmaxnreg_dec<40>();
    out[threadIdx.x] = static_cast<int>(threadIdx.x);
  } else {
    ptx::setmaxnreg_inc<232>();
    out[threadIdx.x] = static_cast<int>(threadIdx.x);
  }
  ptx::griddepcontrol_launch_dependents();
}

__global__ void ptx_bits_kernel(std::uint32_t a, std::uint32_t b, std::uint32_t const* selectors,
                                std::uint32_t* out, int n) {
  int const i = static_cast<int>(threadIdx.x);
  if (i >= n) return;
  out[i] = ptx::prmt(a, b, selectors[i]);
  out[n + i] = ptx::lop3<0x96>(a, b, selectors[i]);
  out[2 * n + i] = ptx::lop3<0xE8>(a, b, selectors[i]);
  out[3 * n + i] = ptx::lop3<0x1B>(a, b, selectors[i]);
}

__global__ void ptx_powers_kernel(float const* x, float* out, int n) {
  int const i = static_cast<int>(threadIdx.x);
  if (i < n) out[i] = ptx::ex2(x[i]);
}

}  // namespace

void launch_special(Special* out, device::StreamView stream) {
  QUAD_LAUNCH(ptx_special_kernel, 1, 64, 0, stream, out);
}

void launch_registers(int* out, device::StreamView stream) {
  QUAD_LAUNCH(ptx_registers_kernel, 1, 384, 0, stream, out);
}

void launch_bits(std::uint32_t a, std::uint32_t b, std::uint32_t const* selectors,
                 std::uint32_t* out, int n, device::StreamView stream) {
  QUAD_LAUNCH(ptx_bits_kernel, 1, kWarp, 0, stream, a, b, selectors, out, n);
}

void launch_powers(float const* x, float* out, int n, device::StreamView stream) {
  QUAD_LAUNCH(ptx_powers_kernel, 1, kWarp, 0, stream, x, out, n);
}

}  // namespace quadrille::test
