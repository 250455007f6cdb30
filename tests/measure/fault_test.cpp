// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// Each fault does its damage and no other. That the checks see it is for workloads/sabotage.
#include "measure/fault.hpp"

#include "measure/fake_workload.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::measure {
namespace {

using kernels::VariantInfo;
using test::world;

constexpr VariantInfo kRow = test::fake_row("row");
constexpr std::int64_t kGap = 2;  ///< elements behind each row that are not the matrix's
constexpr std::string_view kSkipped = "this fault does not apply to this workload, world or type";

int last_rank() { return world().size() - 1; }

/// A matrix in memory of the host. Elements are told apart by the function that gave them.
template <class T>
struct Values {
  Values(std::int64_t m, std::int64_t n, auto const& value) : rows{m}, cols{n} {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols + kGap; ++j) all.push_back(value(i, j));
    }
  }
  T& at(std::int64_t i, std::int64_t j) {
    return all[static_cast<std::size_t>(i * (cols + kGap) + j)];
  }
  device::MatrixView view() { return {all.data(), core::type_of<T>(), rows, cols, cols + kGap}; }
  bool operator==(Values const& other) const {
    return std::equal(all.begin(), all.end(), other.all.begin(), other.all.end(), [](T a, T b) {
      return a == b || (a != a && b != b);  // NaN is NaN
    });
  }

  std::int64_t rows, cols;
  std::vector<T> all;
};

/// Different at every place, and alike in no two columns.
template <class T = double>
Values<T> numbered(std::int64_t rows = 5, std::int64_t cols = 7, int first = 0) {
  return {rows, cols, [=](std::int64_t i, std::int64_t j) {
            return T(static_cast<double>(first + 1 + i * 32 + j));
          }};
}

/// Reads and writes what a script holds: its execution changes nothing.
template <class T>
class Fixed final : public Workload {
 public:
  struct Script {
    Values<T> output;
    std::vector<Values<T>> inputs{};
    Traits traits{};
    std::vector<Leg> legs{};
  };
  explicit Fixed(Script& script) : script_{script} {}

  Description describe(Selection const&) const override {
    return {.unit = "B/s", .extras = {}, .traits = script_.traits};
  }
  void prepare(comm::World&, std::uint64_t, Selection const&) override {}
  void reset(comm::World&, VariantInfo const&) override {}
  void run(comm::World&, Leg leg, VariantInfo const&) override { script_.legs.push_back(leg); }
  Verdict validate(comm::World&) override { return {.valid = true}; }
  std::vector<Field> fields() override {
    std::vector<Field> all;
    for (Values<T>& values : script_.inputs) all.push_back(input(values.view()));
    all.push_back(output(script_.output.view()));
    return all;
  }

 private:
  Script& script_;
};

/// Whether the fault did anything, after one execution on this data.
template <class T>
bool applies(Fault fault, typename Fixed<T>::Script& script, VariantInfo const& row = kRow) {
  auto const faulty = make_faulty(std::make_unique<Fixed<T>>(script), fault);
  faulty->prepare(world(), 1, {&row});
  faulty->run(world(), Leg::overlapped, row);
  Verdict const verdict = faulty->validate(world());
  EXPECT_EQ(verdict.valid, verdict.skipped.empty());
  EXPECT_TRUE(verdict.valid || verdict.skipped == kSkipped) << verdict.skipped;
  return verdict.valid;
}

TEST(Fault, OfOneElementIsInTheMiddle) {
  auto const expect = [](Fault fault, auto const& before, std::int64_t i, std::int64_t j,
                         auto value) {
    using T = decltype(value);
    typename Fixed<T>::Script script{.output = before};
    EXPECT_TRUE(applies<T>(fault, script));
    Values<T> want = before;
    if (world().rank() == last_rank()) want.at(i, j) = value;
    EXPECT_EQ(script.output, want) << core::to_text(fault);
  };
  using Double = std::numeric_limits<double>;
  using Int = std::numeric_limits<std::int32_t>;
  expect(Fault::nan, numbered(), 2, 3, Double::quiet_NaN());
  expect(Fault::inf, numbered(), 2, 3, Double::infinity());
  expect(Fault::off_by_one, numbered(), 2, 3, 69.0);
  expect(Fault::sign, numbered(), 2, 6, -71.0);
  expect(Fault::bit_flip, numbered(), 2, 3, 68.0 + 32);
  expect(Fault::bit_flip, numbered<float>(), 2, 3, 68.0F + 32);
  expect(Fault::nan, numbered<std::int32_t>(), 2, 3, Int::max());
  expect(Fault::inf, numbered<std::int32_t>(), 2, 3, Int::min());
  expect(Fault::sign, numbered<std::int32_t>(), 2, 6, std::int32_t{-71});
  expect(Fault::off_by_one, numbered<std::int32_t>(), 2, 3, std::int32_t{69});
  expect(Fault::bit_flip, numbered<std::int32_t>(), 2, 3, std::int32_t{69});
  // The largest of a row may be negative.
  Values<double> negative = numbered();
  negative.at(2, 1) = -1000;
  expect(Fault::sign, negative, 2, 1, 1000.0);
}

/// All bits set.
constexpr std::int32_t kUnwritten = -1;

/// `before` with another value where `is_damaged` says, on the victim.
void expect_unwritten(Fault fault, Values<std::int32_t> const& before, auto const& is_damaged) {
  Fixed<std::int32_t>::Script script{.output = before};
  EXPECT_TRUE(applies<std::int32_t>(fault, script));
  Values<std::int32_t> want = before;
  for (std::int64_t i = 0; i < want.rows && world().rank() == last_rank(); ++i) {
    for (std::int64_t j = 0; j < want.cols; ++j) {
      if (is_damaged(i, j)) want.at(i, j) = kUnwritten;
    }
  }
  EXPECT_EQ(script.output, want) << core::to_text(fault) << " " << want.rows << " x " << want.cols;
}

TEST(Fault, AMissingTileIs16x16FromTheMiddleOn) {
  expect_unwritten(Fault::missing_tile, numbered<std::int32_t>(5, 7),
                   [](std::int64_t i, std::int64_t j) { return i >= 2 && j >= 3; });
  expect_unwritten(
      Fault::missing_tile, numbered<std::int32_t>(40, 50),
      [](std::int64_t i, std::int64_t j) { return i >= 20 && i < 36 && j >= 25 && j < 41; });
}

TEST(Fault, TheLastRowOfAVectorIsItsLastQuarter) {
  expect_unwritten(Fault::last_row, numbered<std::int32_t>(5, 7),
                   [](std::int64_t i, std::int64_t) { return i == 4; });
  expect_unwritten(Fault::last_row, numbered<std::int32_t>(1, 10),
                   [](std::int64_t, std::int64_t j) { return j >= 7; });
}

TEST(Fault, SwapsColumnsBesideTheMiddle) {
  Fixed<double>::Script script{.output = numbered()};
  EXPECT_TRUE(applies<double>(Fault::swap_columns, script));
  Values<double> want = numbered();
  for (std::int64_t i = 0; i < 5 && world().rank() == last_rank(); ++i) {
    std::swap(want.at(i, 2), want.at(i, 3));
  }
  EXPECT_EQ(script.output, want);

  Fixed<double>::Script narrow{.output = numbered(5, 1)};
  EXPECT_FALSE(applies<double>(Fault::swap_columns, narrow)) << "there is one column";
  EXPECT_EQ(narrow.output, numbered(5, 1));
}

TEST(Fault, SwapsHalvesWhereRanksAgree) {
  Fixed<double>::Script script{.output = numbered(), .traits = {.replicated = true}};
  EXPECT_TRUE(applies<double>(Fault::swap_blocks, script));
  Values<double> want = numbered();
  for (std::int64_t e = 0; e < 17 && world().rank() == last_rank(); ++e) {
    std::swap(want.at(e / 7, e % 7), want.at((e + 18) / 7, (e + 18) % 7));
  }
  EXPECT_EQ(script.output, want);
}

TEST(Fault, SwapsOutputsOfTheFirstRankAndTheLastThatHasAny) {
  if (world().size() < 3) GTEST_SKIP() << "takes three ranks";
  for (std::int64_t const rows_of_last : {5, 0}) {
    int const rank = world().rank();
    auto const of = [](int owner) { return numbered(5, 7, 1000 * owner); };
    int const victim = rows_of_last == 0 ? last_rank() - 1 : last_rank();
    Values<double> const mine = rank > victim ? numbered(0, 7) : of(rank);
    Fixed<double>::Script script{.output = mine};
    EXPECT_TRUE(applies<double>(Fault::swap_blocks, script));
    int const partner = rank == 0 ? victim : rank == victim ? 0 : rank;
    Values<double> want = mine;
    for (std::int64_t i = 0; i < want.rows; ++i) {
      for (std::int64_t j = 0; j < want.cols; ++j) want.at(i, j) = of(partner).at(i, j);
    }
    EXPECT_EQ(script.output, want) << rows_of_last;
  }
}

TEST(Fault, SwapsNothingWhereTheFirstRankHasAll) {
  Values<double> const mine = world().rank() == 0 ? numbered() : numbered(0, 7);
  Fixed<double>::Script script{.output = mine};
  bool const is_alone = world().size() == 1;
  EXPECT_EQ(applies<double>(Fault::swap_blocks, script), is_alone)
      << "alone its halves are swapped";
}

TEST(Fault, OutputsAreThoseOfTheRankBefore) {
  int const rank = world().rank(), size = world().size();
  Values<double> const mine = numbered(5, 7, 1000 * rank);
  Values<double> want = mine;
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 7; ++j) {
      want.at(i, j) = numbered(5, 7, 1000 * ((rank + size - 1) % size)).at(i, j);
    }
  }
  Fixed<double>::Script script{.output = mine};
  EXPECT_EQ(applies<double>(Fault::wrong_rank, script), size > 1);
  EXPECT_EQ(script.output, want);

  Fixed<double>::Script alike{.output = mine, .traits = {.replicated = true}};
  EXPECT_FALSE(applies<double>(Fault::wrong_rank, alike)) << "all ranks have the same";
  Fixed<double>::Script sends{.output = mine, .traits = {.communicates = true}};
  EXPECT_EQ(applies<double>(Fault::wrong_rank, sends), size > 1);
  EXPECT_EQ(sends.output, mine) << "the damage is in its messages";
}

TEST(Fault, OfMessagesNeedsSome) {
  Fixed<double>::Script silent{.output = numbered()};
  EXPECT_FALSE(applies<double>(Fault::drop_message, silent));
  Fixed<double>::Script sends{.output = numbered(), .traits = {.communicates = true}};
  EXPECT_EQ(applies<double>(Fault::drop_message, sends), world().size() > 1);
}

TEST(Fault, RoundsEveryInputToTheBitsOfASmallerType) {
  for (auto const& [fault, bits] :
       {std::pair{Fault::f32, 24}, {Fault::tf32, 11}, {Fault::bf16, 8}}) {
    // 1 + 0.75 ulp of the smaller type, 1 + 0.25 ulp, and what stays as it is.
    double const ulp = std::ldexp(1.0, 1 - bits);
    auto const exact = [&](std::int64_t i, std::int64_t j) {
      return i == 0 ? 0.0 : -8.0 - static_cast<double>(j);
    };
    Values<double> before{2, 3, exact}, want{2, 3, exact};
    before.at(0, 1) = 4 * (1 + 0.75 * ulp);
    want.at(0, 1) = 4 * (1 + ulp);
    before.at(1, 2) = -(1 + 0.25 * ulp);
    want.at(1, 2) = -1;
    Fixed<double>::Script script{.output = numbered(), .inputs = {before, before}};
    EXPECT_TRUE(applies<double>(fault, script));
    for (Values<double> const& input : script.inputs) EXPECT_EQ(input, want) << bits;
    EXPECT_EQ(script.output, numbered());
    EXPECT_EQ(script.legs.size(), 1U) << "it runs on them";

    Fixed<double>::Script again{.output = numbered(), .inputs = {want}};
    EXPECT_FALSE(applies<double>(fault, again)) << "they have no more bits";
  }
  Fixed<std::int32_t>::Script whole{.output = numbered<std::int32_t>(),
                                    .inputs = {numbered<std::int32_t>()}};
  EXPECT_FALSE(applies<std::int32_t>(Fault::bf16, whole)) << "integers are not rounded";
}

TEST(Fault, ARowOfTheLastInputIsMissingOnOneRank) {
  Fixed<double>::Script script{.output = numbered(), .inputs = {numbered(), numbered(6, 4)}};
  EXPECT_TRUE(applies<double>(Fault::rank_one, script));
  Values<double> want = numbered(6, 4);
  for (std::int64_t j = 0; j < 4 && world().rank() == last_rank(); ++j) want.at(3, j) = 0;
  EXPECT_EQ(script.inputs[0], numbered());
  EXPECT_EQ(script.inputs[1], want);

  // Of a vector its largest element.
  Fixed<double>::Script vector{.output = numbered(), .inputs = {numbered(1, 4)}};
  EXPECT_TRUE(applies<double>(Fault::rank_one, vector));
  want = numbered(1, 4);
  if (world().rank() == last_rank()) want.at(0, 3) = 0;
  EXPECT_EQ(vector.inputs[0], want);

  Fixed<double>::Script none{.output = numbered()};
  EXPECT_FALSE(applies<double>(Fault::rank_one, none));
}

TEST(Fault, OfInputsIsDoneOnceForEachPreparation) {
  Fixed<double>::Script script{.output = numbered(), .inputs = {numbered()}};
  auto const faulty = make_faulty(std::make_unique<Fixed<double>>(script), Fault::rank_one);
  for (int preparation = 0; preparation < 2; ++preparation) {
    script.inputs[0].at(2, 0) = 5;
    faulty->prepare(world(), 1, {&kRow});
    faulty->run(world(), Leg::overlapped, kRow);
    EXPECT_EQ(script.inputs[0].at(2, 0), world().rank() == last_rank() ? 0 : 5);
    script.inputs[0].at(2, 0) = 5;
    faulty->run(world(), Leg::overlapped, kRow);
    EXPECT_EQ(script.inputs[0].at(2, 0), 5);
  }
}

TEST(Fault, StaleResultsAreThoseOfTheFirstCheck) {
  Fixed<double>::Script script{.output = numbered()};
  auto const faulty = make_faulty(std::make_unique<Fixed<double>>(script), Fault::stale);
  faulty->run(world(), Leg::overlapped, kRow);
  EXPECT_TRUE(faulty->validate(world()).valid);
  EXPECT_EQ(script.output, numbered());
  script.output = numbered(5, 7, 100);
  EXPECT_TRUE(faulty->validate(world()).valid);
  Values<double> want = numbered(5, 7, 100);
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 7; ++j) want.at(i, j) = numbered().at(i, j);
  }
  EXPECT_EQ(script.output, want);
}

TEST(Fault, ThatChangesNoValueIsNone) {
  Fixed<double>::Script zeros{.output = {3, 4, [](auto...) { return 0.0; }}};
  EXPECT_FALSE(applies<double>(Fault::sign, zeros)) << "of zeros";
  EXPECT_TRUE(applies<double>(Fault::bit_flip, zeros));
  Fixed<float>::Script large{.output = {1, 1, [](auto...) { return 0x1p30F; }}};
  EXPECT_FALSE(applies<float>(Fault::off_by_one, large)) << "far below the rounding";
  // Elements that are all alike, in the places of others.
  for (auto const& [fault, name] : enum_names(Fault{})) {
    Fixed<double>::Script script{.output = numbered()};
    auto const faulty =
        make_faulty(std::make_unique<Fixed<double>>(script), fault, core::DataKind::constant);
    faulty->prepare(world(), 1, {&kRow});
    faulty->run(world(), Leg::overlapped, kRow);
    bool const damages = fault == Fault::nan || fault == Fault::not_run || fault == Fault::none;
    bool const moves = fault == Fault::swap_columns || fault == Fault::stale;
    std::string const skipped = faulty->validate(world()).skipped;
    if (damages) {
      EXPECT_EQ(skipped, "") << name;
    }
    if (moves) {
      EXPECT_NE(skipped.find("alike"), skipped.npos) << name;
    }
  }
}

TEST(Fault, OnceIsInTheFirstTimedRepetitionAlone) {
  Fixed<double>::Script script{.output = numbered()};
  auto const faulty = make_faulty(std::make_unique<Fixed<double>>(script), Fault::once);
  // On other data; then warm-up, and repetitions.
  for (int const repetitions : {3, 4}) {
    faulty->prepare(world(), 1, {&kRow});
    for (int i = 0; i < repetitions; ++i) {
      script.output = numbered();
      faulty->run(world(), Leg::serial, kRow);
      EXPECT_EQ(script.output, numbered());
      faulty->run(world(), Leg::overlapped, kRow);
      EXPECT_EQ(script.output, numbered()) << "a run must not wait for its end";
      faulty->fields();
      bool const is_damaged = repetitions == 4 && i == 1 && world().rank() == last_rank();
      EXPECT_EQ(script.output == numbered(), !is_damaged) << repetitions << " " << i;
    }
  }
  EXPECT_TRUE(faulty->validate(world()).valid);

  VariantInfo free = kRow;
  free.any_order = true;
  EXPECT_FALSE(applies<double>(Fault::once, script, free));
  VariantInfo const peer = test::fake_row("peer", 0, kernels::Role::peer);
  EXPECT_FALSE(applies<double>(Fault::once, script, peer));
}

TEST(Fault, AMisplacedWaitIsInTheMessagesOfChannelsAlone) {
  bool const has_messages = world().size() > 1;
  Fixed<double>::Script script{.output = numbered(), .traits = {.communicates = true}};
  EXPECT_EQ(applies<double>(Fault::misplaced_wait, script), has_messages);
  EXPECT_EQ(script.legs, std::vector{Leg::overlapped});
  EXPECT_EQ(script.output, numbered());
  VariantInfo const peer = test::fake_row("peer", 0, kernels::Role::peer);
  EXPECT_FALSE(applies<double>(Fault::misplaced_wait, script, peer)) << "it sends its own";
  VariantInfo const ceiling = test::fake_row("ceiling", 0, kernels::Role::ceiling);
  EXPECT_FALSE(applies<double>(Fault::misplaced_wait, script, ceiling)) << "it sends none";
  Fixed<double>::Script local{.output = numbered()};
  EXPECT_FALSE(applies<double>(Fault::misplaced_wait, local));
}

TEST(Fault, NothingRunsOrNothingIsDone) {
  for (Fault const fault : {Fault::none, Fault::not_run}) {
    Fixed<double>::Script script{.output = numbered(), .inputs = {numbered()}};
    EXPECT_TRUE(applies<double>(fault, script));
    EXPECT_EQ(script.legs.size(), fault == Fault::none ? 1U : 0U);
    EXPECT_EQ(script.output, numbered());
    EXPECT_EQ(script.inputs[0], numbered());
  }
}

TEST(Fault, AnEmptyOutputCannotBeDamaged) {
  Fixed<double>::Script script{.output = numbered(0, 7)};
  EXPECT_FALSE(applies<double>(Fault::nan, script));
}

TEST(Fault, IsToldInWordsOfItsOwn) {
  std::set<std::string_view> told;
  for (auto const& [fault, name] : enum_names(Fault{})) {
    EXPECT_TRUE(told.insert(summary_of(fault)).second) << name;
    EXPECT_FALSE(summary_of(fault).empty()) << name;
    core::Case const plain;
    EXPECT_EQ(with_fault(plain, fault).data == core::DataKind::integer, fault == Fault::off_by_one);
  }
}

}  // namespace
}  // namespace quadrille::measure
