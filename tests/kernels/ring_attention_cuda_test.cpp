// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ring_attention_data.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <map>

namespace quadrille::kernels::ring_attention {
namespace {

using core::DataType;
using test::DeviceArray;

/// Computed once for all variants and schedules.
template <class T>
Known<T> const& known(Ring const& ring, double scores) {
  static std::map<std::string, Known<T>> all;
  auto const [found, is_new] = all.try_emplace(text_of(ring) + " " + std::to_string(scores));
  if (is_new) found->second = known_of<T>(ring, scores);
  return found->second;
}

template <class T>
void expect_right(device::Device& device, device::StreamView stream,
                  Variant<Problem> const& variant, Ring const& ring, double scores,
                  attention::Offsets const& offsets = {}) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(core::type_of<T>()) << " "
                                  << text_of(ring) << ", scores x " << scores << ", offsets "
                                  << offsets.q << offsets.k << offsets.v << offsets.o);
  Known<T> const& one = known<T>(ring, scores);
  std::vector<Block> const blocks = blocks_of(ring);
  Problem const like = problem_of(ring, blocks[0], core::type_of<T>());
  DeviceArray<T> const q{device, stream, one.in.q, offsets.q};
  DeviceArray<T> const o{device, stream, static_cast<std::int64_t>(one.elements.size()), offsets.o};
  DeviceArray<float> const state{device, stream, state_size(like.q.rows, like.q.cols)};
  for (Block const& block : blocks) {
    DeviceArray<T> const k{device, stream, rows_of(one.in.k, ring, block), offsets.k},
        v{device, stream, rows_of(one.in.v, ring, block), offsets.v};
    Problem problem = problem_of(ring, block, core::type_of<T>());
    problem.q.data = q.data();
    problem.k.data = k.data();
    problem.v.data = v.data();
    problem.o.data = o.data();
    problem.state = state_in(state.data(), problem.q.rows, problem.q.cols);
    problem.is_first = &block == &blocks.front();
    problem.is_last = &block == &blocks.back();
    if (!offsets.are_none() && !variant.unsupported_reason(problem).empty()) return;
    std::size_t const bytes = variant.scratch_bytes(problem, device.facts());
    DeviceArray<float> const scratch{device, stream, static_cast<std::int64_t>(bytes / 4)};
    problem.scratch = scratch.data();
    problem.scratch_bytes = bytes;
    variant.launch(problem, stream);
    stream.synchronize();
    EXPECT_TRUE(scratch.intact());
  }

  attention::expect_elements<T>(one.elements, o.download());
  EXPECT_TRUE(o.intact() && state.intact());
}

std::vector<std::string_view> cuda_rows() {
  std::vector<std::string_view> names;
  for (Variant<Problem> const& row : variants()) {
    if (row.where == Where::cuda) names.push_back(row.name);
  }
  return names;
}

class RingAttentionCudaTest : public testing::TestWithParam<std::string_view> {};

TEST_P(RingAttentionCudaTest, EqualsSums) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Ring const& ring : kRings) expect_right<core::f16>(device, stream, variant, ring, 1);
    expect_right<core::bf16>(device, stream, variant, kRings[4], 1);
    for (attention::Offsets const& offsets : attention::kOffsets) {
      expect_right<core::f16>(device, stream, variant, kRings[0], 1, offsets);
    }
  });
}

TEST_P(RingAttentionCudaTest, TakesScoresWhoseExponentialsOverflow) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    expect_right<core::bf16>(device, stream, variant, kRings[4], 100);
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, RingAttentionCudaTest, testing::ValuesIn(cuda_rows()),
                         [](auto const& row) { return std::string{row.param}; });

TEST(RingAttentionCuda, RefusesWhatVariantsDoNotTake) {
  auto const reason = [](Problem const& problem) {
    return test::row(variants(), "flash_merge", device::Kind::cuda).unsupported_reason(problem);
  };
  Problem odd = unallocated({}, {}, DataType::f16);
  odd.state.sums = reinterpret_cast<float*>(std::uintptr_t{8});
  EXPECT_NE(reason(odd).find("state aligned to 16 bytes"), std::string::npos);
  EXPECT_NE(reason(unallocated({.keys = 1 << 24}, {}, DataType::f16)).find("keys of a head"),
            std::string::npos);
  EXPECT_NE(reason(unallocated({}, {}, DataType::f32)).find("no type f32"), std::string::npos);
}

}  // namespace
}  // namespace quadrille::kernels::ring_attention
