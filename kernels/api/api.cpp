// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "api/api.hpp"

#include "common/variant.hpp"
#include "device/device.hpp"

namespace quadrille::kernels::api {
namespace {

void (*const kCount)(std::int64_t*, device::StreamView) = QUAD_CUDA_LAUNCH(launch_count);

}  // namespace

void count(std::int64_t* counters, device::StreamView stream) {
  QUAD_REQUIRE(counters != nullptr, "api: counters are missing");
  if (stream.device().kind() == device::Kind::cuda) {
    QUAD_REQUIRE(kCount != nullptr, "api: this program was built without CUDA");
    return kCount(counters, stream);
  }
  stream.run([counters] {
    for (int i = 0; i < kCounters; ++i) ++counters[i];
  });
}

}  // namespace quadrille::kernels::api
