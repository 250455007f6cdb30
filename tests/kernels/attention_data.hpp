// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

/// Attention with known results.
namespace quadrille::kernels::attention {

inline constexpr Mask kFull = Mask::full, kCausal = Mask::causal;

/// Extents around tiles, one key, rows that the mask leaves no key, groups of heads, tokens behind a
/// prefix, and nothing at all.
inline std::vector<Shape> const kShapes{
    {.batch = 2, .heads = 2, .kv_heads = 1, .queries = 33, .keys = 70, .head_size = 64},
    {.heads = 3, .kv_heads = 3, .queries = 17, .keys = 1, .head_size = 128},
    {.heads = 2, .kv_heads = 2, .queries = 129, .keys = 129, .head_size = 64, .mask = kCausal},
    {.heads = 4, .kv_heads = 1, .queries = 40, .keys = 130, .head_size = 128, .mask = kCausal},
    {.queries = 150, .keys = 20, .head_size = 64, .mask = kCausal},
    {.batch = 3, .heads = 6, .kv_heads = 2, .queries = 1, .keys = 65, .mask = kCausal},
    {.queries = 128, .keys = 64, .head_size = 128},
    {.queries = 10, .keys = 600, .mask = kCausal},
    {.queries = 5, .keys = 0},
    {.batch = 0, .queries = 5, .keys = 9},
    {.queries = 0, .keys = 9},
};

inline std::string text_of(Shape const& x) {
  std::string text{core::to_text(x.mask)};
  for (std::int64_t const extent : {x.batch, x.heads, x.kv_heads, x.queries, x.keys, x.head_size}) {
    text += " " + std::to_string(extent);
  }
  return text;
}

/// What the values of q, k and v are multiplied by. Scores grow with `scores`: at 100 their exponentials
/// are infinite, at 0 they are all alike.
struct Sizes {
  double scores = 1, values = 1;
  core::DataKind of_values = core::DataKind::uniform;
};

template <class T>
struct Tensors {
  std::vector<T> q, k, v;
};

template <class T>
std::vector<T> random(device::MatrixView const& view, std::uint64_t tag, double size,
                      core::DataKind kind = core::DataKind::uniform) {
  std::vector<T> values(static_cast<std::size_t>(view.rows * view.cols));
  for (std::size_t e = 0; e < values.size(); ++e) {
    values[e] = T(size * core::generate<double>(kind, 1, tag, 0, static_cast<std::int64_t>(e)));
  }
  return values;
}
template <class T>
Tensors<T> random(Problem const& p, Sizes const& sizes) {
  return {random<T>(p.q, 1, sizes.scores), random<T>(p.k, 2, 1),
          random<T>(p.v, 3, sizes.values, sizes.of_values)};
}

/// An element of o, and what it may be off by.
struct Element {
  double value = 0, allowed = 0;
};

/// All of o, in long double where weights are made.
template <class T, class Bound>
std::vector<Element> elements_of(Problem const& p, Tensors<T> const& in, Bound const& bound) {
  Shape const& x = p.shape;
  auto const d = static_cast<std::size_t>(x.head_size);
  std::vector<Element> elements(static_cast<std::size_t>(p.o.rows) * d);
  for (std::int64_t b = 0; b < x.batch; ++b) {
    for (std::int64_t h = 0; h < x.heads; ++h) {
      for (std::int64_t i = 0; i < x.queries; ++i) {
        auto const row = static_cast<std::size_t>((b * x.heads + h) * x.queries + i);
        std::int64_t const kv = b * x.kv_heads + h * x.kv_heads / x.heads;
        auto const seen = x.mask == kFull ? x.keys : x.keys - (x.queries - 1 - i);
        auto const n = static_cast<std::size_t>(std::max<std::int64_t>(0, seen));
        auto const key = [&](std::size_t j) {
          return (static_cast<std::size_t>(kv * x.keys) + j) * d;
        };
        auto const wide = [](T value) { return static_cast<double>(value); };
        std::vector<double> scores(n), weights(n);
        ErrorBound::Row facts{.n = static_cast<std::int64_t>(n)};
        for (std::size_t j = 0; j < n; ++j) {
          double qq = 0, kk = 0;
          for (std::size_t e = 0; e < d; ++e) {
            double const a = wide(in.q[row * d + e]), c = wide(in.k[key(j) + e]);
            scores[j] += a * c / std::sqrt(static_cast<double>(d));
            qq += a * a;
            kk += c * c;
            facts.value = std::max(facts.value, std::abs(wide(in.v[key(j) + e])));
          }
          facts.score = std::max(facts.score, std::sqrt(qq * kk / static_cast<double>(d)));
        }
        std::vector<long double> powers(n);
        long double total = 0;
        double const top = n > 0 ? *std::max_element(scores.begin(), scores.end()) : 0;
        for (std::size_t j = 0; j < n; ++j) {
          powers[j] = std::exp(static_cast<long double>(scores[j] - top));
          total += powers[j];
        }
        for (std::size_t j = 0; j < n; ++j) {
          weights[j] = static_cast<double>(powers[j] / total);
          facts.weight = std::max(facts.weight, weights[j]);
        }
        for (std::size_t e = 0; e < d; ++e) {
          double mean = 0, variance = 0;
          for (std::size_t j = 0; j < n; ++j) mean += weights[j] * wide(in.v[key(j) + e]);
          for (std::size_t j = 0; j < n; ++j) {
            double const off = wide(in.v[key(j) + e]) - mean;
            variance += weights[j] * off * off;
          }
          elements[row * d + e] = {mean, bound(facts, mean, std::sqrt(variance))};
        }
      }
    }
  }
  return elements;
}

template <class T>
std::vector<Element> elements_of(Problem const& p, Tensors<T> const& in) {
  return elements_of(p, in, ErrorBound{p.q.type});
}

/// Right results are off by at most `share` of what they may be.
template <class T>
void expect_elements(std::vector<Element> const& elements, std::vector<T> const& o,
                     double share = 0.5) {
  ASSERT_EQ(elements.size(), o.size());
  int wrong = 0;
  for (std::size_t e = 0; e < o.size() && wrong < 3; ++e) {
    auto const got = static_cast<double>(o[e]);
    // A result that is the nearest number of its type is off by what storing it allows.
    bool const is_nearest = static_cast<double>(T(elements[e].value)) == got;
    if (!is_nearest && !(std::abs(got - elements[e].value) <= share * elements[e].allowed)) {
      ++wrong;
      ADD_FAILURE() << "element " << e << " is " << got << ", expected " << elements[e].value
                    << ", allowed " << elements[e].allowed << ", off by "
                    << std::abs(got - elements[e].value) / elements[e].allowed << " of it";
    }
  }
}

/// Elements that tensors lie behind an aligned address.
struct Offsets {
  std::int64_t q = 0, k = 0, v = 0, o = 0;
  bool are_none() const { return q + k + v + o == 0; }
};
/// One tensor at a time.
inline constexpr Offsets kOffsets[] = {{.q = 1}, {.k = 1}, {.v = 1}, {.o = 1}};

/// What o has where q, k and v have T.
template <class T>
using Result = std::conditional_t<std::is_same_v<T, core::e4m3>, core::bf16, T>;

/// A problem with its tensors on the host, and what is right.
template <class T>
struct Known {
  Problem problem;
  Tensors<T> in;
  std::vector<Element> elements;
};

/// Computed once for all variants and schedules.
template <class T>
Known<T> const& known(Shape const& shape, Sizes const& sizes) {
  static std::map<std::tuple<std::string, double, double, core::DataKind>, Known<T>> all;
  auto const [found, is_new] =
      all.try_emplace({text_of(shape), sizes.scores, sizes.values, sizes.of_values});
  Known<T>& one = found->second;
  if (is_new) {
    one.problem = unallocated(shape, core::type_of<T>());
    one.in = random<T>(one.problem, sizes);
    one.elements = elements_of(one.problem, one.in);
  }
  return one;
}

/// What a tensor holds whose rows of a head follow one another, as tokens with all heads side by side, and gaps.
template <class T>
std::vector<T> by_tokens(std::vector<T> const& values, std::int64_t heads, Steps const& from,
                         Steps const& to, std::int64_t rows, std::int64_t head_size) {
  std::vector<T> moved(static_cast<std::size_t>(rows * to.row));
  for (std::int64_t e = 0; e < heads * rows * head_size; ++e) {
    std::int64_t const head = e / (rows * head_size), row = e / head_size % rows,
                       at = e % head_size;
    moved[static_cast<std::size_t>(head * to.head + row * to.row + at)] =
        values[static_cast<std::size_t>(head * from.head + row * from.row + at)];
  }
  return moved;
}

/// The bits of `o`, which the row computes of heads one after the other, from tokens whose heads are side by side.
template <class T>
void expect_same_by_tokens(device::Device& device, device::StreamView stream,
                           Variant<Problem> const& variant, Shape const& shape,
                           std::vector<Result<T>> const& o) {
  Known<T> const& one = known<T>(shape, {});
  Problem const& heads = one.problem;
  Problem problem = unallocated(shape, core::type_of<T>(), true);
  std::int64_t gap = 16;
  for (device::MatrixView* view : {&problem.q, &problem.k, &problem.v, &problem.o}) {
    view->ld += gap *= 2;  // another of each
  }
  auto const moved = [&](std::vector<T> const& values, device::MatrixView const& of_heads,
                         device::MatrixView const& of_tokens, std::int64_t count,
                         std::int64_t rows) {
    return by_tokens(values, count, steps_of(heads, of_heads, rows),
                     steps_of(problem, of_tokens, rows), rows, shape.head_size);
  };
  test::DeviceArray<T> const q{device, stream,
                               moved(one.in.q, heads.q, problem.q, shape.heads, shape.queries)},
      k{device, stream, moved(one.in.k, heads.k, problem.k, shape.kv_heads, shape.keys)},
      v{device, stream, moved(one.in.v, heads.v, problem.v, shape.kv_heads, shape.keys)};
  test::DeviceArray<Result<T>> const to{
      device, stream,
      std::vector<Result<T>>(static_cast<std::size_t>(problem.o.ld * problem.o.rows))};
  problem.q.data = q.data();
  problem.k.data = k.data();
  problem.v.data = v.data();
  problem.o.data = to.data();
  if (!variant.unsupported_reason(problem).empty()) return;
  test::DeviceArray<float> const scratch{
      device, stream,
      static_cast<std::int64_t>(variant.scratch_bytes(problem, device.facts()) / 4)};
  problem.scratch = scratch.data();
  problem.scratch_bytes = variant.scratch_bytes(problem, device.facts());

  variant.launch(problem, stream);
  stream.synchronize();

  // Gaps stay as they were.
  EXPECT_EQ(to.download(),
            by_tokens(o, shape.heads, steps_of(heads, heads.o, shape.queries),
                      steps_of(problem, problem.o, shape.queries), shape.queries, shape.head_size));
}

/// False where the vendor's library does not take the problem, or a kernel one of 8 bits; otherwise all
/// take any but shifted ones.
template <class T>
bool expect_right(device::Device& device, device::StreamView stream,
                  Variant<Problem> const& variant, Shape const& shape, Sizes const& sizes = {},
                  Offsets const& offsets = {}) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(core::type_of<T>()) << " "
                                  << text_of(shape) << ", scores x " << sizes.scores << ", offsets "
                                  << offsets.q << offsets.k << offsets.v << offsets.o);
  Known<T> const& one = known<T>(shape, sizes);
  Problem problem = one.problem;
  test::DeviceArray<T> const q{device, stream, one.in.q, offsets.q},
      k{device, stream, one.in.k, offsets.k}, v{device, stream, one.in.v, offsets.v};
  test::DeviceArray<Result<T>> const o{device, stream,
                                       static_cast<std::int64_t>(one.elements.size()), offsets.o};
  problem.q.data = q.data();
  problem.k.data = k.data();
  problem.v.data = v.data();
  problem.o.data = o.data();
  bool const may_refuse =
      variant.role == Role::vendor || !offsets.are_none() || std::is_same_v<T, core::e4m3>;
  if (may_refuse && !variant.unsupported_reason(problem).empty()) return false;
  std::size_t const bytes = variant.scratch_bytes(problem, device.facts());
  test::DeviceArray<float> const scratch{device, stream, static_cast<std::int64_t>(bytes / 4)};
  problem.scratch = scratch.data();
  problem.scratch_bytes = bytes;

  variant.launch(problem, stream);
  stream.synchronize();

  std::vector<Result<T>> const got = o.download();
  expect_elements<Result<T>>(one.elements, got);
  EXPECT_TRUE(o.intact() && scratch.intact());
  bool const is_plain = sizes.scores == 1 && sizes.values == 1 &&
                        sizes.of_values == core::DataKind::uniform &&
                        offsets.q + offsets.k + offsets.v == 0;
  if (shape.batch == 1 && is_plain) expect_same_by_tokens<T>(device, stream, variant, shape, got);
  return true;
}

}  // namespace quadrille::kernels::attention
