// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "peak/peak.hpp"

#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <array>
#include <set>

namespace quadrille::workloads {
namespace {

namespace peak = kernels::peak;

/// Multiply-adds without memory, on every rank at once, each with numbers of its own.
class Peak final : public measure::Workload {
 public:
  Peak(core::Case const& spec, int ranks, int rank) : case_{spec}, ranks_{ranks}, rank_{rank} {
    problem_.type = spec.type;
    problem_.compute = spec.compute;
    problem_.multiply_adds = spec.size[0];
  }

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.amount = 2.0 * static_cast<double>(problem_.multiply_adds) * ranks_;
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.measures = measure::Resource::compute;
    d.memory_bytes = 6 << 20;  // results of any device
    d.traits = {.graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    peak::Problem p = problem_;
    p.workers = device.facts().multiprocessors;
    return row_of(peak::variants(), variant).unsupported_reason(p);
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    problem_.workers = world.device().facts().multiprocessors;
    left_ = selected.front();
    if (result_.size() == 0) {
      int most = 0;
      for (kernels::VariantInfo const* row : selected) most = std::max(most, loop_of(*row).results);
      result_ = {world.device(), std::int64_t{problem_.workers} * most, world.stream()};
      processor_ = {world.device(), std::int64_t{problem_.workers} * most, world.stream()};
      start_ = {world.device(), peak::kStarts, world.stream()};
    }
    constexpr int kNumbers = 2 * peak::kMaxStart + 1;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      std::uint64_t const bits = core::mix(core::mix(seed) + static_cast<unsigned>(rank_) + i * 64);
      starts_[i] = static_cast<std::int32_t>(bits % kNumbers) - peak::kMaxStart;
    }
    world.stream().copy(start_.data(), starts_.data(), start_.bytes());
    world.stream().synchronize();
    problem_.start = start_.data();
    problem_.result = result_.data();
    problem_.processor = processor_.data();
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    left_ = &variant;
    world.stream().fill(result_.data(), 0xFF, result_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of(peak::variants(), variant).launch(problem_, world.stream());
  }

  /// All results, and on GPUs those of every multiprocessor: other work may have kept blocks away from one.
  measure::Verdict validate(comm::World& world) override {
    constexpr int kLaunches = 16;
    bool const is_gpu = world.device().kind() == device::Kind::cuda;
    Finding finding;
    std::string const fault = peak::fault_of_host(peak::facts_of(problem_).types);
    finding.check(fault.empty() ? 0 : 1, 0, [&] { return fault; });
    std::set<std::uint32_t> seen;
    check_results(world, finding, seen);
    auto const is_missing = [&] {
      return is_gpu && seen.size() < static_cast<std::size_t>(problem_.workers);
    };
    for (int i = 1; i < kLaunches && is_missing(); ++i) {
      row_of(peak::variants(), *left_).launch(problem_, world.stream());
      check_results(world, finding, seen);
    }
    finding.check(is_missing() ? 1 : 0, 0, [&] {
      return fmt::format("only {} of {} multiprocessors on rank {} took part in {} launches",
                         seen.size(), problem_.workers, rank_, kLaunches);
    });
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    std::int64_t const n = std::int64_t{problem_.workers} * loop_of(*left_).results;
    device::MatrixView const view{result_.data(), core::DataType::i64, 1, n, n};
    return {measure::output(of_rank_0(vector_field("result", view, n), rank_))};
  }

 private:
  using Last = std::array<std::uint64_t, peak::kStarts>;

  void check_results(comm::World& world, Finding& finding, std::set<std::uint32_t>& seen) {
    auto const got = download<std::uint64_t>(outputs_of(*this)[0], world.stream());
    std::vector<std::uint32_t> processors(got.size());
    world.stream().copy(processors.data(), processor_.data(), 4 * processors.size());
    world.stream().synchronize();
    seen.insert(processors.begin(), processors.end());
    peak::Loop const loop = loop_of(*left_);
    // The first worker has the most steps; others have those of the last.
    auto const of_first = last_of(loop, 0), of_last = last_of(loop, problem_.workers - 1);
    std::int64_t const most = peak::steps_of(problem_, loop, 0);
    for (std::size_t i = 0; i < got.size(); ++i) {
      auto const worker = static_cast<std::int64_t>(i) / loop.results;
      auto const& last = peak::steps_of(problem_, loop, worker) == most ? of_first : of_last;
      std::uint64_t want = i;
      for (std::size_t c = 0; c < static_cast<std::size_t>(loop.chains); ++c) {
        want += last[(i * static_cast<std::size_t>(loop.chains) + c) % last.size()];
      }
      finding.check(got[i] == want ? 0 : 1, 0, [&] {
        bool const is_gpu = world.device().kind() == device::Kind::cuda;
        return fmt::format("result {} on rank {}, {} {}: expected {:#x}, got {:#x}", i, rank_,
                           is_gpu ? "multiprocessor" : "CPU", processors[i], want, got[i]);
      });
    }
  }

  peak::Loop loop_of(kernels::VariantInfo const& variant) const {
    return row_of(peak::variants(), variant).specifics.notes.loop(peak::facts_of(problem_).types);
  }
  /// What chains of a worker end with, by start.
  Last last_of(peak::Loop const& loop, std::int64_t worker) const {
    Last last;
    for (std::size_t i = 0; i < last.size(); ++i) {
      last[i] = peak::last_bits(peak::facts_of(problem_).types, loop,
                                peak::steps_of(problem_, loop, worker), starts_[i]);
    }
    return last;
  }

  core::Case case_;
  int ranks_, rank_;
  peak::Problem problem_;
  std::array<std::int32_t, peak::kStarts> starts_{};
  device::Buffer<std::int32_t> start_;
  device::Buffer<std::uint64_t> result_;
  device::Buffer<std::uint32_t> processor_;
  kernels::VariantInfo const* left_ = nullptr;  ///< who runs
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const peak = measure::entry({
    .schema = {.name = "peak", .extents = {"n"}, .keys = {.compute = true}},
    .summary = "multiply-adds of values in registers: what the arithmetic units can do",
    .work = "2 n flop per rank",
    .local = true,
    .variants = rows_of(peak::variants()),
    .make = measure::make<Peak>,
});

}  // namespace entries

}  // namespace quadrille::workloads
