// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/finding.hpp"

#include "core/units.hpp"

#include <fmt/format.h>

namespace quadrille::commands {

std::vector<Finding> findings_of(device::HostSettings const& settings, int nodes) {
  std::vector<Finding> found;
  if (settings.governors.empty()) {
    found.push_back({Status::note, "governor", "of frequencies: none here, or not shown"});
  } else if (settings.governors == "performance") {
    found.push_back({Status::ok, "governor", settings.governors});
  } else {
    found.push_back({Status::warn, "governor",
                     settings.governors + ": the first repetitions may run at a low clock",
                     "cpupower frequency-set --governor performance"});
  }
  found.push_back({Status::note, "smt",
                   fmt::format("{} hardware thread{} for each core", settings.threads_per_core,
                               settings.threads_per_core == 1 ? "" : "s")});
  if (!settings.memlock_bytes) {
    found.push_back({Status::ok, "memlock", "no limit of locked memory"});
  } else {
    // Within a node nothing is registered with a network.
    bool const matters = nodes > 1;
    found.push_back({matters ? Status::warn : Status::note, "memlock",
                     fmt::format("{} may be locked, where networks with RDMA need no limit",
                                 core::format_bytes(static_cast<double>(*settings.memlock_bytes))),
                     matters ? "ulimit -l unlimited, or LimitMEMLOCK=infinity of the batch "
                               "system's service"
                             : ""});
  }
  return found;
}

std::vector<Finding> findings_of(device::GpuSettings const& settings) {
  std::vector<Finding> found;
  device::PcieLink const& link = settings.pcie;
  if (settings.corrects_errors) {
    bool const is_on = *settings.corrects_errors;
    found.push_back({is_on ? Status::ok : Status::warn, "ecc",
                     is_on ? "on" : "off: errors of the memory go unnoticed",
                     is_on ? "" : "nvidia-smi --ecc-config=1, and reboot"});
  }
  if (settings.is_persistent) {
    bool const is_on = *settings.is_persistent;
    found.push_back({is_on ? Status::ok : Status::warn, "persistence",
                     is_on ? "on" : "off: the driver starts anew with each program",
                     is_on ? "" : "start nvidia-persistenced"});
  }
  if (settings.power_limit_w && settings.default_power_limit_w) {
    double const limit = *settings.power_limit_w, usual = *settings.default_power_limit_w;
    bool const is_lowered = limit < 0.99 * usual;
    found.push_back({is_lowered ? Status::warn : Status::ok, "power",
                     fmt::format("limited to {:.0f} W, by default {:.0f} W", limit, usual),
                     is_lowered ? fmt::format("nvidia-smi --power-limit={:.0f}", usual) : ""});
  }
  if (settings.recovery) {
    bool const is_none = *settings.recovery == device::Recovery::none;
    found.push_back({is_none ? Status::ok : Status::warn, "recovery",
                     is_none
                         ? "the driver asks for none"
                         : fmt::format("the driver asks to {}", core::to_text(*settings.recovery)),
                     is_none ? "" : "take the node out of service, and do so"});
  }
  if (auto const& rows = settings.remapped_rows) {
    bool const is_sound = !rows->is_pending && !rows->has_failed;
    found.push_back({is_sound ? Status::ok : Status::warn, "memory",
                     rows->has_failed ? "a row with errors has no spare one"
                     : rows->is_pending
                         ? "a row with errors is in use until the GPU is reset"
                         : fmt::format("{} rows remapped", rows->corrected + rows->uncorrected),
                     is_sound           ? ""
                     : rows->has_failed ? "replace the GPU"
                                        : "nvidia-smi --gpu-reset"});
  }
  if (link.width > 0 && link.max_width > 0) {
    bool const is_whole = link.width == link.max_width;
    found.push_back({is_whole ? Status::ok : Status::warn, "pcie",
                     fmt::format("{} of {} lanes, up to generation {}", link.width, link.max_width,
                                 link.max_generation),
                     is_whole ? "" : "check the slot and the riser of this GPU"});
  }
  if (settings.nvlinks > 0) {
    // All are down where no bridge or switch joins this GPU to others.
    bool const are_up = settings.nvlinks_up == settings.nvlinks || settings.nvlinks_up == 0;
    found.push_back({are_up ? Status::ok : Status::warn, "nvlink",
                     fmt::format("{} of {} links up", settings.nvlinks_up, settings.nvlinks),
                     are_up ? "" : "nvidia-smi nvlink --status, and the fabric manager's log"});
  }
  return found;
}

}  // namespace quadrille::commands
