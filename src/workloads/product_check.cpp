// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/product_check.hpp"

#include "workloads/tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace quadrille::workloads {
namespace {

constexpr std::uint64_t kVectorTag = 0x66726569;  // any tag no array uses
constexpr int kSamples = 64;
constexpr int kRowsNamed = 8;

double vector_entry(std::int64_t j) {
  return (core::element_hash(core::row_key(1, kVectorTag, 0), j) & 1) != 0 ? 1.0 : -1.0;
}

/// Generated values of one row as they are stored: rounded to the type of the matrices.
class RowReader {
 public:
  RowReader(Source const& source, core::DataType type, std::int64_t i)
      : kind_{source.kind}, type_{type}, key_{core::row_key(source.seed, source.tag, i)} {
    bool const integer = core::epsilon_of(type) == 0;
    if (integer && kind_ != core::DataKind::constant && kind_ != core::DataKind::zeros) {
      kind_ = core::DataKind::integer;
    }
  }
  double operator[](std::int64_t j) const {
    double const value = core::value_from_hash(kind_, core::element_hash(key_, j));
    return type_ == core::DataType::f64 ? value : core::rounded_to(type_, value);
  }

 private:
  core::DataKind kind_;
  core::DataType type_;
  std::uint64_t key_;
};

class Checker {
 public:
  Checker(Product const& product, ProductLayout const& layout, device::MatrixView const& c,
          comm::World const& world)
      : p_{product}, layout_{layout}, view_{c}, world_{world} {
    bool const whole_scalars = std::floor(p_.alpha) == p_.alpha && std::floor(p_.beta) == p_.beta;
    bool const integer = p_.a.kind == core::DataKind::integer ||
                         p_.a.kind == core::DataKind::constant ||
                         p_.a.kind == core::DataKind::zeros || core::epsilon_of(p_.type) == 0;
    exact_ = whole_scalars && integer;
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

  Finding sampled() {
    std::int64_t const rows = view_.rows;
    std::int64_t const cols = view_.cols;
    for (int s = 0; s < kSamples && rows > 0 && cols > 0; ++s) {
      std::uint64_t const hash = core::mix(static_cast<std::uint64_t>(s) * 0x9e3779b97f4a7c15ULL +
                                           static_cast<std::uint64_t>(world_.rank()) + 1);
      // The four corners first: tails are where tiles go wrong.
      std::int64_t i =
          s < 4 ? (s & 1) * (rows - 1)
                : static_cast<std::int64_t>((hash >> 32) % static_cast<std::uint64_t>(rows));
      std::int64_t j =
          s < 4 ? (s >> 1) * (cols - 1)
                : static_cast<std::int64_t>((hash & 0xffffffff) % static_cast<std::uint64_t>(cols));
      element(i, j);
    }
    return finding_;
  }

  /// Freivalds for all rows. Every rank that shares the product gets the same residuals.
  Finding full() {
    sampled();
    Sums const b = row_sums(layout_.b, p_.b, p_.k, signs(layout_.b), {});
    Sums const ab = row_sums(layout_.a, p_.a, p_.m, b.sum, b.magnitude);
    Sums const c = sums_of_result();
    double const root_n = std::sqrt(std::max<double>(1, static_cast<double>(p_.n)));
    int named = 0;
    std::string unnamed;
    for (std::int64_t i = 0; i < view_.rows; ++i) {
      auto const at = static_cast<std::size_t>(layout_.c.global_row(i));
      double const residual = c.sum[at] - p_.alpha * ab.sum[at];
      double const weight = std::abs(p_.alpha) * ab.magnitude[at] + c.magnitude[at];
      double const bound =
          exact_ ? 0
                 : 4 * kernels::gemm::error_bound(p_.type, static_cast<double>(p_.k),
                                                  weight / root_n) +
                       4 * core::epsilon_of(core::DataType::f64) * (c.result[at] + weight / root_n);
      if (std::abs(residual) <= bound) continue;
      unnamed = fmt::format("row {} of C: residual {:.3g} above {:.3g}", layout_.c.global_row(i),
                            residual, bound);
      if (named++ < kRowsNamed) {
        for (std::int64_t j = 0; j < view_.cols; ++j) element(i, j);
      }
    }
    std::int64_t const wrong = layout_.shared ? world_.group().sum(finding_.wrong) : finding_.wrong;
    if (wrong == 0 && !unnamed.empty()) finding_.check(2, 1, [&] { return unnamed; });
    return finding_;
  }

 private:
  double get(std::int64_t i, std::int64_t j) const {
    return read_(c_.data() + static_cast<std::size_t>(i * view_.cols + j) * core::size_of(p_.type));
  }

  double stored(Source const& source, std::int64_t i, std::int64_t j) const {
    return RowReader{source, p_.type, i}[j];
  }

  void element(std::int64_t i, std::int64_t j) {
    std::int64_t const row = layout_.c.global_row(i);
    std::int64_t const col = layout_.c.global_col(j);
    long double sum = 0;
    double weight = 0;
    for (std::int64_t l = 0; l < p_.k; ++l) {
      double const term = stored(p_.a, row, l) * stored(p_.b, l, col);
      sum += term;
      weight += std::abs(term);
    }
    double want = p_.alpha * static_cast<double>(sum);
    weight *= std::abs(p_.alpha);
    if (p_.beta != 0) {
      double const term = p_.beta * stored(p_.c0, row, col);
      want += term;
      weight += std::abs(term);
    }
    check(row, col, want, get(i, j),
          kernels::gemm::error_bound(p_.type, static_cast<double>(p_.k), weight));
  }

  void check(std::int64_t row, std::int64_t col, double want, double got, double bound) {
    double const difference = std::abs(got - want);
    // Scaled so that 1 is the bound; exact data have no scale, any difference is wrong.
    double const scaled = exact_ || bound == 0 ? difference : difference / bound;
    finding_.check(scaled, exact_ || bound == 0 ? 0 : 1, [&] {
      return fmt::format("C({}, {}) on rank {}: expected {:.9g}, got {:.9g}", row, col,
                         world_.rank(), want, got);
    });
  }

  /// On this rank's host threads; every local row is another global row, so they share nothing.
  template <class Work>
  void for_rows(std::int64_t rows, Work&& work) const {
    on_threads(world_, rows, [&](core::Range const& range) {
      for (std::int64_t i = range.first; i < range.first + range.count; ++i) work(i);
    });
  }

  /// Per global row: sums of one rank's part, then over the ranks that share the product.
  struct Sums {
    std::vector<double> sum;        ///< M x
    std::vector<double> magnitude;  ///< |M| w
    std::vector<double> result;     ///< |C| 1, for the result only
  };

  static std::vector<double> signs(Layout const& layout) {
    std::vector<double> x(static_cast<std::size_t>(layout.cols.size()));
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = vector_entry(static_cast<std::int64_t>(j));
    return x;
  }

  Sums zeros(std::int64_t rows) const {
    std::vector<double> const zero(static_cast<std::size_t>(rows), 0.0);
    return {zero, zero, zero};
  }

  Sums complete(Sums sums) const {
    if (layout_.shared) {
      for (std::vector<double>* part : {&sums.sum, &sums.magnitude, &sums.result}) {
        world_.group().sum(std::span{*part});
      }
    }
    return sums;
  }

  /// M x and |M| w (w = 1 when empty) for a generated matrix; x and w are indexed globally.
  Sums row_sums(Layout const& layout, Source const& source, std::int64_t rows,
                std::vector<double> const& x, std::vector<double> const& w) const {
    Sums sums = zeros(rows);
    for_rows(layout.local_rows(), [&](std::int64_t i) {
      std::int64_t const row = layout.global_row(i);
      RowReader const values{source, p_.type, row};
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t j = 0; j < layout.local_cols(); ++j) {
        auto const col = static_cast<std::size_t>(layout.global_col(j));
        double const value = values[static_cast<std::int64_t>(col)];
        sum += value * x[col];
        magnitude += std::abs(value) * (w.empty() ? 1.0 : w[col]);
      }
      sums.sum[static_cast<std::size_t>(row)] += sum;
      sums.magnitude[static_cast<std::size_t>(row)] += magnitude;
    });
    return complete(std::move(sums));
  }

  /// (C - beta C0) x, |beta| |C0| 1 and |C| 1.
  Sums sums_of_result() const {
    Sums sums = zeros(p_.m);
    for_rows(view_.rows, [&](std::int64_t i) {
      std::int64_t const row = layout_.c.global_row(i);
      RowReader const c0{p_.c0, p_.type, row};
      long double sum = 0;  // C is summed once more than A and B; keep that rounding out of the way
      double added = 0;
      double result = 0;
      for (std::int64_t j = 0; j < view_.cols; ++j) {
        std::int64_t const col = layout_.c.global_col(j);
        double const x = vector_entry(col);
        sum += x * get(i, j);
        result += std::abs(get(i, j));
        if (p_.beta != 0) {
          double const term = p_.beta * c0[col];
          sum -= x * term;
          added += std::abs(term);
        }
      }
      sums.sum[static_cast<std::size_t>(row)] += static_cast<double>(sum);
      sums.magnitude[static_cast<std::size_t>(row)] += added;
      sums.result[static_cast<std::size_t>(row)] += std::isfinite(result) ? result : 0;
    });
    return complete(std::move(sums));
  }

  Product const& p_;
  ProductLayout const& layout_;
  device::MatrixView view_;
  comm::World const& world_;
  std::vector<std::byte> c_;                    // the result as it is stored, packed
  double (*read_)(std::byte const*) = nullptr;  // of one element
  bool exact_ = false;
  Finding finding_;
};

}  // namespace

measure::Verdict check_product(Product const& product, ProductLayout const& layout,
                               device::MatrixView const& c, comm::World const& world,
                               core::Check check) {
  Checker checker{product, layout, c, world};
  return agree(world, check == core::Check::sample ? checker.sampled() : checker.full());
}

std::size_t scratch_bytes(kernels::gemm::Problem const& problem, measure::Selection const& selected,
                          device::Facts const& device) {
  std::size_t bytes = 0;
  for (kernels::VariantInfo const* variant : selected) {
    if (variant->role == kernels::Role::peer) continue;  // brings its own
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
