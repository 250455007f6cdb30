// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/exchange_kernels.hpp"
#include "support/exchange.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

namespace quadrille::kernels::exchange {
namespace {

using test::DeviceArray;
using test::ExchangeStep;
using Bytes = std::vector<unsigned char>;

// Small, so that messages take many steps and slots are used again.
constexpr Sizes kSizes{.packed_bytes = 1024, .step_bytes = 256, .lanes = 2};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::vector<std::byte> empty_area() { return std::vector<std::byte>(Area::bytes(kSizes)); }

/// Which bytes rank `from` sends to rank `to`; those of a combined exchange are the same to all.
using Lengths = std::function<std::size_t(int from, int to)>;

struct Exchange {
  By by;
  bool combines;
  Lengths bytes;
  unsigned blocks = 1;        ///< of a packed exchange
  bool in_place = false;      ///< the result lies where the own part was
  bool is_allreduce = false;  ///< all ranks get the same part
};

Bytes message(std::size_t bytes, int exchange, int from, int to) {
  Bytes all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    all[i] = static_cast<unsigned char>(i * 131 + i / 256 * 17 + at(exchange) * 89 + at(from) * 59 +
                                        at(to) * 101 + 7);
  }
  return all;
}

template <class T>
T value(std::size_t i, int exchange, int from, int to) {
  return static_cast<T>(
      static_cast<int>((i * 7 + at(exchange) * 29 + at(from) * 13 + at(to) * 5) % 101) - 50);
}

template <class T>
Bytes values(std::size_t bytes, int exchange, int from, int to) {
  std::vector<T> all(bytes / sizeof(T));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = value<T>(i, exchange, from, to);
  Bytes raw(bytes);
  std::memcpy(raw.data(), all.data(), bytes);
  return raw;
}

template <class T>
Bytes combined(std::size_t bytes, int exchange, int ranks, int to, Combine op) {
  std::vector<T> all(bytes / sizeof(T));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = value<T>(i, exchange, 0, to);
    for (int r = 1; r < ranks; ++r) {
      T const x = value<T>(i, exchange, r, to);
      if (op == Combine::sum) all[i] = static_cast<T>(all[i] + x);
      if (op == Combine::min) all[i] = std::min(all[i], x);
      if (op == Combine::max) all[i] = std::max(all[i], x);
    }
  }
  Bytes raw(bytes);
  std::memcpy(raw.data(), all.data(), bytes);
  return raw;
}

/// Bytes that pieces lie behind an aligned address, where they are sent from and where they arrive.
struct Offsets {
  std::int64_t sent = 0, received = 0;
};

/// Runs the exchanges, all of them in one launch in which ranks are ahead of each other, and compares
/// what has arrived.
template <class T>
void expect_exchanged(int ranks, std::vector<Exchange> const& exchanges, Combine op = Combine::sum,
                      Offsets offsets = {}) {
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    auto const n = at(ranks), count = exchanges.size();
    // Of rank r for rank q: areas[r * ranks + q].
    std::vector<std::unique_ptr<DeviceArray<std::byte>>> areas;
    for (std::size_t i = 0; i < n * n; ++i) {
      areas.push_back(std::make_unique<DeviceArray<std::byte>>(device, stream, empty_area()));
    }
    struct Expected {
      DeviceArray<unsigned char> const* place;
      Bytes bytes;
      int exchange, from, to;
    };
    std::vector<std::unique_ptr<DeviceArray<unsigned char>>> places;
    auto const place = [&](Bytes const& content) {
      return places
          .emplace_back(
              std::make_unique<DeviceArray<unsigned char>>(device, stream, content, offsets.sent))
          .get();
    };
    auto const free_place = [&](std::size_t bytes) {
      return places
          .emplace_back(std::make_unique<DeviceArray<unsigned char>>(
              device, stream, static_cast<std::int64_t>(bytes), offsets.received))
          .get();
    };
    std::vector<Expected> expected;
    std::vector<ExchangeStep> steps;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<Counters> counters(n);
      for (int e = 0; e < static_cast<int>(count); ++e) {
        Exchange const& exchange = exchanges[at(e)];
        ExchangeStep step{
            {kSizes, ranks, rank}, exchange.by == By::packed, exchange.combines, exchange.blocks};
        Problem& p = step.problem;
        DeviceArray<unsigned char>* sent = nullptr;
        for (int r = 0; r < ranks; ++r) {
          Peer& peer = p.peers[r];
          peer.send_bytes = exchange.bytes(rank, r);
          peer.receive_bytes = exchange.bytes(r, rank);
          if (r == 0 || !exchange.is_allreduce) {
            sent = place(exchange.combines ? values<T>(peer.send_bytes, e, rank, r)
                                           : message(peer.send_bytes, e, rank, r));
          }
          peer.send = sent->data();
          peer.here = areas[at(rank) * n + at(r)]->data();
          peer.there = areas[at(r) * n + at(rank)]->data();
          if (!exchange.combines) {
            auto const* const to =
                r == rank && exchange.in_place ? sent : free_place(peer.receive_bytes);
            peer.receive = to->data();
            expected.push_back({to, message(peer.receive_bytes, e, r, rank), e, r, rank});
          } else if (r == rank) {
            auto const* const to = exchange.in_place ? sent : free_place(peer.send_bytes);
            p.out = to->data();
            int const part = exchange.is_allreduce ? 0 : rank;
            expected.push_back({to, combined<T>(peer.send_bytes, e, ranks, part, op), e, -1, rank});
          }
          if (exchange.by == By::lanes) {
            counters[at(r)].number_lanes(peer, kSizes);
          } else if (r != rank) {
            counters[at(r)].number_packed(peer);
          }
        }
        steps.push_back(step);
      }
    }
    DeviceArray<ExchangeStep> const device_steps{device, stream, steps};
    DeviceArray<unsigned> const ended{device, stream, std::vector<unsigned>(n, 0)};

    test::launch_ranks(device_steps.data(), static_cast<int>(count), ranks, ended.data(),
                       core::type_of<T>(), op, stream);
    stream.synchronize();

    for (Expected const& one : expected) {
      ASSERT_TRUE(one.place->download() == one.bytes)
          << "exchange " << one.exchange << ", from " << one.from << " to " << one.to;
    }
    for (auto const& one : places) ASSERT_TRUE(one->intact());
    for (auto const& one : areas) ASSERT_TRUE(one->intact());
  });
}

Lengths all_to_all(std::size_t bytes) {
  return [=](int, int) { return bytes; };
}
/// Every pair has a length of its own, some none.
Lengths ragged(std::size_t bytes) {
  return [=](int from, int to) {
    switch ((from + 2 * to) % 4) {
      case 0: return bytes;
      case 1: return bytes / 3;
      case 2: return std::size_t{0};
      default: return bytes - at(from);
    }
  };
}
Lengths from_root(std::size_t bytes, int root) {
  return [=](int from, int to) { return from == root && to != root ? bytes : 0; };
}
Lengths around(std::size_t bytes, int ranks) {
  return [=](int from, int to) {
    return ranks > 1 && to == (from + 1) % ranks ? bytes + at(from) : 0;
  };
}
/// Each rank gets a length of its own.
Lengths scattered(std::size_t bytes, std::size_t element) {
  return [=](int, int to) { return bytes / element / at(to + 1) * element; };
}

std::vector<Exchange> copies(By by, int ranks) {
  std::size_t const most = by == By::packed ? kSizes.packed_bytes : 3001;
  std::vector<Exchange> all;
  for (std::size_t const bytes : {std::size_t{8}, most, std::size_t{24}}) {
    all.push_back({by, false, all_to_all(bytes), 4});
    all.push_back({by, false, ragged(bytes), 1, true});
    all.push_back({by, false, around(bytes - 8, ranks), 3});
  }
  return all;
}

class ExchangeTest : public testing::TestWithParam<By> {};

TEST_P(ExchangeTest, CopiesPiecesBetweenAnyNumberOfRanks) {
  for (int const ranks : {1, 2, 3, 4}) {
    expect_exchanged<double>(ranks, copies(GetParam(), ranks));
  }
}

TEST_P(ExchangeTest, TakesAnyAlignment) {
  for (std::int64_t const offset : {1, 4, 8}) {
    std::vector<Exchange> const combined{{GetParam(), true, all_to_all(512)}};
    for (Offsets const offsets : {Offsets{offset, offset}, {offset, 0}, {0, offset}}) {
      expect_exchanged<double>(2, copies(GetParam(), 2), Combine::sum, offsets);
      if (offset >= 4) expect_exchanged<float>(2, combined, Combine::sum, offsets);
    }
  }
}

// The sender hears nothing of the receivers but that they have taken what it sent.
TEST_P(ExchangeTest, ARootIsAheadByItsSlotsOnly) {
  std::vector<Exchange> all;
  for (int i = 0; i < 11; ++i) {
    all.push_back({GetParam(), false, from_root(i % 2 == 0 ? 900 : 40, i == 10 ? 1 : 0),
                   1 + static_cast<unsigned>(i) % 4});
  }
  expect_exchanged<double>(3, all);
}

// An answer shows what was taken before it was given, and no more.
TEST_P(ExchangeTest, ARootIsAheadBehindAnAnswer) {
  std::vector<Exchange> all;
  for (int i = 0; i < 12; ++i) {
    all.push_back({GetParam(), false, i % 6 == 0 ? all_to_all(1000) : from_root(1000, 0), 4});
  }
  expect_exchanged<double>(2, all);
}

// Answers show what is taken, so that no word is waited for.
TEST_P(ExchangeTest, CombinesManyInARow) {
  std::size_t const most = GetParam() == By::packed ? 1000 : 3000;
  std::vector<Exchange> all;
  for (int i = 0; i < 11; ++i) {
    all.push_back({.by = GetParam(),
                   .combines = true,
                   .bytes = all_to_all(i % 3 == 0 ? 8 : most),
                   .blocks = 1 + static_cast<unsigned>(i) % 4,
                   .in_place = i % 2 == 0,
                   .is_allreduce = i % 4 < 2});
  }
  for (int const ranks : {1, 2, 3}) expect_exchanged<double>(ranks, all);
}

// Whose part comes late keeps the others waiting for free slots, behind every step that is taken.
TEST_P(ExchangeTest, CombinesWhatALateRankHoldsUp) {
  std::size_t const most = GetParam() == By::packed ? 1000 : 9000;
  Lengths const to_the_late = [=](int from, int to) {
    return from == 3 && to == 2 ? most : std::size_t{0};
  };
  Lengths const to_the_first = [=](int, int to) { return to == 0 ? most : std::size_t{0}; };
  expect_exchanged<double>(4, {{GetParam(), false, to_the_late}, {GetParam(), true, to_the_first}});
}

TEST_P(ExchangeTest, CombinesPartsOfEveryTypeAndOperation) {
  std::vector<Exchange> const all{{GetParam(), true, scattered(1024, 8), 2},
                                  {GetParam(), true, scattered(64, 8), 1, true}};
  expect_exchanged<double>(4, all, Combine::max);
  expect_exchanged<float>(2, all, Combine::min, {4, 4});
  expect_exchanged<std::int64_t>(2, all, Combine::sum, {8, 8});
  expect_exchanged<std::int32_t>(2, all, Combine::max, {4, 4});
}

TEST_P(ExchangeTest, TakesTurnsWithTheOther) {
  std::vector<Exchange> all;
  for (int i = 0; i < 8; ++i) {
    By const by = i % 2 == 0 ? By::packed : By::lanes;
    all.push_back({by, i % 4 < 2, all_to_all(200 + 8 * at(i)), 2});
  }
  expect_exchanged<float>(2, all);
}

INSTANTIATE_TEST_SUITE_P(All, ExchangeTest, testing::Values(By::packed, By::lanes),
                         [](auto const& tested) {
                           return tested.param == By::packed ? "packed" : "lanes";
                         });

/// One rank by the launches that programs make: the own part alone.
TEST(ExchangeLaunchTest, KeepsNanAndCopiesTheOwnPiece) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  test::on_every_schedule([=](device::Device& device, device::StreamView stream) {
    DeviceArray<double> const in{device, stream, std::vector<double>{nan, 2}};
    for (By const by : {By::packed, By::lanes}) {
      DeviceArray<double> const copied{device, stream, 2}, reduced{device, stream, 2};
      DeviceArray<std::byte> const area{device, stream, empty_area()};
      Problem p{kSizes, 1, 0};
      p.peers[0].send = in.data();
      p.peers[0].receive = copied.data();
      p.peers[0].send_bytes = p.peers[0].receive_bytes = 16;
      p.peers[0].here = area.data();
      copy(by, p, stream);
      // Blocks that wait for each other are not all resident in every schedule.
      bool const combines = by == By::packed || test::kernel_mode() == test::KernelMode::gpu;
      p.out = (combines ? reduced : copied).data();
      if (combines) combine(by, p, core::DataType::f64, Combine::min, stream);
      stream.synchronize();

      for (auto const* const out : {&copied, combines ? &reduced : &copied}) {
        std::vector<double> const got = out->download();
        EXPECT_TRUE(std::isnan(got[0]) && got[1] == 2);
        EXPECT_TRUE(out->intact());
      }
    }
  });
}

TEST(ExchangeLaunchTest, RefusesAPackedMessageThatIsTooLong) {
  test::on_every_schedule([](device::Device&, device::StreamView stream) {
    Problem p{kSizes, 2, 0};
    p.peers[1].send_bytes = kSizes.packed_bytes + 1;
    EXPECT_FAILS(copy(By::packed, p, stream), "use lanes");
  });
}

TEST(ExchangeCountersTest, KnowWhatIsTakenAndSayIt) {
  Counters root, other;
  auto const number = [](Counters& counters, std::size_t sent, std::size_t received) {
    Peer peer;
    peer.send_bytes = sent;
    peer.receive_bytes = received;
    counters.number_packed(peer);
    return peer;
  };
  // An answer shows that all is taken but what crosses it.
  EXPECT_EQ(number(root, 8, 8).sent, 1U);
  EXPECT_EQ(number(other, 8, 8).received, 1U);
  for (std::uint32_t message = 2; message <= 7; ++message) {
    Peer const sends = number(root, 8, 0), receives = number(other, 0, 8);
    EXPECT_EQ(sends.sent, message);
    EXPECT_EQ(receives.received, message);
    EXPECT_EQ(sends.awaits_taken, message > kSlots) << message;
    EXPECT_TRUE(receives.says_taken);
    EXPECT_EQ(receives.taken, message - 1);
  }
  // Who sends says the same by that, and nothing where nothing is new.
  EXPECT_FALSE(number(other, 8, 8).says_taken);
  number(root, 8, 8);
  EXPECT_FALSE(number(root, 8, 0).awaits_taken);
  EXPECT_TRUE(number(other, 0, 8).says_taken);
  EXPECT_TRUE(number(other, 0, 0).says_taken);
  EXPECT_FALSE(number(other, 0, 0).says_taken);
}

TEST(ExchangeCutTest, CoversAMessageOnce) {
  for (std::size_t const bytes : {0UL, 1UL, 16UL, 17UL, 512UL, 513UL, 100000UL}) {
    Cut const found = cut(bytes, kSizes);
    std::size_t const lanes = 2;
    EXPECT_GE(found.steps * lanes * found.part, bytes);
    EXPECT_EQ(found.part % kGroupBytes, 0U);
    EXPECT_LE(found.part, kSizes.step_bytes);
    if (bytes > 0) {
      EXPECT_LT((found.steps - 1) * lanes * found.part, bytes);
    }
  }
}

TEST(ExchangeCutTest, LanesCoverAMessageBeyondFourGibibytes) {
  constexpr Sizes kLarge{.packed_bytes = 1024, .step_bytes = 32 << 10, .lanes = 128};
  constexpr std::size_t kBytes = (std::size_t{5} << 30) + 1000;
  Cut const found = cut(kBytes, kLarge);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<test::Stretch> const out{device, stream, std::int64_t{found.steps} * kLarge.lanes};
    test::launch_stretches(kLarge, kBytes, out.data(), stream);
    std::size_t next = 0;
    for (auto const& [first, bytes] : out.download()) {
      ASSERT_EQ(first, bytes > 0 ? next : 0);
      ASSERT_EQ(bytes, std::min(found.part, kBytes - next));
      next += bytes;
    }
    EXPECT_EQ(next, kBytes);
  });
}

}  // namespace
}  // namespace quadrille::kernels::exchange
