// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/atomics.cuh"
#include "common/ptx/threads.cuh"
#include "kernels/ptx/atomics_kernels.hpp"

namespace quadrille::test {
namespace {

constexpr unsigned kWarp = 32;

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

__global__ void ptx_pairs_kernel(std::uint64_t* words, std::uint64_t* sums,
                                 std::uint32_t* tickets) {
  // Of the block that comes first in any order, so that the other waits for what is under way.
  QUAD_SHARED(std::uint32_t, ticket);
  if (threadIdx.x == 0) ticket = ptx::atomic_add_relaxed_gpu(tickets, 1);
  __syncthreads();
  std::uint64_t const i = threadIdx.x, number = (i + 1) << 32;
  if (ticket == 0) {
    ptx::store_pair_relaxed_sys(words + 2 * i, number | i, number | 1000);
    return;
  }
  std::uint64_t low, high;
  do {
    ptx::load_pair_relaxed_sys(words + 2 * i, low, high);
  } while (low >> 32 != i + 1 || high >> 32 != i + 1);
  sums[i] = (low & 0xFFFFFFFF) + (high & 0xFFFFFFFF);
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

}  // namespace

void launch_atomics(AtomicWords* words, AtomicWords* old, int threads, device::StreamView stream) {
  QUAD_LAUNCH(ptx_atomics_kernel, 1, static_cast<unsigned>(threads), 0, stream, words, old);
}

void launch_load_store(std::uint32_t word, double real, std::uint32_t* words, double* reals,
                       device::StreamView stream) {
  QUAD_LAUNCH(ptx_load_store_kernel<std::uint32_t>, 1, 1, 0, stream, word, words);
  QUAD_LAUNCH(ptx_load_store_kernel<double>, 1, 1, 0, stream, real, reals);
}

void launch_pairs(std::uint64_t* words, std::uint64_t* sums, std::uint32_t* tickets,
                  device::StreamView stream) {
  QUAD_LAUNCH(ptx_pairs_kernel, 2, 64, 0, stream, words, sums, tickets);
}

void launch_message(Message message, std::uint32_t* words, int* data, int* out,
                    device::StreamView stream) {
  QUAD_LAUNCH(ptx_message_kernel, 2, 64, 0, stream, message, words, data, out);
}

void launch_message_in_block(bool shared_flag, std::uint32_t* flag, int* data, int* out,
                             device::StreamView stream) {
  QUAD_LAUNCH(ptx_message_in_block_kernel, 1, 64, 0, stream, shared_flag, flag, data, out);
}

}  // namespace quadrille::test
