// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/checks/attention.hpp"

#include "attention/attention_library.hpp"
#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
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
  attention::Shape const shape = shape_of(spec);
  std::string const error = attention::shape_error(shape);
  return error.empty() ? elements_conflict(attention::compulsory_bytes(shape, 1, 1)) : error;
}

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
    auto const of_result = static_cast<double>(core::size_of(attention::result_type(case_.type)));
    d.memory_bytes = attention::compulsory_bytes(shape, width, of_result);
    d.device_bytes = d.memory_bytes * ranks_;
    // What a check reads again, of a head.
    d.host_bytes = 2 * sizeof(float) * static_cast<double>(shape.keys * shape.head_size);
    d.extras = {{"stored scores", attention::stored_scores_bytes(shape, width), "B"},
                {"tiled traffic", attention::tiled_bytes(shape, width, kTileQueries), "B"},
                {"intensity", d.flop / d.device_bytes, "flop/B"}};
    d.traits = {.graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of(attention::variants(), variant).unsupported_reason(problem_);
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    return static_cast<double>(max_scratch(attention::variants(), problem_, selected, device));
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
    row_of(attention::variants(), variant).launch(problem_, world.stream());
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    return row_of(attention::variants(), variant).implementation(problem_);
  }
  double searched_seconds(kernels::VariantInfo const& variant) const override {
    return attention::library_of(variant).searched_seconds(problem_);
  }
  bool drop_call(kernels::VariantInfo const& variant) override {
    return attention::library_of(variant).drop_call(problem_);
  }
  bool run_plainly(comm::World& world, kernels::VariantInfo const& variant) override {
    return workloads::run_plainly(*this, world, variant, attention::library_of(variant), problem_);
  }

  measure::Verdict validate(comm::World& world) override {
    attention::Shape const& x = problem_.shape;
    AttentionCheck checker{problem_.o,
                           case_.type,
                           x.head_size,
                           {sources_[0], sources_[1], sources_[2]},
                           attention::flop(x) / 4,
                           case_.check,
                           world};
    std::int64_t const rows = x.group() * x.queries;
    checker.judge(x.batch * x.kv_heads, [&](std::int64_t head) -> AttentionCheck::Group {
      return {.first_row = head * rows,
              .rows = rows,
              .keys = x.keys,
              .row_of_key = [&x, head](std::int64_t key) { return head * x.keys + key; },
              .visible = [&x](std::int64_t row) { return x.visible(row % x.queries); },
              .place =
                  [&x](std::int64_t row, std::int64_t column) {
                    std::int64_t const of_all = row / x.queries;
                    return fmt::format("o({}, {}, {}, {})", of_all / x.heads, of_all % x.heads,
                                       row % x.queries, column);
                  }};
    });
    return checker.verdict();
  }

  std::vector<measure::Field> fields() override {
    return {measure::input(whole_of_rank_0("q", problem_.q, rank_)),
            measure::input(whole_of_rank_0("k", problem_.k, rank_)),
            measure::input(whole_of_rank_0("v", problem_.v, rank_)),
            measure::output(whole_of_rank_0("o", problem_.o, rank_))};
  }

 private:
  void allocate(comm::World& world, measure::Selection const& selected) {
    q_ = allocate_matrix(problem_.q, world);
    k_ = allocate_matrix(problem_.k, world);
    v_ = allocate_matrix(problem_.v, world);
    o_ = allocate_matrix(problem_.o, world);
    scratch_ = allocate_scratch(attention::variants(), problem_, selected, world);
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

extern measure::WorkloadEntry const attention = measure::entry({
    .schema = {.name = "attention",
               .extents = {"batch", "heads", "kv_heads", "queries", "keys", "head_size"},
               .max_extent = std::numeric_limits<std::int32_t>::max(),
               .has_auto = false,
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice(
                   "mask", core::options::at(&Parameters::mask),
                   "which keys a query sees; causal: none of later tokens, the last query all")},
               .conflict = conflict},
    .summary = "attention of queries to keys and values, by heads, on each rank",
    .work =
        "4 head_size flop for each pair of a query and a key that it sees, per rank: 4 b h q k d, "
        "about half of it under a causal mask",
    .local = true,
    .variants = rows_of(kernels::attention::variants()),
    .make = measure::make<Attention>,
    .secondary = {{"stored scores", "B",
                   "what the scores of all pairs of a query and a key take, which flash kernels "
                   "never store."},
                  {"tiled traffic", "B",
                   "bytes between memory and chip where keys and values are read for each tile of "
                   "queries."}},
});

}  // namespace entries

}  // namespace quadrille::workloads
