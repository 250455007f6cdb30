// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::core {

/// What an input or an earlier result may call a key or a variant that has another name now.
struct FormerName {
  enum class Kind { key, variant } kind;
  std::string_view workload;  ///< whose key it is; "": of [run], or of any that has the variant
  std::string_view former, present;
};
std::span<FormerName const> former_names();
/// "key 'x' is called 'y' now"
std::string note_of(FormerName const& name);

/// The entry of a key of [run] (workload "") or of a case; nullptr where it is no former name.
FormerName const* find_former_key(std::string_view workload, std::string_view key);
/// The value of a key with each former name of a variant replaced, where that key names variants;
/// what was replaced is added to `used`.
std::string with_present_variants(std::string_view key, std::string_view value,
                                  std::vector<FormerName const*>* used = nullptr);
/// The id of a measurement, CASE:VARIANT.
std::string with_present_id(std::string_view id);
/// A configuration as to_toml() of an earlier version wrote it.
std::string with_present_names(std::string_view config);

}  // namespace quadrille::core
