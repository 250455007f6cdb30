// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>

namespace quadrille::workloads::serving {
namespace {

// Tags of the generator's arrays.
enum Tag : std::uint64_t {
  arrivals = 1,
  prompts,
  outputs,
  limits,
  prefixes,
  prefix_tokens,
  tokens
};

double in_unit(std::uint64_t hash) {
  return core::real_from_hash(core::DataKind::positive, hash, 53);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t const end = std::min(text.find(separator, at), text.size());
    if (separator != ' ' || end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number && std::isfinite(value) ? std::optional{value} : std::nullopt;
}

/// What the lengths of a request leave open.
void complete(Request& request, TraceOptions const& options) {
  auto const draw = [&](Tag tag) {
    return core::element_hash(core::row_key(options.seed, tag, 0), request.id);
  };
  auto const most = static_cast<std::int32_t>(options.max_length);
  if (request.limit == 0) {
    request.limit = most;
    int halvings = 0;
    while (most >> (halvings + 1) >= request.prompt + request.output) ++halvings;
    if (options.limits == Limits::mixed) {
      request.limit = most >> (draw(limits) % static_cast<std::uint64_t>(halvings + 1));
    }
  }
  if (options.prefixes == 0) return;
  request.prefix =
      static_cast<std::int32_t>(draw(prefixes) % static_cast<std::uint64_t>(options.prefixes));
  request.in_common =
      static_cast<std::int32_t>(std::min<std::int64_t>(request.prompt, options.prefix_tokens));
}

}  // namespace

std::int64_t Lengths::draw(std::uint64_t hash) const {
  double const u = in_unit(hash);
  double length = first;
  if (kind == Kind::uniform) length = first + std::floor(u * (second - first + 1));
  if (kind == Kind::lognormal) {
    // Box and Muller.
    double const radius = std::sqrt(-2 * std::log1p(-u));
    double const angle = 2 * std::numbers::pi * in_unit(core::mix(hash + 1));
    length = std::round(first * std::exp(second * radius * std::cos(angle)));
  }
  return static_cast<std::int64_t>(std::clamp(length, 1.0, 1e9));
}

core::Parsed<Lengths> parse_lengths(std::string_view text) {
  using Result = core::Parsed<Lengths>;
  constexpr std::string_view kForms =
      "write \"fixed 512\", \"uniform 16 512\" or \"lognormal MEDIAN SIGMA\"";
  std::vector<std::string_view> const words = split(text, ' ');
  std::vector<double> values;
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto const value = number(words[i]);
    if (!value) return Result::error(fmt::format("'{}' is no number; {}", words[i], kForms));
    values.push_back(*value);
  }
  auto const is = [&](std::string_view name, std::size_t count) {
    return !words.empty() && words[0] == name && values.size() == count;
  };
  auto const is_length = [](double value) { return value >= 1 && value <= 1e6; };
  if (is("fixed", 1) && is_length(values[0])) return Lengths{Lengths::Kind::fixed, values[0], 0};
  if (is("uniform", 2) && is_length(values[0]) && is_length(values[1]) && values[0] <= values[1]) {
    return Lengths{Lengths::Kind::uniform, values[0], values[1]};
  }
  if (is("lognormal", 2) && is_length(values[0]) && values[1] >= 0 && values[1] <= 10) {
    return Lengths{Lengths::Kind::lognormal, values[0], values[1]};
  }
  return Result::error(
      fmt::format("'{}' is no distribution of lengths from 1 to 1e6; {}", text, kForms));
}

std::vector<Request> make_trace(TraceOptions const& options) {
  std::vector<Request> trace(static_cast<std::size_t>(options.requests));
  double arrival_s = 0;
  for (std::int64_t i = 0; i < options.requests; ++i) {
    auto const draw = [&](Tag tag) {
      return core::element_hash(core::row_key(options.seed, tag, 0), i);
    };
    Request& request = trace[static_cast<std::size_t>(i)];
    // Poisson: exponential times between arrivals.
    arrival_s += -std::log1p(-in_unit(draw(arrivals))) / options.rate;
    request.id = i;
    request.arrival_s = arrival_s;
    std::int64_t const common = options.prefixes == 0 ? 0 : options.prefix_tokens;
    request.prompt = static_cast<std::int32_t>(
        std::min(common + options.prompt.draw(draw(prompts)), options.max_length - 1));
    request.output = static_cast<std::int32_t>(std::min<std::int64_t>(
        options.output.draw(draw(outputs)), options.max_length - request.prompt));
    request.limit = 0;
    complete(request, options);
  }
  return trace;
}

core::Parsed<std::vector<Request>> parse_trace(std::string_view text, TraceOptions const& options) {
  using Result = core::Parsed<std::vector<Request>>;
  std::vector<Request> trace;
  std::int64_t line_number = 0;
  double first_s = 0;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (++line_number == 1) {
      constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf",
                                 kColumns = "arrival_s,prompt,output";
      if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
      std::string heading{line};
      std::erase(heading, ' ');
      if (heading == kColumns || heading == fmt::format("{},limit", kColumns)) continue;
      return Result::error(
          fmt::format("it does not begin with the heading {}, or that and limit", kColumns));
    }
    if (line.empty()) continue;
    if (std::ssize(trace) == options.requests) break;
    auto const refuse = [&](std::string const& why) {
      return Result::error(fmt::format("line {}: {}", line_number, why));
    };
    std::vector<std::string_view> const fields = split(line, ',');
    std::vector<double> values;
    for (std::string_view const field : fields) {
      auto const value = number(field);
      if (!value) return refuse(fmt::format("'{}' is no number", field));
      values.push_back(*value);
    }
    if (values.size() != 3 && values.size() != 4) {
      return refuse("expected arrival_s,prompt,output and perhaps limit");
    }
    double const most = static_cast<double>(options.max_length);
    if (trace.empty()) first_s = values[0];
    double const arrival_s = values[0] - first_s;
    if (!trace.empty() && arrival_s < trace.back().arrival_s) {
      return refuse("arrivals must not go back in time");
    }
    if (!(arrival_s < kMaxArrivalSeconds)) {
      return refuse(
          fmt::format("it arrives {:g} s or more behind the first; write times in seconds",
                      kMaxArrivalSeconds));
    }
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (values[i] < 1 || values[i] > most || values[i] != std::floor(values[i])) {
        return refuse(fmt::format("'{}' is no length from 1 to max_length, {}", fields[i], most));
      }
    }
    double const limit = values.size() == 4 ? values[3] : most;
    if (values[1] + values[2] > limit) {
      return refuse(fmt::format("prompt and output are longer than {}; raise {}", limit,
                                values.size() == 4 ? "the limit" : "max_length"));
    }
    Request& request = trace.emplace_back();
    request.id = std::ssize(trace) - 1;
    request.arrival_s = arrival_s;
    request.prompt = static_cast<std::int32_t>(values[1]);
    request.output = static_cast<std::int32_t>(values[2]);
    request.limit = values.size() == 4 ? static_cast<std::int32_t>(values[3]) : 0;
    complete(request, options);
  }
  if (trace.empty()) return Result::error("it has no request; add lines below the heading");
  if (std::ssize(trace) < options.requests) {
    return Result::error(
        fmt::format("it has {} requests; lower size from {}", trace.size(), options.requests));
  }
  return trace;
}

void Outputs::extend(std::int64_t first, std::vector<std::int32_t> parents,
                     std::span<std::int32_t const> tokens) {
  std::vector<std::vector<std::int32_t>> made;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    made.push_back(of(first + parents[i]));
    made.back().push_back(tokens[i]);
  }
  for (std::size_t i = 0; i < parents.size(); ++i) {
    of(first + static_cast<std::int64_t>(i)) = std::move(made[i]);
  }
  parents_[first] = std::move(parents);
}

std::uint64_t TokenHashes::operator()(Request const& request, std::int64_t sample,
                                      std::int64_t t) const {
  return sum(request, sample, t, t + 1);
}

std::uint64_t TokenHashes::sum(Request const& request, std::int64_t sample, std::int64_t first,
                               std::int64_t last) const {
  std::uint64_t sum = 0;
  std::int64_t t = first;
  auto const add = [&](std::uint64_t key, std::int64_t end) {
    for (; t < std::min(end, last); ++t) sum += core::element_hash(key, t);
  };
  if (t < request.in_common) {
    add(core::row_key(seed_, prefix_tokens, request.prefix), request.in_common);
  }
  if (t < request.prompt) add(core::row_key(seed_, tokens, request.id), request.prompt);
  if (t < last && outputs_ != nullptr) {
    std::vector<std::int32_t> const& made = outputs_->of(outputs_->number(request, sample));
    for (; t < last; ++t) {
      auto const token =
          static_cast<std::uint64_t>(made[static_cast<std::size_t>(t - request.prompt)]);
      sum += core::element_hash(core::row_key(seed_, tokens, token), t);
    }
  }
  if (t < last) {
    add(core::row_key(seed_, tokens + 1 + static_cast<std::uint64_t>(sample), request.id), last);
  }
  return sum;
}

std::vector<Request> route(std::span<Request const> trace, Router router, int servers, int server,
                           double tokens_per_second) {
  std::vector<Request> mine;
  std::vector<double> left(static_cast<std::size_t>(servers));  // tokens
  double now_s = 0;
  int next = 0;
  for (Request const& request : trace) {
    if (router == Router::least_loaded) {
      double const finished = (request.arrival_s - now_s) * tokens_per_second;
      now_s = request.arrival_s;
      for (double& tokens : left) tokens = std::max(0.0, tokens - finished);
      next = static_cast<int>(std::ranges::min_element(left) - left.begin());
      left[static_cast<std::size_t>(next)] += request.prompt + request.output;
    }
    if (next == server) mine.push_back(request);
    if (router == Router::round_robin) next = (next + 1) % servers;
  }
  return mine;
}

}  // namespace quadrille::workloads::serving
