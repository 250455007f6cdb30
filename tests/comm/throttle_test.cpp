// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

namespace quadrille::comm {
namespace {

using test::world;

double processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct Spent {
  double wall_s;       ///< of the slowest rank
  double processor_s;  ///< of the busiest rank
};

/// Time of what `enqueue` starts, to the end of the world's stream.
template <class Enqueue>
Spent measure(Enqueue enqueue) {
  world().stream().synchronize();
  world().group().barrier();
  auto const start = std::chrono::steady_clock::now();
  double const before = processor_time();
  enqueue();
  world().stream().synchronize();
  double const wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {world().group().max(wall), world().group().max(processor_time() - before)};
}

void expect_near_model(Spent spent, double model_s) {
  EXPECT_GE(spent.wall_s, 0.99 * model_s);
  EXPECT_LE(spent.wall_s, 1.10 * model_s);
  EXPECT_LE(spent.processor_s, 0.25 * model_s);
}

class Throttle : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr double kRate = 100e6;
  static constexpr std::int64_t kBytes = 20 << 20;
  static constexpr std::size_t kPart = kBytes / 4;

  Piece part(device::Buffer<std::byte> const& buffer, std::size_t i) const {
    return {buffer.data() + i * kPart, kPart};
  }
  ConstPiece const_part(device::Buffer<std::byte> const& buffer, std::size_t i) const {
    return {buffer.data() + i * kPart, kPart};
  }

  int next_ = (world().rank() + 1) % world().size();
  int previous_ = (world().rank() + world().size() - 1) % world().size();
  std::unique_ptr<Transport> transport_ = make_mpi_transport(world().device(), {GetParam(), kRate});
  std::unique_ptr<Channel> channel_ = transport_->connect(world().group());
  device::Buffer<std::byte> send_{world().device(), kBytes, world().stream()};
  device::Buffer<std::byte> receive_{world().device(), kBytes, world().stream()};
};

TEST_P(Throttle, MessagesTakeTheTimeOfTheLink) {
  Spent const spent = measure([&] {
    Request last;
    for (std::size_t i = 0; i < 4; ++i) {
      last = channel_->sendrecv(const_part(send_, i), next_, part(receive_, i), previous_,
                                world().stream());
    }
    last.wait_on(world().stream());
  });
  expect_near_model(spent, kBytes / kRate);
}

TEST_P(Throttle, ChannelsShareOneLink) {
  auto const other = transport_->connect(world().group());
  Spent const spent = measure([&] {
    for (std::size_t i = 0; i < 4; ++i) {
      Channel& channel = i % 2 == 0 ? *channel_ : *other;
      channel
          .sendrecv(const_part(send_, i), next_, part(receive_, i), previous_,
                    world().comm_stream())
          .wait_on(world().stream());
    }
  });
  expect_near_model(spent, kBytes / kRate);
}

// Chunks go round the ring at once, so a broadcast costs its size once and a chunk per rank.
TEST_P(Throttle, BroadcastIsARing) {
  Spent const spent = measure([&] {
    channel_->broadcast({send_.data(), send_.bytes()}, 0, world().stream())
        .wait_on(world().stream());
  });
  double const chunk = static_cast<double>(std::min(GetParam(), std::size_t{2} << 20));
  expect_near_model(spent, (kBytes + (world().size() - 2) * chunk) / kRate);
}

TEST_P(Throttle, ReductionsCostTheirRing) {
  Spent const spent = measure([&] {
    ConstPiece const in{send_.data(), send_.bytes()};
    channel_
        ->allreduce(in, {receive_.data(), receive_.bytes()}, core::DataType::i32, ReduceOp::max,
                    world().stream())
        .wait_on(world().stream());
  });
  double const ranks = world().size();
  expect_near_model(spent, 2 * (ranks - 1) / ranks * kBytes / kRate);
}

INSTANTIATE_TEST_SUITE_P(Chunks, Throttle, testing::Values(64UL << 10, 1UL << 20));

}  // namespace
}  // namespace quadrille::comm
