// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kokkos_runtime.hpp"
#include "kernels/copy_data.hpp"
#include "kernels/gemm_data.hpp"
#include "kernels/integral_data.hpp"
#include "kernels/memory_data.hpp"
#include "kernels/reduction_data.hpp"
#include "kernels/transpose_data.hpp"
#include "kernels/vector_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <vector>

// The kokkos rows on a GPU, which are expected to do what those of hosts and of CUDA do.
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

struct Gpu {
  device::Device& device = test::kernel_device();
  device::Stream stream{device};
};

template <class Problem>
Variant<Problem> const& kokkos(Variants<Problem> table) {
  return test::row(table, "kokkos", device::Kind::cuda);
}

template <class Problem>
void launch(Variants<Problem> table, std::type_identity_t<Problem> const& problem,
            device::StreamView stream) {
  kokkos(table).launch(problem, stream);
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

TEST(KokkosCuda, VectorEqualsReference) {
  Gpu const gpu;
  auto const& row = kokkos(vector::variants());
  for (vector::Operation const operation : {vector::Operation::add, vector::Operation::quadratic}) {
    for (std::int64_t const n : {0, 1, 31, 33, 257, 1025, 3000017}) {
      for (std::int64_t const offset : {0, 1}) {
        vector::expect_right<double>(gpu.device, gpu.stream, row, operation, n, offset);
        vector::expect_right<float>(gpu.device, gpu.stream, row, operation, n, offset);
      }
    }
  }
}

TEST(KokkosCuda, CopyMovesEveryByteAndNoOther) {
  Gpu const gpu;
  for (std::int64_t const n : {0, 1, 15, 16, 17, 255, 4097, 33000, 20000003}) {
    for (auto const& [from_offset, to_offset] :
         {std::pair{0, 0}, {16, 48}, {8, 24}, {4, 4}, {2, 6}, {1, 0}, {5, 13}}) {
      copy::expect_copied(gpu.device, gpu.stream, kokkos(copy::variants()), n, from_offset,
                          to_offset);
    }
  }
}

TEST(KokkosCuda, MemoryAddsUpEveryLane) {
  Gpu const gpu;
  for (std::int64_t const window_tiles : {1, 3, 64}) {
    for (int const readers : {1, 7, 300}) {
      memory::expect_right(gpu.device, gpu.stream, kokkos(memory::variants()), memory::kDeviceLanes,
                           window_tiles, 1000, readers);
    }
  }
}

TEST(KokkosCuda, TransposeEqualsReference) {
  Gpu const gpu;
  for (DataType const type :
       {DataType::f64, DataType::f32, DataType::i64, DataType::i32, DataType::i8}) {
    for (transpose::Shape const shape : {transpose::Shape{0, 7},
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
        auto const offset = pad * static_cast<std::int64_t>(core::size_of(type));
        transpose::expect_exact(gpu.device, gpu.stream, kokkos(transpose::variants()), type, shape,
                                {pad, pad, offset, offset});
      }
    }
  }
}

// 16-bit types have no host arithmetic, but are moved like any other.
TEST(KokkosCuda, TransposeMovesPairsOfBytes) {
  Gpu const gpu;
  transpose::expect_exact(gpu.device, gpu.stream, kokkos(transpose::variants()), DataType::f16,
                          {67, 131}, {});
}

TEST(KokkosCuda, GemmEqualsReference) {
  Gpu const gpu;
  auto const expect = [&](Types const& types, gemm::Case const& spec, Layout layout) {
    gemm::expect_product(kokkos(gemm::variants()), types, spec, layout, gpu.device, gpu.stream, {},
                         gemm::kUnaligned);
  };
  constexpr core::Compute kCompute = core::Compute::f32;
  for (Layout const layout : gemm::kLayouts) {
    for (gemm::Case const& one : {gemm::Case{0, 5, 3},
                                  {5, 0, 3},
                                  {3, 5, 0, 1, -2},
                                  {1, 1, 1},
                                  {31, 33, 31, 1, 1},
                                  {128, 128, 8, 2},
                                  {129, 127, 9, -1, 3},
                                  {3, 260, 17, 1, 1},
                                  {257, 259, 131, -2, 1}}) {
      for (DataType const type :
           {DataType::f64, DataType::f32, DataType::i32, DataType::f16, DataType::bf16}) {
        expect(type, one, layout);
      }
      expect({DataType::f16, kCompute, DataType::f32}, one, layout);
      expect({DataType::bf16, kCompute, DataType::f32}, one, layout);
    }
  }
  expect(DataType::f32, {515, 700, 300, -0.75, 0.5}, Layout::nn);
  expect(DataType::f64, {515, 700, 300, -0.75, 0.5}, Layout::tt);
}

reduction::Rows reduction_rows() { return {kokkos(reduction::variants())}; }

TEST(KokkosCuda, ReductionEqualsReference) {
  Gpu const gpu;
  auto const expect = [&]<class T>(T, DataType accumulator, std::int64_t n) {
    reduction::expect_right<T>(gpu.device, gpu.stream, reduction_rows(), accumulator, n, 1, 2);
  };
  for (std::int64_t const n : {0, 1, 3, 33, 257, 1025, 40001, 5000011}) {
    expect(double{}, DataType::f64, n);
    expect(float{}, DataType::f64, n);
    expect(float{}, DataType::f32, n);
    expect(std::int32_t{}, DataType::f64, n);
  }
}

TEST(KokkosCuda, ReductionKeepsNaN) {
  Gpu const gpu;
  reduction::expect_nan_to_spread<float>(gpu.device, gpu.stream, reduction_rows(), DataType::f64,
                                         100000);
}

TEST(KokkosCuda, ReproducibleReductionHasTheBitsOfTheHost) {
  Gpu const gpu;
  auto const expect = [&]<class T>(T, std::int64_t n, std::int64_t first, std::int64_t count) {
    reduction::expect_bits_of_the_host<T>(gpu.device, gpu.stream, reduction_rows(), n, first,
                                          count);
  };
  for (std::int64_t const n : {0, 100, 12345, 2000003}) {
    for (auto const& [first, count] : {std::pair{0, 4096}, {1000, 77}, {4095, 1}, {5, 0}}) {
      expect(double{}, n, first, count);
      expect(float{}, n, first, count);
      expect(std::int32_t{}, n, first, count);
    }
  }
}

TEST(KokkosCuda, IntegralEqualsReference) {
  Gpu const gpu;
  integral::Memory memory{gpu.device, gpu.stream, 300007};
  for (integral::Integrand const integrand : integral::kIntegrands) {
    for (integral::Rule const rule : integral::kRules) {
      for (DataType const type : integral::kTypes) {
        for (std::int64_t const cells : {1, 1100, 300007}) {
          integral::Problem problem = integral::short_problem(integrand, rule, cells);
          problem.type = type;
          problem.amplitude = 1.5;
          memory.expect_exact(kokkos(integral::variants()), problem);
        }
      }
    }
  }
}

TEST(KokkosCuda, IntegralOfPartsAddsUpToTheWhole) {
  Gpu const gpu;
  integral::Memory memory{gpu.device, gpu.stream, 1301};
  integral::expect_parts_to_add_up(memory, {kokkos(integral::variants())});
}

TEST(KokkosCuda, ReproducibleIntegralHasTheBitsOfTheHost) {
  Gpu const gpu;
  integral::expect_bits_of_the_host(gpu.device, gpu.stream, {kokkos(integral::variants())},
                                    {{0, 4096}, {1000, 77}, {4085, 11}, {5, 0}});
}

// Reductions meet in counters and memory of their stream's execution space.
TEST(KokkosCuda, TwoStreamsDoNotDisturbEachOther) {
  device::Device& gpu = test::kernel_device();
  constexpr int kRounds = 20;
  Gpu const one, other;
  std::int64_t const n = 1000003;
  std::vector<double> const ones(static_cast<std::size_t>(n), 1), twos(ones.size(), 2);
  DeviceArray<double> const x{gpu, one.stream, ones}, y{gpu, other.stream, twos};
  DeviceArray<double> const sums{gpu, one.stream, kRounds}, more{gpu, other.stream, kRounds};
  one.stream.view().synchronize();
  other.stream.view().synchronize();

  for (int i = 0; i < kRounds; ++i) {
    reduction::Problem problem{.x = x.data(), .n = n, .result = sums.data() + i};
    launch(reduction::variants(), problem, one.stream);
    problem.x = y.data();
    problem.result = more.data() + i;
    launch(reduction::variants(), problem, other.stream);
  }

  EXPECT_EQ(sums.download(), std::vector<double>(kRounds, n));
  EXPECT_EQ(more.download(), std::vector<double>(kRounds, 2 * n));
}

TEST(KokkosCuda, NoLaunchWaitsForTheStream) {
  Gpu const gpu;
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
        integral::default_problem(integral::Integrand::arctan, integral::Rule::simpson, 1000);
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
  Gpu const gpu;
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
