// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace quadrille::core {
namespace {

struct Prefix {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Prefix, 9> kPrefixes{{{"", 1},
                                           {"Ki", 1LL << 10},
                                           {"Mi", 1LL << 20},
                                           {"Gi", 1LL << 30},
                                           {"Ti", 1LL << 40},
                                           {"k", 1'000},
                                           {"M", 1'000'000},
                                           {"G", 1'000'000'000},
                                           {"T", 1'000'000'000'000}}};
constexpr std::string_view kBareK = "use Ki (1024) or k (1000)";

std::optional<std::int64_t> factor_of(std::string_view prefix) {
  for (Prefix const& p : kPrefixes) {
    if (p.name == prefix) return p.factor;
  }
  return std::nullopt;
}

/// A decimal number: digits * 10^exponent, and what follows it in the text.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
  bool too_long = false;  ///< more digits than 64 bits hold
  std::string_view rest;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Nothing when the text does not begin with a number.
std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number;
  int significant = 0;
  bool any = false;
  bool fraction = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && any && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_digit(text[i])) break;
    any = true;
    if (number.digits > 0 && ++significant > 18) number.too_long = true;
    if (!number.too_long) number.digits = number.digits * 10 + static_cast<unsigned>(text[i] - '0');
    if (fraction) --number.exponent;
  }
  if (!any || text[i - 1] == '.') return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t const sign = i + 1 < text.size() && text[i + 1] == '+' ? 1 : 0;
    int exponent = 0;
    char const* const end = text.data() + text.size();
    auto const [next, problem] = std::from_chars(text.data() + i + 1 + sign, end, exponent);
    bool const two_signs = sign == 1 && exponent < 0;
    if (problem != std::errc{} || two_signs || std::abs(exponent) > 999) return std::nullopt;
    number.exponent += exponent;
    i = static_cast<std::size_t>(next - text.data());
  }
  number.rest = text.substr(i);
  return number;
}

/// A finite floating-point number at the start of the text; `rest` gets what follows the blanks
/// behind it.
std::optional<double> read_real(std::string_view text, std::string_view& rest) {
  if (text.empty() || !(is_digit(text[0]) || text[0] == '.' || text[0] == '-')) return std::nullopt;
  double value = 0;
  auto const [next, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || !std::isfinite(value)) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(next - text.data()));
  std::size_t const unit = rest.find_first_not_of(' ');
  // Blanks without a unit behind them are junk.
  if (unit != std::string_view::npos) rest.remove_prefix(unit);
  return value;
}

/// Three significant digits of a value below 1000.
std::string three_digits(double value) {
  double const size = std::abs(value);
  if (!(size < 99.95)) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return size < 0.9995 ? fmt::format("{:.3f}", value) : fmt::format("{:.2f}", value);
}

/// Scales until the value is below `base` (as printed), then joins number, prefix and unit.
std::string scaled(double value, double base, std::span<std::string_view const> prefixes,
                   std::string_view unit) {
  if (value == 0) return fmt::format("0 {}{}", prefixes[0], unit);
  std::size_t i = 0;
  while (i + 1 < prefixes.size() && std::isfinite(value) && std::abs(value) >= base - 0.5) {
    value /= base;
    ++i;
  }
  return fmt::format("{} {}{}", three_digits(value), prefixes[i], unit);
}

}  // namespace

Parsed<std::int64_t> parse_count(std::string_view text) {
  using Out = Parsed<std::int64_t>;
  if (text.starts_with('-')) return Out::error(fmt::format("'{}' is negative", text));
  auto const number = read_decimal(text);
  if (!number) return Out::error(fmt::format("'{}' is not a count such as 4096 or \"8Ki\"", text));
  if (number->rest == "K") return Out::error(fmt::format("'{}': {}", text, kBareK));
  auto const factor = factor_of(number->rest);
  if (!factor) {
    return Out::error(
        fmt::format("'{}': unknown unit '{}'; use Ki, Mi, Gi, Ti (binary) or k, M, G, T (decimal)",
                    text, number->rest));
  }
  if (number->too_long) return Out::error(fmt::format("'{}' has more than 19 digits", text));
  // Exact: 19 digits times 2^40 is below 2^104.
  constexpr unsigned __int128 kLimit = static_cast<unsigned __int128>(1) << 62;
  auto value =
      static_cast<unsigned __int128>(number->digits) * static_cast<unsigned __int128>(*factor);
  for (int e = number->exponent; e < 0; ++e) {
    if (value % 10 != 0) return Out::error(fmt::format("'{}' is not a whole number", text));
    value /= 10;
  }
  for (int e = number->exponent; e > 0 && value <= kLimit; --e) value *= 10;
  if (value > kLimit) return Out::error(fmt::format("'{}' is beyond 2^62", text));
  return static_cast<std::int64_t>(value);
}

Parsed<std::int64_t> parse_bytes(std::string_view text) {
  if (text.size() > 1 && text.ends_with('B')) text.remove_suffix(1);
  return parse_count(text);
}

Parsed<double> parse_real(std::string_view text) {
  std::string_view rest;
  auto const value = read_real(text, rest);
  if (value && rest.empty()) return *value;
  return Parsed<double>::error(fmt::format("'{}' is not a number", text));
}

Parsed<double> parse_seconds(std::string_view text) {
  using Out = Parsed<double>;
  // Divisors where they are whole, so that "100ms" is the double nearest to 0.1.
  struct Unit {
    std::string_view name;
    double factor;
    double divisor;
  };
  constexpr std::array<Unit, 7> kUnits{{{"", 1, 1},
                                        {"s", 1, 1},
                                        {"ms", 1, 1e3},
                                        {"us", 1, 1e6},
                                        {"ns", 1, 1e9},
                                        {"min", 60, 1},
                                        {"h", 3600, 1}}};
  std::string_view rest;
  auto const value = read_real(text, rest);
  if (!value) {
    return Out::error(fmt::format("'{}' is not a time such as \"120s\" or \"500ms\"", text));
  }
  if (*value < 0) return Out::error(fmt::format("'{}' is negative", text));
  for (Unit const& unit : kUnits) {
    if (unit.name == rest) return *value * unit.factor / unit.divisor;
  }
  return Out::error(
      fmt::format("'{}': unknown unit '{}'; use h, min, s, ms, us or ns", text, rest));
}

namespace {

/// The number before `unit`, with its prefix; the text ends with the unit.
Parsed<double> parse_with_unit(std::string_view text, std::string_view unit) {
  using Out = Parsed<double>;
  std::string_view rest;
  auto const value = read_real(text, rest);
  if (!value || !rest.ends_with(unit)) {
    return Out::error(
        fmt::format("'{}' is not a rate such as \"500 M{}\" or \"200 Mi{}\"", text, unit, unit));
  }
  if (!(*value > 0)) return Out::error(fmt::format("'{}' is not more than 0", text));
  rest.remove_suffix(unit.size());
  if (rest == "K") return Out::error(fmt::format("'{}': {}", text, kBareK));
  auto const factor = factor_of(rest);
  if (!factor) return Out::error(fmt::format("'{}': unknown unit '{}{}'", text, rest, unit));
  double const rate = *value * static_cast<double>(*factor);
  if (!std::isfinite(rate)) return Out::error(fmt::format("'{}' is too large", text));
  return rate;
}

}  // namespace

Parsed<double> parse_rate(std::string_view text) { return parse_with_unit(text, "B/s"); }

Parsed<double> parse_figure(std::string_view text, double amount) {
  for (std::string_view const unit : {"FLOP/s", "eval/s", "B/s"}) {
    if (text.ends_with(unit)) return parse_with_unit(text, unit);
  }
  auto const seconds = parse_seconds(text);
  if (!seconds || !(*seconds > 0)) {
    return Parsed<double>::error(fmt::format(
        "'{}' is neither a rate such as \"309 GFLOP/s\" nor a time such as \"8.6 ms\"", text));
  }
  return amount / *seconds;
}

Parsed<double> parse_percent(std::string_view text) {
  std::string_view rest;
  auto const value = read_real(text, rest);
  if (value && rest == "%" && *value > 0 && *value < 100) return *value;
  return Parsed<double>::error(
      fmt::format("'{}' is not a share above 0 % and below 100 %, such as \"1 %\"", text));
}

std::string format_count(std::int64_t count) {
  std::string best = fmt::format("{}", count);
  if (count <= 0) return best;
  for (Prefix const& p : kPrefixes) {
    if (count % p.factor != 0) continue;
    std::string text = fmt::format("{}{}", count / p.factor, p.name);
    if (text.size() < best.size()) best = std::move(text);
  }
  return best;
}

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 7> kBinary{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  // Whole bytes have no fraction to show.
  if (std::abs(bytes) < 1023.5) return fmt::format("{:.0f} B", bytes);
  return scaled(bytes, 1024, kBinary, "B");
}

std::string format_seconds(double seconds) {
  constexpr std::array<std::string_view, 4> kSmall{"n", "u", "m", ""};
  if (seconds == 0) return "0 s";
  return scaled(seconds * 1e9, 1000, kSmall, "s");
}

std::string format_rate(double per_second, std::string_view unit) {
  constexpr std::array<std::string_view, 7> kDecimal{"", "k", "M", "G", "T", "P", "E"};
  return scaled(per_second, 1000, kDecimal, unit);
}

}  // namespace quadrille::core
