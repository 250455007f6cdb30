// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/options.hpp"
#include "support/expect_fails.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quadrille::core {
namespace {

using Texts = std::vector<std::string>;

enum class Travel { library, ring };
constexpr auto enum_names(Travel) {
  return EnumNames<Travel, 2>{{{Travel::library, "library"}, {Travel::ring, "ring"}}};
}

/// Parameters of the two workloads that work on panels here.
struct PanelParameters {
  std::int64_t panel = 256;
  std::int64_t buffers = 2;
  Travel broadcast = Travel::library;
  double alpha = 1;
  bool operator==(PanelParameters const&) const = default;
};

enum class Orders { nn, nt, tt };
constexpr auto enum_names(Orders) {
  return EnumNames<Orders, 3>{{{Orders::nn, "nn"}, {Orders::nt, "nt"}, {Orders::tt, "tt"}}};
}

struct ProductParameters {
  double alpha = 1;
  Orders layout = Orders::nn;
  std::int64_t share = -1;
  std::int64_t volume = 1 << 20;
  bool reproducible = false;
  bool operator==(ProductParameters const&) const = default;
};

using options::at;

/// Small workloads with one of each kind of option. They live as long as the cases that name them.
NameTable const& name_table() {
  static Option const panel = options::count("panel", at(&PanelParameters::panel),
                                             "width of a panel", {.least = 1, .unit = "elements"});
  static WorkloadSchema const summa{
      .name = "summa",
      .extents = {"m", "n", "k"},
      .keys = {.transport = true, .grid = true, .legs = true},
      .defaults = Parameters{PanelParameters{}},
      .options = {panel,
                  options::count("buffers", at(&PanelParameters::buffers), "panel buffers",
                                 {.least = 1, .most = 3}),
                  options::choice("broadcast", at(&PanelParameters::broadcast), "how it travels"),
                  options::number("alpha", at(&PanelParameters::alpha), "a factor")},
      .variants = {"reference", "kokkos"}};
  static WorkloadSchema const ptrans{.name = "ptrans",
                                     .extents = {"m", "n"},
                                     .defaults = Parameters{PanelParameters{}},
                                     .options = {panel},
                                     .variants = {"reference", "kokkos", "kokkos"}};
  static WorkloadSchema const gemm{
      .name = "gemm",
      .extents = {"m", "n", "k"},
      .keys = {.compute = true},
      .defaults = Parameters{ProductParameters{}},
      .options = {options::number("alpha", at(&ProductParameters::alpha), "a factor"),
                  options::choice("layout", at(&ProductParameters::layout), "orders of A and B"),
                  options::count_or_auto("share", at(&ProductParameters::share), "a share", -1,
                                         {.least = 0, .most = 100, .unit = "percent"}),
                  options::bytes("volume", at(&ProductParameters::volume), "bytes read",
                                 {.least = 4096}),
                  options::flag("reproducible", at(&ProductParameters::reproducible), "same bits")},
      .variants = {"reference", "kokkos", "vendor"}};
  static WorkloadSchema const vector{.name = "vector",
                                     .extents = {"n"},
                                     .keys = {.any_bits = true},
                                     .variants = {"reference", "kokkos"}};
  static WorkloadSchema const conv2d{.name = "conv2d",
                                     .extents = {"n", "c", "h", "w", "k", "r", "s", "g"},
                                     .variants = {"reference"}};
  static WorkloadSchema const* const all[] = {&vector, &ptrans, &gemm, &summa, &conv2d};
  static NameTable const words{all, {"auto", "nccl", "mpi"}, {"host", "H100 SXM"}};
  return words;
}

PanelParameters const& panel_of(Case const& spec) { return spec.parameters.as<PanelParameters>(); }
ProductParameters const& product_of(Case const& spec) {
  return spec.parameters.as<ProductParameters>();
}

Parsed<Config> read(std::string_view text, Texts const& sets = {}, bool bare_case = false) {
  return resolve(text, "x.toml", sets, name_table(), bare_case);
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
nccl_ctas = 12
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
size_host = "1Ki"
grid = ["2x3", "auto", "all"]
panel = 1024
buffers = 3
broadcast = "ring"
variant = ["reference", "kokkos"]
vendor = "off"
transport = "mpi"
alpha = -0.1
legs = true
save = true
data = "normal"
timing = "synchronised"
cache = "hot"

[[case]]
workload = "vector"
size = "1e9"

[[case]]
workload = "gemm"
size = "auto:70%"
type = ["i32", "f64"]
compute = ["f64", "tf32"]
volume = "8KiB"
reproducible = true

[[case]]
workload = "gemm"
size = 0
layout = ["nt", "tt"]
warmup.count = 0
clock = "burst"
stop = "0.5 %"

[[case]]
workload = "conv2d"
size = "(1,2,3,4,5,6,7,8)"
)toml";

TEST(Config, WordsStandForPercentages) {
  auto const read = [](std::string const& line) {
    Config const config = good("[[case]]\nworkload = \"vector\"\nsize = 1\n" + line);
    EXPECT_EQ(good(to_toml(config)), config) << line;
    return config.cases.at(0).suspect_percent;
  };
  EXPECT_EQ(read(""), Case::kAutomaticPercent);
  EXPECT_EQ(read("suspect = \"auto\""), Case::kAutomaticPercent);
  EXPECT_EQ(read("suspect = \"none\""), 0);
  EXPECT_EQ(read("suspect = \"7 %\""), 7);
  EXPECT_HAS(why("[[case]]\nworkload = \"vector\"\nsize = 1\nstop = \"auto\""), "\"none\"");
}

TEST(Config, ADeviceMapIsReadAndWritten) {
  std::string const text = "[[case]]\nworkload = \"vector\"\nsize = 1\n[run]\n";
  Config const config = good(text + "device_map = \"0, GPU-1,0000:17:00.0\"\n");
  EXPECT_EQ(config.run.device_map, (Texts{"0", "GPU-1", "0000:17:00.0"}));
  EXPECT_EQ(good(to_toml(config)), config);
  EXPECT_TRUE(good(text + "device_map = \"auto\"\n").run.device_map.empty());
  EXPECT_EQ(good(text + "device_map = 3\n").run.device_map, Texts{"3"});
  EXPECT_HAS(why(text + "device_map = \"0,,1\"\n"), "not a list of GPUs");
  EXPECT_HAS(why(text + "device_map = \"0\"\ndevice = \"host\"\n"),
             "device = \"host\" drives none");
}

TEST(Config, EveryKeyArrives) {
  Config const config = good(kFull);

  RunSettings const& run = config.run;
  EXPECT_EQ(run.device, DeviceChoice::host);
  EXPECT_EQ(run.chunk_bytes, 1 << 20);
  EXPECT_EQ(run.timeout.init_s, 120);
  EXPECT_EQ(run.timeout.repetition_s, 1.5);
  EXPECT_EQ(run.output, "out \"1\" \\ ü");
  EXPECT_TRUE(run.allow_shared_gpu);

  ASSERT_EQ(config.cases.size(), 9U + 1 + 4 + 2 + 1);
  Case const& square = config.cases[3];
  EXPECT_EQ(square.name, "square.4");
  EXPECT_EQ(square.workload->name, "summa");
  EXPECT_EQ(square.type, DataType::f32);
  EXPECT_EQ(square.size, (Extents{{16384, 16384, 4096}, 3, 0}));
  EXPECT_EQ(square.size_host, (Extents{{1024}, 1, 0}));
  EXPECT_EQ(square.grid, (GridShape{2, 3}));
  EXPECT_EQ(config.cases[4].grid, GridShape{});
  EXPECT_EQ(config.cases[5].grid, kAllGrids);
  EXPECT_EQ(panel_of(square), (PanelParameters{1024, 3, Travel::ring, -0.1}));
  EXPECT_EQ(square.variants, (Texts{"reference", "kokkos"}));
  EXPECT_EQ(square.vendor, VendorLine::off);
  EXPECT_EQ(square.throttle, 500e6);
  EXPECT_EQ(square.nccl_ctas, 12);
  EXPECT_EQ(square.transport, "mpi");
  EXPECT_TRUE(square.legs);
  EXPECT_TRUE(square.save);
  EXPECT_EQ(square.data, DataKind::normal) << "a case overrides [run]";
  EXPECT_EQ(square.seed, 42U);
  EXPECT_EQ(square.repetitions, 7);
  EXPECT_EQ(square.warmup, (Warmup{2, 0.25}));
  EXPECT_EQ(square.check, Check::sample);
  EXPECT_EQ(square.clock, Clock::sustained);
  EXPECT_EQ(square.timing, Timing::synchronised);
  EXPECT_EQ(square.cache, Cache::hot);

  Case const& vector = config.cases[9];
  EXPECT_EQ(vector.name, "vector");
  EXPECT_EQ(vector.size[0], 1000000000);
  EXPECT_EQ(vector.size_host.count, 0);
  EXPECT_EQ(vector.data, DataKind::integer);
  EXPECT_EQ(vector.compute, Compute::automatic);

  Case const& product = config.cases[11];
  EXPECT_EQ(product.type, DataType::i32);
  EXPECT_EQ(product.compute, Compute::tf32);
  EXPECT_EQ(product.size.auto_fraction, 0.7);
  EXPECT_EQ(product_of(product).volume, 8192);
  EXPECT_TRUE(product_of(product).reproducible);

  Case const& gemm = config.cases[15];
  EXPECT_EQ(product_of(gemm).layout, Orders::tt);
  EXPECT_EQ(gemm.warmup, (Warmup{0, 0.25})) << "a member of a table is a key of its own";
  EXPECT_EQ(gemm.size, (Extents{{0}, 1, 0}));
  EXPECT_EQ(gemm.stop_percent, 0.5);

  EXPECT_EQ(config.cases[16].size, (Extents{{1, 2, 3, 4, 5, 6, 7, 8}, 8, 0}));
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
  for (WorkloadSchema const* workload : name_table().workloads) {
    std::string const rest = "size_host = 4\n";  // the one key without a default
    std::string const text = to_toml(good(one_case(workload->name, rest)));
    std::size_t lines = 1 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
    for (Option const& o : common_options()) {
      if (o.scope != Option::Scope::run) continue;
      EXPECT_TRUE(has(text, fmt::format("\n{} = ", o.key))) << o.key;
      --lines;
    }
    for (Option const* o : options_of(*workload)) {
      EXPECT_TRUE(has(text, fmt::format("\n{} = ", o->key))) << workload->name << ' ' << o->key;
      --lines;
    }
    EXPECT_EQ(lines, 4U) << "[run], a blank, [[case]] and the end: no other key\n" << text;
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

TEST(Config, DefaultsReadBackToTheStructures) {
  for (WorkloadSchema const* workload : name_table().workloads) {
    std::string rest;
    for (Option const* o : options_of(*workload)) {
      std::string const preset = default_of(*o, *workload);
      if (!preset.empty() && o->key != "workload") rest += fmt::format("{} = {}\n", o->key, preset);
    }
    Config const written = good(one_case(workload->name, rest));
    EXPECT_EQ(written, good(one_case(workload->name))) << rest;
    EXPECT_EQ(written.run, RunSettings{});
    EXPECT_EQ(written.cases[0].parameters, workload->defaults);
  }
  Case plain;
  plain.name = "vector";
  plain.workload = name_table().workloads[0];
  plain.size = {{8}, 1, 0};
  EXPECT_EQ(good(one_case("vector")).cases[0], plain);
}

TEST(Config, ParametersOfAnotherWorkloadAreNotRead) {
  EXPECT_FAILS(panel_of(good(one_case("gemm")).cases[0]), "another workload");
  EXPECT_FALSE(Parameters{PanelParameters{}} == Parameters{ProductParameters{}});
  EXPECT_FALSE(Parameters{PanelParameters{}} == (Parameters{PanelParameters{.panel = 1}}));
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
  EXPECT_EQ(config.cases[0].size, (Extents{{100}, 1, 0}));
  EXPECT_EQ(panel_of(config.cases[0]).panel, 64);
  EXPECT_EQ(panel_of(config.cases[1]).panel, 128);
  EXPECT_EQ(config.cases[3].size, (Extents{{2, 9}, 2, 0}));
  EXPECT_EQ(config.cases[8].size, (Extents{{4, 9}, 2, 0}));
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
  EXPECT_EQ(names(good(two + one_case("vector", "name = \"gemm\""))),
            (Texts{"gemm-2", "gemm-3", "gemm"}));
  std::string const same = one_case("gemm", "name = \"a\"") + one_case("vector", "name = \"a\"");
  EXPECT_EQ(why(same), "x.toml:8: two cases are called 'a'; names must differ");
  std::string const swept = one_case("gemm", "name = \"a\"\nlayout = [\"nn\", \"tt\"]") +
                            one_case("vector", "name = \"a.2\"");
  EXPECT_HAS(why(swept), "'a.2' once sweeps are expanded");
}

TEST(Config, SetReachesRunAndCases) {
  std::string const text =
      one_case("summa", "name = \"square\"") + one_case("vector", "name = \"square.x\"");
  Config const config = good(
      text, {"run.timeout.init=5s", "run.device=host", "run.throttle=1 GB/s", "run.repetitions=3",
             "run.output=5", "square.warmup.count=1", "square.size=4Ki", "square.grid=1x2",
             "square.legs=true", "square.panel = 12", "square.variant=[\"kokkos\", \"best\"]",
             "square.x.size=1e6", "square.x.warmup={ count = 8, seconds = 0 }"});

  EXPECT_EQ(config.run.timeout.init_s, 5);
  EXPECT_EQ(config.run.device, DeviceChoice::host);
  EXPECT_EQ(config.cases[0].throttle, 1e9);
  EXPECT_EQ(config.run.output, "5");
  Case const& square = config.cases[0];
  EXPECT_EQ(square.repetitions, 3);
  EXPECT_EQ(square.warmup, (Warmup{1, 0.5}));
  EXPECT_EQ(square.size[0], 4096);
  EXPECT_EQ(square.grid, (GridShape{1, 2}));
  EXPECT_TRUE(square.legs);
  EXPECT_EQ(panel_of(square).panel, 12);
  EXPECT_EQ(square.variants, (Texts{"kokkos", "best"}));
  Case const& other = config.cases[1];
  EXPECT_EQ(other.size[0], 1000000);
  EXPECT_EQ(other.warmup, (Warmup{8, 0}));
}

TEST(Config, TextBeyondAsciiStandsInQuotesAndComments) {
  std::string const text = "\xEF\xBB\xBF# ü \"\n[run]\noutput = \"\"\"a\\\"ü\"\"\" # ü '\n" +
                           one_case("gemm", "layout = 'nn' # ü");
  EXPECT_EQ(good(text).run.output, "a\"ü");
  EXPECT_EQ(good(text, {"run.output=ü/b"}).run.output, "ü/b");
}

TEST(Config, TheLastSetWins) {
  EXPECT_EQ(product_of(good(one_case("gemm"), {"gemm.alpha=2", "gemm.alpha=3"}).cases[0]).alpha, 3);
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
  EXPECT_EQ(panel_of(config.cases[0]).panel, 8);
  EXPECT_EQ(config.cases[0].warmup.count, 0);
  EXPECT_EQ(config.cases[0].seed, 3U);
  Config const sweep = good(text, {"size=[1Ki,(32, 16),48]", "panel=[8,16]"}, true);
  ASSERT_EQ(sweep.cases.size(), 6U);
  EXPECT_EQ(sweep.cases[0].size[0], 1024);
  EXPECT_EQ(sweep.cases[2].size[1], 16);
  EXPECT_EQ(sweep.cases[5].size[0], 48);
  EXPECT_EQ(panel_of(sweep.cases[5]).panel, 16);
  EXPECT_HAS(why(text, {"size=[1Ki,2Zi]"}, true), "'2Zi': unknown unit 'Zi'");
  EXPECT_HAS(why(text, {"size=[1Ki"}, true), "'[1Ki' is not a count");
  EXPECT_HAS(why(text, {"device=host"}, true), "'device' belongs in [run]");
  EXPECT_HAS(why(text, {"panle=1"}, true), "did you mean 'panel'?");
  EXPECT_HAS(why(text + "\n" + text, {"size=1"}, true), "2 cases where one is expected");
}

TEST(Config, WrongSetsSayWhy) {
  std::string const text = one_case("summa", "name = \"square\"");
  EXPECT_EQ(why(text, {"sqare.panel=5"}),
            "--set sqare.panel=5: no case is called 'sqare' (did you mean 'square'?)");
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
        Wrong{"panle = 5", "unknown key 'panle' (did you mean 'panel'?)"},
        Wrong{"published = \"naive: quick\"", "'quick' is neither a rate"},
        Wrong{"published_launch = \"naive: 8 x 8\"",
              "write \"VARIANT: 512x512 blocks, 8x8 threads"},
        Wrong{"published_launch = 8", "published_launch: 8 is not a text"},
        Wrong{"published_counts = \"naive: 8\"", "write \"VARIANT COUNTER: NUMBER\""},
        Wrong{"published_counts = \"naive sectors: many\"", "write \"VARIANT COUNTER: NUMBER"},
        Wrong{"published_counts = [\"naive sectors: 1\", 8]", "8 is not a text"},
        Wrong{"temperature = 5", "unknown key 'temperature'; one of name, workload, type, size"},
        Wrong{"warmup.cuont = 5", "did you mean 'warmup.count'?"},
        Wrong{"warmup = 5", "'warmup' is a table with count, seconds"},
        Wrong{"panel = {}", "panel: expects a count, not a table"},
        Wrong{"panel.x = 1", "unknown key 'panel.x' (did you mean 'panel'?)"},
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
        Wrong{"stop = 1", "stop: expects a percentage or \"none\", not 1"},
        Wrong{"stop = \"1\"", "stop: '1' is not a share above 0 % and below 100 %"},
        Wrong{"stop = \"100 %\"", "or \"none\""},
        Wrong{"warmup.seconds = \"-1s\"", "warmup.seconds: '-1s' is negative"},
        Wrong{"warmup.seconds = \"1 year\"", "warmup.seconds: '1 year': unknown unit 'year'"},
        Wrong{"alpha = \"1\"", "alpha: expects a finite number, not \"1\""},
        Wrong{"alpha = nan", "alpha: expects a finite number, not nan"},
        Wrong{"legs = \"true\"", "legs: expects true | false, not \"true\""},
        Wrong{"legs = 1", "legs: expects true | false, not 1"},
        Wrong{"type = \"f63\"",
              "not one of f64, f32, f16, bf16, i64, i32, i8, e4m3, e5m2 (did you mean 'f64'?)"},
        Wrong{"type = 64", "type: 64 is not one of f64"},
        Wrong{"check = \"none\"", "check: \"none\" is not one of full, sample, off"},
        Wrong{"broadcast = \"rang\"", "not one of library, ring (did you mean 'ring'?)"},
        Wrong{"transport = \"tcp\"", "transport: unknown transport 'tcp'; one of auto, nccl, mpi"},
        Wrong{"variant = \"koko\"", "unknown variant 'koko' of summa (did you mean 'kokkos'?)"},
        Wrong{"variant = \"assembler\"", "one of reference, kokkos, best, all"},
        Wrong{"variant = \"vendor\"",
              "unknown variant 'vendor' of summa; one of reference, kokkos, best, all"},
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
  EXPECT_HAS(sized("gemm", "\"(1,2,3,4)\""), "(1,2,3,4) has 4 extents, gemm uses at most 3");
  EXPECT_HAS(sized("ptrans", "\"(1,2,3)\""), "(1,2,3) has 3 extents, ptrans uses at most 2");
  EXPECT_HAS(sized("vector", "\"(1,2)\""), "(1,2) has 2 extents, vector uses one");
  EXPECT_HAS(sized("conv2d", "\"(1,2,3,4,5,6,7,8,9)\""), "has more than 8 extents");
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
  EXPECT_EQ(why("[[cases]]\n"), "x.toml:1: unknown table or key 'cases' (did you mean 'case'?)");
  EXPECT_EQ(why("device = \"host\"\n"),
            "x.toml:1: unknown table or key 'device'; a file has [about], [run] and [[case]]");
  EXPECT_HAS(why("[case]\nsize = 1\n"), "write [[case]]");
  EXPECT_HAS(why("[run]\nseed = 1\nseed = 2\n"), "x.toml:3: ");
  EXPECT_HAS(why("case = []\n"), "write [[case]]");
  EXPECT_HAS(why("case = [1]\n"), "write [[case]]");
  EXPECT_HAS(why("run = 5\n"), "'run' must be a table");
  EXPECT_HAS(why("[[case]]\nworkload = \"gemm\"\n"),
             "x.toml:1: case 'gemm' has no size; write size = \"(m,n,k)\"");
  EXPECT_HAS(why("[[case]]\nsize = 3\n"),
             "x.toml:1: the case has no workload; one of vector, ptrans");
  EXPECT_HAS(why("[[case]]\nworklaod = \"gemm\"\n"),
             "x.toml:2: unknown key 'worklaod' (did you mean");
  EXPECT_HAS(why("[[case]]\nworkload = \"gem\"\n"),
             "unknown workload 'gem' (did you mean 'gemm'?)");
  EXPECT_HAS(why("[[case]]\nworkload = \"quicksort\"\n"), "'quicksort'; one of vector, ptrans");
  EXPECT_HAS(why(one_case("vector", "panel = 5")), "'panel'; it belongs to ptrans, summa");
  EXPECT_HAS(why("[[case]]\nworkload = 7\n"), "workload: expects a workload, not 7");
}

TEST(Config, SaysWhatItIsFor) {
  std::string const rest = one_case("vector");
  Config const config = good(R"toml(
[about]
purpose = "a test"
devices = ["host", "H100 SXM"]
ranks = [2, 1]
memory = { host = "1MiB" }
seconds = { host = 6, "H100 SXM" = 2.5 }
[about.covers]
"a course" = [
  { place = "chapter 1", item = "an addition", cases = "add", variant = "one_thread" },
  { place = "chapter 2", item = "its machine", command = "quadrille doctor" },
]
)toml" + rest);
  ASSERT_TRUE(config.about);
  About const expected{.purpose = "a test",
                       .devices = {"host", "H100 SXM"},
                       .ranks = {2, 1},
                       .memory = {{"host", 1 << 20}},
                       .seconds = {{"host", 6}, {"H100 SXM", 2.5}},
                       .covers = {{"a course", "chapter 1", "an addition", "add", "one_thread"},
                                  {.document = "a course",
                                   .place = "chapter 2",
                                   .item = "its machine",
                                   .command = "quadrille doctor"}}};
  EXPECT_EQ(*config.about, expected);
  EXPECT_FALSE(good(rest).about);
  // It stays with its file.
  EXPECT_FALSE(good(to_toml(config)).about);
}

TEST(Config, WrongAboutSaysWhy) {
  auto const about = [](std::string_view line) {
    return why(fmt::format("[about]\n{}\n{}", line, one_case("vector")));
  };
  std::string const good = "purpose = \"a\"\ndevices = [\"host\"]\nranks = 1\n";
  EXPECT_EQ(about(good), "");
  EXPECT_EQ(why("about = 1\n" + one_case("vector")), "x.toml:1: 'about' must be a table: [about]");
  EXPECT_EQ(about(""), "x.toml:1: [about] has no purpose");
  EXPECT_EQ(about("purpose = \"a\""), "x.toml:1: [about] has no devices");
  EXPECT_EQ(about("purpose = \"a\"\ndevices = \"host\""), "x.toml:1: [about] has no ranks");
  EXPECT_EQ(about("porpose = \"a\""),
            "x.toml:2: about.porpose: unknown key (did you mean 'purpose'?)");
  EXPECT_HAS(about("purpose.x = \"a\""), "about.purpose.x: unknown key");
  EXPECT_HAS(about("purpose = 5"), "about.purpose: takes text in quotes");
  EXPECT_HAS(about("purpose = [\"a\"]"), "about.purpose: takes one value, not a list");
  EXPECT_HAS(about("purpose = \"\""), "about.purpose: takes 1 to 4096 characters");
  EXPECT_HAS(about("devices = []"), "about.devices: takes a list of 1 to 64 values");
  EXPECT_EQ(about("devices = [\"H100 SMX\"]"),
            "x.toml:2: about.devices: unknown device 'H100 SMX' (did you mean 'H100 SXM'?)");
  EXPECT_HAS(about("ranks = \"2\""), "about.ranks: takes numbers");
  EXPECT_HAS(about("ranks = [1, 0]"), "about.ranks: takes numbers of ranks, from 1 to 100000");
  EXPECT_HAS(about("ranks = 1.5"), "about.ranks: takes numbers of ranks, from 1 to 100000");
  EXPECT_HAS(about("memory = \"1GiB\""), "about.memory: takes a table, such as { host = ... }");
  EXPECT_HAS(about("memory = { host = 5 }"), "about.memory.host: takes text in quotes");
  EXPECT_HAS(about("memory = { host = \"x\" }"), "about.memory.host: 'x'");
  EXPECT_HAS(about("seconds = { gpu = 5 }"), "about.seconds.gpu: unknown device 'gpu'");
  EXPECT_HAS(about("seconds = { host = -1 }"), "about.seconds.host: ");
  EXPECT_HAS(about(good + "covers = [\"a\"]"), "about.covers: takes a table with a list");
  auto const covers = [&](std::string_view item) {
    return about(fmt::format("{}covers = {{ \"a course\" = [{}] }}", good, item));
  };
  EXPECT_EQ(covers("{ place = \"1\", item = \"x\", cases = \"y\" }"), "");
  EXPECT_HAS(covers("\"x\""), "about.covers: 'a course' takes tables");
  EXPECT_HAS(covers("{ place = \"1\", cases = \"y\" }"), "'a course' needs place and item");
  EXPECT_HAS(covers("{ place = \"1\", item = \"x\" }"), "needs either cases or a command");
  EXPECT_HAS(covers("{ place = \"1\", item = \"x\", cases = \"y\", command = \"z\" }"),
             "needs either cases or a command");
  EXPECT_HAS(covers("{ place = \"1\", itme = \"x\", cases = \"y\" }"), "not 'itme'");
  EXPECT_EQ(about(good + "seconds = { \"H100 SXM\" = 5 }"),
            "x.toml:1: [about] says what 'H100 SXM' takes, which is none of its devices");
}

TEST(Config, WrongRunKeysSayWhy) {
  auto const run = [](std::string_view line) {
    return why(fmt::format("[run]\n{}\n{}", line, one_case("vector")));
  };
  EXPECT_EQ(run("panel = 5"), "x.toml:2: 'panel' belongs in a [[case]], not in [run]");
  EXPECT_EQ(run("devise = \"host\""), "x.toml:2: unknown key 'devise' (did you mean 'device'?)");
  EXPECT_HAS(run("device = \"gpu\""), "device: \"gpu\" is not one of auto, cuda, host");
  EXPECT_HAS(run("device = [\"host\"]"), "device: takes one value, not a list");
  EXPECT_HAS(run("chunk_bytes = 1023"), "chunk_bytes: must be 1024 to 1073741824, not 1023");
  EXPECT_HAS(run("chunk_bytes = 1073741825"), "must be 1024 to 1073741824, not 1073741825");
  EXPECT_HAS(run("chunk_bytes = \"2GiB\""), "must be 1024 to 1073741824, not 2GiB");
  EXPECT_HAS(run("timeout.init = 0"), "timeout.init: must be more than 0");
  EXPECT_HAS(run("timeout = \"5s\""),
             "'timeout' is a table with init, prepare, repetition, grace, check, write");
  EXPECT_HAS(run("throttle = \"500\""), "not a rate such as");
  EXPECT_HAS(run("throttle = 500"), "throttle: expects a rate or \"none\", not 500");
  EXPECT_HAS(run("output = 5"), "output: expects a folder, not 5");
  EXPECT_HAS(run("output = \"\""), "output: must not be empty");
  EXPECT_HAS(run("legs = 5"), "legs: expects true | false, not 5");
  EXPECT_HAS(run("variant = \"fast\""), "unknown variant 'fast' of vector");
}

TEST(Config, OptionsOfAWorkloadSayWhy) {
  auto const gemm = [](std::string_view keys) { return one_case("gemm", keys); };
  Parsed<Config> const sweep = read(gemm("share = [0, \"auto\", 100]"));
  ASSERT_TRUE(sweep) << sweep.why();
  ASSERT_EQ(sweep->cases.size(), 3U);
  EXPECT_EQ(product_of(sweep->cases[0]).share, 0);
  EXPECT_EQ(product_of(sweep->cases[1]).share, -1);
  EXPECT_EQ(product_of(sweep->cases[2]).share, 100);
  EXPECT_EQ(read(to_toml(*sweep))->cases, sweep->cases);

  EXPECT_HAS(why(gemm("share = 101")), "share: must be 0 to 100 or \"auto\", not 101");
  EXPECT_HAS(why(gemm("share = \"half\"")), "or \"auto\"");
  EXPECT_HAS(why(gemm("volume = 1")), "volume: must be at least 4096, not 1");
  EXPECT_HAS(why(gemm("reproducible = 1")), "reproducible: expects true | false, not 1");
  EXPECT_HAS(why(gemm("layout = \"nm\"")), "\"nm\" is not one of nn, nt, tt (did you mean");
  EXPECT_HAS(why(one_case("vector", "share = 1")), "it belongs to gemm");
  EXPECT_HAS(why(one_case("vector", "compute = \"f32\"")), "no key 'compute'; it belongs to gemm");
  EXPECT_HAS(why(gemm("compute = \"tf23\"")), "did you mean 'tf32'?");
}

TEST(Config, AHostSizeIsOneValueOfTheSameShape) {
  EXPECT_HAS(why(one_case("vector", "size_host = [1, 2]")), "takes one value, not a list");
  EXPECT_HAS(why(one_case("vector", "size_host = \"(1,2)\"")), "vector uses one");
  EXPECT_EQ(good(one_case("gemm", "size_host = \"(1,2,3)\"")).cases[0].size_host,
            (Extents{{1, 2, 3}, 3, 0}));
}

TEST(Config, KeysThatDoNotGoTogetherSayWhy) {
  std::string const message =
      why(one_case("gemm", "clock = \"sustained\"\ntiming = [\"auto\", \"launch_only\"]"));
  EXPECT_TRUE(message.starts_with("x.toml:1: case 'gemm': clock = \"sustained\" waits")) << message;
  EXPECT_HAS(why(one_case("gemm", "clock = \"sustained\"\nstop = \"1 %\"")), "stop ends the");
  EXPECT_HAS(why(one_case("gemm", "data = \"bits\"")),
             "for integers of vector, not for gemm of f64");
  EXPECT_HAS(why(one_case("vector", "data = \"inverted\"")), "not for vector of f64");
  EXPECT_EQ(good(one_case("vector", "type = \"i32\"\ndata = \"bits\"")).cases[0].data,
            DataKind::bits);
}

TEST(Config, TheFirstErrorOfTheFileIsReported) {
  EXPECT_HAS(why(one_case("gemm", "zzz = 1\naaa = 2")), "x.toml:4: unknown key 'zzz'");
}

TEST(Config, HelpNamesEveryKeyOnce) {
  auto const expect_once = [](std::string const& help, std::span<Option const> some) {
    for (Option const& o : some) {
      std::string const entry = fmt::format("\n  {:<20}", o.key);
      std::size_t const first = help.find(entry);
      EXPECT_NE(first, std::string::npos) << o.key;
      EXPECT_EQ(help.find(entry, first + 1), std::string::npos) << o.key;
      EXPECT_FALSE(o.help.empty()) << o.key;
    }
  };
  expect_once(options_help(), common_options());
  for (WorkloadSchema const* workload : name_table().workloads) {
    expect_once("\n" + options_help(*workload), workload->options);
  }
  EXPECT_HAS(options_help(*name_table().workloads[3]),
             "  panel               a count, elements; default 256; sweeps\n");
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
                             one_case("vector", "name = \"s.1x1\""));
  EXPECT_HAS(expand_grids(config, 1).why(), "'s.1x1' once grids are expanded");
}

}  // namespace
}  // namespace quadrille::core
