// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"

namespace quadrille::device {

/// What joins two devices: the best way that there is, though a transport may take another. PCIe is
/// also that through a processor; memory is that of one node, which host devices share.
enum class Link { same_gpu, nvlink, pcie, memory, network, unknown };
constexpr auto enum_names(Link) {
  return core::EnumNames<Link, 6>{{{Link::same_gpu, "same GPU"},
                                   {Link::nvlink, "NVLink"},
                                   {Link::pcie, "PCIe"},
                                   {Link::memory, "memory"},
                                   {Link::network, "network"},
                                   {Link::unknown, "unknown"}}};
}

}  // namespace quadrille::device
