// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/kernel_test.hpp"

namespace quadrille::test {

KernelMode kernel_mode() { return KernelMode::gpu; }

device::Device& kernel_device() {
  static std::unique_ptr<device::Device> const device = device::make_cuda_device(0);
  return *device;
}

void on_every_schedule(std::function<void(device::Device&, device::StreamView)> const& body) {
  device::Stream const stream{kernel_device()};
  body(kernel_device(), stream);
  stream.view().synchronize();
}

bool finds_races() { return false; }

}  // namespace quadrille::test
