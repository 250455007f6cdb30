// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "copy/copy.hpp"
#include "core/generator.hpp"
#include "device/kokkos_runtime.hpp"
#include "gemm/gemm.hpp"
#include "integral/integral.hpp"
#include "memory/memory.hpp"
#include "reduction/reduction.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "transpose/transpose.hpp"
#include "vector/vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <string>
#include <vector>

// The kokkos rows on a GPU, each compared with the reference row on the host.
namespace quadrille::kernels {
namespace {

using core::DataKind;
using core::DataType;
using test::DeviceArray;

/// Kokkos on GPU 0, from before the first stream to after the last.
class Kokkos final : public testing::Environment {
  void SetUp() override { runtime_ = std::make_unique<device::KokkosRuntime>(2, 0); }
  void TearDown() override { runtime_.reset(); }

  std::unique_ptr<device::KokkosRuntime> runtime_;
};
[[maybe_unused]] testing::Environment* const kKokkos =
    testing::AddGlobalTestEnvironment(new Kokkos);

/// A device and a stream of it.
struct Side {
  explicit Side(device::Device& on) : device{on}, stream{on} {}
  device::Device& device;
  device::Stream stream;
};

struct Sides {
  std::unique_ptr<device::Device> const host_device = device::make_host_device(1);
  Side host{*host_device};
  Side gpu{test::kernel_device()};
};

template <class Problem>
void run(Variants<Problem> table, std::string_view name, Problem const& problem, Side const& side) {
  test::launch(table, name, problem, side.stream);
  side.stream.view().synchronize();
}

template <class Problem>
void launch(Variants<Problem> table, std::type_identity_t<Problem> const& problem,
            device::StreamView stream) {
  test::launch(table, "kokkos", problem, stream);
}

template <class T>
std::vector<T> generated(DataKind kind, std::int64_t n, std::uint64_t tag) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(core::generate<T>(kind, 1, tag, 0, i));
  return values;
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

bool same_bits(std::vector<double> const& a, std::vector<double> const& b) {
  return std::ranges::equal(a, b, {}, bits, bits);
}

template <class Problem>
void expect_portable(Variants<Problem> table) {
  EXPECT_NE(find(table, "kokkos", device::Kind::cuda), nullptr);
  EXPECT_NE(find(table, "kokkos", device::Kind::host), nullptr);
  EXPECT_EQ(find(table, "reference", device::Kind::cuda), nullptr);
}

TEST(KokkosCuda, RowsRunOnBothKindsOfDevice) {
  expect_portable(vector::variants());
  expect_portable(copy::variants());
  expect_portable(memory::variants());
  expect_portable(integral::variants());
  expect_portable(reduction::variants());
  expect_portable(transpose::variants());
  expect_portable(gemm::variants());
  EXPECT_NE(device::kokkos_version().find("CUDA"), std::string::npos);
}

// vector

template <class T>
std::vector<T> vector_on(Side const& side, std::string_view variant, vector::Operation operation,
                         std::int64_t n, std::int64_t offset) {
  DeviceArray<T> const x{side.device, side.stream, generated<T>(DataKind::uniform, n, 1), offset};
  DeviceArray<T> const y{side.device, side.stream, generated<T>(DataKind::uniform, n, 2), offset};
  DeviceArray<T> const out{side.device, side.stream, n, offset};
  run(vector::variants(), variant,
      vector::Problem{operation, core::type_of<T>(), x.data(), y.data(), out.data(), n}, side);
  EXPECT_TRUE(out.intact());
  return out.download();
}

template <class T>
void expect_vector(Sides const& sides, vector::Operation operation, std::int64_t n,
                   std::int64_t offset) {
  SCOPED_TRACE(testing::Message() << core::to_text(operation) << " "
                                  << core::to_text(core::type_of<T>()) << " n " << n << " offset "
                                  << offset);
  auto const x = generated<T>(DataKind::uniform, n, 1);
  auto const want = vector_on<T>(sides.host, "reference", operation, n, offset);
  auto const got = vector_on<T>(sides.gpu, "kokkos", operation, n, offset);
  vector::Problem const problem{.operation = operation, .type = core::type_of<T>()};
  int wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double const error = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    if (!(error <= vector::error_bound(problem, static_cast<double>(x[i])))) ++wrong;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(KokkosCuda, VectorEqualsReference) {
  Sides const sides;
  for (vector::Operation const operation : {vector::Operation::add, vector::Operation::quadratic}) {
    for (std::int64_t const n : {0, 1, 31, 33, 257, 1025, 3000017}) {
      for (std::int64_t const offset : {0, 1}) {
        expect_vector<double>(sides, operation, n, offset);
        expect_vector<float>(sides, operation, n, offset);
      }
    }
  }
}

// copy

TEST(KokkosCuda, CopyMovesEveryByteAndNoOther) {
  Sides const sides;
  Side const& gpu = sides.gpu;
  for (std::int64_t const n : {0, 1, 15, 16, 17, 255, 4097, 33000, 20000003}) {
    auto const values = generated<std::int8_t>(DataKind::integer, n, 1);
    for (auto const& [from_offset, to_offset] :
         {std::pair{0, 0}, {16, 48}, {8, 24}, {4, 4}, {2, 6}, {1, 0}, {5, 13}}) {
      SCOPED_TRACE(testing::Message()
                   << n << " bytes, offsets " << from_offset << " " << to_offset);
      DeviceArray<std::int8_t> const from{gpu.device, gpu.stream, values, from_offset};
      DeviceArray<std::int8_t> const to{gpu.device, gpu.stream, n, to_offset};
      run(copy::variants(), "kokkos", copy::Problem{to.data(), from.data(), n}, gpu);
      EXPECT_TRUE(to.download() == values);
      EXPECT_TRUE(to.intact());
    }
  }
}

// memory

TEST(KokkosCuda, MemoryAddsUpEveryLane) {
  Sides const sides;
  Side const& gpu = sides.gpu;
  for (std::int64_t const window_tiles : {1, 3, 64}) {
    for (int const readers : {1, 7, 300}) {
      auto const words =
          generated<std::int32_t>(DataKind::integer, window_tiles * memory::kTileBytes / 4, 1);
      std::vector<std::int32_t> want(static_cast<std::size_t>(readers) *
                                     memory::kDeviceLanes.count);
      DeviceArray<std::int32_t> const window{gpu.device, gpu.stream, words};
      DeviceArray<std::int32_t> const result{gpu.device, gpu.stream,
                                             static_cast<std::int64_t>(want.size())};
      memory::Problem problem{.window = words.data(),
                              .bytes = window_tiles * memory::kTileBytes,
                              .tiles = 1000,
                              .readers = readers,
                              .result = reinterpret_cast<std::uint32_t*>(want.data())};
      memory::read_reference(problem, memory::kDeviceLanes);
      problem.window = window.data();
      problem.result = reinterpret_cast<std::uint32_t*>(result.data());
      run(memory::variants(), "kokkos", problem, gpu);
      EXPECT_TRUE(result.download() == want) << window_tiles << " tiles, " << readers << " readers";
      EXPECT_TRUE(result.intact());
    }
  }
}

// transpose

struct Shape {
  std::int64_t m, n;
};

template <class T>
std::vector<T> transpose_on(Side const& side, std::string_view variant, Shape shape,
                            std::int64_t pad) {
  auto const [m, n] = shape;
  DeviceArray<T> const in{side.device, side.stream,
                          generated<T>(DataKind::integer, m * (n + pad), 1), pad};
  DeviceArray<T> const out{side.device, side.stream, n * (m + pad), pad};
  DataType const type = core::type_of<T>();
  run(transpose::variants(), variant,
      transpose::Problem{{in.data(), type, m, n, n + pad}, {out.data(), type, n, m, m + pad}},
      side);
  EXPECT_TRUE(out.intact());
  return out.download();
}

template <class T>
void expect_transpose(Sides const& sides) {
  for (Shape const shape : {Shape{0, 7},
                            {7, 0},
                            {1, 1},
                            {31, 33},
                            {64, 64},
                            {65, 63},
                            {1, 300},
                            {513, 1},
                            {4, 1100},
                            {130, 70},
                            {1500, 2100}}) {
    for (std::int64_t const pad : {0, 1, 3}) {
      auto const want = transpose_on<T>(sides.host, "reference", shape, pad);
      auto const got = transpose_on<T>(sides.gpu, "kokkos", shape, pad);
      // All bytes, those behind the rows too.
      bool const same = std::memcmp(got.data(), want.data(), got.size() * sizeof(T)) == 0;
      EXPECT_TRUE(got.empty() || same) << core::to_text(core::type_of<T>()) << " " << shape.m
                                       << " x " << shape.n << " pad " << pad;
    }
  }
}

TEST(KokkosCuda, TransposeEqualsReference) {
  Sides const sides;
  expect_transpose<double>(sides);
  expect_transpose<float>(sides);
  expect_transpose<std::int64_t>(sides);
  expect_transpose<std::int32_t>(sides);
  expect_transpose<std::int8_t>(sides);
}

// 16-bit types have no host arithmetic, but are moved like any other.
TEST(KokkosCuda, TransposeMovesPairsOfBytes) {
  Sides const sides;
  std::int64_t const m = 67, n = 131;
  std::vector<std::uint16_t> values(static_cast<std::size_t>(m * n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i);
  DeviceArray<std::uint16_t> const in{sides.gpu.device, sides.gpu.stream, values};
  DeviceArray<std::uint16_t> const out{sides.gpu.device, sides.gpu.stream, m * n};
  run(transpose::variants(), "kokkos",
      transpose::Problem{{in.data(), DataType::f16, m, n, n}, {out.data(), DataType::f16, n, m, m}},
      sides.gpu);
  auto const got = out.download();
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(got[static_cast<std::size_t>(j * m + i)], i * n + j);
    }
  }
}

// gemm

struct Product {
  std::int64_t m, n, k;
  double alpha = 1, beta = 0;
  bool transpose_a = false, transpose_b = false;
};

/// op(A) and op(B) uniform in [-1, 1); with `magnitude` all numbers without their signs.
template <class T, class Out>
std::vector<Out> product_on(Side const& side, std::string_view variant, Product const& one,
                            bool magnitude) {
  constexpr std::int64_t kPad = 3;
  auto const with_signs = [&](auto values) {
    for (auto& value : values) {
      using Value = std::remove_reference_t<decltype(value)>;
      if (magnitude) value = static_cast<Value>(std::abs(static_cast<double>(value)));
    }
    return values;
  };
  auto const operand = [&](std::int64_t rows, std::int64_t cols, std::uint64_t tag) {
    return with_signs(generated<T>(DataKind::uniform, rows * (cols + kPad), tag));
  };
  auto const [m, n, k, alpha, beta, transpose_a, transpose_b] = one;
  std::int64_t const a_rows = transpose_a ? k : m, a_cols = transpose_a ? m : k;
  std::int64_t const b_rows = transpose_b ? n : k, b_cols = transpose_b ? k : n;
  auto c_values = with_signs(generated<Out>(DataKind::uniform, m * (n + kPad), 3));
  if constexpr (!std::is_integral_v<Out>) {
    if (beta == 0) c_values.assign(c_values.size(), static_cast<Out>(std::nan("")));
  }
  DeviceArray<T> const a{side.device, side.stream, operand(a_rows, a_cols, 1), 1};
  DeviceArray<T> const b{side.device, side.stream, operand(b_rows, b_cols, 2), 1};
  DeviceArray<Out> const c{side.device, side.stream, c_values, 1};
  DataType const type = core::type_of<T>();
  run(gemm::variants(), variant,
      gemm::Problem{{a.data(), type, a_rows, a_cols, a_cols + kPad},
                    {b.data(), type, b_rows, b_cols, b_cols + kPad},
                    {c.data(), core::type_of<Out>(), m, n, n + kPad},
                    magnitude ? std::abs(alpha) : alpha,
                    magnitude ? std::abs(beta) : beta,
                    transpose_a,
                    transpose_b},
      side);
  EXPECT_TRUE(c.intact());
  return c.download();
}

template <class T, class Out = T>
void expect_product(Sides const& sides, Product const& one) {
  SCOPED_TRACE(testing::Message() << core::to_text(core::type_of<T>()) << " to "
                                  << core::to_text(core::type_of<Out>()) << " " << one.m << " x "
                                  << one.n << " x " << one.k << " alpha " << one.alpha << " beta "
                                  << one.beta << (one.transpose_a ? " T" : " N")
                                  << (one.transpose_b ? "T" : "N"));
  auto const want = product_on<T, Out>(sides.host, "reference", one, false);
  auto const weight = product_on<T, Out>(sides.host, "reference", one, true);
  auto const got = product_on<T, Out>(sides.gpu, "kokkos", one, false);
  int wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto const x = static_cast<double>(got[i]), y = static_cast<double>(want[i]);
    // Behind the rows both are as they were. The reference errs too.
    constexpr core::Compute kCompute = core::compute_for(core::type_of<T>());
    double const bound = 2 * gemm::ErrorBound{core::type_of<Out>(), kCompute, one.k}(
                                 static_cast<double>(weight[i]), y, 0);
    if (!(std::abs(x - y) <= bound || (std::isnan(x) && std::isnan(y)))) ++wrong;
    bool const inside = static_cast<std::int64_t>(i) % (one.n + 3) < one.n;
    if (inside && std::isnan(y)) ++wrong;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(KokkosCuda, GemmEqualsReference) {
  Sides const sides;
  for (bool const transpose_a : {false, true}) {
    for (bool const transpose_b : {false, true}) {
      for (Product one : {Product{0, 5, 3},
                          {5, 0, 3},
                          {3, 5, 0, 1, -2},
                          {1, 1, 1},
                          {31, 33, 31, 1, 1},
                          {128, 128, 8, 2},
                          {129, 127, 9, -1, 3},
                          {3, 260, 17, 1, 1},
                          {257, 259, 131, -2, 1}}) {
        one.transpose_a = transpose_a;
        one.transpose_b = transpose_b;
        expect_product<double>(sides, one);
        expect_product<float>(sides, one);
        expect_product<std::int32_t>(sides, one);
        expect_product<core::f16>(sides, one);
        expect_product<core::f16, float>(sides, one);
        expect_product<core::bf16>(sides, one);
        expect_product<core::bf16, float>(sides, one);
      }
    }
  }
  expect_product<float>(sides, {515, 700, 300, -0.75, 0.5});
  expect_product<double>(sides, {515, 700, 300, -0.75, 0.5, true, true});
}

// reduction

constexpr reduction::Operation kOperations[] = {
    reduction::Operation::sum, reduction::Operation::min, reduction::Operation::max,
    reduction::Operation::dot, reduction::Operation::norm2};

template <class T>
struct Vectors {
  std::vector<T> x, y;
};

template <class T>
double reduce_on(Side const& side, std::string_view variant, Vectors<T> const& v,
                 DataType accumulator, reduction::Operation operation) {
  DeviceArray<T> const x{side.device, side.stream, v.x, 1};
  DeviceArray<T> const y{side.device, side.stream, v.y, 2};
  DeviceArray<double> const result{side.device, side.stream, 1};
  run(reduction::variants(), variant,
      reduction::Problem{.x = x.data(),
                         .y = y.data(),
                         .n = x.size(),
                         .type = core::type_of<T>(),
                         .accumulator = accumulator,
                         .operation = operation,
                         .result = result.data()},
      side);
  EXPECT_TRUE(result.intact());
  return result.download()[0];
}

template <class T>
void expect_reduction(Sides const& sides, DataType accumulator, std::int64_t n) {
  Vectors<T> const v{generated<T>(DataKind::uniform, n, 1), generated<T>(DataKind::uniform, n, 2)};
  Vectors<T> magnitudes = v;
  for (T& x : magnitudes.x) x = static_cast<T>(std::abs(x));
  for (T& y : magnitudes.y) y = static_cast<T>(std::abs(y));
  for (reduction::Operation const operation : kOperations) {
    double const want = reduce_on(sides.host, "reference", v, accumulator, operation);
    double const weight = reduce_on(sides.host, "reference", magnitudes, accumulator, operation);
    double const got = reduce_on(sides.gpu, "kokkos", v, accumulator, operation);
    double const bound = reduction::error_bound(
        {.type = core::type_of<T>(), .accumulator = accumulator, .operation = operation},
        static_cast<double>(n), weight, 0);
    EXPECT_TRUE(got == want || std::abs(got - want) <= bound)
        << core::to_text(operation) << " " << core::to_text(core::type_of<T>()) << " in "
        << core::to_text(accumulator) << " n " << n << ": " << got << " for " << want;
  }
}

TEST(KokkosCuda, ReductionEqualsReference) {
  Sides const sides;
  for (std::int64_t const n : {0, 1, 3, 33, 257, 1025, 40001, 5000011}) {
    expect_reduction<double>(sides, DataType::f64, n);
    expect_reduction<float>(sides, DataType::f64, n);
    expect_reduction<float>(sides, DataType::f32, n);
    expect_reduction<std::int32_t>(sides, DataType::f64, n);
  }
}

TEST(KokkosCuda, ReductionKeepsNaN) {
  Sides const sides;
  for (std::int64_t const place : {0, 777, 99999}) {
    Vectors<float> v{generated<float>(DataKind::uniform, 100000, 1),
                     generated<float>(DataKind::uniform, 100000, 2)};
    v.x[static_cast<std::size_t>(place)] = std::numeric_limits<float>::quiet_NaN();
    for (reduction::Operation const operation : kOperations) {
      EXPECT_TRUE(std::isnan(reduce_on(sides.gpu, "kokkos", v, DataType::f64, operation)))
          << core::to_text(operation) << " with NaN at " << place;
    }
  }
}

template <class T>
std::vector<double> reduction_blocks_on(Side const& side, std::string_view variant,
                                        reduction::Operation operation, std::int64_t global_n,
                                        std::int64_t block_first, std::int64_t block_count) {
  std::int64_t const n =
      block_begin(global_n, block_first + block_count) - block_begin(global_n, block_first);
  DeviceArray<T> const x{side.device, side.stream, generated<T>(DataKind::normal, n, 1)};
  DeviceArray<T> const y{side.device, side.stream, generated<T>(DataKind::normal, n, 2)};
  DeviceArray<double> const blocks{side.device, side.stream, block_count};
  run(reduction::variants(), variant,
      reduction::Problem{.x = x.data(),
                         .y = y.data(),
                         .n = n,
                         .type = core::type_of<T>(),
                         .operation = operation,
                         .reproducible = true,
                         .global_n = global_n,
                         .block_first = block_first,
                         .block_count = block_count,
                         .blocks = blocks.data()},
      side);
  EXPECT_TRUE(blocks.intact());
  return blocks.download();
}

TEST(KokkosCuda, ReproducibleReductionHasTheBitsOfTheHost) {
  Sides const sides;
  auto const expect = [&]<class T>(T, reduction::Operation operation, std::int64_t global_n,
                                   std::int64_t first, std::int64_t count) {
    auto const want =
        reduction_blocks_on<T>(sides.host, "reference", operation, global_n, first, count);
    auto const got = reduction_blocks_on<T>(sides.gpu, "kokkos", operation, global_n, first, count);
    EXPECT_TRUE(same_bits(got, want))
        << core::to_text(operation) << " " << core::to_text(core::type_of<T>()) << " n " << global_n
        << " blocks " << first << " + " << count;
  };
  for (reduction::Operation const operation : kOperations) {
    for (std::int64_t const global_n : {0, 100, 12345, 2000003}) {
      for (auto const& [first, count] : {std::pair{0, 4096}, {1000, 77}, {4095, 1}, {5, 0}}) {
        expect(double{}, operation, global_n, first, count);
        expect(float{}, operation, global_n, first, count);
        expect(std::int32_t{}, operation, global_n, first, count);
      }
    }
  }
}

// integral

constexpr integral::Integrand kIntegrands[] = {
    integral::Integrand::sin2cos2, integral::Integrand::arctan, integral::Integrand::gauss,
    integral::Integrand::runge};
constexpr integral::Rule kRules[] = {integral::Rule::midpoint, integral::Rule::simpson,
                                     integral::Rule::gauss_legendre};

integral::Problem integral_of(integral::Integrand integrand, integral::Rule rule, DataType type,
                              std::int64_t cells) {
  integral::Problem problem{
      .integrand = integrand, .rule = rule, .type = type, .cells = cells, .count = cells};
  integral::set_default_interval(problem);
  problem.amplitude = 1.5;
  // Many more waves than cells tell nothing.
  if (integrand == integral::Integrand::sin2cos2) problem.upper = 7;
  return problem;
}

std::string name_of(integral::Problem const& p) {
  return std::string{core::to_text(p.integrand)} + " " + std::string{core::to_text(p.rule)} + " " +
         std::string{core::to_text(p.type)} + " " + std::to_string(p.cells) + " cells";
}

double integrate_on(Side const& side, std::string_view variant, integral::Problem problem) {
  DeviceArray<double> const result{side.device, side.stream, 1};
  problem.result = result.data();
  run(integral::variants(), variant, problem, side);
  EXPECT_TRUE(result.intact());
  return result.download()[0];
}

TEST(KokkosCuda, IntegralEqualsReference) {
  Sides const sides;
  for (integral::Integrand const integrand : kIntegrands) {
    for (integral::Rule const rule : kRules) {
      for (DataType const type : {DataType::f64, DataType::f32}) {
        for (std::int64_t const cells : {1, 1100, 300007}) {
          integral::Problem const problem = integral_of(integrand, rule, type, cells);
          double const want = integrate_on(sides.host, "reference", problem);
          double const got = integrate_on(sides.gpu, "kokkos", problem);
          double const bound = integral::error_bound(problem);
          EXPECT_LE(std::abs(got - want), bound) << name_of(problem);
          EXPECT_LE(std::abs(got - integral::exact(problem)), bound) << name_of(problem);
        }
      }
    }
  }
}

// Ranks have parts of the interval, some none; Simpson's ends belong to the first and the last.
TEST(KokkosCuda, IntegralOfPartsAddsUpToTheWhole) {
  Sides const sides;
  for (integral::Rule const rule : kRules) {
    integral::Problem problem = integral_of(integral::Integrand::runge, rule, DataType::f64, 1301);
    double sum = 0;
    for (auto const& [first, end] : {std::pair{0, 130}, {130, 130}, {130, 1299}, {1299, 1301}}) {
      problem.first = first;
      problem.count = end - first;
      double const part = integrate_on(sides.gpu, "kokkos", problem);
      EXPECT_TRUE(first != end || part == 0) << part;
      sum += part;
    }
    EXPECT_LE(std::abs(sum - integral::exact(problem)), integral::error_bound(problem));
  }
}

std::vector<double> integral_blocks_on(Side const& side, std::string_view variant,
                                       integral::Problem problem) {
  DeviceArray<double> const blocks{side.device, side.stream, problem.block_count};
  problem.blocks = blocks.data();
  run(integral::variants(), variant, problem, side);
  EXPECT_TRUE(blocks.intact());
  return blocks.download();
}

TEST(KokkosCuda, ReproducibleIntegralHasTheBitsOfTheHost) {
  Sides const sides;
  for (integral::Integrand const integrand : kIntegrands) {
    for (integral::Rule const rule : kRules) {
      for (DataType const type : {DataType::f64, DataType::f32}) {
        for (std::int64_t const cells : {100, 1200007}) {
          integral::Problem problem = integral_of(integrand, rule, type, cells);
          problem.reproducible = true;
          for (auto const& [first, count] : {std::pair{0, 4096}, {1000, 77}, {4085, 11}, {5, 0}}) {
            problem.block_first = first;
            problem.block_count = count;
            EXPECT_TRUE(same_bits(integral_blocks_on(sides.gpu, "kokkos", problem),
                                  integral_blocks_on(sides.host, "reference", problem)))
                << name_of(problem) << " blocks " << first << " + " << count;
          }
        }
      }
    }
  }
}

// streams

// Reductions meet in counters and memory of their stream's execution space.
TEST(KokkosCuda, TwoStreamsDoNotDisturbEachOther) {
  device::Device& gpu = test::kernel_device();
  constexpr int kRounds = 20;
  Side const one{gpu}, other{gpu};
  std::int64_t const n = 1000003;
  std::vector<double> const ones(static_cast<std::size_t>(n), 1), twos(ones.size(), 2);
  DeviceArray<double> const x{gpu, one.stream, ones}, y{gpu, other.stream, twos};
  DeviceArray<double> const sums{gpu, one.stream, kRounds}, more{gpu, other.stream, kRounds};
  one.stream.view().synchronize();
  other.stream.view().synchronize();

  for (int i = 0; i < kRounds; ++i) {
    reduction::Problem problem{.x = x.data(), .n = n, .result = sums.data() + i};
    test::row(reduction::variants(), "kokkos", device::Kind::cuda).launch(problem, one.stream);
    problem.x = y.data();
    problem.result = more.data() + i;
    test::row(reduction::variants(), "kokkos", device::Kind::cuda).launch(problem, other.stream);
  }

  EXPECT_EQ(sums.download(), std::vector<double>(kRounds, n));
  EXPECT_EQ(more.download(), std::vector<double>(kRounds, 2 * n));
}

TEST(KokkosCuda, NoLaunchWaitsForTheStream) {
  Sides const sides;
  Side const& gpu = sides.gpu;
  std::int64_t const n = 300;
  std::vector<double> const ones(static_cast<std::size_t>(n * n), 1);
  DeviceArray<double> const x{gpu.device, gpu.stream, ones}, y{gpu.device, gpu.stream, ones};
  DeviceArray<double> const out{gpu.device, gpu.stream, n * n}, result{gpu.device, gpu.stream, 2};
  DeviceArray<double> const blocks{gpu.device, gpu.stream, kVirtualBlocks};
  auto const square = [&](DeviceArray<double> const& a) {
    return device::MatrixView{a.data(), DataType::f64, n, n, n};
  };
  auto const launch_all = [&] {
    device::StreamView const stream = gpu.stream;
    launch(vector::variants(), {.x = x.data(), .y = y.data(), .out = out.data(), .n = n * n},
           stream);
    launch(copy::variants(), {out.data(), x.data(), n * n * 8}, stream);
    launch(transpose::variants(), {square(x), square(out)}, stream);
    launch(reduction::variants(), {.x = x.data(), .n = n * n, .result = result.data()}, stream);
    launch(reduction::variants(),
           {.x = x.data(),
            .n = n * n,
            .reproducible = true,
            .global_n = n * n,
            .block_count = kVirtualBlocks,
            .blocks = blocks.data()},
           stream);
    integral::Problem problem =
        integral_of(integral::Integrand::arctan, integral::Rule::simpson, DataType::f64, 1000);
    problem.result = result.data() + 1;
    launch(integral::variants(), problem, stream);
    launch(gemm::variants(), {square(x), square(y), square(out)}, stream);
  };
  launch_all();  // kernels are loaded, and the execution space is made
  gpu.stream.view().synchronize();

  device::Flag const flag{gpu.device};
  std::promise<void> launched;
  // Opens the stream after all launches, or after a while, so that a launch that waits is a failure
  // and not a hanging test.
  auto opened = std::async(std::launch::async, [&, future = launched.get_future()] {
    bool const in_time = future.wait_for(std::chrono::seconds{10}) == std::future_status::ready;
    flag.set(1);
    return in_time;
  });
  gpu.stream.view().wait(flag, 1);
  launch_all();
  launched.set_value();

  EXPECT_TRUE(opened.get()) << "a launch waited for its stream";
  gpu.stream.view().synchronize();
  EXPECT_EQ(out.download(), std::vector<double>(ones.size(), n));
  EXPECT_EQ(result.download()[0], n * n);
}

TEST(KokkosCuda, ConstraintsAreRefused) {
  Sides const sides;
  Side const& gpu = sides.gpu;
  DeviceArray<double> const x{gpu.device, gpu.stream, 64};
  auto const view = [&](DataType type, std::int64_t m, std::int64_t n) {
    return device::MatrixView{x.data(), type, m, n, n};
  };
  auto const i32 = view(DataType::i32, 4, 4), i8 = view(DataType::i8, 4, 4);
  std::int64_t const many = (std::int64_t{1} << 31) * 64;  // rows

  EXPECT_FAILS(launch(gemm::variants(), {i32, i32, i32, 0.5}, gpu.stream), "whole alpha and beta");
  EXPECT_FAILS(launch(gemm::variants(), {i8, i8, i8}, gpu.stream), "has no type");
  EXPECT_FAILS(launch(gemm::variants(),
                      {view(DataType::f32, 2 * many, 1), view(DataType::f32, 1, 1),
                       view(DataType::f32, 2 * many, 1)},
                      gpu.stream),
               "tiles of");
  EXPECT_FAILS(launch(transpose::variants(),
                      {view(DataType::f32, many, 1), view(DataType::f32, 1, many)}, gpu.stream),
               "tiles of");
  EXPECT_FAILS(launch(copy::variants(), {x.data(), x.data(), 8}, gpu.stream), "overlap");
  EXPECT_FAILS(launch(vector::variants(), {.x = x.data(), .n = 1}, gpu.stream), "missing");
  EXPECT_FAILS(launch(reduction::variants(), {.x = x.data(), .n = 1}, gpu.stream),
               "result is missing");
  EXPECT_FAILS(launch(integral::variants(), {.cells = 1, .count = 1}, gpu.stream),
               "result is missing");
}

}  // namespace
}  // namespace quadrille::kernels
