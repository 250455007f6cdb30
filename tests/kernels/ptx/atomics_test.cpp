// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/atomics_kernels.hpp"
#include "support/instruction_test.hpp"

#include <algorithm>

namespace quadrille::test {
namespace {

using device::Device;
using device::StreamView;

/// All words alike.
AtomicWords words_of(int value) {
  AtomicWords w{};
  auto const set = [&](auto& words) {
    for (auto& word : words) word = static_cast<std::remove_reference_t<decltype(word)>>(value);
  };
  set(w.add_u32), set(w.add_s32), set(w.add_u64), set(w.add_f32), set(w.add_f64);
  set(w.min_u32), set(w.max_u32), set(w.min_s32), set(w.max_s32);
  set(w.min_u64), set(w.max_u64), set(w.min_s64), set(w.max_s64);
  set(w.exchange_f32), set(w.exchange_u64), set(w.swap_u32), set(w.swap_f64);
  set(w.red_add_u32), set(w.red_add_u64), set(w.red_add_f32), set(w.red_add_f64);
  set(w.red_min_s32), set(w.red_max_u32), set(w.red_min_u64), set(w.red_max_s64);
  return w;
}

TEST(Atomics, AddUpAndSelect) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<AtomicWords> const words{device, stream, std::vector{words_of(50)}};
    DeviceArray<AtomicWords> const olds{device, stream, 96};

    launch_atomics(words.data(), olds.data(), 96, stream);

    // 0 + ... + 95 = 4560. The smallest value is 0, or -3; the largest 95, or 92.
    AtomicWords const w = words.download().front();
    for (int k = 0; k < kAtomics; ++k) {
      EXPECT_EQ(w.add_u32[k], 4610) << k;
      EXPECT_EQ(w.add_s32[k], -4510) << k;
      EXPECT_EQ(w.add_u64[k], 4610) << k;
      EXPECT_EQ(w.add_f32[k], 4610) << k;
      EXPECT_EQ(w.add_f64[k], 4610) << k;
      EXPECT_EQ(w.min_u32[k], 0) << k;
      EXPECT_EQ(w.max_u32[k], 95) << k;
      EXPECT_EQ(w.min_s32[k], -3) << k;
      EXPECT_EQ(w.max_s32[k], 92) << k;
      EXPECT_EQ(w.min_u64[k], 0) << k;
      EXPECT_EQ(w.max_u64[k], 95) << k;
      EXPECT_EQ(w.min_s64[k], -3) << k;
      EXPECT_EQ(w.max_s64[k], 92) << k;
      EXPECT_EQ(w.swap_u32[k], 50) << k;
      EXPECT_EQ(w.swap_f64[k], 50) << k;
    }
    for (int k = 0; k < kReductions; ++k) {
      EXPECT_EQ(w.red_add_u32[k], 4610) << k;
      EXPECT_EQ(w.red_add_u64[k], 4610) << k;
      EXPECT_EQ(w.red_add_f32[k], 4610) << k;
      EXPECT_EQ(w.red_add_f64[k], 4610) << k;
      EXPECT_EQ(w.red_min_s32[k], -3) << k;
      EXPECT_EQ(w.red_max_u32[k], 95) << k;
      EXPECT_EQ(w.red_min_u64[k], 0) << k;
      EXPECT_EQ(w.red_max_s64[k], 92) << k;
    }
    // Nothing is lost or seen twice: what went in came out once, or is there.
    std::vector<AtomicWords> const old = olds.download();
    for (int k = 0; k < kAtomics; ++k) {
      double sum_f32 = w.exchange_f32[k];
      std::uint64_t sum_u64 = w.exchange_u64[k];
      std::vector<std::uint32_t> seen{w.add_u32[k]};
      for (AtomicWords const& own : old) {
        sum_f32 += own.exchange_f32[k];
        sum_u64 += own.exchange_u64[k];
        seen.push_back(own.add_u32[k]);
      }
      for (std::uint32_t i = 0; i < 96; ++i) {
        EXPECT_NE(std::find(seen.begin(), seen.end(), old[i].add_u32[k] + i), seen.end()) << k;
      }
      EXPECT_EQ(sum_f32, 4610) << k;
      EXPECT_EQ(sum_u64, 4610) << k;
    }
  });
}

TEST(Atomics, ReturnTheValueBefore) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<AtomicWords> const words{device, stream, std::vector{words_of(7)}};
    DeviceArray<AtomicWords> const olds{device, stream, std::vector<AtomicWords>(1)};

    launch_atomics(words.data(), olds.data(), 1, stream);

    AtomicWords const old = olds.download().front(), w = words.download().front();
    for (int k = 0; k < kAtomics; ++k) {
      EXPECT_EQ(old.add_u32[k], 7) << k;
      EXPECT_EQ(old.add_s32[k], 7) << k;
      EXPECT_EQ(old.add_u64[k], 7) << k;
      EXPECT_EQ(old.add_f32[k], 7) << k;
      EXPECT_EQ(old.add_f64[k], 7) << k;
      EXPECT_EQ(old.min_u32[k], 7) << k;
      EXPECT_EQ(old.max_u32[k], 7) << k;
      EXPECT_EQ(old.min_s32[k], 7) << k;
      EXPECT_EQ(old.max_s32[k], 7) << k;
      EXPECT_EQ(old.min_u64[k], 7) << k;
      EXPECT_EQ(old.max_u64[k], 7) << k;
      EXPECT_EQ(old.min_s64[k], 7) << k;
      EXPECT_EQ(old.max_s64[k], 7) << k;
      EXPECT_EQ(old.exchange_f32[k], 7) << k;
      EXPECT_EQ(old.exchange_u64[k], 7) << k;
      EXPECT_EQ(old.swap_u32[k], 7) << k;
      EXPECT_EQ(old.swap_f64[k], 7) << k;
      EXPECT_EQ(w.min_s32[k], -3) << k;
      EXPECT_EQ(w.max_s64[k], 7) << k;
      EXPECT_EQ(w.exchange_f32[k], 0) << k;
      EXPECT_EQ(w.swap_u32[k], 0) << k;
      EXPECT_EQ(w.swap_f64[k], 0) << k;
    }
  });
}

TEST(Atomics, LoadsSeeStores) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<std::uint32_t> const words{device, stream, 12};
    DeviceArray<double> const reals{device, stream, 12};

    launch_load_store(0x12345678, -0.1, words.data(), reals.data(), stream);

    EXPECT_EQ(words.download(), std::vector<std::uint32_t>(12, 0x12345678));
    EXPECT_EQ(reals.download(), std::vector<double>(12, -0.1));
    EXPECT_TRUE(words.intact() && reals.intact());
  });
}

TEST(Atomics, PairsCarryTheirNumber) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<std::uint64_t> const words{device, stream, std::vector<std::uint64_t>(128)};
    DeviceArray<std::uint64_t> const sums{device, stream, 64};
    DeviceArray<std::uint32_t> const tickets{device, stream, std::vector<std::uint32_t>(1)};

    launch_pairs(words.data(), sums.data(), tickets.data(), stream);

    std::vector<std::uint64_t> expected(64);
    for (std::size_t i = 0; i < 64; ++i) expected[i] = 1000 + i;
    EXPECT_EQ(sums.download(), expected);
    EXPECT_TRUE(words.intact() && sums.intact());
  });
}

TEST(Atomics, MessagesBetweenBlocksCarryWhatCameBefore) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (Message const message : {Message::release_acquire_gpu, Message::release_acquire_sys,
                                  Message::fences_gpu, Message::exchange_acq_rel_gpu}) {
      DeviceArray<std::uint32_t> const words{device, stream, std::vector<std::uint32_t>(2)};
      DeviceArray<int> const data{device, stream, 64};
      DeviceArray<int> const out{device, stream, 64};

      launch_message(message, words.data(), data.data(), out.data(), stream);

      std::vector<int> expected(64);
      for (int i = 0; i < 64; ++i) expected[static_cast<std::size_t>(i)] = 2 * (100 + i);
      EXPECT_EQ(out.download(), expected) << static_cast<int>(message);
    }
  });
}

TEST(Atomics, MessagesOfTooWeakOrderOrScopeAreRaces) {
  on_every_schedule([](Device& device, StreamView stream) {
    if (!finds_races()) return;
    for (Message const message : {Message::relaxed, Message::release_acquire_cta}) {
      DeviceArray<std::uint32_t> const words{device, stream, std::vector<std::uint32_t>(2)};
      DeviceArray<int> const data{device, stream, 64};
      DeviceArray<int> const out{device, stream, 64};

      EXPECT_FINDS(launch_message(message, words.data(), data.data(), out.data(), stream), "race");
    }
  });
}

TEST(Atomics, MessagesWithinABlockNeedItsScopeOnly) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (bool const shared_flag : {false, true}) {
      DeviceArray<std::uint32_t> const flag{device, stream, std::vector<std::uint32_t>(1)};
      DeviceArray<int> const data{device, stream, 32};
      DeviceArray<int> const out{device, stream, 32};

      launch_message_in_block(shared_flag, flag.data(), data.data(), out.data(), stream);

      std::vector<int> expected(32);
      for (int i = 0; i < 32; ++i) expected[static_cast<std::size_t>(i)] = 2 * (100 + i);
      EXPECT_EQ(out.download(), expected) << shared_flag;
    }
  });
}

}  // namespace
}  // namespace quadrille::test
