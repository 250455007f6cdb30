// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/product_check.hpp"

#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

namespace quadrille::workloads {
namespace {

constexpr std::uint64_t kVectorTag = 0x66726569;  // any tag no array uses
constexpr int kSamples = 64;
constexpr int kRowsNamed = 8;
constexpr int kVectors = 2;
constexpr double kEpsilon = 0x1p-52;  // of the check's own arithmetic

/// Entry j of a vector of Freivalds: not two alike by chance, as signs would be, and none so small
/// that an error hides behind it.
double vector_entry(std::uint64_t seed, int vector, std::int64_t j) {
  std::uint64_t const hash = core::element_hash(core::row_key(seed, kVectorTag, vector), j);
  auto const magnitude = static_cast<double>(64 + (hash >> 1) % 64);
  return (hash & 1) != 0 ? magnitude : -magnitude;
}

double stored(Source const& source, core::DataType type, std::int64_t i, std::int64_t j) {
  return core::visit_type(
      type, [&](auto zero) { return static_cast<double>(source.at<decltype(zero)>(i, j)); });
}

/// The columns of a layout that this rank holds, of one row, as they are stored.
void read_row(Source const& source, core::DataType type, Layout const& layout, std::int64_t row,
              std::vector<double>& values) {
  std::int64_t const n = layout.local_cols();
  values.resize(static_cast<std::size_t>(n));
  std::uint64_t const key = core::row_key(source.seed, source.tag, row);
  core::visit_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint64_t const hash = core::element_hash(key, layout.global_col(j));
      values[static_cast<std::size_t>(j)] =
          static_cast<double>(core::value_from_hash<T>(source.kind, hash));
    }
  });
}

/// sum of term(j) over [0, n): in short chains, whose rounding is far below that of a product.
template <class Term>
double add_up(std::size_t n, Term&& term) {
  constexpr std::size_t kLanes = 8;
  constexpr std::size_t kChunk = 8 * kLanes;
  double total = 0;
  double lost = 0;  // by the sum of chunks (Kahan)
  for (std::size_t first = 0; first < n; first += kChunk) {
    std::array<double, kLanes> lanes{};
    std::size_t const end = std::min(n, first + kChunk);
    std::size_t j = first;
    for (; j + kLanes <= end; j += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(j + lane);
    }
    for (; j < end; ++j) lanes[0] += term(j);
    double const chunk = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])) - lost;
    double const next = total + chunk;
    lost = next - total - chunk;
    total = next;
  }
  return total;
}

double square(double x) { return x * x; }

double largest_of(core::DataKind kind) {
  return kind == core::DataKind::zeros ? 0 : kind == core::DataKind::constant ? 1 : 4;
}

/// Whether every sum on the way is a whole number that its type holds.
bool is_exact(Product const& p) {
  bool const whole_scalars = kernels::gemm::are_whole(p.alpha, p.beta);
  double const epsilon = std::max(core::epsilon_of(p.type), core::epsilon_of(p.compute));
  if (epsilon == 0) return whole_scalars;
  if (!whole_scalars || !core::is_whole(p.a.kind)) return false;
  double const largest = largest_of(p.a.kind);
  return (std::abs(p.alpha) * static_cast<double>(p.k) * largest * largest +
          std::abs(p.beta) * largest) *
             epsilon <
         1;
}

class Checker {
 public:
  Checker(Product const& product, ProductLayout const& layout, device::MatrixView const& c,
          comm::World const& world)
      : p_{product},
        layout_{layout},
        view_{c},
        world_{world},
        error_{product.type, product.compute, product.k, product.parts},
        exact_{is_exact(product)} {
    core::visit_type(c.type, [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> const host = download<T>(c, world.stream());
      auto const* bytes = reinterpret_cast<std::byte const*>(host.data());
      c_.assign(bytes, bytes + host.size() * sizeof(T));
      read_ = [](std::byte const* at) {
        T value;
        std::memcpy(&value, at, sizeof(T));
        return static_cast<double>(value);
      };
    });
    finding_.allowed = exact_ ? 0 : 1;
  }

  void sample() {
    std::int64_t const rows = view_.rows;
    std::int64_t const cols = view_.cols;
    for (int s = 0; s < kSamples && rows > 0 && cols > 0; ++s) {
      std::uint64_t const hash = core::mix(static_cast<std::uint64_t>(s) * 0x9e3779b97f4a7c15ULL +
                                           static_cast<std::uint64_t>(world_.rank()) + p_.a.seed);
      // The four corners first: tails are where tiles go wrong.
      std::int64_t i =
          s < 4 ? (s & 1) * (rows - 1)
                : static_cast<std::int64_t>((hash >> 32) % static_cast<std::uint64_t>(rows));
      std::int64_t j =
          s < 4 ? (s >> 1) * (cols - 1)
                : static_cast<std::int64_t>((hash & 0xffffffff) % static_cast<std::uint64_t>(cols));
      element(i, j);
    }
  }

  /// Freivalds for all rows. Every rank that shares the product gets the same residuals.
  void judge_rows() {
    for (int v = 0; v < kVectors; ++v) {
      for (std::int64_t j = 0; j < p_.n; ++j) {
        x_[static_cast<std::size_t>(v)].push_back(vector_entry(p_.a.seed, v, j));
      }
    }
    FactorSums const factors = sums_of_factors();
    ResultSums const result = sums_of_result(factors);
    int named = 0;
    std::string unnamed;
    for (std::int64_t i = 0; i < view_.rows; ++i) {
      std::int64_t const row = layout_.c.global_row(i);
      auto const at = static_cast<std::size_t>(row);
      for (std::size_t v = 0; v < kVectors; ++v) {
        double const residual = result.sum[v][at] - p_.alpha * factors.product[v][at];
        double const own = 2 * kEpsilon * std::abs(p_.alpha) * std::sqrt(factors.spread[at]);
        double const bound =
            exact_ ? 0 : std::sqrt(result.bound[v][at]) + std::abs(result.alike[v][at]) + own;
        double const scaled = scale(std::abs(residual), bound);
        if (scaled <= finding_.allowed) {
          finding_.error = std::max(finding_.error, scaled);
          continue;
        }
        // Beyond the largest number of its type a right element is infinite: then only the elements
        // tell.
        bool const is_judged = std::isfinite(residual);
        if (is_judged) {
          unnamed = fmt::format("row {} of C: expected a residual of at most {:.3g}, got {:.3g}",
                                row, bound, std::abs(residual));
        }
        if (named < kRowsNamed) {
          // Its first wrong element; all of a long row would take seconds each.
          std::int64_t const before = finding_.wrong;
          for (std::int64_t j = 0; j < view_.cols && finding_.wrong == before; ++j) element(i, j);
          if (is_judged || finding_.wrong > before) ++named;
        }
        break;
      }
    }
    std::int64_t const wrong = layout_.shared ? world_.group().sum(finding_.wrong) : finding_.wrong;
    if (wrong == 0 && !unnamed.empty()) finding_.check(2, 1, [&] { return unnamed; });
  }

  /// Of the samples as a whole: single elements may be zero. Collective.
  measure::Verdict verdict() {
    measure::Verdict verdict = agree(world_, finding_);
    std::array<double, 2> sizes{values_, bounds_};
    world_.group().sum(std::span{sizes});
    require_separation(verdict, std::sqrt(sizes[0]), std::sqrt(sizes[1]),
                       "take a smaller k or a wider type");
    return verdict;
  }

 private:
  /// Of this rank's part, then over the ranks that share the product; by global row.
  struct FactorSums {
    std::array<std::vector<double>, kVectors> product;  ///< A (B x)
    std::vector<double> row_squares;                    ///< of A: |a_i|^2
    std::vector<double> col_squares;                    ///< of B: |b_j|^2
    std::vector<double> spread;  ///< sum over l of a_il^2 |x|^2 of what B x was added up from
  };
  struct ResultSums {
    std::array<std::vector<double>, kVectors> sum;    ///< (C - beta C0) x
    std::array<std::vector<double>, kVectors> bound;  ///< squares of the bounds of its elements
    std::array<std::vector<double>, kVectors> alike;  ///< of constant data: all errors are one
  };

  double get(std::int64_t i, std::int64_t j) const {
    return read_(c_.data() + static_cast<std::size_t>(i * view_.cols + j) * core::size_of(p_.type));
  }

  /// So that 1 is the bound; exact data have no scale, any difference is wrong.
  double scale(double difference, double bound) const {
    return exact_ || difference == 0 ? difference : difference / bound;
  }

  void element(std::int64_t i, std::int64_t j) {
    if (!judged_.insert(i * view_.cols + j).second) return;
    std::int64_t const row = layout_.c.global_row(i);
    std::int64_t const col = layout_.c.global_col(j);
    long double sum = 0;
    double a_squares = 0, b_squares = 0;
    for (std::int64_t l = 0; l < p_.k; ++l) {
      double const a = stored(p_.a, p_.type, row, l);
      double const b = stored(p_.b, p_.type, l, col);
      sum += static_cast<long double>(a) * b;
      a_squares += square(a);
      b_squares += square(b);
    }
    double const added = p_.beta == 0 ? 0 : p_.beta * stored(p_.c0, p_.type, row, col);
    double const want = p_.alpha * static_cast<double>(sum) + added;
    double const norms = std::abs(p_.alpha) * std::sqrt(a_squares) * std::sqrt(b_squares);
    double const bound = error_(norms, want - added, added);
    double const got = get(i, j);
    if (!exact_) {
      values_ += square(want);
      bounds_ += square(bound);
    }
    bool const is_nearest = got == core::rounded_to(p_.type, want);
    // Beyond the largest number of its type the right element is infinite, and so it is where a part
    // of the sum may have been, of which the norms are the largest.
    bool const is_beyond =
        std::isinf(got) && std::isinf(core::rounded_to(p_.type, norms + std::abs(added)));
    finding_.check(is_nearest || is_beyond ? 0 : scale(std::abs(got - want), bound),
                   finding_.allowed, [&] {
                     return fmt::format("C({}, {}) on rank {}: expected {:.9g}, got {:.9g}", row,
                                        col, world_.rank(), want, got);
                   });
  }

  static std::vector<double> zeros(std::int64_t n) {
    return std::vector<double>(static_cast<std::size_t>(n), 0.0);
  }

  void complete(std::vector<double>& sums) const {
    if (layout_.shared) world_.group().sum(std::span{sums});
  }

  FactorSums sums_of_factors() const {
    std::array<std::vector<double>, kVectors> y;  // B x
    for (auto& part : y) part = zeros(p_.k);
    FactorSums sums{.product = {},
                    .row_squares = zeros(p_.m),
                    .col_squares = zeros(p_.n),
                    .spread = zeros(p_.m)};
    for (auto& part : sums.product) part = zeros(p_.m);
    std::vector<double> spread_of_y = zeros(p_.k);
    std::mutex mutex;
    on_threads(world_, layout_.b.local_rows(), [&](core::Range const& range) {
      std::vector<double> b;
      std::vector<double> squares(static_cast<std::size_t>(layout_.b.local_cols()), 0.0);
      for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
        auto const row = static_cast<std::size_t>(layout_.b.global_row(i));
        read_row(p_.b, p_.type, layout_.b, static_cast<std::int64_t>(row), b);
        for (std::size_t v = 0; v < kVectors; ++v) {
          y[v][row] += add_up(b.size(), [&](std::size_t j) { return b[j] * x_at(v, j); });
        }
        for (std::size_t j = 0; j < b.size(); ++j) squares[j] += square(b[j]);
        spread_of_y[row] += add_up(b.size(), [&](std::size_t j) { return square(b[j] * 127); });
      }
      std::scoped_lock const lock{mutex};
      for (std::size_t j = 0; j < squares.size(); ++j) {
        sums.col_squares[global_col(j)] += squares[j];
      }
    });
    for (auto& part : y) complete(part);
    complete(spread_of_y);
    complete(sums.col_squares);
    on_threads(world_, layout_.a.local_rows(), [&](core::Range const& range) {
      std::vector<double> a;
      for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
        auto const row = static_cast<std::size_t>(layout_.a.global_row(i));
        read_row(p_.a, p_.type, layout_.a, static_cast<std::int64_t>(row), a);
        auto const col = [&](std::size_t l) {
          return static_cast<std::size_t>(layout_.a.global_col(static_cast<std::int64_t>(l)));
        };
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums.product[v][row] +=
              add_up(a.size(), [&](std::size_t l) { return a[l] * y[v][col(l)]; });
        }
        sums.row_squares[row] += add_up(a.size(), [&](std::size_t l) { return square(a[l]); });
        sums.spread[row] +=
            add_up(a.size(), [&](std::size_t l) { return square(a[l]) * spread_of_y[col(l)]; });
      }
    });
    for (auto& part : sums.product) complete(part);
    complete(sums.row_squares);
    complete(sums.spread);
    return sums;
  }

  ResultSums sums_of_result(FactorSums const& factors) const {
    ResultSums sums;
    for (auto& part : sums.sum) part = zeros(p_.m);
    for (auto& part : sums.bound) part = zeros(p_.m);
    for (auto& part : sums.alike) part = zeros(p_.m);
    on_threads(world_, view_.rows, [&](core::Range const& range) {
      std::vector<double> c(static_cast<std::size_t>(view_.cols)), c0(c.size(), 0.0);
      for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
        auto const row = static_cast<std::size_t>(layout_.c.global_row(i));
        for (std::size_t j = 0; j < c.size(); ++j) c[j] = get(i, static_cast<std::int64_t>(j));
        if (p_.beta != 0) {
          read_row(p_.c0, p_.type, layout_.c, static_cast<std::int64_t>(row), c0);
          for (double& value : c0) value *= p_.beta;
        }
        double const a_norm = std::abs(p_.alpha) * std::sqrt(factors.row_squares[row]);
        auto const bound = [&](std::size_t j) {
          double const ab_norm = a_norm * std::sqrt(factors.col_squares[global_col(j)]);
          // Not what the result claims, which may be anything, beyond what it can be.
          double const size = std::min(std::abs(c[j] - c0[j]), ab_norm);
          return square(error_(ab_norm, size, c0[j])) +
                 square(2 * kEpsilon) * (square(size) + square(c0[j]));
        };
        for (std::size_t v = 0; v < kVectors; ++v) {
          sums.sum[v][row] += add_up(c.size(), [&](std::size_t j) { return c[j] * x_at(v, j); }) -
                              add_up(c.size(), [&](std::size_t j) { return c0[j] * x_at(v, j); });
          if (exact_) continue;
          sums.bound[v][row] +=
              add_up(c.size(), [&](std::size_t j) { return bound(j) * square(x_at(v, j)); });
          if (p_.a.kind != core::DataKind::constant) continue;
          sums.alike[v][row] +=
              add_up(c.size(), [&](std::size_t j) { return std::sqrt(bound(j)) * x_at(v, j); });
        }
      }
    });
    for (auto& part : sums.sum) complete(part);
    for (auto& part : sums.bound) complete(part);
    for (auto& part : sums.alike) complete(part);
    return sums;
  }

  /// Of local column j of B, which is that of C too.
  std::size_t global_col(std::size_t j) const {
    return static_cast<std::size_t>(layout_.c.global_col(static_cast<std::int64_t>(j)));
  }
  double x_at(std::size_t v, std::size_t j) const { return x_[v][global_col(j)]; }

  Product const& p_;
  ProductLayout const& layout_;
  device::MatrixView view_;
  comm::World const& world_;
  kernels::gemm::ErrorBound error_;
  bool exact_;
  std::array<std::vector<double>, kVectors> x_;
  std::vector<std::byte> c_;                    // the result as it is stored, packed
  double (*read_)(std::byte const*) = nullptr;  // of one element
  std::set<std::int64_t> judged_;               // elements, which count once
  double values_ = 0, bounds_ = 0;              // sums of squares of sampled elements
  Finding finding_;
};

}  // namespace

measure::Verdict check_product(Product const& product, ProductLayout const& layout,
                               device::MatrixView const& c, comm::World const& world,
                               core::Check check) {
  Checker checker{product, layout, c, world};
  checker.sample();
  if (check == core::Check::full) checker.judge_rows();
  return checker.verdict();
}

std::size_t scratch_bytes(kernels::gemm::Problem const& problem, measure::Selection const& selected,
                          device::Facts const& device) {
  std::size_t bytes = 0;
  for (kernels::VariantInfo const* variant : selected) {
    // Bring their own, or need none.
    bool const is_other =
        variant->role == kernels::Role::peer || variant->role == kernels::Role::ceiling;
    if (is_other) continue;
    auto const& row = row_of<kernels::gemm::Problem>(*variant);
    bytes = std::max(bytes, row.scratch_bytes(problem, device));
  }
  return bytes;
}

device::Buffer<std::byte> product_scratch(std::size_t bytes, comm::World& world) {
  if (bytes == 0) return {};
  device::Buffer<std::byte> scratch{world.device(), static_cast<std::int64_t>(bytes),
                                    world.stream()};
  constexpr std::size_t kCounterBytes = kernels::gemm::kScratchCounters * sizeof(std::uint32_t);
  world.stream().fill(scratch.data(), 0, std::min(bytes, kCounterBytes));
  return scratch;
}

}  // namespace quadrille::workloads
