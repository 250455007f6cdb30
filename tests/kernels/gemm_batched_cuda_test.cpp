// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_groups.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

/// Many products in one launch.
namespace quadrille::kernels::gemm {
namespace {

using core::DataType;
using test::KernelMode;

Variant<Problem> const& variant() { return test::row(variants(), "batched", device::Kind::cuda); }

/// Groups that fill tiles, are shorter, or have no rows; several k-tiles, both edges of tiles.
TEST(GemmBatched, EqualsTheFormula) {
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    std::vector<std::int64_t> const equal(is_gpu ? 1000 : 5, 33), uneven{1, 0, 70, 32, 5};
    for (Layout const layout : kLayouts) {
      expect_groups<float>(variant(), equal, {0, 40, 35, 2, -1}, layout, device, stream);
      expect_groups<double>(variant(), uneven, {0, 37, 17, 1, 0.5}, layout, device, stream);
      expect_groups<float>(variant(), uneven, {0, 40, 36}, layout, device, stream, {}, true);
    }
    // Enough for tiles of 64.
    std::vector<std::int64_t> const many(is_gpu ? 300 : 5, 34);
    expect_groups<float>(variant(), many, {0, 70, 50}, Layout::nt, device, stream);
    expect_groups<double>(variant(), many, {0, 70, 20}, Layout::tn, device, stream);
  });
}

/// Also of one product.
TEST(GemmBatched, EqualsReferenceOfOneProduct) {
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (DataType const type : {DataType::f32, DataType::f64}) {
      for (Case const& spec : {Case{1, 1, 1}, {0, 8, 8}, {8, 16, 0, 1, -2}, {66, 70, 20, -1, 2}}) {
        expect_product(variant(), type, spec, Layout::tn, device, stream, {}, kUnaligned);
      }
      std::int64_t const edge = is_gpu ? 1111 : 65;
      expect_product(variant(), type, {edge, edge, 33}, Layout::nn, device, stream);
    }
  });
}

/// Of few tiles, whose k teams share: k-tiles for some of the teams, for all, and for rings that turn; as many
/// tiles as multiprocessors, and more.
TEST(GemmBatched, TeamsShareTheKOfFewTiles) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    std::int64_t const wide = std::int64_t{32} * device.facts().multiprocessors;
    for (Types const& types : variant().types) {
      for (std::int64_t const k : {40, 130, 700}) {
        expect_product(variant(), types, {20, 30, k, -1, 0.5}, Layout::nn, device, stream);
      }
      expect_product(variant(), types, {25, wide, 140}, Layout::tn, device, stream);
      expect_product(variant(), types, {25, wide + 40, 330, 1, 2}, Layout::nt, device, stream);
    }
  });
}

/// The vendor's calls for pointers and for unequal rows.
TEST(GemmBatched, VendorEqualsTheFormula) {
  if (test::kernel_mode() != KernelMode::gpu) GTEST_SKIP() << "has no library";
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    auto const& vendor = test::row(variants(), "vendor", device::Kind::cuda);
    for (bool const by_pointers : {false, true}) {
      for (std::vector<std::int64_t> const& rows :
           {std::vector<std::int64_t>{40, 40, 40}, {1, 70, 32, 5}}) {
        expect_groups<float>(vendor, rows, {0, 40, 35, 2, -1}, Layout::nn, device, stream, {},
                             by_pointers);
        expect_groups<double>(vendor, rows, {0, 37, 17}, Layout::tn, device, stream, {},
                              by_pointers);
        expect_groups<core::f16>(vendor, rows, {0, 48, 64}, Layout::nt, device, stream, {},
                                 by_pointers);
      }
    }
  });
}

}  // namespace
}  // namespace quadrille::kernels::gemm
