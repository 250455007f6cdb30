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
  std::int64_t beams = 0;
  bool operator==(Parameters const&) const = default;
};

sampler::Problem problem_of(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  sampler::Problem problem = sampler::unallocated(spec.size[0], spec.size[1], spec.type, p.beams);
  problem.temperature = p.temperature;
  problem.top_k = p.top_k;
  problem.top_p = p.top_p;
  problem.seed = spec.seed;
  return problem;
}

std::string conflict(core::Case const& spec) { return sampler::error_of(problem_of(spec)); }

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

/// Scores of all tokens behind one beam, of exact weights.
struct ExactBeam {
  std::vector<double> scores;
  double slack = 0;  ///< that a score in f32 may be off

  ExactBeam(std::vector<double> logits, double temperature, double score)
      : scores{std::move(logits)} {
    double const largest = *std::ranges::max_element(scores);
    double sum = 0;
    for (double& z : scores) {
      z = (z - largest) / temperature;
      sum += std::exp(z);
    }
    double const logarithm = std::log(sum), least = *std::ranges::min_element(scores);
    // Of the sum of weights, each of which is cut to a whole number; then four operations round.
    slack = 2e-6 + static_cast<double>(scores.size()) / sampler::kWeightOfLargest +
            0x1p-22 * (std::abs(score) + std::abs(least) + logarithm);
    for (double& z : scores) z += score - logarithm;
  }
};

/// The next token of each request, or beams of it, on every rank at once, each with logits of its own.
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

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    return static_cast<double>(max_scratch(sampler::variants(), problem_, selected, device));
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (memory_.empty()) allocate(world, selected);
    // Tags differ by rank, so that another rank's data are wrong data.
    source_ = {case_.data, seed, static_cast<std::uint64_t>(rank_)};
    fill(problem_.logits, whole(problem_.logits.rows, problem_.logits.cols), source_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    for (device::MatrixView const* view : written()) {
      world.stream().fill(view->data, 0xFF, static_cast<std::size_t>(bytes_of(*view)));
    }
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of(sampler::variants(), variant).launch(problem_, world.stream());
  }

  /// Every request.
  measure::Verdict validate(comm::World& world) override {
    auto const tokens = download<std::int32_t>(problem_.tokens, world.stream());
    if (problem_.beams > 0) return judge_beams(world, tokens);
    auto const probabilities = download<float>(problem_.probabilities, world.stream());
    return agree(world,
                 judge_all(world, problem_.logits.rows, 1, [&](Finding& finding, std::int64_t i) {
                   auto const at = static_cast<std::size_t>(i);
                   judge(finding, i, tokens[at], double{probabilities[at]}, world);
                 }));
  }

  std::vector<measure::Field> fields() override {
    std::vector<measure::Field> all{
        measure::output(whole_of_rank_0("tokens", problem_.tokens, rank_))};
    for (auto const& [name, view] : {std::pair{"probabilities", &problem_.probabilities},
                                     {"parents", &problem_.parents},
                                     {"scores", &problem_.new_scores}}) {
      if (view->rows > 0) all.push_back(measure::output(whole_of_rank_0(name, *view, rank_)));
    }
    return all;
  }

 private:
  /// Tokens, and what else comes of drawing or of beams.
  std::vector<device::MatrixView*> written() {
    std::vector<device::MatrixView*> all{&problem_.tokens, &problem_.probabilities,
                                         &problem_.parents, &problem_.new_scores};
    std::erase_if(all, [](device::MatrixView const* view) { return view->rows == 0; });
    return all;
  }

  std::vector<double> logits_of(std::int64_t row) const {
    std::vector<double> logits;
    core::visit_type(case_.type, [&](auto zero) {
      for (std::int64_t j = 0; j < problem_.logits.cols; ++j) {
        logits.push_back(static_cast<double>(source_.at<decltype(zero)>(row, j)));
      }
    });
    return logits;
  }

  /// New beams of each request: scores that are right, in order, and of no beam twice; and none that was
  /// left out has a larger one.
  measure::Verdict judge_beams(comm::World& world, std::vector<std::int32_t> const& tokens) {
    auto const parents = download<std::int32_t>(problem_.parents, world.stream());
    auto const scores = download<float>(problem_.new_scores, world.stream());
    std::int64_t const beams = problem_.beams;
    return agree(
        world,
        judge_all(world, problem_.requests_count(), 1, [&](Finding& finding, std::int64_t request) {
          std::vector<ExactBeam> rows;
          std::vector<double> all;
          double slack = 0;
          for (std::int64_t i = request * beams; i < (request + 1) * beams; ++i) {
            double const score = scores_[static_cast<std::size_t>(i)];
            if (!std::isfinite(score)) break;
            rows.emplace_back(logits_of(i), problem_.temperature, score);
            slack = std::max(slack, rows.back().slack);
            all.insert(all.end(), rows.back().scores.begin(), rows.back().scores.end());
          }
          auto const last = all.begin() + beams - 1;
          std::ranges::nth_element(all, last, std::greater{});
          std::vector<std::pair<std::int32_t, std::int32_t>> taken;
          for (std::int64_t beam = 0; beam < beams; ++beam) {
            auto const at = static_cast<std::size_t>(request * beams + beam);
            std::pair const one{parents[at], tokens[at]};
            bool const is_there = one.first >= 0 && one.first < std::ssize(rows) &&
                                  one.second >= 0 && one.second < problem_.logits.cols;
            double const exact = is_there ? rows[static_cast<std::size_t>(one.first)]
                                                .scores[static_cast<std::size_t>(one.second)]
                                          : std::numeric_limits<double>::quiet_NaN();
            bool const is_right = std::abs(double{scores[at]} - exact) <= slack &&
                                  exact >= *last - 2 * slack &&
                                  std::ranges::find(taken, one) == taken.end() &&
                                  (beam == 0 || scores[at] <= scores[at - 1]);
            taken.push_back(one);
            finding.check(is_right ? 0 : 1, 0, [&] {
              return fmt::format(
                  "beam {} of request {} on rank {}: expected a score of {:.8g} or more that is "
                  "right, got token {} behind beam {} of {:.8g}, which has {:.8g}",
                  beam, request, world.rank(), *last, one.second, one.first, scores[at], exact);
            });
          }
        }));
  }

  void judge(Finding& finding, std::int64_t i, std::int32_t token, double probability,
             comm::World const& world) const {
    auto const at = static_cast<std::size_t>(i);
    double const share = std::ldexp(
        static_cast<double>(sampler::random_share(problem_.seed, requests_[at], positions_[at])),
        -sampler::kShareBits);
    Exact const exact{logits_of(i), problem_, share};
    bool const is_right = token >= 0 && exact.allows(static_cast<std::size_t>(token), probability);
    finding.check(is_right ? 0 : 1, 0, [&] {
      auto const [want, with] = exact.expected();
      return fmt::format(
          "row {}: the token on rank {}: expected {} of probability {:.6g}, got {} of {:.6g}", i,
          world.rank(), want, with, token, probability);
    });
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    constexpr std::uint64_t kRequestTag = 0x726571, kPositionTag = 0x706f73, kScoreTag = 0x736f66;
    memory_.push_back(allocate_matrix(problem_.logits, world));
    for (device::MatrixView* view : written()) memory_.push_back(allocate_matrix(*view, world));
    scratch_ = allocate_scratch(sampler::variants(), problem_, selected, world);
    for (std::int64_t i = 0; i < problem_.logits.rows && problem_.beams > 0; ++i) {
      // Of the first request there is one beam, as behind a prompt.
      bool const is_there = i == 0 || i >= problem_.beams;
      scores_.push_back(is_there ? -20 * static_cast<float>(draw(case_.seed, kScoreTag, i))
                                 : -std::numeric_limits<float>::infinity());
    }
    scores_there_ = uploaded(scores_, world);
    problem_.scores = scores_there_.data();
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
  std::vector<device::Matrix> memory_;
  device::Buffer<std::byte> scratch_;
  std::vector<std::int32_t> requests_, positions_;
  std::vector<float> scores_;  ///< of beams
  device::Buffer<std::int32_t> there_, positions_there_;
  device::Buffer<float> scores_there_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const sampler = measure::entry({
    .schema =
        {.name = "sampler",
         .extents = {"requests", "vocabulary"},
         .min_extent = 1,
         .max_extent = std::numeric_limits<std::int32_t>::max(),
         .has_auto = false,
         .defaults = core::Parameters{Parameters{}},
         .options =
             {core::options::number("temperature", core::options::at(&Parameters::temperature),
                                    "what logits are divided by; 0: the likeliest token is taken"),
              core::options::count(
                  "top_k",
                  core::options::at(&Parameters::top_k),
                  "the likeliest that a token is drawn of; 0: all",
                  {.least = 0, .most = sampler::kMaxVocabulary}),
              core::options::number(
                  "top_p",
                  core::options::at(&Parameters::top_p),
                  "it is drawn of the fewest likeliest that have this share of the weight"),
              core::options::count(
                  "beams", core::options::at(&Parameters::beams),
                  "likeliest outputs of a request, a row each, which a step of a beam search "
                  "extends by a token, of all, without top_k and top_p; 0: tokens are drawn",
                  {.least = 0, .most = sampler::kMaxBeams})},
         .conflict = conflict},
    .summary = "the next token of each request, or those of its beams, by its logits",
    .work = "each logit and what is written once, in bytes per rank",
    .local = true,
    .variants = rows_of(kernels::sampler::variants()),
    .make = measure::make<Sampler>,
});

}  // namespace entries

}  // namespace quadrille::workloads
