// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
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

bool fits(Spent spent, double model_s) {
  return spent.wall_s <= 1.10 * model_s && spent.processor_s <= 0.25 * model_s;
}

/// Expects that what `enqueue` starts takes the time of the model, to the end of the world's stream.
/// The least of at most three, because other processes only ever add to it.
template <class Enqueue>
void expect_near_model(double model_s, Enqueue enqueue) {
  Spent least{1e9, 1e9};
  for (int i = 0; i < 3 && !fits(least, model_s); ++i) {
    world().stream().synchronize();
    world().group().barrier();
    auto const start = std::chrono::steady_clock::now();
    double const before = processor_time();
    enqueue();
    world().stream().synchronize();
    double const wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    least.wall_s = std::min(least.wall_s, world().group().max(wall));
    least.processor_s = std::min(least.processor_s, world().group().max(processor_time() - before));
  }
  EXPECT_GE(least.wall_s, 0.99 * model_s);
  EXPECT_TRUE(fits(least, model_s))
      << least.wall_s << " s, of a processor " << least.processor_s << " s; model " << model_s;
}

class Throttle : public testing::TestWithParam<std::size_t> {
 protected:
  // 24 chunks of 10 ms, in four parts.
  std::size_t const chunk_bytes_ = GetParam();
  double const rate_ = static_cast<double>(chunk_bytes_) / 0.010;
  std::size_t const part_bytes_ = 6 * chunk_bytes_;
  std::size_t const bytes_ = 4 * part_bytes_;
  double const model_s_ = static_cast<double>(bytes_) / rate_;

  Piece part(device::Buffer<std::byte> const& buffer, std::size_t i) const {
    return {buffer.data() + i * part_bytes_, part_bytes_};
  }
  ConstPiece const_part(device::Buffer<std::byte> const& buffer, std::size_t i) const {
    return {buffer.data() + i * part_bytes_, part_bytes_};
  }

  int next_ = (world().rank() + 1) % world().size();
  int previous_ = (world().rank() + world().size() - 1) % world().size();
  std::unique_ptr<Transport> transport_ = make_transport("mpi", world(), {chunk_bytes_, rate_});
  std::unique_ptr<Channel> channel_ = transport_->connect(world().group());
  device::Buffer<std::byte> send_{world().device(), static_cast<std::int64_t>(bytes_),
                                  world().stream()};
  device::Buffer<std::byte> receive_{world().device(), static_cast<std::int64_t>(bytes_),
                                     world().stream()};
};

TEST_P(Throttle, MessagesTakeTheTimeOfTheLink) {
  expect_near_model(model_s_, [&] {
    Request last;
    for (std::size_t i = 0; i < 4; ++i) {
      last = channel_->sendrecv(const_part(send_, i), next_, part(receive_, i), previous_,
                                world().stream());
    }
    last.wait_on(world().stream());
  });
}

TEST_P(Throttle, ChannelsShareOneLink) {
  auto const other = transport_->connect(world().group());
  expect_near_model(model_s_, [&] {
    for (std::size_t i = 0; i < 4; ++i) {
      Channel& channel = i % 2 == 0 ? *channel_ : *other;
      channel
          .sendrecv(const_part(send_, i), next_, part(receive_, i), previous_,
                    world().comm_stream())
          .wait_on(world().stream());
    }
  });
}

// Chunks go round the ring at once, so a broadcast costs its size once and a chunk per rank.
TEST_P(Throttle, BroadcastIsARing) {
  expect_near_model(model_s_ + (world().size() - 2) * 0.010, [&] {
    channel_->broadcast({send_.data(), send_.bytes()}, 0, world().stream())
        .wait_on(world().stream());
  });
}

TEST_P(Throttle, ReductionsCostTheirRing) {
  double const ranks = world().size();
  expect_near_model(2 * (ranks - 1) / ranks * model_s_, [&] {
    ConstPiece const in{send_.data(), send_.bytes()};
    channel_
        ->allreduce(in, {receive_.data(), receive_.bytes()}, core::DataType::i32, ReduceOp::max,
                    world().stream())
        .wait_on(world().stream());
  });
}

INSTANTIATE_TEST_SUITE_P(Chunks, Throttle, testing::Values(64UL << 10, 1UL << 20));

}  // namespace
}  // namespace quadrille::comm
