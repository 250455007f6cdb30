// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Keys and values of tokens to their slots or from there, or blocks to others, by warps in words of 16 bytes.
///
///   write  k[row of slot places[i], head h] = token_k[i][h]         and v likewise, and read the other way
///   copy   k[block places[2 i + 1]] = k[block places[2 i]]          and v likewise, as swaps
///
/// Technique    a warp has a token, or kWords * 32 words of a block, of k and of v: it reads the place
///              once, then every lane has 2 kWords loads on their way before its first store. Sizes
///              are powers of two, so that shifts take the place of divisions. Swaps read or write
///              page-locked memory of the host as any other
/// Before       by_element
/// Shapes       any heads, blocks and places; tensors aligned to 16 bytes
/// Work         each element is read and written once
/// Launch       256 threads, a warp for each token or part of a block
/// Accuracy     exact
#include "common/overlap.cuh"
#include "kv_cache/kv_cache.hpp"

#include <bit>

namespace quadrille::kernels::kv_cache {
namespace {

#ifdef QUAD_KERNELS

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kWords = 4;  // of a lane, of k and of v, at a time

struct Tensors {
  uint4 *k, *v;
  uint4 const *from_k, *from_v;
  std::int64_t ld_k, ld_v;  ///< words from a token to the next
};

/// Of a warp: lane's words first + lane, first + lane + 32 ... of k and v, those below `count`, from where
/// from(word) says to where to(word) does.
template <class From, class To>
__device__ void move(uint4* k, uint4* v, uint4 const* from_k, uint4 const* from_v, int first,
                     int count, From const& from, To const& to) {
  int const lane = static_cast<int>(threadIdx.x) % 32;
  uint4 words_k[kWords], words_v[kWords];
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    int const word = first + w * 32 + lane;
    if (word >= count) continue;
    std::int64_t const at = from(word);
    words_k[w] = from_k[at];
    words_v[w] = from_v[at];
  }
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    int const word = first + w * 32 + lane;
    if (word >= count) continue;
    std::int64_t const at = to(word);
    k[at] = words_k[w];
    v[at] = words_v[w];
  }
}

/// `head_shift` and `block_shift`: of the words of a head's row, and of the tokens of a block.
template <bool kReads>
__global__ void __launch_bounds__(kThreads)
    kv_cache_token_warp_kernel(Tensors all, std::int32_t const* slots, int tokens, int kv_heads,
                               int head_shift, int block_shift) {
  begin_behind();
  int const token = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  if (token >= tokens) return;
  int const slot = slots[token], each = kv_heads << head_shift;
  std::int64_t const block = slot >> block_shift, row = slot & ((1 << block_shift) - 1);
#pragma unroll 1
  for (int first = 0; first < each; first += kWords * 32) {
    auto const in_pool = [&](int word) {
      int const head = word >> head_shift, at = word & ((1 << head_shift) - 1);
      return ((((block * kv_heads + head) << block_shift) + row) << head_shift) + at;
    };
    auto const in_row = [](int word) { return std::int64_t{word}; };
    std::int64_t const k = token * all.ld_k, v = token * all.ld_v;
    if constexpr (kReads) {
      move(all.k + k, all.v + v, all.from_k, all.from_v, first, each, in_pool, in_row);
    } else {
      move(all.k, all.v, all.from_k + k, all.from_v + v, first, each, in_row, in_pool);
    }
  }
}

/// `each`: words of a block; `parts`: of it.
__global__ void __launch_bounds__(kThreads)
    kv_cache_copy_warp_kernel(Tensors all, std::int32_t const* pairs, std::int64_t units, int parts,
                              int each) {
  begin_behind();
  std::int64_t const unit = std::int64_t{blockIdx.x} * kWarps + static_cast<int>(threadIdx.x) / 32;
  if (unit >= units) return;
  std::int64_t const pair = unit / parts;
  std::int64_t const from = std::int64_t{pairs[2 * pair]} * each,
                     to = std::int64_t{pairs[2 * pair + 1]} * each;
  move(
      all.k, all.v, all.from_k, all.from_v, static_cast<int>(unit % parts) * kWords * 32, each,
      [&](int word) { return from + word; }, [&](int word) { return to + word; });
}

int shift_of(std::int64_t power) { return std::countr_zero(static_cast<std::uint64_t>(power)); }

void launch(Problem const& p, device::StreamView stream) {
  if (p.count == 0) return;
  Ends const ends = ends_of(p);
  auto const in_words = [&](std::int64_t elements) {
    return elements * static_cast<std::int64_t>(core::size_of(p.k.type)) / 16;
  };
  Tensors const all{static_cast<uint4*>(ends.to_k.data),
                    static_cast<uint4*>(ends.to_v.data),
                    static_cast<uint4 const*>(ends.from_k.data),
                    static_cast<uint4 const*>(ends.from_v.data),
                    in_words(p.token_k.ld),
                    in_words(p.token_v.ld)};
  std::int64_t const words = in_words(p.shape.head_size);
  auto const shape = [&](std::int64_t warps) {
    return LaunchShape{.grid = static_cast<unsigned>((warps + kWarps - 1) / kWarps),
                       .block = kThreads,
                       .overlaps_previous = can_overlap(stream)};
  };
  auto const launch_of_tokens = [&]<bool kReads>() {
    QUAD_LAUNCH((kv_cache_token_warp_kernel<kReads>), shape(p.count), stream, all, p.places,
                static_cast<int>(p.count), static_cast<int>(p.shape.kv_heads), shift_of(words),
                shift_of(p.shape.block_size));
  };
  if (p.action == Action::write) {
    launch_of_tokens.template operator()<false>();
  } else if (p.action == Action::read) {
    launch_of_tokens.template operator()<true>();
  } else {
    std::int64_t const each = p.shape.rows_of_block() * words,
                       parts = (each + kWords * 32 - 1) / (kWords * 32);
    QUAD_LAUNCH(kv_cache_copy_warp_kernel, shape(p.count * parts), stream, all, p.places,
                p.count * parts, static_cast<int>(parts), static_cast<int>(each));
  }
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const by_warp{
    {.name = "by_warp",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.ld_bytes = 16, .alignment = 16},
     .preference = 10,
     .batch_invariant = true,
     .source = "own",
     .summary = "a token or part of a block for each warp, in words of 16 bytes"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::kv_cache
