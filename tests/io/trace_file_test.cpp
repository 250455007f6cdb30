// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/trace_file.hpp"

#include "core/files.hpp"
#include "io/whole_file.hpp"
#include "support/json_schema.hpp"
#include "support/mpi_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

namespace quadrille::io {
namespace {

using device::TraceKind;
using nlohmann::json;

comm::World& world() { return test::world(); }

/// As written by rank 0; nothing on others.
json written(std::vector<measure::TracedRepetition> const& repetitions) {
  std::string const path = std::filesystem::temp_directory_path() /
                           fmt::format("quadrille-trace-{}-{}.json", getpid(), world().rank());
  TraceFile file{path};
  for (measure::TracedRepetition const& repetition : repetitions) file.add(world(), repetition);
  if (world().rank() != 0) return {};
  EXPECT_EQ(file.write(), "");
  std::string const text = *core::read_file(path, 1 << 20);
  EXPECT_TRUE(text.starts_with(kTraceBegin));
  json document = json::parse(text);
  std::filesystem::remove(path);
  return document;
}

/// The rank's clock is an hour per rank ahead of that of rank 0.
measure::TracedRepetition repetition(std::string const& name,
                                     std::vector<device::TraceSpan> spans) {
  double const ahead = 3600.0 * world().rank();
  for (device::TraceSpan& span : spans) {
    span.begin_s += ahead;
    span.end_s += ahead;
  }
  return {name, spans, {ahead, 2e-6 * world().rank()}};
}

std::vector<json> spans_of(json const& document, int rank) {
  std::vector<json> spans;
  for (json const& event : document["traceEvents"]) {
    if (event["ph"] == "X" && event["pid"] == rank) spans.push_back(event);
  }
  return spans;
}

TEST(TraceFile, HasEveryRanksSpansByTheClockOfRankZero) {
  double const late = 0.001 * world().rank();
  json const document = written({repetition(
      "summa:\"best\"\xff",
      {{"compute", TraceKind::kernel, "product", "panel 1", 0, 5 + late, 5.002 + late},
       {"messages", TraceKind::message, "send", "panel 2", 4096, 5.001 + late, 5.0015 + late}})});
  if (world().rank() != 0) return;

  EXPECT_EQ(test::complaints_about(document, QUADRILLE_TRACE_SCHEMA), "");
  EXPECT_EQ(document["otherData"]["ranks"], world().size());
  EXPECT_NEAR(document["otherData"]["clock_error_us"].get<double>(), 2.0 * (world().size() - 1),
              1e-6);
  for (int r = 0; r < world().size(); ++r) {
    std::vector<json> const spans = spans_of(document, r);
    ASSERT_EQ(spans.size(), 2U);
    EXPECT_EQ(spans[0]["name"], "product");
    EXPECT_EQ(spans[0]["cat"], "kernel");
    EXPECT_EQ(spans[0]["args"]["label"], "panel 1");
    EXPECT_FALSE(spans[0]["args"].contains("bytes"));
    EXPECT_NEAR(spans[0]["ts"].get<double>(), 1000.0 * r, 0.01);
    EXPECT_NEAR(spans[0]["dur"].get<double>(), 2000, 0.01);
    EXPECT_EQ(spans[1]["args"]["bytes"], 4096);
    EXPECT_NEAR(spans[1]["ts"].get<double>(), 1000.0 * r + 1000, 0.01);
    EXPECT_NE(spans[0]["tid"], spans[1]["tid"]);
  }
}

TEST(TraceFile, SpansOfARowNeverCross) {
  json const document =
      written({repetition("pairs", {{"messages", TraceKind::message, "a", "", 1, 1, 3},
                                    {"messages", TraceKind::message, "inside a", "", 1, 1.5, 2},
                                    {"messages", TraceKind::message, "b", "", 1, 2.5, 4},
                                    {"messages", TraceKind::message, "behind a", "", 1, 3, 5}})});
  if (world().rank() != 0) return;

  std::map<std::string, json> rows;
  for (json const& span : spans_of(document, 0)) rows[span["name"]] = span["tid"];
  EXPECT_EQ(rows.at("a"), rows.at("inside a"));
  EXPECT_EQ(rows.at("a"), rows.at("behind a"));
  EXPECT_NE(rows.at("a"), rows.at("b"));
}

TEST(TraceFile, RepetitionsLieOneBehindTheOther) {
  auto const one = repetition("one", {{"compute", TraceKind::kernel, "k", "", 0, 7, 8}});
  auto const two = repetition("two", {{"compute", TraceKind::kernel, "k", "", 0, 900, 901}});
  json const document = written({one, two});
  if (world().rank() != 0) return;

  std::vector<json> const spans = spans_of(document, 0);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0]["args"]["of"], "one");
  EXPECT_EQ(spans[1]["args"]["of"], "two");
  EXPECT_EQ(spans[0]["tid"], spans[1]["tid"]);
  double const gap_us =
      spans[1]["ts"].get<double>() - spans[0]["ts"].get<double>() - spans[0]["dur"].get<double>();
  EXPECT_GT(gap_us, 0);
  EXPECT_LT(gap_us, 1e5);
}

TEST(TraceFile, IsValidWithoutARepetition) {
  json const document = written({});
  if (world().rank() != 0) return;
  EXPECT_EQ(test::complaints_about(document, QUADRILLE_TRACE_SCHEMA), "");
  EXPECT_TRUE(document["traceEvents"].empty());
}

TEST(TraceFile, IsReadAsItWasWritten) {
  std::string const path = std::filesystem::temp_directory_path() /
                           fmt::format("quadrille-trace-read-{}-{}.json", getpid(), world().rank());
  TraceFile file{path};
  file.add(world(),
           repetition("first", {{"copies", TraceKind::copy, "to device", "panel 1", 8, 1, 1.5}}));
  file.add(world(), repetition("second", {{"main", TraceKind::kernel, "naive", "", 0, 7, 7.25}}));
  if (world().rank() != 0) return;
  ASSERT_EQ(file.write(), "");

  auto const spans = read_trace(path);

  ASSERT_TRUE(spans) << spans.why();
  auto const ranks = static_cast<std::size_t>(world().size());
  ASSERT_EQ(spans->size(), 2 * ranks);
  TracedSpan const& copy = spans->front();
  EXPECT_EQ(copy.of, "first");
  EXPECT_EQ(copy.row, "copies");
  EXPECT_EQ(copy.kind, TraceKind::copy);
  EXPECT_EQ(copy.label, "panel 1");
  EXPECT_NEAR(copy.end_s - copy.begin_s, 0.5, 1e-9);
  TracedSpan const& kernel = spans->back();
  EXPECT_EQ(kernel.rank, world().size() - 1);
  EXPECT_EQ(kernel.of, "second");
  EXPECT_EQ(kernel.name, "naive");
  EXPECT_GT(kernel.begin_s, copy.end_s);
  std::filesystem::remove(path);
}

TEST(TraceFile, ThatIsDamagedIsRefused) {
  std::string const path =
      std::filesystem::temp_directory_path() /
      fmt::format("quadrille-trace-damaged-{}-{}.json", getpid(), world().rank());
  std::string const begin{kTraceBegin};
  for (std::string const& text :
       {std::string{"{}"}, begin, begin + R"(}, "traceEvents": [{"ph": "X"}]})",
        begin +
            R"(}, "traceEvents": [{"ph": "X", "name": "", "pid": 0, "tid": 0, "ts": 0, "dur": 1, )"
            R"("cat": "other", "args": {"of": ""}}]})"}) {
    ASSERT_EQ(replace_whole_file(path, text), "");
    EXPECT_FALSE(read_trace(path)) << text;
  }
  std::filesystem::remove(path);
  EXPECT_FALSE(read_trace(path)) << "there is none";
}

}  // namespace
}  // namespace quadrille::io
