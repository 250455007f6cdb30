// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "attention/attention.hpp"

#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace attention = kernels::attention;
using attention::Mask;

struct Parameters {
  Mask mask = Mask::full;
  bool operator==(Parameters const&) const = default;
};

attention::Shape shape_of(core::Case const& spec) {
  auto const& size = spec.size;
  return {.batch = size[0],
          .heads = size[1],
          .kv_heads = size[2],
          .queries = size[3],
          .keys = size[4],
          .head_size = size[5],
          .mask = spec.parameters.as<Parameters>().mask};
}

std::string conflict(core::Case const& spec) {
  bool const has_type = spec.type == core::DataType::f32 || spec.type == core::DataType::f16 ||
                        spec.type == core::DataType::bf16;
  if (!has_type) {
    return fmt::format("attention has no type = \"{}\"; take f32, f16 or bf16",
                       core::to_text(spec.type));
  }
  if (spec.size.auto_fraction > 0) return "attention takes six extents; auto knows one";
  attention::Shape const shape = shape_of(spec);
  std::string error = attention::shape_error(shape);
  if (!error.empty()) return error;
  constexpr double kMost = 0x1p50;
  if (attention::compulsory_bytes(shape, 1) > kMost) {
    return "the tensors have more than 2^50 elements; take smaller extents";
  }
  return {};
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A row of a generated tensor; f32 holds values of every type here.
void read_row(Source const& source, core::DataType type, std::int64_t row, std::span<float> to) {
  std::uint64_t const key = core::row_key(source.seed, source.tag, row);
  core::visit_type(type, [&](auto zero) {
    for (std::size_t e = 0; e < to.size(); ++e) {
      std::uint64_t const hash = core::element_hash(key, static_cast<std::int64_t>(e));
      to[e] = static_cast<float>(core::value_from_hash<decltype(zero)>(source.kind, hash));
    }
  });
}

/// Judges o from values that are generated again. A row costs as much as it cost to compute, so that a
/// full check computes all rows up to a number of products, and beyond it one of each strip of rows;
/// of the others every element must lie between the smallest and the largest value of its column, as a
/// mean does. A sample takes fewer rows and leaves the others alone.
class Checker {
 public:
  Checker(attention::Problem const& problem, std::array<Source, 3> const& sources,
          core::Check check, comm::World const& world)
      : p_{problem},
        x_{problem.shape},
        d_{problem.shape.head_size},
        sources_{sources},
        world_{world},
        bound_{problem.o.type},
        is_full_{check == core::Check::full} {
    double const products = x_.pairs() * static_cast<double>(x_.batch * x_.heads * d_);
    constexpr double kFull = 0x1p32, kSample = 0x1p26;
    strip_ = static_cast<std::int64_t>(std::ceil(products / (is_full_ ? kFull : kSample)));
    strip_ = std::clamp<std::int64_t>(strip_, 1, std::max<std::int64_t>(1, p_.o.rows));
    finding_.allowed = 1;
  }

  void judge_all() {
    std::int64_t const rows = x_.group() * x_.queries;
    for (std::int64_t head = 0; head < x_.batch * x_.kv_heads && rows > 0; ++head) {
      read_keys(head);
      for_host_tiles(p_.o.block(head * rows, 0, rows, d_), world_,
                     [&](device::MatrixView const& host, std::int64_t first, std::int64_t) {
                       judge_tile(host, head * rows + first);
                     });
    }
  }

  /// Of all judged rows as a whole: single elements may be zero. Collective.
  measure::Verdict verdict() {
    measure::Verdict verdict = agree(world_, finding_);
    std::array<double, 2> sums{values_, bounds_};
    world_.group().sum(std::span{sums});
    require_separation(verdict, std::sqrt(sums[0]), std::sqrt(sums[1]),
                       "take fewer keys or a wider type");
    return verdict;
  }

 private:
  /// One row of each strip, the corners among them: tails are where tiles go wrong.
  bool is_judged(std::int64_t row) const {
    if (row == 0 || row == p_.o.rows - 1) return true;
    std::int64_t const strip = row / strip_;
    std::uint64_t const hash = core::mix(static_cast<std::uint64_t>(strip) + sources_[0].seed);
    return row % strip_ ==
           static_cast<std::int64_t>((hash >> 8) % static_cast<std::uint64_t>(strip_));
  }

  /// Keys and values of a head, and what bounds the elements of its rows.
  void read_keys(std::int64_t head) {
    k_.resize(at(x_.keys * d_));
    v_.resize(at(x_.keys * d_));
    std::vector<double> norms(at(x_.keys));
    on_threads(world_, x_.keys, [&](core::Range const& mine) {
      for (std::int64_t j = mine.first; j < mine.first + mine.count; ++j) {
        std::span const key{k_.data() + j * d_, at(d_)};
        read_row(sources_[1], p_.k.type, head * x_.keys + j, key);
        read_row(sources_[2], p_.v.type, head * x_.keys + j, {v_.data() + j * d_, at(d_)});
        for (float const value : key) norms[at(j)] += double{value} * double{value};
      }
    });
    largest_key_ = 0;
    for (double const norm : norms) largest_key_ = std::max(largest_key_, std::sqrt(norm));
    least_.assign(at(d_), std::numeric_limits<float>::infinity());
    most_.assign(at(d_), -std::numeric_limits<float>::infinity());
    largest_value_ = 0;
    for (std::int64_t e = 0; e < x_.keys * d_; ++e) {
      float& least = least_[at(e % d_)];
      float& most = most_[at(e % d_)];
      least = std::min(least, v_[at(e)]);
      most = std::max(most, v_[at(e)]);
      largest_value_ = std::max(largest_value_, std::abs(double{v_[at(e)]}));
    }
  }

  void judge_tile(device::MatrixView const& host, std::int64_t first) {
    core::visit_type(host.type, [&](auto zero) {
      auto const* const rows = static_cast<decltype(zero) const*>(host.data);
      finding_.add(
          workloads::judge_all(world_, host.rows, 1, [&](Finding& finding, std::int64_t i) {
            std::vector<double> got(at(d_));
            for (std::int64_t e = 0; e < d_; ++e)
              got[at(e)] = static_cast<double>(rows[i * host.ld + e]);
            std::int64_t const row = first + i;
            if (is_judged(row)) {
              judge_row(finding, row, got);
            } else if (is_full_) {
              judge_range(finding, row, got);
            }
          }));
    });
  }

  std::string place(std::int64_t row, std::int64_t column) const {
    std::int64_t const head = row / x_.queries;
    return fmt::format("o({}, {}, {}, {}) on rank {}", head / x_.heads, head % x_.heads,
                       row % x_.queries, column, world_.rank());
  }

  void judge_row(Finding& finding, std::int64_t row, std::vector<double> const& got) {
    std::int64_t const n = x_.visible(row % x_.queries);
    std::vector<float> q(at(d_));
    read_row(sources_[0], p_.q.type, row, q);
    std::vector<double> weights(at(n)), sums(at(d_)), squares(at(d_));
    double largest = -std::numeric_limits<double>::infinity(), norm = 0;
    for (float const value : q) norm += double{value} * double{value};
    for (std::int64_t j = 0; j < n; ++j) {
      weights[at(j)] = dot(q.data(), k_.data() + j * d_) * x_.scale();
      largest = std::max(largest, weights[at(j)]);
    }
    double total = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      double const weight = std::exp(weights[at(j)] - largest);
      total += weight;
      float const* const v = v_.data() + j * d_;
      for (std::int64_t e = 0; e < d_; ++e) {
        double const product = weight * double{v[e]};
        sums[at(e)] += product;
        squares[at(e)] += product * double{v[e]};
      }
    }
    attention::ErrorBound::Row const facts{.score = x_.scale() * std::sqrt(norm) * largest_key_,
                                           .weight = n > 0 ? 1 / total : 0,
                                           .value = largest_value_,
                                           .n = n};
    double of_values = 0, of_bounds = 0;
    for (std::int64_t e = 0; e < d_; ++e) {
      double const want = n > 0 ? sums[at(e)] / total : 0;
      double const variance = n > 0 ? squares[at(e)] / total - want * want : 0;
      double const bound = bound_(facts, want, std::sqrt(std::max(0.0, variance)));
      double const difference = std::abs(got[at(e)] - want);
      finding.check(difference == 0 ? 0 : difference / bound, 1, [&] {
        return fmt::format("{}: expected {:.9g}, got {:.9g}", place(row, e), want, got[at(e)]);
      });
      of_values += want * want;
      of_bounds += bound * bound;
    }
    // Nothing but zeros is exact.
    if (sources_[2].kind == core::DataKind::zeros) return;
    values_ += of_values;
    bounds_ += of_bounds;
  }

  void judge_range(Finding& finding, std::int64_t row, std::vector<double> const& got) const {
    bool const sees_keys = x_.visible(row % x_.queries) > 0;
    double const slack = sees_keys ? core::epsilon_of(p_.o.type) * largest_value_ : 0;
    for (std::int64_t e = 0; e < d_; ++e) {
      double const least = sees_keys ? double{least_[at(e)]} - slack : 0;
      double const most = sees_keys ? double{most_[at(e)]} + slack : 0;
      bool const is_mean = got[at(e)] >= least && got[at(e)] <= most;
      finding.check(is_mean ? 0 : std::numeric_limits<double>::infinity(), 1, [&] {
        return fmt::format("{}: expected {:.9g} to {:.9g}, got {:.9g}", place(row, e), least, most,
                           got[at(e)]);
      });
    }
  }

  /// Several sums side by side, which the compiler keeps in vectors.
  double dot(float const* a, float const* b) const {
    std::array<double, 8> sums{};
    for (std::int64_t e = 0; e < d_; e += 8) {
      for (std::size_t l = 0; l < 8; ++l) sums[l] += double{a[at(e) + l]} * double{b[at(e) + l]};
    }
    double sum = 0;
    for (double const part : sums) sum += part;
    return sum;
  }

  attention::Problem const& p_;
  attention::Shape x_;
  std::int64_t d_;
  std::array<Source, 3> sources_;  // of q, k and v
  comm::World const& world_;
  attention::ErrorBound bound_;
  bool is_full_;
  std::int64_t strip_;
  std::vector<float> k_, v_;
  double largest_key_ = 0, largest_value_ = 0;   // 2-norm of a key, magnitude of a value
  std::vector<float> least_, most_;              // values of a column
  std::atomic<double> values_ = 0, bounds_ = 0;  // sums of squares over judged rows
  Finding finding_;
};

/// o = attention of q to k and v, on every rank at once, each with data of its own.
class Attention final : public measure::Workload {
 public:
  Attention(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        problem_{attention::unallocated(shape_of(spec), spec.type)},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    constexpr std::int64_t kTileQueries = 128;
    attention::Shape const& shape = problem_.shape;
    auto const width = static_cast<double>(core::size_of(case_.type));
    measure::Description d;
    d.amount = attention::flop(shape) * ranks_;
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.memory_bytes = attention::compulsory_bytes(shape, width);
    d.device_bytes = d.memory_bytes * ranks_;
    // What a check reads again, of a head.
    d.host_bytes = 2 * sizeof(float) * static_cast<double>(shape.keys * shape.head_size);
    d.extras = {{"traffic with stored scores", attention::stored_scores_bytes(shape, width), "B"},
                {"traffic in tiles of 128 queries",
                 attention::tiled_bytes(shape, width, kTileQueries), "B"},
                {"intensity", d.flop / d.device_bytes, "flop/B"}};
    d.traits = {.recordable = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of<attention::Problem>(variant).unsupported_reason(problem_);
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    return static_cast<double>(most_scratch(selected, device));
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (o_.view().data == nullptr) allocate(world, selected);
    // Tags differ by rank, so that another rank's data are wrong data.
    auto const tag = static_cast<std::uint64_t>(8 * rank_);
    std::array const tensors{&problem_.q, &problem_.k, &problem_.v};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      sources_[i] = {case_.data, seed, tag + i};
      fill(*tensors[i], whole(tensors[i]->rows, tensors[i]->cols), sources_[i], world);
    }
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(o_.view().data, 0xFF, o_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of<attention::Problem>(variant).launch(problem_, world.stream());
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    return row_of<attention::Problem>(variant).implementation(problem_);
  }

  measure::Verdict validate(comm::World& world) override {
    Checker checker{problem_, sources_, case_.check, world};
    checker.judge_all();
    return checker.verdict();
  }

  std::vector<measure::Field> fields() override {
    auto const tensor = [&](std::string name, device::MatrixView const& view) {
      return of_rank_0(field(std::move(name), view, whole(view.rows, view.cols)), rank_);
    };
    return {measure::input(tensor("q", problem_.q)), measure::input(tensor("k", problem_.k)),
            measure::input(tensor("v", problem_.v)), measure::output(tensor("o", problem_.o))};
  }

 private:
  std::size_t most_scratch(measure::Selection const& selected, device::Facts const& device) const {
    std::size_t bytes = 0;
    for (kernels::VariantInfo const* variant : selected) {
      auto const& row = row_of<attention::Problem>(*variant);
      bytes = std::max(bytes, row.scratch_bytes(problem_, device));
    }
    return bytes;
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    auto const make = [&](device::MatrixView& view) {
      device::Matrix matrix{world.device(), view.type, view.rows, view.cols, world.stream()};
      view = matrix.view();
      return matrix;
    };
    q_ = make(problem_.q);
    k_ = make(problem_.k);
    v_ = make(problem_.v);
    o_ = make(problem_.o);
    std::size_t const bytes = most_scratch(selected, world.device().facts());
    if (bytes == 0) return;
    scratch_ = {world.device(), static_cast<std::int64_t>(bytes), world.stream()};
    problem_.scratch = scratch_.data();
    problem_.scratch_bytes = bytes;
  }

  core::Case case_;
  attention::Problem problem_;  // without memory before prepare()
  int ranks_, rank_;
  std::array<Source, 3> sources_;
  device::Matrix q_, k_, v_, o_;
  device::Buffer<std::byte> scratch_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const attention{
    .schema = {.name = "attention",
               .extents = {"batch", "heads", "kv_heads", "queries", "keys", "head_size"},
               .most_extent = std::numeric_limits<std::int32_t>::max(),
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice(
                   "mask", core::options::at(&Parameters::mask),
                   "which keys a query sees; causal: none of later tokens, the last query all")},
               .variants = measure::names_of(rows_of(kernels::attention::variants())),
               .conflict = conflict},
    .summary = "attention of queries to keys and values, by heads, on each rank",
    .work =
        "4 head_size flop for each pair of a query and a key that it sees, per rank: 4 b h q k d, "
        "about half of it under a causal mask",
    .local = true,
    .variants = rows_of(kernels::attention::variants()),
    .make = measure::make<Attention>,
};

}  // namespace entries

}  // namespace quadrille::workloads
