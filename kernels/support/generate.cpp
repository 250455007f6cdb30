// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/generate.hpp"

#include "common/variant.hpp"
#include "device/host/parallel.hpp"

#include <algorithm>
#include <functional>

namespace quadrille::kernels::generate {
namespace {

void (*const kFill)(Problem const&, device::StreamView) = QUAD_CUDA_LAUNCH(launch_fill);
void (*const kCompare)(Problem const&, Differences*,
                       device::StreamView) = QUAD_CUDA_LAUNCH(launch_compare);
void (*const kDigest)(device::MatrixView const&, std::uint64_t*,
                      device::StreamView) = QUAD_CUDA_LAUNCH(launch_digest);

/// In pieces of rows, so that threads share a vector too. In a task of the stream.
std::uint64_t digest_on_host(device::MatrixView const& data, device::StreamView stream) {
  constexpr std::int64_t kPiece = 1 << 16;
  std::int64_t const pieces = (data.cols + kPiece - 1) / kPiece;  // of each row
  auto const of_piece = [&](std::int64_t at) {
    std::int64_t const i = at / pieces;
    std::int64_t const first = at % pieces * kPiece;
    std::int64_t const end = std::min(first + kPiece, data.cols);
    std::uint64_t sum = 0;
    visit_bits(data.type, [&](auto zero) {
      using Bits = decltype(zero);
      auto const* const row = static_cast<Bits const*>(data.data) + i * data.ld;
      for (std::int64_t j = first; j < end; ++j) sum += digest_term(row[j], i * data.cols + j);
    });
    return sum;
  };
  return device::parallel_reduce(stream, data.rows * pieces, std::uint64_t{0}, of_piece,
                                 std::plus<>{});
}

void require_usable(device::MatrixView const& data) {
  QUAD_REQUIRE(kFill != nullptr && kCompare != nullptr && kDigest != nullptr,
               "generate: this program was built without CUDA");
  QUAD_REQUIRE(data.rows >= 0 && data.cols >= 0 && data.ld >= data.cols,
               "generate: extents and leading dimension do not fit together");
}

}  // namespace

void fill(Problem const& problem, device::StreamView stream) {
  require_usable(problem.data);
  if (problem.data.rows > 0 && problem.data.cols > 0) kFill(problem, stream);
}

void compare(Problem const& problem, Differences* found, device::StreamView stream) {
  require_usable(problem.data);
  if (problem.data.rows > 0 && problem.data.cols > 0) kCompare(problem, found, stream);
}

void digest(device::MatrixView const& data, std::uint64_t* sum, device::StreamView stream) {
  if (data.rows == 0 || data.cols == 0) return;
  if (stream.device().kind() == device::Kind::host) {
    return stream.run([data, sum, stream] { *sum += digest_on_host(data, stream); });
  }
  require_usable(data);
  kDigest(data, sum, stream);
}

}  // namespace quadrille::kernels::generate
