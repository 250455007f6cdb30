// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "integral/integral.hpp"

#include "integral/flop.hpp"
#include "workloads/tables.hpp"
#include "workloads/virtual_blocks.hpp"

namespace quadrille::workloads {
namespace {

namespace integral = kernels::integral;

struct Parameters {
  integral::Integrand integrand = integral::Integrand::sin2cos2;
  integral::Rule rule = integral::Rule::midpoint;
  bool reproducible = false;
  bool operator==(Parameters const&) const = default;
};

/// A definite integral by a composite rule, its cells spread over all ranks by virtual blocks.
class Integral final : public measure::Workload {
 public:
  Integral(core::Case const& spec, int ranks, int rank)
      : case_{spec}, p_{spec.parameters.as<Parameters>()}, ranks_{ranks} {
    core::Range const blocks = RankReduction::blocks_of(ranks, rank);
    problem_.integrand = p_.integrand;
    problem_.rule = p_.rule;
    problem_.type = spec.type;
    problem_.cells = spec.size[0];
    problem_.first = integral::block_begin(problem_.cells, blocks.first);
    problem_.count =
        integral::block_begin(problem_.cells, blocks.first + blocks.count) - problem_.first;
    problem_.reproducible = p_.reproducible;
    problem_.block_first = blocks.first;
    problem_.block_count = blocks.count;
    integral::set_default_interval(problem_);
  }

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.traits = {.communicates = true, .graph_capturable = ranks_ == 1, .searches_best = true};
    d.amount = integral::evaluations(problem_.rule, static_cast<double>(problem_.cells));
    d.unit = "eval/s";
    // Bits that are prescribed prescribe the operations, too.
    (problem_.reproducible ? d.flop : d.gpu_flop) =
        d.amount * integral::flop_of_evaluation(problem_);
    d.network_bytes = 2.0 * (ranks_ - 1) * 8;
    d.traffic = RankReduction::traffic(p_.reproducible);
    d.memory_bytes = 3.0 * 8 * integral::kVirtualBlocks +
                     static_cast<double>(integral::scratch_bytes(problem_.count));
    d.host_bytes = 8.0 * static_cast<double>(integral::partial_sums(problem_.count));
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of(integral::variants(), variant).unsupported_reason(problem_);
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (!prepared_) {
      over_ranks_ =
          RankReduction{world, case_, kernels::reduction::Operation::sum, p_.reproducible};
      if (world.device().kind() == device::Kind::cuda) {
        auto const bytes = static_cast<std::int64_t>(integral::scratch_bytes(problem_.count));
        scratch_ = {world.device(), bytes, world.stream()};
        world.stream().fill(scratch_.data(), 0, scratch_.bytes());
        host_scratch_ = {world.device(), integral::partial_sums(problem_.count) + 1};
        problem_.scratch = scratch_.data();
        problem_.scratch_bytes = scratch_.bytes();
        problem_.host_scratch = host_scratch_.data();
      }
      prepared_ = true;
    }
    problem_.result = over_ranks_.partial();
    problem_.blocks = over_ranks_.blocks();
    // The only input is a factor: seed 1 gives 1, others another power-of-two fraction, so that
    // the result of an earlier run is a wrong one here.
    problem_.amplitude = 1 + static_cast<double>((seed + 7) % 8) / 8;
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    launched_ = &row_of(integral::variants(), variant);
    over_ranks_.reset(world);
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of(integral::variants(), variant).launch(problem_, world.stream());
    over_ranks_.run(world);
  }

  measure::Verdict validate(comm::World& world) override {
    auto const serial = [&](std::int64_t cells) {
      return launched_->specifics.notes.adds_serially ? static_cast<double>(cells) : 0;
    };
    integral::Part const whole{integral::exact(problem_),
                               integral::error_bound(problem_, serial(problem_.cells))};
    Finding finding;
    finding.allowed = 1;
    check(finding, "partial result", over_ranks_.partial_value(world),
          integral::part_of(problem_, serial(problem_.count)), world);
    check(finding, "integral", over_ranks_.total_value(world), whole, world);
    over_ranks_.check_gathered(world, finding);
    measure::Verdict verdict = agree(world, finding);
    require_separation(verdict, whole.value, whole.bound, "take more cells");
    verdict.digest = fmt::format("{:a}", over_ranks_.total_value(world));
    return verdict;
  }

  std::vector<measure::Field> fields() override {
    std::vector<measure::Field> all = over_ranks_.fields();
    all.push_back(over_ranks_.total("integral"));
    return all;
  }

 private:
  static void check(Finding& finding, std::string_view what, double got, integral::Part const& want,
                    comm::World const& world) {
    double const error = std::abs(got - want.value);
    // Without a bound any difference is wrong: infinitely, if divided by 0.
    finding.check(error == 0 ? 0 : error / want.bound, 1, [&] {
      return fmt::format("{} on rank {}: expected {:.17g} within {:.3g}, got {}", what,
                         world.rank(), want.value, want.bound, shown(got, 17));
    });
  }

  core::Case case_;
  Parameters p_;
  int ranks_;
  integral::Problem problem_;
  bool prepared_ = false;
  kernels::Variant<integral::Problem> const* launched_ = nullptr;  ///< whose result is judged
  RankReduction over_ranks_;
  device::Buffer<std::byte> scratch_;  // on a GPU, for partial sums
  device::PinnedBuffer<double> host_scratch_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const integral = measure::entry({
    .schema = {.name = "integral",
               .extents = {"cells"},
               .min_extent = 1,
               .max_extent = 1LL << 51,  // where f64 has no two cells at one place
               .keys = {.transport = true, .weak = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice(
                               "integrand", core::options::at(&Parameters::integrand),
                               "sin^2(2x) cos^2(x), 4/(1 + x^2), exp(-x^2), 1/(1 + 25 x^2)"),
                           core::options::choice("rule", core::options::at(&Parameters::rule),
                                                 "quadrature rule of a cell"),
                           core::options::flag(
                               "reproducible", core::options::at(&Parameters::reproducible),
                               "the same bits for any number of ranks and any device")}},
    .summary = "a definite integral by a composite rule",
    .work = "evaluations of the integrand",
    .local = false,
    .variants = rows_of(integral::variants()),
    .make = measure::make<Integral>,
});

}  // namespace entries

}  // namespace quadrille::workloads
