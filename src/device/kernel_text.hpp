// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/kernel_facts.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quadrille::device {

/// A launch as a result has it: "gemm_naive_kernel<float>: grid 128x128x1, block 32x32x1, 40 registers,
/// 0 B shared, 2 blocks a multiprocessor (100 % of its threads), 62.06 waves".
std::string to_text(KernelFacts const& kernel, Facts const& device);
/// What of it such a text says exactly: all but spilled registers and the modelled blocks. Nothing where
/// it is none.
std::optional<KernelFacts> kernel_from_text(std::string_view text);
/// How the text of a launch begins.
std::string launch_text(std::string_view name, std::array<std::int64_t, 3> const& grid,
                        std::array<std::int64_t, 3> const& block);

}  // namespace quadrille::device
