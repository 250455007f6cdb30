// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vector/vector.hpp"

#include "device/host/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace quadrille::kernels::vector {
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  host_threads,
  one_thread,
  one_block,
  one_element,
  grid_stride,
  vectorized,
  misaligned,
  permuted_lanes,
  segments_64,
  segments_32
);
// clang-format on

Variants<Problem> variants() { return kTable; }

std::optional<CountedParts> accesses_of(Variant<Problem> const& row, Problem const& problem) {
  auto const* const counted = find_accesses(Problem::kOperation, row, core::size_of(problem.type));
  bool const is_like_counted =
      problem.operation == Operation::add && problem.n % kCountedElements == 0;
  if (counted == nullptr || !is_like_counted) return {};
  return CountedParts{counted, problem.n / kCountedElements};
}

ProblemFacts facts_of(Problem const& p) {
  auto const row = [&](void const* data) {
    return device::MatrixView{const_cast<void*>(data), p.type, 1, p.n, p.n};
  };
  ProblemFacts facts{.types = p.type, .result = {"out", row(p.out)}, .inputs = {{{"x", row(p.x)}}}};
  if (p.operation == Operation::add) facts.inputs[1] = {"y", row(p.y)};
  return facts;
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.n >= 0, "vector: n is negative");
  if (p.n == 0) return;
  QUAD_REQUIRE(p.x != nullptr && p.out != nullptr, "vector: x or out is missing");
  QUAD_REQUIRE(p.operation != Operation::add || p.y != nullptr, "vector: add needs y");
  auto const size = static_cast<std::size_t>(p.n) * core::size_of(p.type);
  auto const* out = static_cast<char const*>(p.out);
  for (void const* input : {p.x, p.operation == Operation::add ? p.y : p.x}) {
    auto const* in = static_cast<char const*>(input);
    QUAD_REQUIRE(out + size <= in || in + size <= out, "vector: out overlaps an input");
  }
}

double error_bound(Problem const& p, double x) {
  if (p.operation == Operation::add) return 0;
  double const magnitude = std::abs(p.a) * x * x + std::abs(p.b * x) + std::abs(p.c);
  return 4 * core::epsilon_of(p.type) * magnitude;
}

namespace {

void (*const kInit)(core::DataType, void*, std::int64_t, double,
                    device::StreamView) = QUAD_CUDA_LAUNCH(launch_init);
void (*const kValidate)(core::DataType, void const*, std::int64_t, double, std::uint64_t*,
                        device::StreamView) = QUAD_CUDA_LAUNCH(launch_validate);

bool on_gpu(device::StreamView stream) {
  if (stream.device().kind() == device::Kind::host) return false;
  QUAD_REQUIRE(kInit != nullptr && kValidate != nullptr,
               "vector: this program was built without CUDA");
  return true;
}

template <class T>
void init_on_host(T* x, std::int64_t n, T value, device::StreamView stream, int threads) {
  if (threads == 0) threads = device::parallel_threads(stream);
  device::parallel_for(stream, threads, [&](std::int64_t thread) {
    core::Range const part = core::split_evenly(n, threads, thread);
    std::fill_n(x + part.first, part.count, value);
  });
}

template <class T>
std::uint64_t count_on_host(T const* x, std::int64_t n, T value, device::StreamView stream) {
  auto const differs = [&](std::int64_t i) { return std::uint64_t{!(x[i] == value)}; };
  return device::parallel_reduce(stream, n, std::uint64_t{0}, differs, std::plus{});
}

}  // namespace

void init(core::DataType type, void* x, std::int64_t n, double value, device::StreamView stream,
          int threads) {
  if (on_gpu(stream)) return kInit(type, x, n, value, stream);
  stream.run([=] {
    type == core::DataType::f64
        ? init_on_host(static_cast<double*>(x), n, value, stream, threads)
        : init_on_host(static_cast<float*>(x), n, static_cast<float>(value), stream, threads);
  });
}

void validate_serially(core::DataType type, void const* out, std::int64_t n, double value,
                       std::uint64_t* wrong, device::StreamView stream) {
  stream.run([=] {
    auto const differ = [n](auto const* x, auto expected) {
      // Written so that NaN is wrong.
      return static_cast<std::uint64_t>(
          std::count_if(x, x + n, [expected](auto element) { return !(element == expected); }));
    };
    *wrong = type == core::DataType::f64
                 ? differ(static_cast<double const*>(out), value)
                 : differ(static_cast<float const*>(out), static_cast<float>(value));
  });
}

void validate(core::DataType type, void const* out, std::int64_t n, double value,
              std::uint64_t* wrong, device::StreamView stream) {
  if (on_gpu(stream)) return kValidate(type, out, n, value, wrong, stream);
  stream.run([=] {
    *wrong +=
        type == core::DataType::f64
            ? count_on_host(static_cast<double const*>(out), n, value, stream)
            : count_on_host(static_cast<float const*>(out), n, static_cast<float>(value), stream);
  });
}

}  // namespace quadrille::kernels::vector
