// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/config.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quadrille::core {
namespace {

using Texts = std::vector<std::string>;

std::vector<Known> known() {
  std::vector<Known> all;
  for (char const* const workload :
       {"vector", "copy", "memory", "integral", "reduction", "transpose", "ptrans", "gemm", "summa",
        "allreduce", "broadcast", "alltoall", "sendrecv", "field_io"}) {
    all.push_back({workload, {"reference", "kokkos"}});
  }
  return all;
}

Parsed<Config> read(std::string_view text, Texts const& sets = {}, bool bare_case = false) {
  return resolve(text, "x.toml", sets, known(), bare_case);
}

/// The configuration; a failed expectation and an empty one where the text is refused.
Config good(std::string_view text, Texts const& sets = {}, bool bare_case = false) {
  auto const config = read(text, sets, bare_case);
  if (config) return *config;
  ADD_FAILURE() << config.why();
  return {};
}

/// The message, or "" where the text is accepted.
std::string why(std::string_view text, Texts const& sets = {}, bool bare_case = false) {
  auto const config = read(text, sets, bare_case);
  return config ? "" : config.why();
}

std::string one_case(std::string_view workload, std::string_view rest = "") {
  return fmt::format("[[case]]\nworkload = \"{}\"\nsize = 8\n{}\n", workload, rest);
}

Texts names(Config const& config) {
  Texts out;
  for (Case const& one : config.cases) out.push_back(one.name);
  return out;
}

#define EXPECT_HAS(text, part) EXPECT_PRED2(has, std::string{text}, part)
bool has(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

char const* const kFull = R"toml(
[run]
device = "host"
transport = ["auto"]
throttle = "500 MB/s"
repetitions = 7
warmup = { count = 2, seconds = 0.25 }
check = "sample"
data = "integer"
seed = 42
clock = "sustained"
chunk_bytes = "1MiB"
timeout = { init = "2min", repetition = "1500ms" }
output = "out \"1\" \\ ü"
allow_shared_gpu = true

[[case]]
name = "square"
workload = "summa"
type = "f32"
size = ["8Ki", "(16Ki,16Ki,4Ki)", 100]
grid = ["2x3", "auto", "all"]
panel = 1024
buffers = 3
block = "1Ki"
broadcast = "ring"
variant = ["reference", "kokkos"]
vendor = "off"
transport = "mpi"
alpha = -0.1
beta = 1e-7
legs = true
save = true
data = "normal"

[[case]]
workload = "integral"
size = "1e9"
integrand = "runge"
rule = "gauss_legendre"
reproducible = true

[[case]]
workload = "reduction"
size = "auto:70%"
type = ["i32", "f64"]
operation = ["dot", "norm2"]
accumulator = "f32"

[[case]]
workload = "gemm"
size = 0
layout = ["nt", "tn"]
warmup.count = 0
)toml";

TEST(Config, EveryKeyArrives) {
  Config const config = good(kFull);

  RunSettings const& run = config.run;
  EXPECT_EQ(run.device, "host");
  EXPECT_EQ(run.chunk_bytes, 1 << 20);
  EXPECT_EQ(run.timeout.init_s, 120);
  EXPECT_EQ(run.timeout.repetition_s, 1.5);
  EXPECT_EQ(run.output, "out \"1\" \\ ü");
  EXPECT_TRUE(run.allow_shared_gpu);

  ASSERT_EQ(config.cases.size(), 9U + 1 + 4 + 2);
  Case const& square = config.cases[3];
  EXPECT_EQ(square.name, "square.4");
  EXPECT_EQ(square.workload, "summa");
  EXPECT_EQ(square.type, DataType::f32);
  EXPECT_EQ(square.size, (Extents{{16384, 16384, 4096}, 3, 0}));
  EXPECT_EQ(square.grid, (GridShape{2, 3}));
  EXPECT_EQ(config.cases[4].grid, GridShape{});
  EXPECT_EQ(config.cases[5].grid, kAllGrids);
  EXPECT_EQ(square.panel, 1024);
  EXPECT_EQ(square.buffers, 3);
  EXPECT_EQ(square.block, 1024);
  EXPECT_EQ(square.broadcast, "ring");
  EXPECT_EQ(square.variants, (Texts{"reference", "kokkos"}));
  EXPECT_EQ(square.vendor, "off");
  EXPECT_EQ(square.throttle, 500e6);
  EXPECT_EQ(square.transport, "mpi");
  EXPECT_EQ(square.alpha, -0.1);
  EXPECT_EQ(square.beta, 1e-7);
  EXPECT_TRUE(square.legs);
  EXPECT_TRUE(square.save);
  EXPECT_EQ(square.data, DataKind::normal) << "a case overrides [run]";
  EXPECT_EQ(square.seed, 42U);
  EXPECT_EQ(square.repetitions, 7);
  EXPECT_EQ(square.warmup, (Warmup{2, 0.25}));
  EXPECT_EQ(square.check, Check::sample);
  EXPECT_EQ(square.clock, Clock::sustained);

  Case const& integral = config.cases[9];
  EXPECT_EQ(integral.name, "integral");
  EXPECT_EQ(integral.size[0], 1000000000);
  EXPECT_EQ(integral.integrand, "runge");
  EXPECT_EQ(integral.rule, "gauss_legendre");
  EXPECT_TRUE(integral.reproducible);
  EXPECT_EQ(integral.data, DataKind::integer);

  Case const& reduction = config.cases[11];
  EXPECT_EQ(reduction.type, DataType::i32);
  EXPECT_EQ(reduction.operation, "norm2");
  EXPECT_EQ(reduction.accumulator, "f32");
  EXPECT_EQ(reduction.size.auto_fraction, 0.7);

  Case const& gemm = config.cases[15];
  EXPECT_EQ(gemm.layout, "tn");
  EXPECT_EQ(gemm.warmup, (Warmup{0, 0.25})) << "a member of a table is a key of its own";
  EXPECT_EQ(gemm.size, (Extents{{0, 0, 0}, 1, 0}));
}

TEST(Config, ResolvedTextReadsBackToTheSame) {
  for (std::string const& text : {std::string{kFull}, one_case("vector")}) {
    Config const config = good(text);

    std::string const written = to_toml(config);
    Config const again = good(written);

    EXPECT_EQ(again, config) << written;
    EXPECT_EQ(to_toml(again), written);
  }
}

TEST(Config, OneCaseReadsBackToo) {
  for (Case const& one : good(kFull).cases) {
    auto const again = good(to_toml(one));
    ASSERT_EQ(again.cases.size(), 1U);
    EXPECT_EQ(again.cases[0], one) << to_toml(one);
  }
}

TEST(Config, ResolvedTextHasEveryKeyThatTheWorkloadAccepts) {
  for (Known const& k : known()) {
    std::string const text = to_toml(good(one_case(k.workload)));
    for (Option const& o : options()) {
      bool const expected = o.scope == Option::Scope::run || accepts(o, k.workload);
      EXPECT_EQ(has(text, fmt::format("\n{} = ", o.key)), expected) << k.workload << ' ' << o.key;
    }
  }
}

TEST(Config, AwkwardNumbersReadBack) {
  for (char const* const share : {"auto:57%", "auto:33.3%", "auto:0.1%", "auto:99%"}) {
    Config const config = good(one_case("gemm"), {fmt::format("gemm.size={}", share)});
    EXPECT_EQ(good(to_toml(config)), config) << share;
    EXPECT_HAS(to_toml(config), fmt::format("\"{}\"", share));
  }
  for (char const* const number : {"0.1", "-0.0", "1e300", "123456789.123456789", "3"}) {
    Config const config =
        good(one_case("gemm"), {fmt::format("gemm.alpha={}", number), "run.throttle=333.3 MiB/s",
                                "run.timeout.init=0.1min"});
    EXPECT_EQ(good(to_toml(config)), config) << number;
  }
}

TEST(Config, DefaultsOfTheTableAreThoseOfTheStructures) {
  for (char const* const workload : {"summa", "gemm", "integral", "reduction", "vector"}) {
    std::string run = "[run]\n";
    std::string rest;
    for (Option const& o : options()) {
      if (o.default_value.empty()) continue;
      std::string const line = fmt::format("{} = {}\n", o.key, o.default_value);
      if (o.scope == Option::Scope::run) run += line;
      if (accepts(o, workload)) rest += line;
    }
    Config const written = good(run + one_case(workload, rest));
    EXPECT_EQ(written, good(one_case(workload)));
    EXPECT_EQ(written.run, RunSettings{});
  }
  Case plain;
  plain.name = plain.workload = "gemm";
  plain.size = {{8, 0, 0}, 1, 0};
  EXPECT_EQ(good(one_case("gemm")).cases[0], plain);
}

TEST(Config, OperationDefaultsToTheFirst) {
  EXPECT_EQ(good(one_case("vector")).cases[0].operation, "add");
  EXPECT_EQ(good(one_case("copy")).cases[0].operation, "d2d");
  EXPECT_EQ(good(one_case("reduction")).cases[0].operation, "sum");
  EXPECT_EQ(good(one_case("allreduce")).cases[0].operation, "sum");
  EXPECT_EQ(good(one_case("gemm")).cases[0].operation, "");
}

TEST(Config, RunDefaultsReachOnlyCasesThatAcceptThem) {
  Config const config = good("[run]\nlegs = true\ntransport = [\"mpi\", \"auto\"]\n" +
                             one_case("vector") + one_case("summa"));

  EXPECT_EQ(names(config), (Texts{"vector", "summa.1", "summa.2"}));
  EXPECT_FALSE(config.cases[0].legs);
  EXPECT_TRUE(config.cases[1].legs);
  EXPECT_EQ(config.cases[1].transport, "mpi");
  EXPECT_EQ(config.cases[2].transport, "auto");
}

TEST(Config, ListsCrossTheLastKeyFastest) {
  Config const config =
      good("[[case]]\nworkload = \"summa\"\npanel = \"64:256:*2\"\nsize = [100, \"(2:4:+2,9)\"]\n");

  ASSERT_EQ(config.cases.size(), 9U);
  EXPECT_EQ(config.cases[0].size, (Extents{{100, 0, 0}, 1, 0}));
  EXPECT_EQ(config.cases[0].panel, 64);
  EXPECT_EQ(config.cases[1].panel, 128);
  EXPECT_EQ(config.cases[3].size, (Extents{{2, 9, 0}, 2, 0}));
  EXPECT_EQ(config.cases[8].size, (Extents{{4, 9, 0}, 2, 0}));
  EXPECT_EQ(config.cases[8].name, "summa.9");
}

TEST(Config, VariantListsDoNotSweep) {
  Config const config = good(one_case("gemm", "variant = [\"vendor\", \"kokkos\", \"best\"]"));

  EXPECT_EQ(names(config), Texts{"gemm"});
  EXPECT_EQ(config.cases[0].variants, (Texts{"vendor", "kokkos", "best"}));
}

TEST(Config, NamesAreUnique) {
  std::string const two = one_case("gemm") + one_case("gemm");
  EXPECT_EQ(names(good(two)), (Texts{"gemm", "gemm-2"}));
  EXPECT_EQ(names(good(two + one_case("copy", "name = \"gemm\""))),
            (Texts{"gemm-2", "gemm-3", "gemm"}));
  std::string const same = one_case("gemm", "name = \"a\"") + one_case("copy", "name = \"a\"");
  EXPECT_EQ(why(same), "x.toml:8: two cases are called 'a'; names must differ");
  std::string const swept = one_case("gemm", "name = \"a\"\nlayout = [\"nn\", \"tt\"]") +
                            one_case("copy", "name = \"a.2\"");
  EXPECT_HAS(why(swept), "'a.2' once sweeps are expanded");
}

TEST(Config, SetReachesRunAndCases) {
  std::string const text =
      one_case("summa", "name = \"square\"") + one_case("copy", "name = \"square.x\"");
  Config const config =
      good(text, {"run.timeout.init=5s", "run.device=host", "run.throttle=1 GB/s",
                  "run.repetitions=3", "run.output=5", "square.warmup.count=1", "square.size=4Ki",
                  "square.grid=1x2", "square.legs=true", "square.panel = 12",
                  "square.variant=[\"kokkos\", \"best\"]", "square.x.operation=h2d",
                  "square.x.size=1e6", "square.x.warmup={ count = 8, seconds = 0 }"});

  EXPECT_EQ(config.run.timeout.init_s, 5);
  EXPECT_EQ(config.run.device, "host");
  EXPECT_EQ(config.cases[0].throttle, 1e9);
  EXPECT_EQ(config.run.output, "5");
  Case const& square = config.cases[0];
  EXPECT_EQ(square.repetitions, 3);
  EXPECT_EQ(square.warmup, (Warmup{1, 0.5}));
  EXPECT_EQ(square.size[0], 4096);
  EXPECT_EQ(square.grid, (GridShape{1, 2}));
  EXPECT_TRUE(square.legs);
  EXPECT_EQ(square.panel, 12);
  EXPECT_EQ(square.variants, (Texts{"kokkos", "best"}));
  Case const& copy = config.cases[1];
  EXPECT_EQ(copy.operation, "h2d");
  EXPECT_EQ(copy.size[0], 1000000);
  EXPECT_EQ(copy.warmup, (Warmup{8, 0}));
}

TEST(Config, TextBeyondAsciiStandsInQuotesAndComments) {
  std::string const text = "\xEF\xBB\xBF# ü \"\n[run]\noutput = \"\"\"a\\\"ü\"\"\" # ü '\n" +
                           one_case("gemm", "layout = 'nn' # ü");
  EXPECT_EQ(good(text).run.output, "a\"ü");
  EXPECT_EQ(good(text, {"run.output=ü/b"}).run.output, "ü/b");
}

TEST(Config, TheLastSetWins) {
  EXPECT_EQ(good(one_case("gemm"), {"gemm.alpha=2", "gemm.alpha=3"}).cases[0].alpha, 3);
}

TEST(Config, SetCanSweep) {
  EXPECT_EQ(good(one_case("gemm"), {"gemm.size=[1, 2, \"3:5:+1\"]"}).cases.size(), 5U);
  EXPECT_EQ(good(one_case("gemm"), {"gemm.size=1:3:+1"}).cases.size(), 3U);
}

TEST(Config, BareKeysGoToTheOnlyCase) {
  std::string const text = "[[case]]\nworkload = \"summa\"";
  Config const config =
      good(text, {"size=64", "summa.panel=8", "warmup.count=0", "run.seed=3"}, true);

  EXPECT_EQ(config.cases[0].size[0], 64);
  EXPECT_EQ(config.cases[0].panel, 8);
  EXPECT_EQ(config.cases[0].warmup.count, 0);
  EXPECT_EQ(config.cases[0].seed, 3U);
  EXPECT_HAS(why(text, {"device=host"}, true), "'device' belongs in [run]");
  EXPECT_HAS(why(text, {"panle=1"}, true), "did you mean 'panel'?");
  EXPECT_HAS(why(text + "\n" + text, {"size=1"}, true), "2 cases where one is expected");
}

TEST(Config, WrongSetsSayWhy) {
  std::string const text = one_case("summa", "name = \"square\"");
  EXPECT_EQ(why(text, {"sqare.panel=5"}),
            "--set sqare.panel=5: no case is called 'sqare'; did you mean 'square'?");
  EXPECT_EQ(
      why(text, {"other.panel=5"}),
      "--set other.panel=5: no case is called 'other'; write one of run, square before the key");
  EXPECT_EQ(why(text, {"panel=5"}),
            "--set panel=5: it names no case; write one of run, square before the key");
  EXPECT_EQ(why(text, {"square.panel"}), "--set square.panel: write KEY=VALUE");
  EXPECT_HAS(why(text, {"square.panel="}), "--set square.panel=: panel: '' is not a count");
  EXPECT_HAS(why(text, {"square.name=b"}), "can only stand in a file");
  EXPECT_HAS(why(text, {"square.device=host"}), "'device' belongs in [run]");
  EXPECT_HAS(why(text, {"run.panel=5"}), "'panel' belongs in a [[case]]");
  EXPECT_HAS(why(text, {"square.panel=8K"}), "use Ki (1024) or k (1000)");
  EXPECT_HAS(why(text, {"square.legs=yes"}), "expects true | false, not yes");
  EXPECT_HAS(why(text, {"square.layout=nn"}),
             "workload 'summa' has no key 'layout'; it belongs to gemm");
  EXPECT_HAS(why(text, {"square.data=[]"}), "the list is empty");
  EXPECT_HAS(why(text, {"square.seed=1979-05-27"}), "unknown unit '-05-27'");
  EXPECT_HAS(why(text, {"square.seed=1\n[run]\nseed=2"}), "unknown unit");
}

struct Wrong {
  char const* lines;    ///< of a case of workload summa, from line 4
  char const* message;  ///< part of what is said
};

class WrongCase : public testing::TestWithParam<Wrong> {};

TEST_P(WrongCase, SaysLineAndProblem) {
  std::string const message = why(one_case("summa", GetParam().lines));
  EXPECT_TRUE(message.starts_with("x.toml:4: ")) << message;
  EXPECT_HAS(message, GetParam().message);
  EXPECT_EQ(message.find('\n'), std::string::npos) << "one line";
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongCase,
    testing::Values(
        Wrong{"panle = 5", "unknown key 'panle'; did you mean 'panel'?"},
        Wrong{"temperature = 5", "unknown key 'temperature'; one of name, workload, type, size"},
        Wrong{"warmup.cuont = 5", "did you mean 'warmup.count'?"},
        Wrong{"warmup = 5", "'warmup' is a table with count, seconds"},
        Wrong{"panel = {}", "panel: expects a count, not a table"},
        Wrong{"panel.x = 1", "unknown key 'panel.x'; did you mean 'panel'?"},
        Wrong{"device = \"host\"", "'device' belongs in [run], not in a [[case]]"},
        Wrong{"layout = \"nn\"", "workload 'summa' has no key 'layout'; it belongs to gemm"},
        Wrong{"panel = true", "panel: expects a count, not true"},
        Wrong{"panel = 2.5", "panel: '2.5' is not a whole number"},
        Wrong{"panel = 0", "panel: must be at least 1, not 0"},
        Wrong{"panel = -1", "panel: '-1' is negative"},
        Wrong{"panel = \"8K\"", "panel: '8K': use Ki (1024) or k (1000)"},
        Wrong{"panel = 1979-05-27", "panel: expects a count, not a date or time"},
        Wrong{"panel = [[1]]", "panel: expects a count, not a list"},
        Wrong{"panel = [1, 0]", "panel: must be at least 1, not 0"},
        Wrong{"panel = []", "panel: the list is empty"},
        Wrong{"panel = inf", "panel: 'inf' is not a count"},
        Wrong{"panel = \"1:9:2\"", "start:end:+step or start:end:*factor"},
        Wrong{"panel = [\"1:9999:+1\", 1, 1]", "sweep leads to more than 10000 cases"},
        Wrong{"buffers = 4", "buffers: must be 1 to 3, not 4"},
        Wrong{"buffers = 0", "buffers: must be 1 to 3, not 0"},
        Wrong{"repetitions = 0", "repetitions: must be at least 1, not 0"},
        Wrong{"repetitions = [1, 2]", "repetitions: takes one value, not a list"},
        Wrong{"seed = -1", "seed: '-1' is negative"},
        Wrong{"warmup.seconds = \"-1s\"", "warmup.seconds: '-1s' is negative"},
        Wrong{"warmup.seconds = \"1 year\"", "warmup.seconds: '1 year': unknown unit 'year'"},
        Wrong{"alpha = \"1\"", "alpha: expects a finite number, not \"1\""},
        Wrong{"alpha = nan", "alpha: expects a finite number, not nan"},
        Wrong{"legs = \"true\"", "legs: expects true | false, not \"true\""},
        Wrong{"legs = 1", "legs: expects true | false, not 1"},
        Wrong{"type = \"f63\"",
              "not one of f64, f32, f16, bf16, i64, i32, i8; did you mean 'f64'?"},
        Wrong{"type = 64", "type: 64 is not one of f64"},
        Wrong{"check = \"none\"", "check: \"none\" is not one of full, sample, off"},
        Wrong{"broadcast = \"rang\"", "not one of library, ring; did you mean 'ring'?"},
        Wrong{"transport = \"tcp\"", "transport: \"tcp\" is not one of auto, nccl, mpi"},
        Wrong{"variant = \"koko\"", "unknown variant 'koko' of summa; did you mean 'kokkos'?"},
        Wrong{"variant = \"assembler\"", "one of reference, kokkos, best, all, vendor"},
        Wrong{"variant = [\"best\", \"best\"]", "variant: 'best' is given twice"},
        Wrong{"variant = []", "variant: the list is empty"},
        Wrong{"variant = 3", "variant: 3 is not a name"},
        Wrong{"grid = \"2y2\"", "grid: expects \"PxQ\", \"auto\" or \"all\", not \"2y2\""},
        Wrong{"grid = \"2x2x2\"", "grid: expects"}, Wrong{"grid = \"2x2x\"", "grid: expects"},
        Wrong{"grid = \"2x\"", "grid: expects"},
        Wrong{"grid = \"0x2\"", "rows and columns must be 1 to"},
        Wrong{"grid = 4", "grid: expects"}, Wrong{"name = 5", "name: expects a name, not 5"},
        Wrong{"name = \"\"", "name: must not be empty"},
        Wrong{"name = \"a/b\"", "at most 100 letters, digits"},
        Wrong{"name = \".a\"", "not begin with '.'"},
        Wrong{"name = \"run\"", "'run' means the table [run]"}, Wrong{"panel = ", "value"}));

TEST(Config, WrongSizesSayWhy) {
  auto const sized = [](std::string_view workload, std::string_view size) {
    return why(fmt::format("[[case]]\nworkload = \"{}\"\nsize = {}\n", workload, size));
  };
  EXPECT_EQ(sized("gemm", "-4"), "x.toml:3: size: '-4' is negative");
  EXPECT_HAS(sized("gemm", "\"(1,2,3,4)\""), "has more than 3 extents");
  EXPECT_HAS(sized("transpose", "\"(1,2,3)\""), "(1,2,3) has 3 extents, transpose uses at most 2");
  EXPECT_HAS(sized("vector", "\"(1,2)\""), "(1,2) has 2 extents, vector uses one");
  EXPECT_HAS(sized("gemm", "\"auto:170%\""), "not a share of memory such as \"auto:70%\"");
  EXPECT_HAS(sized("gemm", "\"1:9\""), "start:end:+step");
  EXPECT_HAS(sized("gemm", "\"2Gi\""), "more than 2^59 elements");
  EXPECT_HAS(sized("summa", "\"(1,2Gi,2Gi)\""), "more than 2^59 elements");
  EXPECT_HAS(sized("vector", "\"1e18\""), "more than 2^59 elements");
  EXPECT_EQ(sized("vector", "\"2Gi\""), "");
  EXPECT_EQ(sized("gemm", "\"(4Gi,4,0)\""), "");
}

TEST(Config, WrongFilesSayWhy) {
  EXPECT_HAS(why("[run\n"), "x.toml:1: ");
  EXPECT_HAS(why("\n[=run]\n"), "x.toml:2: ");
  EXPECT_HAS(why("[run]\nü = 1\n"), "x.toml:2: a character beyond ASCII can only stand in quotes");
  EXPECT_HAS(why("[run]\noutput = \"a\\\\\"ü\"\n"), "x.toml:2: a character beyond ASCII");
  EXPECT_EQ(why(""), "x.toml: there is no [[case]], so nothing to run");
  EXPECT_EQ(why("[[cases]]\n"), "x.toml:1: unknown table or key 'cases'; did you mean 'case'?");
  EXPECT_EQ(why("device = \"host\"\n"),
            "x.toml:1: unknown table or key 'device'; a file has [run] and [[case]]");
  EXPECT_HAS(why("[case]\nsize = 1\n"), "write [[case]]");
  EXPECT_HAS(why("[run]\nseed = 1\nseed = 2\n"), "x.toml:3: ");
  EXPECT_HAS(why("case = []\n"), "write [[case]]");
  EXPECT_HAS(why("case = [1]\n"), "write [[case]]");
  EXPECT_HAS(why("run = 5\n"), "'run' must be a table");
  EXPECT_HAS(why("[[case]]\nworkload = \"gemm\"\n"), "x.toml:1: case 'gemm' has no size");
  EXPECT_HAS(why("[[case]]\nsize = 3\n"),
             "x.toml:1: the case has no workload; one of vector, copy");
  EXPECT_HAS(why("[[case]]\nworklaod = \"gemm\"\n"),
             "x.toml:2: unknown key 'worklaod'; did you mean");
  EXPECT_HAS(why("[[case]]\nworkload = \"gem\"\n"), "unknown workload 'gem'; did you mean 'gemm'?");
  EXPECT_HAS(why("[[case]]\nworkload = \"quicksort\"\n"), "'quicksort'; one of vector, copy");
  EXPECT_HAS(why(one_case("vector", "panel = 5")), "'panel'; it belongs to ptrans, summa");
  EXPECT_HAS(why("[[case]]\nworkload = 7\n"), "workload: expects a workload, not 7");
}

TEST(Config, WrongRunKeysSayWhy) {
  auto const run = [](std::string_view line) {
    return why(fmt::format("[run]\n{}\n{}", line, one_case("vector")));
  };
  EXPECT_EQ(run("panel = 5"), "x.toml:2: 'panel' belongs in a [[case]], not in [run]");
  EXPECT_EQ(run("devise = \"host\""), "x.toml:2: unknown key 'devise'; did you mean 'device'?");
  EXPECT_HAS(run("device = \"gpu\""), "device: \"gpu\" is not one of auto, cuda, host");
  EXPECT_HAS(run("device = [\"host\"]"), "device: takes one value, not a list");
  EXPECT_HAS(run("chunk_bytes = 1023"), "chunk_bytes: must be at least 1024, not 1023");
  EXPECT_HAS(run("timeout.init = 0"), "timeout.init: must be more than 0");
  EXPECT_HAS(run("timeout = \"5s\""), "'timeout' is a table with init, repetition");
  EXPECT_HAS(run("throttle = \"500\""), "not a rate such as");
  EXPECT_HAS(run("throttle = 500"), "throttle: expects a rate or \"none\", not 500");
  EXPECT_HAS(run("output = 5"), "output: expects a folder, not 5");
  EXPECT_HAS(run("output = \"\""), "output: must not be empty");
  EXPECT_HAS(run("legs = 5"), "legs: expects true | false, not 5");
  EXPECT_HAS(run("variant = \"fast\""), "unknown variant 'fast' of vector");
}

TEST(Config, WrongOperationsNameThoseOfTheWorkload) {
  EXPECT_HAS(why(one_case("vector", "operation = \"sum\"")),
             "\"sum\" is not one of add, quadratic");
  EXPECT_HAS(why(one_case("allreduce", "operation = \"dot\"")), "not one of sum, min, max");
  EXPECT_HAS(why(one_case("copy", "operation = \"h2h\"")), "not one of d2d, h2d, d2h, both; did");
}

TEST(Config, LevelsOfMemoryHaveAVolumeAndACarveout) {
  auto const memory = [](std::string_view keys) { return one_case("memory", keys); };
  Parsed<Config> const auto_choice = read(memory("volume = \"4Mi\""));
  ASSERT_TRUE(auto_choice) << auto_choice.why();
  EXPECT_EQ(auto_choice->cases[0].volume, 4 << 20);
  EXPECT_EQ(auto_choice->cases[0].carveout, -1);
  Parsed<Config> const sweep = read(memory("carveout = [0, \"auto\", 100]"));
  ASSERT_TRUE(sweep) << sweep.why();
  ASSERT_EQ(sweep->cases.size(), 3U);
  EXPECT_EQ(sweep->cases[0].carveout, 0);
  EXPECT_EQ(sweep->cases[1].carveout, -1);
  EXPECT_EQ(sweep->cases[2].carveout, 100);
  EXPECT_EQ(read(to_toml(*sweep))->cases, sweep->cases);

  EXPECT_HAS(why(memory("carveout = 101")), "carveout: must be 0 to 100 or \"auto\", not 101");
  EXPECT_HAS(why(memory("carveout = \"half\"")), "or \"auto\"");
  EXPECT_HAS(why(memory("volume = 1")), "volume: must be");
  EXPECT_HAS(why(one_case("vector", "carveout = 1")), "carveout");
}

TEST(Config, TheFirstErrorOfTheFileIsReported) {
  EXPECT_HAS(why(one_case("gemm", "zzz = 1\naaa = 2")), "x.toml:4: unknown key 'zzz'");
}

TEST(Config, HelpNamesEveryKeyOnce) {
  std::string const help = options_help();
  for (Option const& o : options()) {
    std::string const entry = fmt::format("\n  {:<20}", o.key);
    std::size_t const first = help.find(entry);
    EXPECT_NE(first, std::string::npos) << o.key;
    EXPECT_EQ(help.find(entry, first + 1), std::string::npos) << o.key;
    EXPECT_FALSE(o.help.empty()) << o.key;
  }
}

TEST(Config, GridsExpandToTheFactoringsOfTheRanks) {
  Config const config = good(
      one_case("summa", "name = \"s\"\ngrid = [\"all\", \"auto\", \"2x3\"]") + one_case("vector"));

  auto const six = expand_grids(config, 6);
  ASSERT_TRUE(six) << six.why();
  EXPECT_EQ(names(*six),
            (Texts{"s.1.1x6", "s.1.2x3", "s.1.3x2", "s.1.6x1", "s.2", "s.3", "vector"}));
  EXPECT_EQ(six->cases[1].grid, (GridShape{2, 3}));
  EXPECT_EQ(six->cases[3].grid, (GridShape{6, 1}));
  EXPECT_EQ(six->cases[4].grid, GridShape{});
  EXPECT_EQ(good(to_toml(*six)), *six);

  auto const four = expand_grids(config, 4);
  ASSERT_FALSE(four);
  EXPECT_EQ(four.why(),
            "case 's.3': grid 2x3 has 6 processes, but there are 4 ranks; use auto or one of 1x4, "
            "2x2, 4x1");
}

TEST(Config, ExpandedGridsMustNotTakeAName) {
  Config const config = good(one_case("summa", "name = \"s\"\ngrid = \"all\"") +
                             one_case("copy", "name = \"s.1x1\""));
  EXPECT_HAS(expand_grids(config, 1).why(), "'s.1x1' once grids are expanded");
}

}  // namespace
}  // namespace quadrille::core
