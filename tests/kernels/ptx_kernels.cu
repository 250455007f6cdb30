// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// Fragments are filled here by the formulas of the PTX manual, not by the functions of matrix.cuh that
// its models use.

#include "common/ptx/atomics.cuh"
#include "common/ptx/barriers.cuh"
#include "common/ptx/copies.cuh"
#include "common/ptx/matrix.cuh"
#include "common/ptx/threads.cuh"
#include "common/simt.cuh"
#include "kernels/ptx_kernels.hpp"

namespace quadrille::test {
namespace {

constexpr unsigned kWarp = 32;

template <int kBytes>
__global__ void ptx_cp_async_kernel(unsigned char const* from, unsigned char const* invalid_from,
                                    unsigned char* to, int from_shift, int to_shift) {
  QUAD_SHARED(unsigned char, copies, [2][kWarp * kBytes + 16]);
  int const i = static_cast<int>(threadIdx.x);
  from += from_shift;
  ptx::cp_async<kBytes>(&copies[0][to_shift + kBytes * i], from + kBytes * i);
  ptx::cp_async_commit();
  if (i % 3 == 0) {
    ptx::cp_async<kBytes>(&copies[1][kBytes * i], invalid_from, false);
  } else {
    ptx::cp_async<kBytes>(&copies[1][kBytes * i], from + kBytes * (32 + i), true);
  }
  ptx::cp_async_commit();
  ptx::cp_async_wait<1>();
  __syncthreads();
  // Another thread's copy.
  for (int j = 0; j < kBytes; ++j) {
    int const byte = kBytes * (31 - i) + j;
    to[byte] = copies[0][to_shift + byte];
  }
  if (kBytes == 16) {
    ptx::cp_async_wait_all();
  } else {
    ptx::cp_async_wait<0>();
  }
  __syncthreads();
  for (int j = 0; j < kBytes; ++j) {
    int const byte = kBytes * (31 - i) + j;
    to[32 * kBytes + byte] = copies[1][byte];
  }
}

constexpr int kPitch = 24;  // elements, so that rows are aligned to 16 bytes and apart

template <int kCount>
__device__ int row_of_lane(int lane) {
  return lane < 8 * kCount ? (8 * kCount - 1 - lane) * kPitch : 1;  // of the rest it is not used
}

template <int kCount, bool kTransposed>
__global__ void ptx_ldmatrix_kernel(std::uint16_t const* rows, std::uint32_t* registers,
                                    int shift) {
  QUAD_SHARED(std::uint16_t, shared, [kWarp * kPitch]);
  int const lane = static_cast<int>(threadIdx.x);
  for (int j = 0; j < 8; ++j) shared[lane * kPitch + j] = rows[lane * 8 + j];
  __syncthreads();
  std::uint32_t r[kCount];
  std::uint16_t const* const row = &shared[row_of_lane<kCount>(lane) + shift];
  if constexpr (kCount == 1) {
    if constexpr (kTransposed) {
      ptx::ldmatrix_x1_trans(r, row);
    } else {
      ptx::ldmatrix_x1(r, row);
    }
  } else if constexpr (kCount == 2) {
    if constexpr (kTransposed) {
      ptx::ldmatrix_x2_trans(r, row);
    } else {
      ptx::ldmatrix_x2(r, row);
    }
  } else {
    if constexpr (kTransposed) {
      ptx::ldmatrix_x4_trans(r, row);
    } else {
      ptx::ldmatrix_x4(r, row);
    }
  }
  for (int i = 0; i < kCount; ++i) registers[lane * kCount + i] = r[i];
}

template <int kCount, bool kTransposed>
__global__ void ptx_stmatrix_kernel(std::uint32_t const* registers, std::uint16_t* rows,
                                    int shift) {
  QUAD_SHARED(std::uint16_t, shared, [kWarp * kPitch]);
  int const lane = static_cast<int>(threadIdx.x);
  for (int j = 0; j < 8; ++j) shared[lane * kPitch + j] = 0xFFFF;
  __syncthreads();
  std::uint32_t r[kCount];
  for (int i = 0; i < kCount; ++i) r[i] = registers[lane * kCount + i];
  std::uint16_t* const row = &shared[row_of_lane<kCount>(lane) + shift];
  if constexpr (kCount == 1) {
    if constexpr (kTransposed) {
      ptx::stmatrix_x1_trans(row, r);
    } else {
      ptx::stmatrix_x1(row, r);
    }
  } else if constexpr (kCount == 2) {
    if constexpr (kTransposed) {
      ptx::stmatrix_x2_trans(row, r);
    } else {
      ptx::stmatrix_x2(row, r);
    }
  } else {
    if constexpr (kTransposed) {
      ptx::stmatrix_x4_trans(row, r);
    } else {
      ptx::stmatrix_x4(row, r);
    }
  }
  __syncthreads();
  for (int j = 0; j < 8; ++j) rows[lane * 8 + j] = shared[lane * kPitch + j];
}

__device__ std::uint32_t pair(std::uint16_t const* p) {
  return p[0] | static_cast<std::uint32_t>(p[1]) << 16;
}

template <bool kBf16>
__global__ void ptx_mma_16_bit_kernel(std::uint16_t const* a, std::uint16_t const* b,
                                      float const* c, float* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  std::uint32_t const a_pairs[4] = {pair(a + g * 16 + 2 * t), pair(a + (g + 8) * 16 + 2 * t),
                                    pair(a + g * 16 + 2 * t + 8),
                                    pair(a + (g + 8) * 16 + 2 * t + 8)};
  std::uint32_t const b_pairs[2] = {pair(b + g * 16 + 2 * t), pair(b + g * 16 + 2 * t + 8)};
  int const places[4] = {g * 8 + 2 * t, g * 8 + 2 * t + 1, (g + 8) * 8 + 2 * t,
                         (g + 8) * 8 + 2 * t + 1};
  float sum[4] = {c[places[0]], c[places[1]], c[places[2]], c[places[3]]};
  for (int twice = 0; twice < 2; ++twice) {
    if constexpr (kBf16) {
      ptx::mma_m16n8k16_bf16(sum, a_pairs, b_pairs);
    } else {
      ptx::mma_m16n8k16_f16(sum, a_pairs, b_pairs);
    }
  }
  for (int i = 0; i < 4; ++i) d[places[i]] = sum[i];
}

__global__ void ptx_mma_f16_f16_kernel(std::uint16_t const* a, std::uint16_t const* b,
                                       std::uint16_t const* c, std::uint16_t* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  std::uint32_t const a_pairs[4] = {pair(a + g * 16 + 2 * t), pair(a + (g + 8) * 16 + 2 * t),
                                    pair(a + g * 16 + 2 * t + 8),
                                    pair(a + (g + 8) * 16 + 2 * t + 8)};
  std::uint32_t const b_pairs[2] = {pair(b + g * 16 + 2 * t), pair(b + g * 16 + 2 * t + 8)};
  std::uint32_t sum[2] = {pair(c + g * 8 + 2 * t), pair(c + (g + 8) * 8 + 2 * t)};
  for (int twice = 0; twice < 2; ++twice) ptx::mma_m16n8k16_f16(sum, a_pairs, b_pairs);
  for (int i = 0; i < 2; ++i) {
    d[(g + 8 * i) * 8 + 2 * t] = static_cast<std::uint16_t>(sum[i]);
    d[(g + 8 * i) * 8 + 2 * t + 1] = static_cast<std::uint16_t>(sum[i] >> 16);
  }
}

template <int kK>
__global__ void ptx_mma_tf32_kernel(std::uint32_t const* a, std::uint32_t const* b, float const* c,
                                    float* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  std::uint32_t a_registers[kK / 2], b_registers[kK / 4];
  for (int step = 0; step < kK / 4; ++step) {
    a_registers[2 * step] = a[g * kK + t + 4 * step];
    a_registers[2 * step + 1] = a[(g + 8) * kK + t + 4 * step];
    b_registers[step] = b[(t + 4 * step) * 8 + g];
  }
  int const places[4] = {g * 8 + 2 * t, g * 8 + 2 * t + 1, (g + 8) * 8 + 2 * t,
                         (g + 8) * 8 + 2 * t + 1};
  float sum[4] = {c[places[0]], c[places[1]], c[places[2]], c[places[3]]};
  for (int twice = 0; twice < 2; ++twice) {
    if constexpr (kK == 8) {
      ptx::mma_m16n8k8_tf32(sum, a_registers, b_registers);
    } else {
      ptx::mma_m16n8k4_tf32(sum, a_registers, b_registers);
    }
  }
  for (int i = 0; i < 4; ++i) d[places[i]] = sum[i];
}

template <int kM, int kK>
__global__ void ptx_mma_f64_kernel(double const* a, double const* b, double const* c, double* d) {
  int const g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  constexpr int kHalves = kM / 8;
  double a_registers[kHalves * kK / 4], b_registers[kK / 4], sum[2 * kHalves];
  for (int step = 0; step < kK / 4; ++step) {
    for (int half = 0; half < kHalves; ++half) {
      a_registers[kHalves * step + half] = a[(g + 8 * half) * kK + t + 4 * step];
    }
    b_registers[step] = b[(t + 4 * step) * 8 + g];
  }
  for (int i = 0; i < 2 * kHalves; ++i) sum[i] = c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2];
  for (int twice = 0; twice < 2; ++twice) {
    if constexpr (kM == 8) {
      ptx::mma_m8n8k4_f64(sum, a_registers, b_registers);
    } else if constexpr (kK == 4) {
      ptx::mma_m16n8k4_f64(sum, a_registers, b_registers);
    } else if constexpr (kK == 8) {
      ptx::mma_m16n8k8_f64(sum, a_registers, b_registers);
    } else {
      ptx::mma_m16n8k16_f64(sum, a_registers, b_registers);
    }
  }
  for (int i = 0; i < 2 * kHalves; ++i) d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = sum[i];
}

__global__ void ptx_to_tf32_kernel(float const* values, std::uint32_t* rounded, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) rounded[i] = ptx::to_tf32(values[i]);
}

template <class ALayout, class BLayout, class Sum>
__global__ void ptx_wmma_kernel(WmmaLayout layout, __half const* a, __half const* b, Sum const* c,
                                Sum* d, bool twice) {
  namespace wmma = ptx::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, ALayout> a_part;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, BLayout> b_part;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
  auto const c_layout = layout.c_by_rows ? wmma::mem_row_major : wmma::mem_col_major;
  if (c != nullptr) {
    wmma::load_matrix_sync(sum, c, layout.c_stride, c_layout);
  } else {
    wmma::fill_fragment(sum, static_cast<Sum>(3.0F));
  }
  if (twice) {
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
  }
  wmma::load_matrix_sync(a_part, a, layout.a_stride);
  wmma::load_matrix_sync(b_part, b, layout.b_stride);
  wmma::mma_sync(sum, a_part, b_part, sum);
  wmma::store_matrix_sync(d, sum, layout.c_stride, c_layout);
}

template <class T>
__global__ void ptx_streaming_kernel(T const* from, T* to, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  ptx::prefetch_l2(from + i);
  ptx::prefetch_l1(from + i);
  T const value = i < n / 2 ? ptx::load_streaming(from + i) : ptx::load_evict_first(from + i);
  ptx::store_streaming(to + i, value);
}

__global__ void ptx_atomics_kernel(AtomicWords* words, AtomicWords* olds) {
  unsigned const i = threadIdx.x;
  int const below = static_cast<int>(i) - 3;
  AtomicWords& w = *words;
  AtomicWords& old = olds[i];
#define QUAD_EACH(k, order, scope)                                                          \
  old.add_u32[k] = ptx::atomic_add_##order##_##scope(&w.add_u32[k], i);                     \
  old.add_s32[k] = ptx::atomic_add_##order##_##scope(&w.add_s32[k], -static_cast<int>(i));  \
  old.add_u64[k] = ptx::atomic_add_##order##_##scope(&w.add_u64[k], i);                     \
  old.add_f32[k] = ptx::atomic_add_##order##_##scope(&w.add_f32[k], static_cast<float>(i)); \
  old.add_f64[k] = ptx::atomic_add_##order##_##scope(&w.add_f64[k], i);                     \
  old.min_u32[k] = ptx::atomic_min_##order##_##scope(&w.min_u32[k], i);                     \
  old.max_u32[k] = ptx::atomic_max_##order##_##scope(&w.max_u32[k], i);                     \
  old.min_s32[k] = ptx::atomic_min_##order##_##scope(&w.min_s32[k], below);                 \
  old.max_s32[k] = ptx::atomic_max_##order##_##scope(&w.max_s32[k], below);                 \
  old.min_u64[k] = ptx::atomic_min_##order##_##scope(&w.min_u64[k], i);                     \
  old.max_u64[k] = ptx::atomic_max_##order##_##scope(&w.max_u64[k], i);                     \
  old.min_s64[k] = ptx::atomic_min_##order##_##scope(&w.min_s64[k], below);                 \
  old.max_s64[k] = ptx::atomic_max_##order##_##scope(&w.max_s64[k], below);                 \
  old.exchange_f32[k] =                                                                     \
      ptx::atomic_exchange_##order##_##scope(&w.exchange_f32[k], static_cast<float>(i));    \
  old.exchange_u64[k] = ptx::atomic_exchange_##order##_##scope(&w.exchange_u64[k], i);      \
  old.swap_u32[k] = ptx::atomic_compare_and_swap_##order##_##scope(&w.swap_u32[k], 7, i);   \
  old.swap_f64[k] = ptx::atomic_compare_and_swap_##order##_##scope(&w.swap_f64[k], 7.0, i);
#define QUAD_EACH_RED(k, order, scope)                                      \
  ptx::red_add_##order##_##scope(&w.red_add_u32[k], i);                     \
  ptx::red_add_##order##_##scope(&w.red_add_u64[k], i);                     \
  ptx::red_add_##order##_##scope(&w.red_add_f32[k], static_cast<float>(i)); \
  ptx::red_add_##order##_##scope(&w.red_add_f64[k], i);                     \
  ptx::red_min_##order##_##scope(&w.red_min_s32[k], below);                 \
  ptx::red_max_##order##_##scope(&w.red_max_u32[k], i);                     \
  ptx::red_min_##order##_##scope(&w.red_min_u64[k], i);                     \
  ptx::red_max_##order##_##scope(&w.red_max_s64[k], below);
#define QUAD_EACH_SCOPE(n, scope)      \
  QUAD_EACH(4 * n, relaxed, scope)     \
  QUAD_EACH(4 * n + 1, acquire, scope) \
  QUAD_EACH(4 * n + 2, release, scope) \
  QUAD_EACH(4 * n + 3, acq_rel, scope) \
  QUAD_EACH_RED(2 * n, relaxed, scope) \
  QUAD_EACH_RED(2 * n + 1, release, scope)
  QUAD_EACH_SCOPE(0, cta)
  QUAD_EACH_SCOPE(1, gpu)
  QUAD_EACH_SCOPE(2, sys)
#undef QUAD_EACH_SCOPE
#undef QUAD_EACH_RED
#undef QUAD_EACH
}

template <class T>
__global__ void ptx_load_store_kernel(T value, T* words) {
  QUAD_SHARED(T, flag);
#define QUAD_EACH(n, scope)                                        \
  ptx::store_relaxed_##scope(&flag, value);                        \
  words[2 * n] = ptx::load_relaxed_##scope(&flag);                 \
  ptx::store_release_##scope(&words[2 * n + 6], value);            \
  words[2 * n + 1] = ptx::load_acquire_##scope(&words[2 * n + 6]); \
  ptx::store_relaxed_##scope(&words[2 * n + 7], value);
  QUAD_EACH(0, cta)
  QUAD_EACH(1, gpu)
  QUAD_EACH(2, sys)
#undef QUAD_EACH
}

__global__ void ptx_message_kernel(Message message, std::uint32_t* words, int* data, int* out) {
  QUAD_SHARED(std::uint32_t, ticket);
  std::uint32_t* const flag = &words[1];
  int const i = static_cast<int>(threadIdx.x);
  if (i == 0) ticket = ptx::atomic_add_relaxed_gpu(&words[0], 1);
  __syncthreads();
  if (ticket == 0) {
    data[i] = 100 + i;
    __syncthreads();  // one thread speaks for all
    if (i != 0) return;
    switch (message) {
      case Message::release_acquire_gpu: ptx::store_release_gpu(flag, 1); break;
      case Message::release_acquire_sys: ptx::store_release_sys(flag, 1); break;
      case Message::fences_gpu:
        ptx::fence_acq_rel_gpu();
        ptx::red_add_relaxed_gpu(flag, 1);
        break;
      case Message::exchange_acq_rel_gpu: ptx::atomic_exchange_acq_rel_gpu(flag, 1); break;
      case Message::relaxed: ptx::store_relaxed_gpu(flag, 1); break;
      case Message::release_acquire_cta: ptx::store_release_cta(flag, 1); break;
    }
    return;
  }
  if (i == 0) {
    switch (message) {
      case Message::release_acquire_gpu:
        while (ptx::load_acquire_gpu(flag) == 0) ptx::nanosleep(100);
        break;
      case Message::release_acquire_sys:
        while (ptx::load_acquire_sys(flag) == 0) {
        }
        break;
      case Message::fences_gpu:
        while (ptx::load_relaxed_gpu(flag) == 0) {
        }
        ptx::fence_acq_rel_gpu();
        break;
      case Message::exchange_acq_rel_gpu:
        while (ptx::atomic_compare_and_swap_acq_rel_gpu(flag, 1, 0) == 0) {
        }
        break;
      case Message::relaxed:
        while (ptx::load_relaxed_gpu(flag) == 0) {
        }
        break;
      case Message::release_acquire_cta:
        while (ptx::load_acquire_cta(flag) == 0) {
        }
        break;
    }
  }
  __syncthreads();
  out[i] = 2 * data[i];
}

__global__ void ptx_message_in_block_kernel(bool shared_flag, std::uint32_t* global_flag, int* data,
                                            int* out) {
  QUAD_SHARED(std::uint32_t, flag_here);
  int const lane = static_cast<int>(threadIdx.x % kWarp);
  std::uint32_t* const flag = shared_flag ? &flag_here : global_flag;
  if (threadIdx.x == 0) flag_here = 0;
  __syncthreads();
  if (threadIdx.x < kWarp) {
    data[lane] = 100 + lane;
    __syncwarp();
    if (lane == 0) ptx::store_release_cta(flag, 1);
  } else {
    if (lane == 0) {
      while (ptx::load_acquire_cta(flag) == 0) {
      }
    }
    __syncwarp();
    out[lane] = 2 * data[lane];
  }
}

__global__ void ptx_named_barriers_kernel(int const* in, int* out, int count) {
  constexpr int kFull = 1, kEmpty = 2;
  QUAD_SHARED(int, buffer, [kWarp]);
  int const lane = static_cast<int>(threadIdx.x % kWarp);
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x < kWarp) {
      if (round > 0) ptx::bar_sync(kEmpty, count);
      buffer[lane] = in[32 * round + lane];
      ptx::bar_arrive(kFull, count);
    } else {
      ptx::bar_sync(kFull, count);
      out[32 * round + lane] = 2 * buffer[31 - lane];
      if (round < 2) ptx::bar_arrive(kEmpty, count);
    }
  }
}

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

template <class Sum>
void launch_wmma_of(WmmaLayout const& layout, __half const* a, __half const* b, Sum const* c,
                    Sum* d, bool twice, device::StreamView stream) {
  using Row = ptx::wmma::row_major;
  using Column = ptx::wmma::col_major;
  auto const launch = [&](auto kernel) {
    QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, layout, a, b, c, d, twice);
  };
  if (layout.a_by_rows) {
    if (layout.b_by_rows) {
      launch(ptx_wmma_kernel<Row, Row, Sum>);
    } else {
      launch(ptx_wmma_kernel<Row, Column, Sum>);
    }
  } else {
    if (layout.b_by_rows) {
      launch(ptx_wmma_kernel<Column, Row, Sum>);
    } else {
      launch(ptx_wmma_kernel<Column, Column, Sum>);
    }
  }
}

}  // namespace

void launch_cp_async(int bytes, unsigned char const* from, unsigned char const* invalid_from,
                     unsigned char* to, int from_shift, int to_shift, device::StreamView stream) {
  auto const kernel = bytes == 4   ? ptx_cp_async_kernel<4>
                      : bytes == 8 ? ptx_cp_async_kernel<8>
                                   : ptx_cp_async_kernel<16>;
  QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, from, invalid_from, to, from_shift, to_shift);
}

void launch_ldmatrix(int count, bool transposed, std::uint16_t const* rows,
                     std::uint32_t* registers, int shift, device::StreamView stream) {
  auto const plain = count == 1   ? ptx_ldmatrix_kernel<1, false>
                     : count == 2 ? ptx_ldmatrix_kernel<2, false>
                                  : ptx_ldmatrix_kernel<4, false>;
  auto const trans = count == 1   ? ptx_ldmatrix_kernel<1, true>
                     : count == 2 ? ptx_ldmatrix_kernel<2, true>
                                  : ptx_ldmatrix_kernel<4, true>;
  QUAD_LAUNCH((transposed ? trans : plain), 1, kWarp, 0, stream, rows, registers, shift);
}

void launch_stmatrix(int count, bool transposed, std::uint32_t const* registers,
                     std::uint16_t* rows, int shift, device::StreamView stream) {
  auto const plain = count == 1   ? ptx_stmatrix_kernel<1, false>
                     : count == 2 ? ptx_stmatrix_kernel<2, false>
                                  : ptx_stmatrix_kernel<4, false>;
  auto const trans = count == 1   ? ptx_stmatrix_kernel<1, true>
                     : count == 2 ? ptx_stmatrix_kernel<2, true>
                                  : ptx_stmatrix_kernel<4, true>;
  QUAD_LAUNCH((transposed ? trans : plain), 1, kWarp, 0, stream, registers, rows, shift);
}

void launch_mma_f16(std::uint16_t const* a, std::uint16_t const* b, float const* c, float* d,
                    device::StreamView stream) {
  QUAD_LAUNCH(ptx_mma_16_bit_kernel<false>, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_f16_f16(std::uint16_t const* a, std::uint16_t const* b, std::uint16_t const* c,
                        std::uint16_t* d, device::StreamView stream) {
  QUAD_LAUNCH(ptx_mma_f16_f16_kernel, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_bf16(std::uint16_t const* a, std::uint16_t const* b, float const* c, float* d,
                     device::StreamView stream) {
  QUAD_LAUNCH(ptx_mma_16_bit_kernel<true>, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_tf32(int k, std::uint32_t const* a, std::uint32_t const* b, float const* c,
                     float* d, device::StreamView stream) {
  auto const kernel = k == 4 ? ptx_mma_tf32_kernel<4> : ptx_mma_tf32_kernel<8>;
  QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_mma_f64(int m, int k, double const* a, double const* b, double const* c, double* d,
                    device::StreamView stream) {
  auto const kernel = m == 8   ? ptx_mma_f64_kernel<8, 4>
                      : k == 4 ? ptx_mma_f64_kernel<16, 4>
                      : k == 8 ? ptx_mma_f64_kernel<16, 8>
                               : ptx_mma_f64_kernel<16, 16>;
  QUAD_LAUNCH(kernel, 1, kWarp, 0, stream, a, b, c, d);
}

void launch_to_tf32(float const* values, std::uint32_t* rounded, int n, device::StreamView stream) {
  QUAD_LAUNCH(ptx_to_tf32_kernel, static_cast<unsigned>((n + 127) / 128), 128, 0, stream, values,
              rounded, n);
}

void launch_wmma(WmmaLayout const& layout, std::uint16_t const* a, std::uint16_t const* b,
                 float const* c, float* d, bool twice, device::StreamView stream) {
  launch_wmma_of(layout, reinterpret_cast<__half const*>(a), reinterpret_cast<__half const*>(b), c,
                 d, twice, stream);
}

void launch_wmma(WmmaLayout const& layout, std::uint16_t const* a, std::uint16_t const* b,
                 std::uint16_t const* c, std::uint16_t* d, bool twice, device::StreamView stream) {
  launch_wmma_of(layout, reinterpret_cast<__half const*>(a), reinterpret_cast<__half const*>(b),
                 reinterpret_cast<__half const*>(c), reinterpret_cast<__half*>(d), twice, stream);
}

void launch_streaming(int bytes, unsigned char const* from, unsigned char* to, int n,
                      device::StreamView stream) {
  auto const launch = [&]<class T>(T const*) {
    QUAD_LAUNCH(ptx_streaming_kernel<T>, static_cast<unsigned>((n + 63) / 64), 64, 0, stream,
                reinterpret_cast<T const*>(from), reinterpret_cast<T*>(to), n);
  };
  if (bytes == 4) {
    launch(static_cast<float const*>(nullptr));
  } else if (bytes == 8) {
    launch(static_cast<double const*>(nullptr));
  } else {
    launch(static_cast<float4 const*>(nullptr));
  }
}

void launch_atomics(AtomicWords* words, AtomicWords* old, int threads, device::StreamView stream) {
  QUAD_LAUNCH(ptx_atomics_kernel, 1, static_cast<unsigned>(threads), 0, stream, words, old);
}

void launch_load_store(std::uint32_t word, double real, std::uint32_t* words, double* reals,
                       device::StreamView stream) {
  QUAD_LAUNCH(ptx_load_store_kernel<std::uint32_t>, 1, 1, 0, stream, word, words);
  QUAD_LAUNCH(ptx_load_store_kernel<double>, 1, 1, 0, stream, real, reals);
}

void launch_message(Message message, std::uint32_t* words, int* data, int* out,
                    device::StreamView stream) {
  QUAD_LAUNCH(ptx_message_kernel, 2, 64, 0, stream, message, words, data, out);
}

void launch_message_in_block(bool shared_flag, std::uint32_t* flag, int* data, int* out,
                             device::StreamView stream) {
  QUAD_LAUNCH(ptx_message_in_block_kernel, 1, 64, 0, stream, shared_flag, flag, data, out);
}

void launch_named_barriers(int const* in, int* out, int count, device::StreamView stream) {
  QUAD_LAUNCH(ptx_named_barriers_kernel, 1, 64, 0, stream, in, out, count);
}

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

}  // namespace quadrille::test
