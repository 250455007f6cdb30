// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_data.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <map>

namespace quadrille::kernels::attention {
namespace {

using core::DataType;
using test::DeviceArray;

/// The vendor's library is on a GPU alone.
bool runs_here(Variant<Problem> const& row) {
  return row.where == Where::cuda &&
         (row.role != Role::vendor || test::kernel_mode() == test::KernelMode::gpu);
}

/// A problem with its tensors on the host, and what is right.
template <class T>
struct Known {
  Problem problem;
  Tensors<T> in;
  std::vector<Element> elements;
};

/// Computed once for all variants and schedules.
template <class T>
Known<T> const& known(Shape const& shape, double scores) {
  static std::map<std::string, Known<T>> all;
  auto const [found, is_new] = all.try_emplace(text_of(shape) + " " + std::to_string(scores));
  Known<T>& one = found->second;
  if (is_new) {
    one.problem = unallocated(shape, core::type_of<T>());
    one.in = random<T>(one.problem, {.scores = scores});
    one.elements = elements_of(one.problem, one.in);
  }
  return one;
}

/// False where the vendor's library does not take the problem; all others take any but shifted ones.
template <class T>
bool expect_right(device::Device& device, device::StreamView stream,
                  Variant<Problem> const& variant, Shape const& shape, double scores,
                  Offsets const& offsets = {}) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(core::type_of<T>()) << " "
                                  << text_of(shape) << ", scores x " << scores << ", offsets "
                                  << offsets.q << offsets.k << offsets.v << offsets.o);
  Known<T> const& one = known<T>(shape, scores);
  Problem problem = one.problem;
  DeviceArray<T> const q{device, stream, one.in.q, offsets.q},
      k{device, stream, one.in.k, offsets.k}, v{device, stream, one.in.v, offsets.v};
  DeviceArray<T> const o{device, stream, static_cast<std::int64_t>(one.elements.size()), offsets.o};
  problem.q.data = q.data();
  problem.k.data = k.data();
  problem.v.data = v.data();
  problem.o.data = o.data();
  bool const may_refuse = variant.role == Role::vendor || !offsets.are_none();
  if (may_refuse && !variant.unsupported_reason(problem).empty()) return false;
  std::size_t const bytes = variant.scratch_bytes(problem, device.facts());
  DeviceArray<float> const scratch{device, stream, static_cast<std::int64_t>(bytes / 4)};
  problem.scratch = scratch.data();
  problem.scratch_bytes = bytes;

  variant.launch(problem, stream);
  stream.synchronize();

  expect_elements<T>(one.elements, o.download());
  EXPECT_TRUE(o.intact() && scratch.intact());
  return true;
}

using Row = std::tuple<std::string_view, DataType>;

/// Every variant with all types that it takes.
std::vector<Row> rows() {
  std::vector<Row> all;
  for (Variant<Problem> const& row : variants()) {
    if (!runs_here(row)) continue;
    for (Types const& types : row.types) all.emplace_back(row.name, types.in);
  }
  return all;
}

class AttentionCudaTest : public testing::TestWithParam<Row> {
 protected:
  void expect_all(std::vector<Shape> const& shapes, double scores, Offsets const& offsets = {}) {
    auto const [name, type] = GetParam();
    Variant<Problem> const& variant = test::row(variants(), name, device::Kind::cuda);
    int taken = 0;
    test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
      for (Shape const& shape : shapes) {
        decltype(&expect_right<float>) const expect = type == DataType::f32 ? expect_right<float>
                                                      : type == DataType::f16
                                                          ? expect_right<core::f16>
                                                          : expect_right<core::bf16>;
        if (expect(device, stream, variant, shape, scores, offsets)) ++taken;
      }
    });
    if (taken == 0 && offsets.are_none()) GTEST_SKIP() << "takes none of these shapes";
  }
};

/// Types differ in conversions alone.
TEST_P(AttentionCudaTest, EqualsSums) {
  bool const is_first = std::get<1>(GetParam()) == DataType::f16;
  expect_all(is_first ? kShapes : std::vector{kShapes[0], kShapes[4]}, 1);
}

TEST_P(AttentionCudaTest, TakesScoresWhoseExponentialsOverflow) { expect_all({kShapes[4]}, 100); }

TEST_P(AttentionCudaTest, TakesEqualScores) { expect_all({kShapes[0]}, 0); }

TEST_P(AttentionCudaTest, OperandsLieAnywhereOrAreRefused) {
  for (Offsets const& offsets : kOffsets) expect_all({kShapes[0]}, 1, offsets);
}

INSTANTIATE_TEST_SUITE_P(Variants, AttentionCudaTest, testing::ValuesIn(rows()),
                         [](auto const& row) {
                           return std::string{std::get<0>(row.param)} + "_" +
                                  std::string{core::to_text(std::get<1>(row.param))};
                         });

/// More tiles of queries than blocks, each with several tiles of keys: a block goes on in the middle of
/// its ring. The cache has room for some of the heads' keys, at a head size of 64 for two of three.
TEST(AttentionCuda, BlocksTakeSeveralTilesOfQueries) {
  Variant<Problem> const& variant = test::row(variants(), "flash_wgmma", device::Kind::cuda);
  std::int64_t const heads = test::kernel_mode() == test::KernelMode::gpu ? 150 : 3;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (std::int64_t const head_size : {64, 128}) {
      Shape const shape{.heads = heads,
                        .kv_heads = heads,
                        .queries = 200,
                        .keys = 370,
                        .head_size = head_size,
                        .mask = kCausal};
      expect_right<core::f16>(device, stream, variant, shape, 1);
    }
  });
}

TEST(AttentionCuda, RefusesWhatVariantsDoNotTake) {
  auto const reason = [](std::string_view name, Problem const& problem) {
    return test::row(variants(), name, device::Kind::cuda).unsupported_reason(problem);
  };
  Shape const many_heads{.batch = 1 << 10, .heads = 64};
  Shape const many_keys{.keys = 1 << 24};
  Shape const many_queries{.queries = 1 << 20};

  EXPECT_NE(reason("flash_v1", unallocated(many_heads, DataType::f32)).find("65535 heads"),
            std::string::npos);
  EXPECT_NE(reason("flash_v2", unallocated(many_keys, DataType::f16)).find("keys of a head"),
            std::string::npos);
  EXPECT_NE(reason("naive", unallocated(many_queries, DataType::f32)).find("1048560 queries"),
            std::string::npos);
  for (std::string_view const name : {"flash_v2", "flash_wgmma", "vendor"}) {
    for (device::MatrixView Problem::*const operand :
         {&Problem::q, &Problem::k, &Problem::v, &Problem::o}) {
      Problem odd = unallocated({}, DataType::f16);
      (odd.*operand).data = reinterpret_cast<void*>(std::uintptr_t{8});
      EXPECT_NE(reason(name, odd).find("aligned to 16 bytes"), std::string::npos) << name;
    }
  }
  EXPECT_NE(reason("flash_v2", unallocated({}, DataType::f32)).find("no type f32"),
            std::string::npos);
}

}  // namespace
}  // namespace quadrille::kernels::attention
