// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vector/vector.hpp"

#include "workloads/data.hpp"
#include "workloads/makers.hpp"
#include "workloads/tables.hpp"

namespace quadrille::workloads {
namespace {

namespace vector = kernels::vector;

/// Element-wise operations on vectors of each rank's own.
class Vector final : public measure::Workload {
 public:
  Vector(core::Case const& one, int ranks, int rank)
      : case_{one},
        n_{one.size[0]},
        ranks_{ranks},
        rank_{rank},
        operation_{one.operation == "quadratic" ? vector::Operation::quadratic
                                                : vector::Operation::add} {}

  measure::Description describe() const override {
    measure::Description d;
    auto const n = static_cast<double>(n_);
    auto const s = static_cast<double>(core::size_of(case_.type));
    d.amount = vector::bytes(operation_, n, s) * ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    d.memory_bytes = 3 * n * s;
    d.extras = {{"arithmetic", vector::flop(operation_, n) * ranks_, "FLOP/s"}};
    return d;
  }

  std::vector<kernels::VariantInfo const*> variants() const override {
    return rows_of(vector::variants());
  }
  std::string_view best(device::Kind) const override { return "kokkos"; }

  void prepare(comm::World& world, std::uint64_t seed) override {
    if (x_.view().data == nullptr) {
      for (device::Matrix* matrix : {&x_, &y_, &out_})
        *matrix = {world.device(), case_.type, 1, n_, world.stream()};
    }
    sx_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
    sy_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_ + 1)};
    fill(x_.view(), whole(1, n_), sx_, world);
    fill(y_.view(), whole(1, n_), sy_, world);
  }

  void reset(comm::World& world) override {
    world.stream().fill(out_.view().data, 0xFF, out_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    launch(variant, problem(), world.stream());
  }

  measure::Verdict validate(comm::World& world) override {
    Finding finding;
    core::visit_type(case_.type, [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> const got = download<T>(out_.view(), world.stream());
      vector::Problem const p = problem();
      // One rounding for the sum; the quadratic has at most four, with or without fused operations.
      double const roundings = operation_ == vector::Operation::add ? 0.5 : 2;
      finding.allowed = roundings;
      for (std::int64_t i = 0; i < n_; i += check_stride(case_)) {
        double const x = static_cast<double>(sx_.at<T>(0, i));
        double const y = static_cast<double>(sy_.at<T>(0, i));
        bool const add = operation_ == vector::Operation::add;
        double const want = add ? x + y : (p.a * x + p.b) * x + p.c;
        double const weight =
            add ? std::abs(want) : std::abs(p.a * x * x) + std::abs(p.b * x) + std::abs(p.c);
        double const difference =
            std::abs(static_cast<double>(got[static_cast<std::size_t>(i)]) - want);
        double const scale = core::epsilon_of(case_.type) * weight;
        finding.hold(difference == 0 ? 0 : difference / scale, roundings, [&] {
          return fmt::format("out({}) on rank {}: expected {:.9g}, got {:.9g}", i, rank_, want,
                             static_cast<double>(got[static_cast<std::size_t>(i)]));
        });
      }
    });
    return agree(world, finding);
  }

  std::vector<device::MatrixView> outputs() override { return {out_.view()}; }

 private:
  vector::Problem problem() const {
    return {operation_, case_.type, x_.view().data, y_.view().data, out_.view().data, n_};
  }

  core::Case case_;
  std::int64_t n_;
  int ranks_, rank_;
  vector::Operation operation_;
  Source sx_, sy_;
  device::Matrix x_, y_, out_;
};

}  // namespace

std::unique_ptr<measure::Workload> make_vector(core::Case const& one, int ranks, int rank) {
  return std::make_unique<Vector>(one, ranks, rank);
}

}  // namespace quadrille::workloads
