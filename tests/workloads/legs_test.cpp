// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// What each leg of a pipeline does, by slow variants over a modelled link that is slow, too: messages and
// products are under way whenever something waits for them too little.
#include "device/trace.hpp"
#include "measure/selection.hpp"
#include "support/mpi_world.hpp"
#include "workloads/data.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace quadrille::workloads {
namespace {

using device::TraceKind, device::TraceSpan;
using measure::Leg;

struct Pipeline {
  char const* name;
  char const* keys;
};
void PrintTo(Pipeline const& pipeline, std::ostream* stream) { *stream << pipeline.name; }

// Chunks are smaller than messages, so that what is sent is read while the link carries it.
constexpr char const* kRun = R"(
[run]
transport = "mpi"
throttle = "10 MB/s"
chunk_bytes = "1Ki"
vendor = "off"
[[case]]
legs = true
variant = "reference"
)";

constexpr Pipeline kPipelines[] = {
    {"summa", "workload = \"summa\"\ntype = \"f64\"\nsize = \"(140,120,240)\"\npanel = 16"},
    {"summa_one_buffer",
     "workload = \"summa\"\ntype = \"f64\"\nsize = \"(140,120,240)\"\npanel = 16\nbuffers = 1"},
    {"summa_one_panel",
     "workload = \"summa\"\ntype = \"f64\"\nsize = \"(140,120,240)\"\npanel = 240\nbuffers = 4"},
    {"summa_cyclic",
     "workload = \"summa\"\ntype = \"f64\"\nsize = \"(140,120,240)\"\npanel = 16\nblock = 32"},
    {"cannon",
     "workload = \"summa\"\ntype = \"f64\"\nsize = \"(140,120,240)\"\nschedule = \"cannon\"\n"
     "grid = \"auto\""},
    {"ptrans", "workload = \"ptrans\"\ntype = \"f64\"\nsize = \"(180,140)\"\npanel = 16"},
    {"ptrans_one_step", "workload = \"ptrans\"\ntype = \"f64\"\nsize = \"(180,140)\"\npanel = 180"},
    {"ptrans_cyclic",
     "workload = \"ptrans\"\ntype = \"f64\"\nsize = \"(180,140)\"\npanel = 180\nblock = 8"},
    {"parallel_decoder",
     "workload = \"parallel_decoder\"\ntype = \"f32\"\nsize = \"(3,40,768,12,12,96)\"\n"
     "phase = \"prefill\"\npieces = 3\n"},
    {"parallel_decoder_reduce_scatter",
     "workload = \"parallel_decoder\"\ntype = \"f32\"\nsize = \"(3,40,768,12,12,96)\"\n"
     "phase = \"prefill\"\njoint = \"reduce_scatter\"\npieces = 3\n"},
    {"ring_attention",
     "workload = \"ring_attention\"\ntype = \"f32\"\nsize = \"(1,2,1,80,64)\"\n"
     "sequence = \"whole\""},
    {"conv2d_halo",
     "workload = \"conv2d_halo\"\ntype = \"f32\"\nsize = \"(2,6,39,43,10,3,3)\"\npadding = 1"},
};

class LegsTest : public testing::TestWithParam<Pipeline> {
 protected:
  LegsTest() : config_{resolved()}, workload_{entry().make(spec(), world_.size(), world_.rank())} {
    measure::Selection const selected = running(select_case(world_, spec(), entry()).variants);
    if (selected.empty()) return;
    variant_ = selected.front();
    workload_->prepare(world_, spec().seed, {variant_});
    world_.stream().synchronize();
  }

  void SetUp() override { ASSERT_NE(variant_, nullptr) << "no variant runs"; }

  /// `late`: what the device does before.
  void repeat(Leg leg, std::chrono::milliseconds late = {}) {
    workload_->reset(world_, *variant_);
    world_.stream().run([late] { std::this_thread::sleep_for(late); });
    workload_->run(world_, leg, *variant_);
    world_.stream().synchronize();
  }
  measure::Verdict verdict() { return workload_->validate(world_); }
  /// All bits of what the last leg wrote, as far as it has.
  std::string outputs() {
    std::string bits;
    for (measure::Field const& field : workload_->fields()) {
      if (!field.is_output) continue;
      core::visit_type(field.view.type, [&](auto zero) {
        auto const values = download<decltype(zero)>(field.view, world_.stream());
        bits.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(zero));
      });
    }
    return bits;
  }

  struct Traced {
    std::vector<TraceSpan> spans;
    double error_s;
  };
  Traced traced(Leg leg) {
    workload_->reset(world_, *variant_);
    world_.stream().synchronize();
    device::Trace trace{world_.device(), world_.stream()};
    workload_->run(world_, leg, *variant_);
    world_.stream().synchronize();
    return {trace.finish(), trace.error_s()};
  }

  comm::World& world_ = test::world();

 private:
  static core::Config resolved() {
    auto config =
        core::resolve(fmt::format("{}{}\n", kRun, GetParam().keys), "test", {}, name_table());
    EXPECT_TRUE(config) << config.why();
    return *std::move(config);
  }
  core::Case const& spec() const { return config_.cases.at(0); }
  measure::WorkloadEntry const& entry() const { return entry_of(*spec().workload); }

  core::Config config_;
  std::unique_ptr<measure::Workload> workload_;
  kernels::VariantInfo const* variant_ = nullptr;
};

/// Over and over, since what waits too little may read the right data of a run before.
TEST_P(LegsTest, LegsThatDoAllAreRight) {
  for (Leg const leg : {Leg::overlapped, Leg::serial, Leg::overlapped, Leg::overlapped}) {
    repeat(leg);
    measure::Verdict const found = verdict();
    EXPECT_TRUE(found.valid) << core::to_text(leg) << ": " << found.detail;
  }
}

/// In a first run nothing is right by one before: where a device is late, what it has not packed is garbage.
TEST_P(LegsTest, MessagesWaitForWhatPacksThem) {
  repeat(Leg::overlapped, std::chrono::milliseconds{50});
  measure::Verdict const found = verdict();
  EXPECT_TRUE(found.valid) << found.detail;
}

/// Whoever reads an output behind the stream reads it whole: a check that looks at other tensors before would
/// give the last message the time that it takes.
TEST_P(LegsTest, StreamIsBehindTheLastMessage) {
  for (Leg const leg : {Leg::overlapped, Leg::serial}) {
    repeat(leg);
    std::string const at_once = outputs();
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    EXPECT_FALSE(at_once.empty());
    EXPECT_TRUE(outputs() == at_once) << core::to_text(leg);
  }
}

/// What messages brought in a run before is gone: a lost one is noticed in any repetition.
TEST_P(LegsTest, PartsOfALegAreWrongAfterARightOne) {
  for (Leg const leg : {Leg::compute, Leg::communicate}) {
    repeat(Leg::serial);
    ASSERT_TRUE(verdict().valid);
    repeat(leg);
    EXPECT_FALSE(verdict().valid) << core::to_text(leg);
  }
}

/// But those that a rank forwards, which do not wait for its own work.
TEST_P(LegsTest, MessagesAreUnderWayAloneWhereLegsSaySo) {
  auto const is_kernel = [&](TraceSpan const& span) {
    return span.kind == TraceKind::kernel && span.track == "compute";
  };
  auto const is_message = [](TraceSpan const& span) {
    return span.kind == TraceKind::message && span.name != "forward";
  };
  for (Leg const leg : {Leg::compute, Leg::serial}) {
    auto const [spans, error_s] = traced(leg);
    std::int64_t const kernels = std::ranges::count_if(spans, is_kernel),
                       messages = std::ranges::count_if(spans, is_message);
    EXPECT_GT(world_.group().max(kernels), 0) << core::to_text(leg);
    EXPECT_EQ(world_.group().max(messages) > 0, leg == Leg::serial) << core::to_text(leg);
    for (TraceSpan const& kernel : spans) {
      for (TraceSpan const& message : spans) {
        if (!is_kernel(kernel) || !is_message(message)) continue;
        double const together_s =
            std::min(kernel.end_s, message.end_s) - std::max(kernel.begin_s, message.begin_s);
        EXPECT_LE(together_s, error_s)
            << kernel.name << " of " << kernel.label << " beside a message of " << message.label;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pipelines, LegsTest, testing::ValuesIn(kPipelines),
                         [](auto const& tested) { return std::string{tested.param.name}; });

}  // namespace
}  // namespace quadrille::workloads
