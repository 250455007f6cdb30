// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport.hpp"

namespace quadrille::comm {

std::string why_no_nccl() { return "built without CUDA or NCCL; configure where both are found"; }

std::unique_ptr<Transport> make_nccl_transport(device::Device&, TransportOptions) {
  core::fail("transport nccl: " + why_no_nccl(), core::Exit::environment);
}

}  // namespace quadrille::comm
