// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/vector_data.hpp"
#include "support/expect_fails.hpp"
#include "support/index_map.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"
#include "vector/vector.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::kernels::vector {
namespace {

using core::DataType;
using test::DeviceArray;

class VectorCudaTest : public testing::TestWithParam<std::string_view> {};

TEST_P(VectorCudaTest, EveryElementIsRightAndNoOtherTouched) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Operation const operation : {Operation::add, Operation::quadratic}) {
      for (std::int64_t const n : {0, 1, 31, 33, 255, 256, 257, 1023, 1025, 4099}) {
        for (std::int64_t offset : {0, 1, 3}) {
          offset += variant.specifics.notes.shift;
          if (variant.name == "vectorized" && offset != 0) continue;
          if (variant.name == "misaligned" && offset != 1) continue;
          expect_right<double>(device, stream, variant, operation, n, offset);
          expect_right<float>(device, stream, variant, operation, n, offset);
        }
      }
    }
  });
}

TEST_P(VectorCudaTest, MoreElementsThanTheDeviceHasThreads) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  bool const gpu = test::kernel_mode() == test::KernelMode::gpu;
  // Each thread of a full grid then takes several.
  std::int64_t const n =
      test::kernel_device().facts().multiprocessors * 2048 * std::int64_t{gpu ? 5 : 2} + 77;
  if (!gpu && (variant.name == "one_thread" || n > 100000)) GTEST_SKIP() << "large";
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_right<float>(device, stream, variant, Operation::add, n, variant.specifics.notes.shift);
  });
}

TEST_P(VectorCudaTest, ElementsMayExceed32Bits) {
  using Long = test::LongArray<float>;
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  if (variant.name == "one_thread" || variant.name == "one_block") GTEST_SKIP() << "long";
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  if (!Long::fits(device, 3)) GTEST_SKIP() << "too little memory";
  Long x{device, stream, 0}, y{device, stream, 0}, out{device, stream, 0xFF};
  float value = 0;
  for (std::int64_t const i : Long::places()) {
    x.set(i, ++value);
    y.set(i, 10 * value);
  }
  std::int64_t const shift = variant.specifics.notes.shift;

  variant.launch({Operation::add, DataType::f32, x.data() + shift, y.data() + shift,
                  out.data() + shift, test::long_size() - shift},
                 stream);

  value = 0;
  for (std::int64_t const i : Long::places()) {
    ++value;
    if (i < shift) continue;
    EXPECT_EQ(out.get(i), 11 * value) << "element " << i;
  }
  EXPECT_EQ(out.get(test::long_size() / 2), 0);
}

TEST_P(VectorCudaTest, IncompleteProblemsAreRefused) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_refusals(device, stream, variant);
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, VectorCudaTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_cuda_row)),
                         test::RowName{});

TEST(VectorCuda, AlignmentThatATechniqueNeedsIsAskedFor) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<float> x{device, stream, 64}, y{device, stream, 64}, out{device, stream, 64};
    Problem const aligned{Operation::add, DataType::f32, x.data(), y.data(), out.data(), 32};
    Problem const shifted{Operation::add, DataType::f32,  x.data() + 1,
                          y.data() + 1,   out.data() + 1, 32};

    EXPECT_FAILS(test::launch(variants(), "vectorized", shifted, stream), "take another variant");
    EXPECT_FAILS(test::launch(variants(), "misaligned", aligned, stream), "take another variant");
    // One operand unlike the others.
    auto const swap = [](Problem& a, Problem& b, int operand) {
      if (operand == 0) std::swap(a.x, b.x);
      if (operand == 1) std::swap(a.y, b.y);
      if (operand == 2) std::swap(a.out, b.out);
    };
    for (int const operand : {0, 1, 2}) {
      Problem one_shifted = aligned, one_aligned = shifted;
      swap(one_shifted, one_aligned, operand);
      EXPECT_FAILS(test::launch(variants(), "vectorized", one_shifted, stream),
                   "aligned to 16 bytes");
      EXPECT_FAILS(test::launch(variants(), "misaligned", one_aligned, stream),
                   "one element after");
    }
  });
}

TEST(VectorCuda, MoreBlocksThanAGridHasAreRefused) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<float> x{device, stream, 1};
    auto const beyond = [&](std::int64_t i) {
      return reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(x.data()) +
                                      static_cast<std::uintptr_t>(i) * sizeof(float));
    };
    std::int64_t const n = (std::int64_t{1} << 31) * 256;
    Problem const problem{Operation::quadratic, DataType::f32, x.data(), nullptr, beyond(n), n};

    EXPECT_FAILS(test::launch(variants(), "one_element", problem, stream),
                 "takes a number of columns up to");
  });
}

TEST(VectorCuda, ThreePhasesOfTheQuadratic) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    std::int64_t const n = 1000;
    for (DataType const type : {DataType::f32, DataType::f64}) {
      DeviceArray<double> x{device, stream, n}, out{device, stream, n};
      DeviceArray<std::uint64_t> wrong{device, stream, std::vector<std::uint64_t>{0, 0, 0}};

      launch_init(type, x.data(), n, 2, stream);
      test::launch(variants(), "one_element",
                   {Operation::quadratic, type, x.data(), nullptr, out.data(), n, 2.5, 2, 1},
                   stream);
      launch_validate(type, out.data(), n, 15, wrong.data(), stream);
      launch_validate(type, out.data(), n, 14, wrong.data() + 1, stream);
      // All bits set are NaN.
      stream.fill(out.data(), 0xFF, 3 * core::size_of(type));
      launch_validate(type, out.data(), n, 15, wrong.data() + 2, stream);
      stream.synchronize();

      EXPECT_EQ(wrong.download(), (std::vector<std::uint64_t>{0, 1000, 3}));
      EXPECT_TRUE(x.intact() && out.intact() && wrong.intact());
    }
    EXPECT_FAILS(launch_init(DataType::i32, nullptr, 1, 1, stream), "f64 and f32");
    EXPECT_FAILS(launch_validate(DataType::i8, nullptr, 1, 1, nullptr, stream), "f64 and f32");
  });
}

TEST(IndexMap, IdsArePermutationsForAllNineShapes) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (IndexShape const& shape : kIndexShapes) {
      DeviceArray<IndexEntry> entries{
          device, stream, std::vector<IndexEntry>(static_cast<std::size_t>(shape.threads()))};

      launch_index_map(shape, {entries.data(), entries.size()}, stream);
      stream.synchronize();

      EXPECT_EQ(index_map_fault(shape, entries.download()), "");
      EXPECT_TRUE(entries.intact());
    }
  });
}

TEST(IndexMap, FaultsAreNamed) {
  IndexShape const shape{{1, 1, 1, 1}, {2, 16, 3, 1}};
  std::vector<IndexEntry> good(48);
  for (int id = 0; id < 48; ++id) {
    good[static_cast<std::size_t>(id)] = {1, {0, 0, 0}, {id % 16, id / 16, 0}, id / 32, id % 32};
  }
  auto const fault = [&](auto change) {
    std::vector<IndexEntry> entries = good;
    change(entries);
    return index_map_fault(shape, entries);
  };

  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_EQ(fault([](auto& e) { e.pop_back(); }), "47 entries for 48 threads");
  EXPECT_EQ(fault([](auto& e) { e[7].writers = 2; }), "id 7 computed by 2 threads");
  EXPECT_NE(fault([](auto& e) { std::swap(e[3], e[4]); }), "");
  EXPECT_EQ(fault([](auto& e) { e[33].lane = 2; }), "id 33 is lane 2 of warp 1, expected 1 of 1");
}

TEST(IndexMap, ShapesThatCannotBeLaunchedAreRefused) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<IndexEntry> entries{device, stream, 64};
    auto const launch = [&](IndexShape const& shape) {
      launch_index_map(shape, {entries.data(), entries.size()}, stream);
    };

    EXPECT_FAILS(launch({{1, 2, 2, 1}, {1, 16, 1, 1}}), "beyond the dimensions");
    EXPECT_FAILS(launch({{4, 2, 2, 1}, {1, 16, 1, 1}}), "1 to 3 dimensions");
    EXPECT_FAILS(launch({{1, 0, 1, 1}, {1, 16, 1, 1}}), "less than 1");
    EXPECT_FAILS(launch({{1, 1, 1, 1}, {1, 2048, 1, 1}}), "use more blocks");
    EXPECT_FAILS(launch({{1, 1, 1, 1}, {1, 63, 1, 1}}), "one entry for each thread");
  });
}

}  // namespace
}  // namespace quadrille::kernels::vector
