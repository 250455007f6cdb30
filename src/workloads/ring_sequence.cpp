// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/ring_sequence.hpp"

namespace quadrille::workloads {

RingSequence::RingSequence(std::int64_t tokens, Partition partition, int ranks)
    : partition_{partition},
      chunks_{tokens, partition == Partition::striped ? 1 : 0,
              partition == Partition::striped ? ranks : 2 * ranks} {}

std::int64_t RingSequence::count(int rank) const {
  if (partition_ == Partition::striped) return chunks_.count(rank);
  return chunks_.count(rank) + chunks_.count(last_chunk(rank));
}

std::int64_t RingSequence::token(int rank, std::int64_t i) const {
  if (partition_ == Partition::striped) return chunks_.global(rank, i);
  std::int64_t const of_first = chunks_.count(rank);
  if (i < of_first) return chunks_.global(rank, i);
  return chunks_.global(last_chunk(rank), i - of_first);
}

kernels::ring_attention::Seen RingSequence::seen(kernels::attention::Mask mask, int by,
                                                 int of) const {
  if (mask == kernels::attention::Mask::full) return {.keys = count(of)};
  // A token sees itself and what lies before it: of tokens of earlier ranks one more than of later ones.
  if (partition_ == Partition::striped) return {.keys = of <= by ? 1 : 0, .more = 1};
  if (of == by) return {.keys = 1, .more = 1};
  // The first chunk of an earlier rank is before both of a later one, and the second chunk behind both.
  if (of < by) return {.keys = chunks_.count(of)};
  return {.first_query = chunks_.count(by), .keys = count(of)};
}

std::vector<RingSequence::Part> RingSequence::parts(int rank) const {
  if (partition_ == Partition::striped) {
    return {{0, count(rank), {0, 1, chunks_.parts(), rank}, chunks_.parts() == 1}};
  }
  std::int64_t const of_first = chunks_.count(rank), rest = count(rank) - of_first;
  std::vector<Part> parts;
  if (of_first > 0) parts.push_back({0, of_first, {token(rank, 0), 1, 1, 0}, true});
  if (rest > 0) parts.push_back({of_first, rest, {token(rank, of_first), 1, 1, 0}, true});
  return parts;
}

}  // namespace quadrille::workloads
