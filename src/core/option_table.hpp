// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::core {

/// A value on its way from a file or from --set into an option.
struct Scalar {
  enum class Kind {
    boolean,
    number,
    text,   ///< quoted
    bare,   ///< from --set: may be meant as any of the above
    other,  ///< no value of any option; `text` says what it is
  } kind = Kind::other;
  std::string text;
};

/// What the rows write to and read from.
struct Draft {
  RunSettings run;
  Case one;
};

/// An option with its setter and getter.
struct Row {
  Option option;
  /// Stores values (one, except where a list is a value) and returns "", or the problem.
  std::function<std::string(Draft&, std::span<Scalar const>)> set;
  /// The present value as TOML.
  std::function<std::string(Draft&)> get;
  bool list = false;  ///< a list is one value
};

/// Rows in the order of options().
std::span<Row const> rows();
/// The row of a key, or nullptr.
Row const* find_row(std::string_view key);
/// "ptrans, summa": the workloads that accept the option; "" for all.
std::string workload_list(Option const& option);
/// The `operation` values of a workload, the default first; empty if it has none.
std::vector<std::string> operations_of(std::string_view workload);
/// "; did you mean 'x'?", or `otherwise` when no candidate is near.
std::string suggestion(std::string_view name, std::span<std::string const> candidates,
                       std::string_view otherwise);

}  // namespace quadrille::core
