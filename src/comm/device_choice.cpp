// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/device_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace quadrille::comm {
namespace {

/// As CUDA writes addresses: lower case, a domain of four digits, which people may leave out or
/// write with eight.
std::string plain_pci(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  auto const colons = std::ranges::count(text, ':');
  if (colons == 1) return "0000:" + text;
  if (colons == 2 && text.find(':') == 8 && text.starts_with("0000")) return text.substr(4);
  return text;
}

std::optional<int> find_gpu(std::string const& entry, std::span<GpuName const> visible) {
  for (std::size_t i = 0; i < visible.size(); ++i) {
    GpuName const& gpu = visible[i];
    if (entry == fmt::format("{}", i) || entry == gpu.uuid || plain_pci(entry) == gpu.pci) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

std::string list_of(std::span<GpuName const> visible) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < visible.size(); ++i) {
    names.push_back(fmt::format("{} ({}, {})", i, visible[i].uuid, visible[i].pci));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

core::Parsed<int> choose_by_map(core::RunSettings const& settings, std::span<GpuName const> visible,
                                std::size_t local_rank, std::size_t local_size) {
  using Out = core::Parsed<int>;
  std::vector<std::string> const& map = settings.device_map;
  std::vector<int> found;
  for (std::string const& entry : map) {
    std::optional<int> const gpu = find_gpu(entry, visible);
    if (!gpu) {
      return Out::error(fmt::format("device_map: there is no GPU '{}'; visible here: {}", entry,
                                    list_of(visible)));
    }
    auto const earlier = std::ranges::find(found, *gpu);
    if (earlier != found.end() && !settings.allow_shared_gpu) {
      return Out::error(
          fmt::format("device_map: '{}' and '{}' are the same GPU; list each once, or "
                      "pass --allow-shared-gpu",
                      map[static_cast<std::size_t>(earlier - found.begin())], entry));
    }
    found.push_back(*gpu);
  }
  if (found.size() < local_size) {
    return Out::error(
        fmt::format("device_map lists {} GPUs for {} ranks on this node; list one for "
                    "each, or start fewer ranks per node",
                    found.size(), local_size));
  }
  return found[local_rank];
}

}  // namespace

core::Parsed<int> choose_gpu(core::RunSettings const& settings, std::span<GpuName const> visible,
                             int local_rank, int local_size) {
  if (!settings.device_map.empty()) {
    return choose_by_map(settings, visible, static_cast<std::size_t>(local_rank),
                         static_cast<std::size_t>(local_size));
  }
  auto const count = static_cast<int>(visible.size());
  if (count == 1) return 0;
  if (local_rank < count) return local_rank;
  if (settings.allow_shared_gpu) return local_rank % count;
  return core::Parsed<int>::error(fmt::format(
      "local rank {} has no GPU of its own: {} ranks on this node, {} GPUs; start fewer "
      "ranks per node or pass --allow-shared-gpu",
      local_rank, local_size, count));
}

}  // namespace quadrille::comm
