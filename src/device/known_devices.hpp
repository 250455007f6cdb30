// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::device {

/// A kind of device that inputs name and plans are made for, whether it is here or not.
struct KnownDevice {
  std::string_view name;
  std::string_view architecture;  ///< to compile kernels for; "" of a host
  /// Of one device. Of the host: two cores, those of all ranks together.
  Facts facts;

  Kind kind() const { return architecture.empty() ? Kind::host : Kind::cuda; }
};

/// That of the only one that is no GPU.
inline constexpr std::string_view kHostName = "host";

std::span<KnownDevice const> known_devices();
std::vector<std::string> names_of_known_devices();
/// nullptr where none has the name.
KnownDevice const* known_device(std::string_view name);
/// The kind that a GPU is of, by what it has; nullptr where none is like it.
KnownDevice const* known_device_like(Facts const& gpu);

/// One of its kind for plans alone, shared by `ranks` ranks if it is the host. Of a GPU for which this
/// program has no kernels, the plan is that of a program with them. Whatever would do work ends the job.
std::unique_ptr<Device> make_planned_device(KnownDevice const& known, int ranks);

}  // namespace quadrille::device
