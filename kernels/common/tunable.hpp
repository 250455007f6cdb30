// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "core/units.hpp"
#include "device/occupancy.hpp"
#include "device/views.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::kernels {

/// A value for each parameter of a tunable kernel, in their order. Without values: the variant's own
/// choice.
struct Configuration {
  std::array<int, 12> values{};
  std::size_t count = 0;

  constexpr Configuration() = default;
  template <class... Ints>
  constexpr explicit Configuration(int first, Ints... more)
      : values{first, more...}, count{1 + sizeof...(more)} {}
  constexpr int operator[](std::size_t i) const { return values[i]; }
  constexpr bool is_empty() const { return count == 0; }
  constexpr bool operator==(Configuration const&) const = default;
};

/// A template parameter of a kernel and the values that are tried, of those that the kernel allows.
struct TunedParameter {
  std::string_view name;
  std::span<int const> values;
  std::span<std::string_view const> words = {};  ///< for 0, 1 and so on, where these are no numbers
};

/// What a kernel is compiled for beside its configuration.
struct ProblemKind {
  Types types{};
  Layout layout = Layout::nn;
};

/// What tuning knows of a kernel whose template has parameters: a row of VariantInfo points to it, and
/// it stands beside the kernel. A configuration is legal for a kind of problems where `needs` knows it
/// and a block of it fits on a multiprocessor.
struct Tunable {
  std::string_view header;  ///< of the kernel, below kernels/
  /// The kernel as C++ names it behind this header: "ns::kernel<128, 64>".
  std::string (*kernel)(Configuration const& configuration, ProblemKind const& kind);
  std::span<TunedParameter const> parameters;
  std::string_view rule;  ///< for people: which configurations the kernel allows
  /// What a block takes, registers estimated; nothing where the kernel does not allow the
  /// configuration.
  std::optional<device::BlockNeeds> (*needs)(Configuration const& configuration,
                                             ProblemKind const& kind);
  Configuration preset;                     ///< what runs where nobody says anything else
  std::span<Configuration const> compiled;  ///< those that need no compiler at run time
  /// Makes a configuration ready to be launched on a device: the reason where it cannot. Compiles
  /// what is neither compiled nor in the user's cache. Null where kernels are not built.
  std::string (*prepare)(Tunable const& tunable, Configuration const& configuration,
                         ProblemKind const& kind, device::Facts const& device) = nullptr;
};

/// "128, 128, 16, 8, 8".
std::string to_arguments(Configuration const& configuration);
/// "BM=128,BN=128,BK=16,TM=8,TN=8".
std::string to_text(Tunable const& tunable, Configuration const& configuration);
/// Of such a text, in any order; parameters that it leaves out have the values of the preset.
core::Parsed<Configuration> parse_configuration(Tunable const& tunable, std::string_view text);

/// Why a configuration is not legal on GPUs of a compute capability (times ten); empty where it is.
/// Begins with a verb.
std::string illegal_reason(Tunable const& tunable, Configuration const& configuration,
                           ProblemKind const& kind, int compute_capability);
/// All legal combinations of the values that are tried, the last parameter changing fastest.
std::vector<Configuration> legal_configurations(Tunable const& tunable, ProblemKind const& kind,
                                                int compute_capability);

}  // namespace quadrille::kernels
