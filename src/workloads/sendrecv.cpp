// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/exchange.hpp"

namespace quadrille::workloads {
namespace {

/// Every rank sends its row to the next rank and receives that of the previous one.
class Sendrecv final : public Exchange {
 public:
  using Exchange::Exchange;

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.traits = {.min_ranks = 2, .communicates = true, .can_pipeline = true};
    // Each rank's row leaves it once.
    d.amount = bytes() * ranks_;
    d.unit = "B/s";
    d.network_bytes = d.amount;
    d.traffic = {comm::Operation::sendrecv, bytes()};
    d.extras = bandwidths(comm::Operation::sendrecv);
    d.memory_bytes = 2 * bytes();
    return d;
  }

  measure::Verdict validate(comm::World& world) override {
    return agree(world, compare("out", out_.view(), block_from(previous(), 0), source(), world,
                                check_stride(case_)));
  }

 private:
  int next() const { return (rank_ + 1) % ranks_; }
  int previous() const { return (rank_ + ranks_ - 1) % ranks_; }

  comm::Request exchange(comm::Channel& channel, device::StreamView stream) override {
    return channel.sendrecv(in_piece(0, n_), next(), out_piece(0, n_), previous(), stream);
  }
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const sendrecv = measure::entry({
    .schema = {.name = "sendrecv", .extents = {"n"}, .keys = {.transport = true}},
    .summary = "a ring: to the next rank, from the previous one",
    .work = "S bytes per rank",
    .local = false,
    .variants = exchange_rows(),
    .make = measure::make<Sendrecv>,
    .secondary = exchange_metrics(),
});

}  // namespace entries

}  // namespace quadrille::workloads
