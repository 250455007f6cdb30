// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/serving/distribution.hpp"
#include "workloads/serving/kv_memory.hpp"
#include "workloads/serving/policies.hpp"
#include "workloads/serving/times.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace quadrille::workloads::serving {

/// What serves requests.
struct Server {
  Batching batching{};
  std::int64_t kv_tokens = 0;    ///< slots of the device's KV memory
  std::int64_t host_tokens = 0;  ///< slots of the host's, to swap to; where it is full K and V are
                                 ///< dropped and computed again
  std::int64_t block_tokens = 16;
  std::int64_t max_running = 256;  ///< sequences in a step
  std::int64_t budget = 2048;  ///< tokens in a step, of paged memory; a whole prompt may have more
  std::int64_t samples = 1;    ///< outputs of each prompt
  double fill_wait_s = 0;      ///< that an incomplete batch waits for others
  bool reuses_prefixes = true;
  /// Samples of a prompt are the beams of a search, which paged memory alone shares: each of their next tokens
  /// is behind any of those before.
  bool beam_search = false;
};

/// For each sample of each request, what its K and V add up to in the end, and its output.
struct Results {
  std::span<std::int64_t> cached, delivered;
};
/// The same, as it must be.
Results expected_results(std::span<Request const> requests, TokenHashes const& tokens,
                         std::int64_t samples, Results memory);

/// What happened. But for the first two, the numbers of several servers add up.
struct Outcome {
  double end_s = 0;              ///< when the last token was there; it began at 0
  std::int64_t max_at_once = 0;  ///< sequences in a step
  double busy_s = 0, idle_s = 0;
  double beyond_s = 0;  ///< of the busy ones, of steps with more than the times are known of
  std::int64_t steps = 0;
  std::int64_t sequences = 0;  ///< samples of requests that were served
  std::int64_t tokens = 0;     ///< delivered
  Distribution first_token_s;  ///< from the arrival
  Distribution gap_s;          ///< from a token to the next of the same sequence
  KvUse kv;                    ///< slots times seconds
  double unshared = 0;         ///< ... that sequences would use which share no blocks
  std::int64_t capacity = 0;   ///< slots
  Timeline used;               ///< slots
  std::int64_t rows = 0;       ///< tokens in products, padding included
  std::int64_t useful_rows = 0;
  std::int64_t reused = 0;      ///< tokens whose K and V were there already
  std::int64_t forked = 0;      ///< ... of the prompts of further samples
  std::int64_t recomputed = 0;  ///< ... dropped, and computed again
  std::int64_t swaps = 0;       ///< sequences that went to memory of the host
  std::int64_t moved = 0;       ///< tokens copied to and from memory of the host
  std::int64_t copied = 0;      ///< blocks

  // What the same numbers are by another way.
  double waited_s = 0;            ///< from arrivals to ends, added up by sequence
  double present_s = 0;           ///< sequences that had arrived and not ended, times seconds
  double piece_s = 0;             ///< slots of pieces times the seconds that somebody had them
  double running_s = 0;           ///< sequences in memory times seconds
  std::int64_t drawn = 0;         ///< tokens that steps made, added up by step
  std::int64_t rectangles = 0;    ///< static batches: requests times the longest prompt and output
  std::int64_t not_in_order = 0;  ///< tokens that came before what they follow
  std::int64_t left = 0;          ///< slots that nobody gave back
};

/// A sequence in a step, which makes K and V of its last tokens.
struct Part {
  Sequence* sequence;
  std::int64_t tokens;
};

/// What does the steps of a server.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Moves blocks, then computes the parts: their K and V, and the next token of those that have all. Seconds
  /// that it takes.
  virtual double execute(StepWork const& work, std::span<Part const> parts,
                         std::span<BlockMove const> moves) = 0;
  /// Whether the time of no part of this work is guessed.
  virtual bool covers(StepWork const&) const { return true; }
  /// Which of a request's beams each goes on from that has just got a token.
  virtual std::span<std::int32_t const> parents(Request const& request) const = 0;
  /// A sequence has all its tokens; its memory is still there.
  virtual void end(Sequence const&) {}
};

/// Lets a server work on requests, which are in the order of arrival, until the last has ended.
Outcome serve(Server const& server, Executor& executor, std::span<Request const> requests,
              TokenHashes const& tokens, Results results);
/// The same of one whose steps do nothing and take as long as the times say. Beams go on as it may be, and leave
/// what they are in `outputs`, by which their tokens are known.
Outcome simulate(Server const& server, StepTimes const& times, std::span<Request const> requests,
                 TokenHashes const& tokens, Results results, Outputs* outputs = nullptr);

/// What must hold of every outcome.
struct Claim {
  std::string_view what;
  double expected = 0, got = 0;
  double tolerance = 0;
  bool holds() const;
};
std::vector<Claim> claims_of(Outcome const& outcome, Server const& server,
                             std::span<Request const> requests);

}  // namespace quadrille::workloads::serving
