// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"

#include <iterator>

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

/// The link of a GPU to its host. Zeros where the platform does not tell.
struct PcieLink {
  int generation = 0, width = 0;          ///< now: an idle link may be at a lower generation
  int max_generation = 0, max_width = 0;  ///< of the GPU and its slot together

  /// Bytes/s in each direction, headers of packets included, at the highest generation and the width
  /// that the link has now; 0 unknown.
  constexpr double peak_bandwidth() const {
    // Transfers per second of a lane by generation, and the share of its bits that are not coding.
    constexpr double kLaneBits[] = {0,
                                    2.5e9 * 8 / 10,
                                    5e9 * 8 / 10,
                                    8e9 * 128 / 130,
                                    16e9 * 128 / 130,
                                    32e9 * 128 / 130,
                                    64e9 * 242 / 256};
    bool const is_known =
        max_generation > 0 && max_generation < static_cast<int>(std::size(kLaneBits));
    return is_known ? width * kLaneBits[max_generation] / 8 : 0;
  }
};

}  // namespace quadrille::device
