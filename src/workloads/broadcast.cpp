// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/exchange.hpp"

namespace quadrille::workloads {
namespace {

struct Parameters {
  comm::Broadcast broadcast = comm::Broadcast::library;
  bool operator==(Parameters const&) const = default;
};

/// Every rank gets the row of rank 0.
class Broadcast final : public Exchange {
 public:
  using Exchange::Exchange;

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.traits = {.min_ranks = 2, .communicates = true, .replicated = true, .can_pipeline = true};
    d.amount = bytes();
    d.unit = "B/s";
    // Every other rank receives the row once.
    d.network_bytes = (ranks_ - 1) * bytes();
    d.traffic = {comm::Operation::broadcast, bytes()};
    d.extras = bandwidths(comm::Operation::broadcast);
    d.memory_bytes = 2 * bytes();
    return d;
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    Exchange::reset(world, variant);
    // The root sends from where the others receive.
    if (rank_ == 0) world.stream().copy(out_.view().data, in_.view().data, out_.bytes());
  }

  measure::Verdict validate(comm::World& world) override {
    return agree(world,
                 compare("out", out_.view(), row_from(0), source(), world, check_stride(case_)));
  }

 private:
  measure::Field output_field(std::string name, device::MatrixView const& view) const override {
    return of_rank_0(vector_field(std::move(name), view, n_), rank_);
  }

  comm::Request exchange(comm::Channel& channel, device::StreamView stream) override {
    return channel.broadcast(out_piece(0, n_), 0, stream,
                             case_.parameters.as<Parameters>().broadcast);
  }
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const broadcast = measure::entry({
    .schema = {.name = "broadcast",
               .extents = {"n"},
               .keys = {.transport = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::method(
                   core::options::choice("broadcast", core::options::at(&Parameters::broadcast),
                                         "how a broadcast travels"))}},
    .summary = "rank 0's row to every rank",
    .work = "S = n s bytes",
    .local = false,
    .variants = exchange_rows(),
    .make = measure::make<Broadcast>,
    .secondary = exchange_metrics(),
});

}  // namespace entries

}  // namespace quadrille::workloads
