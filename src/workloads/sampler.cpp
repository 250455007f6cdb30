// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "sampler/sampler.hpp"

#include "workloads/data.hpp"
#include "workloads/draws.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace sampler = kernels::sampler;

struct Parameters {
  double temperature = 1;
  std::int64_t top_k = 0;
  double top_p = 1;
  bool operator==(Parameters const&) const = default;
};

sampler::Problem problem_of(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  sampler::Problem problem = sampler::unallocated(spec.size[0], spec.size[1], spec.type);
  problem.temperature = p.temperature;
  problem.top_k = p.top_k;
  problem.top_p = p.top_p;
  problem.seed = spec.seed;
  return problem;
}

std::string conflict(core::Case const& spec) {
  std::string const error = tensor_conflict(spec);
  return error.empty() ? sampler::error_of(problem_of(spec)) : error;
}

/// A request's token, of exact weights.
class Exact {
 public:
  Exact(std::vector<double> const& logits, sampler::Problem const& p, double share)
      : share_{share}, order_(logits.size()), rank_(logits.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    auto const is_likelier = [&](std::size_t a, std::size_t b) {
      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    auto const kept = p.has_top_k() ? static_cast<std::size_t>(p.top_k) : logits.size();
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(kept),
                      order_.end(), is_likelier);
    for (std::size_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
    double const largest = logits[order_[0]];
    for (double const logit : logits) {
      weights_.push_back(p.is_greedy() ? 0 : std::exp((logit - largest) / p.temperature));
    }
    least_ = most_ = p.is_greedy() ? 1 : kept;
    if (p.is_greedy()) weights_[order_[0]] = 1;
    if (p.top_p < 1) narrow(kept, p.top_p);
  }

  /// Whether the token may be drawn with this probability, whichever the roundings of weights.
  bool allows(std::size_t token, double probability) const {
    if (token >= weights_.size()) return false;
    double const weight = weights_[token];
    double before = 0, all = 0;
    for (std::size_t i = 0; i < most_; ++i) {
      all += weights_[order_[i]];
      if (order_[i] < token) before += weights_[order_[i]];
      if (i + 1 < least_ || rank_[token] > i) continue;
      double const slack = kSlack * all, place = share_ * all, want = weight / all;
      double const off = std::abs(probability - want);
      bool const is_there = place >= before - slack && place < before + weight + slack;
      // Of what is rounded to whole numbers, too.
      if (is_there && off <= 8 * kSlack * want + 1 / (sampler::kWeightOfLargest * all)) return true;
    }
    return false;
  }

  /// What is drawn of exact weights, and its probability.
  std::pair<std::size_t, double> expected() const {
    double all = 0;
    for (std::size_t i = 0; i < least_; ++i) all += weights_[order_[i]];
    double sum = 0;
    for (std::size_t token = 0; token < weights_.size(); ++token) {
      if (rank_[token] >= least_) continue;
      sum += weights_[token];
      if (sum > share_ * all) return {token, weights_[token] / all};
    }
    return {order_[0], weights_[order_[0]] / all};
  }

 private:
  /// Of a weight, as exponentials in f32 leave it.
  static constexpr double kSlack = 2e-6;

  void narrow(std::size_t kept, double top_p) {
    double all = 0, sum = 0;
    for (std::size_t i = 0; i < kept; ++i) all += weights_[order_[i]];
    std::size_t count = 0;
    auto const take = [&](double share) {
      while (count < kept && sum < share * all) sum += weights_[order_[count++]];
      return std::max<std::size_t>(1, count);
    };
    least_ = take(top_p - kSlack);
    most_ = take(top_p + kSlack);
  }

  double share_;
  std::vector<std::size_t> order_, rank_;  ///< the likeliest first, as far as they are kept
  std::vector<double> weights_;
  std::size_t least_, most_;  ///< that may be kept
};

/// The next token of each request, on every rank at once, each with logits of its own.
class Sampler final : public measure::Workload {
 public:
  Sampler(core::Case const& spec, int ranks, int rank)
      : case_{spec}, problem_{problem_of(spec)}, ranks_{ranks}, rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.amount = sampler::bytes_moved(problem_) * ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    d.memory_bytes = sampler::bytes_moved(problem_);
    d.traits = {.graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of(sampler::variants(), variant).unsupported_reason(problem_);
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (logits_.view().data == nullptr) allocate(world);
    // Tags differ by rank, so that another rank's data are wrong data.
    source_ = {case_.data, seed, static_cast<std::uint64_t>(rank_)};
    fill(problem_.logits, whole(problem_.logits.rows, problem_.logits.cols), source_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(tokens_.view().data, 0xFF, tokens_.bytes());
    world.stream().fill(probabilities_.view().data, 0xFF, probabilities_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of(sampler::variants(), variant).launch(problem_, world.stream());
  }

  /// Every request.
  measure::Verdict validate(comm::World& world) override {
    auto const tokens = download<std::int32_t>(problem_.tokens, world.stream());
    auto const probabilities = download<float>(problem_.probabilities, world.stream());
    return agree(world,
                 judge_all(world, problem_.logits.rows, 1, [&](Finding& finding, std::int64_t i) {
                   auto const at = static_cast<std::size_t>(i);
                   judge(finding, i, tokens[at], double{probabilities[at]}, world);
                 }));
  }

  std::vector<measure::Field> fields() override {
    return {measure::output(whole_of_rank_0("tokens", problem_.tokens, rank_)),
            measure::output(whole_of_rank_0("probabilities", problem_.probabilities, rank_))};
  }

 private:
  void judge(Finding& finding, std::int64_t i, std::int32_t token, double probability,
             comm::World const& world) const {
    std::vector<double> logits;
    core::visit_type(case_.type, [&](auto zero) {
      for (std::int64_t j = 0; j < problem_.logits.cols; ++j) {
        logits.push_back(static_cast<double>(source_.at<decltype(zero)>(i, j)));
      }
    });
    auto const at = static_cast<std::size_t>(i);
    double const share = std::ldexp(
        static_cast<double>(sampler::random_share(problem_.seed, requests_[at], positions_[at])),
        -sampler::kShareBits);
    Exact const exact{logits, problem_, share};
    bool const is_right = token >= 0 && exact.allows(static_cast<std::size_t>(token), probability);
    finding.check(is_right ? 0 : 1, 0, [&] {
      auto const [want, with] = exact.expected();
      return fmt::format(
          "row {}: the token on rank {}: expected {} of probability {:.6g}, got {} of {:.6g}", i,
          world.rank(), want, with, token, probability);
    });
  }

  void allocate(comm::World& world) {
    constexpr std::uint64_t kRequestTag = 0x726571, kPositionTag = 0x706f73;
    logits_ = allocate_matrix(problem_.logits, world);
    tokens_ = allocate_matrix(problem_.tokens, world);
    probabilities_ = allocate_matrix(problem_.probabilities, world);
    requests_ = shuffled(problem_.logits.rows, case_.seed, kRequestTag);
    for (std::int64_t i = 0; i < problem_.logits.rows; ++i) {
      positions_.push_back(static_cast<std::int32_t>(draw(case_.seed, kPositionTag, i) * 131072.0));
    }
    there_ = uploaded(requests_, world);
    positions_there_ = uploaded(positions_, world);
    problem_.requests = there_.data();
    problem_.positions = positions_there_.data();
  }

  core::Case case_;
  sampler::Problem problem_;  // without memory before prepare()
  int ranks_, rank_;
  Source source_;
  device::Matrix logits_, tokens_, probabilities_;
  std::vector<std::int32_t> requests_, positions_;
  device::Buffer<std::int32_t> there_, positions_there_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const sampler =
    measure::entry({
        .schema =
            {.name = "sampler",
             .extents = {"requests", "vocabulary"},
             .min_extent = 1,
             .max_extent = std::numeric_limits<std::int32_t>::max(),
             .defaults = core::Parameters{Parameters{}},
             .options =
                 {core::options::number(
                      "temperature", core::options::at(&Parameters::temperature),
                      "what logits are divided by; 0: the likeliest token is taken"),
                  core::options::count("top_k", core::options::at(&Parameters::top_k),
                                       "the likeliest that a token is drawn of; 0: all",
                                       {.least = 0, .most = sampler::kMaxVocabulary}),
                  core::options::number(
                      "top_p",
                      core::options::at(&Parameters::top_p),
                      "it is drawn of the fewest likeliest that have this share of the weight")},
             .conflict = conflict},
        .summary = "the next token of each request, by its logits",
        .work = "each logit and what is written once, in bytes per rank",
        .local = true,
        .variants = rows_of(kernels::sampler::variants()),
        .make = measure::make<Sampler>,
    });

}  // namespace entries

}  // namespace quadrille::workloads
