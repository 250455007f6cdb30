// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/gpu_settings.hpp"

#include <fmt/format.h>

namespace quadrille::device {
namespace {

constexpr char kNotTold[] = "not told";

std::string on_or_off(std::optional<bool> is_on) {
  if (!is_on) return kNotTold;
  return *is_on ? "on" : "off";
}

std::string watts(std::optional<double> limit) {
  return limit ? fmt::format("{:.0f} W", *limit) : kNotTold;
}

std::string replaced_memory(GpuSettings const& settings) {
  if (settings.retired_pages) return fmt::format("{} retired pages", *settings.retired_pages);
  auto const& rows = settings.remapped_rows;
  if (!rows) return kNotTold;
  return fmt::format("{} remapped rows after corrected and {} after uncorrected errors{}{}",
                     rows->corrected, rows->uncorrected, rows->is_pending ? ", more pending" : "",
                     rows->has_failed ? ", no spare row left" : "");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> facts_of(GpuSettings const& settings) {
  PcieLink const& pcie = settings.pcie;
  return {
      {"power limit", watts(settings.power_limit_w)},
      {"default power limit", watts(settings.default_power_limit_w)},
      {"persistence", on_or_off(settings.is_persistent)},
      {"ECC", on_or_off(settings.corrects_errors)},
      {"recovery action",
       settings.recovery ? std::string{core::to_text(*settings.recovery)} : kNotTold},
      {"replaced memory", replaced_memory(settings)},
      {"PCIe", pcie.width == 0 ? kNotTold
                               : fmt::format("generation {} of {}, {} of {} lanes", pcie.generation,
                                             pcie.max_generation, pcie.width, pcie.max_width)},
      {"NVLink", settings.nvlinks == 0
                     ? "none, or not told"
                     : fmt::format("{} of {} links up", settings.nvlinks_up, settings.nvlinks)},
  };
}

std::string line_of(GpuSettings const& settings) {
  std::string line;
  for (auto const& [name, value] : facts_of(settings)) {
    line += fmt::format("{}{} {}", line.empty() ? "" : "; ", name, value);
  }
  return line;
}

}  // namespace quadrille::device
