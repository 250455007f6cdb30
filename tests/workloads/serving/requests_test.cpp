// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/requests.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace quadrille::workloads::serving {
namespace {

TraceOptions options(std::int64_t requests) {
  return {.requests = requests,
          .rate = 4,
          .prompt = *parse_lengths("uniform 10 30"),
          .output = *parse_lengths("lognormal 20 1"),
          .max_length = 256,
          .limits = Limits::mixed,
          .seed = 3};
}

TEST(Trace, ArrivesAtItsRateWithTimesBetweenLikeThoseOfAPoissonProcess) {
  std::vector<Request> const trace = make_trace(options(20000));
  EXPECT_NEAR(trace.back().arrival_s, 20000 / 4.0, 3 * std::sqrt(20000.0) / 4);
  std::int64_t longer = 0;
  for (std::size_t i = 1; i < trace.size(); ++i) {
    ASSERT_GT(trace[i].arrival_s, trace[i - 1].arrival_s);
    longer += trace[i].arrival_s - trace[i - 1].arrival_s > 0.25 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(longer) / 20000, std::exp(-1), 0.01);
}

TEST(Trace, HasLengthsOfItsDistributionsAndLimitsThatHoldThem) {
  std::vector<Request> const trace = make_trace(options(20000));
  std::set<int> limits;
  std::vector<int> outputs;
  double prompts = 0;
  for (Request const& request : trace) {
    ASSERT_GE(request.prompt, 10);
    ASSERT_LE(request.prompt, 30);
    ASSERT_LE(request.prompt + request.output, request.limit);
    prompts += request.prompt;
    limits.insert(request.limit);
    outputs.push_back(request.output);
  }
  EXPECT_NEAR(prompts / 20000, 20, 0.2);
  std::ranges::sort(outputs);
  EXPECT_NEAR(outputs[10000], 20, 1) << "the median";
  EXPECT_NEAR(outputs[16827], 20 * std::exp(1), 3) << "one standard deviation above it";
  EXPECT_EQ(limits, (std::set{16, 32, 64, 128, 256}));
  EXPECT_EQ(make_trace(options(20000)), trace);

  TraceOptions other = options(20000);
  other.seed = 4;
  EXPECT_NE(make_trace(other), trace);
}

TEST(Trace, BeginsPromptsWithTheSameTokensWhereTheyHaveACommonPrefix) {
  TraceOptions shared = options(100);
  shared.prefixes = 2;
  shared.prefix_tokens = 8;
  std::vector<Request> const trace = make_trace(shared);
  TokenHashes const tokens{7};
  for (Request const& request : trace) {
    bool const is_same = request.prefix == trace[0].prefix;
    EXPECT_EQ(tokens(request, 0, 7) == tokens(trace[0], 0, 7), is_same);
    EXPECT_EQ(tokens(request, 0, 8) == tokens(trace[0], 0, 8), request == trace[0]);
    EXPECT_GE(request.prompt, 18) << "what is drawn comes behind";
    std::int64_t const end = request.prompt;
    EXPECT_EQ(tokens(request, 0, end - 1), tokens(request, 1, end - 1)) << "one prompt";
    EXPECT_NE(tokens(request, 0, end), tokens(request, 1, end)) << "two samples";
    EXPECT_EQ(tokens.sum(request, 1, 0, end + 1),
              tokens.sum(request, 1, 0, 5) + tokens.sum(request, 1, 5, end + 1));
  }
}

TEST(Lengths, SayWhatIsWrongWithADistribution) {
  for (char const* text : {"", "fixed", "fixed 0", "fixed x", "uniform 5", "uniform 9 5",
                           "lognormal 5 -1", "normal 5 1", "fixed 5 5", "fixed nan"}) {
    auto const parsed = parse_lengths(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.why().find("lognormal MEDIAN SIGMA"), std::string::npos) << parsed.why();
  }
  EXPECT_EQ(parse_lengths("fixed 512")->draw(99), 512);
}

TEST(TraceFile, IsReadInTheOrderOfArrival) {
  TraceOptions read = options(2);
  read.limits = Limits::max;
  auto const trace =
      parse_trace("arrival_s, prompt, output, limit\n0.5,100,20\r\n0.75,10,5,64\n1,1,1\n", read);
  ASSERT_TRUE(trace) << trace.why();
  ASSERT_EQ(trace->size(), 2U) << "as many as were asked for";
  EXPECT_EQ((*trace)[0],
            (Request{.id = 0, .arrival_s = 0, .prompt = 100, .output = 20, .limit = 256}));
  EXPECT_EQ((*trace)[1],
            (Request{.id = 1, .arrival_s = 0.25, .prompt = 10, .output = 5, .limit = 64}));
}

TEST(TraceFile, IsRefusedWithTheLineThatIsWrong) {
  auto const why = [](std::string const& lines) {
    auto const trace = parse_trace(
        "\xef\xbb\xbf"
        "arrival_s,prompt,output\r\n" +
            lines,
        options(2));
    return trace ? std::string{} : trace.why();
  };
  EXPECT_EQ(why("0,1,1\n1,2,2\n"), "");
  EXPECT_EQ(why("0,1,1\n1,x,2\n"), "line 3: 'x' is no number");
  EXPECT_EQ(why("0,1,1\n1,2\n"), "line 3: expected arrival_s,prompt,output and perhaps limit");
  EXPECT_EQ(why("1,1,1\n0,2,2\n"), "line 3: arrivals must not go back in time");
  EXPECT_EQ(why("1764564934,1,1\n1764564935,2,2\n"), "") << "times of a clock";
  EXPECT_EQ(why("1764564934123,1,1\n2764564934123,2,2\n"),
            "line 3: it arrives 1e+09 s or more behind the first; write times in seconds");
  EXPECT_EQ(why("0,1.5,1\n"), "line 2: '1.5' is no length from 1 to max_length, 256");
  EXPECT_EQ(why("0,200,100\n"), "line 2: prompt and output are longer than 256; raise max_length");
  EXPECT_EQ(why("0,20,10,29\n"), "line 2: prompt and output are longer than 29; raise the limit");
  EXPECT_EQ(why(""), "it has no request; add lines below the heading");
  EXPECT_EQ(why("0,1,1\n"), "it has 1 requests; lower size from 2");
  for (char const* heading : {"0,1,1\n", "prompt,output,arrival_s\n", "\n", ""}) {
    auto const trace = parse_trace(std::string{heading} + "0,1,1\n1,2,2\n", options(1));
    ASSERT_FALSE(trace) << heading;
    EXPECT_EQ(trace.why(),
              "it does not begin with the heading arrival_s,prompt,output, or that and limit");
  }
}

TEST(Router, GivesEveryRequestToOneServer) {
  std::vector<Request> const trace = make_trace(options(1000));
  for (Router const router : {Router::round_robin, Router::least_loaded}) {
    std::set<std::int64_t> seen;
    for (int server = 0; server < 3; ++server) {
      for (Request const& request : route(trace, router, 3, server, 100)) {
        EXPECT_TRUE(seen.insert(request.id).second) << request.id;
      }
    }
    EXPECT_EQ(seen.size(), trace.size());
  }
  EXPECT_EQ(route(trace, Router::round_robin, 3, 1, 100)[5].id, 16);
}

TEST(Router, SparesAServerThatHasALongRequest) {
  std::vector<Request> trace(5);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    trace[i] = {.id = static_cast<std::int64_t>(i),
                .arrival_s = static_cast<double>(i),
                .prompt = 10,
                .output = 10};
  }
  trace[0].output = 50;
  // 60 tokens left, of which 10 are done in a second: the others take turns with none that is left.
  EXPECT_EQ(route(trace, Router::least_loaded, 2, 0, 10).size(), 2U);
  EXPECT_EQ(route(trace, Router::least_loaded, 2, 0, 10)[1].id, 4);
  EXPECT_EQ(route(trace, Router::least_loaded, 2, 0, 1000).size(), 5U) << "nothing is ever left";
}

}  // namespace
}  // namespace quadrille::workloads::serving
