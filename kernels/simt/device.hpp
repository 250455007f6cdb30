// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <memory>

namespace quadrille::simt {

/// A small GPU of Kind::cuda on which kernels are interpreted. Streams execute each call at once;
/// memory has guard zones. One thread only.
std::unique_ptr<device::Device> make_device();

}  // namespace quadrille::simt
