// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport.hpp"
#include "workloads/data.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace quadrille::workloads {

/// What all exchanges have.
measure::Selection exchange_rows();

/// Which exchange a repetition of a workload is, of rows of n elements, one of each rank; empty where
/// it is not one of them alone.
std::optional<comm::Operation> operation_of(measure::WorkloadEntry const& entry);

/// Of each byte of a rank's row, those that each link carries in each direction where the work is shared
/// evenly: busbw over algbw, by the factors of nccl-tests.
double bus_share(comm::Operation operation, double ranks);

/// The secondary metrics of such a workload.
std::vector<measure::Metric> exchange_metrics();

/// What allreduce, broadcast, alltoall and sendrecv share: a source row, an output row, and a
/// channel per variant: the case's transport, the plain call of MPI or NCCL, the textbook algorithm.
class Exchange : public measure::Workload {
 public:
  Exchange(core::Case const& spec, int ranks, int rank)
      : case_{spec}, n_{spec.size[0]}, ranks_{ranks}, rank_{rank} {}

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override;
  std::string unavailable_reason(kernels::VariantInfo const& variant,
                                 comm::Machine const& machine) const override;
  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const& selected) override;
  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(out_.view().data, 0xFF, out_.bytes());
  }
  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override;
  std::vector<measure::Field> fields() override {
    return {row_field("in", in_.view()), measure::output(output_field("out", out_.view()))};
  }

 protected:
  /// Enqueues the exchange.
  virtual comm::Request exchange(comm::Channel& channel, device::StreamView stream) = 0;
  comm::Channel& channel_of(kernels::VariantInfo const& variant) { return *channels_.at(&variant); }
  /// The output as a file holds it.
  virtual measure::Field output_field(std::string name, device::MatrixView const& view) const {
    return row_field(std::move(name), view);
  }
  /// Row `rank` of a matrix of all ranks' rows.
  measure::Field row_field(std::string name, device::MatrixView const& view) const {
    return field(std::move(name), view, {{ranks_, 0, ranks_}, {n_, 0, 1}, rank_, 0});
  }
  /// Elements of this rank's source row.
  virtual std::int64_t sent() const { return n_; }
  /// Elements that this rank receives.
  virtual std::int64_t received() const { return n_; }

  /// algbw and busbw.
  std::vector<measure::SecondaryMetric> bandwidths(comm::Operation operation) const {
    return {{"algbw", bytes(), "B/s", 0, true},
            {"busbw", bus_share(operation, ranks_) * bytes(), "B/s"}};
  }
  double bytes() const {
    return static_cast<double>(n_) * static_cast<double>(core::size_of(case_.type));
  }
  std::size_t size_of() const { return core::size_of(case_.type); }
  /// What rank r sends is row r.
  Source source() const { return {case_.data, seed_, 0}; }
  comm::ConstPiece in_piece(std::int64_t first, std::int64_t count) const {
    return {in_.view().at(0, first), static_cast<std::size_t>(count) * size_of()};
  }
  comm::Piece out_piece(std::int64_t first, std::int64_t count) const {
    return {out_.view().at(0, first), static_cast<std::size_t>(count) * size_of()};
  }

  core::Case case_;
  std::int64_t n_;
  int ranks_, rank_;
  std::uint64_t seed_ = 0;
  device::Matrix in_, out_;

 private:
  std::map<kernels::VariantInfo const*, std::unique_ptr<comm::Channel>> channels_;
};

}  // namespace quadrille::workloads
