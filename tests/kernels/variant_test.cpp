// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/variant.hpp"

#include "copy/copy.hpp"
#include "gemm/gemm.hpp"
#include "integral/integral.hpp"
#include "memory/memory.hpp"
#include "reduction/reduction.hpp"
#include "support/expect_fails.hpp"
#include "support/fake_device.hpp"
#include "transpose/transpose.hpp"
#include "vector/vector.hpp"

#include <map>
#include <set>
#include <tuple>
#include <type_traits>

namespace quadrille::kernels {
namespace {

using core::Compute;
using core::DataType;
using test::facts_with;
using test::FakeDevice;

/// An address that nobody reads: arrays of any size that begin at different ones do not overlap.
void* address(std::uintptr_t array, std::int64_t offset = 0) {
  return reinterpret_cast<void*>((array << 44) + static_cast<std::uintptr_t>(offset));
}

int g_enqueued = 0;
template <class Problem>
void count_launch(Problem const&, device::StreamView) {
  ++g_enqueued;
}

// A made-up operation, whose problems are the facts themselves.

namespace made_up {

struct Problem {
  static constexpr std::string_view kOperation = "made_up";
  ProblemFacts facts;
  bool is_liked = true;
};
ProblemFacts facts_of(Problem const& problem) { return problem.facts; }
void require_consistent(Problem const& problem) {
  QUAD_REQUIRE(problem.facts.result.view.rows >= 0, "made_up: a negative extent");
}

/// C (8 x 32) of A (8 x 16) and B (16 x 32), in f32.
Problem product() {
  return {.facts = {.types = DataType::f32,
                    .result = {"C", {address(3), DataType::f32, 8, 32, 32}},
                    .inputs = {{{"A", {address(1), DataType::f32, 8, 16, 16}},
                                {"B", {address(2), DataType::f32, 16, 32, 32}}}}}};
}

VariantInfo info_with(Where where, Requirements const& needs = {}) {
  return {.name = "x",
          .where = where,
          .types = {DataType::f32},
          .needs = needs,
          .source = "own",
          .summary = "is made up"};
}

constexpr std::int64_t kMaxTiles = (std::int64_t{1} << 31) - 2;

Variant<Problem> variant_with(Requirements const& needs) {
  return {info_with(Where::any, needs), count_launch<Problem>};
}

/// A variant with one requirement, a problem just within it, and one just outside.
struct Rule {
  std::string name;
  Requirements needs;
  Problem met;
  Problem violated;
  std::string reason;
};

void PrintTo(Rule const& rule, std::ostream* out) { *out << rule.name; }

Rule rule(std::string name, Requirements needs, void (*meet)(ProblemFacts&),
          void (*violate)(ProblemFacts&), std::string reason) {
  Rule made{std::move(name), needs, product(), product(), std::move(reason)};
  meet(made.met.facts);
  violate(made.violated.facts);
  return made;
}

std::vector<Rule> rules() {
  auto const as_is = [](ProblemFacts&) {};
  return {
      rule(
          "type", {}, as_is, [](ProblemFacts& p) { p.types = DataType::f64; }, "has no type f64"),
      rule(
          "compute", {}, as_is,
          [](ProblemFacts& p) {
            p.types = {DataType::f32, Compute::tf32};
          },
          "has no type f32:tf32"),
      rule(
          "stored", {}, as_is,
          [](ProblemFacts& p) {
            p.types = {DataType::f32, Compute::f32, DataType::f64};
          },
          "has no type f32:f32:f64"),
      rule(
          "layout", {.layouts = {Layout::nn, Layout::tn}},
          [](ProblemFacts& p) { p.layout = Layout::tn; },
          [](ProblemFacts& p) { p.layout = Layout::nt; }, "takes layout nn, tn, not nt"),
      rule(
          "columns", {.row_bytes = 16}, [](ProblemFacts& p) { p.inputs[0].view.cols = 4; },
          [](ProblemFacts& p) { p.inputs[0].view.cols = 6; },
          "needs columns and leading dimensions in multiples of 4, A has 6 columns, leading "
          "dimension 16"),
      rule(
          "leading_dimension", {.row_bytes = 16}, [](ProblemFacts& p) { p.inputs[1].view.ld = 36; },
          [](ProblemFacts& p) { p.inputs[1].view.ld = 33; },
          "multiples of 4, B has 32 columns, leading dimension 33"),
      rule(
          "multiples_of_the_result", {.row_bytes = 16}, as_is,
          [](ProblemFacts& p) { p.result.view.ld = 34; }, "C has 32 columns"),
      rule(
          "leading_dimension_alone", {.ld_bytes = 16},
          [](ProblemFacts& p) { p.inputs[1].view.cols = 31; },
          [](ProblemFacts& p) { p.inputs[1].view.ld = 33; },
          "needs leading dimensions in multiples of 4, that of B is 33"),
      rule(
          "alignment_of_A", {.alignment = 16},
          [](ProblemFacts& p) { p.inputs[0].view.data = address(1, 16); },
          [](ProblemFacts& p) { p.inputs[0].view.data = address(1, 8); },
          "needs A aligned to 16 bytes"),
      rule(
          "alignment_of_B", {.alignment = 16},
          [](ProblemFacts& p) { p.inputs[1].view.data = nullptr; },
          [](ProblemFacts& p) { p.inputs[1].view.data = address(2, 4); },
          "needs B aligned to 16 bytes"),
      rule(
          "alignment_of_C", {.alignment = 256}, as_is,
          [](ProblemFacts& p) { p.result.view.data = address(3, 128); },
          "needs C aligned to 256 bytes"),
      rule(
          "rows", {.max_extent = 100}, [](ProblemFacts& p) { p.inputs[0].view.rows = 100; },
          [](ProblemFacts& p) { p.inputs[0].view.rows = 101; },
          "takes a number of rows up to 100, that of A is 101"),
      rule(
          "cols", {.max_extent = 100}, [](ProblemFacts& p) { p.result.view.cols = 100; },
          [](ProblemFacts& p) { p.result.view.cols = 101; },
          "takes a number of columns up to 100, that of C is 101"),
      rule(
          "ld", {.max_ld = 100}, [](ProblemFacts& p) { p.inputs[1].view.ld = 100; },
          [](ProblemFacts& p) { p.inputs[1].view.ld = 101; },
          "takes a leading dimension up to 100, that of B is 101"),
      rule(
          "rows_of_the_result", {.max_rows = 15},
          [](ProblemFacts& p) { p.result.view.rows = 15; },  // B has 16
          [](ProblemFacts& p) { p.result.view.rows = 16; },
          "takes a number of rows up to 15, that of C is 16"),
      rule(
          "tiles", {.tile = {4, 16}},
          [](ProblemFacts& p) { p.result.view.rows = 4 * (kMaxTiles / 2); },  // and two across
          [](ProblemFacts& p) { p.result.view.rows = 4 * (kMaxTiles / 2) + 1; },
          "takes at most 2147483646 tiles of 4 x 16, C is 4294967293 x 32"),
  };
}

class RuleTest : public testing::TestWithParam<Rule> {};

TEST_P(RuleTest, IsRefusedWhereViolatedAndNowhereElse) {
  auto const& [name, needs, met, violated, reason] = GetParam();
  Variant<Problem> const variant = variant_with(needs);

  EXPECT_EQ(variant.unsupported_reason(product()), "");
  EXPECT_EQ(variant.unsupported_reason(met), "");
  std::string const told = variant.unsupported_reason(violated);
  EXPECT_NE(told.find(reason), std::string::npos) << told;
}

TEST_P(RuleTest, IsRefusedByLaunchWithTheSameReason) {
  auto const& [name, needs, met, violated, reason] = GetParam();
  Variant<Problem> const variant = variant_with(needs);
  FakeDevice gpu{device::Kind::cuda, facts_with(90, 132)};

  g_enqueued = 0;
  variant.launch(met, gpu.stream());
  EXPECT_EQ(g_enqueued, 1);
  EXPECT_FAILS(variant.launch(violated, gpu.stream()),
               "made_up/x: " + variant.unsupported_reason(violated) + "; take another variant");
  EXPECT_EQ(g_enqueued, 1) << "what is refused must not be enqueued";
}

TEST_P(RuleTest, IsToldInFewWords) {
  bool const is_of_types = GetParam().reason.starts_with("has no type");  // which lists show
  EXPECT_EQ(to_text(GetParam().needs) == "none", is_of_types);
}

INSTANTIATE_TEST_SUITE_P(Every, RuleTest, testing::ValuesIn(rules()),
                         [](auto const& tested) { return tested.param.name; });

TEST(Requirements, AnOperandWithoutANameIsNone) {
  Problem unary = product();
  unary.facts.inputs[1] = {"", {address(2, 1), DataType::f32, 1 << 20, 7, 9}};

  EXPECT_EQ(
      variant_with({.row_bytes = 16, .alignment = 16, .max_extent = 100}).unsupported_reason(unary),
      "");
}

TEST(Requirements, WidthOfTheTypeCounts) {
  Problem doubles = product();
  doubles.facts.inputs[0].view.type = DataType::f64;
  doubles.facts.inputs[0].view.cols = 6;  // 48 bytes; in f32 24

  EXPECT_EQ(variant_with({.row_bytes = 16}).unsupported_reason(doubles), "");
}

TEST(Requirements, ComputeCapabilityIsAskedOfGpusAlone) {
  Variant<Problem> const variant = variant_with({.compute_capability = 90});
  auto const reason = [&](device::Kind kind, int capability) {
    return unsupported_reason(variant, kind, facts_with(capability, 1));
  };

  EXPECT_EQ(reason(device::Kind::cuda, 90), "");
  EXPECT_EQ(reason(device::Kind::cuda, 100), "");
  EXPECT_EQ(reason(device::Kind::host, 0), "");
  EXPECT_EQ(reason(device::Kind::cuda, 89), "needs compute capability 9.0, this device has 8.9");
  EXPECT_EQ(to_text(variant.needs), "sm_90");
}

TEST(Requirements, AnExactComputeCapabilityIsNoOther) {
  Variant<Problem> const variant =
      variant_with({.compute_capability = 90, .exact_capability = true});
  auto const reason = [&](int capability) {
    return unsupported_reason(variant, device::Kind::cuda, facts_with(capability, 1));
  };

  EXPECT_EQ(reason(90), "");
  EXPECT_EQ(reason(80), "needs compute capability 9.0 exactly, this device has 8.0");
  EXPECT_EQ(reason(100), "needs compute capability 9.0 exactly, this device has 10.0");
  EXPECT_EQ(to_text(variant.needs), "sm_90a");
}

TEST(Requirements, KernelsAreCompiledForTheDevice) {
  auto const reason = [](Requirements const& needs, device::CodeArchitecture code) {
    device::Facts facts = facts_with(90, 1);
    facts.code = code;
    return unsupported_reason(variant_with(needs), device::Kind::cuda, facts);
  };
  Requirements const exact{.compute_capability = 90, .exact_capability = true};

  EXPECT_EQ(reason({}, {80, false}), "");
  EXPECT_EQ(reason({.compute_capability = 90}, {90, false}), "");
  EXPECT_EQ(reason(exact, {90, true}), "");
  EXPECT_EQ(
      reason({.compute_capability = 90}, {80, false}),
      "needs kernels for sm_90, this program has those of sm_80 for this device; configure it "
      "with -DQUADRILLE_CUDA_ARCHITECTURES=90");
  EXPECT_EQ(reason(exact, {90, false}),
            "needs kernels for sm_90a, this program has those of sm_90 for this device; configure "
            "it with -DQUADRILLE_CUDA_ARCHITECTURES=90a");
  EXPECT_EQ(reason({}, {}),
            "needs kernels for sm_90, this program has none for this device; configure it with "
            "-DQUADRILLE_CUDA_ARCHITECTURES=90");
}

TEST(Requirements, MultiprocessorsAreCounted) {
  Variant<Problem> const variant = variant_with({.multiprocessors = 64});
  auto const reason = [&](int units) {
    return unsupported_reason(variant, device::Kind::cuda, facts_with(90, units));
  };

  EXPECT_EQ(reason(64), "");
  EXPECT_EQ(reason(63), "needs 64 multiprocessors to itself, this device has 63");
  EXPECT_EQ(to_text(variant.needs), "64 multiprocessors to itself");
}

TEST(Requirements, SharedMemoryIsThatOfABlock) {
  Variant<Problem> const variant = variant_with({.shared_bytes = 194 << 10});
  auto const reason = [&](int capability) {
    return unsupported_reason(variant, device::Kind::cuda, facts_with(capability, 1));
  };

  EXPECT_EQ(reason(90), "");
  EXPECT_EQ(reason(999), "") << "nobody knows";
  EXPECT_EQ(reason(80), "needs 194 KiB of shared memory for a block, this device has 163 KiB");
  EXPECT_EQ(reason(120), "needs 194 KiB of shared memory for a block, this device has 99.0 KiB");
  EXPECT_EQ(to_text(variant.needs), "194 KiB of shared memory");
}

TEST(Requirements, LaunchAsksTheDeviceFirst) {
  Variant<Problem> const variant =
      variant_with({.compute_capability = 90, .multiprocessors = 64, .layouts = {Layout::tt}});
  FakeDevice old{device::Kind::cuda, facts_with(80, 132)};
  FakeDevice small{device::Kind::cuda, facts_with(90, 16)};
  FakeDevice fit{device::Kind::cuda, facts_with(90, 132)};

  g_enqueued = 0;
  EXPECT_FAILS(variant.launch(product(), old.stream()), "needs compute capability 9.0");
  EXPECT_FAILS(variant.launch(product(), small.stream()), "needs 64 multiprocessors");
  EXPECT_FAILS(variant.launch(product(), fit.stream()), "takes layout tt, not nn");
  EXPECT_EQ(g_enqueued, 0);
}

TEST(Requirements, LaunchRefusesAnInconsistentProblem) {
  FakeDevice gpu{device::Kind::cuda, facts_with(90, 132)};
  Problem negative = product();
  negative.facts.result.view.rows = -1;

  g_enqueued = 0;
  EXPECT_FAILS(variant_with({}).launch(negative, gpu.stream()), "made_up: a negative extent");
  EXPECT_EQ(g_enqueued, 0);
}

TEST(Where, SaysWhichDevicesRunIt) {
  auto const reason = [](Where where, device::Kind kind) {
    return unsupported_reason(info_with(where), kind, facts_with(90, 132));
  };

  EXPECT_EQ(reason(Where::any, device::Kind::host), "");
  EXPECT_EQ(reason(Where::any, device::Kind::cuda), "");
  EXPECT_EQ(reason(Where::host, device::Kind::host), "");
  EXPECT_EQ(reason(Where::host, device::Kind::cuda), "runs on host devices");
  EXPECT_EQ(reason(Where::kokkos, device::Kind::host), "");
  EXPECT_EQ(reason(Where::cuda, device::Kind::cuda), "") << "plans ask in any build";
  EXPECT_EQ(reason(Where::cuda, device::Kind::host),
            info_with(Where::cuda).is_built() ? "runs on cuda devices"
                                              : "needs CUDA; this program was built without it");
}

TEST(Where, ALibraryMayLackACallThatARowNeeds) {
  VariantInfo row = info_with(Where::cuda);
  row.role = Role::vendor;
  row.lacks = "that of next year";

  EXPECT_FALSE(row.is_built());
  EXPECT_EQ(unsupported_reason(row, device::Kind::cuda, facts_with(90, 132)),
            "needs that of next year; this program was built without it");
}

TEST(Where, NothingIsLaunchedThatIsNotBuilt) {
  FakeDevice gpu{device::Kind::cuda, facts_with(90, 132)};
  Variant<Problem> variant = variant_with({});
  variant.where = Where::cuda;
  variant.role = Role::vendor;
  if (variant.is_built()) GTEST_SKIP() << "built with CUDA";

  g_enqueued = 0;
  EXPECT_FAILS(variant.launch(product(), gpu.stream()), "needs CUDA; this program was built");
  EXPECT_EQ(g_enqueued, 0);
}

TEST(Specifics, AddAReasonOfTheOperation) {
  Variant<Problem> variant = variant_with({.layouts = {Layout::nn}});
  variant.specifics.unsupported = [](Problem const& p) -> std::string {
    return p.is_liked ? "" : "does not like it";
  };
  FakeDevice gpu{device::Kind::cuda, facts_with(90, 132)};
  Problem disliked = product();
  disliked.is_liked = false;
  Problem wrong_too = disliked;
  wrong_too.facts.layout = Layout::tt;

  g_enqueued = 0;
  EXPECT_EQ(variant.unsupported_reason(product()), "");
  EXPECT_EQ(variant.unsupported_reason(disliked), "does not like it");
  EXPECT_EQ(variant.unsupported_reason(wrong_too), "takes layout nn, not tt");
  EXPECT_FAILS(variant.launch(disliked, gpu.stream()), "made_up/x: does not like it");
  EXPECT_EQ(g_enqueued, 0);
}

TEST(Specifics, SayHowMuchScratchMemoryAProblemTakes) {
  Variant<Problem> variant = variant_with({});
  EXPECT_EQ(variant.scratch_bytes(product(), facts_with(90, 132)), 0U);

  variant.specifics.scratch_bytes = [](Problem const& p, device::Facts const& device) {
    return static_cast<std::size_t>(p.facts.result.view.rows * device.multiprocessors);
  };
  EXPECT_EQ(variant.scratch_bytes(product(), facts_with(90, 132)), 8U * 132U);
}

}  // namespace made_up

// The tables of all operations. Each operation says how its problems follow from a sketch; what is
// tried on a row follows from the row.

struct Sketch {
  Types types = DataType::f64;
  Layout layout = Layout::nn;
  std::int64_t rows = 1024;
  std::int64_t cols = 1024;
  std::int64_t inner = 1024;
  std::int64_t pad = 0;     ///< elements between the columns and the leading dimension
  std::int64_t offset = 0;  ///< bytes from an aligned address
};

struct Gemm {
  using Problem = gemm::Problem;
  static Variants<Problem> variants() { return gemm::variants(); }
  static std::vector<Problem> problems(Sketch const& s) {
    bool const ta = s.layout == Layout::tn || s.layout == Layout::tt;
    bool const tb = s.layout == Layout::nt || s.layout == Layout::tt;
    auto const matrix = [&](std::uintptr_t i, DataType type, std::int64_t rows, std::int64_t cols) {
      return device::MatrixView{address(i, s.offset), type, rows, cols, cols + s.pad};
    };
    Problem problem{
        .a = ta ? matrix(1, s.types.in, s.inner, s.rows) : matrix(1, s.types.in, s.rows, s.inner),
        .b = tb ? matrix(2, s.types.in, s.cols, s.inner) : matrix(2, s.types.in, s.inner, s.cols),
        .c = matrix(3, s.types.out, s.rows, s.cols),
        .transpose_a = ta,
        .transpose_b = tb,
        .compute = s.types.compute};
    Problem halved = problem;
    halved.alpha = 0.5;
    Problem configured = problem;  // as no tunable kernel is
    configured.configuration = Configuration{1, 1, 1, 1, 1};
    constexpr std::int64_t kDeep = 1 << 17;
    Problem deep = problem;
    deep.a = ta ? matrix(1, s.types.in, kDeep, s.rows) : matrix(1, s.types.in, s.rows, kDeep);
    deep.b = tb ? matrix(2, s.types.in, s.cols, kDeep) : matrix(2, s.types.in, kDeep, s.cols);
    std::vector<Problem> problems{problem, halved, configured, deep};
    if (core::size_of(s.types.in) == 1) {  // which libraries take in layout nt alone
      constexpr std::int64_t kSide = 64;
      auto const square = [&](std::uintptr_t i, DataType type) {
        return device::MatrixView{address(i, s.offset), type, kSide, kSide, kSide};
      };
      Problem along = problem;
      along.a = square(1, s.types.in);
      along.b = square(2, s.types.in);
      along.c = square(3, s.types.out);
      along.transpose_a = false;
      along.transpose_b = true;
      problems.push_back(along);
    }
    if (!ta && tb) {
      static std::map<std::int64_t, std::vector<std::int64_t>> halves;  // by the rows of all
      std::vector<std::int64_t>& first_rows = halves[s.rows];
      first_rows = {0, s.rows / 2, s.rows};
      Problem grouped = problem;
      grouped.b = matrix(2, s.types.in, 2 * s.cols, s.inner);
      grouped.groups = {2, first_rows.data(), first_rows.data()};
      problems.push_back(grouped);
    }
    if (core::size_of(s.types.in) == 2 && tb) {
      Problem weighted = problem;
      weighted.b = matrix(2, DataType::i8, s.cols, s.inner);
      weighted.b_scales = matrix(4, s.types.in, s.inner / gemm::kScaled + 1, s.cols);
      weighted.weights = gemm::Weights::i8;
      problems.push_back(weighted);
    }
    if (s.rows == Sketch{}.rows && s.cols == Sketch{}.cols) {
      constexpr std::int64_t kThin = 16;
      Problem inner = problem;
      inner.a = ta ? matrix(1, s.types.in, s.inner, kThin) : matrix(1, s.types.in, kThin, s.inner);
      inner.b = tb ? matrix(2, s.types.in, kThin, s.inner) : matrix(2, s.types.in, s.inner, kThin);
      inner.c = matrix(3, s.types.out, kThin, kThin);
      problems.push_back(inner);
      Problem tall = problem;
      tall.a = ta ? matrix(1, s.types.in, kThin, s.rows) : matrix(1, s.types.in, s.rows, kThin);
      tall.b = matrix(2, s.types.in, kThin, kThin);
      tall.c = matrix(3, s.types.out, s.rows, kThin);
      problems.push_back(tall);
    }
    return problems;
  }
};

struct Transpose {
  using Problem = transpose::Problem;
  static Variants<Problem> variants() { return transpose::variants(); }
  static std::vector<Problem> problems(Sketch const& s) {
    device::MatrixView const in{address(1, s.offset), s.types.in, s.rows, s.cols, s.cols + s.pad};
    device::MatrixView const out{address(2, s.offset), s.types.in, s.cols, s.rows, s.rows + s.pad};
    std::vector<Problem> problems{{in, out}};
    if (s.rows == s.cols) problems.push_back({in, in});
    if (s.rows == Sketch{}.rows && s.cols == Sketch{}.cols) {
      auto const thin = static_cast<std::int64_t>(16 / core::size_of(s.types.in));
      problems.push_back({{in.data, in.type, s.rows, thin, thin + s.pad},
                          {out.data, out.type, thin, s.rows, s.rows + s.pad}});
    }
    return problems;
  }
};

struct Copy {
  using Problem = copy::Problem;
  static Variants<Problem> variants() { return copy::variants(); }
  static std::vector<Problem> problems(Sketch const& s) {
    return {{address(1, s.offset), address(2, s.offset), s.cols}};
  }
};

struct Vector {
  using Problem = vector::Problem;
  static Variants<Problem> variants() { return vector::variants(); }
  static std::vector<Problem> problems(Sketch const& s) {
    std::vector<Problem> problems;
    for (auto const& [operation, word] : enum_names(vector::Operation{})) {
      for (std::size_t const shift : {std::size_t{0}, core::size_of(s.types.in)}) {
        std::int64_t const offset = s.offset + static_cast<std::int64_t>(shift);
        problems.push_back({.operation = operation,
                            .type = s.types.in,
                            .x = address(1, offset),
                            .y = address(2, offset),
                            .out = address(3, offset),
                            .n = s.cols});
      }
    }
    return problems;
  }
};

struct Reduction {
  using Problem = reduction::Problem;
  static Variants<Problem> variants() { return reduction::variants(); }
  static std::vector<Problem> problems(Sketch const& s) {
    std::vector<Problem> problems;
    for (auto const& [operation, word] : enum_names(reduction::Operation{})) {
      for (bool const reproducible : {false, true}) {
        Problem problem{
            .x = address(1, s.offset),
            .y = address(2, s.offset),
            .n = s.cols,
            .type = s.types.in,
            .accumulator = s.types.compute == Compute::f32 ? DataType::f32 : DataType::f64,
            .operation = operation,
            .result = static_cast<double*>(address(3)),
            .reproducible = reproducible,
            .global_n = s.cols,
            .block_count = kVirtualBlocks,
            .blocks = static_cast<double*>(address(4))};
        problems.push_back(problem);
        problem.y = address(2, s.offset + 8);
        problems.push_back(problem);
      }
    }
    return problems;
  }
};

struct Memory {
  using Problem = memory::Problem;
  static Variants<Problem> variants() { return memory::variants(); }
  static std::vector<Problem> problems(Sketch const& s) {
    std::vector<Problem> problems;
    for (std::int64_t const bytes :
         {memory::kTileBytes, memory::kTileBytes + 4, 2 * memory::kMaxPointerChaseBytes}) {
      problems.push_back({.window = address(1, s.offset),
                          .bytes = bytes,
                          .tiles = 1,
                          .readers = 1,
                          .result = static_cast<std::uint32_t*>(address(2))});
    }
    return problems;
  }
};

struct Integral {
  using Problem = integral::Problem;
  static Variants<Problem> variants() { return integral::variants(); }
  static std::vector<Problem> problems(Sketch const& s) {
    Problem const plain{.type = s.types.in,
                        .cells = s.cols,
                        .count = s.cols,
                        .result = static_cast<double*>(address(1, s.offset))};
    Problem reproducible = plain;
    reproducible.reproducible = true;
    reproducible.block_count = kVirtualBlocks;
    reproducible.blocks = static_cast<double*>(address(2));
    return {plain, reproducible};
  }
};

bool is_same(ProblemFacts const& a, ProblemFacts const& b) {
  auto const key = [](Operand const& x) {
    return std::tuple{x.view.data, x.view.rows, x.view.cols, x.view.ld};
  };
  return a.layout == b.layout && key(a.result) == key(b.result) &&
         std::ranges::equal(a.inputs, b.inputs, {}, key, key);
}

/// A sketch that the requirements take.
Sketch sketch_for(Requirements const& needs, Types const& types) {
  Sketch sketch{.types = types};
  for (auto const& [layout, word] : enum_names(Layout{})) {
    if (needs.layouts.contains(layout)) sketch.layout = layout;
  }
  return sketch;
}

/// Sketches that break one requirement, and what the reason must say.
struct Violation {
  std::string what;
  std::vector<Sketch> sketches;
  std::string told;
};

std::vector<Violation> violations_of(Requirements const& needs, Sketch const& met) {
  auto const with = [&](std::int64_t Sketch::*member, std::int64_t value) {
    Sketch sketch = met;
    sketch.*member = value;
    return sketch;
  };
  auto const extents = [&](std::int64_t most) {
    return std::vector{with(&Sketch::rows, most + 1), with(&Sketch::cols, most + 1),
                       with(&Sketch::inner, most + 1)};
  };
  std::vector<Violation> violations;
  for (auto const& [layout, word] : enum_names(Layout{})) {
    if (needs.layouts.contains(layout)) continue;
    Sketch sketch = met;
    sketch.layout = layout;
    violations.push_back({"layouts", {sketch}, "not " + std::string{word}});
  }
  if (needs.row_bytes > static_cast<int>(core::size_of(met.types.in))) {
    violations.push_back({"row_bytes",
                          {with(&Sketch::cols, met.cols + 1), with(&Sketch::pad, 1)},
                          "in multiples of "});
  }
  if (needs.ld_bytes > static_cast<int>(core::size_of(met.types.in))) {
    violations.push_back({"ld_bytes", {with(&Sketch::pad, 1)}, "in multiples of "});
  }
  if (needs.alignment > 1) {
    violations.push_back({"alignment",
                          {with(&Sketch::offset, 1)},
                          "aligned to " + std::to_string(needs.alignment) + " bytes"});
  }
  if (needs.max_extent < kAnyExtent) {
    violations.push_back(
        {"max_extent", extents(needs.max_extent), "up to " + std::to_string(needs.max_extent)});
  }
  if (needs.max_ld < kAnyExtent) {
    violations.push_back({"max_ld",
                          {with(&Sketch::pad, needs.max_ld)},
                          "a leading dimension up to " + std::to_string(needs.max_ld)});
  }
  if (needs.max_rows < kAnyExtent) {
    violations.push_back({"max_rows",
                          {with(&Sketch::rows, needs.max_rows + 1)},
                          "a number of rows up to " + std::to_string(needs.max_rows)});
  }
  if (needs.tile.rows > 0) {
    bool const is_long = needs.max_extent == kAnyExtent;
    Sketch sketch = met;
    if (!is_long) sketch.rows = needs.tile.rows << 16;
    sketch.cols = needs.tile.cols << (is_long ? 31 : 16);
    violations.push_back({"tile", {sketch}, "tiles of " + std::to_string(needs.tile.rows)});
  }
  return violations;
}

template <class Operation>
class TableTest : public testing::Test {
 public:
  using Problem = typename Operation::Problem;

  /// The row as a device of any kind would run it, with a launch that is counted alone.
  static Variant<Problem> counted(Variant<Problem> const& row) {
    Variant<Problem> copy = row;
    copy.where = Where::any;
    copy.enqueue = count_launch<Problem>;
    return copy;
  }

  /// launch() must not enqueue what has a reason, and must tell it.
  void expect_refused(Variant<Problem> const& row, Problem const& problem,
                      std::string const& told) {
    std::string const reason = row.unsupported_reason(problem);
    EXPECT_NE(reason.find(told), std::string::npos) << "the reason is '" << reason << "'";
    bool const is_inconsistent = test::failure_of([&] { require_consistent(problem); }).has_value();
    g_enqueued = 0;
    FakeDevice largest{device::Kind::cuda, largest_for(row.needs)};
    EXPECT_FAILS(counted(row).launch(problem, largest.stream()), is_inconsistent ? "" : reason);
    EXPECT_EQ(g_enqueued, 0);
  }

  /// Whether the row takes one of the problems.
  static bool takes_one(Variant<Problem> const& row, std::vector<Problem> const& problems) {
    return std::ranges::any_of(problems,
                               [&](Problem const& p) { return row.unsupported_reason(p).empty(); });
  }

  /// A GPU that lacks nothing.
  static device::Facts largest_for(Requirements const& needs) {
    return facts_with(needs.exact_capability ? needs.compute_capability : 999, 1 << 20);
  }
};

using Operations = testing::Types<Gemm, Transpose, Copy, Vector, Reduction, Memory, Integral>;
class OperationName {
 public:
  template <class Operation>
  static std::string GetName(int) {
    return std::string{Operation::Problem::kOperation};
  }
};
TYPED_TEST_SUITE(TableTest, Operations, OperationName);

TYPED_TEST(TableTest, HasCompleteRowsWithNamesOfTheirOwn) {
  std::set<std::pair<std::string_view, device::Kind>> names;
  int rows = 0;
  for (auto const& row : TypeParam::variants()) {
    SCOPED_TRACE(row.name);
    ++rows;
    EXPECT_FALSE(row.name.empty());
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
              std::string_view::npos);
    for (device::Kind const kind : {device::Kind::host, device::Kind::cuda}) {
      if (!row.runs_on(kind)) continue;
      EXPECT_TRUE(names.insert({row.name, kind}).second) << "two rows of this name for one device";
      EXPECT_EQ(static_cast<VariantInfo const*>(find(TypeParam::variants(), row.name, kind)), &row);
    }
    EXPECT_FALSE(row.source.empty());
    EXPECT_FALSE(row.summary.empty());
    EXPECT_EQ(row.summary.find('\n'), std::string_view::npos);
    EXPECT_EQ(row.enqueue != nullptr, row.is_built());
    // "best" chooses among own rows.
    EXPECT_TRUE(row.preference == 0 || row.role == Role::own);
    EXPECT_GE(row.needs.row_bytes, 1);
    EXPECT_GE(row.needs.ld_bytes, 1);
    EXPECT_GE(row.needs.alignment, 1);
    // What people read of an operation's own requirement is there where there is one.
    bool const has_own = row.specifics.unsupported != nullptr;
    bool const takes_scratch = row.specifics.scratch_bytes != nullptr;
    EXPECT_TRUE(!has_own || !row.needs.other.empty());
    EXPECT_TRUE(row.needs.other.empty() || has_own || takes_scratch);
  }
  EXPECT_GT(rows, 0);
}

TYPED_TEST(TableTest, ListsTypesThatItTakesAndNoOthers) {
  for (auto const& row : TypeParam::variants()) {
    SCOPED_TRACE(row.name);
    EXPECT_NE(row.types.begin(), row.types.end());
    for (auto type = row.types.begin(); type != row.types.end(); ++type) {
      SCOPED_TRACE(to_text(*type));
      EXPECT_EQ(std::find(row.types.begin(), type, *type), type) << "listed twice";
      EXPECT_NE(std::ranges::find(kEveryType, type->in, &Types::in), kEveryType.end());
      EXPECT_NE(std::ranges::find(kEveryType, type->out, &Types::in), kEveryType.end());
      EXPECT_NE(type->compute, Compute::automatic);
      EXPECT_TRUE(row.supports(type->in));
      EXPECT_TRUE(this->takes_one(row, TypeParam::problems(sketch_for(row.needs, *type))));
    }
    for (Types const& in : kEveryType) {
      for (auto const& [compute, compute_word] : enum_names(Compute{})) {
        for (Types const& out : kEveryType) {
          if (compute == Compute::automatic) continue;
          Types const types{in.in, compute, out.in};
          bool const is_listed = std::ranges::find(row.types, types) != row.types.end();
          if (is_listed) continue;
          for (auto const& problem : TypeParam::problems(sketch_for(row.needs, types))) {
            if (facts_of(problem).types != types) continue;  // the operation cannot express it
            this->expect_refused(row, problem, "has no type " + to_text(types));
          }
        }
      }
    }
  }
}

TYPED_TEST(TableTest, RefusesWhatViolatesAnyOneRequirement) {
  for (auto const& row : TypeParam::variants()) {
    for (Types const& types : row.types) {
      Sketch const met = sketch_for(row.needs, types);
      auto const good = TypeParam::problems(met);
      for (auto const& [what, sketches, told] : violations_of(row.needs, met)) {
        SCOPED_TRACE(std::string{row.name} + " " + to_text(types) + ": " + what);
        int tried = 0;
        for (Sketch const& sketch : sketches) {
          for (auto const& problem : TypeParam::problems(sketch)) {
            bool const is_expressed = std::ranges::none_of(
                good, [&](auto const& one) { return is_same(facts_of(one), facts_of(problem)); });
            if (!is_expressed) continue;
            ++tried;
            this->expect_refused(row, problem, told);
          }
        }
        EXPECT_GT(tried, 0) << "no problem of this operation can violate it";
      }
    }
  }
}

TYPED_TEST(TableTest, RefusesWhatTheOperationsOwnRequirementSays) {
  for (auto const& row : TypeParam::variants()) {
    if (row.specifics.unsupported == nullptr) continue;
    SCOPED_TRACE(row.name);
    int refused = 0;
    for (Types const& types : row.types) {
      Sketch const met = sketch_for(row.needs, types);
      Sketch ragged = met;  // with the leading dimensions of `met`
      ragged.rows = ragged.cols = met.rows - 1;
      ragged.pad = 1;
      Sketch large = met;
      large.rows = large.cols = 1 << 24;
      for (Sketch const& sketch : {met, ragged, large}) {
        for (auto const& problem : TypeParam::problems(sketch)) {
          std::string const reason = row.specifics.unsupported(problem);
          bool const is_own = unsupported_reason(row, facts_of(problem)).empty();
          if (reason.empty() || !is_own) continue;
          ++refused;
          this->expect_refused(row, problem, reason);
        }
      }
    }
    // It asks of the host's BLAS what this one has; commands/blas has one that has not.
    bool const asks_library = std::is_same_v<TypeParam, Transpose> && row.role == Role::vendor &&
                              row.runs_on(device::Kind::host);
    if (asks_library) continue;
    if (refused == 0) {  // it asks something of the environment
      setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
      for (auto const& problem : TypeParam::problems(sketch_for(row.needs, *row.types.begin()))) {
        if (!row.specifics.unsupported(problem).empty()) ++refused;
      }
      unsetenv("NVIDIA_TF32_OVERRIDE");
    }
    EXPECT_GT(refused, 0) << "no problem is refused for '" << row.needs.other << "'";
  }
}

TYPED_TEST(TableTest, RefusesDevicesThatLackSomething) {
  for (auto const& row : TypeParam::variants()) {
    SCOPED_TRACE(row.name);
    auto const problems = TypeParam::problems(sketch_for(row.needs, *row.types.begin()));
    auto const taken = std::ranges::find_if(
        problems, [&](auto const& p) { return row.unsupported_reason(p).empty(); });
    ASSERT_NE(taken, problems.end());
    auto const launch = [&](int capability, int units) {
      FakeDevice gpu{device::Kind::cuda, facts_with(capability, units)};
      this->counted(row).launch(*taken, gpu.stream());
    };
    Requirements const& needs = row.needs;

    g_enqueued = 0;
    launch(std::max(needs.compute_capability, 90), needs.multiprocessors);
    EXPECT_EQ(g_enqueued, 1);
    if (needs.exact_capability) {
      EXPECT_FAILS(launch(needs.compute_capability + 10, needs.multiprocessors),
                   "needs compute capability");
    }
    if (needs.compute_capability > 0) {
      EXPECT_FAILS(launch(needs.compute_capability - 1, needs.multiprocessors),
                   "needs compute capability");
    }
    if (needs.multiprocessors > 0) {
      EXPECT_FAILS(launch(needs.compute_capability, needs.multiprocessors - 1),
                   "multiprocessors to itself");
    }
    EXPECT_EQ(g_enqueued, 1);
  }
}

}  // namespace
}  // namespace quadrille::kernels
