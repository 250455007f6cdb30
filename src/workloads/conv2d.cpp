// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "conv2d/conv2d.hpp"

#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace conv2d = kernels::conv2d;
using conv2d::DataLayout;

struct Parameters {
  DataLayout layout = DataLayout::nchw;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool operator==(Parameters const&) const = default;
};

conv2d::Shape shape_of(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  auto const& size = spec.size;
  return {.n = size[0],
          .c = size[1],
          .h = size[2],
          .w = size[3],
          .k = size[4],
          .r = size[5],
          .s = size[6],
          .stride = p.stride,
          .padding = p.padding,
          .dilation = p.dilation,
          .groups = p.groups};
}

std::string conflict(core::Case const& spec) {
  bool const has_type = spec.type == core::DataType::f32 || spec.type == core::DataType::f16 ||
                        spec.type == core::DataType::bf16;
  if (!has_type) {
    return fmt::format("conv2d has no type = \"{}\"; take f32, f16 or bf16",
                       core::to_text(spec.type));
  }
  if (spec.size.auto_fraction > 0) return "conv2d takes seven extents; auto knows one";
  conv2d::Shape const shape = shape_of(spec);
  std::string error = conv2d::shape_error(shape);
  if (!error.empty()) return error;
  constexpr double kMost = 0x1p50;
  if (conv2d::compulsory_bytes(shape, 1) > kMost) {
    return "the tensors have more than 2^50 elements; take smaller extents";
  }
  return {};
}

/// Elements of x, w and y in the order of a host that knows nothing of kernels.
struct Index {
  conv2d::Shape z;
  DataLayout layout;

  bool is_nchw() const { return layout == DataLayout::nchw; }
  /// In an image of x.
  std::int64_t x(std::int64_t c, std::int64_t row, std::int64_t col) const {
    return is_nchw() ? (c * z.h + row) * z.w + col : (row * z.w + col) * z.c + c;
  }
  /// In a filter; c counts within its group.
  std::int64_t w(std::int64_t c, std::int64_t i, std::int64_t j) const {
    return is_nchw() ? (c * z.r + i) * z.s + j : (i * z.s + j) * z.group_channels() + c;
  }
  /// In an image of y.
  std::int64_t y(std::int64_t k, std::int64_t position) const {
    return is_nchw() ? k * z.positions() + position : position * z.k + k;
  }
};

/// A generated tensor whose element `at` of row `row` is asked for one by one.
class Row {
 public:
  Row(Source const& source, core::DataType type, std::int64_t row)
      : kind_{source.kind}, type_{type}, key_{core::row_key(source.seed, source.tag, row)} {}
  double operator()(std::int64_t at) const {
    std::uint64_t const hash = core::element_hash(key_, at);
    switch (type_) {
      case core::DataType::f32: return value<float>(hash);
      case core::DataType::f16: return value<core::f16>(hash);
      default: return value<core::bf16>(hash);
    }
  }

 private:
  template <class T>
  double value(std::uint64_t hash) const {
    return static_cast<double>(core::value_from_hash<T>(kind_, hash));
  }
  core::DataKind kind_;
  core::DataType type_;
  std::uint64_t key_;
};

double square(double x) { return x * x; }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Judges y from values that are generated again. Sampled elements each against the error bound; and
/// for a full check every output: over the output channels of a position, with whole numbers f_k,
///
///   sum_k f_k y(n, k, p, q) = sum_{c, i, j} x(...) (sum_k f_k w(k, c, i, j))
///
/// costs a k-th part of the convolution. The roundings of the channels are independent, so that the
/// difference is compared with twice the 2-norm of their bounds times f. Two sets of f. Of a position that
/// fails each element is computed, to name the wrong one. On whole numbers that fit their type
/// everything is exact and the bound is 0.
class Checker {
 public:
  Checker(conv2d::Problem const& problem, Source const& x, Source const& w,
          comm::World const& world)
      : p_{problem},
        z_{problem.shape},
        index_{problem.shape, problem.layout},
        x_{x},
        w_{w},
        world_{world},
        error_{conv2d::error_bound(problem)} {
    core::Compute const compute = core::compute_for(problem.x.type, problem.compute);
    double const epsilon = std::max(core::epsilon_of(problem.y.type), core::epsilon_of(compute));
    double const largest = x.kind == core::DataKind::constant ? 1 : 16;  // products
    is_exact_ = core::is_whole(x.kind) && (x.kind == core::DataKind::zeros ||
                                           static_cast<double>(z_.terms()) * largest * epsilon < 1);
    finding_.allowed = is_exact_ ? 0 : 1;
  }

  void sample() {
    constexpr int kSamples = 64;
    for (int s = 0; s < kSamples; ++s) {
      // The corners first: tails are where tiles go wrong.
      auto const pick = [&](int bit, std::int64_t extent) {
        if (s < 8) return (s >> bit & 1) * (extent - 1);
        std::uint64_t const hash =
            core::mix(static_cast<std::uint64_t>(3 * s + bit) * 0x9e3779b97f4a7c15ULL +
                      static_cast<std::uint64_t>(world_.rank()) + x_.seed);
        return static_cast<std::int64_t>((hash >> 8) % static_cast<std::uint64_t>(extent));
      };
      Position const where{pick(0, z_.n), pick(1, z_.positions())};
      element(where, pick(2, z_.k));
    }
  }

  void judge_all() {
    combine_filters();
    // Rows of outputs whose inputs take so many numbers.
    constexpr std::int64_t kBandNumbers = 1 << 20;
    std::int64_t const row_numbers = std::max<std::int64_t>(1, z_.c * z_.w * z_.stride);
    std::int64_t const rows = std::clamp<std::int64_t>(kBandNumbers / row_numbers, 1, z_.out_h());
    for (std::int64_t n = 0; n < z_.n; ++n) {
      for (std::int64_t first = 0; first < z_.out_h(); first += rows) {
        judge_band(n, {first, std::min(rows, z_.out_h() - first)});
      }
    }
  }

  /// Of the samples as a whole: single elements may be zero. Collective.
  measure::Verdict verdict() {
    measure::Verdict verdict = agree(world_, finding_);
    std::array<double, 2> sums{values_, bounds_};
    world_.group().sum(std::span{sums});
    require_separation(verdict, std::sqrt(sums[0]), std::sqrt(sums[1]),
                       "take fewer channels or a wider type");
    return verdict;
  }

 private:
  static constexpr std::size_t kSets = 2;
  static constexpr std::int64_t kPositionsNamed = 8;
  // Where storing rounds most, the 2-norm of the bounds is five standard deviations of a difference,
  // as much as the largest of some million positions.
  static constexpr double kDeviations = 2;

  struct Position {
    std::int64_t image, at;
  };
  /// Of one element: the right value and what it may be off by.
  struct Element {
    double want, bound;
  };

  /// Not two alike by chance, as signs would be, and none so small that an error hides behind it.
  double factor(std::size_t set, std::int64_t k) const {
    std::uint64_t const hash =
        core::element_hash(core::row_key(x_.seed, 0x636f6e76, static_cast<std::int64_t>(set)), k);
    auto const magnitude = static_cast<double>(64 + (hash >> 1) % 64);
    return (hash & 1) != 0 ? magnitude : -magnitude;
  }

  std::int64_t group_of(std::int64_t k) const { return k / z_.group_filters(); }

  Element right(Position where, std::int64_t k) const {
    Row const x{x_, p_.x.type, where.image}, w{w_, p_.w.type, k};
    std::int64_t const first = group_of(k) * z_.group_channels();
    std::int64_t const top = where.at / z_.out_w() * z_.stride - z_.padding;
    std::int64_t const left = where.at % z_.out_w() * z_.stride - z_.padding;
    double sum = 0, x_squares = 0, w_squares = 0;
    for (std::int64_t c = 0; c < z_.group_channels(); ++c) {
      for (std::int64_t i = 0; i < z_.r; ++i) {
        for (std::int64_t j = 0; j < z_.s; ++j) {
          double const b = w(index_.w(c, i, j));
          w_squares += square(b);
          std::int64_t const row = top + i * z_.dilation, col = left + j * z_.dilation;
          if (row < 0 || row >= z_.h || col < 0 || col >= z_.w) continue;
          double const a = x(index_.x(first + c, row, col));
          sum += a * b;
          x_squares += square(a);
        }
      }
    }
    return {sum, error_(std::sqrt(x_squares) * std::sqrt(w_squares), sum, 0)};
  }

  double scale(double difference, double bound) const {
    return is_exact_ || difference == 0 ? difference : difference / bound;
  }

  double get(Position where, std::int64_t k) const {
    double value = 0;
    for_host_tiles(p_.y.block(where.image, index_.y(k, where.at), 1, 1), world_,
                   [&](device::MatrixView const& host, std::int64_t, std::int64_t) {
                     value = core::visit_type(host.type, [&](auto zero) {
                       return static_cast<double>(*static_cast<decltype(zero) const*>(host.data));
                     });
                   });
    return value;
  }

  void element(Position where, std::int64_t k) {
    Element const e = right(where, k);
    double const got = get(where, k);
    if (!is_exact_) {
      values_ += square(e.want);
      bounds_ += square(e.bound);
    }
    // What is beyond the largest number of the type is infinite.
    bool const is_nearest = got == core::rounded_to(p_.y.type, e.want);
    finding_.check(is_nearest ? 0 : scale(std::abs(got - e.want), e.bound), finding_.allowed, [&] {
      return fmt::format("y({}, {}, {}, {}) on rank {}: expected {:.9g}, got {:.9g}", where.image,
                         k, where.at / z_.out_w(), where.at % z_.out_w(), world_.rank(), e.want,
                         got);
    });
  }

  void combine_filters() {
    std::int64_t const taps = z_.r * z_.s;
    for (auto& filter : combined_) filter.assign(at(z_.c * taps), 0);
    norms_.resize(at(z_.k));
    for (auto& set : factors_) set.resize(at(z_.k));
    for (std::size_t v = 0; v < kSets; ++v) {
      for (std::int64_t k = 0; k < z_.k; ++k) factors_[v][at(k)] = factor(v, k);
    }
    on_threads(world_, z_.k, [&](core::Range const& filters) {
      for (std::int64_t k = filters.first; k < filters.first + filters.count; ++k) {
        Row const w{w_, p_.w.type, k};
        double squares = 0;
        for (std::int64_t t = 0; t < z_.terms(); ++t) squares += square(w(t));
        norms_[at(k)] = std::sqrt(squares);
      }
    });
    // Each thread has channels of its own.
    on_threads(world_, z_.group_channels(), [&](core::Range const& channels) {
      for (std::int64_t k = 0; k < z_.k; ++k) {
        Row const w{w_, p_.w.type, k};
        for (std::int64_t c = channels.first; c < channels.first + channels.count; ++c) {
          std::int64_t const plane = (group_of(k) * z_.group_channels() + c) * taps;
          for (std::int64_t t = 0; t < taps; ++t) {
            double const value = w(index_.w(c, t / z_.s, t % z_.s));
            for (std::size_t v = 0; v < kSets; ++v) {
              combined_[v][at(plane + t)] += factors_[v][at(k)] * value;
            }
          }
        }
      }
    });
  }

  /// Of the outputs of a band of rows: what the factors make of them, and the squares of the bounds.
  struct Sums {
    std::array<std::vector<double>, kSets> residual, bound;
    std::vector<double> windows;  ///< by group: squares of the pixels that an output sees
  };

  void judge_band(std::int64_t image, core::Range const& out_rows) {
    std::int64_t const count = out_rows.count * z_.out_w();
    std::int64_t const first_row =
        std::max<std::int64_t>(0, out_rows.first * z_.stride - z_.padding);
    std::int64_t const end_row = std::min(z_.h, (out_rows.first + out_rows.count - 1) * z_.stride -
                                                    z_.padding + (z_.r - 1) * z_.dilation + 1);
    read_band(image, {first_row, std::max<std::int64_t>(0, end_row - first_row)});
    for (std::size_t v = 0; v < kSets; ++v) {
      sums_.residual[v].assign(at(count), 0);
      sums_.bound[v].assign(at(count), 0);
    }
    sums_.windows.assign(at(z_.groups * count), 0);
    on_threads(world_, out_rows.count, [&](core::Range const& mine) {
      for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
        subtract_right_row(out_rows.first + i, i * z_.out_w(), count);
      }
    });
    // Rows are filters or positions, as y lies in memory.
    std::int64_t const first = out_rows.first * z_.out_w();
    device::MatrixView view{p_.y.at(image, 0), p_.y.type, 0, 0, 0};
    if (index_.is_nchw()) {
      view.rows = z_.k;
      view.cols = view.ld = z_.positions();
      view = view.block(0, first, z_.k, count);
    } else {
      view.rows = z_.positions();
      view.cols = view.ld = z_.k;
      view = view.block(first, 0, count, z_.k);
    }
    for_host_tiles(view, world_,
                   [&](device::MatrixView const& host, std::int64_t row, std::int64_t col) {
                     add_outputs(host, row, col, count);
                   });
    for (std::int64_t j = 0; j < count; ++j) judge({image, first + j}, j);
  }

  /// x of some rows of an image, channel by channel.
  void read_band(std::int64_t image, core::Range const& rows) {
    band_rows_ = rows;
    band_.resize(at(z_.c * rows.count * z_.w));
    Row const x{x_, p_.x.type, image};
    on_threads(world_, rows.count, [&](core::Range const& mine) {
      for (std::int64_t c = 0; c < z_.c; ++c) {
        for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
          double* const line = band_.data() + (c * rows.count + i) * z_.w;
          for (std::int64_t j = 0; j < z_.w; ++j) line[j] = x(index_.x(c, rows.first + i, j));
        }
      }
    });
  }

  /// Of one row of outputs, whose sums begin at `place`.
  void subtract_right_row(std::int64_t p, std::int64_t place, std::int64_t count) {
    std::array<double*, kSets> residual;
    for (std::size_t v = 0; v < kSets; ++v) residual[v] = sums_.residual[v].data() + place;
    for (std::int64_t c = 0; c < z_.c; ++c) {
      double* const window = sums_.windows.data() + c / z_.group_channels() * count + place;
      for (std::int64_t i = 0; i < z_.r; ++i) {
        std::int64_t const row = p * z_.stride + i * z_.dilation - z_.padding;
        if (row < 0 || row >= z_.h) continue;
        double const* const line =
            band_.data() + (c * band_rows_.count + row - band_rows_.first) * z_.w;
        for (std::int64_t j = 0; j < z_.s; ++j) {
          // The outputs whose tap lies in the image.
          std::int64_t const col = j * z_.dilation - z_.padding;
          std::int64_t const first = col >= 0 ? 0 : (-col + z_.stride - 1) / z_.stride;
          std::int64_t const end =
              col >= z_.w ? 0 : std::min(z_.out_w(), (z_.w - col + z_.stride - 1) / z_.stride);
          std::int64_t const tap = (c * z_.r + i) * z_.s + j;
          double const a = combined_[0][at(tap)], b = combined_[1][at(tap)];
          for (std::int64_t q = first; q < end; ++q) {
            double const value = line[q * z_.stride + col];
            residual[0][q] -= a * value;
            residual[1][q] -= b * value;
            window[q] += value * value;
          }
        }
      }
    }
  }

  /// Adds a part of the band's outputs, whose first element is (row, col) of its view.
  void add_outputs(device::MatrixView const& host, std::int64_t row, std::int64_t col,
                   std::int64_t count) {
    bool const nchw = index_.is_nchw();
    core::visit_type(host.type, [&](auto zero) {
      using T = decltype(zero);
      auto const* const values = static_cast<T const*>(host.data);
      // Each thread has positions of its own.
      on_threads(world_, nchw ? host.cols : host.rows, [&](core::Range const& mine) {
        std::int64_t const filters = nchw ? host.rows : host.cols;
        for (std::int64_t f = 0; f < filters; ++f) {
          std::int64_t const k = (nchw ? row : col) + f;
          double const norm = norms_[at(k)];
          double const* const windows = sums_.windows.data() + group_of(k) * count;
          std::array<double, kSets> const factors{factors_[0][at(k)], factors_[1][at(k)]};
          for (std::int64_t e = mine.first; e < mine.first + mine.count; ++e) {
            auto const value =
                static_cast<double>(nchw ? values[f * host.ld + e] : values[e * host.ld + f]);
            std::size_t const j = at((nchw ? col : row) + e);
            double const size = norm * std::sqrt(windows[j]);
            // Not what the result claims, which may be anything, beyond what it can be.
            double const bound = error_(size, std::min(std::abs(value), size), 0);
            for (std::size_t v = 0; v < kSets; ++v) {
              sums_.residual[v][j] += factors[v] * value;
              // Roundings of constant data are all alike.
              double const part = bound * std::abs(factors[v]);
              sums_.bound[v][j] += x_.kind == core::DataKind::constant ? part : square(part);
            }
          }
        }
      });
    });
  }

  void judge(Position where, std::int64_t j) {
    for (std::size_t v = 0; v < kSets; ++v) {
      double const residual = std::abs(sums_.residual[v][at(j)]);
      double const sum = sums_.bound[v][at(j)];
      double const bound = x_.kind == core::DataKind::constant ? sum : kDeviations * std::sqrt(sum);
      double const scaled = scale(residual, bound);
      if (scaled <= finding_.allowed) {
        finding_.error = std::max(finding_.error, scaled);
        continue;
      }
      std::int64_t const before = finding_.wrong;
      if (named_ < kPositionsNamed) {
        for (std::int64_t k = 0; k < z_.k && finding_.wrong == before; ++k) element(where, k);
        ++named_;
      }
      // A right element beyond the largest number of its type is infinite: then elements tell.
      if (finding_.wrong == before && std::isfinite(residual)) {
        finding_.check(scaled, finding_.allowed, [&] {
          return fmt::format(
              "y({}, all, {}, {}) on rank {}: expected a residual of at most {:.3g}, got {:.3g}",
              where.image, where.at / z_.out_w(), where.at % z_.out_w(), world_.rank(),
              is_exact_ ? 0 : bound, residual);
        });
      }
      return;
    }
  }

  conv2d::Problem const& p_;
  conv2d::Shape z_;
  Index index_;
  Source x_, w_;
  comm::World const& world_;
  kernels::gemm::ErrorBound error_;
  bool is_exact_ = false;
  std::array<std::vector<double>, kSets> combined_;  // filters over c x r x s
  std::array<std::vector<double>, kSets> factors_;   // of output channels
  std::vector<double> norms_;                        // of filters
  core::Range band_rows_;
  std::vector<double> band_;
  Sums sums_;
  double values_ = 0, bounds_ = 0;  // sums of squares of samples
  std::int64_t named_ = 0;          // wrong positions that were looked into
  Finding finding_;
};

/// y = convolution of x by w on every rank at once, each with data of its own.
class Conv2d final : public measure::Workload {
 public:
  Conv2d(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        problem_{conv2d::unallocated(shape_of(spec), spec.parameters.as<Parameters>().layout,
                                     spec.type, spec.compute)},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const&) const override {
    conv2d::Shape const& shape = problem_.shape;
    auto const width = static_cast<double>(core::size_of(case_.type));
    measure::Description d;
    d.amount = conv2d::flop(shape) * ranks_;
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.memory_bytes = conv2d::compulsory_bytes(shape, width);
    d.device_bytes = d.memory_bytes * ranks_;
    d.extras = {{"column matrix", conv2d::column_bytes(shape, width), "B"},
                {"intensity", d.flop / d.device_bytes, "flop/B"}};
    d.traits = {.recordable = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    return row_of<conv2d::Problem>(variant).unsupported_reason(problem_);
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    return static_cast<double>(most_scratch(selected, device));
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (y_.view().data == nullptr) allocate(world, selected);
    // Tags differ by rank, so that another rank's data are wrong data.
    auto const tag = static_cast<std::uint64_t>(8 * rank_);
    source_x_ = {case_.data, seed, tag};
    source_w_ = {case_.data, seed, tag + 1};
    fill(problem_.x, whole(problem_.x.rows, problem_.x.cols), source_x_, world);
    fill(problem_.w, whole(problem_.w.rows, problem_.w.cols), source_w_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(y_.view().data, 0xFF, y_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    row_of<conv2d::Problem>(variant).launch(problem_, world.stream());
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    return row_of<conv2d::Problem>(variant).implementation(problem_);
  }

  measure::Verdict validate(comm::World& world) override {
    Checker checker{problem_, source_x_, source_w_, world};
    checker.sample();
    if (case_.check == core::Check::full) checker.judge_all();
    return checker.verdict();
  }

  std::vector<measure::Field> fields() override {
    auto const tensor = [&](std::string name, device::MatrixView const& view) {
      return of_rank_0(field(std::move(name), view, whole(view.rows, view.cols)), rank_);
    };
    return {measure::input(tensor("x", problem_.x)), measure::input(tensor("w", problem_.w)),
            measure::output(tensor("y", problem_.y))};
  }

 private:
  std::size_t most_scratch(measure::Selection const& selected, device::Facts const& device) const {
    std::size_t bytes = 0;
    for (kernels::VariantInfo const* variant : selected) {
      bytes = std::max(bytes, row_of<conv2d::Problem>(*variant).scratch_bytes(problem_, device));
    }
    return bytes;
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    auto const make = [&](device::MatrixView& view) {
      device::Matrix matrix{world.device(), view.type, view.rows, view.cols, world.stream()};
      view = matrix.view();
      return matrix;
    };
    x_ = make(problem_.x);
    w_ = make(problem_.w);
    y_ = make(problem_.y);
    std::size_t const bytes = most_scratch(selected, world.device().facts());
    if (bytes == 0) return;
    scratch_ = {world.device(), static_cast<std::int64_t>(bytes), world.stream()};
    constexpr std::size_t kCounterBytes = kernels::gemm::kScratchCounters * sizeof(std::uint32_t);
    world.stream().fill(scratch_.data(), 0, std::min(bytes, kCounterBytes));
    problem_.scratch = scratch_.data();
    problem_.scratch_bytes = bytes;
  }

  core::Case case_;
  conv2d::Problem problem_;  // without memory before prepare()
  int ranks_, rank_;
  Source source_x_, source_w_;
  device::Matrix x_, w_, y_;
  device::Buffer<std::byte> scratch_;
};

constexpr std::int64_t kMostStep = 1 << 20;

}  // namespace

namespace entries {

extern measure::WorkloadEntry const conv2d{
    .schema = {.name = "conv2d",
               .extents = {"n", "c", "h", "w", "k", "r", "s"},
               .least_extent = 1,
               .most_extent = std::numeric_limits<std::int32_t>::max(),
               .keys = {.compute = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::choice(
                               "layout", core::options::at(&Parameters::layout),
                               "how images lie in memory, the last index fastest"),
                           core::options::count("stride", core::options::at(&Parameters::stride),
                                                "pixels from a window to the next",
                                                {.least = 1, .most = kMostStep}),
                           core::options::count("padding", core::options::at(&Parameters::padding),
                                                "zeros around an image", {.most = kMostStep}),
                           core::options::count(
                               "dilation", core::options::at(&Parameters::dilation),
                               "pixels from a tap to the next", {.least = 1, .most = kMostStep}),
                           core::options::count("groups", core::options::at(&Parameters::groups),
                                                "of channels, and of filters that see no others",
                                                {.least = 1, .most = kMostStep})},
               .variants = measure::names_of(rows_of(kernels::conv2d::variants())),
               .conflict = conflict},
    .summary = "2-D convolution of n images by k filters on each rank",
    .work = "2 n k p q (c / groups) r s flop per rank",
    .local = true,
    .variants = rows_of(kernels::conv2d::variants()),
    .make = measure::make<Conv2d>,
};

}  // namespace entries

}  // namespace quadrille::workloads
