// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/checks/product.hpp"

#include "workloads/checks/limits.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <set>

namespace quadrille::workloads {
namespace {

constexpr std::uint64_t kVectorTag = 0x66726569;  // any tag no array uses
constexpr int kSamples = 64;
constexpr int kRowsNamed = 8;
constexpr int kVectors = 2;
constexpr double kEpsilon = 0x1p-52;  // of the check's own arithmetic

double stored(Source const& source, core::DataType type, std::int64_t i, std::int64_t j) {
  return core::visit_type(
      type, [&](auto zero) { return static_cast<double>(source.at<decltype(zero)>(i, j)); });
}

/// Elements as they are stored, of which number n has the hash hash_of(n).
template <class HashOf>
void read(Source const& source, core::DataType type, std::int64_t count, HashOf&& hash_of,
          std::vector<double>& values) {
  values.resize(static_cast<std::size_t>(count));
  core::visit_type(type, [&](auto zero) {
    for (std::int64_t n = 0; n < count; ++n) {
      values[static_cast<std::size_t>(n)] =
          static_cast<double>(core::value_from_hash<decltype(zero)>(source.kind, hash_of(n)));
    }
  });
}

/// Of one row the columns of a layout that this rank holds in `local`.
void read_row(Source const& source, core::DataType type, Layout const& layout, std::int64_t row,
              core::Range const& local, std::vector<double>& values) {
  std::uint64_t const key = core::row_key(source.seed, source.tag, row);
  auto const hash_of = [&](std::int64_t j) {
    return core::element_hash(key, layout.global_col(local.first + j));
  };
  read(source, type, local.count, hash_of, values);
}

/// Blocks of so many rows and columns, which have one factor each.
struct Factors {
  std::optional<Source> const& source;
  core::DataType type;
  std::int64_t rows, cols;
};

/// Multiplies by the factors, where there are some: value n is that of (row(n), col(n)).
template <class Row, class Col>
void apply(Factors const& factors, Row const& row, Col const& col, std::vector<double>& values) {
  if (!factors.source) return;
  std::pair<std::int64_t, std::int64_t> block{-1, -1};
  double factor = 1;
  for (std::size_t n = 0; n < values.size(); ++n) {
    auto const at = static_cast<std::int64_t>(n);
    std::pair const here{row(at) / factors.rows, col(at) / factors.cols};
    if (here != block) {
      block = here;
      factor = stored(*factors.source, factors.type, here.first, here.second);
    }
    values[n] *= factor;
  }
}

/// Calls `use(range)` for the parts of a range that are at most so long, in order.
template <class Use>
void for_parts(core::Range const& whole, std::int64_t longest, Use&& use) {
  std::int64_t const end = whole.first + whole.count;
  for (std::int64_t at = whole.first; at < end; at += longest) {
    use(core::Range{at, std::min(longest, end - at)});
  }
}

/// The local indices of one part whose global ones are in `tile`.
core::Range local_part(comm::Distribution const& distribution, int part, core::Range const& tile) {
  // How many lie before a global index: both ascend.
  auto const before = [&](std::int64_t global) {
    std::int64_t low = 0, high = distribution.count(part);
    while (low < high) {
      std::int64_t const middle = low + (high - low) / 2;
      if (distribution.global(part, middle) < global) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  std::int64_t const first = before(tile.first);
  return {first, before(tile.first + tile.count) - first};
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
  double const epsilon =
      std::max(core::epsilon_of(p.out), kernels::gemm::epsilon_of(p.out, p.compute, p.moduli));
  if (epsilon == 0) return whole_scalars;
  if (!whole_scalars || !core::is_whole(p.a.kind) || p.b_scales) return false;
  double const largest = largest_of(p.a.kind);
  return (std::abs(p.alpha) * static_cast<double>(p.k) * largest * largest +
          std::abs(p.beta) * largest) *
             epsilon <
         1;
}

/// Whether the check's own sums hold integers that wrapped in i32 with all their digits, so that they can
/// be judged modulo 2^32: of C x, and of A (B x) with whole numbers up to 127.
bool holds_wrapped(Product const& p) {
  auto const n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  return p.out == core::DataType::i32 && p.type == core::DataType::i8 &&
         n * 127 * 0x1p31 < 0x1p53 && std::abs(p.alpha) * n * k * 127 * 127 * 127 < 0x1p53;
}

/// As i32 has it.
double wrapped(double whole) {
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::int64_t>(whole)));
}

class Checker {
 public:
  Checker(Product const& product, ProductLayout const& layout, device::MatrixView const& c,
          comm::World const& world, CheckTiles const& tiles)
      : p_{product},
        layout_{layout},
        view_{c},
        world_{world},
        tiles_{tiles},
        exact_{is_exact(product)},
        holds_wrapped_{holds_wrapped(product)},
        unit_{exact_ ? 1 : unit_of(product)},
        alpha_{held_scalar(product.alpha, product.compute) / unit_},
        beta_{held_scalar(product.beta, product.compute) / unit_},
        error_{kernels::Types{product.type, product.compute, product.out}, product.k, product.parts,
               product.moduli},
        least_{unit_ == 1 ? 0 : core::least_of(product.out) / unit_},
        limits_{product.out, product.compute, product.parts > 1, unit_} {
    finding_.allowed = exact_ ? 0 : 1;
  }

  void sample() {
    std::int64_t const rows = view_.rows;
    std::int64_t const cols = view_.cols;
    std::vector<Place> places;
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
      if (sampled_.insert(i * cols + j).second) places.push_back({i, j});
    }
    judge(places, false);
  }

  /// Freivalds for all rows. Every rank that shares the product gets the same residuals.
  void judge_rows() {
    for_parts({0, p_.m}, tiles_.rows, [&](core::Range const& rows) { judge(rows, sums_of(rows)); });
    std::int64_t const wrong = layout_.shared ? world_.group().sum(finding_.wrong) : finding_.wrong;
    // Integers that wrapped have residuals of their own.
    std::int64_t wrapped = limits_.is_integral() && limits_.has_beyond() ? 1 : 0;
    if (layout_.shared) wrapped = world_.group().sum(wrapped);
    if (wrong == 0 && wrapped == 0 && !unnamed_.empty())
      finding_.check(2, 1, [&] { return unnamed_; });
  }

  /// Of the samples as a whole: single elements may be zero. Collective.
  measure::Verdict verdict() {
    measure::Verdict verdict = agree(world_, finding_);
    std::array<double, 2> sizes{values_, bounds_};
    world_.group().sum(std::span{sizes});
    limits_.judge(verdict, world_);
    if (verdict.skipped.empty()) {
      require_separation(verdict, std::sqrt(sizes[0]) * unit_, std::sqrt(sizes[1]) * unit_,
                         "take a smaller k or a wider type");
    }
    return verdict;
  }

 private:
  /// Of a tile of rows: this rank's part, then over the ranks that share the product. What has
  /// signs is added up in extended precision, so that the number of parts does not count.
  struct RowSums {
    std::array<std::vector<long double>, kVectors> residual;  ///< (C - beta C0) x - alpha A (B x)
    std::vector<double> squares;                              ///< of A: |a_i|^2
    std::vector<double> spread;  ///< sum over l of a_il^2 |x|^2 of what B x was added up from
    std::array<std::vector<double>, kVectors> bound;  ///< squares of the bounds of its elements
    std::array<std::vector<double>, kVectors> alike;  ///< of constant data: all errors are one
  };
  /// B x of a tile of k, and what it was added up from.
  struct Factor {
    core::Range tile;
    std::array<std::vector<long double>, kVectors> y;
    std::vector<double> spread;
  };

  /// The power of two by which scalars are neither large nor small: the squares of what the check adds up
  /// must not leave what f64 holds.
  static double unit_of(Product const& p) {
    double const largest = std::max(std::abs(held_scalar(p.alpha, p.compute)),
                                    std::abs(held_scalar(p.beta, p.compute)));
    return std::ldexp(1, std::ilogb(largest));
  }

  double get(std::int64_t i, std::int64_t j) const {
    double value = 0;
    for_host_tiles(view_.block(i, j, 1, 1), world_,
                   [&](device::MatrixView const& host, std::int64_t, std::int64_t) {
                     value = core::visit_type(host.type, [&](auto zero) {
                       return static_cast<double>(*static_cast<decltype(zero) const*>(host.data));
                     });
                   });
    return value;
  }

  /// So that 1 is the bound; exact data have no scale, any difference is wrong.
  double scale(double difference, double bound) const {
    return exact_ || difference == 0 ? difference : difference / bound;
  }

  bool has_weights() const { return p_.weights != kernels::gemm::Weights::none; }
  Factors factors_of_a() const {
    return {p_.a_scales, core::DataType::f32, 1, kernels::gemm::kScaled};
  }
  core::DataType type_of_b() const { return has_weights() ? core::DataType::i8 : p_.type; }
  std::int64_t stored_row_of_b(std::int64_t l) const {
    return l / kernels::gemm::per_byte(p_.weights);
  }
  /// Makes of elements (row(n), col(n)) as they are stored those of B.
  template <class Row, class Col>
  void complete_b(Row const& row, Col const& col, std::vector<double>& values) const {
    if (p_.weights == kernels::gemm::Weights::i4) {
      for (std::size_t n = 0; n < values.size(); ++n) {
        values[n] = kernels::gemm::half_of(static_cast<std::int8_t>(values[n]),
                                           row(static_cast<std::int64_t>(n)) % 2);
      }
    }
    Factors const factors{p_.b_scales, has_weights() ? p_.type : core::DataType::f32,
                          kernels::gemm::kScaled, has_weights() ? 1 : kernels::gemm::kScaled};
    apply(factors, row, col, values);
  }

  /// Of an element of this rank's part of C.
  struct Place {
    std::int64_t row, col;
  };
  struct InnerProduct {
    long double sum = 0;
    double a_squares = 0, b_squares = 0;
  };
  /// Of the rows and columns of some elements. In parts of k, whose sums do not depend on the number of
  /// threads: of a thin product they are most of what its check takes.
  std::vector<InnerProduct> inner_products(std::vector<Place> const& places) const {
    constexpr std::int64_t kPart = 1 << 12;
    std::int64_t const parts = (p_.k + kPart - 1) / kPart;
    auto const place_of = [&](std::int64_t part, std::size_t n) {
      return static_cast<std::size_t>(part) * places.size() + n;
    };
    std::vector<InnerProduct> sums(place_of(parts, 0));
    on_threads(world_, parts, [&](core::Range const& mine) {
      std::vector<std::uint64_t> keys;  // of the rows of B
      std::vector<double> a, b;
      for (std::int64_t part = mine.first; part < mine.first + mine.count; ++part) {
        std::int64_t const first = part * kPart, count = std::min(kPart, p_.k - first);
        keys.clear();
        for (std::int64_t l = first; l < first + count; ++l) {
          keys.push_back(core::row_key(p_.b.seed, p_.b.tag, stored_row_of_b(l)));
        }
        for (std::size_t n = 0; n < places.size(); ++n) {
          std::uint64_t const key =
              core::row_key(p_.a.seed, p_.a.tag, layout_.c.global_row(places[n].row));
          std::int64_t const col = layout_.c.global_col(places[n].col);
          read(
              p_.a, p_.type, count,
              [&](std::int64_t l) { return core::element_hash(key, first + l); }, a);
          read(
              p_.b, type_of_b(), count,
              [&](std::int64_t l) {
                return core::element_hash(keys[static_cast<std::size_t>(l)], col);
              },
              b);
          apply(
              factors_of_a(), [&](auto) { return layout_.c.global_row(places[n].row); },
              [&](std::int64_t l) { return first + l; }, a);
          complete_b([&](std::int64_t l) { return first + l; }, [&](auto) { return col; }, b);
          InnerProduct sum;
          for (std::size_t l = 0; l < a.size(); ++l) {
            sum.sum += static_cast<long double>(a[l]) * b[l];
            sum.a_squares += square(a[l]);
            sum.b_squares += square(b[l]);
          }
          sums[place_of(part, n)] = sum;
        }
      }
    });
    std::vector<InnerProduct> whole(places.size());
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::size_t n = 0; n < places.size(); ++n) {
        InnerProduct const& sum = sums[place_of(part, n)];
        whole[n].sum += sum.sum;
        whole[n].a_squares += sum.a_squares;
        whole[n].b_squares += sum.b_squares;
      }
    }
    return whole;
  }

  /// Elements one by one; with `stops` up to the first wrong one.
  void judge(std::vector<Place> const& places, bool stops) {
    std::vector<InnerProduct> const products = inner_products(places);
    for (std::size_t n = 0; n < places.size(); ++n) {
      std::int64_t const before = finding_.wrong;
      element(places[n], products[n]);
      if (stops && finding_.wrong > before) return;
    }
  }

  void element(Place const& place, InnerProduct const& found) {
    std::int64_t const row = layout_.c.global_row(place.row);
    std::int64_t const col = layout_.c.global_col(place.col);
    auto const [sum, a_squares, b_squares] = found;
    double const added = beta_ == 0 ? 0 : beta_ * stored(p_.c0, p_.out, row, col);
    double const product = alpha_ * static_cast<double>(sum);
    double const want = holds_wrapped_ ? wrapped(product + added) : product + added;
    double const norms = std::abs(alpha_) * std::sqrt(a_squares) * std::sqrt(b_squares);
    double const bound = error_(norms, product, added) + least_;
    double const stored_value = get(place.row, place.col);
    double const got = stored_value / unit_;
    if (limits_.is_beyond({got, want, bound, norms, added, alpha_})) return;
    if (!exact_) {
      // Of what the product adds alone: beside a large C0 nothing is seen of it.
      values_ += square(p_.k > 0 ? product : want);
      bounds_ += square(bound);
      limits_.take(want);
    }
    bool const is_nearest = !limits_.is_integral() && !std::isinf(stored_value) &&
                            stored_value == core::rounded_to(p_.out, want * unit_);
    finding_.check(is_nearest ? 0 : scale(std::abs(got - want), bound), finding_.allowed, [&] {
      return fmt::format("C({}, {}) on rank {}: expected {:.9g}, got {}", row, col, world_.rank(),
                         want * unit_, shown(stored_value));
    });
  }

  template <class T = double>
  static std::vector<T> zeros(std::int64_t n) {
    return std::vector<T>(static_cast<std::size_t>(n), T{0});
  }

  void complete(std::vector<double>& sums) const {
    if (layout_.shared) world_.group().sum(std::span{sums});
  }
  void complete(std::vector<long double>& sums) const {
    if (!layout_.shared) return;
    std::vector<double> parts(sums.begin(), sums.end());
    complete(parts);
    sums.assign(parts.begin(), parts.end());
  }

  RowSums sums_of(core::Range const& rows) {
    RowSums sums;
    for (auto& part : sums.residual) part = zeros<long double>(rows.count);
    sums.squares = zeros(rows.count);
    sums.spread = zeros(rows.count);
    bool const is_one = p_.n <= tiles_.cols;  // then the squares of B come with B x
    core::Range const all_cols{0, p_.n};
    if (is_one) col_squares_ = zeros(p_.n);
    for_parts({0, p_.k}, tiles_.depth, [&](core::Range const& depth) {
      Factor factor{depth, {}, zeros(depth.count)};
      for (auto& part : factor.y) part = zeros<long double>(depth.count);
      for_parts(all_cols, tiles_.cols, [&](core::Range const& cols) {
        take(cols);
        add_b(depth, &factor, is_one);
      });
      for (auto& part : factor.y) complete(part);
      complete(factor.spread);
      add_a(rows, factor, sums);
    });
    complete(sums.squares);
    complete(sums.spread);
    for (auto& part : sums.bound) part = zeros(rows.count);
    for (auto& part : sums.alike) part = zeros(rows.count);
    for_parts(all_cols, tiles_.cols, [&](core::Range const& cols) {
      take(cols);
      if (!is_one) {
        col_squares_ = zeros(cols.count);
        for_parts({0, p_.k}, tiles_.depth,
                  [&](core::Range const& depth) { add_b(depth, nullptr, true); });
      }
      complete(col_squares_);
      add_c(rows, sums);
    });
    for (auto& part : sums.residual) complete(part);
    for (auto& part : sums.bound) complete(part);
    for (auto& part : sums.alike) complete(part);
    return sums;
  }

  /// Makes `cols` the tile of columns.
  void take(core::Range const& cols) {
    bool const is_there = cols_.first == cols.first && cols_.count == cols.count;
    if (is_there) return;
    cols_ = cols;
    for (int v = 0; v < kVectors; ++v) {
      std::vector<double>& x = x_[static_cast<std::size_t>(v)];
      x.clear();
      for (std::int64_t j = 0; j < cols.count; ++j) {
        x.push_back(freivalds_entry(p_.a.seed, v, cols.first + j));
      }
    }
  }

  /// Adds the tile of columns: to B x of some rows, to the squares of its columns.
  void add_b(core::Range const& depth, Factor* factor, bool adds_squares) {
    core::Range const cols = local_part(layout_.b.cols, layout_.b.col_part, cols_);
    core::Range const rows = local_part(layout_.b.rows, layout_.b.row_part, depth);
    std::mutex mutex;
    on_threads(world_, rows.count, [&](core::Range const& mine) {
      std::vector<double> b;
      for_parts(cols, tiles_.chunk, [&](core::Range const& chunk) {
        std::vector<double> squares = zeros(chunk.count);
        for (std::int64_t i = rows.first + mine.first; i < rows.first + mine.first + mine.count;
             ++i) {
          std::int64_t const row = layout_.b.global_row(i);
          read_row(p_.b, type_of_b(), layout_.b, stored_row_of_b(row), chunk, b);
          complete_b([&](auto) { return row; },
                     [&](std::int64_t j) { return layout_.b.global_col(chunk.first + j); }, b);
          for (std::size_t j = 0; j < b.size(); ++j) squares[j] += square(b[j]);
          if (factor == nullptr) continue;
          auto const at = static_cast<std::size_t>(row - depth.first);
          for (std::size_t v = 0; v < kVectors; ++v) {
            factor->y[v][at] +=
                add_up(b.size(), [&](std::size_t j) { return b[j] * x_[v][col_at(chunk, j)]; });
          }
          factor->spread[at] += add_up(b.size(), [&](std::size_t j) { return square(b[j] * 127); });
        }
        if (!adds_squares) return;
        std::scoped_lock const lock{mutex};
        for (std::size_t j = 0; j < squares.size(); ++j) {
          col_squares_[col_at(chunk, j)] += squares[j];
        }
      });
    });
  }

  void add_a(core::Range const& tile, Factor const& factor, RowSums& sums) const {
    core::Range const cols = local_part(layout_.a.cols, layout_.a.col_part, factor.tile);
    core::Range const rows = local_part(layout_.a.rows, layout_.a.row_part, tile);
    std::array<std::vector<double>, kVectors> y;
    for (std::size_t v = 0; v < kVectors; ++v) y[v].assign(factor.y[v].begin(), factor.y[v].end());
    on_threads(world_, rows.count, [&](core::Range const& mine) {
      std::vector<double> a;
      for (std::int64_t i = rows.first + mine.first; i < rows.first + mine.first + mine.count;
           ++i) {
        std::int64_t const row = layout_.a.global_row(i);
        auto const at = static_cast<std::size_t>(row - tile.first);
        for_parts(cols, tiles_.chunk, [&](core::Range const& chunk) {
          read_row(p_.a, p_.type, layout_.a, row, chunk, a);
          apply(
              factors_of_a(), [&](auto) { return row; },
              [&](std::int64_t l) { return layout_.a.global_col(chunk.first + l); }, a);
          auto const col = [&](std::size_t l) {
            return static_cast<std::size_t>(
                layout_.a.global_col(chunk.first + static_cast<std::int64_t>(l)) -
                factor.tile.first);
          };
          for (std::size_t v = 0; v < kVectors; ++v) {
            sums.residual[v][at] -=
                alpha_ * add_up(a.size(), [&](std::size_t l) { return a[l] * y[v][col(l)]; });
          }
          sums.squares[at] += add_up(a.size(), [&](std::size_t l) { return square(a[l]); });
          sums.spread[at] +=
              add_up(a.size(), [&](std::size_t l) { return square(a[l]) * factor.spread[col(l)]; });
        });
      }
    });
  }

  void add_c(core::Range const& tile, RowSums& sums) const {
    core::Range const cols = local_part(layout_.c.cols, layout_.c.col_part, cols_);
    core::Range const rows = local_part(layout_.c.rows, layout_.c.row_part, tile);
    device::MatrixView const part = view_.block(rows.first, cols.first, rows.count, cols.count);
    for_host_tiles(
        part, world_,
        [&](device::MatrixView const& host, std::int64_t first_row, std::int64_t first_col) {
          on_threads(world_, host.rows, [&](core::Range const& mine) {
            for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
              std::int64_t const row = layout_.c.global_row(rows.first + first_row + i);
              for_parts({0, host.cols}, tiles_.chunk, [&](core::Range const& chunk) {
                add_c(host.block(i, chunk.first, 1, chunk.count), row,
                      {cols.first + first_col + chunk.first, chunk.count},
                      static_cast<std::size_t>(row - tile.first), sums);
              });
            }
          });
        });
  }

  /// Adds a part of one row.
  void add_c(device::MatrixView const& host, std::int64_t row, core::Range const& chunk,
             std::size_t at, RowSums& sums) const {
    std::vector<double> c, c0 = zeros(chunk.count);
    c.reserve(c0.size());
    core::visit_type(host.type, [&](auto zero) {
      auto const* const values = static_cast<decltype(zero) const*>(host.data);
      for (std::int64_t j = 0; j < host.cols; ++j)
        c.push_back(static_cast<double>(values[j]) / unit_);
    });
    if (beta_ != 0) {
      read_row(p_.c0, p_.out, layout_.c, row, chunk, c0);
      for (double& value : c0) value *= beta_;
    }
    double const a_norm = std::abs(alpha_) * std::sqrt(sums.squares[at]);
    auto const bound = [&](std::size_t j) {
      double const ab_norm = a_norm * std::sqrt(col_squares_[col_at(chunk, j)]);
      // Not what the result claims, which may be anything, beyond what it can be.
      double const size = std::min(std::abs(c[j] - c0[j]), ab_norm);
      return square(error_(ab_norm, size, c0[j]) + least_) +
             square(2 * kEpsilon) * (square(size) + square(c0[j]));
    };
    for (std::size_t v = 0; v < kVectors; ++v) {
      auto const x = [&](std::size_t j) { return x_[v][col_at(chunk, j)]; };
      sums.residual[v][at] += add_up(c.size(), [&](std::size_t j) { return c[j] * x(j); });
      sums.residual[v][at] -= add_up(c.size(), [&](std::size_t j) { return c0[j] * x(j); });
      if (exact_) continue;
      sums.bound[v][at] += add_up(c.size(), [&](std::size_t j) { return bound(j) * square(x(j)); });
      if (p_.a.kind != core::DataKind::constant) continue;
      sums.alike[v][at] +=
          add_up(c.size(), [&](std::size_t j) { return std::sqrt(bound(j)) * x(j); });
    }
  }

  void judge(core::Range const& tile, RowSums const& sums) {
    core::Range const rows = local_part(layout_.c.rows, layout_.c.row_part, tile);
    for (std::int64_t i = rows.first; i < rows.first + rows.count; ++i) {
      std::int64_t const row = layout_.c.global_row(i);
      auto const at = static_cast<std::size_t>(row - tile.first);
      for (std::size_t v = 0; v < kVectors; ++v) {
        auto residual = static_cast<double>(sums.residual[v][at]);
        if (holds_wrapped_) residual = std::remainder(residual, 0x1p32);
        double const own = 2 * kEpsilon * std::abs(alpha_) * std::sqrt(sums.spread[at]);
        double const bound =
            exact_ ? 0 : error_.of_sum(sums.bound[v][at]) + std::abs(sums.alike[v][at]) + own;
        double const scaled = scale(std::abs(residual), bound);
        if (scaled <= finding_.allowed) {
          finding_.error = std::max(finding_.error, scaled);
          continue;
        }
        // Beyond the largest number of its type a right element is infinite: then only the elements
        // tell.
        if (std::isfinite(residual)) {
          unnamed_ = fmt::format("row {} of C: expected a residual of at most {:.3g}, got {:.3g}",
                                 row, bound * unit_, std::abs(residual) * unit_);
        }
        if (named_ < kRowsNamed) {
          // Its first wrong element; all of a long row would take seconds each.
          ++named_;
          std::int64_t const before = finding_.wrong;
          for (std::int64_t j = 0; j < view_.cols && finding_.wrong == before;) {
            std::vector<Place> places;
            for (; j < view_.cols && places.size() < kSamples; ++j) {
              if (!sampled_.contains(i * view_.cols + j)) places.push_back({i, j});
            }
            judge(places, true);
          }
        }
        break;
      }
    }
  }

  /// Place in the tile of columns of element j of a chunk of local columns, of B and C alike.
  std::size_t col_at(core::Range const& chunk, std::size_t j) const {
    return static_cast<std::size_t>(
        layout_.c.global_col(chunk.first + static_cast<std::int64_t>(j)) - cols_.first);
  }

  Product const& p_;
  ProductLayout const& layout_;
  device::MatrixView view_;
  comm::World const& world_;
  CheckTiles tiles_;
  bool exact_, holds_wrapped_;
  double unit_;          // of scalars and of C; powers of two round nothing
  double alpha_, beta_;  // in units
  kernels::gemm::ErrorBound error_;
  double least_;  // what it says of 1 unit, of others
  Limits limits_;
  core::Range cols_;  // the tile of columns; of it:
  std::array<std::vector<double>, kVectors> x_;
  std::vector<double> col_squares_;  // of B: |b_j|^2
  std::set<std::int64_t> sampled_;   // elements, which count once
  double values_ = 0, bounds_ = 0;   // sums of squares of sampled elements
  int named_ = 0;                    // wrong rows that were looked into
  std::string unnamed_;              // the last wrong row
  Finding finding_;
};

}  // namespace

double freivalds_entry(std::uint64_t seed, int vector, std::int64_t j) {
  // Not two alike by chance, as signs would be, and none so small that an error hides behind it.
  std::uint64_t const hash = core::element_hash(core::row_key(seed, kVectorTag, vector), j);
  auto const magnitude = static_cast<double>(64 + (hash >> 1) % 64);
  return (hash & 1) != 0 ? magnitude : -magnitude;
}

measure::Verdict check_product(Product const& product, ProductLayout const& layout,
                               device::MatrixView const& c, comm::World const& world,
                               core::Check check, CheckTiles const& tiles) {
  Checker checker{product, layout, c, world, tiles};
  checker.sample();
  if (check == core::Check::full) checker.judge_rows();
  return checker.verdict();
}

core::Option sms_option(core::options::Place<std::int64_t> place) {
  return core::options::count("sms", std::move(place),
                              "of a GPU: multiprocessors that persistent variants may take, 2 or "
                              "more, the rest is left to other work; 0: all",
                              {.least = 0, .most = 1024});
}

std::string sms_conflict(std::int64_t sms) {
  if (sms != 1) return {};
  return "sms = 1: some variants take two multiprocessors together; take 2 or more, or 0 for all";
}

std::int64_t ctas_beside_products(std::int64_t asked, std::int64_t sms,
                                  device::Facts const& device) {
  if (asked > 0 || sms == 0) return asked;
  return std::max<std::int64_t>(0, device.multiprocessors - sms);
}

std::string sms_unsupported(kernels::Variant<kernels::gemm::Problem> const& row, std::int64_t sms,
                            device::Facts const& device) {
  if (sms == 0) return {};
  if (!row.specifics.notes.bounds_multiprocessors) {
    return "takes as many multiprocessors as it gets; leave sms out, or take a persistent variant";
  }
  if (sms <= device.multiprocessors) return {};
  return fmt::format("sms = {}, of a device with {} multiprocessors", sms, device.multiprocessors);
}

}  // namespace quadrille::workloads
