// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::measure {

/// What configurations are tuned for.
struct TuningClass {
  std::string operation;
  std::string device;
  std::string type;       ///< "f32", "f16:f32"
  std::string layout;     ///< "nn"; empty where the operation has none
  std::string shape;      ///< see shape_class()
  std::string problem{};  ///< one of the class alone, by all that its time depends on; empty: all
  bool operator==(TuningClass const&) const = default;
};

/// Each extent as the nearest power of two from 64 to 16384: "4096x4096x1024". Larger ones have so
/// many tiles that it makes no difference.
std::string shape_class(std::span<std::int64_t const> extents);

/// The best that was found of one variant.
struct TunedEntry {
  TuningClass of;
  std::string variant;
  std::string configuration;  ///< empty: the variant has none
  double rate = 0;            ///< work of one repetition over its median time
  bool operator==(TunedEntry const&) const = default;
};

/// What tuning has found, as it is shipped and as it is in the user's cache.
class TunedTable {
 public:
  /// Of TOML as to_toml() writes it. An error is "origin:LINE: problem".
  static core::Parsed<TunedTable> parse(std::string_view text, std::string_view origin);
  std::string to_toml() const;

  /// Replaces what there is of the same class and variant. What parse() would refuse, such as a rate
  /// of 0, is left out.
  void put(TunedEntry entry);
  /// The same of whatever there is of the same problem, and of the earliest of too many others.
  void put_problem(TunedEntry entry);
  static constexpr std::size_t kMaxProblems = 1000;
  /// Of a class, the fastest first.
  std::vector<TunedEntry> find(TuningClass const& of) const;
  std::vector<TunedEntry> const& entries() const { return entries_; }

 private:
  std::vector<TunedEntry> entries_;
};

}  // namespace quadrille::measure
