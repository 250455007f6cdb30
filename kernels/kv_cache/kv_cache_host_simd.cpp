// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Keys and values of tokens to their slots or from there, or blocks to others, on the threads of a host.
///
///   write  k[row of slot places[i], head h] = token_k[i][h]         and v likewise, and read the other way
///   copy   k[block places[2 i + 1]] = k[block places[2 i]]          and v likewise, as swaps
///
/// Technique    a token, or a block, for each turn of a parallel loop; rows of a head, or whole blocks, by
///              memcpy, which uses the widest vectors that there are
/// Shapes       any heads, blocks and places
/// Work         each element is read and written once
/// Launch       one parallel loop of the stream over tokens or pairs
/// Accuracy     exact
#include "device/host/parallel.hpp"
#include "kv_cache/kv_cache.hpp"

#include <cstring>

namespace quadrille::kernels::kv_cache {
namespace {

/// Bytes of k or v that go somewhere.
struct Tensor {
  char* to;
  char const* from;
  std::int64_t row_bytes;  ///< of tokens, from one to the next
};

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] {
    Shape const& x = problem.shape;
    auto const size = static_cast<std::int64_t>(core::size_of(problem.k.type)) * x.head_size;
    std::int64_t const of_block = size * x.rows_of_block();
    Ends const ends = ends_of(problem);
    bool const reads = problem.action == Action::read;
    auto const tensor = [&](device::MatrixView const& to, device::MatrixView const& from) {
      return Tensor{static_cast<char*>(to.data), static_cast<char const*>(from.data),
                    (reads ? to : from).ld * static_cast<std::int64_t>(core::size_of(from.type))};
    };
    Tensor const both[2] = {tensor(ends.to_k, ends.from_k), tensor(ends.to_v, ends.from_v)};
    device::parallel_for(stream, problem.count, [&](std::int64_t i) {
      for (auto const& [to, from, row_bytes] : both) {
        if (!is_of_tokens(problem.action)) {
          std::memcpy(to + problem.places[2 * i + 1] * of_block,
                      from + problem.places[2 * i] * of_block, static_cast<std::size_t>(of_block));
          continue;
        }
        for (std::int64_t h = 0; h < x.kv_heads; ++h) {
          std::int64_t const in_pool = x.row_of(problem.places[i], h) * size,
                             in_row = i * row_bytes + h * size;
          std::memcpy(to + (reads ? in_row : in_pool), from + (reads ? in_pool : in_row),
                      static_cast<std::size_t>(size));
        }
      }
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 10,
     .batch_invariant = true,
     .source = "own",
     .summary = "tokens or blocks on all threads, by memcpy"},
    launch};

}  // namespace quadrille::kernels::kv_cache
