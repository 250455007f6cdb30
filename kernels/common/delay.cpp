// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/delay.hpp"

#include "common/variant.hpp"
#include "device/device.hpp"

#include <chrono>
#include <thread>

namespace quadrille::kernels {

void delay(double seconds, device::StreamView stream) {
  if (stream.device().kind() == device::Kind::host) {
    return stream.run(
        [seconds] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); });
  }
  void (*const launch)(std::uint64_t, device::StreamView) = QUAD_CUDA_LAUNCH(launch_delay);
  QUAD_REQUIRE(launch != nullptr, "delay: this program was built without CUDA");
  launch(static_cast<std::uint64_t>(seconds * 1e9), stream);
}

}  // namespace quadrille::kernels
