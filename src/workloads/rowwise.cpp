// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "rowwise/rowwise.hpp"

#include "workloads/checks/rowwise.hpp"
#include "workloads/draws.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace rowwise = kernels::rowwise;
using rowwise::Action;

struct Parameters {
  Action action = Action::rms_norm;
  bool residual = false;
  std::int64_t head_size = 128;
  bool operator==(Parameters const&) const = default;
};

constexpr std::int64_t kMaxPositions = 8192;

rowwise::Shape shape_of(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  return {.tokens = spec.size[0],
          .features = spec.size[1],
          .has_residual = p.residual,
          .head_size = p.head_size,
          // An embedding has four words for each token, of which few are in cache by chance.
          .max_positions = p.action == Action::embedding ? spec.size[0] : kMaxPositions,
          .table_rows = 4 * spec.size[0]};
}

std::string conflict(core::Case const& spec) {
  std::string const error =
      rowwise::shape_error(spec.parameters.as<Parameters>().action, shape_of(spec));
  if (!error.empty()) return error;
  return elements_conflict(2 * static_cast<double>(spec.size[0]) *
                           static_cast<double>(spec.size[1]));
}

/// All tensors.
template <class P>
auto views(P& p) {
  return std::array{&p.x, &p.y, &p.residual, &p.sum, &p.weights, &p.cos_sin};
}

/// Each token by itself, on every rank at once, each with data of its own.
class Rowwise final : public measure::Workload {
 public:
  Rowwise(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        problem_{rowwise::unallocated(spec.parameters.as<Parameters>().action, shape_of(spec),
                                      spec.type)},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.amount = rowwise::bytes_moved(problem_) * ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    for (device::MatrixView const* view : views(problem_)) d.memory_bytes += bytes_of(*view);
    d.memory_bytes += 2 * sizeof(std::int32_t) * static_cast<double>(problem_.tokens());
    d.traits = {.graph_capturable = true, .searches_best = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of(rowwise::variants(), variant).unsupported_reason(problem_);
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (memory_.empty()) allocate(world);
    // Tags differ by rank, so that another rank's data are wrong data.
    auto const tag = static_cast<std::uint64_t>(4 * rank_);
    x_ = {case_.data, seed, tag};
    residual_ = {case_.data, seed, tag + 1};
    weights_ = {case_.data, seed, tag + 2};
    auto const fill_whole = [&](device::MatrixView const& view, Source const& source) {
      if (view.rows > 0) fill(view, whole(view.rows, view.cols), source, world);
    };
    fill_whole(problem_.x, x_);
    fill_whole(problem_.residual, residual_);
    fill_whole(problem_.weights, weights_);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    for (device::MatrixView const* view : {&problem_.y, &problem_.sum}) {
      world.stream().fill(view->data, 0xFF, static_cast<std::size_t>(bytes_of(*view)));
    }
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of(rowwise::variants(), variant).launch(problem_, world.stream());
  }

  measure::Verdict validate(comm::World& world) override {
    Finding finding;
    finding.allowed = 1;
    for (bool const is_sum : {false, true}) {
      device::MatrixView const& view = is_sum ? problem_.sum : problem_.y;
      for_host_tiles(view, world,
                     [&](device::MatrixView const& host, std::int64_t first, std::int64_t column) {
                       core::visit_type(host.type, [&](auto zero) {
                         judge<decltype(zero)>(is_sum, host, first, column, world, finding);
                       });
                     });
    }
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    std::vector<measure::Field> all{measure::output(whole_of_rank_0("y", problem_.y, rank_)),
                                    measure::input(whole_of_rank_0("x", problem_.x, rank_))};
    if (problem_.has_residual()) {
      all.push_back(measure::output(whole_of_rank_0("sum", problem_.sum, rank_)));
      all.push_back(measure::input(whole_of_rank_0("residual", problem_.residual, rank_)));
    }
    if (problem_.weights.rows > 0) {
      all.push_back(measure::input(whole_of_rank_0("weights", problem_.weights, rank_)));
    }
    return all;
  }

 private:
  std::vector<float> generated(Source const& source, std::int64_t row, std::int64_t count) const {
    std::vector<float> values(static_cast<std::size_t>(count));
    read_row(source, case_.type, row, values);
    return values;
  }

  /// A row of y, or of sum.
  std::vector<Expected> row_of_result(bool is_sum, std::int64_t i) const {
    std::int64_t const n = problem_.features();
    if (problem_.action == Action::embedding) {
      auto const token = static_cast<std::size_t>(i);
      return expected_sum(generated(x_, words_[token], n),
                          generated(weights_, positions_[token], n), case_.type);
    }
    std::vector<float> r = generated(x_, i, problem_.x.cols);
    if (problem_.action == Action::rotary) {
      auto const d = static_cast<std::size_t>(problem_.head_size);
      auto const position = static_cast<std::size_t>(positions_[static_cast<std::size_t>(i)]);
      return expected_rotary(r, std::span{cos_sin_}.subspan(position * d, d), case_.type);
    }
    if (!rowwise::is_norm(problem_.action)) {
      return expected_activation(problem_.action, r, case_.type);
    }
    if (problem_.has_residual()) {
      std::vector<Expected> const sums = expected_sum(r, generated(residual_, i, n), case_.type);
      if (is_sum) return sums;
      core::visit_type(case_.type, [&](auto zero) {
        for (std::size_t j = 0; j < r.size(); ++j) {
          r[j] = static_cast<float>(static_cast<decltype(zero)>(sums[j].value));
        }
      });
    }
    std::vector<float> weights = generated(weights_, 0, n);
    if (problem_.action == Action::layer_norm) {
      std::vector<float> const bias = generated(weights_, 1, n);
      weights.insert(weights.end(), bias.begin(), bias.end());
    }
    return expected_norm(problem_.action, r, problem_.has_residual(), weights, case_.type);
  }

  template <class T>
  void judge(bool is_sum, device::MatrixView const& host, std::int64_t first, std::int64_t column,
             comm::World const& world, Finding& finding) const {
    std::int64_t const stride = check_stride(case_), last = problem_.tokens() - 1;
    std::mutex mutex;
    on_threads(world, host.rows, [&](core::Range const& mine) {
      Finding found;
      for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
        if ((first + i) % stride != 0 && first + i != last) continue;
        std::vector<Expected> const row = row_of_result(is_sum, first + i);
        auto const* const got = static_cast<T const*>(host.data) + i * host.ld;
        for (std::int64_t j = 0; j < host.cols; ++j) {
          found.check(row[static_cast<std::size_t>(column + j)], static_cast<double>(got[j]), [&] {
            return fmt::format("{}({}, {}) on rank {}", is_sum ? "sum" : "y", first + i, column + j,
                               world.rank());
          });
        }
      }
      std::scoped_lock const lock{mutex};
      finding.add(found);
    });
  }

  void allocate(comm::World& world) {
    for (device::MatrixView* view : views(problem_)) {
      if (view->rows > 0) memory_.push_back(allocate_matrix(*view, world));
    }
    bool const has_words = problem_.action == Action::embedding;
    if (problem_.action != Action::rotary && !has_words) return;
    constexpr std::uint64_t kPositionTag = 0x706f73, kWordTag = 0x776f72;
    auto const place = [&](std::uint64_t tag, std::int64_t i, std::int64_t all) {
      return static_cast<std::int32_t>(draw(case_.seed, tag, i) * static_cast<double>(all));
    };
    for (std::int64_t i = 0; i < problem_.tokens(); ++i) {
      words_.push_back(place(kWordTag, i, shape_of(case_).table_rows));
      if (!has_words) positions_.push_back(place(kPositionTag, i, kMaxPositions));
    }
    // Each position once, so that all of that table is read.
    if (has_words) positions_ = shuffled(problem_.tokens(), case_.seed, kPositionTag);
    positions_there_ = uploaded(positions_, world);
    problem_.positions = positions_there_.data();
    words_there_ = uploaded(words_, world);
    problem_.rows = words_there_.data();
    if (has_words) return;
    cos_sin_ = rowwise::cos_sin_of(problem_.head_size, kMaxPositions);
    world.stream().copy(problem_.cos_sin.data, cos_sin_.data(), cos_sin_.size() * sizeof(float));
  }

  core::Case case_;
  rowwise::Problem problem_;  // without memory before prepare()
  int ranks_, rank_;
  Source x_, residual_, weights_;
  std::vector<device::Matrix> memory_;
  std::vector<float> cos_sin_;
  std::vector<std::int32_t> positions_, words_;
  device::Buffer<std::int32_t> positions_there_, words_there_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const rowwise = measure::entry({
    .schema =
        {.name = "rowwise",
         .extents = {"tokens", "features"},
         .min_extent = 1,
         .max_extent = std::numeric_limits<std::int32_t>::max(),
         .has_auto = false,
         .defaults = core::Parameters{Parameters{}},
         .options = {core::options::choice("operation", core::options::at(&Parameters::action),
                                           "what each token's row becomes"),
                     core::options::flag("residual", core::options::at(&Parameters::residual),
                                         "norms: a second tensor is added first, and the sum kept"),
                     core::options::count("head_size", core::options::at(&Parameters::head_size),
                                          "rotary: features of a head, whose halves are turned",
                                          {.least = 2, .most = 1 << 16})},
         .conflict = conflict},
    .summary = "norms, activations, rotary positions and embeddings of tokens",
    .work = "what is read and written of all tensors, in bytes per rank",
    .local = true,
    .variants = rows_of(kernels::rowwise::variants()),
    .make = measure::make<Rowwise>,
});

}  // namespace entries

}  // namespace quadrille::workloads
