// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/cpu_share.hpp"

#include "device/host/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace quadrille::comm {
namespace {

/// The CPUs, and a line for each quota.
std::string pack(std::string const& cpus, std::vector<device::CpuQuota> const& quotas) {
  std::string text = cpus;
  for (device::CpuQuota const& quota : quotas) {
    text += fmt::format("\n{} {}", quota.cpus, quota.group);
  }
  return text;
}

CpuLimits unpack(std::string_view text) {
  std::size_t end = std::min(text.find('\n'), text.size());
  CpuLimits limits{device::cores_of(std::string{text.substr(0, end)}), {}};
  while (end < text.size()) {
    text.remove_prefix(end + 1);
    end = std::min(text.find('\n'), text.size());
    std::string_view const line = text.substr(0, end);
    device::CpuQuota& quota = limits.quotas.emplace_back();
    auto const [rest, error] = std::from_chars(line.data(), line.data() + line.size(), quota.cpus);
    quota.group.assign(rest + 1, line.data() + line.size());
  }
  return limits;
}

}  // namespace

int CpuShare::threads() const {
  double const cpus = quota > 0 ? std::min(cores, quota) : cores;
  return std::max(1, static_cast<int>(cpus));
}

CpuShare cpu_share(std::vector<CpuLimits> const& node, std::size_t rank) {
  CpuLimits const& mine = node[rank];
  std::set<int> all;
  for (CpuLimits const& other : node) all.insert(other.cores.begin(), other.cores.end());
  CpuShare share{static_cast<double>(all.size()) / static_cast<double>(node.size()), 0};
  // Those who can run nowhere else share what contains them.
  for (CpuLimits const& outer : node) {
    if (!std::ranges::includes(outer.cores, mine.cores)) continue;
    auto const sharers = std::ranges::count_if(node, [&](CpuLimits const& other) {
      return std::ranges::includes(outer.cores, other.cores);
    });
    share.cores = std::min(share.cores,
                           static_cast<double>(outer.cores.size()) / static_cast<double>(sharers));
  }
  for (device::CpuQuota const& quota : mine.quotas) {
    auto const sharers = std::ranges::count_if(node, [&](CpuLimits const& other) {
      return std::ranges::find(other.quotas, quota.group, &device::CpuQuota::group) !=
             other.quotas.end();
    });
    double const part = quota.cpus / static_cast<double>(sharers);
    share.quota = share.quota > 0 ? std::min(share.quota, part) : part;
  }
  return share;
}

CpuShare cpu_share(Group const& node, std::string const& cpus) {
  std::vector<CpuLimits> limits;
  for (std::string const& text : node.all_gather(pack(cpus, device::cpu_quotas()))) {
    limits.push_back(unpack(text));
  }
  return cpu_share(limits, static_cast<std::size_t>(node.rank()));
}

bool is_throttled(Placement const& place) {
  return place.cpu_quota > 0 && place.cpu_quota < place.threads;
}

Placement const* waiting_for_cpus(std::vector<Placement> const& ranks) {
  auto const found = std::ranges::find_if(ranks, [](Placement const& place) {
    return is_throttled(place) || (place.cores > 0 && place.cores < place.threads);
  });
  return found == ranks.end() ? nullptr : &*found;
}

std::string cpu_contention(std::vector<Placement> const& ranks) {
  Placement const* const waiting = waiting_for_cpus(ranks);
  if (waiting == nullptr) return {};
  bool const lacks_time = is_throttled(*waiting);
  return fmt::format("rank {} has {:.3g} {} for {} thread{}: {}", waiting->rank,
                     lacks_time ? waiting->cpu_quota : waiting->cores,
                     lacks_time ? "CPUs" : "cores", waiting->threads,
                     waiting->threads == 1 ? "" : "s",
                     lacks_time ? "a control group limits its CPU time" : "ranks share cores");
}

}  // namespace quadrille::comm
