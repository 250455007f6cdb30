// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "device/gpu_settings.hpp"
#include "device/host/settings.hpp"
#include "device/link.hpp"

#include <string>
#include <vector>

namespace quadrille::commands {

enum class Status { note, ok, warn, fail };
constexpr auto enum_names(Status) {
  return core::EnumNames<Status, 4>{
      {{Status::note, "-"}, {Status::ok, "ok"}, {Status::warn, "WARN"}, {Status::fail, "FAIL"}}};
}

/// What the doctor has found: a row of its table, on the screen and in the document.
struct Finding {
  Status status = Status::ok;
  std::string name;
  std::string text;
  std::string remedy =
      {};  ///< a line for the shell, or what to change; empty where nothing is wrong
};

/// Of a machine on which `nodes` such take part.
std::vector<Finding> findings_of(device::HostSettings const& settings, int nodes);
std::vector<Finding> findings_of(device::GpuSettings const& settings);

}  // namespace quadrille::commands
