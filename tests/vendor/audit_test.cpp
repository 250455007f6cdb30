// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"
#include "core/stats.hpp"
#include "core/units.hpp"
#include "device/trace.hpp"
#include "measure/case_runner.hpp"
#include "support/mpi_world.hpp"
#include "vendor/plain_calls.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/// Each vendor row, as `quadrille run` times it, takes as long as a loop of the library's plain
/// calls: what others are compared with is what the library can do. Both run alternately.
namespace quadrille::audit {
namespace {

using test::world;

// Until the median is known to half of what is allowed, but no more than the most: at the power
// limit, and where the host has a share, one differs from the next by several percent.
constexpr int kMinRounds = 7, kMaxRounds = 15;
// A launch costs a microsecond or two, more or less.
constexpr double kShortSeconds = 20e-6;

/// How calls are timed: the median of so many means of so long.
struct Timing {
  int repetitions;
  double batch_seconds;
  double allowed;
};
// At the power limit a device changes its clock from one millisecond to the next.
constexpr Timing kTiming{5, 50e-3, 0.02};
// Two searches do not order calls alike that are close to each other at the power limit: a row's call may
// be a better one than the loop's. A row that is faster than that is timed too short.
constexpr double kGainOfSearch = 0.1;
// Short calls draw little power, but a pause of the host is in their mean.
constexpr Timing kTimingOfShort{25, 2e-3, 0.05};

/// Hot: a loop of plain calls has one set of buffers.
core::Case case_of(std::string const& lines) {
  std::string const text = fmt::format(
      "[run]\nvendor = \"off\"\ncheck = \"off\"\ncache = \"hot\"\nrepetitions = {}\n"
      "warmup = {{ count = 3, seconds = 0 }}\n[[case]]\n{}",
      kTiming.repetitions, lines);
  auto const config = core::resolve(text, "audit", {}, workloads::name_table());
  if (!config) core::fail(config.why(), core::Exit::bad_config);
  return config->cases.at(0);
}

/// Times the row of a case, which `what` names, and a loop in turn, each first in every other round.
/// Both come and go, so that both get memory as the device has it then: where arrays lie is worth a
/// percent or two.
void expect_equal(std::string const& what, std::string const& lines,
                  std::function<std::unique_ptr<Loop>()> const& make_loop,
                  double gain_of_search = 0) {
  core::Case spec = case_of(lines);
  measure::WorkloadEntry const& entry = workloads::entry_of(*spec.workload);
  std::string implementation, name;
  int calls = 5;
  auto const row = [&] {
    measure::Record const record = measure::measure_case(world(), spec, entry, {}).at(0);
    world().enter_phase("audit", 0);
    implementation = record.implementation;
    return world().group().max(record.time.median);
  };
  auto const plain = [&] {
    std::unique_ptr<Loop> const loop = make_loop();
    name = loop->name();
    std::vector<double> seconds;
    // As the row has its warm-up behind it; and what the row has freed may still be cleared.
    world().group().barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    for (double spent = 0; spent <= spec.warmup.seconds;)
      spent += calls * world().group().max(loop->seconds(calls));
    for (int i = 0; i < spec.repetitions; ++i) {
      world().group().barrier();
      seconds.push_back(world().group().max(loop->seconds(calls)));
    }
    return core::summarize(seconds).median;
  };

  row();  // loads its kernels
  double const once = plain();
  auto const [repetitions, batch_seconds, allowed] =
      once < kShortSeconds ? kTimingOfShort : kTiming;
  calls = std::max(1, static_cast<int>(batch_seconds / once));
  if (once < kShortSeconds) calls = std::min(calls, Loop::kMaxHeldBack);  // none waits for the host
  spec.batch = calls;
  spec.repetitions = repetitions;
  std::vector<double> rows, plains, ratios;
  core::Summary ratio;
  auto const is_known = [&] {
    return (ratio.median_high - ratio.median_low) / 2 <= allowed / 2;  // the same on every rank
  };
  for (int round = 0; round < kMinRounds || (round < kMaxRounds && !is_known()); ++round) {
    bool const row_first = round % 2 == 0;
    if (row_first) rows.push_back(row());
    plains.push_back(plain());
    if (!row_first) rows.push_back(row());
    ratios.push_back(rows.back() / plains.back());
    ratio = core::summarize(ratios);
  }

  std::string rounds;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    rounds += fmt::format(" {}/{}", core::format_seconds(rows[i]), core::format_seconds(plains[i]));
  }
  std::string const told = fmt::format(
      "{} {}: row {}{}, plain {} by {}: {:+.1f} % [{:+.1f}, {:+.1f}]", spec.workload->name, what,
      core::format_seconds(core::summarize(rows).median),
      implementation.empty() ? "" : " by " + implementation,
      core::format_seconds(core::summarize(plains).median), name, 100 * (ratio.median - 1),
      100 * (ratio.median_low - 1), 100 * (ratio.median_high - 1));
  if (world().rank() == 0) fmt::print("{}\n", told);
  ASSERT_TRUE(std::isfinite(ratio.median)) << told << rounds;
  // Where the rounds differ too much to show any difference, what they could have shown is limited.
  bool const is_shown = ratio.median_low > 1 || ratio.median_high < 1;
  double const slower = is_shown ? allowed : 2 * allowed;
  EXPECT_LE(ratio.median - 1, slower) << told << rounds;
  EXPECT_LE(1 - ratio.median, std::max(slower, gain_of_search)) << told << rounds;
}

/// A workload whose calls take the host so much longer.
class Burdened : public measure::Workload {
 public:
  Burdened(std::unique_ptr<measure::Workload> real, double seconds)
      : real_{std::move(real)}, seconds_{seconds} {}
  measure::Description describe(measure::Selection const& selected) const override {
    return real_->describe(selected);
  }
  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    return real_->unsupported_reason(variant, device);
  }
  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& facts) const override {
    return real_->scratch_bytes(selected, facts);
  }
  void prepare(comm::World& to, std::uint64_t seed, measure::Selection const& selected) override {
    real_->prepare(to, seed, selected);
  }
  void reset(comm::World& to, kernels::VariantInfo const& variant) override {
    real_->reset(to, variant);
  }
  void run(comm::World& to, measure::Leg leg, kernels::VariantInfo const& variant) override {
    for (double const end = device::host_seconds() + seconds_; device::host_seconds() < end;) {
    }
    real_->run(to, leg, variant);
  }
  measure::Verdict validate(comm::World& to) override { return real_->validate(to); }
  std::vector<measure::Field> fields() override { return real_->fields(); }

 protected:
  std::unique_ptr<measure::Workload> real_;

 private:
  double seconds_;
};

/// A workload of which the first results are called wrong.
class WrongAtFirst final : public Burdened {
 public:
  WrongAtFirst(std::unique_ptr<measure::Workload> real, int wrong)
      : Burdened{std::move(real), 0}, wrong_{wrong} {}
  measure::Verdict validate(comm::World& to) override {
    measure::Verdict verdict = real_->validate(to);
    EXPECT_TRUE(verdict.valid) << verdict.detail;  // of the call that came instead
    if (wrong_-- > 0) {
      verdict.valid = false;
      verdict.detail = "called wrong";
    }
    return verdict;
  }
  bool drop_call(kernels::VariantInfo const& variant) override { return real_->drop_call(variant); }
  std::string implementation(kernels::VariantInfo const& variant) const override {
    return real_->implementation(variant);
  }

 private:
  int wrong_;
};

/// Times a case as `quadrille run` does, with calls that take the host longer and longer: what is
/// shown is the device.
void expect_unburdened(std::string const& lines) {
  constexpr double kBurdens[]{0, 20e-6, 100e-6, 500e-6};
  core::Case spec = case_of(lines);
  spec.repetitions = 21;
  measure::WorkloadEntry const& entry = workloads::entry_of(*spec.workload);
  std::vector<std::vector<double>> seconds(std::size(kBurdens));
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < std::size(kBurdens); ++i) {
      measure::CaseOptions options;
      options.decorate = [&](std::unique_ptr<measure::Workload> real) {
        return std::make_unique<Burdened>(std::move(real), kBurdens[i]);
      };
      measure::Record const record = measure::measure_case(world(), spec, entry, options).at(0);
      world().enter_phase("audit", 0);
      seconds[i].push_back(world().group().max(record.time.median));
    }
  }
  double const alone = core::summarize(seconds[0]).median;
  std::string told =
      fmt::format("{} {}: {}", spec.workload->name, spec.variants[0], core::format_seconds(alone));
  double worst = 0;
  for (std::size_t i = 1; i < std::size(kBurdens); ++i) {
    double const change = core::summarize(seconds[i]).median / alone - 1;
    worst = std::max(worst, std::abs(change));
    told +=
        fmt::format(", {:+.1f} % with {} more", 100 * change, core::format_seconds(kBurdens[i]));
  }
  if (world().rank() == 0) fmt::print("{}\n", told);
  EXPECT_LE(worst, 0.02) << told;
}

struct Typed {
  Type type;
  char const* word;
};
constexpr Typed kTypes[]{{Type::f64, "f64"}, {Type::f32, "f32"}};

/// Of one GPU.
class Kernels : public testing::Test {
  void SetUp() override {
    if (world().device().kind() != device::Kind::cuda) GTEST_SKIP() << "needs a GPU";
    if (world().size() > 1) GTEST_SKIP() << "is for one rank";
  }
};

struct Product {
  Precision precision;
  char const *type, *compute, *out;
  std::int64_t n;
};

void PrintTo(Product const& product, std::ostream* to) {
  *to << product.type << ':' << product.compute << ':' << product.out << ' ' << product.n;
}

class Products : public Kernels, public testing::WithParamInterface<Product> {};

/// Large products draw the power that a device has: both are warm before they are timed.
TEST_P(Products, Gemm) {
  auto const [precision, type, compute, out, n] = GetParam();
  expect_equal(
      fmt::format("{}:{}:{} {}", type, compute, out, n),
      fmt::format("workload = \"gemm\"\nvariant = \"vendor\"\ntype = \"{}\"\n"
                  "compute = \"{}\"\nout = \"{}\"\nsize = {}\n"
                  "warmup = {{ count = 3, seconds = {} }}\n",
                  type, compute, out, n, n > 1024 ? 0.3 : 0.05),
      [precision, n] { return gemm(precision, n); }, kGainOfSearch);
}
INSTANTIATE_TEST_SUITE_P(All, Products,
                         testing::Values(Product{Precision::f64, "f64", "auto", "auto", 512},
                                         Product{Precision::f64, "f64", "auto", "auto", 4096},
                                         Product{Precision::f64, "f64", "auto", "auto", 8192},
                                         Product{Precision::f32, "f32", "auto", "auto", 512},
                                         Product{Precision::f32, "f32", "auto", "auto", 1024},
                                         Product{Precision::f32, "f32", "auto", "auto", 1536},
                                         Product{Precision::f32, "f32", "auto", "auto", 2048},
                                         Product{Precision::f32, "f32", "auto", "auto", 4096},
                                         Product{Precision::f32, "f32", "auto", "auto", 8192},
                                         Product{Precision::tf32, "f32", "tf32", "auto", 512},
                                         Product{Precision::tf32, "f32", "tf32", "auto", 4096},
                                         Product{Precision::f16, "f16", "auto", "auto", 512},
                                         Product{Precision::f16, "f16", "auto", "auto", 4096},
                                         Product{Precision::f16_to_f32, "f16", "auto", "f32", 4096},
                                         Product{Precision::f16_in_f16, "f16", "f16", "auto", 4096},
                                         Product{Precision::bf16, "bf16", "auto", "auto", 512},
                                         Product{Precision::bf16, "bf16", "auto", "auto", 2048},
                                         Product{Precision::bf16, "bf16", "auto", "auto", 4096},
                                         Product{Precision::bf16_to_f32, "bf16", "auto", "f32",
                                                 4096}));

TEST_F(Kernels, Transpose) {
  for (Typed const& one : kTypes) {
    for (std::int64_t const n : {4096, 16384}) {
      expect_equal(fmt::format("{} {}", one.word, n),
                   fmt::format("workload = \"transpose\"\nvariant = \"vendor\"\ntype = \"{}\"\n"
                               "size = {}\n",
                               one.word, n),
                   [&] { return transpose(one.type, n); });
    }
  }
}

TEST_F(Kernels, Reductions) {
  struct Operation {
    char const *word, *variant;
    std::unique_ptr<Loop> (*loop)(Type, std::int64_t);
  };
  constexpr Operation kOperations[]{
      {"sum", "vendor", sum}, {"dot", "vendor_blas", dot}, {"norm2", "vendor_blas", norm2}};
  for (Typed const& one : kTypes) {
    for (std::int64_t const bytes : {512LL << 20, 2LL << 30}) {
      std::int64_t const n = bytes / (one.type == Type::f64 ? 8 : 4);
      for (Operation const& operation : kOperations) {
        expect_equal(fmt::format("{} {} {}", operation.word, one.word, n),
                     fmt::format("workload = \"reduction\"\noperation = \"{}\"\nvariant = \"{}\"\n"
                                 "type = \"{}\"\naccumulator = \"{}\"\nsize = {}\n",
                                 operation.word, operation.variant, one.word, one.word, n),
                     [&] { return operation.loop(one.type, n); });
      }
    }
  }
}

TEST_F(Kernels, Copies) {
  struct Way {
    Direction direction;
    char const* word;
    std::int64_t bytes;
  };
  constexpr Way kWays[]{{Direction::d2d, "d2d", 256LL << 20},
                        {Direction::d2d, "d2d", 2LL << 30},
                        {Direction::h2d, "h2d", 8LL << 20},
                        {Direction::h2d, "h2d", 256LL << 20},
                        {Direction::d2h, "d2h", 256LL << 20}};
  for (Way const& one : kWays) {
    expect_equal(one.word,
                 fmt::format("workload = \"copy\"\noperation = \"{}\"\nvariant = \"vendor\"\n"
                             "type = \"f32\"\nsize = {}\n",
                             one.word, one.bytes / 4),
                 [&] { return copy(one.direction, one.bytes); });
  }
}

/// Of each library a call of 50 us to 1 ms, and one of own kernels.
TEST_F(Kernels, AreTimedWithoutTheHostsCalls) {
  for (char const* const lines :
       {"workload = \"gemm\"\nvariant = \"vendor\"\ntype = \"f32\"\nsize = 1024\n",
        "workload = \"gemm\"\nvariant = \"vendor\"\ntype = \"f32\"\nsize = 1536\n",
        "workload = \"gemm\"\nvariant = \"best\"\ntype = \"f32\"\nsize = 2048\n",
        "workload = \"gemm\"\nvariant = \"vendor\"\ntype = \"f64\"\nsize = 1536\n",
        "workload = \"transpose\"\nvariant = \"vendor\"\ntype = \"f32\"\nsize = 4096\n",
        "workload = \"reduction\"\nvariant = \"vendor\"\ntype = \"f32\"\nsize = \"64Mi\"\n",
        "workload = \"copy\"\nvariant = \"vendor\"\ntype = \"f32\"\nsize = \"32Mi\"\n",
        "workload = \"conv2d\"\nvariant = \"vendor\"\ntype = \"f16\"\nsize = "
        "\"(16,64,56,56,64,3,3)\"\n",
        "workload = \"attention\"\nvariant = \"vendor\"\ntype = \"f16\"\nsize = "
        "\"(2,16,16,2048,2048,64)\"\n"}) {
    expect_unburdened(lines);
  }
}

/// A call whose result is wrong gives way to the next of its search. Sizes that no other test has, as
/// what is dropped stays so.
TEST_F(Kernels, CallsThatAreWrongAreReplaced) {
  for (char const* const lines :
       {"workload = \"gemm\"\nvariant = \"vendor\"\ntype = \"f32\"\nsize = 720\n",
        "workload = \"conv2d\"\nvariant = \"vendor\"\ntype = \"f16\"\nsize = "
        "\"(8,64,28,28,64,3,3)\"\n",
        "workload = \"attention\"\nvariant = \"vendor\"\ntype = \"f16\"\nsize = "
        "\"(1,8,8,1024,1024,64)\"\n"}) {
    core::Case spec = case_of(lines);
    spec.check = core::Check::full;
    measure::CaseOptions options;
    options.decorate = [](std::unique_ptr<measure::Workload> real) {
      return std::make_unique<WrongAtFirst>(std::move(real), 1);
    };
    measure::WorkloadEntry const& entry = workloads::entry_of(*spec.workload);
    measure::Record const record = measure::measure_case(world(), spec, entry, options).at(0);
    EXPECT_EQ(record.outcome, measure::Outcome::pass) << lines << record.reason;
    EXPECT_NE(record.implementation.find("wrong, so dropped: "), std::string::npos)
        << lines << record.implementation;
    fmt::print("{}: {}\n", spec.workload->name, record.implementation);
  }
}

/// Of NCCL, among all ranks: 8 bytes, 1 MiB, 64 MiB, 1 GiB.
class Exchanges : public testing::Test {
 protected:
  void SetUp() override {
    if (world().device().kind() != device::Kind::cuda) GTEST_SKIP() << "needs GPUs";
    if (world().size() < 2) GTEST_SKIP() << "needs two ranks";
  }

  static void expect_equal_at_all_sizes(char const* workload,
                                        std::unique_ptr<Loop> (Ranks::*loop)(std::int64_t)) {
    std::string id = world().rank() == 0 ? Ranks::make_id() : "";
    world().group().broadcast(id);
    Ranks ranks{id, world().size(), world().rank()};
    for (std::int64_t const n : {2LL, 1LL << 18, 1LL << 24, 1LL << 28}) {
      expect_equal(fmt::format("{} elements", n),
                   fmt::format("workload = \"{}\"\nvariant = \"vendor\"\ntype = \"f32\"\n"
                               "size = {}\n",
                               workload, n),
                   [&] { return (ranks.*loop)(n); });
    }
    expect_unburdened(fmt::format(
        "workload = \"{}\"\nvariant = \"vendor\"\ntype = \"f32\"\nsize = \"16Mi\"\n", workload));
  }
};

TEST_F(Exchanges, Allreduce) { expect_equal_at_all_sizes("allreduce", &Ranks::allreduce); }
TEST_F(Exchanges, Broadcast) { expect_equal_at_all_sizes("broadcast", &Ranks::broadcast); }
TEST_F(Exchanges, Alltoall) { expect_equal_at_all_sizes("alltoall", &Ranks::alltoall); }
TEST_F(Exchanges, Sendrecv) { expect_equal_at_all_sizes("sendrecv", &Ranks::sendrecv); }

}  // namespace
}  // namespace quadrille::audit
