// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace quadrille::device {
namespace {

using namespace std::chrono_literals;

TraceSpan const* find(std::vector<TraceSpan> const& spans, std::string_view name) {
  auto const found = std::ranges::find(spans, name, &TraceSpan::name);
  return found == spans.end() ? nullptr : &*found;
}

TEST(Trace, ShowsWhatEachStreamDidAndWhen) {
  auto const device = make_host_device(1);
  Stream const compute{*device, "compute"}, copies{*device, "copies"};
  Event ready{*device};
  std::vector<char> from(1000, 'x'), to(1000);
  Trace trace{*device, compute};

  double const begin = host_seconds();
  trace.set_label("first");
  {
    TraceScope const scope{compute, TraceKind::kernel, "product", 7};
    compute.view().run([] { std::this_thread::sleep_for(30ms); });
  }
  compute.view().record(ready);
  trace.set_label("second");
  copies.view().wait(ready);
  copies.view().copy(to.data(), from.data(), from.size());
  copies.view().synchronize();
  double const end = host_seconds();
  double const error = trace.error_s();
  std::vector<TraceSpan> const spans = trace.finish();

  EXPECT_EQ(to, from);
  ASSERT_EQ(spans.size(), 4U);
  TraceSpan const* const product = find(spans, "product");
  TraceSpan const* const task = find(spans, "task");
  TraceSpan const* const wait = find(spans, "wait for another stream");
  TraceSpan const* const copy = find(spans, "copy");
  ASSERT_TRUE(product && task && wait && copy);
  EXPECT_EQ(product->track, "compute");
  EXPECT_EQ(product->kind, TraceKind::kernel);
  EXPECT_EQ(product->label, "first");
  EXPECT_EQ(product->bytes, 7U);
  EXPECT_EQ(copy->track, "copies");
  EXPECT_EQ(copy->kind, TraceKind::copy);
  EXPECT_EQ(copy->label, "second");
  EXPECT_EQ(copy->bytes, 1000U);
  EXPECT_EQ(wait->kind, TraceKind::wait);

  EXPECT_GE(product->begin_s, begin - error);
  EXPECT_LE(product->begin_s, task->begin_s);
  EXPECT_GE(task->end_s - task->begin_s, 0.030);
  EXPECT_LE(task->end_s, product->end_s);
  EXPECT_GE(wait->end_s, product->end_s);
  EXPECT_LE(wait->end_s, copy->begin_s);
  EXPECT_LE(copy->end_s, end + error);
}

TEST(Trace, CollectsNothingBeforeAndBehindIt) {
  auto const device = make_host_device(1);
  Stream const stream{*device, "compute"};
  auto const work = [&] {
    stream.view().run([] {});
    TraceScope const scope{stream, TraceKind::kernel, "nothing"};
  };

  work();
  EXPECT_EQ(device->trace(), nullptr);
  Trace trace{*device, stream};
  EXPECT_EQ(device->trace(), &trace);
  std::vector<TraceSpan> const spans = trace.finish();
  work();
  stream.view().synchronize();

  EXPECT_TRUE(spans.empty());
  EXPECT_EQ(device->trace(), nullptr);
  EXPECT_TRUE(trace.finish().empty());
}

TEST(Trace, TellsStreamsOfOneNameApart) {
  auto const device = make_host_device(1);
  Stream const a{*device, "fill"}, b{*device, "fill"};
  Trace trace{*device, a};

  a.view().run([] {});
  b.view().run([] {});
  a.view().run([] {});
  std::vector<TraceSpan> const spans = trace.finish();

  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].track, "fill");
  EXPECT_EQ(spans[1].track, "fill 2");
  EXPECT_EQ(spans[2].track, "fill");
}

TEST(Trace, LeavesOutWaitsForWhatHasPassed) {
  constexpr std::ptrdiff_t kPassed = 100;  // a busy machine can make some of them long
  auto const device = make_host_device(1);
  Stream const stream{*device};
  Flag const flag{*device};
  Trace trace{*device, stream};

  trace.set_label("all behind it are enqueued");
  stream.view().wait(flag, 1);
  trace.set_label("passed");
  for (std::ptrdiff_t i = 0; i < kPassed; ++i) stream.view().wait(flag, 1);
  std::this_thread::sleep_for(50ms);
  flag.set(1);
  std::vector<TraceSpan> const spans = trace.finish();

  EXPECT_LT(std::ranges::count(spans, "passed", &TraceSpan::label), kPassed);
  ASSERT_FALSE(spans.empty());
  EXPECT_NE(spans.front().label, "passed");
}

}  // namespace
}  // namespace quadrille::device
