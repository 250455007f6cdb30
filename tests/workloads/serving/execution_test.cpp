// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/execution.hpp"

#include "support/mpi_world.hpp"
#include "workloads/serving/policies.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace quadrille::workloads::serving {
namespace {

constexpr std::uint64_t kSeed = 3;

Extent extent(std::int64_t rows, std::int64_t kv_tokens, std::int64_t host_tokens = 0) {
  bool const is_host = test::world().device().kind() == device::Kind::host;
  return {.model = {.layers = 2,
                    .heads = 2,
                    .kv_heads = 1,
                    .head_size = 64,
                    .element_bytes = is_host ? 4 : 2},
          .type = is_host ? core::DataType::f32 : core::DataType::bf16,
          .rows = rows,
          .length = 64,
          .sequences = 8,
          .kv_tokens = kv_tokens,
          .host_tokens = host_tokens,
          .block = 8,
          .vocabulary = 128};
}

/// Unequal prompts, two of which begin alike.
std::vector<Request> requests() {
  return make_trace({.requests = 9,
                     .rate = 1e9,
                     .prompt = {Lengths::Kind::uniform, 5, 30},
                     .output = {Lengths::Kind::uniform, 2, 20},
                     .max_length = 64,
                     .prefixes = 2,
                     .prefix_tokens = 12,
                     .seed = kSeed});
}

Server server_of(std::string_view policy, Extent const& x, std::int64_t samples) {
  Server server{.kv_tokens = x.kv_tokens,
                .host_tokens = x.host_tokens,
                .block_tokens = x.block,
                .max_running = x.sequences,
                .budget = 24,
                .samples = samples,
                .beam_search = x.beams > 0};
  for (Policy const& row : policies()) {
    if (row.name == policy) server.batching = row.batching;
  }
  return server;
}

StatedTimes stated_times(Extent const& x) { return {x.model, 1e9, 2e9, 5e8}; }

struct Served {
  Outcome outcome;
  std::vector<std::vector<std::int32_t>> tokens;  ///< of each sample of each request
  double predicted_s = 0;                         ///< of its steps
};

Served served(std::string_view policy, Extent const& x, std::int64_t samples) {
  comm::World& world = test::world();
  Execution execution{world, x, kSeed, x.parts > 1 ? &world.transport("mpi") : nullptr};
  std::vector<Request> const all = requests();
  Outputs outputs{std::ssize(all), samples};
  TokenHashes const hashes{kSeed, &outputs};
  std::vector<std::int64_t> cached(all.size() * static_cast<std::size_t>(samples)),
      delivered(cached.size());
  StatedTimes const times = stated_times(x);
  execution.begin(
      hashes, outputs, samples, [](Sequence const&) { return false; }, &times);
  Served result{
      .outcome = serve(server_of(policy, x, samples), execution, all, hashes, {cached, delivered}),
      .tokens = {},
      .predicted_s = execution.predicted_s()};
  for (std::int64_t number = 0; number < std::ssize(all) * samples; ++number) {
    result.tokens.push_back(outputs.of(number));
  }
  return result;
}

/// One request after the other.
Served served_alone(Extent x, std::int64_t samples) {
  x.sequences = samples;
  return served("paged", x, samples);
}

// However requests are put together, kept and moved, each has the tokens that it has by itself.
TEST(Execution, MakesTheSameTokensHoweverRequestsAreServed) {
  std::int64_t const samples = 2;
  Served const alone = served_alone(extent(64, 1024), samples);
  ASSERT_EQ(alone.tokens.size(), requests().size() * static_cast<std::size_t>(samples));
  EXPECT_NE(alone.tokens[0], alone.tokens[1]) << "samples of one prompt";
  for (char const* policy : {"static", "orca", "paged", "chunked_prefill"}) {
    EXPECT_EQ(served(policy, extent(64, 1024), samples).tokens, alone.tokens) << policy;
    // A step in several parts, which cut prompts anywhere.
    EXPECT_EQ(served(policy, extent(8, 1024), samples).tokens, alone.tokens) << policy;
  }
  Served const swapped = served("paged", extent(64, 160, 160), samples);
  EXPECT_GT(swapped.outcome.swaps, 0);
  EXPECT_GT(swapped.outcome.copied, 0);
  EXPECT_EQ(swapped.outcome.recomputed, 0);
  EXPECT_EQ(swapped.tokens, alone.tokens);
  Served const dropped = served("chunked_prefill", extent(64, 160), samples);
  EXPECT_GT(dropped.outcome.recomputed, 0);
  EXPECT_EQ(dropped.tokens, alone.tokens);
}

// Beams of a request are found by all of their logits, and go on in blocks that they share, move and lose.
TEST(Execution, FindsTheSameBeamsHoweverRequestsAreServed) {
  auto const searching = [](Extent x) {
    x.beams = 3;
    x.kv_tokens = std::max(x.kv_tokens, 3 * (x.length + x.block));
    x.sequences = 24;
    return x;
  };
  Served const alone = served_alone(searching(extent(64, 1024)), 3);
  for (std::size_t i = 0; i < alone.tokens.size(); i += 3) {
    EXPECT_NE(alone.tokens[i], alone.tokens[i + 1]);
    EXPECT_NE(alone.tokens[i + 1], alone.tokens[i + 2]);
  }
  EXPECT_EQ(served("chunked_prefill", searching(extent(64, 1024)), 3).tokens, alone.tokens);
  // A step in several parts, each of which has all beams of a request.
  EXPECT_EQ(served("chunked_prefill", searching(extent(16, 1024)), 3).tokens, alone.tokens);
  Served const swapped = served("paged", searching(extent(64, 0, 320)), 3);
  EXPECT_GT(swapped.outcome.swaps, 0);
  EXPECT_GT(swapped.outcome.copied, 0);
  EXPECT_EQ(swapped.tokens, alone.tokens);
  Served const dropped = served("chunked_prefill", searching(extent(64, 0)), 3);
  EXPECT_GT(dropped.outcome.recomputed, 0);
  EXPECT_EQ(dropped.tokens, alone.tokens);
}

// Ranks that share a model add up what they have of each product, in the same order for each token.
TEST(Execution, OfRanksThatShareAModelDoesNotDependOnTheBatch) {
  auto const shared = [](Extent x) {
    x.parts = test::world().size();
    x.model.heads = 2 * x.parts;
    x.model.kv_heads = x.parts;
    return x;
  };
  Served const alone = served_alone(shared(extent(64, 1024)), 1);
  for (std::vector<std::int32_t> const& tokens : alone.tokens) EXPECT_GE(tokens.size(), 2U);
  EXPECT_EQ(served("static", shared(extent(64, 1024)), 1).tokens, alone.tokens);
  Served const swapped = served("chunked_prefill", shared(extent(16, 128, 64)), 1);
  EXPECT_GT(swapped.outcome.swaps, 0);
  EXPECT_EQ(swapped.tokens, alone.tokens);
  if (test::world().device().kind() == device::Kind::host) {
    // In f32 what sums round to decides of no token: the model is that of one rank.
    Extent whole = shared(extent(64, 1024));
    whole.parts = 1;
    EXPECT_EQ(served("orca", whole, 1).tokens, alone.tokens);
  }
  // Times are those of rank 0 on all, or they would not do the same.
  EXPECT_EQ(test::world().group().max(swapped.outcome.busy_s), swapped.outcome.busy_s);
}

TEST(Execution, TakesTime) {
  Served const one = served("orca", extent(64, 1024), 1);
  EXPECT_GT(one.outcome.busy_s, 0);
  EXPECT_GT(one.outcome.end_s, one.outcome.busy_s / 2);
}

// Steps are those of a simulation, since all requests have arrived before the first has ended.
TEST(Execution, SaysWhatItsStepsWerePredictedToTake) {
  Extent const x = extent(64, 1024);
  std::vector<Request> const all = requests();
  std::vector<std::int64_t> cached(all.size()), delivered(all.size());
  Outcome const simulated = simulate(server_of("chunked_prefill", x, 1), stated_times(x), all,
                                     TokenHashes{kSeed}, {cached, delivered});
  double const predicted_s = served("chunked_prefill", x, 1).predicted_s;
  EXPECT_NEAR(predicted_s, simulated.busy_s, 1e-9 * simulated.busy_s);
}

}  // namespace
}  // namespace quadrille::workloads::serving
