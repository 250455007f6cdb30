// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/exchange_device.cuh"

#ifdef QUAD_KERNELS

namespace quadrille::kernels::exchange {

/// Bytes that lane `lane` moves in step `step` of a message.
struct Stretch {
  std::size_t first, bytes;
};
__device__ inline Stretch stretch(Cut const& cut, std::size_t bytes, int lanes, int lane,
                                  std::uint32_t step) {
  std::size_t const first = (std::size_t{step} * unsigned(lanes) + unsigned(lane)) * cut.part;
  if (first >= bytes) return {0, 0};
  return {first, bytes - first < cut.part ? bytes - first : cut.part};
}

/// Groups that a thread loads before it stores the first.
constexpr unsigned kLoads = 4;

/// By all threads of a block.
__device__ inline void copy_stretch(void* to, void const* from, std::size_t bytes) {
  unsigned const n = static_cast<unsigned>((bytes + kGroupBytes - 1) / kGroupBytes);
  bool const is_plain =
      (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes) %
          kGroupBytes ==
      0;
  if (is_plain) {
    auto const* const in = static_cast<uint4 const*>(from);
    auto* const out = static_cast<uint4*>(to);
    for (unsigned first = threadIdx.x; first < n; first += kLoads * blockDim.x) {
      uint4 groups[kLoads];
#pragma unroll
      for (unsigned j = 0; j < kLoads; ++j) {
        unsigned const i = first + j * blockDim.x;
        if (i < n) groups[j] = in[i];
      }
#pragma unroll
      for (unsigned j = 0; j < kLoads; ++j) {
        unsigned const i = first + j * blockDim.x;
        if (i < n) out[i] = groups[j];
      }
    }
  } else {
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
      store_group(to, bytes, i, load_group<uint4>(from, bytes, i));
    }
  }
}

__device__ inline void* advance(void* p, std::size_t bytes) {
  return static_cast<std::byte*>(p) + bytes;
}
__device__ inline void const* advance(void const* p, std::size_t bytes) {
  return static_cast<std::byte const*>(p) + bytes;
}

/// What a lane sends to all ranks, step by step.
template <class Does>
__device__ void send_lane(Problem const& p, int lane) {
  int const lanes = p.sizes.lanes;
  Peer const& own = p.peers[p.rank];
  std::uint32_t own_steps = 0;
  if constexpr (Does::kCombines) own_steps = exchange::cut(own.send_bytes, p.sizes).steps;
  bool is_left = true;
  for (std::uint32_t step = 0; is_left; ++step) {
    is_left = step + 1 < own_steps;
    for (int d = 1; d < p.ranks; ++d) {
      Peer const& peer = p.peers[peer_at(p, d)];
      Cut const cut = exchange::cut(peer.send_bytes, p.sizes);
      if (step >= cut.steps) continue;
      is_left |= step + 1 < cut.steps;
      Area const here{peer.here, p.sizes}, there{peer.there, p.sizes};
      std::uint32_t const number = peer.sent + step + 1;
      if (threadIdx.x == 0) wait_until_reached(here.taken(lane), number - kSlots);
      __syncthreads();  // the slot is free for all threads
      Stretch const part = stretch(cut, peer.send_bytes, lanes, lane, step);
      copy_stretch(there.slot(lane, number), advance(peer.send, part.first), part.bytes);
      __syncthreads();  // what all have stored is released by one
      if (threadIdx.x == 0) ptx::store_release_sys(there.arrived(lane), number);
    }
    if constexpr (Does::kCombines) {
      // The block that combines may now overwrite what this one has read, all of it before a barrier.
      if (step < own_steps && threadIdx.x == 0) {
        ptx::store_release_gpu(Area{own.here, p.sizes}.arrived(lane), own.sent + step + 1);
      }
    }
  }
}

__device__ inline void receive_lane(Problem const& p, int lane) {
  int const lanes = p.sizes.lanes;
  Peer const& own = p.peers[p.rank];
  Cut const own_cut = exchange::cut(own.receive == own.send ? 0 : own.send_bytes, p.sizes);
  bool is_left = true;
  for (std::uint32_t step = 0; is_left; ++step) {
    is_left = step + 1 < own_cut.steps;
    // Under the way of the peers' step.
    if (step < own_cut.steps) {
      Stretch const part = stretch(own_cut, own.send_bytes, lanes, lane, step);
      copy_stretch(advance(own.receive, part.first), advance(own.send, part.first), part.bytes);
    }
    for (int d = 1; d < p.ranks; ++d) {
      Peer const& peer = p.peers[peer_at(p, p.ranks - d)];
      Cut const cut = exchange::cut(peer.receive_bytes, p.sizes);
      if (step >= cut.steps) continue;
      is_left |= step + 1 < cut.steps;
      Area const here{peer.here, p.sizes}, there{peer.there, p.sizes};
      std::uint32_t const number = peer.received + step + 1;
      if (threadIdx.x == 0) wait_until_reached(here.arrived(lane), number);
      __syncthreads();  // what one has acquired all may read
      Stretch const part = stretch(cut, peer.receive_bytes, lanes, lane, step);
      copy_stretch(advance(peer.receive, part.first), here.slot(lane, number), part.bytes);
      __syncthreads();  // all have read what one says is taken
      if (threadIdx.x == 0) ptx::store_release_sys(there.taken(lane), number);
    }
  }
}

template <class Does>
__device__ void combine_lane(Problem const& p, int lane) {
  Peer const& own = p.peers[p.rank];
  Cut const cut = exchange::cut(own.send_bytes, p.sizes);
  for (std::uint32_t step = 0; step < cut.steps; ++step) {
    // Of own parts, too, one of which the result may overwrite.
    if (threadIdx.x < unsigned(p.ranks)) {
      Peer const& peer = p.peers[threadIdx.x];
      wait_until_reached(Area{peer.here, p.sizes}.arrived(lane), peer.received + step + 1);
    }
    __syncthreads();  // what some have acquired all may read
    Stretch const part = stretch(cut, own.send_bytes, p.sizes.lanes, lane, step);
    auto const of = [&](int r) -> void const* {
      Peer const& peer = p.peers[r];
      return r == p.rank ? advance(own.send, part.first)
                         : Area{peer.here, p.sizes}.slot(lane, peer.received + step + 1);
    };
    void* const out = advance(p.out, part.first);
    unsigned const n = static_cast<unsigned>((part.bytes + kGroupBytes - 1) / kGroupBytes);
    bool const is_plain = (reinterpret_cast<std::uintptr_t>(of(p.rank)) |
                           reinterpret_cast<std::uintptr_t>(out) | part.bytes) %
                              kGroupBytes ==
                          0;
    if (is_plain) {
      for (unsigned first = threadIdx.x; first < n; first += kLoads * blockDim.x) {
        uint4 results[kLoads];
        for (int r = 0; r < p.ranks; ++r) {
          auto const* const from = static_cast<uint4 const*>(of(r));
          uint4 groups[kLoads] = {};
#pragma unroll
          for (unsigned j = 0; j < kLoads; ++j) {
            unsigned const i = first + j * blockDim.x;
            if (i < n) groups[j] = from[i];
          }
#pragma unroll
          for (unsigned j = 0; j < kLoads; ++j) {
            results[j] = r == 0 ? groups[j] : Does::of(results[j], groups[j]);
          }
        }
#pragma unroll
        for (unsigned j = 0; j < kLoads; ++j) {
          unsigned const i = first + j * blockDim.x;
          if (i < n) static_cast<uint4*>(out)[i] = results[j];
        }
      }
    } else {
      for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        uint4 result{};
        for (int r = 0; r < p.ranks; ++r) {
          uint4 const data = load_group<uint4>(of(r), part.bytes, i);
          result = r == 0 ? data : Does::of(result, data);
        }
        store_group(out, part.bytes, i, result);
      }
    }
    __syncthreads();  // all have read what some say is taken
    if (threadIdx.x < unsigned(p.ranks) && int(threadIdx.x) != p.rank) {
      Peer const& peer = p.peers[threadIdx.x];
      ptx::store_release_sys(Area{peer.there, p.sizes}.taken(lane), peer.received + step + 1);
    }
  }
}

/// A rank's part, by block `block` of twice as many as there are lanes. See exchange_lanes.cu.
template <class Does>
__device__ void exchange_lanes(Problem const& p, unsigned block) {
  auto const lanes = static_cast<unsigned>(p.sizes.lanes);
  if (block < lanes) {
    send_lane<Does>(p, static_cast<int>(block));
  } else if constexpr (Does::kCombines) {
    combine_lane<Does>(p, static_cast<int>(block - lanes));
  } else {
    receive_lane(p, static_cast<int>(block - lanes));
  }
}

}  // namespace quadrille::kernels::exchange

#endif
