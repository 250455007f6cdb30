// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kernel_text.hpp"

#include "device/occupancy.hpp"

#include <fmt/format.h>

#include <cinttypes>
#include <cstdio>

namespace quadrille::device {
namespace {

/// Between a kernel's name, which may have any text in its brackets, and its launch.
constexpr std::string_view kBehindName = ": grid ";

double product(std::array<std::int64_t, 3> const& n) {
  return static_cast<double>(n[0] * n[1] * n[2]);
}

}  // namespace

std::string launch_text(std::string_view name, std::array<std::int64_t, 3> const& grid,
                        std::array<std::int64_t, 3> const& block) {
  return fmt::format("{}{}{}x{}x{}, block {}x{}x{}", name, kBehindName, grid[0], grid[1], grid[2],
                     block[0], block[1], block[2]);
}

std::string to_text(KernelFacts const& kernel, Facts const& device) {
  double const at_once = static_cast<double>(kernel.resident_blocks) * device.multiprocessors;
  Multiprocessor const offered = multiprocessor(device.compute_capability);
  std::string text = fmt::format("{}, {} registers, {} B shared, {} blocks a multiprocessor",
                                 launch_text(kernel.name, kernel.grid, kernel.block),
                                 kernel.registers, kernel.shared_bytes, kernel.resident_blocks);
  if (offered.threads > 0) {
    text += fmt::format(" ({:.0f} % of its threads)",
                        100 * kernel.resident_blocks * product(kernel.block) / offered.threads);
  }
  if (at_once > 0) text += fmt::format(", {:.2f} waves", product(kernel.grid) / at_once);
  if (kernel.local_bytes > 0) text += fmt::format(", {} B of local memory", kernel.local_bytes);
  return text;
}

std::optional<KernelFacts> kernel_from_text(std::string_view text) {
  std::size_t const behind = text.rfind(kBehindName);
  if (behind == text.npos) return {};
  KernelFacts kernel;
  kernel.name = text.substr(0, behind);
  std::string const launch{text.substr(behind + kBehindName.size())};
  auto& [gx, gy, gz] = kernel.grid;
  auto& [bx, by, bz] = kernel.block;
  int const read =
      std::sscanf(launch.c_str(),
                  "%" SCNd64 "x%" SCNd64 "x%" SCNd64 ", block %" SCNd64 "x%" SCNd64 "x%" SCNd64
                  ", %d registers, %zu B shared, %d blocks a multiprocessor",
                  &gx, &gy, &gz, &bx, &by, &bz, &kernel.registers, &kernel.shared_bytes,
                  &kernel.resident_blocks);
  return read == 9 ? std::optional{kernel} : std::nullopt;
}

}  // namespace quadrille::device
