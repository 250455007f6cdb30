// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"

#include "gemm/gemm_moduli.hpp"
#include "gemm/gemm_parts.hpp"
#include "kernels/gemm_data.hpp"
#include "kernels/gemm_groups.hpp"
#include "kernels/gemm_weights.hpp"
#include "kernels/host_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <bit>
#include <tuple>

namespace quadrille::kernels::gemm {
namespace {

using core::DataType;

/// Around the register tiles (4 x 12 to 8 x 48), around a slice of depth and a block of rows.
std::vector<Case> const kShapes{
    {0, 5, 3},   {5, 0, 3},    {3, 5, 0},     {1, 1, 1},       {31, 33, 31}, {33, 31, 33},
    {4, 12, 64}, {5, 13, 65},  {8, 48, 256},  {9, 49, 257},    {1, 257, 19}, {257, 1, 19},
    {3, 700, 2}, {193, 97, 5}, {400, 51, 33}, {200, 210, 220}, {7000, 2, 3}};

class GemmTest : public testing::TestWithParam<std::string_view> {
 protected:
  Variant<Problem> const& variant() const { return test::row(variants(), GetParam()); }
  test::Host host_;
};

void expect_all(test::Host& host, Variant<Problem> const& variant, Types const& types,
                double fraction) {
  if (std::ranges::find(variant.types, types) == variant.types.end()) return;
  auto const expect = [&](Case spec, Layout layout, double alpha, double beta) {
    spec.alpha = alpha;
    spec.beta = beta;
    expect_product(variant, types, spec, layout, *host.device, host.stream, {}, kUnaligned);
  };
  // The host converts narrow elements one by one: the largest shapes are left out.
  std::int64_t const most = core::size_of(types.in) <= 2 ? 200'000 : kMaxInt;
  for (Case const& shape : kShapes) {
    if (shape.m * shape.n * shape.k > most) continue;
    for (Layout const layout : kLayouts) {
      expect(shape, layout, 1, 0);
      expect(shape, layout, -2 * fraction, 1);
    }
    expect(shape, Layout::nn, 1, -3 * fraction);
    expect(shape, Layout::nn, 0, 2);
  }
}

TEST_P(GemmTest, EqualsSumsF64) { expect_all(host_, variant(), DataType::f64, 0.75); }
TEST_P(GemmTest, EqualsSumsF32) { expect_all(host_, variant(), DataType::f32, 0.75); }
TEST_P(GemmTest, EqualsSumsEmulated) {
  for (DataType const type : {DataType::f64, DataType::f32}) {
    expect_all(host_, variant(), {type, core::Compute::emulated}, 0.75);
  }
}
TEST_P(GemmTest, EqualsSumsF16) { expect_all(host_, variant(), DataType::f16, 0.75); }
TEST_P(GemmTest, EqualsSumsBf16) { expect_all(host_, variant(), DataType::bf16, 0.75); }
TEST_P(GemmTest, EqualsSumsF16ToF32) {
  expect_all(host_, variant(), {DataType::f16, core::Compute::f32, DataType::f32}, 0.75);
}
TEST_P(GemmTest, EqualsSumsBf16ToF32) {
  expect_all(host_, variant(), {DataType::bf16, core::Compute::f32, DataType::f32}, 0.75);
}
TEST_P(GemmTest, EqualsSumsExactlyI32) { expect_all(host_, variant(), DataType::i32, 1); }
TEST_P(GemmTest, EqualsSumsExactlyI8) {
  expect_all(host_, variant(), {DataType::i8, core::Compute::i32, DataType::i32}, 1);
}

TEST_P(GemmTest, EqualsSumsOf8BitFloats) {
  for (DataType const in : {DataType::e4m3, DataType::e5m2}) {
    for (DataType const out : {DataType::f32, DataType::bf16}) {
      expect_all(host_, variant(), {in, core::Compute::f32, out}, 0.75);
    }
  }
}

/// Around tiles and slices of depth, groups that are not full.
TEST_P(GemmTest, EqualsProductsOfWeights) {
  if (!variant().specifics.notes.takes_weights) GTEST_SKIP() << "takes none";
  for (Case const& spec : {Case{1, 1, 2}, {5, 49, 258, -0.5, 2}, {9, 50, 390}, {3, 4, 0, 1, 1}}) {
    for (Weights const weights : {Weights::i8, Weights::i4}) {
      expect_weights<core::f16, core::f16>(variant(), weights, spec, *host_.device, host_.stream);
      expect_weights<core::bf16, float>(variant(), weights, spec, *host_.device, host_.stream);
    }
  }
}
TEST_P(GemmTest, EqualsProductsOfGroups) {
  if (!variant().specifics.notes.takes_groups) GTEST_SKIP() << "takes none";
  for (Layout const layout : kLayouts) {
    expect_groups<float>(variant(), {7, 7, 7}, {0, 50, 30, 2, -1}, layout, *host_.device,
                         host_.stream);
    expect_groups<double>(variant(), {1, 0, 60, 9}, {0, 13, 5}, layout, *host_.device, host_.stream,
                          {}, variant().specifics.notes.takes_pointers);
  }
}
TEST_P(GemmTest, RefusesOtherTypes) {
  device::MatrixView const x{nullptr, DataType::i8, 2, 2, 2};

  EXPECT_FAILS(variant().launch({x, x, x}, host_.stream), "has no type");
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmTest,
                         testing::Values("reference", "host_simd", "i8_residues", "kokkos",
                                         "vendor"),
                         test::RowName{});

/// [1 2 3; 4 5 6] times [7 8; 9 10; 11 12] is [58 64; 139 154].
TEST(GemmReference, MatchesHandComputedValuesInEveryLayout) {
  test::Host host;
  double const a[]{1, 2, 3, 4, 5, 6};
  double const a_transposed[]{1, 4, 2, 5, 3, 6};
  double const b[]{7, 8, 9, 10, 11, 12};
  double const b_transposed[]{7, 9, 11, 8, 10, 12};
  auto const matrix = [](double const* data, std::int64_t m, std::int64_t n) {
    return device::MatrixView{const_cast<double*>(data), DataType::f64, m, n, n};
  };
  for (bool const ta : {false, true}) {
    for (bool const tb : {false, true}) {
      double c[]{1, 10, 100, 1000};
      Problem const problem{ta ? matrix(a_transposed, 3, 2) : matrix(a, 2, 3),
                            tb ? matrix(b_transposed, 2, 3) : matrix(b, 3, 2),
                            matrix(c, 2, 2),
                            2,
                            -1,
                            ta,
                            tb};

      test::launch(variants(), "reference", problem, host.stream);
      host.stream.view().synchronize();

      EXPECT_EQ((std::vector<double>{c, c + 4}),
                (std::vector<double>{116 - 1, 128 - 10, 278 - 100, 308 - 1000}));
    }
  }
}

TEST(GemmReference, SumsIntegersExactlyAndFloatsInF64) {
  test::Host host;
  std::int32_t const big = (1 << 15) - 1;
  std::int32_t ai[]{big, 1}, bi[]{big, -1}, ci[]{7};
  float af[]{1, 1e8F, -1e8F}, bf[]{1, 1, 1}, cf[]{0};

  test::launch(
      variants(), "reference",
      {{ai, DataType::i32, 1, 2, 2}, {bi, DataType::i32, 2, 1, 1}, {ci, DataType::i32, 1, 1, 1}},
      host.stream);
  test::launch(
      variants(), "reference",
      {{af, DataType::f32, 1, 3, 3}, {bf, DataType::f32, 3, 1, 1}, {cf, DataType::f32, 1, 1, 1}},
      host.stream);
  host.stream.view().synchronize();

  EXPECT_EQ(ci[0], big * big - 1);
  EXPECT_EQ(cf[0], 1.0F);
}

/// 1 + 2^-11 is a number of f32 and none of f16.
TEST(GemmReference, Stores16BitProductsInF32) {
  test::Host host;
  core::f16 a[]{core::f16{1}, core::f16{0x1p-11}}, b[]{core::f16{1}, core::f16{1}};
  float c[]{2};
  Problem problem{
      {a, DataType::f16, 1, 2, 2}, {b, DataType::f16, 2, 1, 1}, {c, DataType::f32, 1, 1, 1}};
  problem.beta = 0.5;

  test::launch(variants(), "reference", problem, host.stream);
  host.stream.view().synchronize();

  EXPECT_EQ(c[0], 2 + 0x1p-11F);
}

TEST(Gemm, RefusesWhatDoesNotFitTogether) {
  double x[64]{};
  auto const f64 = [&](std::int64_t m, std::int64_t n, std::int64_t ld) {
    return device::MatrixView{x, DataType::f64, m, n, ld};
  };

  EXPECT_FAILS(require_consistent({f64(3, 4, 4), f64(4, 5, 5), f64(2, 5, 5)}), "differ in rows");
  EXPECT_FAILS(require_consistent({f64(3, 4, 4), f64(4, 5, 5), f64(3, 6, 6)}), "differ in columns");
  EXPECT_FAILS(require_consistent({f64(3, 4, 4), f64(5, 5, 5), f64(3, 5, 5)}),
               "differ from rows of op(B)");
  EXPECT_FAILS(require_consistent({f64(3, 4, 3), f64(4, 5, 5), f64(3, 5, 5)}), "dimension of A");
  EXPECT_FAILS(require_consistent({f64(3, 4, 4), f64(4, 5, 4), f64(3, 5, 5)}), "dimension of B");
  EXPECT_FAILS(require_consistent({f64(3, 4, 4), f64(4, 5, 5), f64(3, 5, 2)}), "dimension of C");
  EXPECT_FAILS(require_consistent({f64(-1, 4, 4), f64(4, 5, 5), f64(-1, 5, 5)}), "negative");
  Problem mixed{f64(2, 2, 2), f64(2, 2, 2), f64(2, 2, 2)};
  mixed.b.type = DataType::i64;
  EXPECT_FAILS(require_consistent(mixed), "differ in type");
  require_consistent({f64(4, 3, 3), f64(5, 4, 4), f64(3, 5, 5), 1, 0, true, true});
}

TEST(Gemm, VariantsRefuseTheirOwnConstraints) {
  test::Host host;
  std::int32_t x[4]{};
  device::MatrixView const whole{x, DataType::i32, 2, 2, 2};
  double y[1]{};
  device::MatrixView const wide{y, DataType::f64, 1, 1, std::int64_t{1} << 31};

  for (std::string_view const name : {"host_simd", "kokkos"}) {
    EXPECT_FAILS(test::launch(variants(), name, {whole, whole, whole, 0.5}, host.stream),
                 "whole alpha and beta");
    EXPECT_FAILS(test::launch(variants(), name, {whole, whole, whole, 1, 0.5}, host.stream),
                 "take another variant");
  }
  EXPECT_FAILS(test::launch(variants(), "vendor", {wide, wide, wide}, host.stream),
               "takes a leading dimension up to");

  std::int64_t const many = std::int64_t{1} << 36;
  device::MatrixView const column{y, DataType::f64, many, 1, 1}, one{y, DataType::f64, 1, 1, 1};
  EXPECT_FAILS(test::launch(variants(), "kokkos", {column, one, column}, host.stream), "tiles of");
}

// What such variables turn on is faster, and no product in the type of the elements.
TEST(Gemm, VendorOfGpusTakesNoEnvironmentThatRoundsInputs) {
  Variant<Problem> const& vendor = test::row(variants(), "vendor", device::Kind::cuda);
  device::MatrixView const x{nullptr, DataType::f32, 4, 4, 4};
  Problem const problem{x, x, x};
  for (char const* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                           "CUBLAS_EMULATE_DOUBLE_PRECISION"}) {
    setenv(name, "0", 1);
    EXPECT_EQ(vendor.unsupported_reason(problem), "");
    setenv(name, "1", 1);
    EXPECT_EQ(vendor.unsupported_reason(problem),
              std::string{"computes in full precision; unset "} + name);
    unsetenv(name);
  }
  EXPECT_EQ(vendor.unsupported_reason(problem), "");

  // TF32 is what this one asks for, and 16-bit types have nothing to lose.
  Problem in_tf32 = problem;
  in_tf32.compute = core::Compute::tf32;
  device::MatrixView const half{nullptr, DataType::f16, 4, 4, 4};
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  EXPECT_EQ(vendor.unsupported_reason(in_tf32), "");
  EXPECT_EQ(vendor.unsupported_reason({half, half, half}), "");
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  EXPECT_EQ(vendor.unsupported_reason(in_tf32), "computes in tf32; unset NVIDIA_TF32_OVERRIDE");
  unsetenv("NVIDIA_TF32_OVERRIDE");
}

TEST(Gemm, SplitKSaysWhetherItSplits) {
  Variant<Problem> const& split_k = test::row(variants(), "split_k", device::Kind::cuda);
  auto const slices = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    Problem p;
    p.a = {nullptr, DataType::f32, m, k, k};
    p.b = {nullptr, DataType::f32, k, n, n};
    p.c = {nullptr, DataType::f32, m, n, n};
    return split_k.implementation(p);
  };
  EXPECT_EQ(slices(256, 256, 256), "2 slices of k");
  EXPECT_EQ(slices(256, 256, 8192), "64 slices of k");
  for (std::int64_t const extent : {255, 4096}) {
    EXPECT_EQ(slices(extent, extent, extent), "k not split: C has tiles enough, or k is below 256");
  }
}

TEST(Gemm, ErrorBoundIsThatOfRandomRoundings) {
  using core::Compute;
  EXPECT_DOUBLE_EQ((ErrorBound{DataType::f64, Compute::f64, 100}(3, 0, 0)), 0x1p-52 * 1.5 * 3);
  EXPECT_DOUBLE_EQ((ErrorBound{DataType::f64, Compute::f64, 100}(0, 5, 0)),
                   0x1p-52 * (1.5 * 10 * 5 + 5));
  EXPECT_DOUBLE_EQ((ErrorBound{DataType::f32, Compute::f32, 0}(0, 0, 7)), 0x1p-23 * (1.5 * 7 + 7));
  EXPECT_DOUBLE_EQ((ErrorBound{DataType::f32, Compute::tf32, 16}(8, 2, 0)),
                   0x1p-23 * (1.5 * (8 + 4 * 2) + 2) + 0x1p-10 * (8 + 2));
  EXPECT_DOUBLE_EQ((ErrorBound{DataType::f32, Compute::bf16, 16}(8, 2, 0)),
                   0x1p-23 * (1.5 * (8 + 4 * 2) + 2) + 0x1p-7 * (8 + 2));
  // Stored after each of 4 parts, in a type that is coarser than what adds.
  EXPECT_DOUBLE_EQ((ErrorBound{DataType::f16, Compute::f32, 16, 4}(8, 2, 0)),
                   0x1p-23 * 1.5 * (8 + 4 * 2) + 0x1p-23 * 16 / 128 * (8 + 2) +
                       0x1p-10 * (1.5 * 2 * 2 + 8 * 2 / 4.0) + 0x1p-24);
  EXPECT_EQ((ErrorBound{DataType::i32, Compute::i32, 100}(3, 3, 3)), 0);
  EXPECT_FALSE(0 <= (ErrorBound{DataType::f64, Compute::f64, 100}(std::nan(""), 0, 0)));
}

/// Largest error over bound of dot products of length k, added up one term after the other in Sum,
/// whose inputs are rounded to Input first.
template <class Input, class Sum>
double worst_ratio(DataType type, core::Compute compute, core::DataKind kind, std::int64_t k) {
  constexpr int kProducts = 48;
  double worst = 0;
  core::visit_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int at = 0; at < kProducts; ++at) {
      long double exact = 0;
      double a_squares = 0, b_squares = 0;
      Sum sum(0.0);
      for (std::int64_t l = 0; l < k; ++l) {
        T const a = core::generate<T>(kind, 1, 0, at, l), b = core::generate<T>(kind, 1, 1, at, l);
        exact += static_cast<long double>(static_cast<double>(a)) * static_cast<double>(b);
        a_squares += static_cast<double>(a) * static_cast<double>(a);
        b_squares += static_cast<double>(b) * static_cast<double>(b);
        auto const x = static_cast<double>(Input(static_cast<double>(a)));
        auto const y = static_cast<double>(Input(static_cast<double>(b)));
        if constexpr (std::is_floating_point_v<Sum>) {
          sum = std::fma(static_cast<Sum>(x), static_cast<Sum>(y), sum);
        } else {
          sum = Sum(x * y + static_cast<double>(sum));
        }
      }
      auto const c = static_cast<double>(exact);
      if (!std::isfinite(static_cast<double>(T(c)))) continue;
      double const bound =
          ErrorBound{type, compute, k}(std::sqrt(a_squares) * std::sqrt(b_squares), c, 0);
      worst =
          std::max(worst, std::abs(static_cast<double>(T(static_cast<double>(sum))) - c) / bound);
    }
  });
  return worst;
}

/// An f32 as tensor cores read it where nothing has rounded it before.
struct TruncatedTf32 {
  explicit TruncatedTf32(double x)
      : value{
            std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) & ~0x1fffU)} {}
  explicit operator double() const { return value; }
  float value;
};

TEST(Gemm, ErrorBoundTakesTruncatedTf32) {
  using core::Compute, core::DataKind;
  for (DataKind const kind : {DataKind::uniform, DataKind::normal, DataKind::positive}) {
    for (std::int64_t const k : {1, 7, 64, 512, 8192}) {
      EXPECT_LE((worst_ratio<TruncatedTf32, float>(DataType::f32, Compute::tf32, kind, k)), 0.8)
          << core::to_text(kind) << " k " << k;
    }
  }
}

// Half a bound for the longest chain there is, twice the bound for inputs of the next smaller type,
// but where all terms have one sign: there the roundings of inputs average out.
TEST(Gemm, ErrorBoundSeparatesRightFromRoundedInputs) {
  using core::Compute, core::DataKind;
  using Tf32 = core::SmallFloat<std::uint32_t, 8, 10>;
  for (DataKind const kind :
       {DataKind::uniform, DataKind::normal, DataKind::positive, DataKind::scaled}) {
    for (std::int64_t const k : {1, 7, 64, 512, 8192, 65536}) {
      SCOPED_TRACE(testing::Message() << core::to_text(kind) << " k " << k);
      EXPECT_LE((worst_ratio<double, double>(DataType::f64, Compute::f64, kind, k)), 0.5);
      EXPECT_LE((worst_ratio<float, float>(DataType::f32, Compute::f32, kind, k)), 0.5);
      EXPECT_LE((worst_ratio<core::f16, float>(DataType::f16, Compute::f32, kind, k)), 0.5);
      // Beyond, small terms no longer move large sums of f16.
      if (k < 1024) {
        EXPECT_LE((worst_ratio<core::f16, core::f16>(DataType::f16, Compute::f16, kind, k)), 0.5);
      }
      EXPECT_LE((worst_ratio<core::bf16, float>(DataType::bf16, Compute::f32, kind, k)), 0.5);
      EXPECT_LE((worst_ratio<Tf32, float>(DataType::f32, Compute::tf32, kind, k)), 0.5);
      EXPECT_LE((worst_ratio<core::bf16, float>(DataType::f32, Compute::bf16, kind, k)), 0.5);
      if (kind == DataKind::positive) continue;
      EXPECT_GE((worst_ratio<float, double>(DataType::f64, Compute::f64, kind, k)), 2);
      EXPECT_GE((worst_ratio<Tf32, float>(DataType::f32, Compute::f32, kind, k)), 2);
      EXPECT_GE((worst_ratio<core::bf16, float>(DataType::f32, Compute::f32, kind, k)), 2);
    }
  }
}

/// Largest error over bound of inner products by residues, of which the last `lost` are left out.
double worst_emulated(int count, core::DataKind kind, std::int64_t k, int lost = 0) {
  Moduli const& moduli = moduli_of(count);
  double worst = 0;
  for (std::int64_t at = 0; at < 8; ++at) {
    std::vector<double> a, b;
    Squares a_squares, b_squares;
    long double sum = 0;
    for (std::int64_t l = 0; l < k; ++l) {
      a.push_back(core::generate<double>(kind, 1, 0, at, l));
      b.push_back(core::generate<double>(kind, 1, 1, at, l));
      a_squares.add(a.back());
      b_squares.add(b.back());
      sum += static_cast<long double>(a.back()) * b.back();
    }
    int const s = exponent_of(a_squares, moduli), t = exponent_of(b_squares, moduli);
    std::vector<double> residues;
    for (int m = 0; m < count; ++m) {
      Modulus const& modulus = moduli.moduli[m];
      int product = 0;
      for (std::size_t l = 0; l < a.size(); ++l) {
        product += residue_of(shifted_whole(a[l], PowerOfTwo{s}), modulus) *
                   residue_of(shifted_whole(b[l], PowerOfTwo{t}), modulus);
      }
      residues.push_back(m >= count - lost ? 0 : residue_of_sum(product, modulus));
    }
    double const c =
        restored(moduli, s + t, [&](int m) { return residues[static_cast<std::size_t>(m)]; });
    double const bound = ErrorBound{DataType::f64, core::Compute::emulated, k, 1, count}(
        std::sqrt(a_squares.middle) * std::sqrt(b_squares.middle), static_cast<double>(sum), 0);
    worst = std::max(worst, std::abs(static_cast<double>(c - sum)) / bound);
  }
  return worst;
}

TEST(Gemm, EmulatedProductsAreAsAccurateAsTheirModuliSay) {
  using core::DataKind;
  for (DataKind const kind :
       {DataKind::uniform, DataKind::normal, DataKind::positive, DataKind::scaled}) {
    for (std::int64_t const k : {1, 7, 512, 4096}) {
      SCOPED_TRACE(testing::Message() << core::to_text(kind) << " k " << k);
      for (int const count : {2, 7, 14, 15}) EXPECT_LE(worst_emulated(count, kind, k), 0.5);
      EXPECT_GT(worst_emulated(14, kind, k, 1), 1e3) << "without a modulus";
    }
  }
  // Of f64 13 are too few, of f32 6.
  EXPECT_LE(emulated_epsilon(core::emulating_products(DataType::f64)), 0x1p-52);
  EXPECT_GT(emulated_epsilon(core::emulating_products(DataType::f64) - 1), 0x1p-52);
  EXPECT_LE(emulated_epsilon(core::emulating_products(DataType::f32)), 0x1p-23);
  EXPECT_GT(emulated_epsilon(core::emulating_products(DataType::f32) - 1), 0x1p-23);
}

TEST(Gemm, EmulatedProductsKnowTheirExponentsAtTheEndsOfF64) {
  Moduli const& moduli = moduli_of(14);
  auto const exponent = [&](std::initializer_list<double> row) {
    Squares squares;
    for (double const x : row) squares.add(x);
    return exponent_of(squares, moduli);
  };
  int const one = exponent({1});
  EXPECT_EQ(one, 54);
  for (int const power : {1023, 500, 499, -500, -501, -1022, -1074}) {
    EXPECT_EQ(exponent({std::ldexp(1, power)}), one - power) << power;
  }
  EXPECT_EQ(exponent({0x1p-501, 0x1p-500, 0x1p-501, 0x1p-501, 0x1p-501}), exponent({0x1.6ap-500}));
  EXPECT_EQ(exponent({0x1p500, 0x1p499, 0x1p499, 0x1p499, 0x1p499}), exponent({0x1.6ap500}));
  EXPECT_EQ(exponent({0, -0.0}), 0);
  EXPECT_EQ(exponent({1, std::numeric_limits<double>::infinity()}), kNotFinite);
  EXPECT_EQ(exponent({1, std::nan("")}), kNotFinite);
}

TEST(Gemm, PartsCoverTheMatrixOnce) {
  for (auto const& [m, n, count] : {std::tuple{100, 30, 4}, std::tuple{3, 1000, 6},
                                    std::tuple{1, 1, 5}, std::tuple{64, 64, 7}}) {
    Parts const parts = cut(m, n, count, 4, 12);
    std::vector<int> hits(static_cast<std::size_t>(m * n));
    for (std::int64_t p = 0; p < parts.count(); ++p) {
      core::Range const rows = parts.rows_of(p), cols = parts.cols_of(p);
      for (std::int64_t i = rows.first; i < rows.first + rows.count; ++i) {
        for (std::int64_t j = cols.first; j < cols.first + cols.count; ++j) {
          ++hits[static_cast<std::size_t>(i * n + j)];
        }
      }
    }

    EXPECT_EQ(parts.count(), count);
    EXPECT_EQ(hits, std::vector<int>(hits.size(), 1)) << m << " x " << n << " in " << count;
  }
}

}  // namespace
}  // namespace quadrille::kernels::gemm
