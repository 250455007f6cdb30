// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/exchange.hpp"

namespace quadrille::workloads {
namespace {

/// Every rank scatters its row to all ranks in nearly equal blocks.
class Alltoall final : public Exchange {
 public:
  using Exchange::Exchange;

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.traits = {.min_ranks = 2, .communicates = true, .can_pipeline = true};
    // A rank keeps one block of P of its own.
    d.amount = bytes() * (ranks_ - 1);
    d.unit = "B/s";
    d.network_bytes = d.amount;
    d.traffic = {comm::Operation::alltoall, bytes()};
    d.extras = bandwidths(comm::Operation::alltoall);
    d.memory_bytes = 2 * bytes() + static_cast<double>(size_of()) * ranks_;
    return d;
  }

  measure::Verdict validate(comm::World& world) override {
    std::int64_t const each = mine().count;
    device::MatrixView const by_sender{out_.view().data, case_.type, ranks_, each, each};
    return agree(world, compare("out", by_sender, block_from(0, mine().first), source(), world,
                                check_stride(case_)));
  }

 private:
  core::Range mine() const { return core::split_evenly(n_, ranks_, rank_); }
  std::int64_t received() const override { return mine().count * ranks_; }

  /// This rank's columns of all rows.
  measure::Field output_field(std::string name, device::MatrixView const& view) const override {
    std::int64_t const each = mine().count;
    measure::Field result = row_field(std::move(name), in_.view());
    result.view = view;
    result.blocks = {{0, mine().first, {view.data, view.type, ranks_, each, each}}};
    return result;
  }

  comm::Request exchange(comm::Channel& channel, device::StreamView stream) override {
    // Once: for 8 bytes, lists of pieces take as long as the exchange.
    if (send_.empty()) {
      for (int r = 0; r < ranks_; ++r) {
        core::Range const theirs = core::split_evenly(n_, ranks_, r);
        send_.push_back(in_piece(theirs.first, theirs.count));
        receive_.push_back(out_piece(r * mine().count, mine().count));
      }
    }
    return channel.alltoallv(send_, receive_, stream);
  }

  std::vector<comm::ConstPiece> send_;
  std::vector<comm::Piece> receive_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const alltoall = measure::entry({
    .schema = {.name = "alltoall", .extents = {"n"}, .keys = {.transport = true}},
    .summary = "every rank scatters its row to all ranks",
    .work = "S (P - 1) / P bytes per rank; algbw S / t, busbw (P - 1) / P S / t",
    .local = false,
    .variants = exchange_rows(),
    .make = measure::make<Alltoall>,
    .secondary = exchange_metrics(),
});

}  // namespace entries

}  // namespace quadrille::workloads
