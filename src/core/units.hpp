// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace quadrille::core {

/// Either a value or the reason why there is none, as a sentence without a final period.
template <class T>
class Parsed {
 public:
  Parsed(T value) : state_{std::move(value)} {}
  static Parsed error(std::string why) { return Parsed{Why{std::move(why)}}; }

  explicit operator bool() const { return state_.index() == 0; }
  T const& operator*() const { return std::get<0>(state_); }
  T const* operator->() const { return &**this; }
  std::string const& why() const { return std::get<1>(state_).text; }

 private:
  struct Why {
    std::string text;
  };
  explicit Parsed(Why why) : state_{std::move(why)} {}
  std::variant<T, Why> state_;
};

/// "4096", "8Ki", "2Gi", "1Ti" (binary), "64k", "3M", "1G", "1T" (decimal), "1e6", "1.5Ki". A bare
/// "K" is refused with a hint, as are negative numbers, values that are not whole, and values
/// beyond 2^62.
Parsed<std::int64_t> parse_count(std::string_view text);
/// parse_count with an optional final "B".
Parsed<std::int64_t> parse_bytes(std::string_view text);
/// "1048576", "75.81", "-2e3": a number and nothing else.
Parsed<double> parse_real(std::string_view text);
/// "120s", "500ms", "2min", "0.5", also us, ns, h; a blank may stand before the unit. Seconds.
Parsed<double> parse_seconds(std::string_view text);
/// "500 MB/s", "1.5 GB/s", "200 MiB/s", "1e9 B/s". Bytes per second, more than 0.
Parsed<double> parse_rate(std::string_view text);
/// "1 %" -> 1, above 0 and below 100.
Parsed<double> parse_percent(std::string_view text);

/// A published figure for `amount` units of work, as a rate: "309 GFLOP/s", "1.2 TB/s", "3
/// Geval/s", or the time "8.6 ms" it took.
Parsed<double> parse_figure(std::string_view text, double amount);

/// 4096 -> "4Ki", 1000000 -> "1M", 4097 -> "4097": the shortest whole multiple that parse_count
/// reads back.
std::string format_count(std::int64_t count);
/// "1.50 GiB". For people.
std::string format_bytes(double bytes);
/// "12.3 us". Three significant digits.
std::string format_seconds(double seconds);
/// "34.1 GFLOP/s": the value scaled by a decimal prefix, three significant digits, then the unit.
std::string format_rate(double per_second, std::string_view unit);

}  // namespace quadrille::core
