// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/code_architecture.hpp"

#include <fmt/format.h>

#include <charconv>
#include <tuple>

namespace quadrille::device {
namespace {

/// One entry of the list.
struct Compiled {
  int number = 0;
  char suffix = 0;  ///< a: this one alone; f: its family; else 0
  bool is_real = true;
  bool is_virtual = true;

  bool has_machine_code_for(int capability) const {
    if (suffix == 'a') return is_real && capability == number;
    return is_real && capability >= number && capability / 10 == number / 10;
  }
  bool has_ptx_for(int capability) const {
    if (suffix == 'a') return is_virtual && capability == number;
    bool const in_family = suffix != 'f' || capability / 10 == number / 10;
    return is_virtual && in_family && capability >= number;
  }
};

Compiled parsed(std::string_view entry) {
  Compiled compiled;
  if (entry.ends_with("-real")) compiled.is_virtual = false;
  if (entry.ends_with("-virtual")) compiled.is_real = false;
  entry = entry.substr(0, entry.find('-'));
  char const* const end = entry.data() + entry.size();
  auto const [rest, status] = std::from_chars(entry.data(), end, compiled.number);
  QUAD_REQUIRE(status == std::errc{} && compiled.number > 0,
               "an architecture that the kernels were compiled for is no number");
  if (rest != end) compiled.suffix = *rest;
  return compiled;
}

}  // namespace

CodeArchitecture code_for(std::string_view architectures, int compute_capability) {
  CodeArchitecture best;
  std::tuple<bool, int, bool> best_rank{};
  while (!architectures.empty()) {
    std::size_t const comma = architectures.find(',');
    Compiled const one = parsed(architectures.substr(0, comma));
    architectures.remove_prefix(comma == std::string_view::npos ? architectures.size() : comma + 1);
    bool const is_machine_code = one.has_machine_code_for(compute_capability);
    if (!is_machine_code && !one.has_ptx_for(compute_capability)) continue;
    // Of 90 and 90a nobody says which one the driver takes: what both have can be relied on.
    bool const is_exact = one.suffix == 'a';
    std::tuple const rank{is_machine_code, one.number, !is_exact};
    if (rank < best_rank) continue;
    best_rank = rank;
    best = {one.number, is_exact};
  }
  return best;
}

std::string missing_code_reason(Facts const& gpu) {
  if (gpu.code.compute_capability > 0) return {};
  return fmt::format(
      "GPU {} ({}, compute capability {}.{}): this program has no kernels for it; configure it "
      "with "
      "-DQUADRILLE_CUDA_ARCHITECTURES={}, or set run.device = \"host\"",
      gpu.index, gpu.name, gpu.compute_capability / 10, gpu.compute_capability % 10,
      gpu.compute_capability);
}

}  // namespace quadrille::device
