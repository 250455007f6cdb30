// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "comm/grid.hpp"
#include "ring_attention/ring_attention.hpp"
#include "support/generate.hpp"

#include <vector>

namespace quadrille::workloads {

/// How a sequence's tokens are divided among ranks, so that under a causal mask all have equally
/// much to compute with the tokens of any other. zigzag: in 2 P chunks, rank r has chunks r and
/// 2 P - 1 - r. striped: rank r has every P-th token from r on. (Brandon et al.: Striped attention,
/// 2023.)
enum class Partition { zigzag, striped };
constexpr auto enum_names(Partition) {
  return core::EnumNames<Partition, 2>{
      {{Partition::zigzag, "zigzag"}, {Partition::striped, "striped"}}};
}

/// A sequence of tokens over ranks, each of which has its own in order.
class RingSequence {
 public:
  RingSequence(std::int64_t tokens, Partition partition, int ranks);

  std::int64_t tokens() const { return chunks_.size(); }
  std::int64_t count(int rank) const;
  /// The i-th token of a rank.
  std::int64_t token(int rank, std::int64_t i) const;
  /// Which of a rank's keys another rank's queries see.
  kernels::ring_attention::Seen seen(kernels::attention::Mask mask, int by, int of) const;

  /// Tokens of a rank, from the i-th on, whose places in the sequence a map tells.
  struct Part {
    std::int64_t first = 0, count = 0;
    kernels::generate::IndexMap tokens;
    bool is_contiguous = true;
  };
  std::vector<Part> parts(int rank) const;

 private:
  int last_chunk(int rank) const { return chunks_.parts() - 1 - rank; }  // zigzag

  Partition partition_;
  comm::Distribution chunks_;
};

}  // namespace quadrille::workloads
