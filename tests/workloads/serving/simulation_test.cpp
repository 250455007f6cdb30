// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/simulation.hpp"

#include "core/generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace quadrille::workloads::serving {
namespace {

constexpr Transformer kModel{
    .layers = 1, .heads = 1, .kv_heads = 1, .head_size = 100, .element_bytes = 2};

StatedTimes times(char const* rates = "120 MFLOP/s, 24 MB/s, 1 MB/s") {
  return *parse_times(rates, kModel);
}

Batching policy(std::string_view name) {
  for (Policy const& row : policies()) {
    if (row.name == name) return row.batching;
  }
  ADD_FAILURE() << name;
  return {};
}

struct Served {
  Outcome outcome;
  std::vector<std::int64_t> cached, delivered;
  std::string wrong;  ///< the first claim that does not hold, or result that is not what it must be
};

Served serve(Server const& server, std::vector<Request> const& requests,
             StepTimes const& step_times = times()) {
  std::size_t const n = requests.size() * static_cast<std::size_t>(server.samples);
  Served served{{}, std::vector<std::int64_t>(n), std::vector<std::int64_t>(n), ""};
  Outputs outputs{std::ssize(requests), server.samples};
  TokenHashes const tokens{11, server.beam_search ? &outputs : nullptr};
  served.outcome =
      simulate(server, step_times, requests, tokens, {served.cached, served.delivered}, &outputs);
  std::vector<std::int64_t> cached(n), delivered(n);
  expected_results(requests, tokens, server.samples, {cached, delivered});
  if (cached != served.cached) served.wrong = "K and V";
  if (delivered != served.delivered) served.wrong = "tokens";
  for (Claim const& claim : claims_of(served.outcome, server, requests)) {
    if (!claim.holds() && served.wrong.empty()) served.wrong = claim.what;
  }
  return served;
}

Server server(std::string_view name) {
  return {.batching = policy(name), .kv_tokens = 4096, .block_tokens = 16, .max_running = 64};
}

/// Requests that all come at once, or one after the other.
std::vector<Request> requests(std::vector<std::pair<int, int>> const& lengths, double apart_s = 0) {
  std::vector<Request> all;
  for (auto const& [prompt, output] : lengths) {
    Request& request = all.emplace_back();
    request.id = std::ssize(all) - 1;
    request.arrival_s = apart_s * static_cast<double>(request.id);
    request.prompt = prompt;
    request.output = output;
    request.limit = prompt + output;
  }
  return all;
}

std::vector<Sequence*> one(Sequence& sequence) { return {&sequence}; }

TEST(Static, KeepsTheShortRequestIdleUntilTheLongOneIsDone) {
  Served const both = serve(server("static"), requests({{1, 3}, {1, 1}}));
  EXPECT_EQ(both.wrong, "");
  EXPECT_EQ(both.outcome.steps, 3);
  EXPECT_EQ(both.outcome.rows, 2 * 3);
  EXPECT_EQ(both.outcome.useful_rows, 3 + 1) << "utilisation: sum of lengths / (batch x longest)";
}

TEST(Static, WaitsForABatchToFillAsLongAsItIsTold) {
  Server patient = server("static");
  patient.max_running = 2;
  patient.fill_wait_s = 0.5;
  // The third would make the second batch full, and the last has nobody to wait for.
  Served const three = serve(patient, requests({{4, 4}, {4, 4}, {4, 4}}, 1));
  EXPECT_EQ(three.wrong, "");
  EXPECT_NEAR(three.outcome.first_token_s.quantile(1), 0.5, 0.05);
  patient.fill_wait_s = 10;
  EXPECT_NEAR(
      serve(patient, requests({{4, 4}, {4, 4}, {4, 4}}, 1)).outcome.first_token_s.quantile(1), 1,
      0.05);
}

TEST(Orca, PutsSevenRowsOfFourRequestsIntoOneStep) {
  // Two that have one token each, and prompts of 2 and 3 that came meanwhile.
  std::vector<Request> all = requests({{1, 2}, {1, 2}, {2, 1}, {3, 1}});
  all[2].arrival_s = all[3].arrival_s = 1e-6;
  Served const mixed = serve(server("orca"), all);
  EXPECT_EQ(mixed.wrong, "");
  EXPECT_EQ(mixed.outcome.steps, 2);
  EXPECT_EQ(mixed.outcome.rows, 2 + 7);
  EXPECT_EQ(mixed.outcome.max_at_once, 4);

  Served const apart = serve(server("paged"), all);
  EXPECT_EQ(apart.wrong, "");
  EXPECT_EQ(apart.outcome.steps, 3) << "two prompts, two prompts of 5 rows, two tokens";
  EXPECT_EQ(apart.outcome.rows, 2 + 5 + 2);
}

// A memory for 14336 tokens, whose limit of a request decides.
TEST(Orca, HasAsManyRequestsAtOnceAsTheirLimitsFit) {
  for (auto const& [limit, most] : {std::pair{512, 28}, {2048, 7}}) {
    std::vector<Request> all = requests(std::vector<std::pair<int, int>>(60, {100, 20}));
    for (Request& request : all) request.limit = limit;
    Server small = server("orca");
    small.kv_tokens = 14336;
    Served const reserved = serve(small, all);
    EXPECT_EQ(reserved.wrong, "");
    EXPECT_EQ(reserved.outcome.max_at_once, most);

    small.batching = policy("paged");
    small.budget = 1 << 20;
    EXPECT_EQ(serve(small, all).outcome.max_at_once, 60) << "blocks are taken when they are needed";
  }
}

TEST(Orca, WastesWhatIsReservedAndPagesLessThanABlock) {
  std::vector<Request> all = requests(std::vector<std::pair<int, int>>(8, {100, 20}));
  for (Request& request : all) request.limit = 512;
  KvUse const reserved = serve(server("orca"), all).outcome.kv;
  EXPECT_GT(reserved.reserved, 0);
  EXPECT_GT(reserved.internal, 3 * reserved.used) << "512 for at most 119";
  Outcome const paged = serve(server("paged"), all).outcome;
  EXPECT_LT(paged.kv.waste(), paged.running_s * 16);
  EXPECT_EQ(paged.kv.external, 0);
}

TEST(Orca, HasExternalWasteWhereNoPieceIsLargeEnough) {
  // Four pieces, every other of which is free when the long request comes.
  std::vector<Request> all = requests({{10, 2}, {10, 200}, {10, 2}, {10, 200}, {200, 20}});
  for (Request& request : all) request.limit = 256;
  all[4].arrival_s = 0.001;
  all[4].limit = 512;
  Server small = server("orca");
  small.kv_tokens = 1024;
  Served const split = serve(small, all);
  EXPECT_EQ(split.wrong, "");
  EXPECT_GT(split.outcome.kv.external, 0);
}

TEST(Paged, SwapsWhereTheHostHasRoomAndComputesAgainWhereNot) {
  std::vector<Request> const all = requests(std::vector<std::pair<int, int>>(20, {40, 60}));
  Server small = server("paged");
  small.kv_tokens = 512;
  small.host_tokens = 4096;
  Served const swapped = serve(small, all);
  EXPECT_EQ(swapped.wrong, "");
  EXPECT_GT(swapped.outcome.swaps, 0);
  EXPECT_EQ(swapped.outcome.recomputed, 0);
  Outcome const slow = serve(small, all, times("120 MFLOP/s, 24 MB/s, 100 kB/s")).outcome;
  EXPECT_GT(slow.busy_s, swapped.outcome.busy_s) << "the link to the host is part of a step";

  small.host_tokens = 0;
  Served const dropped = serve(small, all);
  EXPECT_EQ(dropped.wrong, "");
  EXPECT_EQ(dropped.outcome.swaps, 0);
  EXPECT_GT(dropped.outcome.recomputed, 0);
}

TEST(Paged, LetsNobodyOvertakeWhoCameBefore) {
  // The third gives way first and then the second, for whom there is room when the first has ended.
  std::vector<Request> const all = requests({{16, 33}, {16, 20}, {16, 2}});
  for (std::int64_t const host_tokens : {0, 4096}) {
    Server small = server("paged");
    small.kv_tokens = 5 * small.block_tokens;
    small.host_tokens = host_tokens;
    Served const served = serve(small, all);
    EXPECT_EQ(served.wrong, "");
    EXPECT_EQ(served.outcome.swaps, host_tokens > 0 ? 2 : 0);
    EXPECT_GT(served.outcome.gap_s.quantile(1), 0.7 * served.outcome.end_s) << "the third waits";
  }
}

TEST(Paged, SwapsInWhatOthersDoNotShare) {
  std::vector<Request> all = requests(std::vector<std::pair<int, int>>(20, {100, 60}));
  for (Request& request : all) request.in_common = 96;
  Server small = server("paged");
  small.kv_tokens = 512;
  small.host_tokens = 4096;
  Served const shared = serve(small, all);
  EXPECT_EQ(shared.wrong, "");
  EXPECT_GT(shared.outcome.swaps, 0);
  // Of a sequence 96 tokens are those of all, who are never all away.
  EXPECT_LE(shared.outcome.moved, shared.outcome.swaps * 2 * (160 - 96));

  small.reuses_prefixes = false;
  Outcome const apart = serve(small, all).outcome;
  EXPECT_GT(apart.moved, apart.swaps * 2 * 100);
}

TEST(Paged, SwapsInWhereWhatIsNotSharedFits) {
  std::vector<Request> all = requests({{9, 2}, {9, 2}});
  all[0].in_common = all[1].in_common = 8;
  TokenHashes const tokens{11};
  PagedKv memory{16, 16, 4, true};
  Sequence first{.request = &all[0]}, second{.request = &all[1]};
  for (Sequence* sequence : {&first, &second}) {
    ASSERT_TRUE(memory.admit(*sequence, tokens));
    while (sequence->missing() > 0)
      memory.write(*sequence, tokens(*sequence->request, 0, sequence->cached));
  }
  ASSERT_EQ(memory.free(), 0) << "two blocks for both, and one for each";
  EXPECT_EQ(memory.swap_out(one(second)), 9);
  EXPECT_EQ(memory.free(), 4);
  EXPECT_EQ(memory.swap_in(one(second), true), 1);
  EXPECT_EQ(memory.free(), 0);
  EXPECT_EQ(memory.sum_of(second), tokens.sum(all[1], 0, 0, 9));
}

TEST(Paged, SwapsInWhereTheNextTokenFits) {
  for (int const tokens : {7, 8}) {
    std::vector<Request> const all = requests({{tokens, 2}, {8, 1}});
    TokenHashes const hashes{11};
    PagedKv memory{16, 16, 4, false};
    Sequence swapped{.request = &all[0]}, other{.request = &all[1]};
    auto const fill = [&](Sequence& sequence) {
      ASSERT_TRUE(memory.admit(sequence, hashes));
      while (sequence.missing() > 0)
        memory.write(sequence, hashes(*sequence.request, 0, sequence.cached));
    };
    fill(swapped);
    ASSERT_EQ(memory.swap_out(one(swapped)), tokens);
    fill(other);
    ASSERT_EQ(memory.free(), 8);

    // Two blocks; a full last one has no room for what comes next.
    EXPECT_EQ(memory.swap_in(one(swapped), true).has_value(), tokens == 7);
    memory.release(other);
    if (tokens == 8) {
      EXPECT_EQ(memory.swap_in(one(swapped), true), 8);
    }
  }
}

TEST(Paged, ComputesACommonPrefixOnce) {
  std::vector<Request> all = requests(std::vector<std::pair<int, int>>(10, {100, 5}));
  for (Request& request : all) request.in_common = 64;
  Server reusing = server("paged");
  Served const reused = serve(reusing, all);
  EXPECT_EQ(reused.wrong, "");
  EXPECT_EQ(reused.outcome.reused, 9 * 64);
  for (Request& request : all) request.prompt = 64;
  EXPECT_EQ(serve(reusing, all).outcome.reused, 9 * 48) << "the last token makes the first output";
  for (Request& request : all) request.prompt = 100;
  reusing.reuses_prefixes = false;
  Served const computed = serve(reusing, all);
  EXPECT_EQ(computed.outcome.reused, 0);
  EXPECT_EQ(computed.outcome.useful_rows, reused.outcome.useful_rows + 9 * 64);
}

TEST(Paged, ComputesAPromptOnceForAllSamplesAndCopiesItsLastBlock) {
  Server sampling = server("paged");
  sampling.samples = 4;
  Served const whole = serve(sampling, requests({{32, 10}}));
  EXPECT_EQ(whole.wrong, "");
  EXPECT_EQ(whole.outcome.tokens, 4 * 10);
  EXPECT_EQ(whole.outcome.forked, 3 * 32);
  EXPECT_EQ(whole.outcome.copied, 0) << "no block was partly filled";
  Served const partly = serve(sampling, requests({{30, 10}}));
  EXPECT_EQ(partly.wrong, "");
  EXPECT_EQ(partly.outcome.copied, 3) << "the last one writes to the first copy";
}

TEST(Beams, ShareWhatIsBehindTheOneThatTheyComeFrom) {
  Server searching = server("paged");
  searching.samples = 4;
  std::vector<Request> const all = requests({{30, 200}});
  Outcome const apart = serve(searching, all).outcome;
  searching.beam_search = true;
  Served const beams = serve(searching, all);
  EXPECT_EQ(beams.wrong, "");
  EXPECT_EQ(beams.outcome.tokens, 4 * 200);
  EXPECT_EQ(beams.outcome.steps, 200) << "all go on together";
  // Of samples the prompt is shared, of beams all that is older than a few tokens.
  auto const saved = [](Outcome const& o) { return 1 - o.kv.used / o.unshared; };
  EXPECT_NEAR(saved(apart), 3.0 / 4 * 16 / 130, 0.1);
  EXPECT_GT(saved(beams.outcome), 0.6);
  EXPECT_GT(beams.outcome.copied, 2 * apart.copied)
      << "a block is shared whenever two have one parent";
}

TEST(Beams, GiveWayTogether) {
  std::vector<Request> const all = requests({{20, 60}, {20, 60}, {20, 60}}, 1e-6);
  for (char const* name : {"paged", "chunked_prefill"}) {
    for (bool const reuses : {false, true}) {
      for (std::int64_t const host_tokens : {0, 240, 4096}) {
        Server small = server(name);
        small.samples = 3;
        small.beam_search = true;
        small.reuses_prefixes = reuses;
        small.block_tokens = 8;
        small.kv_tokens = 3 * (80 + 8);
        small.host_tokens = host_tokens;
        small.budget = 16;
        Served const served = serve(small, all);
        EXPECT_EQ(served.wrong, "");
        EXPECT_EQ(served.outcome.swaps % 3, 0);
        if (host_tokens != 240) {
          EXPECT_EQ(served.outcome.swaps > 0, host_tokens > 0);
          EXPECT_EQ(served.outcome.recomputed > 0, host_tokens == 0);
        }
      }
    }
  }
}

TEST(ChunkedPrefill, KeepsTokensComingUnderALongPrompt) {
  std::vector<Request> all = requests({{8, 100}, {2000, 4}}, 0.001);
  Server busy = server("paged");
  busy.budget = 64;
  Served const stalled = serve(busy, all);
  busy.batching = policy("chunked_prefill");
  Served const steady = serve(busy, all);
  EXPECT_EQ(stalled.wrong + steady.wrong, "");
  EXPECT_GT(stalled.outcome.gap_s.quantile(1), 5 * steady.outcome.gap_s.quantile(1));
  EXPECT_LE(steady.outcome.rows / steady.outcome.steps, 64);
}

TEST(Simulation, TakesAsLongAsItsStepsAndItsWaits) {
  // A prompt of 50 rows, limited by arithmetic: 12 x 2 x 100^2 flop each; then 3 tokens, by memory.
  Served const one = serve(server("orca"), requests({{50, 4}}));
  EXPECT_EQ(one.outcome.steps, 4);
  double const attention = (50 * 51 / 2) * 400 / 120e6 + (51 + 52 + 53) * 400 / 24e6;
  EXPECT_NEAR(one.outcome.end_s, 50 * 2.4e5 / 120e6 + 3 * 2.4e5 / 24e6 + attention, 1e-9);
  EXPECT_NEAR(serve(server("orca"), requests({{50, 4}, {50, 4}}, 100)).outcome.idle_s,
              100 - one.outcome.end_s, 1e-9);
}

// Whatever is served by whatever server, every token comes once and every block goes back.
// Seconds: 1 for each row; 1 for each pair of a token of several and one that it attends to; 100 for each
// token that single ones read.
TEST(Simulation, TakesAsLongAsWhatWasMeasured) {
  MeasuredTimes const step_times{kModel,
                                 {.products = {{1, 10}, {0}, {1, 10}},
                                  .chunks = {{1, 10}, {0, 10}, {1, 11, 55, 155}},
                                  .singles = {{1, 100}, {1}, {100, 10000}},
                                  .ends = {{1, 10}, {0, 1}, {0, 3, 0, 3}},
                                  .memory_rate = 1e9,
                                  .link_rate = 1e9,
                                  .kernels = ""}};
  Server chunked = server("chunked_prefill");
  chunked.budget = 5;
  for (auto const& [served, chunks_s] :
       {std::pair{serve(server("paged"), requests({{8, 3}}), step_times), 8 * 9 / 2.0},
        {serve(chunked, requests({{8, 3}}), step_times), 5 * 6 / 2 + 3 * 5 + 3 * 4 / 2}}) {
    EXPECT_EQ(served.wrong, "");
    EXPECT_NEAR(served.outcome.busy_s, 8 + chunks_s + 2 + 100 * (9 + 10) + 3 * 3, 1e-9);
    EXPECT_EQ(served.outcome.beyond_s, 0);
  }
  Outcome const beyond = serve(server("paged"), requests({{12, 2}}), step_times).outcome;
  EXPECT_NEAR(beyond.beyond_s, 12 + 12 * 13 / 2 + 3, 1e-9);
  EXPECT_NEAR(beyond.busy_s, beyond.beyond_s + 1 + 100 * 13 + 3, 1e-9);
}

TEST(Simulation, EndsWithEveryTokenAndNoBlockLeftWhateverTheServer) {
  std::int64_t swaps = 0, recomputed = 0, copied = 0, reused = 0, dropped_beams = 0;
  for (std::uint64_t draw = 0; draw < 150; ++draw) {
    auto p = [&, n = std::uint64_t{0}](std::uint64_t below) mutable {
      return static_cast<std::int64_t>(core::mix(1000 * draw + ++n) % below);
    };
    TraceOptions options{.requests = 1 + p(60),
                         .rate = static_cast<double>(1 + p(400)),
                         .prompt = *parse_lengths("uniform 1 150"),
                         .output = *parse_lengths("lognormal 12 1"),
                         .max_length = 256,
                         .limits = p(2) == 0 ? Limits::max : Limits::mixed,
                         .prefixes = p(3),
                         .prefix_tokens = 1 + p(100),
                         .seed = draw};
    std::vector<Request> const trace = make_trace(options);
    for (Policy const& row : policies()) {
      Server any{.batching = row.batching,
                 .kv_tokens = 256 + p(1024),
                 .host_tokens = p(2) * p(1024),
                 .block_tokens = std::int64_t{1} << p(5),
                 .max_running = 4 + p(30),
                 .budget = 4 + p(200),
                 .samples = 1 + p(4),
                 .fill_wait_s = 0.1 * static_cast<double>(p(2)),
                 .reuses_prefixes = p(2) == 0};
      any.beam_search = row.batching.paged && p(2) == 0;
      if (any.beam_search) {
        any.kv_tokens = std::max(any.kv_tokens, any.samples * (256 + any.block_tokens));
      }
      Served const result = serve(any, trace);
      ASSERT_EQ(result.wrong, "") << row.name << ", draw " << draw;
      dropped_beams += any.beam_search ? result.outcome.recomputed : 0;
      ASSERT_LE(result.outcome.max_at_once, any.max_running);
      swaps += result.outcome.swaps;
      recomputed += result.outcome.recomputed;
      copied += result.outcome.copied;
      reused += result.outcome.reused;
    }
  }
  EXPECT_GT(swaps, 100);
  EXPECT_GT(recomputed, 1000);
  EXPECT_GT(dropped_beams, 1000);
  EXPECT_GT(copied, 100);
  EXPECT_GT(reused, 1000);
}

bool all_hold(Outcome const& outcome, Server const& server, std::vector<Request> const& requests) {
  return std::ranges::all_of(claims_of(outcome, server, requests), &Claim::holds);
}

TEST(Claims, AreFalseOfAnOutcomeThatIsOff) {
  std::vector<std::function<void(Outcome&)>> const faults{
      [](Outcome& o) { o.end_s *= 1.001; },
      [](Outcome& o) { o.idle_s += 0.001 * o.end_s; },
      [](Outcome& o) { --o.sequences; },
      [](Outcome& o) { ++o.tokens; },
      [](Outcome& o) { o.first_token_s.add(1); },
      [](Outcome& o) { o.gap_s.add(1); },
      [](Outcome& o) { o.kv.used *= 1.001; },
      [](Outcome& o) { o.kv.free *= 1.001; },
      [](Outcome& o) { ++o.capacity; },
      [](Outcome& o) { ++o.rows; },
      [](Outcome& o) { --o.useful_rows; },
      [](Outcome& o) { ++o.reused; },
      [](Outcome& o) { o.recomputed += 10; },
      [](Outcome& o) { o.waited_s *= 1.001; },
      [](Outcome& o) { o.present_s = std::numeric_limits<double>::quiet_NaN(); },
      [](Outcome& o) { ++o.not_in_order; },
      [](Outcome& o) { o.left = 16; },
      [](Outcome& o) { o.used.add(0, o.end_s, 1); },
  };
  std::vector<Request> const all = requests(std::vector<std::pair<int, int>>(9, {33, 20}), 0.01);
  for (Policy const& row : policies()) {
    Server const good = server(row.name);
    Served const right = serve(good, all);
    ASSERT_EQ(right.wrong, "");
    for (std::size_t fault = 0; fault < faults.size(); ++fault) {
      Outcome wrong = right.outcome;
      faults[fault](wrong);
      EXPECT_FALSE(all_hold(wrong, good, all)) << row.name << ", fault " << fault;
    }
  }
  // What a piece or a block has too much of.
  Outcome reserved = serve(server("orca"), all).outcome;
  reserved.kv.internal += reserved.kv.used;
  reserved.kv.free -= reserved.kv.used;
  EXPECT_FALSE(all_hold(reserved, server("orca"), all));
  Outcome paged = serve(server("paged"), all).outcome;
  paged.kv.internal += paged.running_s * 16;
  paged.kv.free -= paged.running_s * 16;
  EXPECT_FALSE(all_hold(paged, server("paged"), all));
  Outcome batch = serve(server("static"), all).outcome;
  ++batch.rectangles;
  EXPECT_FALSE(all_hold(batch, server("static"), all));
}

}  // namespace
}  // namespace quadrille::workloads::serving
