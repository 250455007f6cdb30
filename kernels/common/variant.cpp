// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/variant.hpp"

#include "core/units.hpp"
#include "device/device.hpp"
#include "device/occupancy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace quadrille::kernels {

std::string to_text(Types const& types) {
  std::string text{core::to_text(types.in)};
  bool const is_usual = types.compute == core::compute_for(types.in);
  if (!is_usual || types.out != types.in) text += fmt::format(":{}", core::to_text(types.compute));
  if (types.out != types.in) text += fmt::format(":{}", core::to_text(types.out));
  return text;
}

namespace {

std::string capability(int times_ten) {
  return fmt::format("{}.{}", times_ten / 10, times_ten % 10);
}

std::string bytes_text(std::size_t bytes) { return core::format_bytes(static_cast<double>(bytes)); }

std::string architecture(int times_ten, bool is_exact) {
  return fmt::format("sm_{}{}", times_ten, is_exact ? "a" : "");
}

/// Why the architecture of a GPU, or of the kernels for it, is not enough; empty where it is.
std::string architecture_reason(Requirements const& needs, device::Facts const& device) {
  int const needed = needs.compute_capability;
  bool const is_exact = needs.exact_capability;
  int const there = device.compute_capability;
  if (is_exact ? there != needed : there < needed) {
    return fmt::format("needs compute capability {}{}, this device has {}", capability(needed),
                       is_exact ? " exactly" : "", capability(there));
  }
  device::Multiprocessor const offered = device::multiprocessor(there);
  std::size_t const most = offered.shared_bytes - offered.shared_reserved;
  if (most > 0 && most < needs.shared_bytes) {
    return fmt::format("needs {} of shared memory for a block, this device has {}",
                       bytes_text(needs.shared_bytes), bytes_text(most));
  }
  device::CodeArchitecture const& code = device.code;
  if (code.compute_capability >= std::max(needed, 1) && (!is_exact || code.exact)) return {};
  int const wanted = needed > 0 ? needed : there;
  return fmt::format(
      "needs kernels for sm_{0}{1}, this program has {2} for this device; configure it with "
      "-DQUADRILLE_CUDA_ARCHITECTURES={0}{1}",
      wanted, is_exact ? "a" : "",
      code.compute_capability == 0
          ? "none"
          : "those of " + architecture(code.compute_capability, code.exact));
}

std::vector<std::string> words_of(Layouts const& layouts) {
  std::vector<std::string> words;
  for (auto const& [layout, word] : enum_names(Layout{})) {
    if (layouts.contains(layout)) words.emplace_back(word);
  }
  return words;
}

std::string not_built(VariantInfo const& variant) {
  return fmt::format("needs {}; this program was built without it",
                     variant.lacks.empty() ? "CUDA" : variant.lacks);
}

constexpr std::int64_t kMaxTiles = std::numeric_limits<int>::max() - 1;  // Kokkos takes no more

bool has_too_many(TileShape const& tile, device::MatrixView const& view) {
  if (tile.rows == 0) return false;
  std::int64_t const down = (view.rows + tile.rows - 1) / tile.rows;
  std::int64_t const across = (view.cols + tile.cols - 1) / tile.cols;
  return down > 0 && across > kMaxTiles / down;
}

/// What one operand of a problem keeps a variant from; empty where nothing does.
std::string operand_reason(Requirements const& needs, Operand const& operand) {
  device::MatrixView const& view = operand.view;
  auto const too_large = [&](std::string_view what, std::int64_t extent, std::int64_t most) {
    return fmt::format("takes {} up to {}, that of {} is {}", what, most, operand.name, extent);
  };
  if (view.rows > needs.max_extent)
    return too_large("a number of rows", view.rows, needs.max_extent);
  if (view.cols > needs.max_extent)
    return too_large("a number of columns", view.cols, needs.max_extent);
  if (view.ld > needs.max_ld) return too_large("a leading dimension", view.ld, needs.max_ld);
  auto const width = static_cast<std::int64_t>(core::size_of(view.type));
  if (view.cols * width % needs.row_bytes != 0 || view.ld * width % needs.row_bytes != 0) {
    return fmt::format(
        "needs columns and leading dimensions in multiples of {}, {} has {} columns, leading "
        "dimension {}",
        std::max<std::int64_t>(1, needs.row_bytes / width), operand.name, view.cols, view.ld);
  }
  if (view.ld * width % needs.ld_bytes != 0) {
    return fmt::format("needs leading dimensions in multiples of {}, that of {} is {}",
                       std::max<std::int64_t>(1, needs.ld_bytes / width), operand.name, view.ld);
  }
  if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<unsigned>(needs.alignment) != 0) {
    return fmt::format("needs {} aligned to {} bytes", operand.name, needs.alignment);
  }
  return {};
}

}  // namespace

std::string to_text(Requirements const& needs) {
  std::vector<std::string> parts;
  if (needs.compute_capability > 0) {
    parts.push_back(architecture(needs.compute_capability, needs.exact_capability));
  }
  if (needs.multiprocessors > 0) {
    parts.push_back(fmt::format("{} multiprocessors to itself", needs.multiprocessors));
  }
  if (needs.shared_bytes > 0) {
    parts.push_back(fmt::format("{} of shared memory", bytes_text(needs.shared_bytes)));
  }
  std::vector<std::string> const layouts = words_of(needs.layouts);
  if (layouts.size() < enum_names(Layout{}).size()) {
    parts.push_back(fmt::format("layout {}", fmt::join(layouts, " ")));
  }
  if (needs.row_bytes > 1) parts.push_back(fmt::format("rows of whole {} bytes", needs.row_bytes));
  if (needs.ld_bytes > 1) {
    parts.push_back(fmt::format("leading dimensions of whole {} bytes", needs.ld_bytes));
  }
  if (needs.alignment > 1) parts.push_back(fmt::format("aligned to {} bytes", needs.alignment));
  if (needs.max_extent < kAnyExtent) {
    parts.push_back(fmt::format("extents up to {}", needs.max_extent));
  }
  if (needs.max_ld < kAnyExtent) {
    parts.push_back(fmt::format("leading dimensions up to {}", needs.max_ld));
  }
  if (needs.max_rows < kAnyExtent) parts.push_back(fmt::format("rows up to {}", needs.max_rows));
  if (needs.tile.rows > 0) {
    parts.push_back(
        fmt::format("up to {} tiles of {} x {}", kMaxTiles, needs.tile.rows, needs.tile.cols));
  }
  if (!needs.other.empty()) parts.emplace_back(needs.other);
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

bool VariantInfo::supports(core::DataType type) const {
  return std::ranges::any_of(types, [&](Types const& one) { return one.in == type; });
}

bool VariantInfo::runs_on(device::Kind kind) const {
  switch (where) {
    case Where::any: return true;
    case Where::host: return kind == device::Kind::host;
    case Where::cuda: return kind == device::Kind::cuda;
    case Where::kokkos:
#ifdef QUADRILLE_KOKKOS_CUDA
      return true;
#else
      return kind == device::Kind::host;
#endif
  }
  return false;
}

bool VariantInfo::is_built() const {
  if (where != Where::cuda) return true;
#ifdef QUADRILLE_CUDA_TOOLKIT
  constexpr bool kHasToolkit = true;
#else
  constexpr bool kHasToolkit = false;
#endif
#ifdef QUADRILLE_CUDA_KERNELS
  constexpr bool kHasKernels = true;
#else
  constexpr bool kHasKernels = false;
#endif
  return role == Role::vendor ? kHasToolkit && lacks.empty() : kHasKernels;
}

std::string unsupported_reason(VariantInfo const& variant, device::Kind kind,
                               device::Facts const& device) {
  if (!variant.runs_on(kind)) {
    if (!variant.is_built()) return not_built(variant);
    return fmt::format("runs on {} devices", kind == device::Kind::host ? "cuda" : "host");
  }
  if (!variant.lacks.empty()) return not_built(variant);
  Requirements const& needs = variant.needs;
  if (kind == device::Kind::cuda) {
    std::string reason = architecture_reason(needs, device);
    if (!reason.empty()) return reason;
  }
  if (device.multiprocessors < needs.multiprocessors) {
    return fmt::format("needs {} multiprocessors to itself, this device has {}",
                       needs.multiprocessors, device.multiprocessors);
  }
  return {};
}

std::string unsupported_reason(VariantInfo const& variant, device::StreamView stream) {
  if (!variant.is_built()) return not_built(variant);
  return unsupported_reason(variant, stream.device().kind(), stream.facts());
}

std::string unsupported_reason(VariantInfo const& variant, ProblemFacts const& problem) {
  if (std::ranges::find(variant.types, problem.types) == variant.types.end()) {
    return fmt::format("has no type {}", to_text(problem.types));
  }
  Requirements const& needs = variant.needs;
  if (!needs.layouts.contains(problem.layout)) {
    return fmt::format("takes layout {}, not {}", fmt::join(words_of(needs.layouts), ", "),
                       core::to_text(problem.layout));
  }
  for (Operand const& operand : problem.inputs) {
    std::string reason = operand.name.empty() ? "" : operand_reason(needs, operand);
    if (!reason.empty()) return reason;
  }
  std::string reason = operand_reason(needs, problem.result);
  if (!reason.empty()) return reason;
  if (problem.result.view.rows > needs.max_rows) {
    return fmt::format("takes a number of rows up to {}, that of {} is {}", needs.max_rows,
                       problem.result.name, problem.result.view.rows);
  }
  if (has_too_many(needs.tile, problem.result.view)) {
    return fmt::format("takes at most {} tiles of {} x {}, {} is {} x {}", kMaxTiles,
                       needs.tile.rows, needs.tile.cols, problem.result.name,
                       problem.result.view.rows, problem.result.view.cols);
  }
  return {};
}

}  // namespace quadrille::kernels
