// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/ptrans/step_exchange.hpp"

#include "workloads/tables.hpp"

#include <algorithm>

namespace quadrille::workloads::ptrans {

namespace transpose = kernels::transpose;
using measure::Leg;

StepExchange::StepExchange(Division const& division, std::int64_t buffers)
    : division_{division},
      buffers_{buffers},
      packing_{division.is_cyclic ? make_packing_of_blocks(division)
                                  : make_packing_of_pairs(division)} {}

std::string StepExchange::unsupported_reason(
    kernels::Variant<transpose::Problem> const& variant) const {
  std::string reason;
  packing_->for_transposes([&](auto const& from, auto const& into) {
    if (!reason.empty()) return;
    reason = variant.unsupported_reason({from, into});
    if (!reason.empty()) reason += fmt::format(" in a piece of {} x {}", from.rows, from.cols);
  });
  return reason;
}

double StepExchange::memory_bytes(double local) const {
  double const of_step = local / static_cast<double>(std::max<std::size_t>(1, division_.steps));
  return of_step * (2 * static_cast<double>(buffers_) + division_.is_cyclic);
}

void StepExchange::allocate(comm::World& world, comm::Channel& channel, device::MatrixView const& a,
                            device::MatrixView const& b) {
  channel_ = &channel;
  packing_->allocate(world, a, b);
  auto const make = [&](std::size_t bytes) {
    return device::Buffer<std::byte>{world.device(), static_cast<std::int64_t>(bytes),
                                     world.stream()};
  };
  for (std::int64_t s = 0; s < buffers_; ++s) {
    Slot& made = slots_.emplace_back();
    made.to_send = make(packing_->send_bytes());
    made.received = make(packing_->receive_bytes());
    made.packed = device::Event{world.device()};
  }
}

void StepExchange::reset(device::StreamView stream) const {
  for (Slot const& s : slots_) stream.fill(s.received.data(), 0xFF, s.received.bytes());
}

void StepExchange::run(comm::World& world, Leg leg,
                       kernels::Variant<transpose::Problem> const& variant) {
  device::StreamView const compute = world.stream();
  device::StreamView const communicate = world.comm_stream();
  std::size_t const steps = division_.steps;
  Packing::Transpose const transposes = [&](auto const& from, auto const& into) {
    variant.launch({from, into}, compute);
  };
  auto const finish = [&](std::size_t t) {
    if (leg != Leg::compute) slot(t).exchanged.wait_on(compute);
    if (leg != Leg::communicate) packing_->unpack(slot(t), t, transposes, compute);
  };
  auto const ranks = comm::index(division_.ranks);
  for (std::size_t t = 0; t < steps; ++t) {
    Slot& now = slot(t);
    if (leg == Leg::serial && t > 0) slot(t - 1).exchanged.wait_on(compute);
    // Step t - buffers still sits in this slot: unpack it before packing over it.
    if (t >= slots_.size()) finish(t - slots_.size());
    now.send.assign(ranks, {});
    now.receive.assign(ranks, {});
    packing_->place(now, t);
    if (leg != Leg::communicate) packing_->pack(now, t, transposes, compute);
    if (leg == Leg::compute || leg == Leg::serial) packing_->keep(now, t, transposes, compute);
    compute.record(now.packed);
    if (leg != Leg::compute) {
      communicate.wait(now.packed);
      now.exchanged = channel_->alltoallv(now.send, now.receive, communicate);
    }
    if (leg == Leg::overlapped) packing_->keep(now, t, transposes, compute);
  }
  if (leg == Leg::serial && steps > 0) slot(steps - 1).exchanged.wait_on(compute);
  for (std::size_t t = steps - std::min(steps, slots_.size()); t < steps; ++t) finish(t);
}

}  // namespace quadrille::workloads::ptrans
