// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline.hpp"

#include "common/variant.hpp"
#include "device/device.hpp"

namespace quadrille::kernels::pipeline {
namespace {

void (*const kIntegrate)(Interval const&, device::StreamView) = QUAD_CUDA_LAUNCH(launch_integrate);
void (*const kAddUp)(double const*, std::int64_t, double*, Into,
                     device::StreamView) = QUAD_CUDA_LAUNCH(launch_add_up);

bool on_gpu(device::StreamView stream) {
  if (stream.device().kind() == device::Kind::host) return false;
  QUAD_REQUIRE(kIntegrate != nullptr && kAddUp != nullptr,
               "pipeline: this program was built without CUDA");
  return true;
}

}  // namespace

void integrate(Interval const& interval, device::StreamView stream) {
  QUAD_REQUIRE(interval.cells >= 0, "pipeline: cells is negative");
  QUAD_REQUIRE(interval.type == core::DataType::f64 || interval.type == core::DataType::f32,
               "pipeline: takes f64 and f32 only");
  QUAD_REQUIRE(interval.count >= 1 && interval.count < (std::int64_t{1} << 31) &&
                   interval.partials != nullptr,
               "pipeline: 1 to 2^31 - 1 partial sums need memory; lower size");
  on_gpu(stream) ? kIntegrate(interval, stream) : launch_integrate_host(interval, stream);
}

void add_up(double const* values, std::int64_t n, double* sum, Into into,
            device::StreamView stream) {
  QUAD_REQUIRE(n >= 0 && sum != nullptr && (n == 0 || values != nullptr),
               "pipeline: values or sum is missing");
  on_gpu(stream) ? kAddUp(values, n, sum, into, stream)
                 : launch_add_up_host(values, n, sum, into, stream);
}

}  // namespace quadrille::kernels::pipeline
