// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/sabotage.hpp"

#include "simt/engine.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>
#include <regex>

namespace quadrille::sabotage {
namespace {

using simt::Schedule;

constexpr std::uint64_t kSeeds = 20;
constexpr std::uint64_t kSeedsOfCorrectKernels = 200;

// Programs: each runs one kernel and says whether the result is right. They use device buffers
// without a margin, so that the next byte is out of bounds.

struct Setting {
  Bug bug;
  device::Device& device;
  device::StreamView stream;
};

template <class T>
device::Buffer<T> upload(Setting const& s, std::vector<T> const& values) {
  device::Buffer<T> buffer{s.device, static_cast<std::int64_t>(values.size()), s.stream};
  s.stream.copy(buffer.data(), values.data(), buffer.bytes());
  return buffer;
}
template <class T>
std::vector<T> download(Setting const& s, device::Buffer<T> const& buffer) {
  std::vector<T> values(static_cast<std::size_t>(buffer.size()));
  s.stream.copy(values.data(), buffer.data(), buffer.bytes());
  return values;
}
std::vector<float> numbers(int n, int period = 13) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(i % period + i % 7);
  }
  return values;
}
std::size_t index(int i) { return static_cast<std::size_t>(i); }

bool vector_add(Setting const& s) {
  int const n = s.bug == Bug::misaligned_vector_access ? 1024 : 1000;
  auto const a = numbers(n), b = numbers(n, 5);
  auto const a_data = upload(s, a), b_data = upload(s, b);
  device::Buffer<float> const sum{s.device, n, s.stream};

  launch_vector_add(s.bug, a_data.data(), b_data.data(), sum.data(), n, s.stream);

  auto expected = a;
  for (std::size_t i = 0; i < a.size(); ++i) expected[i] += b[i];
  return download(s, sum) == expected;
}

bool copy_row(Setting const& s) {
  auto const row = numbers(256);
  auto const in = upload(s, row);
  device::Buffer<float> const out{s.device, 256, s.stream};

  launch_copy_row(s.bug, in.data(), out.data(), 40'000, 65'536, s.stream);

  return download(s, out) == row;
}

bool block_sum(Setting const& s) {
  auto const x = numbers(2000);
  auto const x_data = upload(s, x);
  auto const counter = upload(s, std::vector<unsigned>{0});
  auto const sum = upload(s, std::vector<float>{0});
  device::Buffer<float> const partial{s.device, kSumBlocks, s.stream};

  launch_block_sum(s.bug, x_data.data(), 2000, partial.data(), counter.data(), sum.data(),
                   s.stream);

  return download(s, sum)[0] == std::accumulate(x.begin(), x.end(), 0.0F);
}

bool transpose(Setting const& s) {
  constexpr int kRows = 70, kColumns = 100;
  auto const in = numbers(kRows * kColumns, 101);
  auto const in_data = upload(s, in);
  device::Buffer<float> const out{s.device, kRows * kColumns, s.stream};

  launch_transpose(s.bug, in_data.data(), out.data(), kRows, kColumns, s.stream);

  auto const result = download(s, out);
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      if (result[index(j * kRows + i)] != in[index(i * kColumns + j)]) return false;
    }
  }
  return true;
}

bool gemm(Setting const& s) {
  constexpr int kN = 64;
  auto const a = numbers(kN * kN), b = numbers(kN * kN, 11);
  auto const a_data = upload(s, a), b_data = upload(s, b);
  device::Buffer<float> const c{s.device, kN * kN, s.stream};

  launch_gemm(s.bug, a_data.data(), b_data.data(), c.data(), kN, s.stream);

  auto const result = download(s, c);
  for (int i = 0; i < kN; ++i) {
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int k = 0; k < kN; ++k) sum += a[index(i * kN + k)] * b[index(k * kN + j)];
      if (result[index(i * kN + j)] != sum) return false;
    }
  }
  return true;
}

bool ring(Setting const& s) {
  constexpr int kTiles = 7;
  auto const x = numbers(kTiles * kRingTile, 101);
  auto const x_data = upload(s, x);
  device::Buffer<float> const y{s.device, kTiles * kRingTile, s.stream};

  launch_ring(s.bug, x_data.data(), y.data(), kTiles, s.stream);

  auto expected = x;
  for (float& value : expected) value *= 2;
  return download(s, y) == expected;
}

bool relay(Setting const& s) {
  constexpr int kTiles = 5;
  auto const x = numbers(32 * kTiles, 101);
  auto const x_data = upload(s, x);
  device::Buffer<float> const y{s.device, 32 * kTiles, s.stream};

  launch_relay(s.bug, x_data.data(), y.data(), kTiles, s.stream);

  auto const result = download(s, y);
  for (int i = 0; i < 32 * kTiles; ++i) {
    if (result[index(i)] != x[index(i / 32 * 32 + 31 - i % 32)]) return false;
  }
  return true;
}

bool tensor_tile(Setting const& s) {
  auto const a = numbers(256), b = numbers(128, 11);
  std::vector<__half> a_half, b_half;
  for (float const value : a) a_half.push_back(__float2half(value));
  for (float const value : b) b_half.push_back(__float2half(value));
  auto const a_data = upload(s, a_half), b_data = upload(s, b_half);
  device::Buffer<float> const c{s.device, 128, s.stream};

  launch_tensor_tile(s.bug, a_data.data(), b_data.data(), c.data(), s.stream);

  auto const result = download(s, c);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += a[index(i * 16 + k)] * b[index(j * 16 + k)];
      if (result[index(i * 8 + j)] != sum) return false;
    }
  }
  return true;
}

bool exchange(Setting const& s) {
  auto const x = numbers(32, 101);
  auto const x_data = upload(s, x);
  device::Buffer<float> const y{s.device, 32, s.stream};

  launch_exchange(s.bug, x_data.data(), y.data(), s.stream);

  auto const result = download(s, y);
  for (int i = 0; i < 32; ++i) {
    if (result[index(i)] != x[index(i ^ 16)]) return false;
  }
  return true;
}

bool histogram(Setting const& s) {
  std::vector<int> values(256), expected(8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int>(i * i % 8);
    ++expected[index(values[i])];
  }
  auto const data = upload(s, values);
  device::Buffer<int> const counts{s.device, 8, s.stream};

  launch_histogram(s.bug, data.data(), counts.data(), s.stream);

  return download(s, counts) == expected;
}

/// What goes wrong; "wrong result" where only the result shows it, empty if nothing does.
std::string outcome(bool (*program)(Setting const&), Bug bug, Schedule const& schedule) {
  simt::set_schedule(schedule);
  std::string found;
  try {
    device::Stream const stream{test::kernel_device()};
    if (!program({bug, test::kernel_device(), stream})) found = "wrong result";
    simt::check_guards("after the test");
  } catch (simt::Error const& error) {
    found = error.what();
  }
  simt::set_schedule({});
  return found;
}

Schedule seeded(std::uint64_t seed, bool finds_races) {
  return {Schedule::Order::random, seed, 1 + static_cast<unsigned>(seed % 4), finds_races};
}

/// A program with a bug, and regular expressions that what is found must match, without the race
/// detector and with it; nullptr where nobody claims to find it.
struct Planted {
  char const* name;
  bool (*program)(Setting const&);
  Bug bug;
  char const* simt;
  char const* race;
};

#define PLANTED(program, bug) #program "_" #bug, program, Bug::bug
Planted const kPlanted[] = {
    {PLANTED(vector_add, missing_tail_guard), "written .* bytes behind the end of a buffer",
     "out of bounds: load of 4 bytes, .* past the end of a device buffer of 4000"},
    {PLANTED(vector_add, load_past_the_end), "wrong result",
     "out of bounds: load of 4 bytes, 4 bytes past the end of a device buffer of 4000"},
    {PLANTED(vector_add, store_before_the_beginning), "written 4 bytes before a buffer",
     "out of bounds: store of 4 bytes, 4 bytes before a device buffer"},
    {PLANTED(vector_add, misaligned_vector_access), "misaligned access.*float4", nullptr},
    {PLANTED(copy_row, index_overflow), "overflow", nullptr},

    {PLANTED(block_sum, missing_barrier), "wrong result", "race on shared 'values'"},
    {PLANTED(block_sum, divergent_barrier), "divergent barrier", "divergent barrier"},
    {PLANTED(block_sum, barrier_after_exit), "hang.*__syncthreads.*have exited|hang.*have exited",
     "hang.*have exited"},
    {PLANTED(block_sum, uninitialised_shared_element), "wrong result", "wrong result"},
    {PLANTED(block_sum, shared_load_past_the_end), "index 256 is out of bounds",
     "index 256 is out of bounds"},
    {PLANTED(block_sum, lane_outside_its_mask), "is not in its mask 0x0000ffff",
     "is not in its mask 0x0000ffff"},
    {PLANTED(block_sum, divergent_shuffle), "hang.*__shfl_down_sync|__shfl_down_sync.* meets lane",
     "hang.*__shfl_down_sync|__shfl_down_sync.* meets lane"},
    {PLANTED(block_sum, shuffle_with_exited_lanes), "names lanes that have exited",
     "names lanes that have exited"},
    {PLANTED(block_sum, missing_fence_before_the_counter), nullptr,
     "race on device buffer of 32 bytes.*store by block"},
    {PLANTED(block_sum, missing_fence_after_the_counter), nullptr,
     "race on device buffer of 32 bytes.*store by block"},
    {PLANTED(block_sum, missing_barrier_after_the_flag), nullptr,
     "race on shared 'last'|race on device buffer of 32 bytes"},
    {PLANTED(block_sum, counter_without_atomics), nullptr, "race on device buffer of 4 bytes"},
    {PLANTED(block_sum, unprotected_sum_of_blocks), nullptr, "race on device buffer of 4 bytes"},

    {PLANTED(transpose, syncwarp_for_syncthreads), "wrong result", "race on shared 'tile'"},
    {PLANTED(transpose, missing_second_barrier_of_a_tile), "wrong result", "race on shared 'tile'"},
    {PLANTED(transpose, shared_store_past_the_end), "index 32 is out of bounds",
     "index 32 is out of bounds"},
    {PLANTED(transpose, two_blocks_write_one_tile), nullptr,
     "race on device buffer of 28000 bytes"},

    {PLANTED(gemm, missing_copy_wait), "wrong result", "asynchronous copy that was not waited for"},
    {PLANTED(gemm, lax_copy_wait), "wrong result", "asynchronous copy that was not waited for"},
    {PLANTED(gemm, barrier_before_copy_wait), "wrong result",
     "race on shared '._tiles'|asynchronous copy that was not waited for"},
    {PLANTED(gemm, missing_second_barrier_of_a_double_buffer), nullptr,
     "race on shared '._tiles'|asynchronous copy that was not waited for"},
    {PLANTED(gemm, copy_left_in_flight), "ends while a cp.async", "ends while a cp.async"},

    {PLANTED(ring, missing_wait_for_full),
     "wrong result|mbarrier_arrive: 1 arrivals|hang.*mbarrier_wait",
     "race on shared 'stages'|asynchronous copy that was not waited for"},
    {PLANTED(ring, missing_wait_for_empty), "mbarrier_arrive: 1 arrivals where the phase needs 0",
     "mbarrier_arrive: 1 arrivals where the phase needs 0|race on shared 'stages'"},
    {PLANTED(ring, wrong_parity), "wrong result|hang.*mbarrier_wait|mbarrier_arrive: 1 arrivals",
     "race on shared 'stages'|asynchronous copy that was not waited for|hang.*mbarrier_wait"},
    {PLANTED(ring, too_few_bytes_expected), "mbarrier: ", "mbarrier: "},
    {PLANTED(ring, too_many_bytes_expected), "hang.*mbarrier_wait", "hang.*mbarrier_wait"},
    {PLANTED(ring, missing_fence_of_the_mbarriers), "fence_mbarrier_init", "fence_mbarrier_init"},
    {PLANTED(ring, missing_wait_for_previous_kernels), nullptr,
     "ring_kernel.*load of device buffer of 7168 bytes . 0 before griddepcontrol_wait"},

    {PLANTED(relay, too_few_threads_at_named_barrier), "threads at barrier 1, where others expect",
     "threads at barrier 1, where others expect"},
    {PLANTED(relay, missing_arrive), "hang.*bar.sync", "hang.*bar.sync"},
    {PLANTED(relay, missing_named_barrier), nullptr, "race on shared 'buffers'"},
    {PLANTED(relay, wrong_named_barrier), "hang", "hang"},

    {PLANTED(tensor_tile, wrong_swizzle), "wrong result", "wrong result"},
    {PLANTED(tensor_tile, transposed_fragment), "wrong result", "wrong result"},
    {PLANTED(tensor_tile, missing_barrier_before_ldmatrix), nullptr, "race on shared '._tile'"},
    {PLANTED(tensor_tile, half_a_warp_in_mma), "hang.*mma|names lanes that have exited",
     "hang.*mma|names lanes that have exited"},

    {PLANTED(exchange, no_warp_synchronisation), nullptr, "race on shared 'values'"},
    {PLANTED(exchange, shuffle_for_syncwarp), nullptr, "race on shared 'values'"},
    {PLANTED(exchange, syncwarp_of_half_warps), nullptr, "race on shared 'values'"},

    {PLANTED(histogram, increment_without_atomics), nullptr, "race on shared 'bins'"},
    {PLANTED(histogram, missing_barrier_after_the_zeros), nullptr, "race on shared 'bins'"},
};
#undef PLANTED

/// What is expected of a program, with the race detector or without it.
struct Claim {
  Planted planted;
  bool finds_races;
  char const* text;
};
void PrintTo(Claim const& claim, std::ostream* stream) { *stream << claim.planted.name; }

std::vector<Claim> claims() {
  std::vector<Claim> all;
  for (Planted const& planted : kPlanted) {
    for (bool const finds_races : {false, true}) {
      char const* const text = finds_races ? planted.race : planted.simt;
      if (text != nullptr) all.push_back({planted, finds_races, text});
    }
  }
  return all;
}

class Sabotage : public testing::TestWithParam<Claim> {};

TEST_P(Sabotage, IsFoundInEverySchedule) {
  auto const& [planted, finds_races, text] = GetParam();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Schedule const schedule = seeded(seed, finds_races);
    std::string const found = outcome(planted.program, planted.bug, schedule);
    EXPECT_TRUE(std::regex_search(found, std::regex{text}))
        << "seed " << seed << ", found: '" << found << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Sabotage, testing::ValuesIn(claims()), [](auto const& test) {
  return test.param.planted.name + std::string{test.param.finds_races ? "_race" : ""};
});

struct Correct {
  char const* name;
  bool (*program)(Setting const&);
};
void PrintTo(Correct const& correct, std::ostream* stream) { *stream << correct.name; }

class CorrectKernel : public testing::TestWithParam<Correct> {};

TEST_P(CorrectKernel, RaisesNoAlarm) {
  auto* const program = GetParam().program;
  for (bool const races : {false, true}) {
    for (unsigned const blocks : {1U, 4U}) {
      EXPECT_EQ(outcome(program, Bug::none, {Schedule::Order::ascending, 0, blocks, races}), "");
      EXPECT_EQ(outcome(program, Bug::none, {Schedule::Order::descending, 0, blocks, races}), "");
    }
    for (std::uint64_t seed = 0; seed < kSeedsOfCorrectKernels; ++seed) {
      ASSERT_EQ(outcome(program, Bug::none, seeded(seed, races)), "") << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, CorrectKernel,
    testing::Values(Correct{"vector_add", vector_add}, Correct{"copy_row", copy_row},
                    Correct{"block_sum", block_sum}, Correct{"transpose", transpose},
                    Correct{"gemm", gemm}, Correct{"ring", ring}, Correct{"relay", relay},
                    Correct{"tensor_tile", tensor_tile}, Correct{"exchange", exchange},
                    Correct{"histogram", histogram}),
    [](auto const& test) { return std::string{test.param.name}; });

}  // namespace
}  // namespace quadrille::sabotage
