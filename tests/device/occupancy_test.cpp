// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/occupancy.hpp"

#include "device/block_limits.hpp"

#include <gtest/gtest.h>

namespace quadrille::device {
namespace {

// The worked example of the SGEMM worklog: an RTX A6000 and its shared-memory kernel.
TEST(Occupancy, OfTheWorklogsSharedMemoryKernel) {
  Multiprocessor const a6000 = multiprocessor(86);

  EXPECT_EQ(resident_blocks(a6000, {1024, 37, 8192}), 1);
  EXPECT_EQ(resident_blocks(a6000, {32, 0, 48 * 1024}), 2);
}

TEST(Occupancy, IsLimitedByThreadsBlocksRegistersAndSharedMemory) {
  Multiprocessor const hopper = multiprocessor(90);

  EXPECT_EQ(resident_blocks(hopper, {1024, 32, 0}), 2) << "threads";
  EXPECT_EQ(resident_blocks(hopper, {32, 16, 0}), 32) << "blocks";
  EXPECT_EQ(resident_blocks(hopper, {256, 128, 0}), 2) << "registers";
  EXPECT_EQ(resident_blocks(hopper, {128, 32, 100 * 1024}), 2) << "shared memory";
  EXPECT_EQ(resident_blocks(hopper, {128, 32, 227 * 1024}), 1) << "all shared memory";
}

// 4 warps per partition of 168 * 32 = 5376 registers leave 16384 - 3 * 5376 unused: 3, not 4.
TEST(Occupancy, GivesRegistersByPartition) {
  EXPECT_EQ(resident_blocks(multiprocessor(90), {128, 168, 0}), 3);
  EXPECT_EQ(resident_blocks(multiprocessor(90), {384, 168, 0}), 1);
}

/// The same kernel: of 100 KiB a block takes 8 KiB and the system's 1 KiB.
TEST(Occupancy, IsTheLeastOfItsLimits) {
  BlockLimits const limits = block_limits(multiprocessor(86), {1024, 37, 8192});

  EXPECT_EQ(limits.threads, 1);
  EXPECT_EQ(limits.registers, 1);
  EXPECT_EQ(limits.shared_memory, 11);
  EXPECT_EQ(limits.blocks, 16);
}

TEST(Occupancy, IsZeroWhereABlockDoesNotFit) {
  EXPECT_EQ(resident_blocks(multiprocessor(90), {1024, 65, 0}), 0);
  EXPECT_EQ(resident_blocks(multiprocessor(90), {128, 32, 228 * 1024}), 0);
  EXPECT_EQ(resident_blocks(multiprocessor(90), {1025, 32, 0}), 0);
  EXPECT_EQ(resident_blocks(multiprocessor(12), {128, 32, 0}), 0) << "unknown device";
}

}  // namespace
}  // namespace quadrille::device
