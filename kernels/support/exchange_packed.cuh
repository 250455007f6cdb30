// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/exchange_device.cuh"

#ifdef QUAD_KERNELS

namespace quadrille::kernels::exchange {

/// Takes four bytes of data in each word once both are there.
__device__ inline uint2 await_cell(std::uint64_t const* cell, std::uint32_t number) {
  std::uint64_t low, high;
  do {
    ptx::load_pair_relaxed_sys(cell, low, high);
  } while (static_cast<std::uint32_t>(low >> 32) != number ||
           static_cast<std::uint32_t>(high >> 32) != number);
  return {static_cast<unsigned>(low), static_cast<unsigned>(high)};
}

/// A rank's part, by block `block` of `blocks`. See exchange_packed.cu.
template <class Does>
__device__ void exchange_packed(Problem const& p, unsigned block, unsigned blocks) {
  std::size_t const first = std::size_t{block} * blockDim.x + threadIdx.x;
  std::size_t const stride = std::size_t{blocks} * blockDim.x;

  // Before anything is awaited: a peer may need it to go on. The kernel before has ended, and with it
  // all reads of what it took.
  if (block == 0 && threadIdx.x < unsigned(p.ranks)) {
    Peer const& peer = p.peers[threadIdx.x];
    if (peer.says_taken) {
      ptx::store_release_sys(Area{peer.there, p.sizes}.packed_taken(), peer.taken);
    }
  }

  for (int d = 1; d < p.ranks; ++d) {
    Peer const& peer = p.peers[peer_at(p, d)];
    if (peer.send_bytes == 0) continue;
    if (peer.awaits_taken) {
      wait_until_reached(Area{peer.here, p.sizes}.packed_taken(), peer.sent - kSlots);
    }
    std::uint64_t* const cells = Area{peer.there, p.sizes}.packed(peer.sent);
    std::uint64_t const number = std::uint64_t{peer.sent} << 32;
    std::size_t const n = (peer.send_bytes + kCellBytes - 1) / kCellBytes;
    for (std::size_t i = first; i < n; i += stride) {
      uint2 const data = load_group<uint2>(peer.send, peer.send_bytes, i);
      ptx::store_pair_relaxed_sys(cells + 2 * i, number | data.x, number | data.y);
    }
  }

  Peer const& own = p.peers[p.rank];
  if constexpr (!Does::kCombines) {
    if (own.receive != own.send) {
      std::size_t const n = (own.send_bytes + kCellBytes - 1) / kCellBytes;
      for (std::size_t i = first; i < n; i += stride) {
        store_group(own.receive, own.send_bytes, i, load_group<uint2>(own.send, own.send_bytes, i));
      }
    }
    for (int d = 1; d < p.ranks; ++d) {
      Peer const& peer = p.peers[peer_at(p, p.ranks - d)];
      std::uint64_t const* const cells = Area{peer.here, p.sizes}.packed(peer.received);
      std::size_t const n = (peer.receive_bytes + kCellBytes - 1) / kCellBytes;
      for (std::size_t i = first; i < n; i += stride) {
        store_group(peer.receive, peer.receive_bytes, i, await_cell(cells + 2 * i, peer.received));
      }
    }
  } else {
    // A thread has read each cell that it overwrites here: the result may lie where a part is.
    std::size_t const bytes = own.send_bytes;
    for (std::size_t i = first; i < (bytes + kCellBytes - 1) / kCellBytes; i += stride) {
      uint2 result{};
      for (int r = 0; r < p.ranks; ++r) {
        Peer const& peer = p.peers[r];
        uint2 const data =
            r == p.rank
                ? load_group<uint2>(own.send, bytes, i)
                : await_cell(Area{peer.here, p.sizes}.packed(peer.received) + 2 * i, peer.received);
        result = r == 0 ? data : Does::of(result, data);
      }
      store_group(p.out, bytes, i, result);
    }
  }
}

}  // namespace quadrille::kernels::exchange

#endif
