// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every device kind promises. Included by one test file per kind, which instantiates it.

#include "device/device.hpp"
#include "device/gate.hpp"
#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ostream>
#include <random>
#include <thread>
#include <vector>

namespace quadrille::device {

using Bytes = std::vector<unsigned char>;

inline void PrintTo(Kind kind, std::ostream* out) {
  *out << (kind == Kind::host ? "host" : "cuda");
}

/// A device with two streams.
class DeviceSemantics : public testing::TestWithParam<Kind> {
 protected:
  /// Whether the event is still not reached after a while.
  static bool stays_pending(Event const& event) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return !event.done();
  }
  /// What device memory holds once `stream` has come here.
  static Bytes read(StreamView stream, void const* from, std::size_t bytes) {
    PinnedBuffer<unsigned char> const host{stream.device(), static_cast<std::int64_t>(bytes)};
    stream.copy(host.data(), from, bytes);
    stream.synchronize();
    return {host.data(), host.data() + bytes};
  }
  /// Zeros.
  SharedMemory make_shared(std::size_t bytes) {
    SharedMemory shared{*device_, *device_->allocate_shared(bytes)};
    a_.view().fill(shared.data(), 0, bytes);
    a_.view().synchronize();
    return shared;
  }
  /// Bytes that differ by position.
  static Bytes pattern(std::size_t n) {
    Bytes bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(i * 7 % 251 + 1);
    return bytes;
  }

  std::unique_ptr<Device> device_ =
      GetParam() == Kind::host ? make_host_device(1) : make_cuda_device(0);
  Stream a_{*device_, "a"};
  Stream b_{*device_, "b", Priority::high};
};

TEST_P(DeviceSemantics, FillsAndCopiesOfOneStreamHappenInOrder) {
  constexpr std::int64_t kSteps = 300;
  Buffer<unsigned char> const cell{*device_, 1, a_};
  PinnedBuffer<unsigned char> const seen{*device_, kSteps};

  for (std::int64_t i = 0; i < kSteps; ++i) {
    a_.view().fill(cell.data(), static_cast<unsigned char>(i % 256), 1);
    a_.view().copy(seen.data() + i, cell.data(), 1);
  }
  a_.view().synchronize();

  for (std::int64_t i = 0; i < kSteps; ++i) ASSERT_EQ(seen.data()[i], i % 256) << i;
}

TEST_P(DeviceSemantics, TasksOfOneStreamRunInOrder) {
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) a_.view().run([&order, i] { order.push_back(i); });
  a_.view().synchronize();

  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_P(DeviceSemantics, AStreamGoesOnWhileAnotherIsBlocked) {
  Flag const gate{*device_};
  Event blocked{*device_};
  bool ran = false;

  a_.view().wait(gate, 1);
  a_.view().record(blocked);
  b_.view().run([&] { ran = true; });
  b_.view().synchronize();

  EXPECT_TRUE(ran);
  EXPECT_TRUE(stays_pending(blocked));
  gate.set(1);
  blocked.synchronize();
  EXPECT_TRUE(blocked.done());
}

TEST_P(DeviceSemantics, AWordOrdersStreams) {
  SharedMemory const shared = make_shared(4096);
  SharedWord const word{shared.data() + 128};
  PinnedBuffer<unsigned char> const seen{*device_, 4096};
  Bytes const sent = pattern(512);
  Event passed{*device_};

  word.wait_on(a_, 2);
  a_.view().copy(seen.data(), shared.data(), 4096);
  a_.view().record(passed);
  word.set_on(b_, 1);
  b_.view().synchronize();
  EXPECT_TRUE(stays_pending(passed));
  b_.view().copy(shared.data() + 1024, sent.data(), sent.size());
  word.set_on(b_, 2);
  passed.synchronize();

  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), seen.data() + 1024));
}

TEST_P(DeviceSemantics, AWordIsComparedAsAWrappingDifference) {
  SharedMemory const shared = make_shared(4096);
  SharedWord const word{shared.data()};
  word.set_on(a_, 0xFFFFFFF0U);
  a_.view().synchronize();
  Event passed{*device_};

  word.wait_on(b_, 3);
  b_.view().record(passed);
  EXPECT_TRUE(stays_pending(passed));
  word.set_on(a_, 4);
  passed.synchronize();

  word.wait_on(b_, 0xFFFFFFF0U);  // long passed
  b_.view().synchronize();
}

TEST_P(DeviceSemantics, OpensNothingByAWrongHandle) {
  for (std::string const wrong : {"", "1", "x y z", "-1 -1 4096"}) {
    core::Parsed<void*> const opened = device_->open_shared(wrong);
    ASSERT_FALSE(opened) << wrong;
    EXPECT_FALSE(opened.why().empty());
  }
}

TEST_P(DeviceSemantics, AWaitBeforeTheRecordIsNoWait) {
  Flag const gate{*device_};
  Event event{*device_};
  EXPECT_TRUE(event.done());
  event.synchronize();

  a_.view().wait(gate, 1);
  b_.view().wait(event);
  a_.view().record(event);
  b_.view().synchronize();

  EXPECT_TRUE(stays_pending(event));
  gate.set(1);
  a_.view().synchronize();
  EXPECT_TRUE(event.done());
}

TEST_P(DeviceSemantics, AWaitMeansTheLatestRecordBeforeIt) {
  Flag const gate{*device_};
  Event event{*device_}, passed{*device_};

  a_.view().wait(gate, 1);
  a_.view().record(event);
  b_.view().wait(event);
  b_.view().record(passed);
  a_.view().wait(gate, 2);
  a_.view().record(event);

  EXPECT_TRUE(stays_pending(passed));
  gate.set(1);
  passed.synchronize();
  EXPECT_TRUE(stays_pending(event));
  gate.set(2);
  event.synchronize();
  EXPECT_TRUE(event.done());
}

TEST_P(DeviceSemantics, AnEventMayEndWhileAStreamWaitsForIt) {
  Flag const gate{*device_};
  std::vector<char> order;

  a_.view().wait(gate, 1);
  a_.view().run([&] { order.push_back('a'); });
  {
    Event event{*device_};
    a_.view().record(event);
    b_.view().wait(event);
  }
  b_.view().run([&] { order.push_back('b'); });
  gate.set(1);
  b_.view().synchronize();

  EXPECT_EQ(order, (std::vector<char>{'a', 'b'}));
}

TEST_P(DeviceSemantics, AFlagReleasesAtItsValueAndBeyond) {
  Flag const flag{*device_};
  EXPECT_EQ(flag.get(), 0U);
  flag.set(5);
  EXPECT_EQ(flag.get(), 5U);
  a_.view().wait(flag, 5);
  a_.view().wait(flag, 3);
  a_.view().synchronize();

  Event passed{*device_};
  a_.view().wait(flag, 7);
  a_.view().record(passed);
  flag.set(6);
  EXPECT_TRUE(stays_pending(passed));
  flag.set(9);
  passed.synchronize();
}

TEST_P(DeviceSemantics, AFlagCountsOnBeyondItsLargestValue) {
  Flag const flag{*device_};
  Event passed{*device_};
  flag.set(0xFFFFFFFE);
  a_.view().wait(flag, 0xFFFFFFF0);
  a_.view().synchronize();

  a_.view().wait(flag, 2);
  a_.view().record(passed);
  EXPECT_TRUE(stays_pending(passed));
  flag.set(1);
  EXPECT_TRUE(stays_pending(passed));
  flag.set(2);
  passed.synchronize();
}

TEST_P(DeviceSemantics, CopiesTouchNothingElse) {
  for (std::size_t const n : {1U, 3U, 255U, 4097U}) {
    for (std::size_t const offset : {0U, 1U, 13U}) {
      Bytes const source = pattern(n);
      Buffer<unsigned char> const to{*device_, static_cast<std::int64_t>(n + 64), a_};
      Buffer<unsigned char> const between{*device_, static_cast<std::int64_t>(n), a_};

      a_.view().copy(between.data(), source.data(), n);
      a_.view().copy(to.data() + offset, between.data(), n);
      Bytes const found = read(a_, to.data(), to.bytes());

      Bytes expected(n + 64, 0xFF);
      std::copy(source.begin(), source.end(), expected.begin() + static_cast<long>(offset));
      ASSERT_EQ(found, expected) << n << " bytes at " << offset;
    }
  }
}

TEST_P(DeviceSemantics, FillsTouchNothingElse) {
  for (std::size_t const n : {1U, 255U, 4096U}) {
    Buffer<unsigned char> const buffer{*device_, static_cast<std::int64_t>(n + 32), a_};
    a_.view().fill(buffer.data() + 7, 0x5A, n);

    Bytes expected(n + 32, 0xFF);
    std::fill_n(expected.begin() + 7, n, static_cast<unsigned char>(0x5A));
    ASSERT_EQ(read(a_, buffer.data(), buffer.bytes()), expected);
  }
}

TEST_P(DeviceSemantics, NothingIsCopiedForZeroBytes) {
  a_.view().copy(nullptr, nullptr, 0);
  a_.view().copy_2d(nullptr, 8, nullptr, 8, 0, 3);
  a_.view().copy_2d(nullptr, 8, nullptr, 8, 4, 0);
  a_.view().fill(nullptr, 0, 0);
  a_.view().synchronize();
  EXPECT_EQ(Buffer<double>(*device_, 0, a_).data(), nullptr);
}

TEST_P(DeviceSemantics, BlocksAreCopiedRowByRow) {
  struct Shape {
    std::size_t row_bytes, rows, to_pitch, from_pitch;
  };
  for (auto const [width, rows, to_pitch, from_pitch] :
       {Shape{5, 7, 16, 9}, Shape{8, 3, 8, 8}, Shape{1, 1, 3, 2}, Shape{12, 4, 12, 40}}) {
    Bytes const source = pattern(rows * from_pitch);
    Buffer<unsigned char> const from{*device_, static_cast<std::int64_t>(source.size()), a_};
    Buffer<unsigned char> const to{*device_, static_cast<std::int64_t>(rows * to_pitch + 8), a_};
    Bytes expected(to.bytes(), 0xFF);
    for (std::size_t i = 0; i < rows; ++i) {
      std::copy_n(source.begin() + static_cast<long>(i * from_pitch), width,
                  expected.begin() + static_cast<long>(i * to_pitch));
    }

    a_.view().copy(from.data(), source.data(), source.size());
    a_.view().copy_2d(to.data(), to_pitch, from.data(), from_pitch, width, rows);
    EXPECT_EQ(read(a_, to.data(), to.bytes()), expected);

    PinnedBuffer<unsigned char> const pinned{*device_, to.size()};
    std::memset(pinned.data(), 0xFF, to.bytes());
    a_.view().copy_2d(pinned.data(), to_pitch, from.data(), from_pitch, width, rows);
    a_.view().synchronize();
    EXPECT_EQ(Bytes(pinned.span().begin(), pinned.span().end()), expected);
  }
}

TEST_P(DeviceSemantics, ElapsedTimeLiesBetweenTheTwoPoints) {
  Event first{*device_}, last{*device_};
  auto const before = std::chrono::steady_clock::now();
  a_.view().record(first);
  a_.view().run([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  a_.view().record(last);
  last.synchronize();
  std::chrono::duration<double> const outside = std::chrono::steady_clock::now() - before;

  EXPECT_GE(last.seconds_since(first), 0.0199);
  EXPECT_LE(last.seconds_since(first), outside.count() * 1.01);
}

TEST_P(DeviceSemantics, MemoryIsAlignedAndStartsAsNaN) {
  Buffer<double> const odd{*device_, 3, a_};
  Buffer<double> const large{*device_, 1 << 19, a_};
  for (auto const& buffer : {&odd, &large}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 256, 0U);
    Bytes const found = read(a_, buffer->data(), buffer->bytes());
    EXPECT_EQ(found, Bytes(buffer->bytes(), 0xFF));
  }
  PinnedBuffer<double> const host{*device_, 3};
  a_.view().copy(host.data(), odd.data(), odd.bytes());
  a_.view().synchronize();
  EXPECT_TRUE(std::isnan(host.data()[0]) && std::isnan(host.data()[2]));
}

TEST_P(DeviceSemantics, TooMuchMemoryIsRefusedWithTheWayOut) {
  auto const failure = test::failure_of([&] { device_->allocate(std::size_t{1} << 55); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, core::Exit::environment);
  EXPECT_NE(failure->what.find("asked "), std::string::npos) << failure->what;
  EXPECT_NE(failure->what.find(" are free; lower the size"), std::string::npos) << failure->what;

  // The device goes on.
  Buffer<double> const buffer{*device_, 10, a_};
  EXPECT_EQ(read(a_, buffer.data(), 1), Bytes{0xFF});
}

TEST_P(DeviceSemantics, FreeMemoryIsLessThanAllOfIt) {
  EXPECT_GT(device_->free_memory(), 0U);
  EXPECT_LT(device_->free_memory(), device_->facts().memory_bytes);
  EXPECT_FALSE(device_->facts().name.empty());
  EXPECT_GE(device_->facts().multiprocessors, 1);
}

TEST_P(DeviceSemantics, TheEndOfAStreamIsTheEndOfItsWork) {
  int done = 0;
  {
    Stream stream{*device_, "a label longer than fifteen characters"};
    stream.view().run([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    for (int i = 0; i < 10; ++i) stream.view().run([&] { ++done; });
  }
  EXPECT_EQ(done, 10);
}

TEST_P(DeviceSemantics, AnotherThreadMayUseAndReleaseAStream) {
  Flag const gate{*device_};
  bool passed = false;
  a_.view().wait(gate, 1);
  a_.view().run([&] { passed = true; });

  std::thread other{[&] {
    device_->bind_thread();
    Stream mine{*device_, "mine"};
    Event event{*device_};
    mine.view().run([] {});
    mine.view().record(event);
    event.synchronize();
    gate.set(1);
  }};
  a_.view().synchronize();
  other.join();

  EXPECT_TRUE(passed);
}

// A random graph of tasks on several streams. Every task checks that those it must follow are done.
// The marks are plain memory on purpose: a thread sanitizer then finds every missing order.
TEST_P(DeviceSemantics, RandomGraphsOfEventsKeepTheirOrder) {
  constexpr std::size_t kStreams = 4, kEvents = 6, kSteps = 400, kRounds = 25;
  std::mt19937 random{12345};
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };

  for (std::size_t round = 0; round < kRounds; ++round) {
    std::vector<Stream> streams;
    std::vector<Event> events;
    for (std::size_t i = 0; i < kStreams; ++i) streams.emplace_back(*device_, "graph");
    for (std::size_t i = 0; i < kEvents; ++i) events.emplace_back(*device_);
    Flag const gate{*device_};
    std::vector<std::vector<std::size_t>> before_next(kStreams), before_event(kEvents);
    std::vector<char> done(kSteps, 0);
    std::vector<std::size_t> violations(kStreams, 0);
    // Every other round queues everything before anything runs.
    for (auto const& stream : streams) {
      if (round % 2 == 0) stream.view().wait(gate, 1);
    }

    for (std::size_t step = 0; step < kSteps; ++step) {
      std::size_t const s = below(kStreams), e = below(kEvents);
      switch (below(4)) {
        case 0:
          streams[s].view().record(events[e]);
          before_event[e] = before_next[s];
          break;
        case 1:
          streams[s].view().wait(events[e]);
          before_next[s].insert(before_next[s].end(), before_event[e].begin(),
                                before_event[e].end());
          break;
        case 2:
          if (below(4) == 0) {
            events[e] = Event{*device_};
            before_event[e].clear();
          }
          break;
        default:
          streams[s].view().run([&done, &violations, s, step, before = before_next[s]] {
            for (std::size_t const earlier : before) violations[s] += done[earlier] == 1 ? 0U : 1U;
            done[step] = 1;
          });
          before_next[s] = {step};
      }
    }
    gate.set(1);
    streams.clear();

    for (std::size_t s = 0; s < kStreams; ++s) ASSERT_EQ(violations[s], 0U) << "round " << round;
  }
}

TEST_P(DeviceSemantics, RegisteredHostMemoryIsCopiedBothWaysAndStaysItsOwners) {
  constexpr std::size_t kBytes = 100'003;
  Bytes const from = pattern(kBytes);
  Bytes to(kBytes);
  Buffer<unsigned char> const middle{*device_, kBytes, a_};
  {
    Bytes source = from;
    HostRegistration const source_lock{*device_, source.data(), source.size()};
    HostRegistration const target_lock{*device_, to.data(), to.size()};

    a_.view().copy(middle.data(), source.data(), kBytes);
    a_.view().copy(to.data(), middle.data(), kBytes);
    a_.view().synchronize();
  }

  EXPECT_TRUE(to == from);
  // No longer locked, it can be locked again.
  HostRegistration const again{*device_, to.data(), to.size()};
}

TEST_P(DeviceSemantics, PooledMemoryKeepsTheOrderOfItsStream) {
  constexpr std::int64_t kBytes = 1 << 20;
  for (int round = 0; round < 20; ++round) {
    PooledBuffer<unsigned char> const first{*device_, kBytes, a_};
    PooledBuffer<unsigned char> const second{*device_, kBytes, a_};
    ASSERT_NE(first.data(), second.data());
    a_.view().fill(first.data(), static_cast<unsigned char>(round), kBytes);
    a_.view().fill(second.data(), 0xAB, kBytes);
    a_.view().copy(second.data(), first.data(), kBytes / 2);

    Bytes const got = read(a_, second.data(), kBytes);

    ASSERT_EQ(std::count(got.begin(), got.begin() + kBytes / 2, round), kBytes / 2);
    ASSERT_EQ(std::count(got.begin() + kBytes / 2, got.end(), 0xAB), kBytes / 2);
  }
}

TEST_P(DeviceSemantics, TheDefaultStreamIsAStreamLikeOthers) {
  Stream const standard{device_->make_default_stream()};
  Buffer<unsigned char> const cell{*device_, 4, a_};
  a_.view().synchronize();
  Event filled{*device_};

  standard.view().fill(cell.data(), 7, 4);
  standard.view().record(filled);
  a_.view().wait(filled);

  EXPECT_EQ(read(a_, cell.data(), 4), Bytes(4, 7));
}

TEST_P(DeviceSemantics, AGateHoldsAllStreamsBackUntilItOpens) {
  Gate gate{*device_};
  for (int turn = 0; turn < 3; ++turn) {
    Event reached_a{*device_}, reached_b{*device_};
    gate.close();
    a_.view().record(reached_a);
    b_.view().record(reached_b);
    EXPECT_TRUE(stays_pending(reached_a));
    EXPECT_TRUE(stays_pending(reached_b));

    EXPECT_FALSE(gate.open());
    reached_a.synchronize();
    reached_b.synchronize();
  }
}

TEST_P(DeviceSemantics, AClockBehindAGateDoesNotShowTheHost) {
  constexpr std::chrono::duration<double> kBurden{0.2};
  Gate gate{*device_};
  Event begin{*device_}, end{*device_};
  gate.close();
  a_.view().record(begin);
  std::this_thread::sleep_for(kBurden);
  a_.view().record(end);
  EXPECT_FALSE(gate.open());
  end.synchronize();
  EXPECT_LT(end.seconds_since(begin), kBurden.count());
}

TEST_P(DeviceSemantics, AGateOpensForACallThatWaitsForTheDevice) {
  Gate gate{*device_, std::chrono::milliseconds{100}};
  Buffer<unsigned char> const cell{*device_, 1, a_};
  a_.view().synchronize();
  gate.close();
  a_.view().fill(cell.data(), 7, 1);
  b_.view().synchronize();

  std::optional<Gate::Expiry> const expiry = gate.open();
  ASSERT_TRUE(expiry);
  EXPECT_EQ(expiry->calls, 2);
  EXPECT_EQ(expiry->last_call, "synchronize on stream 'b'");
  gate.close();
  EXPECT_FALSE(gate.open()) << "of this turn";
  a_.view().synchronize();
}

TEST_P(DeviceSemantics, AGateOpensBeforeAQueueIsFull) {
  Gate gate{*device_};
  Buffer<unsigned char> const cell{*device_, 1, a_};
  a_.view().synchronize();
  Event reached{*device_};
  gate.close(3);
  a_.view().fill(cell.data(), 7, 1);
  a_.view().record(reached);
  a_.view().fill(cell.data(), 7, 1);
  EXPECT_TRUE(stays_pending(reached));
  a_.view().fill(cell.data(), 7, 1);
  reached.synchronize();
  EXPECT_FALSE(gate.open()) << "what waited is a head start for the rest";
  a_.view().synchronize();
}

TEST_P(DeviceSemantics, AGateHasNothingToDoWithStreamsThatAreGone) {
  Gate gate{*device_};
  { Stream const gone{*device_, "gone"}; }
  gate.close();
  EXPECT_FALSE(gate.open());
  a_.view().synchronize();
}

}  // namespace quadrille::device
