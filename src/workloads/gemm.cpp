// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"

#include "workloads/product_check.hpp"
#include "workloads/tables.hpp"

#include <algorithm>

namespace quadrille::workloads {
namespace {

namespace gemm = kernels::gemm;

struct Parameters {
  double alpha = 1;
  double beta = 0;
  gemm::Layout layout = gemm::Layout::nn;
  bool operator==(Parameters const&) const = default;
};

/// C = alpha op(A) op(B) + beta C on every rank at once, each with data of its own.
class Gemm final : public measure::Workload {
 public:
  Gemm(core::Case const& one, int ranks, int rank)
      : case_{one},
        p_{one.parameters.as<Parameters>()},
        m_{one.size[0]},
        n_{one.size[1]},
        k_{one.size[2]},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe() const override {
    measure::Description d;
    auto const s = static_cast<double>(core::size_of(case_.type));
    auto const m = static_cast<double>(m_), n = static_cast<double>(n_),
               k = static_cast<double>(k_);
    d.amount = gemm::flop(m, n, k) * ranks_;
    d.unit = "FLOP/s";
    d.device_bytes = gemm::compulsory_bytes(m, n, k, p_.beta, s) * ranks_;
    d.memory_bytes = s * (m * k + k * n + (p_.beta == 0 ? 1 : 2) * m * n);
    return d;
  }

  std::vector<kernels::VariantInfo const*> variants() const override {
    return rows_of(gemm::variants());
  }
  /// Most kernels of a GPU multiply what is stored as it is.
  std::string refusal(kernels::VariantInfo const& variant) const override {
    return gemm::refusal(variant, p_.layout != gemm::Layout::nn, n_, k_);
  }
  std::string_view best(device::Kind kind) const override {
    return best_of(*this, case_.type, kind, {"simt_async", "thread_tile_2d", "kokkos"});
  }

  void prepare(comm::World& world, std::uint64_t seed) override {
    if (c_.view().data == nullptr) {
      device::Device& device = world.device();
      a_ = {device, case_.type, transpose_a() ? k_ : m_, transpose_a() ? m_ : k_, world.stream()};
      b_ = {device, case_.type, transpose_b() ? n_ : k_, transpose_b() ? k_ : n_, world.stream()};
      c_ = {device, case_.type, m_, n_, world.stream()};
      if (p_.beta != 0) c0_ = {device, case_.type, m_, n_, world.stream()};
      std::int64_t const for_split_k =
          wants_split_k() ? gemm::split_k_scratch(m_, n_, k_, device.facts().units) : 0;
      scratch_ = product_scratch(case_.type, for_split_k, world);
    }
    // Tags differ by rank, so that another rank's data are wrong data.
    auto const tag = static_cast<std::uint64_t>(8 * rank_);
    product_ = {m_,
                n_,
                k_,
                case_.type,
                p_.alpha,
                p_.beta,
                {case_.data, seed, tag},
                {case_.data, seed, tag + 1},
                {case_.data, seed, tag + 2}};
    fill_stored(a_.view(), product_.a, transpose_a(), world);
    fill_stored(b_.view(), product_.b, transpose_b(), world);
    if (p_.beta != 0) fill(c0_.view(), whole(m_, n_), product_.c0, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    if (p_.beta == 0) {
      world.stream().fill(c_.view().data, 0xFF, c_.bytes());
    } else {
      world.stream().copy(c_.view().data, c0_.view().data, c_.bytes());
    }
  }

  bool recordable() const override { return true; }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    launch<gemm::Problem>(variant,
                          {a_.view(), b_.view(), c_.view(), p_.alpha, p_.beta, transpose_a(),
                           transpose_b(), scratch_.span()},
                          world.stream());
  }

  // With beta the product is added to what the last one left.
  bool repeatable(kernels::VariantInfo const&) const override { return p_.beta == 0; }

  measure::Verdict validate(comm::World& world) override {
    ProductLayout const layout{whole(m_, k_), whole(k_, n_), whole(m_, n_), false};
    return check_product(product_, layout, c_.view(), world, case_.check);
  }

  std::vector<device::MatrixView> outputs() override { return {c_.view()}; }

  std::vector<measure::Field> fields() override {
    // Only one rank's product is saved: all ranks have one each, of the same name.
    if (rank_ != 0)
      return {field_of("A", a_.view(), false), field_of("B", b_.view(), false),
              field_of("C", c_.view(), false)};
    return {field_of("A", a_.view(), true), field_of("B", b_.view(), true),
            field_of("C", c_.view(), true)};
  }

 private:
  bool wants_split_k() const {
    return case_.type == core::DataType::f32 &&
           std::ranges::any_of(case_.variants, [](std::string const& name) {
             return name == "all" || name == "split_k";
           });
  }
  bool transpose_a() const {
    return p_.layout == gemm::Layout::tn || p_.layout == gemm::Layout::tt;
  }
  bool transpose_b() const {
    return p_.layout == gemm::Layout::nt || p_.layout == gemm::Layout::tt;
  }

  /// Element (i, j) of op(M) is source.at(i, j), however M is stored.
  static void fill_stored(device::MatrixView const& view, Source const& source, bool transposed,
                          comm::World const& world) {
    fill(view, region_of(whole(view.rows, view.cols), transposed), source, world);
  }

  static measure::Field field_of(std::string name, device::MatrixView const& view, bool mine) {
    measure::Field result = field(std::move(name), view, whole(view.rows, view.cols));
    if (!mine) result.blocks.clear();
    return result;
  }

  core::Case case_;
  Parameters p_;
  std::int64_t m_, n_, k_;
  int ranks_, rank_;
  Product product_;
  device::Matrix a_, b_, c_, c0_;
  device::Buffer<float> scratch_;
};

std::vector<kernels::VariantInfo const*> gemm_rows() { return rows_of(gemm::variants()); }

}  // namespace

namespace entries {

extern measure::WorkloadEntry const gemm{
    .schema = {.name = "gemm",
               .extents = {"m", "n", "k"},
               .keys = {.compute = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::number("alpha", core::options::at(&Parameters::alpha),
                                                 "C = alpha A B + beta C"),
                           core::options::number("beta", core::options::at(&Parameters::beta),
                                                 "C = alpha A B + beta C"),
                           core::options::choice(
                               "layout", core::options::at(&Parameters::layout),
                               "n or t for A, then for B: as it is or transposed")},
               .variants = measure::names_of(gemm_rows())},
    .summary = "C = alpha op(A) op(B) + beta C on each rank",
    .work = "2 m n k flop per rank",
    .local = true,
    .make = measure::make<Gemm>,
    .variants = gemm_rows,
};

}  // namespace entries

}  // namespace quadrille::workloads
