// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/paged_decode_data.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <map>

namespace quadrille::kernels::paged_decode {
namespace {

using core::DataType;
using test::DeviceArray;

/// Computed once for all variants and schedules.
template <class T>
Known<T> const& known(Cache const& cache, Rows rows) {
  static std::map<std::string, Known<T>> all;
  std::string const key = text_of(cache) + (rows == Rows::by_table ? " by table" : "");
  auto const found = all.find(key);
  if (found != all.end()) return found->second;
  return all.emplace(key, known_of<T>(cache, rows)).first->second;
}

template <class T>
void expect_right(device::Device& device, device::StreamView stream,
                  Variant<Problem> const& variant, Cache const& cache,
                  attention::Offsets const& offsets = {}) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(core::type_of<T>()) << " "
                                  << text_of(cache) << ", offsets " << offsets.q << offsets.k
                                  << offsets.v << offsets.o);
  bool const by_table = reads_table(variant);
  Known<T> const& one = known<T>(cache, by_table ? Rows::by_table : Rows::contiguous);
  Problem problem = one.problem;
  DeviceArray<T> const q{device, stream, one.q, offsets.q}, k{device, stream, one.k, offsets.k},
      v{device, stream, one.v, offsets.v};
  DeviceArray<T> const o{device, stream, static_cast<std::int64_t>(one.elements.size()), offsets.o};
  DeviceArray<std::int32_t> const lengths{device, stream, one.lengths},
      table{device, stream, one.table}, first_blocks{device, stream, one.first_blocks};
  problem.q.data = q.data();
  problem.k.data = k.data();
  problem.v.data = v.data();
  problem.o.data = o.data();
  problem.lengths = lengths.data();
  problem.table = table.data();
  if (cache.pool != Pool::shared_prefix) problem.first_blocks = first_blocks.data();
  if (!by_table && cache.pool == Pool::shared_prefix) {
    EXPECT_NE(variant.unsupported_reason(problem).find("share"), std::string::npos);
    return;
  }
  bool const may_refuse = variant.role == Role::vendor || !offsets.are_none();
  if (may_refuse && !variant.unsupported_reason(problem).empty()) return;
  std::size_t const bytes = variant.scratch_bytes(problem, device.facts());
  DeviceArray<float> const scratch{device, stream, static_cast<std::int64_t>(bytes / 4)};
  problem.scratch = scratch.data();
  problem.scratch_bytes = bytes;

  variant.launch(problem, stream);
  stream.synchronize();

  attention::expect_elements<T>(one.elements, o.download());
  EXPECT_TRUE(o.intact() && scratch.intact());
}

std::vector<std::string_view> rows() {
  std::vector<std::string_view> names;
  for (Variant<Problem> const& row : variants()) {
    // The vendor's library is on a GPU alone.
    bool const runs = row.role != Role::vendor || test::kernel_mode() == test::KernelMode::gpu;
    if (row.where == Where::cuda && runs) names.push_back(row.name);
  }
  return names;
}

class PagedDecodeCudaTest : public testing::TestWithParam<std::string_view> {};

TEST_P(PagedDecodeCudaTest, EqualsSums) {
  Variant<Problem> const& variant = test::row(variants(), GetParam(), device::Kind::cuda);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Cache const& cache : kCaches) expect_right<core::f16>(device, stream, variant, cache);
    expect_right<core::bf16>(device, stream, variant, kCaches[0]);
    for (attention::Offsets const& offsets : attention::kOffsets) {
      expect_right<core::f16>(device, stream, variant, kCaches[0], offsets);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, PagedDecodeCudaTest, testing::ValuesIn(rows()),
                         [](auto const& row) { return std::string{row.param}; });

TEST(PagedDecodeCuda, RefusesWhatVariantsDoNotTake) {
  auto const reason = [](std::string_view name, Shape const& shape, void* v) {
    Problem problem = unallocated(shape, DataType::f16);
    problem.v.data = v;
    return test::row(variants(), name, device::Kind::cuda).unsupported_reason(problem);
  };
  Shape const large_group{.heads = 32};
  Shape const many{.sequences = 1 << 17};
  Shape const long_one{.longest = 1 << 24};

  EXPECT_NE(reason("paged", large_group, nullptr).find("up to 16 heads"), std::string::npos);
  EXPECT_NE(reason("gather_then_attend", many, nullptr).find("65535 sequences"), std::string::npos);
  EXPECT_NE(reason("paged_split", long_one, nullptr).find("8388480 tokens"), std::string::npos);
  for (std::string_view const name : {"paged", "vendor"}) {
    EXPECT_NE(reason(name, {}, reinterpret_cast<void*>(std::uintptr_t{8})).find("v aligned"),
              std::string::npos);
  }
  EXPECT_NE(reason("vendor", {.sequences = 2, .tokens = 40, .longest = 24}, nullptr), "");
  if (test::kernel_mode() != test::KernelMode::gpu) return;
  EXPECT_EQ(reason("vendor", {.sequences = 2, .blocks = 6, .tokens = 96, .longest = 48}, nullptr),
            "");
}

}  // namespace
}  // namespace quadrille::kernels::paged_decode
