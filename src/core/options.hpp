// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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

/// What options write to and read from.
struct OptionTarget {
  RunSettings run;
  Case spec;
};

/// Common keys that not every workload has.
struct OptionalKeys {
  bool transport = false;  ///< and throttle: ranks exchange data
  bool grid = false;
  bool legs = false;
  bool compute = false;
  bool config = false;    ///< there are tunable variants
  bool any_bits = false;  ///< data of any bits: results are copies of the inputs
  bool weak = false;      ///< `size` is that of the whole problem, which ranks divide
};

/// One key of [run] or [[case]]: file, --set, --print-config, help and explain all read it.
struct Option {
  std::string_view key;
  std::string type;  ///< for people: "a count", "bytes", "a | b"
  std::string_view help;
  std::string_view unit = {};  ///< "elements"; "" where the type says it
  enum class Scope { run, run_and_case, only_case } scope = Scope::only_case;
  bool sweeps = true;                   ///< a list of values gives a case per value
  bool OptionalKeys::*needs = nullptr;  ///< only for workloads that have it
  /// Stores values (one, except where a list is a value) and returns "", or the problem.
  std::function<std::string(OptionTarget&, std::span<Scalar const>)> set = {};
  /// The present value as TOML; "" where there is none.
  std::function<std::string(OptionTarget&)> get = {};
  bool list = false;            ///< a list is one value
  bool is_bytes = false;        ///< people write "400Mi"
  bool selects_method = false;  ///< how something is computed, and not what
};

/// What the configuration knows of a workload.
struct WorkloadSchema {
  std::string_view name;
  std::vector<std::string_view> extents;  ///< their names, 1 to 8
  std::int64_t min_extent = 0;            ///< nothing of an array is right at once
  std::int64_t max_extent = std::numeric_limits<std::int64_t>::max();
  bool has_auto = true;  ///< one number may be all extents, and memory limits it: "auto:70%"
  OptionalKeys keys{};
  Parameters defaults{};
  std::vector<Option> options{};  ///< of `defaults`, in the order in which sweeps nest
  std::vector<std::string_view> variants{};
  /// Why keys of a case do not go together, "" where they do; of most workloads all do.
  std::string (*conflict)(Case const& spec) = nullptr;
  /// Of a case: how many process grids share the ranks, its key `layers`; of most workloads one.
  std::int64_t (*layers)(Case const& spec) = [](Case const&) { return std::int64_t{1}; };
};

/// The keys that core knows, in the order of lists.
std::span<Option const> common_options();
bool accepts(Option const& option, WorkloadSchema const& workload);
/// What a case of the workload may have, in the order in which sweeps nest: the last key changes
/// fastest.
std::vector<Option const*> options_of(WorkloadSchema const& workload);
/// What `get` says, as people write it: bytes with a prefix where that is exact.
std::string written(Option const& option, std::string const& toml);
/// The default as TOML; "" where there is none.
std::string default_of(Option const& option, WorkloadSchema const& workload);
/// The common keys as text, one entry per key; or those of a workload alone.
std::string options_help();
std::string options_help(WorkloadSchema const& workload);

/// Makers of options.
namespace options {

/// Where an option lives in a target.
template <class T>
using Place = std::function<T&(OptionTarget&)>;

/// A member of RunSettings, of Case, or of the struct of parameters of a workload.
template <class T, class Owner>
Place<T> at(T Owner::*member) {
  return [member](OptionTarget& target) -> T& {
    if constexpr (std::is_same_v<Owner, RunSettings>) {
      return target.run.*member;
    } else if constexpr (std::is_same_v<Owner, Case>) {
      return target.spec.*member;
    } else {
      return target.spec.parameters.as<Owner>().*member;
    }
  };
}
template <class Group, class T, class Owner>
Place<T> at(Group Owner::*group, T Group::*member) {
  return [member, outer = at(group)](OptionTarget& target) -> T& { return outer(target).*member; };
}

struct CountLimits {
  std::int64_t least = 0;
  std::int64_t most = 1LL << 62;
  std::string_view unit = {};
};

namespace detail {
using StoreCount = std::function<void(OptionTarget&, std::int64_t)>;
using LoadCount = std::function<std::int64_t(OptionTarget&)>;
Option make_count(std::string_view key, std::string_view help, CountLimits limits, bool bytes,
                  StoreCount store, LoadCount load);
using StoreChoice = std::function<void(OptionTarget&, std::size_t)>;
using LoadChoice = std::function<std::size_t(OptionTarget&)>;
Option make_choice(std::string_view key, std::string_view help, std::vector<std::string> words,
                   StoreChoice store, LoadChoice load);
}  // namespace detail

/// A count within limits: 4096, "8Ki".
template <std::integral T>
Option count(std::string_view key, Place<T> place, std::string_view help, CountLimits limits = {}) {
  return detail::make_count(
      key, help, limits, false,
      [place](OptionTarget& target, std::int64_t value) { place(target) = static_cast<T>(value); },
      [place](OptionTarget& target) { return static_cast<std::int64_t>(place(target)); });
}
/// The same for a number of bytes: "1MiB".
Option bytes(std::string_view key, Place<std::int64_t> place, std::string_view help,
             CountLimits limits = {});
/// A count within limits, or "auto", which is kept as `automatic`.
Option count_or_auto(std::string_view key, Place<std::int64_t> place, std::string_view help,
                     std::int64_t automatic, CountLimits limits);
Option seconds(std::string_view key, Place<double> place, std::string_view help, bool may_be_zero);
Option number(std::string_view key, Place<double> place, std::string_view help);
Option flag(std::string_view key, Place<bool> place, std::string_view help);
Option text(std::string_view key, std::string type, Place<std::string> place,
            std::string_view help);

/// The same option, one that selects a method.
inline Option method(Option option) {
  option.selects_method = true;
  return option;
}

/// One of the words of an enumeration.
template <NamedEnum E>
Option choice(std::string_view key, Place<E> place, std::string_view help) {
  constexpr auto kNames = enum_names(E{});
  std::vector<std::string> words;
  for (auto const& [value, word] : kNames) words.emplace_back(word);
  return detail::make_choice(
      key, help, std::move(words),
      [place, kNames](OptionTarget& target, std::size_t i) { place(target) = kNames[i].first; },
      [place, kNames](OptionTarget& target) {
        std::size_t i = 0;
        while (kNames[i].first != place(target)) ++i;
        return i;
      });
}

}  // namespace options
}  // namespace quadrille::core
