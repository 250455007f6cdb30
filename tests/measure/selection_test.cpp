// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/selection.hpp"

#include "device/known_devices.hpp"
#include "measure/fake_workload.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

namespace quadrille::measure {
namespace {

using core::DataType;
using kernels::Role;
using kernels::VariantInfo;
using kernels::Where;
using test::fake_row;
using test::world;
using Names = std::vector<std::string>;

constexpr VariantInfo kReference = fake_row("reference", 0, Role::reference);
constexpr VariantInfo kPlain = fake_row("plain", 1);
constexpr VariantInfo kFast = fake_row("fast", 10);
constexpr VariantInfo kVendor = fake_row("vendor", 0, Role::vendor);
constexpr VariantInfo kMistake = fake_row("mistake", 99, Role::demonstration);
constexpr VariantInfo kGpu = fake_row("gpu", 50, Role::own, Where::cuda);
constexpr VariantInfo kSingle = [] {
  VariantInfo row = fake_row("single", 20);
  row.types = {DataType::f32};
  return row;
}();
constexpr VariantInfo kInPlace = [] {
  VariantInfo row = fake_row("in_place");
  row.in_place = true;
  return row;
}();
constexpr VariantInfo kTextbook = fake_row("textbook", 0, Role::reference, Where::host);
constexpr VariantInfo kCeiling = fake_row("ceiling", 0, Role::ceiling);
// One name, a row for each kind of device.
constexpr VariantInfo kTwinGpu = fake_row("twin", 0, Role::own, Where::cuda);
constexpr VariantInfo kTwinHost = fake_row("twin", 0, Role::own, Where::host);

/// A case of all rows above; each test says what it asks for.
struct Rig {
  Rig() { spec.vendor = core::VendorLine::off; }

  std::vector<std::string> reasons() {
    return unsupported_reasons(*workload(), entry, spec, world().device());
  }
  std::vector<Selected> selected(Traits const& traits = {}) {
    Description description = workload()->describe({});
    description.traits = traits;
    return select_variants(entry, spec, world().device(), description, 1, reasons());
  }
  std::unique_ptr<Workload> workload() { return entry.make(spec, world().size(), world().rank()); }
  void refuse(Names names, std::string reason = "has no time") {
    script.unsupported = [names = std::move(names), reason](VariantInfo const& variant) {
      return std::ranges::count(names, variant.name) > 0 ? reason : "";
    };
  }

  test::Script script;
  WorkloadEntry entry = test::fake_entry({&kReference, &kPlain, &kFast, &kVendor, &kMistake, &kGpu,
                                          &kSingle, &kCeiling, &kTwinGpu, &kTwinHost});
  core::Case spec = test::fake_case(entry, script);
};

/// "fast", and "gpu: REASON" of what does not run.
Names told(std::vector<Selected> const& selected) {
  Names names;
  for (Selected const& choice : selected) {
    names.push_back(choice.unsupported.empty()
                        ? std::string{choice.info->name}
                        : fmt::format("{}: {}", choice.info->name, choice.unsupported));
  }
  return names;
}

TEST(Reasons, AreOfDeviceThenTypeThenWorkload) {
  Rig rig;
  rig.refuse({"plain", "gpu", "single", "mistake"});
  std::string const no_gpu = kernels::unsupported_reason(kGpu, device::Kind::host, device::Facts{});
  std::string const mistake =
      "shows a mistake and gives wrong results; set demonstrate = true to see it";

  EXPECT_EQ(rig.reasons(), (Names{"", "has no time", "", "", "has no time", no_gpu,
                                  "has no type f64", "", no_gpu, ""}));
  rig.refuse({});
  EXPECT_EQ(rig.reasons(),
            (Names{"", "", "", "", mistake, no_gpu, "has no type f64", "", no_gpu, ""}));
  rig.spec.demonstrate = true;
  rig.spec.type = DataType::f32;
  EXPECT_EQ(rig.reasons()[6], "");
  EXPECT_EQ(rig.reasons()[4], "has no type f32");
  rig.spec.type = DataType::f64;
  EXPECT_EQ(rig.reasons()[4], "");
  EXPECT_TRUE(rig.script.calls.empty()) << "nothing is enqueued";
}

TEST(Reasons, ASustainedClockHasNoPauseForAReset) {
  Rig rig;
  rig.entry.variants = {&kInPlace, &kFast};
  rig.spec.clock = core::Clock::sustained;
  rig.spec.variants = {"in_place"};
  std::string const reason =
      "needs a reset before each execution, for which clock = \"sustained\" has no pause";

  EXPECT_EQ(told(rig.selected()),
            Names{"in_place: variant 'in_place' " + reason + "; use variant 'fast'"});
  rig.script.description.traits.repeatable = false;
  EXPECT_EQ(rig.reasons()[1], reason);
  rig.spec.clock = core::Clock::burst;
  EXPECT_EQ(told(rig.selected()), Names{"in_place"});
}

TEST(Best, IsTheOwnRowOfTheHighestPreferenceThatRuns) {
  Rig rig;

  EXPECT_EQ(told(rig.selected()), Names{"fast"});
  rig.refuse({"fast"});
  EXPECT_EQ(told(rig.selected()), Names{"plain"});
  rig.refuse({"fast", "plain"});
  EXPECT_EQ(told(rig.selected()), Names{"twin"}) << "a preference of 0 is enough";
  EXPECT_EQ(rig.selected()[0].info, &kTwinHost);
}

TEST(Best, IsOfTheTypeOfTheCase) {
  Rig rig;
  rig.spec.type = DataType::f32;

  EXPECT_EQ(told(rig.selected()), Names{"single"});
}

TEST(Best, TellsTheReasonOfThePreferredWhereNoneRuns) {
  Rig rig;
  rig.refuse({"fast", "plain", "twin"}, "needs more");

  EXPECT_EQ(told(rig.selected()), Names{"fast: variant 'fast' needs more"});
}

TEST(Best, IsNoneWhereTheDeviceHasNoneOfTheType) {
  Rig rig;
  rig.spec.type = DataType::i8;

  EXPECT_TRUE(rig.selected().empty());
}

TEST(All, AreThoseThatRunInTheOrderOfTheTable) {
  Rig rig;
  rig.spec.variants = {"all"};
  rig.refuse({"plain"});

  EXPECT_EQ(told(rig.selected()), (Names{"reference", "fast", "vendor", "ceiling", "twin"}));
}

TEST(All, HaveMistakesWhereTheCaseDemonstrates) {
  Rig rig;
  rig.spec.variants = {"all"};
  rig.spec.demonstrate = true;

  EXPECT_EQ(told(rig.selected()),
            (Names{"reference", "plain", "fast", "vendor", "mistake", "ceiling", "twin"}));
}

TEST(All, LeaveOutTheTextbookWhereItTakesLong) {
  Rig rig;
  rig.spec.variants = {"all"};
  rig.entry.variants = {&kTextbook, &kFast};
  rig.script.description.unit = "FLOP/s";
  rig.script.description.amount = 2e9;
  EXPECT_EQ(told(rig.selected()), (Names{"textbook", "fast"}));

  rig.script.description.amount = 2.1e9;
  std::vector<Selected> const selected = rig.selected();
  ASSERT_EQ(selected.size(), 2U);
  EXPECT_TRUE(selected[0].is_left_out);
  EXPECT_NE(selected[0].unsupported.find("name it"), std::string::npos);
  EXPECT_FALSE(selected[1].is_left_out) << "it is no textbook's";

  rig.spec.variants = {"all", "textbook"};
  EXPECT_EQ(told(rig.selected()), (Names{"textbook", "fast"})) << "who names it waits";
  rig.spec.variants = {"all"};
  rig.refuse({"textbook"});
  EXPECT_EQ(told(rig.selected()), Names{"fast"}) << "what cannot run is not told of";
}

TEST(Named, KeepTheReasonAndAWayOut) {
  Rig rig;
  rig.spec.variants = {"single", "plain", "reference"};
  rig.refuse({"plain"}, "needs more");

  EXPECT_EQ(told(rig.selected()),
            (Names{"single: variant 'single' has no type f64; use variant 'fast'",
                   "plain: variant 'plain' needs more; use variant 'fast'", "reference"}));
}

TEST(Named, TheWayOutOfAMistakeIsToShowIt) {
  Rig rig;
  rig.spec.variants = {"mistake"};

  EXPECT_EQ(told(rig.selected()),
            Names{"mistake: variant 'mistake' shows a mistake and gives wrong results; set "
                  "demonstrate = true to see it"});
}

TEST(Named, NobodyIsSentToWhatDoesNotRunEither) {
  Rig rig;
  rig.spec.variants = {"plain", "best"};
  rig.refuse({"plain", "fast", "twin"}, "needs more");

  EXPECT_EQ(told(rig.selected()),
            (Names{"plain: variant 'plain' needs more", "fast: variant 'fast' needs more"}));
}

TEST(Named, MeanTheRowOfThisDevice) {
  Rig rig;
  rig.spec.variants = {"twin"};
  std::vector<Selected> const twin = rig.selected();

  ASSERT_EQ(told(twin), Names{"twin"});
  EXPECT_EQ(twin[0].info, &kTwinHost);

  rig.refuse({"twin"});
  ASSERT_EQ(rig.selected().size(), 1U) << "the other row is not told of";
  EXPECT_EQ(rig.selected()[0].info, &kTwinHost);
}

TEST(Named, RunOnceInTheOrderOfTheCase) {
  Rig rig;
  rig.spec.variants = {"vendor", "best", "fast", "all", "vendor"};

  EXPECT_EQ(told(rig.selected()),
            (Names{"vendor", "fast", "reference", "plain", "ceiling", "twin"}));
}

TEST(Bar, JoinsWhereTheCaseWantsIt) {
  Rig rig;
  rig.spec.vendor = core::VendorLine::automatic;

  EXPECT_EQ(told(rig.selected()), (Names{"fast", "vendor"}));
  EXPECT_EQ(told(rig.selected({.bar = Role::ceiling})), (Names{"fast", "ceiling"}));
  rig.spec.variants = {"vendor", "plain"};
  EXPECT_EQ(told(rig.selected()), (Names{"vendor", "plain"})) << "once";
  rig.spec.variants = {"plain"};
  rig.spec.vendor = core::VendorLine::off;
  EXPECT_EQ(told(rig.selected()), Names{"plain"});
}

TEST(Ceiling, JoinsWhereItIsLocal) {
  Rig rig;
  rig.spec.vendor = core::VendorLine::automatic;

  EXPECT_EQ(told(rig.selected({.has_local_ceiling = true})), (Names{"fast", "vendor", "ceiling"}));
  rig.spec.vendor = core::VendorLine::off;
  EXPECT_EQ(told(rig.selected({.has_local_ceiling = true})), Names{"fast"});
}

TEST(Bar, IsLeftOutSilentlyWhereItDoesNotRun) {
  Rig rig;
  rig.spec.vendor = core::VendorLine::automatic;
  rig.refuse({"vendor"});

  EXPECT_EQ(told(rig.selected()), Names{"fast"});
  rig.spec.variants = {"vendor"};
  EXPECT_EQ(told(rig.selected()),
            Names{"vendor: variant 'vendor' has no time; use variant 'fast'"});
}

TEST(Running, AreThoseWithoutAReason) {
  std::vector<Selected> const selected{{&kFast, ""}, {&kPlain, "has no time"}, {&kVendor, ""}};

  EXPECT_EQ(running(selected), (Selection{&kFast, &kVendor}));
}

TEST(Agree, WhatOneRankRefusesNobodyRuns) {
  int const last = world().size() - 1;
  Names reasons{"", world().rank() == last ? fmt::format("of rank {}", last) : "", "", "of all"};

  agree(world(), reasons);

  EXPECT_EQ(reasons, (Names{"", fmt::format("of rank {}", last), "", "of all"}));
}

TEST(Agree, TheReasonIsThatOfTheLowestRank) {
  int const rank = world().rank();
  std::string const mine = fmt::format("of rank {}", rank);
  Names reasons{rank > 0 ? mine : "", mine};

  agree(world(), reasons);

  EXPECT_EQ(reasons, (Names{world().size() > 1 ? "of rank 1" : "", "of rank 0"}));
}

TEST(Select, AllRanksTakeWhatAllCanRun) {
  Rig rig;
  if (world().rank() == world().size() - 1) rig.refuse({"fast"}, "has no memory here");
  rig.spec.variants = {"best", "fast"};

  std::vector<Selected> const selected = select_case(world(), rig.spec, rig.entry).variants;

  EXPECT_EQ(told(selected),
            (Names{"plain", "fast: variant 'fast' has no memory here; use variant 'plain'"}));
}

TEST(Select, RanksTakeNothingThatCannotJoinThem) {
  Rig rig;
  rig.script.unavailable = [](VariantInfo const& variant) {
    return variant.name == "fast" ? "needs a GPU for each rank" : "";
  };
  rig.spec.variants = {"best", "fast"};

  EXPECT_EQ(
      told(select_case(world(), rig.spec, rig.entry).variants),
      (Names{"plain", "fast: variant 'fast' needs a GPU for each rank; use variant 'plain'"}));
}

TEST(Selection, LooksAtAllRanksOfAPlannedMachine) {
  Rig rig;
  rig.spec.variants = {"best", "fast"};
  comm::PlannedMachine const machine{*device::known_device(device::kHostName), 2, {}};
  std::vector<std::unique_ptr<Workload>> parts;
  for (int const rank : machine.planned_ranks()) parts.push_back(rig.entry.make(rig.spec, 2, rank));
  // Its asks come rank by rank: the second rank alone cannot.
  int asked = 0;
  rig.script.unsupported = [&](VariantInfo const& variant) {
    return &variant == &kFast && ++asked == 2 ? "has no time on rank 1" : "";
  };

  std::vector<std::string> const reasons = agreed_reasons(machine, parts, rig.entry, rig.spec);

  EXPECT_EQ(asked, 2);
  EXPECT_EQ(told(select_variants(rig.entry, rig.spec, machine.device(), {}, 2, reasons)),
            (Names{"plain", "fast: variant 'fast' has no time on rank 1; use variant 'plain'"}));
}

TEST(Select, TheBarIsThatOfTheWorkload) {
  Rig rig;
  rig.spec.vendor = core::VendorLine::automatic;
  rig.script.description.traits.bar = Role::reference;

  EXPECT_EQ(told(select_case(world(), rig.spec, rig.entry).variants), (Names{"fast", "reference"}));
}

TEST(Memory, IsTheSameOnEveryRankAndShared) {
  double const memory = memory_per_rank(world()).host;

  EXPECT_GT(memory, 0);
  EXPECT_EQ(world().group().min(memory), memory);
  EXPECT_EQ(world().group().max(memory), memory);
  // All ranks of this test share a node, whose free memory may change meanwhile.
  auto const free = static_cast<double>(world().device().free_memory());
  EXPECT_LT(memory, 2 * free / world().size());
}

/// With memory of 8 bytes an element, and as much again for each variant that runs.
struct MemoryRig : Rig {
  MemoryRig() {
    script.memory_bytes = [](core::Case const& one, Selection const& selected) {
      return 8 * static_cast<double>(one.size[0]) * (1 + static_cast<double>(selected.size()));
    };
  }
  /// So much, and what every case takes.
  Memory there(double memory) const {
    return overhead_of(spec, entry, world()) + Memory{0, memory};
  }
  std::int64_t fitting(double memory) {
    return largest_fitting(spec, entry, world(), there(memory))[0];
  }
};

TEST(LargestFitting, FitsAndTheNextDoesNot) {
  MemoryRig rig;

  EXPECT_EQ(rig.fitting(16 * 700), 700);
  EXPECT_EQ(rig.fitting(16 * 701 - 1), 700);
}

TEST(LargestFitting, IsNoneWhereNotEvenOneFits) {
  MemoryRig rig;

  EXPECT_EQ(rig.fitting(16), 1);
  EXPECT_EQ(rig.fitting(15), 0);
}

TEST(LargestFitting, GrowsWithTheMemory) {
  MemoryRig rig;
  std::int64_t before = 0;

  for (double memory = 16; memory < 1e12; memory *= 1.7) {
    std::int64_t const size = rig.fitting(memory);
    EXPECT_LE(static_cast<double>(16 * size), memory);
    EXPECT_GE(size, before);
    before = size;
  }
}

TEST(LargestFitting, IsAMultipleOf64WhereItIsLarge) {
  MemoryRig rig;

  EXPECT_EQ(rig.fitting(16 * 1023), 1023);
  EXPECT_EQ(rig.fitting(16 * 1024), 1024);
  EXPECT_EQ(rig.fitting(16 * 1087), 1024);
  EXPECT_EQ(rig.fitting(16 * 1088), 1088);
}

TEST(LargestFitting, CountsWhatTheVariantsThatRunNeed) {
  MemoryRig rig;
  rig.spec.vendor = core::VendorLine::automatic;
  EXPECT_EQ(rig.fitting(24 * 700), 700) << "two variants";

  rig.refuse({"vendor"});
  EXPECT_EQ(rig.fitting(24 * 700), 1024) << "16 bytes for one variant: 1050, rounded";
}

TEST(LargestFitting, IsTheSmallestOverRanks) {
  MemoryRig rig;
  int const last = world().size() - 1;
  rig.script.memory_bytes = [&](core::Case const& one, Selection const&) {
    return (world().rank() == last ? 20.0 : 16.0) * static_cast<double>(one.size[0]);
  };

  EXPECT_EQ(rig.fitting(16 * 700), 560);
}

TEST(LargestFitting, GivesEveryExtentTheSame) {
  MemoryRig rig;
  rig.spec.size.value = {1, 2, 3};
  rig.spec.size.count = 3;

  core::Extents const size = largest_fitting(rig.spec, rig.entry, world(), rig.there(16 * 700));

  EXPECT_EQ(size.count, 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(size[i], 700);
}

TEST(AutoSize, IsTheShareOfTheMemory) {
  MemoryRig rig;
  rig.spec.size = {};
  rig.spec.size.auto_fraction = 0.25;

  resolve_auto_size(rig.spec, rig.entry, world(), rig.there(16 * 700) * 4);

  EXPECT_EQ(rig.spec.size.count, 1);
  EXPECT_EQ(rig.spec.size[0], 700);
  EXPECT_EQ(rig.spec.size.auto_fraction, 0);
}

TEST(AutoSize, IsOneWhereNoneFits) {
  MemoryRig rig;
  rig.spec.size = {};
  rig.spec.size.auto_fraction = 0.5;

  resolve_auto_size(rig.spec, rig.entry, world(), rig.there(15) * 2);

  EXPECT_EQ(rig.spec.size[0], 1) << "of which the plan says that it does not fit";
}

TEST(AutoSize, LeavesOtherSizesAlone) {
  MemoryRig rig;
  rig.spec.size.value[0] = 123;
  core::Extents const before = rig.spec.size;

  resolve_auto_size(rig.spec, rig.entry, world(), {0, 1e9});

  EXPECT_EQ(rig.spec.size, before);
}

}  // namespace
}  // namespace quadrille::measure
