// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"
#include "transpose/transpose_library.hpp"
#include "workloads/data.hpp"
#include "workloads/secondary.hpp"
#include "workloads/tables.hpp"

#include <optional>

namespace quadrille::workloads {

namespace {

namespace transpose = kernels::transpose;

// Moves the same bytes in order: what a transpose could reach at best.
void launch_copy(transpose::Problem const& p, device::StreamView stream) {
  auto const bytes = p.in.rows * p.in.cols * static_cast<std::int64_t>(core::size_of(p.in.type));
  kernels::copy::copy_in_order({p.out.data, p.in.data, bytes}, stream);
}

constexpr kernels::Variant<transpose::Problem> kCopy{
    {.name = "copy",
     .role = kernels::Role::ceiling,
     .where = kernels::Where::any,
     .types = kernels::kEveryType,
     .source = "own",
     .summary = "the same bytes copied in order: the ceiling"},
    launch_copy};

std::vector<kernels::Variant<transpose::Problem> const*> const& table() {
  static auto const all = [] {
    std::vector<kernels::Variant<transpose::Problem> const*> rows;
    for (auto const& row : transpose::variants()) rows.push_back(&row);
    rows.push_back(&kCopy);
    return rows;
  }();
  return all;
}

/// out = in^T on every rank at once, each with a matrix of its own.
class Transpose final : public measure::Workload {
 public:
  Transpose(core::Case const& spec, int ranks, int rank)
      : case_{spec}, m_{spec.size[0]}, n_{spec.size[1]}, ranks_{ranks}, rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.amount = transpose::bytes(static_cast<double>(m_), static_cast<double>(n_),
                                static_cast<double>(core::size_of(case_.type))) *
               ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    d.memory_bytes = d.amount / ranks_;
    d.traits = {.graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of(table(), variant)
        .unsupported_reason({{nullptr, case_.type, m_, n_, n_}, {nullptr, case_.type, n_, m_, m_}});
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (in_.view().data == nullptr) {
      in_ = {world.device(), case_.type, m_, n_, world.stream()};
      out_ = {world.device(), case_.type, n_, m_, world.stream()};
    }
    source_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
    fill(in_.view(), whole(m_, n_), source_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    if (variant.in_place)
      return world.stream().copy(out_.view().data, in_.view().data, in_.bytes());
    world.stream().fill(out_.view().data, 0xFF, out_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    auto const& row = row_of(table(), variant);
    copied_ = row.role == kernels::Role::ceiling;
    device::MatrixView const in = variant.in_place ? out_.view() : in_.view();
    transpose::Problem const problem{in, out_.view()};
    accesses_ = transpose::accesses_of(row, problem);
    row.launch(problem, world.stream());
  }

  bool run_plainly(comm::World& world, kernels::VariantInfo const& variant) override {
    return workloads::run_plainly(*this, world, variant, transpose::library_of(variant),
                                  transpose::Problem{in_.view(), out_.view()});
  }

  /// What a profiler should count.
  std::vector<measure::SecondaryMetric> observed() override {
    if (!accesses_) return {};
    std::vector<measure::SecondaryMetric> all = sector_metrics(accesses_->part->block);
    if (accesses_->parts == 0) return all;
    for (measure::SecondaryMetric& metric :
         global_metrics(accesses_->accesses(), accesses_->bytes())) {
      all.push_back(std::move(metric));
    }
    return all;
  }

  measure::Verdict validate(comm::World& world) override {
    device::MatrixView view = out_.view();
    if (copied_) view = {view.data, view.type, m_, n_, n_};
    return agree(world, compare("out", view, region_of(whole(view.rows, view.cols), !copied_),
                                source_, world, check_stride(case_)));
  }

  std::vector<measure::Field> fields() override {
    return {measure::input(whole_of_rank_0("in", in_.view(), rank_)),
            measure::output(whole_of_rank_0("out", out_.view(), rank_))};
  }

 private:
  core::Case case_;
  std::int64_t m_, n_;
  int ranks_, rank_;
  bool copied_ = false;
  std::optional<kernels::CountedParts> accesses_;  // of what ran
  Source source_;
  device::Matrix in_, out_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const transpose = measure::entry({
    .schema = {.name = "transpose", .extents = {"m", "n"}},
    .summary = "out = in^T on each rank",
    .work = "2 m n s bytes per rank",
    .local = true,
    .variants = rows_of(table()),
    .make = measure::make<Transpose>,
    .secondary = {kSectorsPerRequest, kGlobalMemory},
});

}  // namespace entries

}  // namespace quadrille::workloads
