// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// What cuBLASMp is asked for: by a stand-in for it and for NCCL on hosts, on GPUs by itself where it is
// found. And what is said where it cannot be had: then the environment variable
// QUADRILLE_TEST_CUBLASMP says with which words.
#include "device/cuda/library.hpp"
#include "support/expect_fails.hpp"
#include "support/fake_device.hpp"
#include "support/mpi_world.hpp"
#include "workloads/peers/peer.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace quadrille::workloads {
namespace {

using core::DataKind, core::DataType;

constexpr std::array<std::int64_t, 3> kSize{37, 50, 43};  // in no block whole

Peer<PeerProduct> const& product_row() { return *peers<PeerProduct>().back(); }
Peer<PeerTranspose> const& transpose_row() { return *peers<PeerTranspose>().back(); }

/// The words of a refusal, or null with the stand-in.
char const* refusal() { return std::getenv("QUADRILLE_TEST_CUBLASMP"); }
bool has_stand_in() { return refusal() == nullptr && test::device_name() == "host"; }
bool has_library() {
  return has_stand_in() || (refusal() == nullptr && library_unavailable(product_row()).empty());
}

/// What is tried: the stand-in knows no other type.
std::vector<kernels::Types> types_of(kernels::VariantInfo const& row) {
  if (has_stand_in()) return {DataType::f64};
  return {row.types.begin(), row.types.end()};
}

device::Matrix allocated(Layout const& layout, DataType type) {
  comm::World& world = test::world();
  return {world.device(), type, layout.local_rows(), layout.local_cols(), world.stream()};
}

template <class F>
void for_grids(kernels::VariantInfo const& row, F const& f) {
  if (!has_library()) GTEST_SKIP() << "there is none";
  int const ranks = test::world().size();
  for (int rows = 1; rows <= ranks; ++rows) {
    if (ranks % rows != 0) continue;
    for (std::int64_t const block : {0, 4}) {
      for (kernels::Types const& types : types_of(row)) {
        SCOPED_TRACE(fmt::format("{} x {}, block {}, {}", rows, ranks / rows, block,
                                 kernels::to_text(types)));
        f(core::GridShape{rows, ranks / rows}, block, types);
      }
    }
  }
}

/// What of the stand-in nobody has destroyed.
int alive() {
  static device::Library const stand_in{{"libcublasmp.so.0"}};
  return has_stand_in() ? stand_in.get<int()>("stand_in_alive")() : 0;
}

TEST(Cublasmp, MultipliesOnEveryGrid) {
  for_grids(product_row(), [](core::GridShape grid, std::int64_t block,
                              kernels::Types const& types) {
    comm::World& world = test::world();
    ProductLayout const layout = product_row().layout(grid, world.rank(), block, kSize);
    EXPECT_EQ(product_row().unsupported(layout, types), "");
    Product const product{.m = kSize[0],
                          .n = kSize[1],
                          .k = kSize[2],
                          .type = types.in,
                          .out = types.out,
                          .compute = types.compute,
                          .parts = (kSize[2] + layout.a.cols.block() - 1) / layout.a.cols.block(),
                          .alpha = 2,
                          .beta = -3,
                          .a = {DataKind::uniform, 7, 0},
                          .b = {DataKind::uniform, 7, 1},
                          .c0 = {DataKind::uniform, 7, 2}};
    device::Matrix const a = allocated(layout.a, types.in), b = allocated(layout.b, types.in),
                         c = allocated(layout.c, types.out);
    fill(a.view(), layout.a, product.a, world);
    fill(b.view(), layout.b, product.b, world);
    {
      auto const plan = [&] {
        return product_row().plan(
            world, grid,
            {layout, types.compute, product.alpha, product.beta, a.view(), b.view(), c.view()});
      };
      auto const peer = plan(), other = plan();  // a process may have one handle
      if (has_stand_in()) {
        EXPECT_EQ(peer->implementation(), "cublasMpGemm of cuBLASMp 0.7.0, workspace 640 B");
      }
      for (int repetition = 0; repetition < 2; ++repetition) {
        fill(c.view(), layout.c, product.c0, world);
        peer->run();
      }
    }
    EXPECT_EQ(alive(), 0);
    measure::Verdict const verdict =
        check_product(product, layout, c.view(), world, core::Check::full);
    EXPECT_TRUE(verdict.valid) << verdict.detail;
  });
}

TEST(Cublasmp, TransposesOnEveryGrid) {
  for_grids(transpose_row(), [](core::GridShape grid, std::int64_t block,
                                kernels::Types const& types) {
    comm::World& world = test::world();
    PeerTranspose::Layout const layout = transpose_row().layout(grid, world.rank(), block, kSize);
    Source const source{DataKind::uniform, 7, 0};
    device::Matrix const a = allocated(layout.a, types.in), b = allocated(layout.b, types.in);
    fill(a.view(), layout.a, source, world);
    {
      transpose_row()
          .plan(world, grid, {layout, a.view(), b.view()})
          ->run();  // whatever B holds, NaN at first
    }
    EXPECT_EQ(alive(), 0);
    measure::Verdict const verdict =
        agree(world, compare("B", b.view(), region_of(layout.b, true), source, world, 1));
    EXPECT_TRUE(verdict.valid) << verdict.detail;
  });
}

TEST(Cublasmp, NamesTheCallThatFailed) {
  if (!has_stand_in()) GTEST_SKIP() << "there is none";
  comm::World& world = test::world();
  core::GridShape const grid{1, world.size()};
  ProductLayout const layout = product_row().layout(grid, world.rank(), 0, kSize);
  device::Matrix const a = allocated(layout.a, DataType::f32),
                       b = allocated(layout.b, DataType::f64),
                       c = allocated(layout.c, DataType::f64);
  EXPECT_FAILS(
      product_row().plan(world, grid,
                         {layout, core::Compute::automatic, 1, 0, a.view(), b.view(), c.view()}),
      "cublasMpMatrixDescriptorCreate: CUBLASMP_STATUS_NOT_SUPPORTED");
}

TEST(Cublasmp, TakesWhatEveryRankHasAPartOf) {
  auto const why = [](std::int64_t block, std::int64_t m, std::int64_t k) {
    return product_row().unsupported(
        product_row().layout({2, 3}, 0, block, std::array{m, std::int64_t{6}, k}),
        {DataType::f32, core::Compute::tf32});
  };
  EXPECT_EQ(why(0, 2, 6), "");
  EXPECT_NE(why(0, 1, 6), "");  // C has one row
  EXPECT_NE(why(0, 2, 2), "");  // the third column has nothing of A
  EXPECT_NE(why(4, 8, 24), "") << "6 columns are two blocks";
  auto const of = [](DataType type, core::Compute compute) {
    std::array<std::int64_t, 3> const size{8, 8, 8};
    return product_row().unsupported(product_row().layout({1, 1}, 0, 0, size),
                                     {type, core::compute_for(type, compute)});
  };
  EXPECT_EQ(of(DataType::bf16, core::Compute::automatic), "");
  EXPECT_EQ(of(DataType::f16, core::Compute::f16), "has no type f16:f16");
}

kernels::VariantInfo const& row_in(measure::WorkloadEntry const& entry) {
  return **std::ranges::find_if(entry.variants, [](kernels::VariantInfo const* row) {
    return row->role == kernels::Role::peer && row->where == kernels::Where::cuda;
  });
}

core::Config configured(std::string_view keys) {
  auto const config = core::resolve(fmt::format("[run]\ntransport = \"mpi\"\n[[case]]\n{}", keys),
                                    "test", {}, name_table());
  EXPECT_TRUE(config) << config.why();
  return *config;
}

/// As a case is measured and checked.
void expect_result(std::string const& keys) {
  SCOPED_TRACE(keys);
  comm::World& world = test::world();
  core::Config const config = configured(keys + "\ntype = \"f64\"\n");
  core::Case const& spec = config.cases.at(0);
  measure::WorkloadEntry const& entry = entry_of(*spec.workload);
  kernels::VariantInfo const& row = row_in(entry);
  {
    auto const workload = entry.make(spec, world.size(), world.rank());
    auto const reset = [&] {
      workload->reset(world, row);
      world.stream().synchronize();
    };
    for (std::uint64_t const seed : {1, 2}) {
      workload->prepare(world, seed, {&row});
      reset();
      workload->run(world, measure::Leg::overlapped, row);
      measure::Verdict const verdict = workload->validate(world);
      EXPECT_TRUE(verdict.valid) << verdict.detail;
      reset();
      EXPECT_FALSE(workload->validate(world).valid) << "before it ran again";
    }
    EXPECT_NE(workload->implementation(row).find("of cuBLASMp 0."), std::string::npos);
  }
  EXPECT_EQ(alive(), 0);
}

TEST(Cublasmp, IsMeasuredByBothWorkloads) {
  if (!has_library()) GTEST_SKIP() << "there is none";
  expect_result("workload = \"ptrans\"\nsize = \"(37,50)\"");
  expect_result("workload = \"ptrans\"\nsize = \"(37,50)\"\nblock = 4");
  std::string const product = "workload = \"summa\"\nsize = \"(37,50,43)\"\nalpha = 2\nbeta = -3\n";
  expect_result(product);
  expect_result(product + "block = 4");
  expect_result(product + "schedule = \"cannon\"");
  if (test::world().size() % 2 == 0) expect_result(product + "layers = 2");
}

// Before any case runs, and the same for both workloads.
TEST(Cublasmp, IsRefusedWithTheReason) {
  if (refusal() == nullptr) GTEST_SKIP() << "there is one";
  test::FakeDevice const gpu{device::Kind::cuda, test::facts_with(90, 132)};
  for (char const* workload : {"summa", "ptrans"}) {
    core::Config const config =
        configured(fmt::format("workload = \"{}\"\ntype = \"f32\"\nsize = 64\n", workload));
    core::Case const& spec = config.cases.at(0);
    measure::WorkloadEntry const& entry = entry_of(*spec.workload);
    kernels::VariantInfo const& row = row_in(entry);
    std::string const reason = entry.make(spec, 2, 0)->unsupported_reason(row, gpu);
    EXPECT_NE(reason.find(refusal()), std::string::npos) << workload << ": " << reason;
    EXPECT_EQ(library_unavailable(row), reason);
  }
}

}  // namespace
}  // namespace quadrille::workloads
