// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "conv2d/conv2d.hpp"
#include "gemm/gemm.hpp"
#include "reduction/reduction.hpp"
#include "simt/traffic.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "transpose/transpose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace quadrille::simt::traffic {

void PrintTo(Count const& count, std::ostream* out);
void PrintTo(Count const& count, std::ostream* out) {
  *out << count.requests << " requests, " << count.parts << " parts, least " << count.least;
}

}  // namespace quadrille::simt::traffic

/// What techniques say of their accesses, beside what the interpreter sees them do.
namespace quadrille::kernels {
namespace {

using simt::traffic::Count;
using simt::traffic::Counts;
using simt::traffic::KernelCounts;
using test::DeviceArray;

/// Of the first kernel that `launch` launches, in one order.
Counts counted(std::function<void()> const& launch) {
  simt::Schedule schedule;
  schedule.finds_races = false;
  simt::set_schedule(schedule);
  simt::traffic::start();
  launch();
  std::vector<KernelCounts> const all = simt::traffic::stop();
  EXPECT_FALSE(all.empty());
  return all.empty() ? Counts{} : all[0].counts;
}

Count as_counted(gemm::Requests const& predicted) {
  return {predicted.requests, predicted.parts, predicted.least};
}

/// At least so many rows and columns, two of the row's tiles along k.
template <class T>
void expect_predicted(Variant<gemm::Problem> const& row, std::int64_t min_m, std::int64_t min_n,
                      Configuration const& configuration = {}) {
  SCOPED_TRACE(std::string{row.name});
  gemm::Problem p;
  p.configuration = configuration;
  gemm::Pattern const pattern = gemm::pattern_of(row, p);
  std::int64_t const m = std::max(min_m, pattern.rows);
  std::int64_t const n = std::max(min_n, pattern.cols);
  std::int64_t const k = std::max<std::int64_t>(32, 2 * pattern.depth);
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  auto const matrix = [&](std::int64_t rows, std::int64_t cols) {
    return DeviceArray<T>{device, stream,
                          std::vector<T>(static_cast<std::size_t>(rows * cols), T{1})};
  };
  auto const a = matrix(m, k), b = matrix(k, n), c = matrix(m, n);
  constexpr core::DataType kType = core::type_of<T>();
  p.a = {a.data(), kType, m, k, k};
  p.b = {b.data(), kType, k, n, n};
  p.c = {c.data(), kType, m, n, n};

  Counts const got = counted([&] { row.launch(p, stream); });
  auto const want = gemm::traffic_of(pattern, m, n, k, sizeof(T));

  ASSERT_TRUE(want);
  EXPECT_EQ(got.global_loads, as_counted(want->global_loads)) << "global loads";
  EXPECT_EQ(got.global_stores, as_counted(want->global_stores)) << "global stores";
  EXPECT_EQ(got.shared_loads, as_counted(want->shared_loads)) << "shared loads";
  EXPECT_EQ(got.shared_stores, as_counted(want->shared_stores)) << "shared stores";
}

TEST(GemmAccess, IsWhatTheInterpreterCounts) {
  int described = 0;
  for (Variant<gemm::Problem> const& row : gemm::variants()) {
    if (gemm::pattern_of(row, {}).accesses.empty()) continue;
    ++described;
    expect_predicted<float>(row, 128, 256);
    if (row.supports(core::DataType::f64)) expect_predicted<double>(row, 128, 128);
  }
  // Not those that split k as the device has multiprocessors, or whose copies the hardware makes
  // (TMA), nor 16-bit products.
  EXPECT_EQ(described, 48);
}

/// How often the accesses of a pattern to an operand have each element of its tile; empty if any lies
/// outside.
std::vector<int> times_accessed(gemm::Pattern const& pattern, gemm::Memory memory,
                                std::int64_t rows, std::int64_t cols) {
  std::vector<int> times(static_cast<std::size_t>(rows * cols));
  for (gemm::Access const& access : pattern.accesses) {
    if (access.memory != memory) continue;
    for (int thread = 0; thread < pattern.threads; ++thread) {
      for (int step = 0; step < access.steps; ++step) {
        gemm::Place const place = access.at(thread, step);
        if (place == gemm::kNowhere) continue;
        if (place.row >= rows || place.col + access.elements > cols) return {};
        for (int e = 0; e < access.elements; ++e) {
          ++times[static_cast<std::size_t>(place.row * cols + place.col + e)];
        }
      }
    }
  }
  return times;
}

/// Counts are the same for other sectors, and other banks: what is copied has to be the tiles.
TEST(GemmAccess, CopiesTheTilesOnce) {
  for (Variant<gemm::Problem> const& row : gemm::variants()) {
    gemm::Pattern const pattern = gemm::pattern_of(row, {});
    // A demonstration leaves something out.
    if (pattern.accesses.empty() || row.role == Role::demonstration) continue;
    SCOPED_TRACE(std::string{row.name});
    auto const [threads, rows, cols, depth, accesses] = pattern;
    auto const once = [](std::int64_t elements) {
      return std::vector<int>(static_cast<std::size_t>(elements), 1);
    };

    EXPECT_EQ(times_accessed(pattern, gemm::Memory::c, rows, cols), once(rows * cols));
    if (depth == 1) continue;  // without tiles of A and B
    EXPECT_EQ(times_accessed(pattern, gemm::Memory::a, rows, depth), once(rows * depth));
    EXPECT_EQ(times_accessed(pattern, gemm::Memory::b, depth, cols), once(depth * cols));
  }
}

/// Two blocks of four take a second tile.
TEST(GemmAccess, OfPersistentBlocksIsThatOfTheirTiles) {
  expect_predicted<float>(test::row(gemm::variants(), "persistent", device::Kind::cuda), 256, 768);
}

TEST(GemmAccess, OfTunedTilesIsThatOfTheConfiguration) {
  auto const& row = test::row(gemm::variants(), "tuned_tiles", device::Kind::cuda);
  gemm::Problem problem;
  EXPECT_EQ(gemm::pattern_of(row, problem).depth, row.tunable->preset[2]);
  expect_predicted<float>(row, 128, 256,
                          *parse_configuration(*row.tunable, "BM=64,BN=64,BK=16,TM=8,TN=4"));
  // Of a tile that is not compiled nobody has described the accesses.
  problem.configuration = *parse_configuration(*row.tunable, "BM=64,BN=64,BK=8,TM=4,TN=4");
  EXPECT_TRUE(gemm::pattern_of(row, problem).accesses.empty());
  auto const& ring = test::row(gemm::variants(), "simt_async", device::Kind::cuda);
  EXPECT_TRUE(gemm::pattern_of(ring, {}).accesses.empty());
  expect_predicted<float>(ring, 128, 256, *parse_configuration(*ring.tunable, "TILE=64x128"));
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
    auto const conflicts = [&](std::string_view row) {
      Count const loads =
          counted([&] {
            test::row(gemm::variants(), row, device::Kind::cuda).launch(problem, stream);
          }).shared_loads;
      return loads.parts - loads.least;
    };
    // 64 loads of fragments of A and as many of B: of eight rows that each of their four parts reads,
    // four lie in the same banks, and all eight where rows have 128 elements.
    std::int64_t const fragments = 64 * 12 + 64 * (transpose_b ? 12 : 28);
    // Rows on their way to C, which g++ reads by single elements.
    constexpr std::int64_t kStrips = 1024 * 3;
    EXPECT_EQ(conflicts("mma_base"), fragments + kStrips) << transpose_b;
    EXPECT_EQ(conflicts("mma_permuted"), kStrips) << transpose_b;
    EXPECT_EQ(conflicts("mma_async_stage4"), kStrips) << transpose_b;
  }
}

// One block and tile of f32, 128 x 128 x 8 for most, 8 warps. Words of B that a warp reads are 8 apart:
// 4-way unless they are reordered, and padding rows changes nothing. Storing A transposed is 8-way by
// single words, 2-way by four; storing B is free by 16 bytes, 4-way by single words, 2-way reordered.
TEST(GemmAccess, HasTheBankConflictsOfTheLadder) {
  using Conflicts = std::pair<std::int64_t, std::int64_t>;  // loads, stores
  auto const conflicts = [](std::string_view name) {
    auto const& row = test::row(gemm::variants(), name, device::Kind::cuda);
    auto const& pattern = row.specifics.notes.pattern;
    auto const traffic = gemm::traffic_of(pattern, pattern.rows, pattern.cols, pattern.depth, 4);
    return traffic ? Conflicts{traffic->shared_loads.parts - traffic->shared_loads.least,
                               traffic->shared_stores.parts - traffic->shared_stores.least}
                   : Conflicts{-1, -1};
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

      Counts const counts = counted([&] {
        row.launch({view(128, 128), b, view(128, n), 1, 0, ta, tb}, stream);
      });

      EXPECT_EQ(counts.shared_loads.parts, tiles * 8 * 128 * (columns + 32) * 8 / 128) << layout;
      EXPECT_EQ(counts.shared_loads.least, counts.shared_loads.parts) << layout;
      EXPECT_EQ(counts.shared_stores.parts, 128 * n * 8 / 128) << layout;
      EXPECT_EQ(counts.shared_stores.least, counts.shared_stores.parts) << layout;
    }
  }
}

TEST(GemmAccess, OfTilesThatDoNotFillTheMatricesIsNotPredicted) {
  auto const& pattern =
      test::row(gemm::variants(), "vectorized", device::Kind::cuda).specifics.notes.pattern;
  EXPECT_TRUE(gemm::traffic_of(pattern, 128, 128, 8, 4));
  EXPECT_FALSE(gemm::traffic_of(pattern, 129, 128, 8, 4));
  EXPECT_FALSE(gemm::traffic_of(pattern, 128, 64, 8, 4));
  EXPECT_FALSE(gemm::traffic_of(pattern, 128, 128, 12, 4));
  EXPECT_FALSE(gemm::traffic_of({}, 128, 128, 8, 4));
  // Four tiles of A and of B, 128 sectors each; of C 16 for each row, written in halves.
  EXPECT_EQ(gemm::traffic_of(pattern, 256, 128, 16, 4)->l2_bytes,
            32 * (4 * 2 * 128 + 2 * 256 * 16));
}

/// y begins `y_offset` elements behind an aligned address.
template <class T>
Counts counts_of(std::string_view name, conv2d::Shape const& shape, core::Compute compute,
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
    for (Counts const& counts :
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

TEST(ReductionAccess, IsWhatTheInterpreterCounts) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  constexpr std::int64_t kBlocks = 3, kElements = kBlocks * 256;
  DeviceArray<float> const x{device, stream, std::vector<float>(kElements, 1)};
  DeviceArray<double> const result{device, stream, 1};
  auto const bytes = static_cast<std::int64_t>(reduction::scratch_bytes(kElements));
  DeviceArray<unsigned char> const scratch{
      device, stream, std::vector<unsigned char>(static_cast<std::size_t>(bytes))};
  reduction::Problem p;
  p.x = x.data();
  p.n = kElements;
  p.type = p.accumulator = core::DataType::f32;
  p.result = result.data();
  p.scratch = scratch.data();
  p.scratch_bytes = static_cast<std::size_t>(bytes);
  int described = 0;
  for (Variant<reduction::Problem> const& row : reduction::variants()) {
    if (row.specifics.notes.conflicts == nullptr) continue;
    SCOPED_TRACE(std::string{row.name});
    ++described;

    Counts const got = counted([&] { row.launch(p, stream); });

    reduction::Conflicts const want = row.specifics.notes.conflicts(kElements);
    EXPECT_EQ(got.shared_loads.parts - got.shared_loads.least, want.loads);
    EXPECT_EQ(got.shared_stores.parts - got.shared_stores.least, want.stores);
    EXPECT_EQ(got.global_loads, (Count{kElements / 32, kElements / 8, 0}));
    if (row.name == std::string_view{"interleaved"}) {
      EXPECT_EQ(want.stores, 35 * kBlocks);
    }
  }
  EXPECT_EQ(described, 6);
}

template <class T>
void expect_predicted(Variant<transpose::Problem> const& row) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  constexpr std::int64_t kSide = 256;
  auto const predict = row.specifics.notes.sectors;
  auto const want = predict == nullptr ? std::nullopt : predict(sizeof(T), kSide, kSide);
  if (!want || !row.supports(core::type_of<T>())) return;
  SCOPED_TRACE(std::string{row.name});
  DeviceArray<T> const in{device, stream, std::vector<T>(kSide * kSide, T{1})};
  DeviceArray<T> const other{device, stream, kSide * kSide};
  DeviceArray<T> const& out = row.in_place ? in : other;
  constexpr core::DataType kType = core::type_of<T>();

  Counts const got = counted([&] {
    row.launch({{in.data(), kType, kSide, kSide, kSide}, {out.data(), kType, kSide, kSide, kSide}},
               stream);
  });

  auto const of_request = [](Count const& count) {
    return static_cast<double>(count.parts) / static_cast<double>(count.requests);
  };
  EXPECT_EQ(of_request(got.global_loads), want->read);
  EXPECT_EQ(of_request(got.global_stores), want->written);
}

TEST(TransposeAccess, IsWhatTheInterpreterCounts) {
  for (Variant<transpose::Problem> const& row : transpose::variants()) {
    if (!row.runs_on(device::Kind::cuda)) continue;
    expect_predicted<float>(row);
    expect_predicted<double>(row);
    expect_predicted<std::int8_t>(row);
  }
}

}  // namespace
}  // namespace quadrille::kernels
