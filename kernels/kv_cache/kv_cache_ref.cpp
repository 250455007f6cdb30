// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Keys and values of tokens to their slots or from there, or blocks to others, as in the definition.
///
///   write  k[row of slot places[i], head h] = token_k[i][h]         and v likewise, and read the other way
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
void move_tokens(Problem const& p, device::MatrixView const& from, device::MatrixView const& to) {
  Shape const& x = p.shape;
  bool const reads = p.action == Action::read;
  for (std::int64_t i = 0; i < p.count; ++i) {
    for (std::int64_t h = 0; h < x.kv_heads; ++h) {
      for (std::int64_t e = 0; e < x.head_size; ++e) {
        std::int64_t const in_pool = x.row_of(p.places[i], h) * x.head_size + e,
                           in_row = i * (reads ? to : from).ld + h * x.head_size + e;
        static_cast<T*>(to.data)[reads ? in_row : in_pool] =
            static_cast<T const*>(from.data)[reads ? in_pool : in_row];
      }
    }
  }
}

template <class T>
void move_blocks(Problem const& p, device::MatrixView const& from, device::MatrixView const& to) {
  std::int64_t const size = p.shape.rows_of_block() * p.shape.head_size;
  for (std::int64_t i = 0; i < p.count; ++i) {
    T const* const source = static_cast<T const*>(from.data) + p.places[2 * i] * size;
    T* const target = static_cast<T*>(to.data) + p.places[2 * i + 1] * size;
    for (std::int64_t e = 0; e < size; ++e) target[e] = source[e];
  }
}

template <class T>
void run(Problem const& p) {
  Ends const ends = ends_of(p);
  auto const move = is_of_tokens(p.action) ? move_tokens<T> : move_blocks<T>;
  move(p, ends.from_k, ends.to_k);
  move(p, ends.from_v, ends.to_v);
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
     .batch_invariant = true,
     .source = "own",
     .summary = "element by element, one thread"},
    launch};

}  // namespace quadrille::kernels::kv_cache
