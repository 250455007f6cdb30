// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Keys and values of new tokens to their slots, or blocks to others, as in the definition.
///
///   write  k[row of slot places[i], head h] = new_k[i][h]           and v likewise
///   copy   k[block places[2 i + 1]] = k[block places[2 i]]          and v likewise, as swaps
///
/// Technique    token by token, head by head, element by element; not meant to be fast
/// Shapes       any heads, blocks and places
/// Work         each element is read and written once, one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     exact
#include "device/device.hpp"
#include "kv_cache/kv_cache.hpp"

namespace quadrille::kernels::kv_cache {
namespace {

template <class T>
void write(Problem const& p, device::MatrixView const& tokens, T* pool) {
  Shape const& x = p.shape;
  auto const* const from = static_cast<T const*>(tokens.data);
  for (std::int64_t i = 0; i < p.count; ++i) {
    for (std::int64_t h = 0; h < x.kv_heads; ++h) {
      for (std::int64_t e = 0; e < x.head_size; ++e) {
        pool[x.row_of(p.places[i], h) * x.head_size + e] =
            from[i * tokens.ld + h * x.head_size + e];
      }
    }
  }
}

template <class T>
void copy(Problem const& p, device::MatrixView const& pool_of_blocks, T* pool) {
  auto const* const blocks = static_cast<T const*>(pool_of_blocks.data);
  std::int64_t const size = p.shape.rows_of_block() * p.shape.head_size;
  for (std::int64_t i = 0; i < p.count; ++i) {
    std::int64_t const from = p.places[2 * i], to = p.places[2 * i + 1];
    for (std::int64_t e = 0; e < size; ++e) pool[to * size + e] = blocks[from * size + e];
  }
}

template <class T>
void run(Problem const& p) {
  Ends const ends = ends_of(p);
  auto const move = p.action == Action::write ? write<T> : copy<T>;
  move(p, ends.from_k, static_cast<T*>(ends.to_k.data));
  move(p, ends.from_v, static_cast<T*>(ends.to_v.data));
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem] {
    if (problem.k.type == core::DataType::f32) return run<float>(problem);
    run<std::uint16_t>(problem);
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .source = "own",
     .summary = "element by element, one thread"},
    launch};

}  // namespace quadrille::kernels::kv_cache
