// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "paged_decode/paged_decode.hpp"

#include "workloads/block_tables.hpp"
#include "workloads/checks/attention.hpp"
#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace paged_decode = kernels::paged_decode;

/// What a token has in the cache.
enum class Kv { separate, latent };
constexpr auto enum_names(Kv) {
  return core::EnumNames<Kv, 2>{{{Kv::separate, "separate"}, {Kv::latent, "latent"}}};
}

struct Parameters {
  std::int64_t block_size = 16;
  Lengths lengths = Lengths::uniform;
  Kv kv = Kv::separate;
  bool operator==(Parameters const&) const = default;
};

struct Cache : BlockTables {
  paged_decode::Shape shape;

  explicit Cache(core::Case const& spec) : Cache{spec, spec.parameters.as<Parameters>()} {}

 private:
  Cache(core::Case const& spec, Parameters const& p)
      : BlockTables{spec.size[0], spec.size[3], p.lengths, p.block_size, spec.seed},
        shape{.sequences = spec.size[0],
              .heads = spec.size[1],
              .kv_heads = spec.size[2],
              .head_size = spec.size[4],
              .block_size = block_size,
              .blocks = blocks,
              .tokens = tokens,
              .longest = longest,
              .latent = p.kv == Kv::latent} {}
};

std::string conflict(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  auto const& size = spec.size;
  std::string const error = paged_decode::shape_error({.sequences = size[0],
                                                       .heads = size[1],
                                                       .kv_heads = size[2],
                                                       .head_size = size[4],
                                                       .block_size = p.block_size,
                                                       .latent = p.kv == Kv::latent});
  if (!error.empty()) return error;
  // Of a table in 32 bits, and of what a host keeps of it.
  constexpr std::int64_t kMaxSequences = 1 << 20;  // each draws its length before anything runs
  if (size[0] > kMaxSequences) {
    return fmt::format("there are more than {} sequences; take fewer", kMaxSequences);
  }
  constexpr double kMaxTokens = 0x1p30, kMaxRows = 0x1p40;
  double const tokens = static_cast<double>(size[0]) * static_cast<double>(size[3]);
  if (tokens > kMaxTokens || tokens * static_cast<double>(size[2]) > kMaxRows) {
    return "there are more than 2^30 tokens; take fewer sequences or tokens";
  }
  return {};
}

/// o = attention of the newest token of each sequence to all of it, on every rank at once, each with
/// data of its own.
class PagedDecode final : public measure::Workload {
 public:
  PagedDecode(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        cache_{spec},
        problem_{paged_decode::unallocated(cache_.shape, spec.type)},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    paged_decode::Shape const& x = cache_.shape;
    auto const width = static_cast<double>(core::size_of(case_.type));
    double const of_slots = static_cast<double>(x.blocks * x.block_size);
    measure::Description d;
    d.amount = paged_decode::compulsory_bytes(x, width) * ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    auto const of_both = static_cast<double>(x.head_size + x.value_size());
    d.memory_bytes = width * (static_cast<double>(problem_.k.rows) *
                                  (x.latent ? static_cast<double>(x.head_size) : of_both) +
                              static_cast<double>(problem_.q.rows) * of_both) +
                     sizeof(std::int32_t) * static_cast<double>(x.sequences * cache_.width());
    // What a check reads again, of a sequence and head.
    d.host_bytes = sizeof(float) * static_cast<double>(x.longest) * of_both;
    d.extras = {{"tokens", static_cast<double>(x.tokens), ""},
                {"empty slots",
                 of_slots > 0 ? 100 * (1 - static_cast<double>(x.tokens) / of_slots) : 0, "%"},
                {"intensity", paged_decode::flop(x) * ranks_ / d.device_bytes, "flop/B"}};
    d.traits = {.graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of(paged_decode::variants(), variant).unsupported_reason(problem_);
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    return static_cast<double>(max_scratch(paged_decode::variants(), problem_, selected, device));
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (o_.view().data == nullptr) allocate(world, selected);
    // Tags differ by rank, so that another rank's data are wrong data.
    auto const tag = static_cast<std::uint64_t>(8 * rank_);
    sources_ = {{case_.data, seed, tag}, {case_.data, seed, tag + 1}, {case_.data, seed, tag + 2}};
    if (cache_.shape.latent) sources_.v = sources_.k;  // its first columns
    auto const fill_whole = [&](device::MatrixView const& view, Source const& source) {
      fill(view, whole(view.rows, view.cols), source, world);
    };
    fill_whole(problem_.q, sources_.q);
    fill_whole(problem_.k, sources_.k);
    if (!cache_.shape.latent) fill_whole(problem_.v, sources_.v);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(o_.view().data, 0xFF, o_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    is_by_table_ = paged_decode::reads_table(variant);
    row_of(paged_decode::variants(), variant).launch(problem_, world.stream());
  }

  measure::Verdict validate(comm::World& world) override {
    paged_decode::Shape const& x = cache_.shape;
    AttentionCheck checker{
        problem_.o,  case_.type, x.head_size, sources_, paged_decode::flop(x) / 4,
        case_.check, world};
    checker.judge(x.sequences * x.kv_heads, [&](std::int64_t i) -> AttentionCheck::Group {
      std::int64_t const s = i / x.kv_heads, h = i % x.kv_heads;
      std::int64_t const length = cache_.lengths[static_cast<std::size_t>(s)];
      return {.first_row = s * x.heads + h * x.group(),
              .rows = x.group(),
              .keys = length,
              .row_of_key =
                  [=, this, &x](std::int64_t t) {
                    if (!is_by_table_) {
                      std::int64_t const first = cache_.first_blocks[static_cast<std::size_t>(s)];
                      return paged_decode::contiguous_row(x, first, length, h, t);
                    }
                    std::int64_t const slot = cache_.slot_of(s, t), in_block = slot % x.block_size;
                    return (slot / x.block_size * x.kv_heads + h) * x.block_size + in_block;
                  },
              .visible = [length](std::int64_t) { return length; },
              .place =
                  [s, &x](std::int64_t row, std::int64_t column) {
                    return fmt::format("o({}, {}, {})", s, row % x.heads, column);
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
    if (cache_.shape.latent) {
      problem_.v.data = problem_.k.data;
    } else {
      v_ = allocate_matrix(problem_.v, world);
    }
    o_ = allocate_matrix(problem_.o, world);
    cache_.draw_table(case_.seed);
    lengths_ = uploaded(cache_.lengths, world);
    table_ = uploaded(cache_.table, world);
    first_blocks_ = uploaded(cache_.first_blocks, world);
    problem_.lengths = lengths_.data();
    problem_.table = table_.data();
    problem_.first_blocks = first_blocks_.data();
    scratch_ = allocate_scratch(paged_decode::variants(), problem_, selected, world);
  }

  core::Case case_;
  Cache cache_;
  paged_decode::Problem problem_;  // without memory before prepare()
  int ranks_, rank_;
  bool is_by_table_ = true;
  AttentionCheck::Sources sources_;
  device::Matrix q_, k_, v_, o_;
  device::Buffer<std::int32_t> lengths_, table_, first_blocks_;
  device::Buffer<std::byte> scratch_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const paged_decode = measure::entry({
    .schema =
        {.name = "paged_decode",
         .extents = {"sequences", "heads", "kv_heads", "tokens", "head_size"},
         .min_extent = 1,
         .max_extent = std::numeric_limits<std::int32_t>::max(),
         .has_auto = false,
         .defaults = core::Parameters{Parameters{}},
         .options = {core::options::count("block_size", core::options::at(&Parameters::block_size),
                                          "tokens of a block of the cache: 8, 16, 32, 64 or 128",
                                          {.least = 8, .most = 128}),
                     core::options::choice(
                         "lengths", core::options::at(&Parameters::lengths),
                         "tokens of a sequence: all have the extent's number, or any "
                         "number up to it, or most have few (log-uniform)"),
                     core::options::choice(
                         "kv", core::options::at(&Parameters::kv),
                         "what a token has in the cache: keys and values, or a latent "
                         "key of 576 elements, the first 512 of which are its value")},
         .conflict = conflict},
    .summary = "attention of one new token a sequence over a paged cache, on each rank",
    .work = "keys and values of every token, q and o, each once, in bytes per rank",
    .local = true,
    .variants = rows_of(kernels::paged_decode::variants()),
    .make = measure::make<PagedDecode>,
    .secondary = {{"tokens", "count", "tokens of all sequences, each with a key and a value."},
                  {"empty slots", "%", "slots of taken blocks that hold no token."}},
});

}  // namespace entries

}  // namespace quadrille::workloads
