// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/asked_bytes.hpp"
#include "conv2d/conv2d.hpp"
#include "gemm/gemm_asked.hpp"
#include "memory/memory.hpp"
#include "reduction/reduction.hpp"
#include "simt/asked_bytes.hpp"
#include "simt/traffic.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "transpose/transpose.hpp"
#include "vector/vector.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::kernels {

void PrintTo(Requests const& x, std::ostream* out);
void PrintTo(Requests const& x, std::ostream* out) {
  *out << "{" << x.requests << ", " << x.parts << ", " << x.least << "} ";
}
void PrintTo(Accesses const& accesses, std::ostream* out);
void PrintTo(Accesses const& accesses, std::ostream* out) {
  for (Requests const& x : {accesses.global_loads, accesses.global_stores, accesses.shared_loads,
                            accesses.shared_stores}) {
    PrintTo(x, out);
  }
}

}  // namespace quadrille::kernels

/// Accesses that the interpreter counts, and the table that is made of them.
namespace quadrille::kernels {
namespace {

using simt::traffic::KernelCounts;
using test::DeviceArray;

/// Counts of the first kernel that `launch` launches, in one order.
Accesses counted(std::function<void()> const& launch) {
  simt::Schedule schedule;
  schedule.finds_races = false;
  simt::set_schedule(schedule);
  simt::traffic::start();
  launch();
  std::vector<KernelCounts> const all = simt::traffic::stop();
  EXPECT_FALSE(all.empty());
  return all.empty() ? Accesses{} : all[0].counts;
}

/// What its lanes asked for.
AskedBytes asked() { return simt::traffic::asked_bytes().at(0); }

/// The tables that are made.
struct Tables {
  std::vector<CountedAccesses> accesses;
  std::vector<CountedBytes> bytes;
  void add(CountedAccesses row, CountedBytes const& of_row) {
    accesses.push_back(std::move(row));
    bytes.push_back(of_row);
  }
};

constexpr std::array kTypes{core::DataType::f64, core::DataType::f32, core::DataType::f16,
                            core::DataType::i8};

gemm::Problem product(std::int64_t m, std::int64_t n, std::int64_t k, core::DataType type,
                      Configuration const& configuration) {
  gemm::Problem p;
  p.a = {nullptr, type, m, k, k};
  p.b = {nullptr, type, k, n, n};
  p.c = {nullptr, type, m, n, n};
  p.configuration = configuration;
  return p;
}

Accesses count(Variant<gemm::Problem> const& row, gemm::Problem p) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  std::vector<DeviceArray<double>> matrices;
  matrices.reserve(3);
  for (device::MatrixView* const x : {&p.a, &p.b, &p.c}) {
    matrices.emplace_back(device, stream,
                          std::vector<double>(static_cast<std::size_t>(x->rows * x->cols)));
    x->data = matrices.back().data();
  }
  return counted([&] { row.launch(p, stream); });
}

/// Counts one tile of C, with two numbers of tiles along k.
void count_tile(Variant<gemm::Problem> const& row, core::DataType type,
                Configuration const& configuration, Tables& all) {
  auto const [rows, cols, depth] = gemm::tile_of(row, configuration);
  std::int64_t const k = std::max<std::int64_t>(32, 2 * depth), k_tiles = k / depth;
  auto const at = [&](std::int64_t extent) {
    Accesses const accesses = count(row, product(rows, cols, extent, type, configuration));
    return std::pair{accesses, asked()};
  };
  auto const [shorter, shorter_bytes] = at(k);
  auto const [longer, longer_bytes] = at(2 * k);
  auto const of_k_tile = [&](Requests Accesses::*kind) {
    Requests const more = longer.*kind + -1 * (shorter.*kind);
    return Requests{more.requests / k_tiles, more.parts / k_tiles, more.least / k_tiles};
  };
  Accesses const k_tile{of_k_tile(&Accesses::global_loads), of_k_tile(&Accesses::global_stores),
                        of_k_tile(&Accesses::shared_loads), of_k_tile(&Accesses::shared_stores)};
  Accesses const block = shorter + -k_tiles * k_tile;
  EXPECT_EQ(block + 2 * k_tiles * k_tile, longer) << row.name;
  AskedBytes const more = longer_bytes + -1 * shorter_bytes;
  AskedBytes const k_tile_bytes{more.global_loads / k_tiles, more.global_stores / k_tiles,
                                more.shared_loads / k_tiles, more.shared_stores / k_tiles};
  AskedBytes const block_bytes = shorter_bytes + -k_tiles * k_tile_bytes;
  EXPECT_EQ(block_bytes + 2 * k_tiles * k_tile_bytes, longer_bytes) << row.name;
  all.add({gemm::Problem::kOperation, row.name, static_cast<int>(core::size_of(type)),
           configuration, block, k_tile},
          {block_bytes, k_tile_bytes});
}

/// Every configuration that is compiled; for rows without parameters one without values.
std::vector<Configuration> configurations_of(Variant<gemm::Problem> const& row) {
  if (row.tunable == nullptr) return {Configuration{}};
  return {row.tunable->compiled.begin(), row.tunable->compiled.end()};
}

void count_products(Tables& all) {
  for (Variant<gemm::Problem> const& row : gemm::variants()) {
    for (core::DataType const type : kTypes) {
      for (Configuration const& configuration : configurations_of(row)) {
        if (!row.supports(type) || gemm::tile_of(row, configuration).rows == 0) continue;
        count_tile(row, type, configuration, all);
      }
    }
  }
}

/// Of f32, added in f32.
Accesses count(Variant<reduction::Problem> const& row, std::int64_t n) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  DeviceArray<float> const x{device, stream, std::vector<float>(static_cast<std::size_t>(n), 1)};
  DeviceArray<double> const result{device, stream, 1};
  std::size_t const bytes = reduction::scratch_bytes(n);
  DeviceArray<unsigned char> const scratch{device, stream, std::vector<unsigned char>(bytes)};
  reduction::Problem p;
  p.x = x.data();
  p.n = n;
  p.type = p.accumulator = core::DataType::f32;
  p.result = result.data();
  p.scratch = scratch.data();
  p.scratch_bytes = bytes;
  return counted([&] { row.launch(p, stream); });
}

void count_reductions(Tables& all) {
  for (Variant<reduction::Problem> const& row : reduction::variants()) {
    std::int64_t const n = row.specifics.notes.block_elements;
    if (n == 0) continue;
    Accesses const accesses = count(row, n);
    all.add({reduction::Problem::kOperation, row.name, sizeof(float), {}, accesses, {}},
            {asked(), {}});
  }
}

transpose::Problem matrices(std::int64_t m, std::int64_t n, core::DataType type) {
  return {{nullptr, type, m, n, n}, {nullptr, type, n, m, m}};
}

/// Nothing where the row does not take the problem, or leaves copies to the hardware.
std::optional<Accesses> count(Variant<transpose::Problem> const& row, transpose::Problem p) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  std::vector<double> const values(static_cast<std::size_t>(p.in.rows * p.in.cols));
  DeviceArray<double> const in{device, stream, values}, out{device, stream, values};
  p.in.data = in.data();
  p.out.data = row.in_place ? in.data() : out.data();
  if (!row.unsupported_reason(p).empty()) return {};
  Accesses const accesses = counted([&] { row.launch(p, stream); });
  return accesses.global_loads.requests == 0 ? std::nullopt : std::optional{accesses};
}

void count_transposes(Tables& all) {
  for (Variant<transpose::Problem> const& row : transpose::variants()) {
    if (!test::is_cuda_row(row)) continue;
    for (core::DataType const type : kTypes) {
      auto const side = transpose::kCountedSide;
      auto const accesses = count(row, matrices(side, side, type));
      auto const bytes = static_cast<int>(core::size_of(type));
      if (!accesses) continue;
      all.add({transpose::Problem::kOperation, row.name, bytes, {}, *accesses, {}}, {asked(), {}});
    }
  }
}

Accesses count(Variant<vector::Problem> const& row, std::int64_t n, core::DataType type) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  std::int64_t const shift = row.specifics.notes.shift;
  std::vector<double> const values(static_cast<std::size_t>(n + shift));
  DeviceArray<double> const x{device, stream, values}, y{device, stream, values},
      out{device, stream, values};
  auto const first = [&](DeviceArray<double> const& of) {
    return reinterpret_cast<std::byte*>(of.data()) +
           shift * static_cast<std::int64_t>(core::size_of(type));
  };
  vector::Problem p;
  p.type = type;
  p.x = first(x);
  p.y = first(y);
  p.out = first(out);
  p.n = n;
  return counted([&] { row.launch(p, stream); });
}

void count_vectors(Tables& all) {
  for (Variant<vector::Problem> const& row : vector::variants()) {
    if (!test::is_cuda_row(row)) continue;
    for (core::DataType const type : {core::DataType::f64, core::DataType::f32}) {
      auto const bytes = static_cast<int>(core::size_of(type));
      Accesses const accesses = count(row, vector::kCountedElements, type);
      all.add({vector::Problem::kOperation, row.name, bytes, {}, accesses, {}}, {asked(), {}});
    }
  }
}

/// Leaves out zeros at the end.
std::string to_text(Accesses const& x) {
  std::vector<std::string> kinds;
  for (Requests const& kind : {x.global_loads, x.global_stores, x.shared_loads, x.shared_stores}) {
    std::string text;
    if (kind.requests != 0) text = fmt::format("{}, {}", kind.requests, kind.parts);
    if (kind.least != 0) text += fmt::format(", {}", kind.least);
    kinds.push_back("{" + text + "}");
  }
  while (!kinds.empty() && kinds.back() == "{}") kinds.pop_back();
  return fmt::format("{{{}}}", fmt::join(kinds, ", "));
}

std::string to_text(AskedBytes const& x) {
  return fmt::format("{{{}, {}, {}, {}}}", x.global_loads, x.global_stores, x.shared_loads,
                     x.shared_stores);
}

std::string to_text(Tables const& all) {
  std::string text = R"(// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/asked_bytes.hpp"

namespace quadrille::kernels {

/// Written by tests/kernels/access_test.cpp with what the interpreter counts, where the variable
/// QUADRILLE_WRITE_ACCESSES is set for kernels_access_test_simt; without it the test compares.
///
/// Operation, variant, bytes of an element, configuration; then the accesses of a block (of a product: of a
/// tile of C; of a transpose: of a matrix of kCountedSide rows; of a sum of vectors: of kCountedElements),
/// and of each tile along k. Accesses are loads and stores of global memory, {requests, sectors} each,
/// then of shared memory, {requests, wavefronts, wavefronts without bank conflicts}. Behind them the bytes
/// that all lanes ask for, of the same rows in the same order.
// clang-format off
inline constexpr CountedAccesses kCountedAccesses[] = {
)";
  for (CountedAccesses const& x : all.accesses) {
    std::string const configuration =
        x.configuration.is_empty()
            ? "{}"
            : fmt::format("Configuration{{{}}}", to_arguments(x.configuration));
    text += fmt::format("    {{\"{}\", \"{}\", {}, {}, {}", x.operation, x.variant, x.element_bytes,
                        configuration, to_text(x.block));
    text += x.k_tile == Accesses{} ? "},\n" : fmt::format(", {}}},\n", to_text(x.k_tile));
  }
  text += "};\ninline constexpr CountedBytes kCountedBytes[] = {\n";
  for (CountedBytes const& x : all.bytes) {
    text += fmt::format("    {{{}", to_text(x.block));
    text += x.k_tile == AskedBytes{} ? "},\n" : fmt::format(", {}}},\n", to_text(x.k_tile));
  }
  return text + R"(};
// clang-format on

}  // namespace quadrille::kernels
)";
}

TEST(CountedAccesses, AreWhatTheInterpreterCounts) {
  Tables all;
  count_products(all);
  count_reductions(all);
  count_transposes(all);
  count_vectors(all);
  std::string const now = to_text(all);
  if (std::getenv("QUADRILLE_WRITE_ACCESSES") != nullptr) std::ofstream{QUADRILLE_ACCESSES} << now;
  std::ifstream file{QUADRILLE_ACCESSES};
  std::string const written{std::istreambuf_iterator<char>{file}, {}};

  EXPECT_EQ(written, now);
}

/// Extents that the table was not made with: several blocks, other numbers of k-tiles.
TEST(CountedAccesses, GiveThoseOfOtherExtents) {
  int rows = 0;
  for (Variant<gemm::Problem> const& row : gemm::variants()) {
    auto const [tile_rows, tile_cols, depth] = gemm::tile_of(row, {});
    if (tile_rows == 0) continue;
    SCOPED_TRACE(std::string{row.name});
    ++rows;
    gemm::Problem const p =
        product(std::max<std::int64_t>(64, tile_rows), 2 * std::max<std::int64_t>(64, tile_cols),
                std::max<std::int64_t>(24, 3 * depth), core::DataType::f32, {});

    auto const traffic = gemm::traffic_of(row, p);

    ASSERT_TRUE(traffic);
    EXPECT_EQ(traffic->accesses, count(row, p));
    EXPECT_EQ(gemm::asked_of(row, p)->bytes, asked());
  }
  // Not those that share tiles of C among blocks, or whose copies the hardware makes
  // (TMA), nor 16-bit products.
  EXPECT_EQ(rows, 58);
}

/// Blocks that are not full add zeros.
TEST(CountedAccesses, GiveThoseOfMoreBlocks) {
  int rows = 0;
  for (Variant<reduction::Problem> const& row : reduction::variants()) {
    constexpr std::int64_t kElements = 5 * 256 - 1;
    auto const accesses = reduction::accesses_of(row, kElements);
    if (!accesses) continue;
    SCOPED_TRACE(std::string{row.name});
    ++rows;
    Accesses const got = count(row, kElements);
    EXPECT_EQ(accesses->shared_loads, got.shared_loads);
    EXPECT_EQ(accesses->shared_stores, got.shared_stores);
  }
  EXPECT_EQ(rows, 6);
}

TEST(CountedAccesses, GiveThoseOfOtherMatrices) {
  int rows = 0;
  for (Variant<transpose::Problem> const& row : transpose::variants()) {
    auto const p = matrices(256, 512, core::DataType::f32);
    auto const counted = transpose::accesses_of(row, p);
    if (!counted || row.in_place) continue;
    SCOPED_TRACE(std::string{row.name});
    ++rows;
    EXPECT_EQ(counted->parts, 2);
    EXPECT_EQ(counted->accesses(), count(row, p));
    EXPECT_EQ(counted->bytes(), asked());
    EXPECT_EQ(transpose::accesses_of(row, matrices(264, 512, core::DataType::f32))->parts, 0);
  }
  EXPECT_EQ(rows, 9);
}

TEST(CountedAccesses, GiveThoseOfOtherVectors) {
  int rows = 0;
  for (Variant<vector::Problem> const& row : vector::variants()) {
    if (!test::is_cuda_row(row)) continue;
    SCOPED_TRACE(std::string{row.name});
    ++rows;
    vector::Problem p;
    p.type = core::DataType::f32;
    p.n = 3 * vector::kCountedElements;
    auto const counted = vector::accesses_of(row, p);
    ASSERT_TRUE(counted);
    EXPECT_EQ(counted->accesses(), count(row, p.n, p.type));
    EXPECT_EQ(counted->bytes(), asked());
    p.n += 1;
    EXPECT_FALSE(vector::accesses_of(row, p));
  }
  EXPECT_GE(rows, 6);
}

/// The figures of the note on Nsight Compute: 8Mi elements, each index one further than aligned.
TEST(CountedAccesses, HaveTheSectorsOfShiftedSums) {
  auto const sums = [](std::string_view name) {
    vector::Problem p;
    p.type = core::DataType::f32;
    p.n = std::int64_t{1} << 23;
    return *vector::accesses_of(test::row(vector::variants(), name, device::Kind::cuda), p);
  };
  constexpr std::int64_t kWarps = (1 << 23) / 32;
  Accesses const shifted = sums("misaligned").accesses(), aligned = sums("one_element").accesses();
  EXPECT_EQ(shifted.global_loads, (Requests{2 * kWarps, 2'621'440, 0}));
  EXPECT_EQ(shifted.global_stores, (Requests{kWarps, 1'310'720, 0}));
  EXPECT_EQ(aligned.global_loads, (Requests{2 * kWarps, 2'097'152, 0}));
  EXPECT_EQ(aligned.global_stores, (Requests{kWarps, 1'048'576, 0}));
  EXPECT_EQ(sums("misaligned").bytes().global(), std::int64_t{3 * 4} << 23);
}

/// Two blocks of four take a second tile.
TEST(CountedAccesses, OfPersistentBlocksAreThoseOfTheirTiles) {
  auto const& row = test::row(gemm::variants(), "persistent", device::Kind::cuda);
  gemm::Problem const p = product(256, 768, 64, core::DataType::f32, {});
  EXPECT_EQ(gemm::traffic_of(row, p)->accesses, count(row, p));
}

TEST(CountedAccesses, OfTunableRowsAreThoseOfTheConfiguration) {
  auto const traffic_of = [](std::string_view name, std::string_view configuration) {
    auto const& row = test::row(gemm::variants(), name, device::Kind::cuda);
    Configuration const c =
        configuration.empty() ? Configuration{} : *parse_configuration(*row.tunable, configuration);
    auto const traffic = gemm::traffic_of(row, product(256, 256, 64, core::DataType::f32, c));
    return traffic ? traffic->accesses : Accesses{};
  };
  EXPECT_EQ(traffic_of("tuned_tiles", ""), traffic_of("tuned_128x128x16_8x8", ""));
  EXPECT_EQ(traffic_of("tuned_tiles", "BM=64,BN=64,BK=16,TM=8,TN=4"),
            traffic_of("tuned_64x64x16_8x4", ""));
  EXPECT_EQ(traffic_of("simt_async", "TILE=64x128"), traffic_of("simt_async_64x128", ""));
  // A tile that is not compiled, and one that the device chooses, have not been counted.
  EXPECT_EQ(traffic_of("tuned_tiles", "BM=64,BN=64,BK=8,TM=4,TN=4"), Accesses{});
  EXPECT_EQ(traffic_of("simt_async", ""), Accesses{});
}

CountedAccesses const& accesses_of_f32(std::string_view name) {
  auto const& row = test::row(gemm::variants(), name, device::Kind::cuda);
  CountedAccesses const* const found = find_accesses("gemm", row, sizeof(float));
  QUAD_REQUIRE(found != nullptr, "no accesses of " + std::string{name});
  return *found;
}

/// The documents' figures: loads of threads for each result and k.
TEST(CountedAccesses, HaveTheLoadsOfTheLadder) {
  using Loads = std::pair<double, double>;  // of global, of shared memory
  auto const loads = [](std::string_view name) {
    auto const of = gemm::asked_of(test::row(gemm::variants(), name, device::Kind::cuda),
                                   product(256, 256, 64, core::DataType::f32, {}));
    return Loads{of->global_loads, of->shared_loads};
  };
  EXPECT_EQ(loads("naive"), (Loads{2, 0}));
  EXPECT_EQ(loads("shared_tile"), (Loads{1.0 / 16, 2}));
  EXPECT_EQ(loads("shared_tile_16"), (Loads{1.0 / 8, 2}));
  EXPECT_EQ(loads("thread_tile_1d"), (Loads{1.0 / 32, 9.0 / 8}));
  EXPECT_EQ(loads("thread_tile_2d"), (Loads{1.0 / 64, 1.0 / 4}));
  EXPECT_EQ(loads("vectorized"), (Loads{1.0 / 64, 1.0 / 4}));
}

/// Each thread reads a row of A and a column of B: 548 GB, where nothing is cached.
TEST(CountedAccesses, HaveTheTrafficOfTheNaiveProduct) {
  auto const& [block, k_tile] = bytes_of(accesses_of_f32("naive"));
  constexpr double kSize = 4092, kTile = 32;  // of the document
  double const each = (static_cast<double>(k_tile.global_loads) * kSize +
                       static_cast<double>(block.global_stores)) /
                      (kTile * kTile);
  EXPECT_EQ(each, 4 * (2 * kSize + 1));
  EXPECT_NEAR(each * kSize * kSize, 548e9, 0.5e9);
}

/// Lanes of a warp are in rows of their own, or along a row: 32 sectors or 4 of a matrix, and one of the
/// other.
TEST(CountedAccesses, AreCoalescedOrNot) {
  constexpr std::int64_t kWarps = 32;
  CountedAccesses const& naive = accesses_of_f32("naive");
  EXPECT_EQ(naive.block.global_stores, (Requests{kWarps, 32 * kWarps, 0}));
  EXPECT_EQ(naive.k_tile.global_loads, (Requests{2 * kWarps, (32 + 1) * kWarps, 0}));
  CountedAccesses const& coalesced = accesses_of_f32("coalesced");
  EXPECT_EQ(coalesced.block.global_stores, (Requests{kWarps, 4 * kWarps, 0}));
  EXPECT_EQ(coalesced.k_tile.global_loads, (Requests{2 * kWarps, (4 + 1) * kWarps, 0}));
}

/// A tile that is asked for does what its own row does, and no other tile does that.
TEST(GemmAccess, TunedTilesAreThoseThatAreAskedFor) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  constexpr std::int64_t kM = 256, kN = 256, kK = 64;
  DeviceArray<float> const a{device, stream, std::vector<float>(kM * kK, 1)};
  DeviceArray<float> const b{device, stream, std::vector<float>(kK * kN, 1)};
  DeviceArray<float> const c{device, stream, std::vector<float>(kM * kN, 1)};
  constexpr core::DataType kType = core::DataType::f32;
  gemm::Problem problem;
  problem.a = {a.data(), kType, kM, kK, kK};
  problem.b = {b.data(), kType, kK, kN, kN};
  problem.c = {c.data(), kType, kM, kN, kN};
  auto const shared_loads = [&](std::string_view row, Configuration const& configuration) {
    problem.configuration = configuration;
    return counted([&] {
             test::row(gemm::variants(), row, device::Kind::cuda).launch(problem, stream);
           })
        .shared_loads.requests;
  };
  Tunable const& tunable = *test::row(gemm::variants(), "simt_async", device::Kind::cuda).tunable;
  std::set<std::int64_t> different;
  for (std::string const tile : {"128x256", "128x128", "64x128", "64x64"}) {
    std::int64_t const own = shared_loads("simt_async_" + tile, {});
    EXPECT_EQ(shared_loads("simt_async", *parse_configuration(tunable, "TILE=" + tile)), own)
        << tile;
    different.insert(own);
  }
  EXPECT_EQ(different.size(), 4U);
  // The best by the model for four multiprocessors.
  EXPECT_EQ(shared_loads("simt_async", {}), shared_loads("simt_async_64x128", {}));
  EXPECT_EQ(shared_loads("simt_async", *parse_configuration(tunable, "TILE=chosen")),
            shared_loads("simt_async_64x128", {}));
}

/// Fragments of 16-bit products: rows that are read at once lie in the same banks unless their pieces
/// are swapped.
TEST(GemmAccess, PiecesThatChangePlacesHaveNoConflicts) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  constexpr std::int64_t kM = 256, kN = 128, kK = 32;
  constexpr core::DataType kType = core::DataType::f16;
  DeviceArray<core::f16> const a{device, stream, std::vector<core::f16>(kM * kK)};
  DeviceArray<core::f16> const b{device, stream, std::vector<core::f16>(kN * kK)};
  DeviceArray<core::f16> const c{device, stream, std::vector<core::f16>(kM * kN)};
  for (bool const transpose_b : {false, true}) {
    gemm::Problem problem;
    problem.a = {a.data(), kType, kM, kK, kK};
    problem.b = {b.data(), kType, transpose_b ? kN : kK, transpose_b ? kK : kN,
                 transpose_b ? kK : kN};
    problem.c = {c.data(), kType, kM, kN, kN};
    problem.transpose_b = transpose_b;
    problem.compute = core::Compute::f16;
    auto const counts = [&](std::string_view row) {
      return counted(
          [&] { test::row(gemm::variants(), row, device::Kind::cuda).launch(problem, stream); });
    };
    auto const conflicts = [&](std::string_view row) {
      return counts(row).shared_loads.conflicts();
    };
    // 64 loads of fragments of A and as many of B: of eight rows that each of their four parts reads,
    // four lie in the same banks, and all eight where rows have 128 elements.
    std::int64_t const fragments = 64 * 12 + 64 * (transpose_b ? 12 : 28);
    // Rows on their way to C, which g++ reads by single elements.
    constexpr std::int64_t kStrips = 1024 * 3;
    EXPECT_EQ(conflicts("mma_base"), fragments + kStrips) << transpose_b;
    EXPECT_EQ(conflicts("mma_permuted"), kStrips) << transpose_b;
    EXPECT_EQ(conflicts("mma_async_stage4"), kStrips) << transpose_b;
    EXPECT_EQ(counts("mma_async_stage4").shared_stores.conflicts(), 0) << transpose_b;
    // Warps store whole rows of C: two of 256 bytes at once.
    EXPECT_EQ(counts("mma_async_stage4").global_stores.requests, kM * kN * 2 / 512) << transpose_b;
  }
}

// One block and tile of f32, 128 x 128 x 8 for most, 8 warps. Words of B that a warp reads are 8 apart:
// 4-way unless they are reordered, and padding rows changes nothing. Storing A transposed is 8-way by
// single words, 2-way by four; storing B is free by 16 bytes, 4-way by single words, 2-way reordered.
TEST(CountedAccesses, HaveTheBankConflictsOfTheLadder) {
  using Conflicts = std::pair<std::int64_t, std::int64_t>;  // loads, stores
  auto const conflicts = [](std::string_view name) {
    Accesses const& of = accesses_of_f32(name).k_tile;
    return Conflicts{of.shared_loads.conflicts(), of.shared_stores.conflicts()};
  };
  constexpr std::int64_t kOfB = 8 * 8 * 8 * 3;
  EXPECT_EQ(conflicts("shared_tile"), (Conflicts{0, 0}));
  EXPECT_EQ(conflicts("transposed_a"), (Conflicts{kOfB, 8 * 4 * 7}));
  EXPECT_EQ(conflicts("vectorized"), (Conflicts{kOfB, 8 * 4}));
  // Two warps; of four rows of 9 that one stores, the last ends in the banks of the first.
  EXPECT_EQ(conflicts("thread_tile_2d_strided_1x1_unpadded"), (Conflicts{0, 0}));
  EXPECT_EQ(conflicts("thread_tile_2d_strided_1x1"), (Conflicts{0, 2}));
  EXPECT_EQ(conflicts("vectorized_without_a"), (Conflicts{kOfB, 0}));
  EXPECT_EQ(conflicts("vectorized_one_word_of_b"), (Conflicts{kOfB, 8 * 4 + 8 * 3}));
  EXPECT_EQ(conflicts("swizzled_b"), (Conflicts{0, 8 * 4 + 8 * 4}));
  EXPECT_EQ(conflicts("padded_b"), (Conflicts{kOfB, 8 * 4 + 8 * 4 * 3}));
  // Neighbours read neighbouring vectors. Of 16 k at a time four lanes store to a bank, or 16 if they
  // copy words; with padding between rows, and 8 k at a time, one.
  EXPECT_EQ(conflicts("warp_tile"), (Conflicts{0, 8 * 8 * 3}));
  EXPECT_EQ(conflicts("double_buffer_async"), (Conflicts{0, 8 * 8 * 15}));
  EXPECT_EQ(conflicts("multistage"), (Conflicts{0, 0}));
}

// Each warp reads half of a tile's columns and 32 rows, in parts of 128 bytes, and stages what it has
// of C. Four tiles of 128 x 128, which fill the multiprocessors, or two of 128 x 64.
TEST(GemmAccess, DmmaHasNoBankConflicts) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  DeviceArray<double> const x{device, stream, std::vector<double>(128 * 512, 1.0)};
  auto const view = [&](std::int64_t rows, std::int64_t cols) {
    return device::MatrixView{x.data(), core::DataType::f64, rows, cols, cols};
  };
  Variant<gemm::Problem> const& row = test::row(gemm::variants(), "dmma", device::Kind::cuda);
  for (auto const& [n, tiles, columns] : {std::array{512, 4, 64}, std::array{128, 2, 32}}) {
    for (int layout = 0; layout < 4; ++layout) {
      bool const ta = layout % 2 != 0, tb = layout / 2 != 0;
      device::MatrixView const b = tb ? view(n, 128) : view(128, n);

      Accesses const counts = counted([&] {
        row.launch({view(128, 128), b, view(128, n), 1, 0, ta, tb}, stream);
      });

      EXPECT_EQ(counts.shared_loads.parts, tiles * 8 * 128 * (columns + 32) * 8 / 128) << layout;
      EXPECT_EQ(counts.shared_loads.least, counts.shared_loads.parts) << layout;
      EXPECT_EQ(counts.shared_stores.parts, 128 * n * 8 / 128) << layout;
      EXPECT_EQ(counts.shared_stores.least, counts.shared_stores.parts) << layout;
    }
  }
}

TEST(MemoryAccess, StridedReadsHaveTheirDegreeOfConflicts) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  constexpr std::int64_t kBytes = 2 * memory::kTileBytes;
  DeviceArray<std::uint32_t> const window{device, stream, std::vector<std::uint32_t>(kBytes / 4)};
  DeviceArray<std::uint32_t> const result{device, stream, 256};
  Variant<memory::Problem> const& row =
      test::row(memory::variants(), "read_shared_strided", device::Kind::cuda);
  for (int const width : {2, 4, 8, 16}) {
    for (int const stride : {1, 2, 3, 4, 5, 8, 12, 16, 32, 64}) {
      SCOPED_TRACE(fmt::format("width {} stride {}", width, stride));
      Requests const loads =
          counted([&] {
            row.launch({window.data(), kBytes, 1, 1, result.data(), -1, width, stride}, stream);
          }).shared_loads;

      EXPECT_EQ(loads.requests, memory::kTileBytes / width / 32);
      EXPECT_EQ(loads.parts, memory::conflict_degree(width, stride) * loads.least);
    }
  }
  // By the guide: 4 bytes of 32 lanes, 8 of 16, 16 of 8; two neighbours share a word of 2 bytes each.
  EXPECT_EQ(memory::conflict_degree(4, 1), 1);
  EXPECT_EQ(memory::conflict_degree(4, 2), 2);
  EXPECT_EQ(memory::conflict_degree(4, 3), 1);
  EXPECT_EQ(memory::conflict_degree(4, 64), 32);
  EXPECT_EQ(memory::conflict_degree(2, 4), 2);
  EXPECT_EQ(memory::conflict_degree(8, 16), 16);
  EXPECT_EQ(memory::conflict_degree(16, 8), 8);
}

TEST(CountedAccesses, OfTilesThatDoNotFillTheMatricesAreNotKnown) {
  auto const& row = test::row(gemm::variants(), "vectorized", device::Kind::cuda);
  auto const traffic_of = [&](std::int64_t m, std::int64_t n, std::int64_t k, double beta = 0) {
    gemm::Problem p = product(m, n, k, core::DataType::f32, {});
    p.beta = beta;
    return gemm::traffic_of(row, p);
  };
  EXPECT_TRUE(traffic_of(128, 128, 8));
  EXPECT_FALSE(traffic_of(129, 128, 8));
  EXPECT_FALSE(traffic_of(128, 64, 8));
  EXPECT_FALSE(traffic_of(128, 128, 12));
  EXPECT_FALSE(traffic_of(128, 128, 8, 1));
  // Four tiles of A and of B, 128 sectors each; of C 16 for each row, written in halves.
  EXPECT_EQ(traffic_of(256, 128, 16)->l2_bytes, 32 * (4 * 2 * 128 + 2 * 256 * 16));
}

/// y begins `y_offset` elements behind an aligned address.
template <class T>
Accesses counts_of(std::string_view name, conv2d::Shape const& shape, core::Compute compute,
                   std::int64_t y_offset = 0) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  conv2d::Problem p =
      conv2d::unallocated(shape, conv2d::DataLayout::nchw, core::type_of<T>(), compute);
  auto const tensor = [&](device::MatrixView const& view, std::int64_t offset) {
    auto const elements = static_cast<std::size_t>(view.rows * view.cols + offset);
    return DeviceArray<T>{device, stream, std::vector<T>(elements, T{1})};
  };
  auto const x = tensor(p.x, 0), w = tensor(p.w, 0), y = tensor(p.y, y_offset);
  p.x.data = x.data();
  p.w.data = w.data();
  p.y.data = y.data() + y_offset;
  auto const& variant = test::row(conv2d::variants(), name, device::Kind::cuda);
  return counted([&] { variant.launch(p, stream); });
}

/// Also where taps of one load are of two rows of a filter. Of odd lines, lanes skip loads of
/// outputs that they do not store: of one filter, so that the interpreter does not take two for one
/// request.
TEST(Conv2dAccess, OfFewChannelsHasNoBankConflicts) {
  conv2d::Shape const strided3{
      .n = 1, .c = 3, .h = 33, .w = 33, .k = 32, .r = 3, .s = 3, .stride = 2};
  conv2d::Shape const strided7{
      .n = 1, .c = 3, .h = 37, .w = 37, .k = 64, .r = 7, .s = 7, .stride = 2};
  conv2d::Shape const dense3{.n = 1, .c = 3, .h = 18, .w = 18, .k = 32, .r = 3, .s = 3};
  conv2d::Shape const odd3{.n = 1, .c = 3, .h = 19, .w = 70, .k = 1, .r = 3, .s = 3};
  for (conv2d::Shape const& shape : {strided3, strided7, dense3, odd3}) {
    SCOPED_TRACE(shape.h);
    for (Accesses const& counts :
         {counts_of<float>("few_channels", shape, core::Compute::automatic),
          counts_of<float>("few_channels_mma", shape, core::Compute::tf32),
          counts_of<core::f16>("few_channels_mma", shape, core::Compute::automatic)}) {
      EXPECT_GT(counts.shared_loads.parts, 0);
      EXPECT_EQ(counts.shared_loads.parts, counts.shared_loads.least);
    }
  }
}

/// Lines that are whole sectors, but for where they begin: each is in one part more. They are of
/// one filter, as above.
TEST(Conv2dAccess, OfFewChannelsStoresSectorsOnce) {
  conv2d::Shape const shape{.n = 1, .c = 3, .h = 11, .w = 98, .k = 1, .r = 3, .s = 3};
  std::int64_t const lines = shape.out_h();
  for (std::int64_t const offset : {0, 1, 7}) {
    SCOPED_TRACE(offset);
    std::int64_t const ends = offset == 0 ? 0 : lines;
    auto const f32 = counts_of<float>("few_channels", shape, core::Compute::automatic, offset);
    EXPECT_EQ(f32.global_stores.parts, lines * 96 / 8 + ends);
    auto const tf32 = counts_of<float>("few_channels_mma", shape, core::Compute::tf32, offset);
    EXPECT_EQ(tf32.global_stores.parts, lines * 96 / 8 + ends);
    auto const f16 =
        counts_of<core::f16>("few_channels_mma", shape, core::Compute::automatic, offset);
    EXPECT_EQ(f16.global_stores.parts, lines * 96 / 16 + ends);
  }
}

}  // namespace
}  // namespace quadrille::kernels
