// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/exchange.hpp"

#include "common/variant.hpp"
#include "core/error.hpp"

#include <type_traits>

namespace quadrille::kernels::exchange {

void Counters::number_packed(Peer& peer) {
  bool const sends = peer.send_bytes > 0, receives = peer.receive_bytes > 0;
  // Who sends has ended all exchanges before this one, and says so by that.
  peer.taken = received_;
  peer.says_taken = !sends && said_ != received_;
  said_ = received_;
  std::uint32_t const before = sent_;
  if (sends) {
    peer.sent = ++sent_;
    peer.awaits_taken = static_cast<std::int32_t>(sent_ - kSlots - known_) > 0;
    if (peer.awaits_taken) known_ = sent_ - kSlots;
  }
  if (receives) {
    peer.received = ++received_;
    known_ = before;
  }
}

void Counters::number_lanes(Peer& peer, Sizes const& sizes) {
  peer.sent = steps_sent_;
  peer.received = steps_received_;
  steps_sent_ += cut(peer.send_bytes, sizes).steps;
  steps_received_ += cut(peer.receive_bytes, sizes).steps;
}

bool is_built() { return !std::is_null_pointer_v<decltype(QUAD_CUDA_LAUNCH(launch_copy_packed))>; }

void copy(By by, Problem const& problem, device::StreamView stream) {
  decltype(&launch_copy_packed) const launch =
      by == By::packed ? QUAD_CUDA_LAUNCH(launch_copy_packed) : QUAD_CUDA_LAUNCH(launch_copy_lanes);
  QUAD_REQUIRE(launch != nullptr, "exchange: this program was built without CUDA");
  launch(problem, stream);
}

void combine(By by, Problem const& problem, core::DataType type, Combine op,
             device::StreamView stream) {
  decltype(&launch_combine_packed) const launch = by == By::packed
                                                      ? QUAD_CUDA_LAUNCH(launch_combine_packed)
                                                      : QUAD_CUDA_LAUNCH(launch_combine_lanes);
  QUAD_REQUIRE(launch != nullptr, "exchange: this program was built without CUDA");
  launch(problem, type, op, stream);
}

}  // namespace quadrille::kernels::exchange
