// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// What the checks of results say of results that are known: right ones, and wrong ones at every place
// where tiles, rows and ranks end. At any number of ranks.
#include "measure/selection.hpp"
#include "support/mpi_world.hpp"
#include "workloads/checks/product.hpp"
#include "workloads/registry.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace quadrille::workloads {
namespace {

using core::Check, core::DataKind, core::DataType;

constexpr std::int64_t kRows = 23, kCols = 31, kDepth = 200;
// Each cut several times, and none into equal parts.
constexpr CheckTiles kSmallTiles{.rows = 7, .depth = 50, .cols = 12, .chunk = 5};

/// C = 2 A B - 3 C0, its rows spread over the ranks, in host memory.
class Case {
 public:
  explicit Case(DataType type = DataType::f32, DataKind kind = DataKind::uniform,
                std::int64_t k = kDepth, std::int64_t m = kRows)
      : Case{type, type, kind, k, m} {}
  Case(DataType type, DataType out, DataKind kind = DataKind::uniform, std::int64_t k = kDepth,
       std::int64_t m = kRows)
      : product_{.m = m,
                 .n = kCols,
                 .k = k,
                 .type = type,
                 .out = out,
                 .compute = core::compute_for(type),
                 .alpha = 2,
                 .beta = -3,
                 .a = {kind, 7, 0},
                 .b = {kind, 7, 1},
                 .c0 = {kind, 7, 2}},
        layout_{rows_over_ranks(m, k), rows_over_ranks(k, kCols), rows_over_ranks(m, kCols), true} {
    for (std::int64_t i = 0; i < rows(); ++i) {
      for (std::int64_t j = 0; j < kCols; ++j) c_.push_back(right(layout_.c.global_row(i), j));
    }
  }

  std::int64_t rows() const { return layout_.c.local_rows(); }
  /// Of this rank, or nullptr where another has it.
  double* at(std::int64_t row, std::int64_t col) {
    if (layout_.c.rows.owner(row) != layout_.c.row_part) return nullptr;
    return &c_[static_cast<std::size_t>(layout_.c.rows.local(row) * kCols + col)];
  }
  void set(std::int64_t row, std::int64_t col, double value) {
    if (double* const element = at(row, col)) *element = value;
  }
  void scale(std::int64_t row, std::int64_t col, double factor) {
    if (double* const element = at(row, col)) *element *= factor;
  }
  void swap_columns(std::int64_t first, std::int64_t second) {
    for (std::int64_t i = 0; i < rows(); ++i) {
      std::swap(c_[static_cast<std::size_t>(i * kCols + first)],
                c_[static_cast<std::size_t>(i * kCols + second)]);
    }
  }
  void fill_with(double value) { c_.assign(c_.size(), value); }

  /// Of what C holds now, stored in its type; the same however far the check goes at a time.
  measure::Verdict verdict(Check check = Check::full) const {
    measure::Verdict const at_once = verdict(check, {});
    measure::Verdict const in_tiles = verdict(check, kSmallTiles);
    EXPECT_EQ(in_tiles.valid, at_once.valid);
    EXPECT_EQ(in_tiles.wrong, at_once.wrong);
    EXPECT_EQ(in_tiles.allowed, at_once.allowed);
    EXPECT_EQ(in_tiles.skipped, at_once.skipped);
    if (std::isfinite(at_once.error)) {
      // Of f64 it is the rounding of the check itself.
      EXPECT_NEAR(in_tiles.error, at_once.error, 0.1 + 1e-9 * at_once.error);
    }
    return in_tiles;
  }
  measure::Verdict verdict(Check check, CheckTiles const& tiles) const {
    comm::World& world = test::world();
    device::Matrix const c{world.device(), product_.out, rows(), kCols, world.stream()};
    core::visit_type(product_.out, [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> stored;
      for (double const value : c_) stored.push_back(static_cast<T>(value));
      world.stream().copy(c.view().data, stored.data(), stored.size() * sizeof(T));
      world.stream().synchronize();
    });
    return check_product(product_, layout_, c.view(), world, check, tiles);
  }

 private:
  static Layout rows_over_ranks(std::int64_t rows, std::int64_t cols) {
    comm::World const& world = test::world();
    return {comm::Distribution{rows, 0, world.size()}, comm::Distribution{cols, 0, 1}, world.rank(),
            0};
  }
  double right(std::int64_t i, std::int64_t j) const {
    auto const value = [](Source const& source, DataType type, std::int64_t row, std::int64_t col) {
      return core::visit_type(type, [&](auto zero) {
        return static_cast<double>(source.at<decltype(zero)>(row, col));
      });
    };
    long double sum = 0;
    for (std::int64_t l = 0; l < product_.k; ++l) {
      sum += static_cast<long double>(value(product_.a, product_.type, i, l)) *
             value(product_.b, product_.type, l, j);
    }
    return 2 * static_cast<double>(sum) - 3 * value(product_.c0, product_.out, i, j);
  }

  Product product_;
  ProductLayout layout_;
  std::vector<double> c_;
};

TEST(ProductCheck, PassesWhatIsRight) {
  for (DataType const type : {DataType::f64, DataType::f32, DataType::f16, DataType::i32}) {
    for (DataKind const kind : {DataKind::uniform, DataKind::positive, DataKind::integer}) {
      measure::Verdict const verdict = Case{type, kind}.verdict();
      EXPECT_TRUE(verdict.valid) << core::to_text(type) << " " << verdict.detail;
      EXPECT_EQ(verdict.skipped, "");
      EXPECT_LE(verdict.error, 0.5);
      EXPECT_EQ(verdict.wrong, 0);
    }
  }
}

/// Roundings of a row that are by chance all in the direction of a vector.
TEST(ProductCheck, PassesMillionsOfRowsThatAreRight) {
  constexpr std::int64_t kMany = 1 << 19;
  Case const rounded{DataType::f16, DataKind::uniform, 2, kMany};

  measure::Verdict const verdict = rounded.verdict(Check::full, {});

  EXPECT_TRUE(verdict.valid) << verdict.detail;
  EXPECT_LE(verdict.error, 0.5);
}

TEST(ProductCheck, KnowsWhatCIsStoredAs) {
  for (DataType const type : {DataType::f16, DataType::bf16}) {
    for (DataKind const kind : {DataKind::uniform, DataKind::positive, DataKind::integer}) {
      measure::Verdict const verdict = Case{type, DataType::f32, kind}.verdict();
      EXPECT_TRUE(verdict.valid) << core::to_text(type) << " " << verdict.detail;
      EXPECT_LE(verdict.error, 0.5);
    }
    Case rounded{type, DataType::f32};
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kCols; ++j) {
        if (double* const element = rounded.at(i, j)) *element = core::rounded_to(type, *element);
      }
    }
    EXPECT_FALSE(rounded.verdict().valid) << core::to_text(type);
    EXPECT_FALSE(rounded.verdict(Check::sample).valid) << core::to_text(type);
  }
}

TEST(ProductCheck, FindsOneWrongElementAnywhereAndNamesIt) {
  for (std::int64_t const row : {std::int64_t{0}, kRows / 2, kRows - 2, kRows - 1}) {
    for (std::int64_t const col : {std::int64_t{0}, kCols / 2, kCols - 2, kCols - 1}) {
      Case damaged;
      damaged.scale(row, col, 1.01);

      measure::Verdict const verdict = damaged.verdict();

      EXPECT_FALSE(verdict.valid);
      EXPECT_GT(verdict.error, 1);
      EXPECT_EQ(verdict.wrong, 1) << "an element that samples and rows both find counts once";
      EXPECT_NE(verdict.detail.find(fmt::format("C({}, {})", row, col)), std::string::npos)
          << verdict.detail;
    }
  }
}

TEST(ProductCheck, SamplesReachEveryRankAndItsCorners) {
  for (std::int64_t const row : {std::int64_t{0}, kRows - 1}) {
    for (std::int64_t const col : {std::int64_t{0}, kCols - 1}) {
      Case damaged;
      damaged.scale(row, col, 1.01);
      EXPECT_FALSE(damaged.verdict(Check::sample).valid) << row << " " << col;
    }
  }
  Case zero;
  zero.fill_with(0);
  measure::Verdict const verdict = zero.verdict(Check::sample);
  EXPECT_FALSE(verdict.valid);
  EXPECT_GT(verdict.wrong, 32 * test::world().size()) << "most samples see it";
}

TEST(ProductCheck, FindsSwappedColumns) {
  for (DataKind const kind : {DataKind::uniform, DataKind::integer}) {
    for (std::int64_t col = 0; col + 1 < kCols; ++col) {
      Case damaged{DataType::f64, kind};
      damaged.swap_columns(col, col + 1);
      EXPECT_FALSE(damaged.verdict().valid) << col;
    }
  }
}

TEST(ProductCheck, FindsWithEachVectorWhatTheOtherCannotSee) {
  for (int const vector : {0, 1}) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      Case damaged{DataType::f64, DataKind::integer};
      std::int64_t const col = row % (kCols - 1);
      if (double* const element = damaged.at(row, col)) {
        element[0] += freivalds_entry(7, vector, col + 1);
        element[1] -= freivalds_entry(7, vector, col);
      }
      EXPECT_FALSE(damaged.verdict().valid) << "vector " << vector << ", row " << row;
    }
  }
}

TEST(ProductCheck, FindsWhatIsNoNumber) {
  for (double const value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Case damaged;
    damaged.set(kRows - 1, 5, value);
    measure::Verdict const verdict = damaged.verdict();
    EXPECT_FALSE(verdict.valid);
    EXPECT_NE(verdict.detail.find(fmt::format("C({}, 5)", kRows - 1)), std::string::npos)
        << verdict.detail;
  }
}

TEST(ProductCheck, HasNoToleranceForWholeNumbers) {
  for (DataType const type : {DataType::f64, DataType::f32, DataType::i32}) {
    Case damaged{type, DataKind::integer};
    if (double* const element = damaged.at(3, 4)) *element += 1;
    measure::Verdict const verdict = damaged.verdict();
    EXPECT_FALSE(verdict.valid);
    EXPECT_EQ(verdict.allowed, 0);
  }
}

// Sums of f16 that are larger than f16 can tell apart: rounding is right, and whole numbers no longer
// exact.
TEST(ProductCheck, RoundsWholeNumbersThatTheTypeCannotHold) {
  measure::Verdict const verdict = Case{DataType::f16, DataKind::constant, 3000}.verdict();
  EXPECT_TRUE(verdict.valid) << verdict.detail;
}

TEST(ProductCheck, SaysWhereItCannotTellRightFromZero) {
  // A bound of f16 sums grows with sqrt(k) beyond the values: see kernels::gemm::ErrorBound.
  Product product{.m = 4,
                  .n = 4,
                  .k = 1 << 18,
                  .type = DataType::f16,
                  .compute = core::Compute::f16,
                  .a = {DataKind::uniform, 1, 0},
                  .b = {DataKind::uniform, 1, 1},
                  .c0 = {}};
  ProductLayout const layout{whole(4, product.k), whole(product.k, 4), whole(4, 4), false};
  comm::World& world = test::world();
  device::Matrix const c{world.device(), DataType::f16, 4, 4, world.stream()};
  world.stream().fill(c.view().data, 0, c.bytes());
  world.stream().synchronize();

  measure::Verdict const verdict = check_product(product, layout, c.view(), world, Check::sample);

  EXPECT_NE(verdict.skipped.find("not below the result"), std::string::npos) << verdict.skipped;
}

TEST(ProductCheck, TellsOneSmallElementFromZero) {
  Product const product{.m = 1,
                        .n = 1,
                        .k = 1,
                        .type = DataType::f64,
                        .a = {DataKind::uniform, 1, 0},
                        .b = {DataKind::uniform, 1, 1},
                        .c0 = {}};
  ProductLayout const layout{whole(1, 1), whole(1, 1), whole(1, 1), false};
  comm::World& world = test::world();
  device::Matrix const c{world.device(), DataType::f64, 1, 1, world.stream()};
  double const right = product.a.at<double>(0, 0) * product.b.at<double>(0, 0);
  ASSERT_LT(std::abs(right), 1);
  for (double const value : {right, std::nextafter(right, 9.0), 0.0}) {
    world.stream().copy(c.view().data, &value, sizeof value);
    world.stream().synchronize();
    measure::Verdict const verdict = check_product(product, layout, c.view(), world, Check::sample);
    EXPECT_EQ(verdict.skipped, "");
    EXPECT_EQ(verdict.valid, value != 0) << value << ": " << verdict.detail;
  }
}

/// A block of this rank in device memory that equals its source.
class Block {
 public:
  Block(std::int64_t rows, std::int64_t cols)
      : matrix_{test::world().device(), DataType::f32, rows, cols, test::world().stream()} {
    fill(matrix_.view(), region_, source_, test::world());
  }
  void damage(std::int64_t row, std::int64_t col) {
    float const wrong = 77;
    test::world().stream().copy(matrix_.view().at(row, col), &wrong, sizeof(wrong));
    test::world().stream().synchronize();
  }
  Finding compared(std::int64_t stride = 1) const {
    return compare("X", matrix_.view(), region_, source_, test::world(), stride);
  }

 private:
  Source source_{DataKind::uniform, 3, 1};
  Region region_{};
  device::Matrix matrix_;
};

TEST(Compare, FindsEveryElement) {
  EXPECT_EQ((Block{5, 7}.compared().wrong), 0);
  for (std::int64_t row = 0; row < 5; ++row) {
    for (std::int64_t col = 0; col < 7; ++col) {
      Block block{5, 7};
      block.damage(row, col);
      Finding const finding = block.compared();
      EXPECT_EQ(finding.wrong, 1) << row << " " << col;
      EXPECT_EQ(finding.error, 1);
      EXPECT_TRUE(finding.first_wrong.starts_with(fmt::format("X({}, {}) on rank", row, col)))
          << finding.first_wrong;
    }
  }
}

TEST(Compare, SamplesEveryRow) {
  for (std::int64_t row = 0; row < 200; ++row) {
    Block block{200, 97};
    block.damage(row, row % 97);
    EXPECT_EQ(block.compared(97).wrong, 1) << row;
  }
}

// As the host sees what only a GPU reaches.
TEST(CopiedTiles, ShowEveryElementOnceInItsPlace) {
  comm::World& world = test::world();
  std::vector<std::int32_t> memory(5 * 9);
  std::iota(memory.begin(), memory.end(), 0);
  device::MatrixView const view{memory.data() + 1, DataType::i32, 5, 7, 9};
  for (std::int64_t const bytes : {1, 4, 12, 28, 60, 1000}) {
    std::vector<int> seen(memory.size());
    for_copied_tiles(view, world.stream(), bytes,
                     [&](device::MatrixView const& tile, std::int64_t row, std::int64_t col) {
                       EXPECT_LE(tile.rows * tile.cols * 4, std::max<std::int64_t>(4, bytes));
                       for (std::int64_t i = 0; i < tile.rows; ++i) {
                         for (std::int64_t j = 0; j < tile.cols; ++j) {
                           auto const value = *static_cast<std::int32_t*>(tile.at(i, j));
                           EXPECT_EQ(value, (row + i) * 9 + col + j + 1);
                           ++seen[static_cast<std::size_t>(value)];
                         }
                       }
                     });
    for (std::int64_t at = 0; at < 45; ++at) {
      bool const is_inside = at % 9 >= 1 && at % 9 <= 7;
      EXPECT_EQ(seen[static_cast<std::size_t>(at)], is_inside ? 1 : 0) << bytes << " " << at;
    }
  }
}

TEST(JudgeAll, SeesEveryIndexOnceInOrder) {
  for (std::int64_t const n : {0, 1, 2, 7, 100}) {
    for (std::int64_t const stride : {1, 3, 97}) {
      std::vector<int> seen(static_cast<std::size_t>(n));
      Finding const finding =
          judge_all(test::world(), n, stride, [&](Finding& found, std::int64_t i) {
            ++seen[static_cast<std::size_t>(i)];
            found.check(static_cast<double>(i), 0, [&] { return fmt::format("{}", i); });
          });
      for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(seen[static_cast<std::size_t>(i)], i % stride == 0 ? 1 : 0) << n << " " << i;
      }
      std::int64_t const judged = (n + stride - 1) / stride;
      EXPECT_EQ(finding.wrong, std::max<std::int64_t>(judged - 1, 0)) << "0 is right";
      EXPECT_EQ(finding.first_wrong, judged > 1 ? fmt::format("{}", stride) : "");
    }
  }
}

TEST(Finding, TakesNanForWrong) {
  Finding finding;
  finding.check(std::nan(""), 1, [] { return "first"; });
  finding.check(0.5, 1, [] { return "right"; });
  finding.check(2, 1, [] { return "second"; });
  EXPECT_TRUE(std::isnan(finding.error));
  EXPECT_EQ(finding.wrong, 2);
  EXPECT_EQ(finding.first_wrong, "first");
}

/// What fresh outputs hold differs from what a wrong computation gives.
TEST(Shown, TellsWhatWasNotWrittenFromWhatIsWrong) {
  double const quiet = std::numeric_limits<double>::quiet_NaN();
  for (DataType const type : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16}) {
    core::visit_type(type, [&](auto zero) {
      std::array<unsigned char, sizeof(zero)> bytes;
      bytes.fill(0xFF);
      EXPECT_EQ(shown(static_cast<double>(std::bit_cast<decltype(zero)>(bytes))),
                "nothing: it was not written")
          << core::to_text(type);
    });
    EXPECT_EQ(shown(core::rounded_to(type, quiet)), "nan");
    EXPECT_EQ(shown(core::rounded_to(type, -quiet)), "-nan");
    EXPECT_EQ(shown(core::rounded_to(type, -INFINITY)), "-inf");
  }
  EXPECT_EQ(shown(1.0 / 3), "0.333333333");
  EXPECT_EQ(shown(1.0 / 3, 17), "0.33333333333333331");
  EXPECT_EQ(shown(0.1, 0), "0.1");
}

TEST(ProductCheck, SaysWhatWasNotWritten) {
  Case damaged;
  double unwritten = 0;
  std::memset(&unwritten, 0xFF, sizeof(unwritten));
  damaged.set(kRows - 1, 5, unwritten);
  measure::Verdict const verdict = damaged.verdict();
  EXPECT_FALSE(verdict.valid);
  EXPECT_NE(verdict.detail.find("got nothing: it was not written"), std::string::npos)
      << verdict.detail;
}

TEST(Agree, SaysWhatTheLowestRankFound) {
  comm::World const& world = test::world();
  Finding finding;
  finding.allowed = 1;
  finding.check(world.rank() == 0 ? 0.5 : 2.0 + world.rank(), 1,
                [&] { return fmt::format("rank {}", world.rank()); });

  measure::Verdict const verdict = agree(world, finding);

  EXPECT_EQ(verdict.valid, world.size() == 1);
  EXPECT_EQ(verdict.error, world.size() == 1 ? 0.5 : 1.0 + world.size());
  EXPECT_EQ(verdict.wrong, world.size() - 1);
  EXPECT_EQ(verdict.allowed, 1);
  EXPECT_EQ(verdict.detail.starts_with("rank 1"), world.size() > 1) << verdict.detail;
}

/// A case that has run once, with the first variant that it selects.
struct Executed {
  Executed(std::string_view name, std::string_view keys)
      : config{*core::resolve(fmt::format("[[case]]\nworkload = \"{}\"\n{}", name, keys), "test",
                              {}, name_table())} {
    comm::World& world = test::world();
    core::Case const& spec = config.cases.front();
    measure::WorkloadEntry const& entry = entry_of(*spec.workload);
    workload = entry.make(spec, world.size(), world.rank());
    measure::Selection const selected =
        measure::running(measure::select_case(world, spec, entry).variants);
    workload->prepare(world, 1, selected);
    workload->reset(world, *selected.front());
    workload->run(world, measure::Leg::overlapped, *selected.front());
    world.stream().synchronize();
  }
  bool is_valid() const { return workload->validate(test::world()).valid; }

  core::Config config;
  std::unique_ptr<measure::Workload> workload;
};

TEST(ReductionCheck, HasNoToleranceForWholeNumbers) {
  Executed const sum{"reduction", "size = 1007\ndata = \"integer\"\n"};
  EXPECT_TRUE(sum.is_valid());

  std::vector<device::MatrixView> const outputs = measure::outputs_of(*sum.workload);
  ASSERT_FALSE(outputs.empty());
  for (device::MatrixView const& output : outputs) {
    for (std::int64_t i = 0; i < output.cols; ++i) {
      double& value = static_cast<double*>(output.data)[i];
      value += 1;
      EXPECT_FALSE(sum.is_valid()) << i;
      value -= 1;
    }
  }
}

TEST(ConvolutionCheck, HasNoToleranceForWholeNumbersThatFit) {
  auto const allowed = [](std::string_view keys) {
    Executed const images{"conv2d", keys};
    measure::Verdict const right = images.workload->validate(test::world());
    EXPECT_TRUE(right.valid) << keys << right.detail;
    return right.allowed;
  };
  EXPECT_EQ(allowed("type = \"f32\"\nsize = \"(1,3,6,6,2,3,3)\"\n"), 1);
  EXPECT_EQ(allowed("type = \"f16\"\ndata = \"zeros\"\nsize = \"(1,300,6,6,2,3,3)\"\n"), 0);
  // 27 terms of up to 16 have exact sums in 11 bits; of 144, or in 8 bits, perhaps not.
  EXPECT_EQ(allowed("type = \"f16\"\ndata = \"integer\"\nsize = \"(1,3,6,6,2,3,3)\"\n"), 0);
  EXPECT_EQ(allowed("type = \"f16\"\ndata = \"integer\"\nsize = \"(1,16,6,6,2,3,3)\"\n"), 1);
  EXPECT_EQ(allowed("type = \"bf16\"\ndata = \"integer\"\nsize = \"(1,3,6,6,2,3,3)\"\n"), 1);

  Executed const images{"conv2d",
                        "type = \"f32\"\ndata = \"integer\"\nsize = \"(1,3,6,6,2,3,3)\"\n"};
  float& element = static_cast<float*>(measure::outputs_of(*images.workload).at(0).data)[5];
  element = std::nextafter(element, 1000.0F);
  EXPECT_FALSE(images.is_valid());
}

TEST(ConvolutionCheck, FindsWithEachVectorWhatTheOtherCannotSee) {
  Executed const images{"conv2d",
                        "type = \"f32\"\ndata = \"integer\"\nsize = \"(2,3,6,6,7,3,3)\"\n"};
  EXPECT_TRUE(images.is_valid());
  device::MatrixView const y = measure::outputs_of(*images.workload).at(0);
  std::int64_t const positions = y.cols / 7;
  for (int const vector : {0, 1}) {
    for (std::int64_t k = 0; k + 1 < 7; ++k) {
      float* const element = static_cast<float*>(y.data) + y.ld + k * positions + 5;
      auto const move = [&](double by) {
        element[0] += static_cast<float>(by * freivalds_entry(1, vector, k + 1));
        element[positions] -= static_cast<float>(by * freivalds_entry(1, vector, k));
      };
      move(1);
      EXPECT_FALSE(images.is_valid()) << "vector " << vector << ", filter " << k;
      move(-1);
    }
  }
}

TEST(ReductionCheck, LetsALibraryTakeARoot) {
  // The square of the root of 75 is 75.000000000000014.
  Executed const norm{
      "reduction",
      fmt::format("size = {}\ndata = \"constant\"\noperation = \"norm2\"\nvariant = \"vendor\"\n",
                  75 * test::world().size())};
  EXPECT_TRUE(norm.is_valid());
}

TEST(Separation, IsOfValueAndBound) {
  auto const said = [](double value, double bound, bool valid = true) {
    measure::Verdict verdict{.valid = valid};
    require_separation(verdict, value, bound, "advice");
    return verdict.skipped;
  };
  EXPECT_EQ(said(-3, 1), "");
  EXPECT_EQ(said(0, 0), "") << "a bound of 0 tells everything apart";
  EXPECT_NE(said(1, 1).find("advice"), std::string::npos);
  EXPECT_NE(said(-1, 2).find("advice"), std::string::npos);
  EXPECT_EQ(said(-1, 2, false), "") << "what failed has failed";
}

/// What the check says of an allreduce whose result is changed on one rank at one place.
measure::Verdict of_changed_sum(std::int64_t at, int on_rank, Check check) {
  comm::World& world = test::world();
  auto const config = core::resolve(
      "[[case]]\nworkload = \"allreduce\"\ntype = \"f64\"\nsize = 1000\ntransport = \"mpi\"\n",
      "test", {}, name_table());
  core::Case spec = config->cases.at(0);
  spec.check = check;
  measure::WorkloadEntry const& entry = entry_of(*spec.workload);
  auto const workload = entry.make(spec, world.size(), world.rank());
  kernels::VariantInfo const* const variant = entry.variants.front();
  workload->prepare(world, 1, {variant});
  workload->reset(world, *variant);
  workload->run(world, measure::Leg::overlapped, *variant);
  double const wrong = 1e3;
  if (world.rank() == on_rank) {
    void* const element = measure::outputs_of(*workload)[0].at(0, at);
    world.stream().copy(element, &wrong, sizeof(wrong));
  }
  world.stream().synchronize();
  return workload->validate(world);
}

TEST(Allreduce, AWrongElementOnAnyRankIsNamedWhoeverJudgesIt) {
  int const ranks = test::world().size();
  EXPECT_TRUE(of_changed_sum(0, -1, Check::full).valid);
  for (Check const check : {Check::full, Check::sample}) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::int64_t const at : {1, 499, 998}) {  // of the first, middle and last slice
        measure::Verdict const verdict = of_changed_sum(at, rank, check);
        bool const is_sampled = check == Check::sample && (ranks == 1 || at * ranks / 1000 == rank);
        if (is_sampled) continue;
        EXPECT_FALSE(verdict.valid);
        EXPECT_EQ(verdict.wrong, 1);
        EXPECT_TRUE(
            verdict.detail.starts_with(fmt::format("out({}) on rank {}: expected ", at, rank)))
            << verdict.detail;
      }
    }
  }
}

}  // namespace
}  // namespace quadrille::workloads
