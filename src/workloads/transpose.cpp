// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose.hpp"

#include "copy/copy.hpp"
#include "workloads/data.hpp"
#include "workloads/tables.hpp"

namespace quadrille::workloads {

std::vector<kernels::VariantInfo const*> transpose_rows();

namespace {

namespace transpose = kernels::transpose;

// Moves the same bytes in order: what a transpose could reach at best.
template <kernels::Backend kBackend>
void launch_copy(transpose::Problem const& p, device::StreamView stream) {
  auto const bytes = p.in.rows * p.in.cols * static_cast<std::int64_t>(core::size_of(p.in.type));
  kernels::find(kernels::copy::variants(), kBackend == kernels::Backend::cuda ? "vendor" : "kokkos")
      ->launch({p.out.data, p.in.data, bytes}, stream);
}

template <kernels::Backend kBackend>
kernels::Variant<transpose::Problem> const& copy_row() {
  static kernels::Variant<transpose::Problem> const row{
      {"copy", kBackend, kernels::find(kernels::copy::variants(), "kokkos")->types, "none", "own",
       "the same bytes copied in order: the ceiling"},
      launch_copy<kBackend>};
  return row;
}

/// out = in^T on every rank at once, each with a matrix of its own.
class Transpose final : public measure::Workload {
 public:
  Transpose(core::Case const& one, int ranks, int rank)
      : case_{one}, m_{one.size[0]}, n_{one.size[1]}, ranks_{ranks}, rank_{rank} {}

  measure::Description describe() const override {
    measure::Description d;
    d.amount = transpose::bytes(static_cast<double>(m_), static_cast<double>(n_),
                                static_cast<double>(core::size_of(case_.type))) *
               ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    d.memory_bytes = d.amount / ranks_;
    return d;
  }

  std::vector<kernels::VariantInfo const*> variants() const override { return transpose_rows(); }
  std::string_view best(device::Kind kind) const override {
    return best_of(*this, case_.type, kind, {"shared_swizzled", "kokkos"});
  }

  std::string refusal(kernels::VariantInfo const& variant) const override {
    return transpose::refusal(variant, case_.type, m_, n_);
  }

  void prepare(comm::World& world, std::uint64_t seed) override {
    if (in_.view().data == nullptr) {
      in_ = {world.device(), case_.type, m_, n_, world.stream()};
      out_ = {world.device(), case_.type, n_, m_, world.stream()};
    }
    source_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
    fill(in_.view(), whole(m_, n_), source_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    if (is_in_place(variant))
      return world.stream().copy(out_.view().data, in_.view().data, in_.bytes());
    world.stream().fill(out_.view().data, 0xFF, out_.bytes());
  }
  // Twice is nothing.
  bool repeatable(kernels::VariantInfo const& variant) const override {
    return !is_in_place(variant);
  }
  bool recordable() const override { return true; }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    copied_ = variant.name == "copy";
    device::MatrixView const in = is_in_place(variant) ? out_.view() : in_.view();
    launch<transpose::Problem>(variant, {in, out_.view()}, world.stream());
  }

  measure::Verdict validate(comm::World& world) override {
    device::MatrixView view = out_.view();
    if (copied_) view = {view.data, view.type, m_, n_, n_};
    return agree(world, compare("out", view, region_of(whole(view.rows, view.cols), !copied_),
                                source_, world, check_stride(case_)));
  }

  std::vector<device::MatrixView> outputs() override { return {out_.view()}; }

 private:
  static bool is_in_place(kernels::VariantInfo const& variant) {
    return variant.name == "in_place";
  }

  core::Case case_;
  std::int64_t m_, n_;
  int ranks_, rank_;
  bool copied_ = false;
  Source source_;
  device::Matrix in_, out_;
};

}  // namespace

std::vector<kernels::VariantInfo const*> transpose_rows() {
  std::vector<kernels::VariantInfo const*> rows = rows_of(transpose::variants());
  rows.push_back(&copy_row<kernels::Backend::kokkos>());
  rows.push_back(&copy_row<kernels::Backend::cuda>());
  return rows;
}

namespace entries {

extern measure::WorkloadEntry const transpose{
    .schema = {.name = "transpose",
               .extents = {"m", "n"},
               .variants = measure::names_of(transpose_rows())},
    .summary = "out = in^T on each rank",
    .work = "2 m n s bytes per rank",
    .local = true,
    .make = measure::make<Transpose>,
    .variants = transpose_rows,
};

}  // namespace entries

}  // namespace quadrille::workloads
