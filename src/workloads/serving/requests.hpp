// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "core/generator.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::workloads::serving {

/// One request: lengths in tokens. The server learns of `output` only when the last token is there;
/// what it knows from the start is `limit`.
struct Request {
  std::int64_t id = 0;  ///< in the whole trace
  double arrival_s = 0;
  std::int32_t prompt = 1;
  std::int32_t output = 1;
  std::int32_t limit = 2;      ///< prompt and output together have at most so many
  std::int32_t prefix = 0;     ///< which of the common prefixes its prompt begins with,
  std::int32_t in_common = 0;  ///< and tokens of it
  bool operator==(Request const&) const = default;

  /// Tokens whose K and V were needed when the last token was there.
  std::int64_t max_cached() const { return std::int64_t{prompt} + output - 1; }
};

/// A distribution of lengths.
struct Lengths {
  enum class Kind { fixed, uniform, lognormal } kind = Kind::fixed;
  double first = 1;   ///< the length; the least; the median
  double second = 0;  ///< -; the largest; the standard deviation of the logarithm
  /// A length from a random number, at least 1.
  std::int64_t draw(std::uint64_t hash) const;
};
/// "fixed 512", "uniform 16 512", "lognormal 200 0.8".
core::Parsed<Lengths> parse_lengths(std::string_view text);

/// What a request tells the server of its length: the largest that any may have, or that divided by
/// a power of two, drawn from those that hold it.
enum class Limits { max, mixed };
constexpr auto enum_names(Limits) {
  return core::EnumNames<Limits, 2>{{{Limits::max, "max"}, {Limits::mixed, "mixed"}}};
}

struct TraceOptions {
  std::int64_t requests = 0;
  double rate = 1;  ///< mean arrivals in a second, of a Poisson process
  Lengths prompt, output;
  std::int64_t max_length = 2;  ///< of prompt and output together; longer ones are cut
  Limits limits = Limits::max;
  std::int64_t prefixes = 0;  ///< different common prefixes; 0: none
  std::int64_t prefix_tokens = 0;
  std::uint64_t seed = 1;
};
/// In the order of arrival. A prompt is a common prefix, if there are any, and what is drawn for
/// it.
std::vector<Request> make_trace(TraceOptions const& options);

/// Within which all requests of a trace arrive: behind them a double does not tell steps of a
/// microsecond apart.
inline constexpr double kMaxArrivalSeconds = 1e9;
/// Of lines "arrival_s,prompt,output" or "arrival_s,prompt,output,limit" below these words, in the
/// order of arrival: the first options.requests of them, whose times count from the first. Without a
/// limit, it is drawn.
core::Parsed<std::vector<Request>> parse_trace(std::string_view text, TraceOptions const& options);

/// What a model has made of each sample of each request, by its number in the trace.
class Outputs {
 public:
  Outputs() = default;
  Outputs(std::int64_t requests, std::int64_t samples)
      : samples_{samples}, tokens_(static_cast<std::size_t>(requests * samples)) {}
  /// Of a request and a sample, as it counts random numbers.
  std::int64_t number(Request const& request, std::int64_t sample) const {
    return request.id * samples_ + sample;
  }
  std::vector<std::int32_t>& of(std::int64_t number) {
    return tokens_[static_cast<std::size_t>(number)];
  }
  std::vector<std::int32_t> const& of(std::int64_t number) const {
    return tokens_[static_cast<std::size_t>(number)];
  }

  /// Lets the samples of a request, from number `first` on, be beams, each of which goes on from one of those before
  /// by a token.
  void extend(std::int64_t first, std::vector<std::int32_t> parents,
              std::span<std::int32_t const> tokens);
  /// Of the last extension.
  std::span<std::int32_t const> parents(Request const& request) const {
    return parents_.at(number(request, 0));
  }

 private:
  std::int64_t samples_ = 1;
  std::vector<std::vector<std::int32_t>> tokens_;
  std::map<std::int64_t, std::vector<std::int32_t>> parents_;  ///< by the number of the first
};

/// Values that represent the K and V of tokens, so that everybody knows what must be where. Tokens of outputs are
/// known from the start, or are those that a model makes.
class TokenHashes {
 public:
  explicit TokenHashes(std::uint64_t seed, Outputs const* outputs = nullptr)
      : seed_{seed}, outputs_{outputs} {}
  /// Token t of a request's prompt, or of the output of one of its samples behind it.
  std::uint64_t operator()(Request const& request, std::int64_t sample, std::int64_t t) const;
  /// A token of a prompt as a word.
  std::int32_t word(Request const& request, std::int64_t t, std::int64_t vocabulary) const {
    return static_cast<std::int32_t>((*this)(request, 0, t) %
                                     static_cast<std::uint64_t>(vocabulary));
  }
  /// Of a beam that is not of a model, the next.
  std::int32_t next_word(std::int64_t number, std::int64_t t) const {
    return static_cast<std::int32_t>(
        core::element_hash(core::row_key(seed_, kNextWord, number), t) >> 33);
  }
  /// The sum over [first, last).
  std::uint64_t sum(Request const& request, std::int64_t sample, std::int64_t first,
                    std::int64_t last) const;

 private:
  static constexpr std::uint64_t kNextWord = 0x776f72;

  std::uint64_t seed_;
  Outputs const* outputs_;
};

/// Who serves a request.
enum class Router { round_robin, least_loaded };
constexpr auto enum_names(Router) {
  return core::EnumNames<Router, 2>{
      {{Router::round_robin, "round_robin"}, {Router::least_loaded, "least_loaded"}}};
}
/// The requests of one of `servers`. least_loaded gives each request to the server with the fewest
/// tokens left, if each finishes `tokens_per_second`: the router sees no server.
std::vector<Request> route(std::span<Request const> trace, Router router, int servers, int server,
                           double tokens_per_second);

}  // namespace quadrille::workloads::serving
