// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/device_choice.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::comm {
namespace {

using Map = std::vector<std::string>;

std::vector<GpuName> const kFour{{"GPU-aa", "0000:17:00.0"},
                                 {"GPU-bb", "0000:2a:00.0"},
                                 {"GPU-cc", "0001:17:00.0"},
                                 {"GPU-dd", "0000:ca:00.0"}};

/// What local rank `rank` of `size` drives; -1 where it may not.
int chosen(Map map, int rank, int size, bool shared = false,
           std::span<GpuName const> visible = kFour) {
  core::RunSettings settings;
  settings.device_map = std::move(map);
  settings.allow_shared_gpu = shared;
  auto const gpu = choose_gpu(settings, visible, rank, size);
  return gpu ? *gpu : -1;
}

std::string why(Map map, int size) {
  core::RunSettings settings;
  settings.device_map = std::move(map);
  auto const gpu = choose_gpu(settings, kFour, 0, size);
  return gpu ? "" : gpu.why();
}

TEST(DeviceChoice, WithoutAMapTheLocalRankDecides) {
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(chosen({}, rank, 4), rank);
  EXPECT_EQ(chosen({}, 4, 5), -1);
  EXPECT_EQ(chosen({}, 5, 6, true), 1);
  // A task that sees its own GPU alone.
  EXPECT_EQ(chosen({}, 3, 4, false, std::span{kFour}.first(1)), 0);
}

TEST(DeviceChoice, TheMapSaysWhichByIndexUuidOrAddress) {
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(chosen({"1", "3"}, rank, 2), 2 * rank + 1);
  EXPECT_EQ(chosen({"GPU-cc"}, 0, 1), 2);
  for (char const* const address : {"0000:CA:00.0", "ca:00.0", "00000000:CA:00.0"}) {
    EXPECT_EQ(chosen({address}, 0, 1), 3) << address;
  }
  EXPECT_EQ(chosen({"0001:17:00.0"}, 0, 1), 2);
  EXPECT_EQ(chosen({"3", "2", "1"}, 0, 2), 3) << "a longer map serves fewer ranks";
}

TEST(DeviceChoice, WhatDoesNotFitIsRefusedOnEveryRank) {
  EXPECT_NE(why({"0", "4"}, 1).find("there is no GPU '4'; visible here: 0 (GPU-aa, 0000:17:00.0)"),
            std::string::npos);
  for (char const* const nothing : {"GPU-a", "-1", "00", "17:00.1", ""}) {
    EXPECT_EQ(chosen({nothing}, 0, 1), -1) << nothing;
  }
  EXPECT_NE(why({"0"}, 2).find("lists 1 GPUs for 2 ranks"), std::string::npos);
  EXPECT_NE(why({"1", "GPU-bb"}, 2).find("'1' and 'GPU-bb' are the same GPU"), std::string::npos);
  EXPECT_EQ(chosen({"1", "GPU-bb"}, 1, 2, true), 1);
}

}  // namespace
}  // namespace quadrille::comm
