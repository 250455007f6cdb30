// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/estimate.hpp"

#include "measure/sampler.hpp"

#include <algorithm>

namespace quadrille::measure {

AssumedRates assumed_rates(core::Case const& spec, device::Facts const& facts, device::Kind kind,
                           int threads) {
  double const peak = facts.peaks.of(spec.type, core::compute_for(spec.type, spec.compute));
  AssumedRates rates;
  rates.generated = 1.5e8 * threads;
  if (kind == device::Kind::host) {
    // 16-bit types are converted to f32.
    double const host_peak = core::size_of(spec.type) == 2
                                 ? facts.peaks.of(core::DataType::f32, core::Compute::f32)
                                 : peak;
    rates.flop = host_peak > 0 ? 0.4 * host_peak : 4e9 * threads;
    rates.bytes = 4e9 * threads;
    rates.evaluations = 1e8 * threads;
    rates.network = 1e9;
  } else {
    rates.flop = peak > 0 ? 0.5 * peak : 1e12;
    rates.bytes = facts.peak_bandwidth > 0 ? 0.7 * facts.peak_bandwidth : 2e11;
    rates.evaluations = 1e10;
    rates.network = 1e10;
  }
  if (spec.throttle > 0) rates.network = std::min(rates.network, spec.throttle);
  return rates;
}

double estimated_execution(kernels::VariantInfo const& variant, Description const& description,
                           AssumedRates const& rates, int ranks) {
  constexpr double kLaunch = 1e-5;
  if (description.pairs) {
    // One round after the other, each once with small messages.
    PairSchedule const& pairs = *description.pairs;
    double const round =
        static_cast<double>(pairs.small_messages) * kLaunch + pairs.large_bytes / rates.network;
    return static_cast<double>(pairs.rounds.size()) * round;
  }
  bool const is_product = description.unit == "FLOP/s";
  double const rate = is_product                     ? rates.flop
                      : description.unit == "eval/s" ? rates.evaluations
                      : description.unit == "B/s"    ? rates.bytes
                                                     : 1e5;  // calls
  // One thread that reuses nothing of a cache.
  double const slower = variant.role != kernels::Role::reference ? 1 : is_product ? 150 : 8;
  return kLaunch + description.amount / ranks / rate * slower +
         description.network_bytes / ranks / rates.network;
}

double estimated_seconds(core::Case const& spec, Description const& description,
                         Selection const& selected, AssumedRates const& rates, int ranks) {
  double const elements = (description.memory_bytes + description.host_bytes) /
                          static_cast<double>(core::size_of(spec.type));
  double const generate = elements / rates.generated;
  // Outputs are cleared before a repetition and digested behind it.
  double const around = 2 * description.memory_bytes / rates.bytes;
  double const check = spec.check == core::Check::full ? generate : 0;
  auto const repetitions = static_cast<double>(spec.repetitions);
  double seconds = 2 * generate;
  for (kernels::VariantInfo const* variant : selected) {
    double const legs = spec.legs && description.traits.has_legs &&
                                variant->role != kernels::Role::peer &&
                                variant->role != kernels::Role::ceiling
                            ? static_cast<double>(std::size(kLegs))
                            : 1;
    double const batch = spec.batch > 0 && is_repeatable(description.traits, *variant)
                             ? static_cast<double>(spec.batch)
                             : 1;
    double const once = estimated_execution(*variant, description, rates, ranks) + around;
    double const warm =
        std::max(static_cast<double>(spec.warmup.count) * once, spec.warmup.seconds) + legs * once;
    double const timed = legs * repetitions * batch * once;
    seconds += once + warm + 2 * check;
    seconds += spec.clock == core::Clock::sustained
                   ? std::max(timed, legs * Sampler::kSustainedSeconds)
                   : timed;
  }
  return seconds;
}

}  // namespace quadrille::measure
