// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/case_runner.hpp"

#include "measure/fake_workload.hpp"
#include "measure/fault.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace quadrille::measure {
namespace {

using kernels::Role;
using kernels::VariantInfo;
using test::fake_row;
using test::world;
using Names = std::vector<std::string>;

constexpr VariantInfo kPlain = fake_row("plain", 1);
constexpr VariantInfo kFast = fake_row("fast", 10);
constexpr VariantInfo kVendor = fake_row("vendor", 0, Role::vendor);
constexpr VariantInfo kMistake = fake_row("mistake", 0, Role::demonstration);
constexpr VariantInfo kPeer = fake_row("peer", 0, Role::peer);
constexpr VariantInfo kCeiling = fake_row("ceiling", 0, Role::ceiling);
// Sums of such times are exact.
constexpr double kTick = 0x1p-10;
constexpr std::uint64_t kSeed = 7;

bool is_last_rank() { return world().rank() == world().size() - 1; }

/// A case of `plain` and `fast` on data of kSeed; before timing it is kSeed + 1.
struct Rig {
  Rig() {
    spec.seed = kSeed;
    spec.variants = {"plain", "fast"};
    spec.vendor = core::VendorLine::off;
    options.make_instruments = [this](comm::World const&, core::Timing timing) {
      timings.push_back(timing);
      return std::make_unique<test::FakeInstruments>(script);
    };
    options.on_outputs = [this](Workload&) { script.calls.emplace_back("outputs"); };
  }

  std::vector<Record> measure() { return measure_case(world(), spec, entry, options); }
  /// Makes the results of a variant on data of this seed wrong.
  void spoil(VariantInfo const& variant, std::uint64_t seed) {
    script.is_wrong = [name = variant.name, seed](VariantInfo const& ran, std::uint64_t of) {
      return ran.name == name && of == seed;
    };
  }

  test::Script script;
  WorkloadEntry entry = test::fake_entry({&kPlain, &kFast, &kVendor, &kMistake, &kPeer, &kCeiling});
  core::Case spec = test::fake_case(entry, script);
  CaseOptions options;
  std::vector<core::Timing> timings;
};

/// "plain PASS: ".
Names told(std::vector<Record> const& records) {
  Names names;
  for (Record const& record : records) {
    names.push_back(
        fmt::format("{} {}: {}", record.variant, core::to_text(record.outcome), record.reason));
  }
  return names;
}

bool keeps_samples() { return world().rank() == 0; }

/// What this rank keeps of so many repetitions.
std::size_t samples(int repetitions) {
  return keeps_samples() ? static_cast<std::size_t>(repetitions * world().size()) : 0;
}

/// What this rank derives from them.
std::optional<double> derived(double value) {
  return keeps_samples() ? std::optional{value} : std::nullopt;
}

TEST(CaseRunner, NoDigestIsKeptOfOutputsThatCountExecutions) {
  Rig rig;
  EXPECT_FALSE(rig.measure()[0].check.digest.empty());
  rig.script.description.traits.state_depends_on_count = true;
  EXPECT_TRUE(rig.measure()[0].check.digest.empty());
}

TEST(Case, ChecksOnOtherDataThenTimesThenChecksAgain) {
  Rig rig;

  EXPECT_EQ(told(rig.measure()), (Names{"plain PASS: ", "fast PASS: "}));

  EXPECT_EQ(rig.script.calls,
            (Names{"prepare 8",                                           //
                   "reset plain", "run plain", "validate",                //
                   "reset fast",  "run fast",  "validate",                //
                   "prepare 7",                                           //
                   "reset plain", "run plain", "reset fast", "run fast",  // warm-up
                   "reset plain", "run plain", "reset fast", "run fast",  // timed
                   "reset plain", "run plain", "validate",                //
                   "reset fast",  "run fast",  "validate",                //
                   "outputs"}));
}

TEST(Case, RecordsWhatARowChoseToCall) {
  Rig rig;
  rig.script.implementation = "a call";

  for (Record const& record : rig.measure()) EXPECT_EQ(record.implementation, "a call");
}

TEST(Case, RecordsWhyALibraryMayBeFasterThanItsRow) {
  Rig rig;
  VariantInfo library = kVendor;
  library.caveat = "by one thread";
  rig.entry = test::fake_entry({&kPlain, &kFast, &library});
  rig.spec.vendor = core::VendorLine::automatic;
  EXPECT_EQ(rig.measure()[2].implementation, "by one thread");

  rig.script.implementation = "a call";
  std::vector<Record> const records = rig.measure();
  EXPECT_EQ(records[0].implementation, "a call");
  EXPECT_EQ(records[2].implementation, "a call; by one thread");
}

TEST(Case, MakesARecordOfEachVariantInItsOrder) {
  Rig rig;
  rig.spec.variants = {"fast", "plain"};
  rig.script.description.amount = 6;

  std::vector<Record> const records = rig.measure();

  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].id, "fake:fast");
  EXPECT_EQ(records[1].id, "fake:plain");
  for (Record const& record : records) {
    EXPECT_EQ(record.name, "fake");
    EXPECT_EQ(record.workload, "fake");
    EXPECT_EQ(record.type, "f64");
    EXPECT_EQ(record.backend, "host");
    EXPECT_EQ(record.source, "own");
    EXPECT_EQ(record.transport, "none");
    EXPECT_EQ(record.grid, "");
    EXPECT_EQ(record.device, world().device().facts().name);
    EXPECT_EQ(record.config, core::to_toml(rig.spec));
    EXPECT_EQ(record.data, core::to_text(rig.spec.data));
    EXPECT_EQ(record.ranks, world().size());
    EXPECT_EQ(record.size, std::vector<std::int64_t>{1});
    EXPECT_EQ(record.seed, kSeed);
    EXPECT_EQ(record.unit, "B/s");
    EXPECT_EQ(record.timing, "synchronised");
    EXPECT_FALSE(record.is_host_timed) << "the only clock";
    EXPECT_EQ(record.first_use_s, kTick);
    EXPECT_EQ(record.check.bound, 1);
    EXPECT_EQ(record.check.wrong, 0);
    EXPECT_EQ(record.rate, keeps_samples() ? 6 / kTick : 0);
  }
  EXPECT_EQ(rig.timings, std::vector{core::Timing::synchronised}) << "auto is resolved";
}

TEST(Case, HasSamplesOfEveryRepetitionAndRankOnRank0) {
  Rig rig;
  rig.spec.repetitions = 5;
  rig.spec.warmup.count = 3;
  rig.script.telemetry = device::Telemetry{.clock_hz = 1e9, .power_w = 300};
  rig.script.cost = [](VariantInfo const& variant, Leg) {
    return (world().rank() + 1) * (variant.name == kFast.name ? kTick : 2 * kTick);
  };

  std::vector<Record> const records = rig.measure();

  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].seconds.size(), samples(5));
  EXPECT_EQ(records[1].warmups, 3);
  EXPECT_EQ(records[1].warmup_s, 3 * kTick) << "of the fastest rank";
  EXPECT_EQ(records[1].clock_hz, std::vector(samples(5), 1e9));
  EXPECT_EQ(records[1].power_w, std::vector(samples(5), 300.0));
  EXPECT_EQ(records[1].first_use_s, world().size() * kTick) << "of the slowest rank";
  for (std::size_t i = 0; i < records[1].seconds.size(); ++i) {
    auto const rank = static_cast<int>(i) % world().size();
    EXPECT_EQ(records[1].seconds[i], (rank + 1) * kTick);
    EXPECT_EQ(records[0].seconds[i], (rank + 1) * 2 * kTick);
  }
}

TEST(Case, LeavesOutWhatOneDeviceDoesNotTell) {
  Rig rig;
  if (is_last_rank()) rig.script.telemetry = device::Telemetry{.clock_hz = 1e9, .power_w = 300};

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(told(records), (Names{"plain PASS: ", "fast PASS: "}));
  EXPECT_EQ(records[0].clock_hz.size(), world().size() == 1 ? 2U : 0U);
}

TEST(Case, LeavesOutWhatOneReadOfOneDeviceDidNotTell) {
  for (core::Clock const clock : {core::Clock::burst, core::Clock::sustained}) {
    Rig rig;
    rig.spec.clock = clock;
    rig.script.telemetry = device::Telemetry{.clock_hz = 1e9, .power_w = 300, .energy_j = 7};
    rig.script.cost = [](VariantInfo const&, Leg) { return (world().rank() + 1) * 0.25; };
    if (is_last_rank()) rig.script.lost_read = 1;

    std::vector<Record> const records = rig.measure();

    EXPECT_EQ(told(records), (Names{"plain PASS: ", "fast PASS: "}));
    for (Record const& record : records) {
      // The second read is of `fast` in turns, of `plain` where variants follow one another.
      bool const is_sustained = clock == core::Clock::sustained;
      bool const is_whole = is_sustained == (record.variant == kFast.name);
      std::size_t const whole = is_whole ? record.seconds.size() : 0;
      EXPECT_EQ(record.clock_hz.size(), whole);
      EXPECT_EQ(record.power_w.size(), whole);
    }
  }
}

TEST(Case, HasTheEnergyOfDevicesThatRanksDoNotShare) {
  Rig rig;
  rig.spec.clock = core::Clock::sustained;
  rig.script.telemetry = device::Telemetry{.clock_hz = 1e9, .power_w = 300, .energy_j = 7};
  rig.script.cost = [](VariantInfo const&, Leg) { return 0.5; };

  std::vector<Record> const records = rig.measure();

  // Ranks on a host share it.
  std::size_t const counted = world().size() == 1 ? records[0].seconds.size() : 0;
  EXPECT_EQ(records[0].energy_counter_j, std::vector(counted, 7.0));
}

TEST(Check, AWrongResultBeforeTimingIsNotTimedAndEndsNoOther) {
  Rig rig;
  rig.spoil(kPlain, kSeed + 1);

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(told(records), (Names{"plain FAIL: output on rank 0 is not 8", "fast PASS: "}));
  EXPECT_TRUE(records[0].seconds.empty() && records[0].warmups == 0);
  EXPECT_EQ(records[0].check.wrong, 1);
  EXPECT_EQ(records[0].check.first_wrong, records[0].reason);
  EXPECT_EQ(rig.script.count("run plain"), 1);
  EXPECT_EQ(records[1].seconds.size(), samples(2));
}

TEST(Check, AWrongResultOfTheTimedDataFails) {
  Rig rig;
  rig.spoil(kPlain, kSeed);

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(told(records), (Names{"plain FAIL: output on rank 0 is not 7", "fast PASS: "}));
  EXPECT_EQ(records[0].seconds.size(), samples(2));
}

TEST(Check, OneRankFailsAll) {
  for (std::uint64_t const seed : {kSeed + 1, kSeed}) {
    Rig rig;
    if (is_last_rank()) rig.spoil(kFast, seed);

    EXPECT_EQ(told(rig.measure()),
              (Names{"plain PASS: ", fmt::format("fast FAIL: output on rank {} is not {}",
                                                 world().size() - 1, seed)}));
  }
}

TEST(Check, AResultThatNobodyWroteFails) {
  Rig rig;
  rig.options.decorate = [](std::unique_ptr<Workload> workload) {
    return make_faulty(std::move(workload), Fault::not_run);
  };

  std::vector<Record> const records = rig.measure();

  for (Record const& record : records) EXPECT_EQ(record.outcome, Outcome::fail);
  EXPECT_EQ(rig.script.runs(), Names{}) << "the decoration keeps it from running";
  EXPECT_EQ(rig.script.count("outputs"), 0) << "nothing is left to show";
}

/// A case of `plain` and `vendor`, of which the latter's launches are wrong until some calls of the library
/// have been dropped.
struct LibraryRig : Rig {
  explicit LibraryRig(std::int64_t wrong_calls = 1000) {
    spec.variants = {"plain", "vendor"};
    script.is_wrong = [this, wrong_calls](VariantInfo const& ran, std::uint64_t) {
      return ran.name == "vendor" && script.count("drop vendor") < wrong_calls;
    };
  }
};

TEST(LibraryCheck, DropsCallsUntilOneIsRight) {
  LibraryRig rig{2};
  rig.script.further_calls = 5;
  rig.script.searched_s = 0.25;

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(told(records), (Names{"plain PASS: ", "vendor PASS: "}));
  EXPECT_EQ(rig.script.count("drop vendor"), 2);
  EXPECT_EQ(records[1].searched_s, 0.25);
  EXPECT_EQ(records[1].seconds.size(), samples(2));
  EXPECT_EQ(records[0].ratio_to_vendor.has_value(), world().rank() == 0);
}

TEST(LibraryCheck, FailsWhereNoCallIsRight) {
  LibraryRig rig;
  // Ranks may have found other calls, and as many as others have.
  rig.script.further_calls = is_last_rank() ? 1 : 3;

  EXPECT_EQ(told(rig.measure()), (Names{"plain PASS: ", "vendor FAIL: output on rank 0 is not 8"}));
  EXPECT_EQ(rig.script.count("run vendor"), 2);
}

TEST(LibraryCheck, IsOfTheLibraryWhereItsPlainCallIsWrongToo) {
  for (bool const is_wrong : {false, true}) {
    LibraryRig rig;
    rig.script.is_plain_call_wrong = is_wrong;

    std::vector<Record> const records = rig.measure();

    EXPECT_EQ(records[1].outcome, is_wrong ? Outcome::wrong_library : Outcome::fail);
    EXPECT_EQ(records[1].reason, is_wrong ? "output on rank 0 is not 8; a plain call of the "
                                            "library: output on rank 0 is not 8"
                                          : "output on rank 0 is not 8");
    EXPECT_TRUE(records[1].seconds.empty());
    EXPECT_EQ(records[0].outcome, Outcome::pass);
    EXPECT_FALSE(records[0].ratio_to_vendor);
    EXPECT_EQ(rig.script.count("call vendor"), 1);
  }
}

TEST(LibraryCheck, ComparesNothingWithWhatWasWrongInTheEnd) {
  LibraryRig rig;
  rig.spoil(kVendor, kSeed);
  rig.script.is_plain_call_wrong = true;

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(records[1].outcome, Outcome::wrong_library);
  EXPECT_EQ(records[1].seconds.size(), samples(2));
  EXPECT_FALSE(records[0].ratio_to_vendor);
}

TEST(LibraryCheck, FailsWhereAFaultWasInjected) {
  LibraryRig rig{0};
  rig.script.further_calls = 5;
  rig.script.is_plain_call_wrong = true;
  rig.options.decorate = [](std::unique_ptr<Workload> workload) {
    return make_faulty(std::move(workload), Fault::not_run);
  };

  for (Record const& record : rig.measure()) EXPECT_EQ(record.outcome, Outcome::fail);

  EXPECT_EQ(rig.script.count("drop vendor") + rig.script.count("call vendor"), 0);
}

TEST(Check, ASustainedClockIsCheckedOnceAtTheEndOfEachVariant) {
  for (bool const is_wrong : {false, true}) {
    Rig rig;
    rig.spec.clock = core::Clock::sustained;
    rig.script.cost = [](VariantInfo const&, Leg) { return 0.5; };
    if (is_wrong) rig.spoil(kFast, kSeed);

    std::vector<Record> const records = rig.measure();

    EXPECT_EQ(
        told(records),
        (Names{"plain PASS: ", is_wrong ? "fast FAIL: output on rank 0 is not 7" : "fast PASS: "}));
    EXPECT_EQ(records[0].seconds.size(), samples(6 + 2)) << "3 s, and what was enqueued behind";
    EXPECT_EQ(rig.script.count("validate"), 4);
    EXPECT_EQ(rig.script.count("reset fast"), 3) << "first use, warm-up, sampling";
  }
}

/// The first timed repetition of `fast`, behind one on other data and a warm-up.
bool is_first_timed(test::Script const& script, VariantInfo const& ran) {
  return ran.name == kFast.name && script.count("run fast") == 3;
}

TEST(Check, EveryRepetitionLeavesTheBitsOfTheCheckedOne) {
  for (bool const is_checked : {true, false}) {
    Rig rig;
    rig.spec.repetitions = 3;
    if (!is_checked) rig.spec.check = core::Check::off;
    rig.script.is_wrong = [&](VariantInfo const& ran, std::uint64_t) {
      bool const is_last_rank = world().rank() == world().size() - 1;
      return is_last_rank && is_first_timed(rig.script, ran);
    };

    std::vector<Record> const records = rig.measure();

    if (is_checked) {
      EXPECT_EQ(
          told(records),
          (Names{"plain PASS: ",
                 fmt::format("fast FAIL: the output of repetition 1 on rank {} differs from "
                             "that of repetition 3, which was checked: expected the same bits, "
                             "got others",
                             world().size() - 1)}));
      EXPECT_EQ(records[1].check.wrong, 1);
      EXPECT_NE(records[0].check.digest, "");
    } else {
      EXPECT_EQ(records[1].outcome, Outcome::skip);
    }
  }
}

TEST(Check, OtherBitsAreNoFailureWhereTheOrderIsFree) {
  Rig rig;
  rig.spec.repetitions = 3;
  static constexpr VariantInfo kFree = [] {
    VariantInfo row = fake_row("free");
    row.any_order = true;
    return row;
  }();
  rig.entry = test::fake_entry({&kFree});
  rig.spec.variants = {"free"};
  rig.script.is_wrong = [&](VariantInfo const&, std::uint64_t) {
    return rig.script.count("run free") == 3;
  };

  EXPECT_EQ(told(rig.measure()), Names{"free PASS: "});
}

TEST(Check, OffTimesAndJudgesNothing) {
  Rig rig;
  rig.spec.check = core::Check::off;
  rig.spoil(kPlain, kSeed);

  std::vector<Record> const records = rig.measure();

  for (Record const& record : records) {
    EXPECT_EQ(record.outcome, Outcome::skip);
    EXPECT_EQ(record.reason, "timed, not checked (check = \"off\")");
    EXPECT_EQ(record.seconds.size(), samples(2));
  }
  EXPECT_EQ(rig.script.count("validate"), 0);
}

TEST(Check, WhatCannotBeJudgedIsNotTimed) {
  Rig rig;
  rig.script.skipped = "too small to judge";

  EXPECT_EQ(told(rig.measure()), (Names{"plain UNSUPPORTED: too small to judge",
                                        "fast UNSUPPORTED: too small to judge"}));
  EXPECT_EQ(rig.script.runs(), (Names{"plain", "fast"}));
}

TEST(Check, MistakesAreShownAndTimed) {
  Rig rig;
  rig.spec.variants = {"mistake", "plain"};
  rig.spec.demonstrate = true;
  rig.spoil(kMistake, kSeed);

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(told(records),
            (Names{"mistake SKIP: demonstration: output on rank 0 is not 7", "plain PASS: "}));
  EXPECT_EQ(records[0].seconds.size(), samples(2));
  Rig lucky;
  lucky.spec.variants = {"mistake"};
  lucky.spec.demonstrate = true;
  EXPECT_EQ(told(lucky.measure()), Names{"mistake SKIP: demonstration: right by luck this time"});
}

/// Makes the n-th execution of `plain` on the last rank, from 0, take longer than a repetition may.
void delay_plain(Rig& rig, int nth) {
  rig.script.cost = [nth, n = std::make_shared<int>(0)](VariantInfo const& variant, Leg) {
    bool const is_it = variant.name == kPlain.name && (*n)++ == nth && is_last_rank();
    return is_it ? world().settings().timeout.repetition_s + 1 : kTick;
  };
}

TEST(Limit, WhatTakesTooLongIsNotRunAgainAndEndsNoOther) {
  for (core::Clock const clock : {core::Clock::burst, core::Clock::sustained}) {
    // The first run, a warm-up, timed repetitions.
    for (int nth = 0; nth < 4; ++nth) {
      Rig rig;
      rig.spec.clock = clock;
      rig.script.description.traits.communicates = true;
      delay_plain(rig, nth);

      std::vector<Record> const records = rig.measure();

      SCOPED_TRACE(nth);
      EXPECT_EQ(records[0].outcome, Outcome::timeout);
      EXPECT_NE(records[0].reason.find("run.timeout.repetition, 60"), std::string::npos)
          << records[0].reason;
      EXPECT_EQ(records[1].outcome, Outcome::pass);
      if (clock != core::Clock::burst) continue;
      EXPECT_EQ(rig.script.count("run plain"), nth + 1);
      EXPECT_EQ(records[0].seconds.size(), samples(std::max(0, nth - 2)));
      RunResult result;
      result.records = records;
      result.info.status = "finished";
      EXPECT_EQ(ending_of(result).code, core::Exit::timeout);
    }
  }
}

TEST(Limit, IsThatOfEachLeg) {
  Rig rig;
  rig.spec.legs = true;
  rig.script.description.traits.has_legs = rig.script.description.traits.communicates = true;
  rig.script.cost = [](VariantInfo const&, Leg) {
    return world().settings().timeout.repetition_s - 1;
  };

  for (Record const& record : rig.measure()) EXPECT_EQ(record.outcome, Outcome::pass);
}

TEST(Limit, OfALegIsThatOfTheVariant) {
  Rig rig;
  rig.spec.legs = true;
  rig.script.description.traits.has_legs = rig.script.description.traits.communicates = true;
  rig.script.cost = [](VariantInfo const& variant, Leg leg) {
    bool const is_it = variant.name == kPlain.name && leg == Leg::serial;
    return is_it ? world().settings().timeout.repetition_s + 1 : kTick;
  };

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(records[0].outcome, Outcome::timeout);
  EXPECT_EQ(rig.script.count("run plain serial"), 1);
  EXPECT_EQ(records[1].outcome, Outcome::pass);
}

TEST(Unsupported, KeepsItsRecordAndEndsNoOther) {
  Rig rig;
  if (is_last_rank()) {
    rig.script.unsupported = [](VariantInfo const& variant) {
      return variant.name == kPlain.name ? "has no room" : "";
    };
  }

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(
      told(records),
      (Names{"plain UNSUPPORTED: variant 'plain' has no room; use variant 'fast'", "fast PASS: "}));
  EXPECT_TRUE(records[0].seconds.empty());
  EXPECT_EQ(rig.script.count("run plain"), 0);
}

TEST(Named, AreTheVariantsThatTheCaseNames) {
  Rig rig;
  rig.spec.variants = {"best", "plain"};
  rig.spec.vendor = core::VendorLine::automatic;

  std::vector<Record> const records = rig.measure();

  ASSERT_EQ(told(records), (Names{"fast PASS: ", "plain PASS: ", "vendor PASS: "}));
  EXPECT_FALSE(records[0].is_named);
  EXPECT_TRUE(records[1].is_named);
  EXPECT_FALSE(records[2].is_named);
  EXPECT_TRUE(records[0].is_best);
  EXPECT_FALSE(records[1].is_best || records[2].is_best);
  rig.spec.variants = {"all"};
  for (Record const& record : rig.measure()) EXPECT_FALSE(record.is_best) << record.variant;
}

TEST(Unsupported, TooFewRanksRunNothing) {
  Rig rig;
  rig.script.description.traits.min_ranks = world().size() + 1;
  std::string const reason = fmt::format("needs {0} ranks: mpirun -n {0}", world().size() + 1);

  EXPECT_EQ(told(rig.measure()),
            (Names{"plain UNSUPPORTED: " + reason, "fast UNSUPPORTED: " + reason}));
  EXPECT_EQ(rig.script.calls, Names{});
}

TEST(Unsupported, EnoughRanksRun) {
  Rig rig;
  rig.script.description.traits.min_ranks = world().size();

  EXPECT_EQ(told(rig.measure()), (Names{"plain PASS: ", "fast PASS: "}));
}

TEST(Decorate, TakesThePlaceOfEveryWorkload) {
  Rig rig;
  rig.spec.variants = {"fast"};
  rig.spec.batch = 3;
  rig.script.last_level_cache_bytes = 1000;  // three sets of 8 bytes do not fill it
  int decorated = 0;
  rig.options.decorate = [&](std::unique_ptr<Workload> workload) {
    ++decorated;
    return workload;
  };

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(told(records), Names{"fast PASS: "});
  EXPECT_EQ(records[0].batch, 3);
  EXPECT_EQ(records[0].buffer_sets, 3);
  EXPECT_EQ(decorated, 3);
  EXPECT_EQ(rig.script.count("prepare 7"), 3) << "all sets have the timed data";
  EXPECT_EQ(rig.script.count("prepare 8"), 1);
}

TEST(Legs, AreTimedWhereTheWorkloadHasThem) {
  Rig rig;
  rig.spec.variants = {"fast", "peer"};
  rig.spec.legs = true;
  rig.script.description.traits.has_legs = true;
  rig.script.cost = [](VariantInfo const&, Leg leg) {
    return (static_cast<double>(leg) + 1) * kTick;
  };

  std::vector<Record> const records = rig.measure();

  ASSERT_EQ(records[0].legs.size(), std::size(kLegs));
  for (std::size_t i = 0; i < std::size(kLegs); ++i) {
    EXPECT_EQ(records[0].legs[i].leg, core::to_text(kLegs[i]));
    EXPECT_EQ(records[0].legs[i].seconds,
              std::vector(samples(2), (static_cast<double>(kLegs[i]) + 1) * kTick));
  }
  EXPECT_EQ(records[0].seconds, std::vector(samples(2), 4 * kTick)) << "the whole";
  EXPECT_TRUE(records[1].legs.empty()) << "of a peer only the whole is known";

  rig.script.description.traits.has_legs = false;
  EXPECT_TRUE(rig.measure()[0].legs.empty());
  rig.script.description.traits.has_legs = true;
  rig.spec.legs = false;
  EXPECT_TRUE(rig.measure()[0].legs.empty());
}

TEST(Ratios, AreToTheBarAndTheCeiling) {
  Rig rig;
  rig.spec.vendor = core::VendorLine::automatic;
  rig.spec.variants = {"fast", "plain", "ceiling"};
  rig.spec.repetitions = 10;
  rig.script.cost = [](VariantInfo const& variant, Leg) {
    return variant.name == kFast.name      ? kTick
           : variant.name == kVendor.name  ? 2 * kTick
           : variant.name == kCeiling.name ? kTick / 2
                                           : 4 * kTick;
  };

  std::vector<Record> const records = rig.measure();

  ASSERT_EQ(told(records),
            (Names{"fast PASS: ", "plain PASS: ", "ceiling PASS: ", "vendor PASS: "}));
  EXPECT_EQ(records[0].ratio_to_vendor, derived(2));
  EXPECT_EQ(records[1].ratio_to_vendor, derived(0.5));
  EXPECT_EQ(records[0].ratio_to_copy, derived(0.5));
  EXPECT_EQ(records[1].ratio_to_copy, derived(0.125));
}

TEST(Ratios, AreThoseToTheFastestVendorWhoseResultIsRight) {
  Rig rig;
  constexpr VariantInfo kSlow = fake_row("slow_vendor", 0, Role::vendor);
  constexpr VariantInfo kWrong = fake_row("wrong_vendor", 0, Role::vendor);
  rig.entry = test::fake_entry({&kPlain, &kFast, &kSlow, &kVendor, &kWrong});
  rig.spec.vendor = core::VendorLine::automatic;
  rig.script.cost = [](VariantInfo const& variant, Leg) {
    return variant.name == kVendor.name  ? 2 * kTick
           : variant.name == kWrong.name ? kTick / 2
           : variant.name == kSlow.name  ? 4 * kTick
                                         : kTick;
  };
  rig.spoil(kWrong, kSeed);

  std::vector<Record> const records = rig.measure();

  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[0].ratio_to_vendor, derived(2));
  EXPECT_EQ(records[2].ratio_to_vendor, derived(0.5));
  EXPECT_EQ(records[3].ratio_to_vendor, derived(1));
}

TEST(Ratios, AreToTheLocalCeilingWhereThereIsOne) {
  Rig rig;
  rig.spec.vendor = core::VendorLine::automatic;
  rig.spec.variants = {"fast"};
  rig.spec.legs = true;
  rig.spec.repetitions = 6;
  rig.script.description.traits.has_legs = true;
  rig.script.description.traits.has_local_ceiling = true;
  rig.script.description.traits.communicates = true;
  rig.script.description.extras = {{"received", 5, "B/s", 0}};
  rig.spec.throttle = 1e9;
  rig.spec.transport = "mpi";
  rig.script.cost = [](VariantInfo const& variant, Leg) {
    return variant.name == kCeiling.name ? kTick : 4 * kTick;
  };

  std::vector<Record> const records = rig.measure();

  ASSERT_EQ(told(records), (Names{"fast PASS: ", "vendor PASS: ", "ceiling PASS: "}));
  EXPECT_EQ(records[0].share_of_local, derived(0.25));
  EXPECT_EQ(records[0].share_of_local_low, derived(0.25));
  EXPECT_EQ(records[0].share_of_local_high, derived(0.25));
  EXPECT_FALSE(records[0].ratio_to_copy);
  EXPECT_EQ(records[2].share_of_local, derived(1));
  EXPECT_EQ(records[0].transport, "mpi");
  EXPECT_TRUE(records[0].modelled_link);
  EXPECT_EQ(records[0].extras.size(), 1U);
  // It does not communicate.
  EXPECT_EQ(records[2].transport, "none");
  EXPECT_FALSE(records[2].modelled_link);
  EXPECT_TRUE(records[2].extras.empty());
  EXPECT_TRUE(records[2].legs.empty());
}

TEST(Ratios, AreNotThoseOfWrongResults) {
  Rig rig;
  rig.spec.vendor = core::VendorLine::automatic;
  rig.spoil(kPlain, kSeed);

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(records[0].outcome, Outcome::fail);
  EXPECT_FALSE(records[0].ratio_to_vendor);
  EXPECT_EQ(records[1].ratio_to_vendor, derived(1));
}

TEST(Published, FiguresGoToTheirVariants) {
  Rig rig;
  rig.spec.published = {"fast: 3 GB/s"};
  rig.spec.published_on = "another device";

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(records[0].published, 0);
  EXPECT_EQ(records[1].published, 3e9);
  EXPECT_EQ(records[1].published_on, "another device");
}

TEST(Published, FiguresOfMetricsStandBehindThem) {
  Rig rig;
  rig.script.observed = {{"seen", 4, "B/s", 2}};
  rig.spec.published = {"fast seen: 500 ms", "plain hidden: 1 GB/s"};

  std::vector<Record> const records = rig.measure();

  ASSERT_EQ(records[0].extras.size(), 1U);
  ASSERT_EQ(records[1].extras.size(), 2U);
  EXPECT_EQ(records[1].extras[1].name, "published seen");
  EXPECT_EQ(records[1].extras[1].amount / records[1].extras[1].seconds, 8);
  EXPECT_EQ(records[1].published, 0);
}

TEST(Extras, AreOfTheDescriptionAndOfTheLastRepetition) {
  Rig rig;
  rig.spec.repetitions = 3;
  rig.script.description.extras = {{"device traffic", 5, "B/s", 0}};
  rig.script.observed = {{"seen", 4, "B/s", 2}};

  for (Record const& record : rig.measure()) {
    ASSERT_EQ(record.extras.size(), 2U) << "once";
    EXPECT_EQ(record.extras[0].name, "device traffic");
    EXPECT_EQ(record.extras[1].name, "seen");
  }
}

TEST(Timing, LaunchesAloneAreSuspect) {
  Rig rig;
  rig.spec.timing = core::Timing::launch_only;

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(rig.timings, std::vector{core::Timing::launch_only});
  EXPECT_EQ(records[0].timing, "launch_only");
  ASSERT_FALSE(records[0].suspect.empty());
  EXPECT_NE(records[0].suspect[0].find("when the work was launched"), std::string::npos);
}

TEST(Timing, NoGateHoldsBackMessagesThatTheHostDrives) {
  for (std::string const transport : {"mpi", "ipc"}) {
    Rig rig;
    rig.script.description.traits.communicates = true;
    rig.spec.transport = transport;

    rig.measure();

    EXPECT_EQ(std::ranges::max(rig.script.max_calls) == 0, transport == "mpi" && world().size() > 1)
        << transport;
  }
}

TEST(Progress, IsToldByRank0AndGrows) {
  Rig rig;
  Names steps;
  std::vector<double> fractions;
  rig.options.on_progress = [&](Progress const& progress) {
    EXPECT_EQ(progress.case_name, "fake");
    if (steps.empty() || steps.back() != progress.step) steps.push_back(progress.step);
    fractions.push_back(progress.fraction);
  };

  rig.measure();

  if (world().rank() == 0) {
    EXPECT_EQ(steps, (Names{"prepare", "check", "prepare", "warm up", "time"}));
    EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
    EXPECT_EQ(fractions.back(), 1);
  } else {
    EXPECT_TRUE(steps.empty());
  }
}

TEST(Partial, IsToldByRank0BehindRepetitionsThatTakeLong) {
  std::vector<std::vector<Record>> told_of;
  Rig rig;
  rig.spoil(kPlain, kSeed + 1);
  rig.spec.variants = {"plain", "fast", "peer"};
  rig.options.on_partial = [&](std::vector<Record> records) {
    told_of.push_back(std::move(records));
  };
  rig.measure();
  std::size_t const tells = world().rank() == 0 ? 1 : 0;
  EXPECT_EQ(told_of.size(), tells) << "short repetitions see a signal in time";

  told_of.clear();
  rig.script.cost = [](VariantInfo const& variant, Leg) {
    return variant.name == kPeer.name && is_last_rank() ? 0.5 : kTick;
  };
  rig.measure();

  ASSERT_EQ(told_of.size(), 3 * tells) << "at the start and behind two repetitions of the peer";
  if (tells == 0) return;
  std::string const stopped = "INTERRUPTED: stopped before the last repetition, which is checked";
  EXPECT_EQ(told(told_of[0]), (Names{"plain " + stopped, "fast " + stopped, "peer " + stopped}));
  EXPECT_EQ(told(told_of[1]),
            (Names{"plain FAIL: output on rank 0 is not 8", "fast " + stopped, "peer " + stopped}));
  EXPECT_EQ(told_of[0][2].time.n, 0);
  EXPECT_EQ(told_of[1][1].time.n, 1);
  EXPECT_EQ(told_of[1][2].seconds.size(), samples(1));
  EXPECT_EQ(told_of[1][2].time.median, 0.5);
  EXPECT_EQ(told(told_of[2]),
            (Names{"plain FAIL: output on rank 0 is not 8", "fast PASS: ", "peer PASS: "}))
      << "these were their last, and are checked";
}

// Last, because nothing takes a signal back.
TEST(Signal, InterruptsWhatIsNotCompleteAndKeepsItsSamples) {
  Rig rig;
  rig.spec.repetitions = 3;
  rig.spec.variants = {"vendor", "fast", "plain", "peer"};
  rig.script.is_wrong = [](VariantInfo const& ran, std::uint64_t seed) {
    return (ran.name == kVendor.name && seed == kSeed + 1) ||
           (ran.name == kFast.name && seed == kSeed);
  };
  rig.script.cost = [&](VariantInfo const& variant, Leg) {
    // After the first use and a warm-up, the last repetition.
    bool const is_time = variant.name == kPlain.name && rig.script.count("run plain") == 5;
    if (is_time && is_last_rank()) std::raise(SIGUSR1);
    return kTick;
  };

  std::vector<Record> const records = rig.measure();

  std::string const stopped = "INTERRUPTED: stopped before the last repetition, which is checked";
  EXPECT_EQ(told(records),
            (Names{"vendor FAIL: output on rank 0 is not 8", "fast FAIL: output on rank 0 is not 7",
                   "plain PASS: ", "peer " + stopped}))
      << "no signal hides a wrong result";
  EXPECT_EQ(records[2].seconds.size(), samples(3));
  EXPECT_EQ(records[3].seconds.size(), samples(2)) << "it does not wait for those behind it";
  if (world().rank() == 0) {
    EXPECT_EQ(records[3].time.n, 2);
    EXPECT_EQ(records[3].time.median, kTick);
  }

  // A later case stops behind its first execution.
  Rig late;
  EXPECT_EQ(told(late.measure()), (Names{"plain " + stopped, "fast " + stopped}));
  EXPECT_EQ(late.script.runs(), Names{"plain"});
}

TEST(CaseRunner, TracesAnExecutionOfItsOwnBehindAllThatAreTimed) {
  Rig plain;
  plain.measure();
  Rig rig;
  Names traces;
  rig.options.on_trace = [&](TracedRepetition const& repetition) {
    traces.push_back(repetition.name);
  };

  std::vector<Record> const records = rig.measure();

  EXPECT_EQ(traces, (Names{records[0].id, records[1].id}));
  EXPECT_EQ(rig.script.timing, plain.script.timing) << "the same is timed with and without";
  std::vector<bool> expected = plain.script.traced;
  EXPECT_EQ(std::ranges::count(expected, true), 0);
  expected.insert(expected.end(), 2, true);
  EXPECT_EQ(rig.script.traced, expected);
  EXPECT_EQ(world().device().trace(), nullptr) << "behind a case";
}

}  // namespace
}  // namespace quadrille::measure
