// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/kv_cache.hpp"

#include "workloads/data.hpp"
#include "workloads/draws.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace kv_cache = kernels::kv_cache;
using kv_cache::Action;

struct Parameters {
  Action action = Action::write;
  std::int64_t block_size = 16;
  bool operator==(Parameters const&) const = default;
};

/// Where tokens or blocks go: blocks of a pool in random order, of which sequences take half.
struct Places {
  kv_cache::Shape shape;
  std::int64_t count = 0;            ///< of tokens, or pairs of blocks
  std::vector<std::int32_t> places;  ///< as the problem has them
  /// Of each slot, or block: the token, or the block, that goes there; -1: nothing does.
  std::vector<std::int32_t> sources;

  explicit Places(core::Case const& spec) {
    auto const& p = spec.parameters.as<Parameters>();
    sequences_ = spec.size[0];
    tokens_ = spec.size[1];
    action_ = p.action;
    shape = {.kv_heads = spec.size[2], .head_size = spec.size[3], .block_size = p.block_size};
    // A sequence's tokens may begin anywhere in its first block.
    taken_ = (tokens_ + 2 * p.block_size - 2) / p.block_size;
    shape.blocks = 2 * sequences_ * taken_;
    count = sequences_ * (kv_cache::is_of_tokens(action_) ? tokens_ : taken_);
  }

  /// Before memory is taken a pool has extents alone.
  void draw_all(std::uint64_t seed) {
    constexpr std::uint64_t kBlockTag = 0x626c6f, kStartTag = 0x737461, kOtherTag = 0x6f7468;
    std::vector<std::int32_t> const blocks = shuffled(shape.blocks, seed, kBlockTag);
    auto const block = [&](std::int64_t i) { return blocks[static_cast<std::size_t>(i)]; };
    // Swaps go to another pool, copies to the half of this one that no sequence has.
    std::vector<std::int32_t> const others =
        kv_cache::is_swap(action_) ? shuffled(shape.blocks, seed, kOtherTag)
                                   : std::vector(blocks.begin() + shape.blocks / 2, blocks.end());
    auto const size = static_cast<std::int32_t>(shape.block_size);
    sources.assign(
        static_cast<std::size_t>(is_of_tokens(action_) ? shape.blocks * size : shape.blocks), -1);
    for (std::int64_t s = 0; s < sequences_; ++s) {
      if (!is_of_tokens(action_)) {
        for (std::int64_t i = s * taken_; i < (s + 1) * taken_; ++i) {
          take(block(i), others[static_cast<std::size_t>(i)]);
        }
        continue;
      }
      auto const start = static_cast<std::int64_t>(draw(seed, kStartTag, s) * size);
      for (std::int64_t t = start; t < start + tokens_; ++t) {
        take(static_cast<std::int32_t>(s * tokens_ + t - start),
             block(s * taken_ + t / size) * size + static_cast<std::int32_t>(t % size));
      }
    }
  }

 private:
  void take(std::int32_t from, std::int32_t to) {
    if (!is_of_tokens(action_)) places.push_back(from);
    places.push_back(to);
    sources[static_cast<std::size_t>(to)] = from;
  }

  std::int64_t sequences_, tokens_;
  std::int64_t taken_;  ///< blocks of a sequence
  Action action_;
};

std::string conflict(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  auto const& size = spec.size;
  std::string const error = kv_cache::shape_error(
      {.kv_heads = size[2], .head_size = size[3], .block_size = p.block_size});
  if (!error.empty()) return error;
  // Of slots in 32 bits, and of what a host keeps of them.
  constexpr double kMaxSlots = 0x1p28, kMaxRows = 0x1p36;
  double const slots = 2 * static_cast<double>(size[0]) *
                       (static_cast<double>(size[1]) + 2 * static_cast<double>(p.block_size));
  if (slots > kMaxSlots || slots * static_cast<double>(size[2]) > kMaxRows) {
    return "the pool has more than 2^28 slots; take fewer sequences or tokens";
  }
  return {};
}

/// Keys and values of new tokens go to their slots, or blocks to others, on every rank at once, each with
/// data of its own.
class KvCache final : public measure::Workload {
 public:
  KvCache(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        places_{spec},
        problem_{kv_cache::unallocated(places_.shape, spec.parameters.as<Parameters>().action,
                                       places_.count, spec.type)},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.amount = kv_cache::bytes_moved(problem_) * ranks_;
    d.unit = "B/s";
    if (kv_cache::is_swap(problem_.action)) {
      d.pcie_bytes = d.amount;
      d.host_bytes = 4 * bytes_of(problem_.host_k);
    } else {
      d.device_bytes = d.amount;
    }
    d.memory_bytes = 4 * bytes_of(problem_.k) + 2 * bytes_of(problem_.token_k) +
                     sizeof(std::int32_t) * 2 * static_cast<double>(places_.count);
    d.traits = {.graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of(kv_cache::variants(), variant).unsupported_reason(problem_);
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (memory_.empty()) allocate(world);
    // Tags differ by rank, so that another rank's data are wrong data.
    auto const tag = static_cast<std::uint64_t>(8 * rank_);
    tensors_ = {{"k", target().first, {case_.data, seed, tag}, {case_.data, seed, tag + 1}},
                {"v", target().second, {case_.data, seed, tag + 2}, {case_.data, seed, tag + 3}}};
    auto const fill_whole = [&](device::MatrixView const& view, Source const& source) {
      fill(view, whole(view.rows, view.cols), source, world);
    };
    fill_whole(before_k_, tensors_[0].before);
    fill_whole(before_v_, tensors_[1].before);
    if (problem_.action == Action::copy) return;
    kv_cache::Ends const ends = kv_cache::ends_of(problem_);
    fill_whole(ends.from_k, tensors_[0].fresh);
    fill_whole(ends.from_v, tensors_[1].fresh);
  }

  /// The pool that changes, as it was.
  void reset(comm::World& world, kernels::VariantInfo const&) override {
    auto const bytes = static_cast<std::size_t>(bytes_of(before_k_));
    world.stream().copy(target().first.data, before_k_.data, bytes);
    world.stream().copy(target().second.data, before_v_.data, bytes);
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of(kv_cache::variants(), variant).launch(problem_, world.stream());
  }

  /// Every row of the pool, bit by bit: those that were to be written, and those that were not.
  measure::Verdict validate(comm::World& world) override {
    Finding finding;
    for (Tensor const& tensor : tensors_) {
      for_host_tiles(tensor.pool, world,
                     [&](device::MatrixView const& host, std::int64_t first, std::int64_t column) {
                       core::visit_type(host.type, [&](auto zero) {
                         judge<decltype(zero)>(tensor, host, first, column, world, finding);
                       });
                     });
    }
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    kv_cache::Ends const ends = kv_cache::ends_of(problem_);
    std::vector<measure::Field> all{measure::output(whole_of_rank_0("k", ends.to_k, rank_)),
                                    measure::output(whole_of_rank_0("v", ends.to_v, rank_))};
    if (problem_.action == Action::copy) {  // from the pool to the pool
      for (measure::Field& field : all) field.is_input = true;
      return all;
    }
    all.push_back(measure::input(whole_of_rank_0("from_k", ends.from_k, rank_)));
    all.push_back(measure::input(whole_of_rank_0("from_v", ends.from_v, rank_)));
    return all;
  }

 private:
  /// The k and v that change.
  std::pair<device::MatrixView, device::MatrixView> target() const {
    kv_cache::Ends const ends = kv_cache::ends_of(problem_);
    return {ends.to_k, ends.to_v};
  }

  /// k or v where it changes: what it was, and what comes there, but for copies.
  struct Tensor {
    char const* name = "";
    device::MatrixView pool{};
    Source before{}, fresh{};
  };

  /// Which generated row a head of the pool, or of a token, must hold.
  struct Expected {
    Source const& source;
    std::int64_t row, column;
  };
  Expected expected(Tensor const& tensor, std::int64_t row, std::int64_t column) const {
    kv_cache::Shape const& x = places_.shape;
    if (problem_.action == Action::read) {
      std::int64_t const head = column / x.head_size;
      return {tensor.fresh, x.row_of(places_.places[static_cast<std::size_t>(row)], head),
              -head * x.head_size};
    }
    std::int64_t const block = row / x.rows_of_block(), in_block = row % x.rows_of_block(),
                       head = in_block / x.block_size;
    if (problem_.action == Action::write) {
      std::int64_t const slot = block * x.block_size + in_block % x.block_size,
                         token = places_.sources[static_cast<std::size_t>(slot)];
      if (token >= 0) return {tensor.fresh, token, head * x.head_size};
    } else if (std::int64_t const from = places_.sources[static_cast<std::size_t>(block)];
               from >= 0) {
      bool const is_within = problem_.action == Action::copy;
      return {is_within ? tensor.before : tensor.fresh, from * x.rows_of_block() + in_block, 0};
    }
    return {tensor.before, row, 0};
  }

  template <class T>
  void judge(Tensor const& tensor, device::MatrixView const& host, std::int64_t first,
             std::int64_t column, comm::World const& world, Finding& finding) const {
    kv_cache::Shape const& x = places_.shape;
    std::mutex mutex;
    on_threads(world, host.rows, [&](core::Range const& mine) {
      Finding found;
      for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
        auto const* const got = static_cast<T const*>(host.data) + i * host.ld;
        for (std::int64_t j = 0; j < host.cols; ++j) {
          auto const [source, row, first_column] = expected(tensor, first + i, column + j);
          T const want = source.template at<T>(row, first_column + column + j);
          bool const is_same = std::memcmp(&want, got + j, sizeof want) == 0;
          found.check(is_same ? 0 : 1, 0, [&] {
            std::int64_t const in_block = (first + i) % x.rows_of_block();
            std::string const place =
                problem_.action == Action::read
                    ? fmt::format("token {}", first + i)
                    : fmt::format("block {}, head {}, token {}", (first + i) / x.rows_of_block(),
                                  in_block / x.block_size, in_block % x.block_size);
            return fmt::format("{} of {}, element {} on rank {}: expected {}, got {}", tensor.name,
                               place, column + j, world.rank(), static_cast<double>(want),
                               shown(static_cast<double>(got[j])));
          });
        }
      }
      std::scoped_lock const lock{mutex};
      finding.add(found);
    });
  }

  void allocate(comm::World& world) {
    auto const on_device = [&](device::MatrixView& view) {
      if (view.rows > 0) memory_.push_back(allocate_matrix(view, world));
    };
    auto const on_host = [&](device::MatrixView& view) {
      pinned_.emplace_back(world.device(), static_cast<std::int64_t>(bytes_of(view)));
      view.data = pinned_.back().data();
    };
    for (device::MatrixView* view :
         {&problem_.k, &problem_.v, &problem_.token_k, &problem_.token_v}) {
      on_device(*view);
    }
    before_k_ = target().first;
    before_v_ = target().second;
    before_k_.data = before_v_.data = nullptr;
    before_k_.ld = before_v_.ld = before_k_.cols;
    if (kv_cache::is_swap(problem_.action)) {
      on_host(problem_.host_k);
      on_host(problem_.host_v);
    }
    bool const is_out = problem_.action == Action::swap_out;
    for (device::MatrixView* view : {&before_k_, &before_v_}) {
      is_out ? on_host(*view) : on_device(*view);
    }
    places_.draw_all(case_.seed);
    there_ = uploaded(places_.places, world);
    problem_.places = there_.data();
    problem_.places_of_host = places_.places.data();
  }

  core::Case case_;
  Places places_;
  kv_cache::Problem problem_;  // without memory before prepare()
  int ranks_, rank_;
  std::vector<Tensor> tensors_;
  device::MatrixView before_k_{}, before_v_{};  ///< of the pool that changes
  std::vector<device::Matrix> memory_;
  std::vector<device::PinnedBuffer<std::byte>> pinned_;
  device::Buffer<std::int32_t> there_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const kv_cache = measure::entry({
    .schema =
        {.name = "kv_cache",
         .extents = {"sequences", "tokens", "kv_heads", "head_size"},
         .min_extent = 1,
         .max_extent = std::numeric_limits<std::int32_t>::max(),
         .has_auto = false,
         .defaults = core::Parameters{Parameters{}},
         .options = {core::options::choice(
                         "operation", core::options::at(&Parameters::action),
                         "keys and values of so many tokens a sequence go to their slots or from "
                         "there, or blocks for so many tokens to other blocks, to the host or from "
                         "there"),
                     core::options::count("block_size", core::options::at(&Parameters::block_size),
                                          "tokens of a block of the cache: 8, 16, 32, 64 or 128",
                                          {.least = 8, .most = 128})},
         .conflict = conflict},
    .summary =
        "keys and values of tokens go to blocks of a pool, from block to block, or to the host",
    .work = "what is read and written of k and v, and the places, in bytes per rank",
    .local = true,
    .variants = rows_of(kernels::kv_cache::variants()),
    .make = measure::make<KvCache>,
});

}  // namespace entries

}  // namespace quadrille::workloads
