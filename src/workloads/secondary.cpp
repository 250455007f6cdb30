// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/secondary.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace quadrille::workloads {

std::vector<measure::SecondaryMetric> global_metrics(kernels::Accesses const& accesses,
                                                     kernels::AskedBytes const& bytes) {
  std::vector<measure::SecondaryMetric> all;
  auto const add = [&](std::string name, auto amount, std::string unit) {
    all.push_back({.name = std::move(name),
                   .amount = static_cast<double>(amount),
                   .unit = std::move(unit),
                   .is_detail = true});
  };
  kernels::Requests const& loads = accesses.global_loads;
  kernels::Requests const& stores = accesses.global_stores;
  add("global memory, asked", bytes.global(), "B");
  add("global memory, requests read", loads.requests, "requests");
  add("global memory, requests written", stores.requests, "requests");
  add("global memory, sectors read", loads.parts, "sectors");
  add("global memory, sectors written", stores.parts, "sectors");
  return all;
}

std::vector<measure::SecondaryMetric> sector_metrics(kernels::Accesses const& accesses) {
  auto const each = [](std::string name, kernels::Requests const& of) {
    return measure::SecondaryMetric{
        std::move(name),
        static_cast<double>(of.parts) / static_cast<double>(std::max<std::int64_t>(1, of.requests)),
        "sectors"};
  };
  return {each("sectors per request, read", accesses.global_loads),
          each("sectors per request, written", accesses.global_stores)};
}

}  // namespace quadrille::workloads
