// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/checks/convolution.hpp"

#include "workloads/checks/limits.hpp"
#include "workloads/checks/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace conv2d = kernels::conv2d;
using conv2d::DataLayout;

/// Elements of x, w and y in the order of a host that knows nothing of kernels.
struct Index {
  conv2d::Shape z;
  DataLayout layout;
  std::int64_t positions;  ///< of y on this rank

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
    return is_nchw() ? k * positions + position : position * z.k + k;
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

class Checker {
 public:
  Checker(Convolution const& convolution, comm::World const& world)
      : p_{convolution},
        z_{convolution.shape},
        index_{z_, p_.layout, p_.rows.count * p_.cols.count},
        world_{world},
        error_{p_.type, core::compute_for(p_.type, p_.compute), z_.terms()},
        limits_{p_.type, core::compute_for(p_.type, p_.compute)} {
    core::Compute const compute = core::compute_for(p_.type, p_.compute);
    double const epsilon = std::max(core::epsilon_of(p_.type), core::epsilon_of(compute));
    double const largest = p_.x.kind == core::DataKind::constant ? 1 : 16;  // products
    is_exact_ =
        core::is_whole(p_.x.kind) && (p_.x.kind == core::DataKind::zeros ||
                                      static_cast<double>(z_.terms()) * largest * epsilon < 1);
    finding_.allowed = is_exact_ ? 0 : 1;
  }

  void sample() {
    if (outputs() == 0) return;
    constexpr int kSamples = 64;
    for (int s = 0; s < kSamples; ++s) {
      // The corners first: tails are where tiles go wrong.
      auto const pick = [&](int bit, std::int64_t extent) {
        if (s < 8) return (s >> bit & 1) * (extent - 1);
        std::uint64_t const hash =
            core::mix(static_cast<std::uint64_t>(3 * s + bit) * 0x9e3779b97f4a7c15ULL +
                      static_cast<std::uint64_t>(world_.rank()) + p_.x.seed);
        return static_cast<std::int64_t>((hash >> 8) % static_cast<std::uint64_t>(extent));
      };
      Position const where{pick(0, p_.images.count), pick(1, index_.positions)};
      element(where, pick(2, z_.k));
    }
  }

  void judge_all() {
    if (outputs() == 0) return;
    combine_filters();
    // What the outputs of a row see of a line of an image.
    std::int64_t const left = p_.cols.first * z_.stride - z_.padding;
    std::int64_t const right = left + (p_.cols.count - 1) * z_.stride + (z_.s - 1) * z_.dilation;
    band_cols_.first = std::clamp<std::int64_t>(left, 0, z_.w);
    band_cols_.count = std::clamp<std::int64_t>(right + 1, 0, z_.w) - band_cols_.first;
    // Rows of outputs whose inputs take so many numbers.
    constexpr std::int64_t kBandNumbers = 1 << 20;
    std::int64_t const row_numbers = std::max<std::int64_t>(1, z_.c * band_cols_.count * z_.stride);
    std::int64_t const rows =
        std::clamp<std::int64_t>(kBandNumbers / row_numbers, 1, p_.rows.count);
    for (std::int64_t n = 0; n < p_.images.count; ++n) {
      for (std::int64_t first = 0; first < p_.rows.count; first += rows) {
        judge_band(n, {first, std::min(rows, p_.rows.count - first)});
      }
    }
  }

  /// Of the samples as a whole: single elements may be zero. Collective.
  measure::Verdict verdict() {
    measure::Verdict verdict = agree(world_, finding_);
    std::array<double, 2> sums{values_, bounds_};
    world_.group().sum(std::span{sums});
    limits_.judge(verdict, world_);
    if (verdict.skipped.empty()) {
      require_separation(verdict, std::sqrt(sums[0]), std::sqrt(sums[1]),
                         "take fewer channels or a wider type");
    }
    return verdict;
  }

 private:
  static constexpr std::size_t kSets = 2;
  static constexpr std::int64_t kPositionsNamed = 8;

  /// In the box of this rank.
  struct Position {
    std::int64_t image, at;
  };
  /// Of one element: the right value and what it may be off by.
  struct Element {
    double want, bound;
    double ab;  ///< product of the 2-norms of the row of x and the filter
  };

  std::int64_t outputs() const { return p_.images.count * index_.positions * z_.k; }
  std::int64_t image_of(Position where) const { return p_.images.first + where.image; }
  std::int64_t row_of(Position where) const { return p_.rows.first + where.at / p_.cols.count; }
  std::int64_t col_of(Position where) const { return p_.cols.first + where.at % p_.cols.count; }

  std::int64_t group_of(std::int64_t k) const { return k / z_.group_filters(); }

  Element right(Position where, std::int64_t k) const {
    Row const x{p_.x, p_.type, image_of(where)}, w{p_.w, p_.type, k};
    std::int64_t const first = group_of(k) * z_.group_channels();
    std::int64_t const top = row_of(where) * z_.stride - z_.padding;
    std::int64_t const left = col_of(where) * z_.stride - z_.padding;
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
    double const ab = std::sqrt(x_squares) * std::sqrt(w_squares);
    return {sum, error_(ab, sum, 0), ab};
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
    if (limits_.is_beyond({.got = got, .want = e.want, .bound = e.bound, .ab = e.ab})) return;
    if (!is_exact_) {
      values_ += square(e.want);
      bounds_ += square(e.bound);
      limits_.take(e.want);
    }
    bool const is_nearest = !std::isinf(got) && got == core::rounded_to(p_.type, e.want);
    finding_.check(is_nearest ? 0 : scale(std::abs(got - e.want), e.bound), finding_.allowed, [&] {
      return fmt::format("y({}, {}, {}, {}) on rank {}: expected {:.9g}, got {}", image_of(where),
                         k, row_of(where), col_of(where), world_.rank(), e.want, shown(got));
    });
  }

  void combine_filters() {
    std::int64_t const taps = z_.r * z_.s;
    for (auto& filter : combined_) filter.assign(at(z_.c * taps), 0);
    norms_.resize(at(z_.k));
    for (auto& set : factors_) set.resize(at(z_.k));
    for (std::size_t v = 0; v < kSets; ++v) {
      for (std::int64_t k = 0; k < z_.k; ++k)
        factors_[v][at(k)] = freivalds_entry(p_.x.seed, static_cast<int>(v), k);
    }
    on_threads(world_, z_.k, [&](core::Range const& filters) {
      for (std::int64_t k = filters.first; k < filters.first + filters.count; ++k) {
        Row const w{p_.w, p_.type, k};
        double squares = 0;
        for (std::int64_t t = 0; t < z_.terms(); ++t) squares += square(w(t));
        norms_[at(k)] = std::sqrt(squares);
      }
    });
    // Each thread has channels of its own.
    on_threads(world_, z_.group_channels(), [&](core::Range const& channels) {
      for (std::int64_t k = 0; k < z_.k; ++k) {
        Row const w{p_.w, p_.type, k};
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
    std::int64_t const count = out_rows.count * p_.cols.count;
    std::int64_t const top = (p_.rows.first + out_rows.first) * z_.stride - z_.padding;
    std::int64_t const bottom = top + (out_rows.count - 1) * z_.stride + (z_.r - 1) * z_.dilation;
    std::int64_t const first_row = std::max<std::int64_t>(0, top);
    std::int64_t const end_row = std::min(z_.h, bottom + 1);
    read_band(image, {first_row, std::max<std::int64_t>(0, end_row - first_row)});
    for (std::size_t v = 0; v < kSets; ++v) {
      sums_.residual[v].assign(at(count), 0);
      sums_.bound[v].assign(at(count), 0);
    }
    sums_.windows.assign(at(z_.groups * count), 0);
    on_threads(world_, out_rows.count, [&](core::Range const& mine) {
      for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
        subtract_right_row(p_.rows.first + out_rows.first + i, i * p_.cols.count, count);
      }
    });
    // Rows are filters or positions, as y lies in memory.
    std::int64_t const first = out_rows.first * p_.cols.count;
    device::MatrixView view{p_.y.at(image, 0), p_.y.type, 0, 0, 0};
    if (index_.is_nchw()) {
      view.rows = z_.k;
      view.cols = view.ld = index_.positions;
      view = view.block(0, first, z_.k, count);
    } else {
      view.rows = index_.positions;
      view.cols = view.ld = z_.k;
      view = view.block(first, 0, count, z_.k);
    }
    for_host_tiles(view, world_,
                   [&](device::MatrixView const& host, std::int64_t row, std::int64_t col) {
                     add_outputs(host, row, col, count);
                   });
    std::mutex mutex;
    std::vector<std::int64_t> beyond;
    on_threads(world_, count, [&](core::Range const& mine) {
      double error = 0;
      std::vector<std::int64_t> found;
      for (std::int64_t j = mine.first; j < mine.first + mine.count; ++j) {
        double const worst = std::max(residual_of(0, j).scaled, residual_of(1, j).scaled);
        if (worst <= finding_.allowed) {
          error = std::max(error, worst);
        } else {
          found.push_back(j);
        }
      }
      std::scoped_lock const lock{mutex};
      finding_.error = std::max(finding_.error, error);
      beyond.insert(beyond.end(), found.begin(), found.end());
    });
    std::ranges::sort(beyond);
    for (std::int64_t const j : beyond) judge({image, first + j}, j);
  }

  /// x of some rows of an image of the box, channel by channel.
  void read_band(std::int64_t image, core::Range const& rows) {
    band_rows_ = rows;
    std::int64_t const width = band_cols_.count;
    band_.resize(at(z_.c * rows.count * width));
    Row const x{p_.x, p_.type, p_.images.first + image};
    on_threads(world_, rows.count, [&](core::Range const& mine) {
      for (std::int64_t c = 0; c < z_.c; ++c) {
        for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
          double* const line = band_.data() + (c * rows.count + i) * width;
          for (std::int64_t j = 0; j < width; ++j) {
            line[j] = x(index_.x(c, rows.first + i, band_cols_.first + j));
          }
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
            band_.data() + (c * band_rows_.count + row - band_rows_.first) * band_cols_.count;
        for (std::int64_t j = 0; j < z_.s; ++j) {
          // The outputs whose tap lies in the image; of the first the tap is at `col`.
          std::int64_t const col = p_.cols.first * z_.stride + j * z_.dilation - z_.padding;
          std::int64_t const first = col >= 0 ? 0 : (-col + z_.stride - 1) / z_.stride;
          std::int64_t const end =
              col >= z_.w ? 0 : std::min(p_.cols.count, (z_.w - col + z_.stride - 1) / z_.stride);
          std::int64_t const tap = (c * z_.r + i) * z_.s + j;
          double const a = combined_[0][at(tap)], b = combined_[1][at(tap)];
          for (std::int64_t q = first; q < end; ++q) {
            double const value = line[q * z_.stride + col - band_cols_.first];
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
              sums_.bound[v][j] += p_.x.kind == core::DataKind::constant ? part : square(part);
            }
          }
        }
      });
    });
  }

  struct Residual {
    double size, bound, scaled;
  };
  /// Of a position of the band. What is no number comes as infinite.
  Residual residual_of(std::size_t v, std::int64_t j) const {
    double const size = std::abs(sums_.residual[v][at(j)]);
    double const sum = sums_.bound[v][at(j)];
    double const bound = p_.x.kind == core::DataKind::constant ? sum : error_.of_sum(sum);
    double const scaled = scale(size, bound);
    return {size, bound, std::isnan(scaled) ? std::numeric_limits<double>::infinity() : scaled};
  }

  void judge(Position where, std::int64_t j) {
    for (std::size_t v = 0; v < kSets; ++v) {
      auto const [residual, bound, scaled] = residual_of(v, j);
      if (scaled <= finding_.allowed) continue;
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
              image_of(where), row_of(where), col_of(where), world_.rank(), is_exact_ ? 0 : bound,
              residual);
        });
      }
      return;
    }
  }

  Convolution const& p_;
  conv2d::Shape z_;
  Index index_;
  comm::World const& world_;
  kernels::gemm::ErrorBound error_;
  Limits limits_;
  bool is_exact_ = false;
  std::array<std::vector<double>, kSets> combined_;  // filters over c x r x s
  std::array<std::vector<double>, kSets> factors_;   // of output channels
  std::vector<double> norms_;                        // of filters
  core::Range band_rows_, band_cols_;
  std::vector<double> band_;
  Sums sums_;
  double values_ = 0, bounds_ = 0;  // sums of squares of samples
  std::int64_t named_ = 0;          // wrong positions that were looked into
  Finding finding_;
};

}  // namespace

Convolution whole_convolution(conv2d::Problem const& problem, Source const& x, Source const& w) {
  conv2d::Shape const& z = problem.shape;
  return {.shape = z,
          .layout = problem.layout,
          .type = problem.x.type,
          .compute = problem.compute,
          .x = x,
          .w = w,
          .images = {0, z.n},
          .rows = {0, z.out_h()},
          .cols = {0, z.out_w()},
          .y = problem.y};
}

measure::Verdict check_convolution(Convolution const& convolution, comm::World const& world,
                                   core::Check check) {
  Checker checker{convolution, world};
  checker.sample();
  if (check == core::Check::full) checker.judge_all();
  return checker.verdict();
}

}  // namespace quadrille::workloads
