// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/combine.hpp"

#include "common/variant.hpp"
#include "device/device.hpp"
#include "device/host/parallel.hpp"

#include <algorithm>

namespace quadrille::kernels {
namespace {

/// Elements of a loop that one thread runs without a break.
constexpr std::int64_t kBlock = 16 << 10;

template <class T, Combine kOp>
void combine_on_host(T const* a, T const* b, T* out, std::int64_t n, device::StreamView stream) {
  device::parallel_for(stream, (n + kBlock - 1) / kBlock, [=](std::int64_t block) {
    std::int64_t const last = std::min(n, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < last; ++i) out[i] = combine_element<kOp>(a[i], b[i]);
  });
}

}  // namespace

void combine(void const* a, void const* b, void* out, std::int64_t n, core::DataType type,
             Combine op, device::StreamView stream) {
  if (stream.device().kind() == device::Kind::host) {
    return stream.run([=] {
      visit_combine(type, op, [&]<class T, Combine kOp>() {
        combine_on_host<T, kOp>(static_cast<T const*>(a), static_cast<T const*>(b),
                                static_cast<T*>(out), n, stream);
      });
    });
  }
  decltype(&launch_combine) const launch = QUAD_CUDA_LAUNCH(launch_combine);
  QUAD_REQUIRE(launch != nullptr, "combine: this program was built without CUDA");
  launch(a, b, out, n, type, op, stream);
}

}  // namespace quadrille::kernels
