// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/serving.hpp"

#include "core/files.hpp"
#include "workloads/data.hpp"
#include "workloads/serving/measured_times.hpp"
#include "workloads/serving/policies.hpp"
#include "workloads/serving/simulation.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace quadrille::workloads {
namespace {

/// Whether steps are executed, or only their times are known.
enum class Mode { simulated, executed };
constexpr auto enum_names(Mode) {
  return core::EnumNames<Mode, 2>{{{Mode::simulated, "simulated"}, {Mode::executed, "executed"}}};
}

struct Parameters {
  Mode execution = Mode::simulated;
  // Of requests.
  double rate = 2;
  std::string trace = "poisson";
  std::string prompt = "lognormal 160 1";
  std::string output = "lognormal 160 0.8";
  std::int64_t max_length = 2048;
  serving::Limits limits = serving::Limits::max;
  std::int64_t prefixes = 0;
  std::int64_t prefix = 64;
  std::int64_t samples = 1;
  bool beam_search = false;
  // Of the server.
  std::int64_t kv_memory = 11200LL << 20;
  double kv_share = 0;
  std::int64_t swap_memory = 4LL << 30;
  std::int64_t block = 16;
  bool reuse = true;
  std::int64_t max_running = 256;
  std::int64_t budget = 2048;
  double fill_wait = 0;
  serving::Router router = serving::Router::round_robin;
  // Of the model.
  std::string model = "stated: 250 TFLOP/s, 2 TB/s, 25 GB/s";
  std::int64_t layers = 40;
  std::int64_t heads = 40;
  std::int64_t kv_heads = 40;
  std::int64_t head_size = 128;
  std::int64_t vocabulary = 32000;
  double temperature = 1;
  bool deterministic = true;
  bool operator==(Parameters const&) const = default;
};

constexpr int kTenths = 10;  ///< of the server's time
// That are computed at once, and of products that are measured; larger ones have no other rate.
constexpr std::int64_t kMaxRows = 16384;
constexpr std::string_view kMeasured = "measured", kStated = "stated:", kPoisson = "poisson";

serving::Transformer transformer(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  return {.layers = p.layers,
          .heads = p.heads,
          .kv_heads = p.kv_heads,
          .head_size = p.head_size,
          .element_bytes = static_cast<std::int64_t>(core::size_of(spec.type))};
}

core::Parsed<serving::StatedTimes> stated_times(core::Case const& spec) {
  std::string_view const text = spec.parameters.as<Parameters>().model;
  if (!text.starts_with(kStated)) {
    return core::Parsed<serving::StatedTimes>::error(
        fmt::format("model = \"{}\"; write \"measured\", or rates as in \"stated: 250 TFLOP/s, 2 "
                    "TB/s, 25 GB/s\"",
                    text));
  }
  return serving::parse_times(text.substr(kStated.size()), transformer(spec));
}

/// `parts`: ranks that share a model, of which each has K and V of its heads.
serving::Extent extent_of(core::Case const& spec, int parts = 1) {
  auto const& p = spec.parameters.as<Parameters>();
  serving::Transformer const model = transformer(spec);
  return {.model = model,
          .type = spec.type,
          .rows = std::min(std::max({p.max_running, p.budget, p.max_length}), kMaxRows),
          .length = p.max_length,
          .sequences = p.max_running,
          .kv_tokens = parts * p.kv_memory / model.kv_bytes() / p.block * p.block,
          .kv_share = p.kv_share,
          .host_tokens = parts * p.swap_memory / model.kv_bytes() / p.block * p.block,
          .block = p.block,
          .vocabulary = p.vocabulary,
          .temperature = p.temperature,
          .beams = p.beam_search ? p.samples : 0,
          .deterministic = p.deterministic,
          .parts = parts};
}

/// Why blocks of the memory of a server, of so many ranks, do not hold the longest request by itself.
std::string memory_error(core::Case const& spec, int parts) {
  auto const& p = spec.parameters.as<Parameters>();
  serving::Extent const extent = extent_of(spec, parts);
  std::int64_t const slots = extent.kv_tokens, needed = serving::needed_tokens(extent);
  if (slots >= needed) return {};
  return fmt::format(
      "kv_memory holds {} tokens, and a request needs up to {}{}; raise kv_memory, or "
      "lower max_length{}",
      slots, needed,
      p.beam_search ? fmt::format(": {} beams of {}, and a block", p.samples, p.max_length)
                    : ", a block more than max_length",
      p.beam_search ? " or samples" : "");
}

template <bool kIsShared>
std::string conflict(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  auto const requests = static_cast<double>(std::max(spec.size[0], spec.size_host[0]));
  if (!(p.rate > 0 && requests / p.rate < serving::kMaxArrivalSeconds)) {
    return fmt::format("rate = {}; take more requests a second, so that all arrive within {:g} s",
                       p.rate, serving::kMaxArrivalSeconds);
  }
  for (auto const& [key, text] :
       {std::pair{"prompt_tokens", p.prompt}, {"output_tokens", p.output}}) {
    auto const lengths = serving::parse_lengths(text);
    if (!lengths) return fmt::format("{}: {}", key, lengths.why());
  }
  if (p.model != kMeasured) {
    auto const times = stated_times(spec);
    if (!times) return times.why();
  }
  if (p.heads % p.kv_heads != 0) {
    return fmt::format("kv_heads = {} does not divide heads = {}", p.kv_heads, p.heads);
  }
  if (p.beam_search) {
    auto const most = std::min(kernels::sampler::kMaxBeams, p.vocabulary);
    if (p.samples > most) {
      return fmt::format("beam_search: samples = {} are its beams; take up to {}{}", p.samples,
                         most, most == p.vocabulary ? ", which the vocabulary has words for" : "");
    }
    if (!(p.temperature > 0)) return "beam_search: temperature = 0; take more than 0";
  }
  if (p.model == kMeasured || p.execution == Mode::executed) {
    std::string const error = serving::shape_error(extent_of(spec));
    if (!error.empty() && p.execution == Mode::executed) {
      return kIsShared ? error : "execution: " + error;
    }
    if (!error.empty()) return fmt::format("model = \"measured\": {}, or state its times", error);
  }
  constexpr double kMaxShare = 0.95;  // swaps and tables need some, too
  if (!(p.kv_share >= 0 && p.kv_share <= kMaxShare)) {
    return fmt::format("kv_share = {}; take up to {} of what is left, or 0 for all of kv_memory",
                       p.kv_share, kMaxShare);
  }
  if (p.kv_share > 0 && p.execution == Mode::simulated) {
    return "kv_share is of memory that a device has left; take execution = \"executed\"";
  }
  if (p.samples > p.max_running) {
    return fmt::format("samples = {} of one prompt run together; raise max_running from {}",
                       p.samples, p.max_running);
  }
  // Of a server of several ranks it depends on how many.
  return kIsShared ? "" : memory_error(spec, 1);
}

serving::TraceOptions trace_options(core::Case const& spec, std::uint64_t seed) {
  auto const& p = spec.parameters.as<Parameters>();
  return {.requests = spec.size[0],
          .rate = p.rate,
          .prompt = *serving::parse_lengths(p.prompt),
          .output = *serving::parse_lengths(p.output),
          .max_length = p.max_length,
          .limits = p.limits,
          .prefixes = p.prefixes,
          .prefix_tokens = p.prefix,
          .seed = seed};
}

// Some million requests.
constexpr std::size_t kMaxTraceBytes = std::size_t{256} << 20;

std::string file_problem(core::Case const& spec) {
  std::string const& path = spec.parameters.as<Parameters>().trace;
  if (path == kPoisson) return {};
  auto const text = core::read_file(path, kMaxTraceBytes);
  if (!text) {
    return fmt::format("trace '{}' cannot be read: {}; name a CSV file, or \"poisson\"", path,
                       text.why());
  }
  serving::TraceOptions options = trace_options(spec, spec.seed);
  // Which size it will be is not known yet.
  if (spec.size_host.count > 0) options.requests = std::min(options.requests, spec.size_host[0]);
  auto const trace = serving::parse_trace(*text, options);
  return trace ? "" : fmt::format("trace '{}': {}", path, trace.why());
}

/// A trace of requests, split over ranks, each of which simulates a server for its part, or is one. What is
/// timed is how long that takes; what happens in the server's time are further rates.
class Serving final : public measure::Workload {
 public:
  Serving(core::Case const& spec, int ranks, int rank, bool is_shared)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        ranks_{ranks},
        rank_{rank},
        is_shared_{is_shared} {
    serving::Extent const all = extent_of(spec, parts());
    server_ = {.kv_tokens = all.kv_tokens,
               .host_tokens = all.host_tokens,
               .block_tokens = p_.block,
               .max_running = p_.max_running,
               .budget = p_.budget,
               .samples = p_.samples,
               .fill_wait_s = p_.fill_wait,
               .reuses_prefixes = p_.reuse,
               .beam_search = p_.beam_search};
  }

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    auto const requests = static_cast<double>(case_.size[0]);
    // Without a rate: which policy is simulated the fastest says nothing of it.
    // The whole trace, the rank's part of it, and its results twice.
    d.host_bytes = 2 * requests * sizeof(serving::Request) +
                   4 * sizeof(std::int64_t) * requests * static_cast<double>(p_.samples) +
                   static_cast<double>(server_.kv_tokens + server_.host_tokens) /
                       static_cast<double>(p_.block) * 128;
    if (has_kernels()) d.memory_bytes = serving::memory_bytes(extent());
    if (is_executed()) {
      d.host_bytes +=
          static_cast<double>(p_.swap_memory) +
          2 * static_cast<double>(judged_count() * p_.max_length * transformer(case_).kv_bytes());
    }
    // Tokens that are made go behind those before, of which reset() leaves none.
    d.traits = {.repeatable = !makes_tokens(), .host_timed = true};
    if (is_shared_) {
      double const added = static_cast<double>(p_.max_running * transformer(case_).width() *
                                               transformer(case_).element_bytes);
      d.traits.communicates = d.traits.replicated = true;
      d.traffic = {comm::Operation::allreduce, added};
    }
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    std::string const lacking = memory_error(case_, parts());
    if (!lacking.empty()) return lacking;
    if (!static_cast<serving::Policy const&>(variant).batching.paged) {
      if (p_.beam_search) {
        return "keeps K and V of a sequence in one piece, which beams would copy at each token";
      }
      std::int64_t const piece =
                             serving::BuddyAllocator::piece_for(std::max(p_.max_length, p_.block)),
                         largest = static_cast<std::int64_t>(
                             std::bit_floor(static_cast<std::uint64_t>(server_.kv_tokens)));
      if (largest < piece) {
        return fmt::format(
            "keeps K and V of a request in one piece of up to {} tokens, and the largest of {} is "
            "{}; raise kv_memory or lower max_length",
            piece, server_.kv_tokens, largest);
      }
    }
    if (!has_kernels()) return {};
    std::string const error = serving::shape_error(extent());
    if (!error.empty()) return error;
    std::string const missing = serving::unsupported_reason(extent(), device);
    return missing.empty() ? "" : missing + "; take another type, or simulate with stated times";
  }

  double scratch_bytes(measure::Selection const&, device::Facts const& device) const override {
    return has_kernels() ? serving::scratch_bytes(extent(), device) : 0;
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (times_ == nullptr) find_times(world, seed);
    if (execution_) execution_->fill(seed);
    world_ = &world;
    seed_ = seed;
    // Other bits of logits make other tokens: then blocks go by the numbers of tokens alone.
    bool const has_own_tokens = (is_executed() && p_.deterministic) || p_.beam_search;
    hashes_ = serving::TokenHashes{seed, has_own_tokens ? &outputs_ : nullptr};
    requests_ = serving::route(whole_trace(world, seed), p_.router, is_shared_ ? 1 : ranks_,
                               is_shared_ ? 0 : rank_, times_->tokens_per_second(p_.max_running));
    std::int64_t const n = std::ssize(requests_) * p_.samples;
    cached_ = {world.device(), n};
    delivered_ = {world.device(), n};
  }

  void reset(comm::World&, kernels::VariantInfo const& variant) override {
    server_.batching = static_cast<serving::Policy const&>(variant).batching;
    outcome_ = {};
    std::ranges::fill(cached_.span(), -1);
    std::ranges::fill(delivered_.span(), -1);
    outputs_ = {case_.size[0], p_.samples};
    if (!execution_) return;
    std::int64_t const all = std::ssize(requests_) * p_.samples;
    std::int64_t const stride =
        std::max<std::int64_t>(1, (all + judged_count() - 1) / judged_count());
    auto const is_judged = [&, stride](serving::Sequence const& sequence) {
      return (sequence.index * p_.samples + sequence.sample) % stride == 0;
    };
    execution_->begin(hashes_, outputs_, p_.samples, is_judged, times_.get());
  }

  void run(comm::World&, measure::Leg, kernels::VariantInfo const&) override {
    serving::Results const results{cached_.span(), delivered_.span()};
    if (!execution_) {
      outcome_ = serving::simulate(server_, *times_, requests_, hashes_, results, &outputs_);
      return;
    }
    outcome_ = serving::serve(server_, *execution_, requests_, hashes_, results);
  }

  std::string implementation(kernels::VariantInfo const&) const override {
    if (execution_) return execution_->kernels();
    return measured_ ? measured_->kernels : "";
  }

  measure::Verdict validate(comm::World& world) override {
    std::vector<std::int64_t> cached(cached_.span().size()), delivered(cached.size());
    Finding finding;
    // Errors of what was executed are shares of what is allowed.
    if (execution_) finding.allowed = 1;
    for (serving::Request const& request : requests_) {
      for (std::int64_t sample = 0; sample < p_.samples && makes_tokens(); ++sample) {
        std::int64_t const got = std::ssize(outputs_.of(outputs_.number(request, sample)));
        finding.check(got == request.output ? 0 : 1, 0, [&] {
          return fmt::format("sample {} of request {} on rank {}: expected {} tokens, got {}",
                             sample, request.id, rank_, request.output, got);
        });
      }
    }
    for (serving::Request const& request : requests_) {
      if (!execution_ || !p_.beam_search) break;
      std::set<std::vector<std::int32_t>> beams;
      for (std::int64_t sample = 0; sample < p_.samples; ++sample) {
        beams.insert(outputs_.of(outputs_.number(request, sample)));
      }
      finding.check(std::ssize(beams) == p_.samples ? 0 : 1, 0, [&] {
        return fmt::format("beams of request {} on rank {}: expected {} that differ, got {}",
                           request.id, rank_, p_.samples, beams.size());
      });
    }
    if (world.group().max(finding.wrong) > 0) return agree(world, finding);
    serving::expected_results(requests_, hashes_, p_.samples, {cached, delivered});
    compare(finding, "K and V", cached_.span(), cached);
    compare(finding, "output", delivered_.span(), delivered);
    for (serving::Claim const& claim : serving::claims_of(outcome_, server_, requests_)) {
      finding.check(claim.holds() ? 0 : 1, 0, [&] {
        return fmt::format("{} on rank {}: expected {:.17g}, got {:.17g}", claim.what, rank_,
                           claim.expected, claim.got);
      });
    }
    if (execution_) finding.add(execution_->judge(case_));
    if (execution_ && p_.beam_search && p_.deterministic) judge_beams_alone(finding);
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    auto const view = [](device::PinnedBuffer<std::int64_t> const& values) {
      return device::MatrixView{values.data(), core::DataType::i64, 1, values.size(),
                                values.size()};
    };
    return {measure::output(view(cached_)), measure::output(view(delivered_))};
  }

  /// Of all servers.
  std::vector<measure::SecondaryMetric> observed() override {
    serving::Outcome o = counted(outcome_);
    auto const number = [](std::int64_t value) { return static_cast<double>(value); };
    double const end_s = world_->group().max(outcome_.end_s);
    double const at_once = world_->group().max(number(o.max_at_once));
    std::array<double, 14> sums{o.kv.used,
                                o.unshared,
                                o.kv.reserved,
                                o.kv.internal,
                                o.kv.external,
                                number(o.capacity),
                                number(o.tokens),
                                number(o.rows),
                                number(o.useful_rows),
                                number(o.reused + o.forked),
                                number(o.recomputed),
                                number(o.swaps),
                                o.busy_s,
                                o.beyond_s};
    world_->group().sum(std::span{sums});
    auto const [used, unshared, reserved, internal, external, capacity, tokens, rows, useful,
                shared, recomputed, swaps, busy, beyond] = sums;
    serving::Distribution first_token_s = o.first_token_s, gap_s = o.gap_s;
    world_->group().sum(first_token_s.counts());
    world_->group().sum(gap_s.counts());
    serving::Timeline over_time = o.used;
    over_time.add(end_s, end_s, 0);
    world_->group().sum(over_time.slices());

    std::vector<measure::SecondaryMetric> metrics{{"throughput", tokens, "token/s", end_s}};
    auto const time = [&](std::string name, serving::Distribution const& times, double share) {
      double const seconds = times.quantile(share);
      if (seconds > 0) metrics.push_back({std::move(name), 1, "s", seconds});
    };
    time("TTFT p50", first_token_s, 0.5);
    time("TTFT p99", first_token_s, 0.99);
    time("TBT p50", gap_s, 0.5);
    time("TBT p99", gap_s, 0.99);
    auto const share = [&](std::string name, double part, double all) {
      metrics.push_back({std::move(name), all > 0 ? 100 * part / all : 0, "%"});
    };
    double const slot_seconds = capacity * end_s;
    share("KV used", used, slot_seconds);
    share("reserved", reserved, slot_seconds);
    share("internal", internal, slot_seconds);
    share("external", external, slot_seconds);
    share("useful rows", useful, rows);
    share("shared", shared, useful + shared);
    // Of those that share nothing the two are sums of the same terms.
    double const saved = unshared - used;
    share("saved", saved > 1e-9 * unshared ? saved : 0, unshared);
    metrics.push_back({"at once", at_once, "sequences"});
    metrics.push_back({"swapped out", swaps, "sequences"});
    metrics.push_back({"recomputed", recomputed, "tokens"});
    metrics.push_back({"step of one token", 1, "s",
                       times_->of({.rows = 1, .sequences = 1, .context = 1, .drawn = 1})});
    if (measured_) share("beyond measured", beyond, busy);
    if (execution_) {
      std::ranges::move(of_execution(tokens / end_s, first_token_s, gap_s),
                        std::back_inserter(metrics));
    } else {
      metrics.push_back({"simulated", number(case_.size[0]), "request/s"});
    }
    for (int tenth = 0; tenth < kTenths; ++tenth) {
      double const from_s = end_s * tenth / kTenths, to_s = end_s * (tenth + 1) / kTenths;
      share(fmt::format("used {}/{}", tenth + 1, kTenths), over_time.mean(from_s, to_s), capacity);
      metrics.back().is_detail = true;
      metrics.back().series = "used";
    }
    if (measured_) std::ranges::move(points(*measured_), std::back_inserter(metrics));
    return metrics;
  }

 private:
  bool is_executed() const { return p_.execution == Mode::executed; }
  /// Whether there are words of outputs, and not only their number.
  bool makes_tokens() const { return is_executed() || p_.beam_search; }
  /// Of a model.
  int parts() const { return is_shared_ ? ranks_ : 1; }
  /// Whether a rank adds to the numbers of all: a server of all ranks counts once.
  bool counts() const { return !is_shared_ || rank_ == 0; }
  serving::Outcome counted(serving::Outcome outcome) const {
    return counts() ? outcome : serving::Outcome{};
  }
  /// Whether the model, or a part of it, is on the device.
  bool has_kernels() const { return is_executed() || p_.model == kMeasured; }
  serving::Extent extent() const {
    serving::Extent const all = extent_of(case_, parts());
    return is_executed() ? all : serving::measured_part(all);
  }
  /// Sequences of a rank that are computed again.
  std::int64_t judged_count() const { return case_.check == core::Check::full ? 32 : 4; }

  void find_times(comm::World& world, std::uint64_t seed) {
    std::unique_ptr<serving::Execution> execution;
    if (has_kernels()) {
      execution = std::make_unique<serving::Execution>(
          world, extent(), seed, is_shared_ ? &world.transport(case_) : nullptr);
    }
    if (p_.model == kMeasured) {
      measured_ = serving::measure_times(world, *execution);
      times_ = std::make_unique<serving::MeasuredTimes>(transformer(case_), *measured_);
    } else {
      times_ = std::make_unique<serving::StatedTimes>(*stated_times(case_));
    }
    if (!is_executed()) return;
    execution_ = std::move(execution);
    server_.kv_tokens = execution_->extent().kv_tokens;
  }

  /// Requests that are served by themselves have the same beams.
  void judge_beams_alone(Finding& finding) {
    std::int64_t const all = std::ssize(requests_);
    std::int64_t const count = std::min(all, judged_count());
    std::vector<std::int64_t> cached(static_cast<std::size_t>(p_.samples)), delivered(cached);
    for (std::int64_t i = 0; i < count; ++i) {
      serving::Request const& request =
          requests_[static_cast<std::size_t>((2 * i + 1) * all / (2 * count))];
      serving::Outputs alone{case_.size[0], p_.samples};
      serving::TokenHashes const hashes{seed_, &alone};
      execution_->begin(hashes, alone, p_.samples, [](serving::Sequence const&) { return false; });
      serving::serve(server_, *execution_, {&request, 1}, hashes, {cached, delivered});
      for (std::int64_t sample = 0; sample < p_.samples; ++sample) {
        std::int64_t const number = outputs_.number(request, sample);
        finding.check(alone.of(number) == outputs_.of(number) ? 0 : 1, 0, [&] {
          return fmt::format(
              "beam {} of request {} on rank {}: expected the tokens that it has by itself, got "
              "others",
              sample, request.id, rank_);
        });
      }
    }
  }

  /// What the times of steps predict of what has just been executed, and how far off that is.
  std::vector<measure::SecondaryMetric> of_execution(double throughput,
                                                     serving::Distribution const& first_token_s,
                                                     serving::Distribution const& gap_s) {
    std::vector<std::int64_t> cached(cached_.span().size()), delivered(cached.size());
    serving::Outputs outputs{case_.size[0], p_.samples};
    serving::TokenHashes const hashes{seed_, p_.beam_search ? &outputs : nullptr};
    serving::Outcome predicted = counted(
        serving::simulate(server_, *times_, requests_, hashes, {cached, delivered}, &outputs));
    std::array<double, 3> sums{static_cast<double>(predicted.tokens),
                               counts() ? execution_->predicted_s() : 0, counted(outcome_).busy_s};
    world_->group().sum(std::span{sums});
    auto const [tokens, predicted_s, busy_s] = sums;
    double const end_s = world_->group().max(predicted.end_s);
    world_->group().sum(predicted.first_token_s.counts());
    world_->group().sum(predicted.gap_s.counts());
    std::vector<measure::SecondaryMetric> metrics{
        {"predicted throughput", tokens, "token/s", end_s},
        {"off throughput", 100 * (tokens / end_s / throughput - 1), "%"},
        {"off steps", 100 * (predicted_s / busy_s - 1), "%"}};
    auto const add = [&](std::string_view name, serving::Distribution const& foretold,
                         serving::Distribution const& got) {
      double const seconds = foretold.quantile(0.5), was = got.quantile(0.5);
      if (!(seconds > 0 && was > 0)) return;
      metrics.push_back({fmt::format("predicted {} p50", name), 1, "s", seconds});
      metrics.push_back({fmt::format("off {} p50", name), 100 * (seconds / was - 1), "%"});
    };
    add("TTFT", predicted.first_token_s, first_token_s);
    add("TBT", predicted.gap_s, gap_s);
    auto const [bytes, seconds] = execution_->swapped();
    std::array<double, 2> swapped{bytes, seconds};
    world_->group().sum(std::span{swapped});
    if (swapped[0] > 0) {
      metrics.push_back({"swaps", swapped[0] / static_cast<double>(ranks_), "B/s",
                         swapped[1] / static_cast<double>(ranks_)});
    }
    return metrics;
  }

  /// What was measured of one layer.
  static std::vector<measure::SecondaryMetric> points(serving::Measurement const& measured) {
    std::vector<measure::SecondaryMetric> metrics;
    auto const add = [&](serving::Points const& points, auto const& name) {
      for (std::size_t i = 0; i < points.seconds.size(); ++i) {
        double const x = points.x[i / points.y.size()], y = points.y[i % points.y.size()];
        metrics.push_back({name(x, y), 1, "s", points.seconds[i], true});
      }
    };
    add(measured.products,
        [](double rows, double) { return fmt::format("layer products, {} rows", rows); });
    add(measured.ends, [](double rows, double drawn) {
      return fmt::format("step ends, {} rows and {} tokens", rows, drawn);
    });
    add(measured.chunks, [](double tokens, double before) {
      return fmt::format("layer prefill, {} tokens behind {}", tokens, before);
    });
    add(measured.singles, [](double context, double sequences) {
      return fmt::format("layer decode, {} sequences of {} tokens", sequences, context);
    });
    metrics.push_back({"measured copy", measured.memory_rate, "B/s", 1, true});
    metrics.push_back({"measured copy from host", measured.link_rate, "B/s", 1, true});
    return metrics;
  }

  std::vector<serving::Request> whole_trace(comm::World& world, std::uint64_t seed) const {
    serving::TraceOptions const options = trace_options(case_, seed);
    if (p_.trace == kPoisson) return serving::make_trace(options);
    std::string text;
    if (rank_ == 0) {
      core::Parsed<std::string> const read = core::read_file(p_.trace, kMaxTraceBytes);
      if (!read) core::fail(fmt::format("trace '{}' cannot be read: {}", p_.trace, read.why()));
      text = *read;
    }
    world.group().broadcast(text);
    auto const trace = serving::parse_trace(text, options);
    if (!trace) {
      core::fail(fmt::format("trace '{}': {}", p_.trace, trace.why()), core::Exit::bad_config);
    }
    return *trace;
  }

  void compare(Finding& finding, std::string_view what, std::span<std::int64_t const> got,
               std::vector<std::int64_t> const& want) const {
    for (std::size_t i = 0; i < want.size(); ++i) {
      finding.check(got[i] == want[i] ? 0 : 1, 0, [&] {
        auto const samples = static_cast<std::size_t>(p_.samples);
        return fmt::format("{} of sample {} of request {} on rank {}: expected {:#x}, got {:#x}",
                           what, i % samples, requests_[i / samples].id, rank_,
                           static_cast<std::uint64_t>(want[i]), static_cast<std::uint64_t>(got[i]));
      });
    }
  }

  core::Case case_;
  Parameters p_;
  int ranks_, rank_;
  bool is_shared_;  ///< all ranks are one server
  serving::Server server_;
  std::optional<serving::Measurement> measured_;
  std::unique_ptr<serving::StepTimes> times_;
  std::unique_ptr<serving::Execution> execution_;
  serving::Outputs outputs_;
  serving::TokenHashes hashes_{0};
  comm::World* world_ = nullptr;
  std::uint64_t seed_ = 0;
  std::vector<serving::Request> requests_;  ///< of this rank
  device::PinnedBuffer<std::int64_t> cached_, delivered_;
  serving::Outcome outcome_;
};

template <bool kIsShared>
std::unique_ptr<measure::Workload> make(core::Case const& spec, int ranks, int rank) {
  return std::make_unique<Serving>(spec, ranks, rank, kIsShared);
}

measure::Selection rows() {
  measure::Selection all;
  for (serving::Policy const& row : serving::policies()) all.push_back(&row);
  return all;
}

std::vector<core::Option> options(bool is_shared) {
  using namespace core::options;
  auto const text_of = [](auto const& key, std::string type, std::string Parameters::*member,
                          std::string_view help) {
    return text(key, std::move(type), at(member), help);
  };
  auto const count_of = [](auto const& key, std::int64_t Parameters::*member, std::string_view help,
                           CountLimits limits) { return count(key, at(member), help, limits); };
  std::vector<core::Option> all{
      number("rate", at(&Parameters::rate), "requests that arrive in a second, all ranks"),
      text_of("trace", "poisson | a file", &Parameters::trace,
              "poisson: exponential times between arrivals; else a CSV file with the heading "
              "arrival_s,prompt,output, or that and limit, of which the first `size` requests are "
              "taken; times count from the first"),
      text_of("prompt_tokens", "a distribution", &Parameters::prompt,
              "of a prompt: fixed N, uniform LEAST MOST, lognormal MEDIAN SIGMA"),
      text_of("output_tokens", "a distribution", &Parameters::output, "of an output, likewise"),
      count_of("max_length", &Parameters::max_length,
               "the most tokens of a prompt and its output; longer ones are cut",
               {.least = 2, .most = 1 << 20, .unit = "tokens"}),
      choice(
          "limits", at(&Parameters::limits),
          "what a request says of its length, which contiguous memory reserves: max, max_length; "
          "mixed, that or a half, a quarter, ... that holds it"),
      count_of("prefixes", &Parameters::prefixes,
               "different beginnings that prompts have in common; 0: none", {.most = 1 << 20}),
      count_of("prefix", &Parameters::prefix, "their length",
               {.least = 1, .most = 1 << 20, .unit = "tokens"}),
      count_of("samples", &Parameters::samples,
               "outputs of each prompt, which share its blocks until they write",
               {.least = 1, .most = 1024}),
      flag("beam_search", at(&Parameters::beam_search),
           "paged memory: samples are the beams of a search for the likeliest output, which fork "
           "and are dropped at each token"),
      bytes("kv_memory", at(&Parameters::kv_memory), "device memory for K and V, of each rank",
            {.least = 1}),
      number(
          "kv_share", at(&Parameters::kv_share),
          "executed: K and V have this share of what the device has left once a step of the "
          "largest size has run, no more than kv_memory, and what one request needs at least; 0: "
          "kv_memory"),
      bytes("swap_memory", at(&Parameters::swap_memory),
            "host memory that blocks are swapped to, of each rank; where it is full K and V are "
            "dropped and computed again"),
      count_of("block_size", &Parameters::block, "tokens in a block of paged memory",
               {.least = 1, .most = 1 << 16, .unit = "tokens"}),
      flag("reuse", at(&Parameters::reuse),
           "whether full blocks with the same beginning are shared"),
      count_of("max_running", &Parameters::max_running, "sequences in a step, at most",
               {.least = 1, .most = 1 << 16}),
      count_of("budget", &Parameters::budget,
               "tokens in a step of paged memory, at which prompts wait or are cut",
               {.least = 1, .most = 1 << 20, .unit = "tokens"}),
      seconds("fill_wait", at(&Parameters::fill_wait),
              "how long a static batch that is not full waits for more", true),
      text_of("model", "a model of times", &Parameters::model,
              "measured: by parts of steps and copies on this device; or \"stated: "
              "250 TFLOP/s, 2 TB/s, 25 GB/s\", of arithmetic, device memory and the link to the "
              "host"),
      count_of("layers", &Parameters::layers, "of the transformer", {.least = 1, .most = 1024}),
      count_of("heads", &Parameters::heads, "of queries", {.least = 1, .most = 1024}),
      count_of("kv_heads", &Parameters::kv_heads, "of K and V; divides heads",
               {.least = 1, .most = 1024}),
      count_of("head_size", &Parameters::head_size, "the width of the model over its heads",
               {.least = 1, .most = 1024, .unit = "elements"}),
      count_of("vocabulary", &Parameters::vocabulary, "words of the model",
               {.least = 1, .most = 1 << 24}),
      number("temperature", at(&Parameters::temperature),
             "of tokens that are drawn; 0: the likeliest"),
      flag("deterministic", at(&Parameters::deterministic),
           "executed: tokens and logits of a request do not depend on the batch, to the bit; else "
           "by the fastest kernels"),
  };
  if (is_shared) return all;
  all.push_back(
      choice("execution", at(&Parameters::execution),
             "simulated: steps take as long as `model` says; executed: they are computed, by a "
             "GPT of these extents, and what `model` predicts stands beside"));
  all.push_back(
      choice("router", at(&Parameters::router),
             "who of the ranks gets a request: each in turn, or the one with the fewest tokens "
             "left by the model's rate"));
  return all;
}

}  // namespace

namespace serving {

measure::WorkloadEntry entry_of(std::string_view name, std::string_view summary, bool is_shared) {
  Parameters defaults;
  if (is_shared) defaults.execution = Mode::executed;
  return {
      .schema = {.name = name,
                 .extents = {"requests"},
                 .min_extent = 1,
                 .has_auto = false,
                 .keys = {.transport = is_shared, .weak = !is_shared},
                 .defaults = core::Parameters{defaults},
                 .options = options(is_shared),
                 .conflict = is_shared ? conflict<true> : conflict<false>},
      .summary = summary,
      .work =
          "requests of the trace; what is timed is how long all of it takes here, and what "
          "happens in the server's time is in further rates",
      .local = false,
      .variants = rows(),
      .make = is_shared ? make<true> : make<false>,
      .file_problem = file_problem,
      .secondary =
          {{"throughput", "token/s",
            "tokens of all outputs over the server's time, simulated or executed, from the start "
            "to the last of them."},
           {"TTFT", "s",
            "time to first token, from the arrival of a request; half (p50) and 99 % (p99) of all "
            "wait no longer. To 0.5 %."},
           {"TBT", "s",
            "time between two tokens of a sequence, that it was swapped out or waited for prompts "
            "of others included; p50 and p99."},
           {"KV used", "%",
            "slots of KV memory that hold K and V of a token, on average over the server's time. "
            "Slots are used, reserved, internal, external or free."},
           {"used", "%",
            "KV used, in each tenth of the server's time: used 1/10, ... --details, files and "
            "pages have them."},
           {"reserved", "%",
            "slots that are taken for tokens of the same sequence which are yet to come."},
           {"internal", "%",
            "slots that are taken and will never be used: of a piece for the longest that a "
            "request may get, or of a last block."},
           {"external", "%",
            "free slots while the next request waits, which needs no more, but in one piece."},
           {"useful rows", "%",
            "tokens in the products with weights that somebody asked for; the others pad a batch "
            "to its longest. Of a static batch the sum of lengths over requests times the "
            "longest."},
           {"shared", "%", "tokens whose K and V were there already: of a prefix, or of a sample."},
           {"saved", "%",
            "of the slots that sequences would use if none shared a block, those that they do not, "
            "on average over time: common prefixes, samples of a prompt, beams."},
           {"at once", "sequences", "the most sequences in one step, of any server."},
           {"swapped out", "sequences",
            "how often K and V of a sequence went to memory of the host to make room."},
           {"recomputed", "tokens",
            "tokens whose K and V were dropped where that memory was full, and computed again."},
           {"step of one token", "s", "a step of one token that reads one, by the model."},
           {"beyond measured", "%",
            "of the server's time of steps, that of such with more tokens or requests than were "
            "measured; the points that were measured are further rates of `report --details`."},
           {"layer products", "s",
            "with model = \"measured\", a layer but its attention, of as many rows as a step has "
            "tokens."},
           {"step ends", "s",
            "with model = \"measured\", what a step of so many rows, behind which so many tokens "
            "are drawn, has besides layers: uploads, embeddings, the product with all words, "
            "tokens that are drawn and come to the host."},
           {"layer prefill", "s",
            "with model = \"measured\", causal attention of a layer, of tokens of one prompt "
            "behind those whose K and V are there already."},
           {"layer decode", "s",
            "with model = \"measured\", attention of a layer, of one token of each of these "
            "sequences over their paged K and V, which are of so many tokens in all."},
           {"measured copy", "B/s",
            "with model = \"measured\", bytes read and written by a copy within the device; from "
            "host: bytes of one from pinned memory of the host."},
           {"simulated", "request/s", "requests of the trace over the time of the simulation."},
           {"predicted throughput", "token/s",
            "of what was executed, what a simulation of the same requests says with `model`'s "
            "times."},
           {"predicted TTFT", "s", "likewise."},
           {"predicted TBT", "s", "likewise."},
           {"off", "%",
            "such a prediction over what was executed, less 1; off steps: of the steps that were "
            "executed, while a simulation may have others, such as batches of other requests."},
           {"swaps", "B/s",
            "K and V that went to the host and back, over the time of these copies, which run "
            "under steps."}},
      .charts = {
          {.kind = measure::MetricChart::Kind::rates,
           .title = "Throughput",
           .note = "Tokens of all outputs.",
           .parts = {{"throughput"}}},
          {.kind = measure::MetricChart::Kind::spans,
           .title = "Waiting",
           .note = "Bars go from what half of all wait at most (p50) to what 99 % do (p99).",
           .parts = {{"TTFT p50", "time to first token", "TTFT p99"},
                     {"TBT p50", "time between tokens", "TBT p99"}}},
          {.kind = measure::MetricChart::Kind::shares,
           .title = "KV memory",
           .note = "Of all slots, on average over the server's time. Waste: reserved for "
                   "tokens to come, internal (taken and never used), external (free, but not "
                   "in one piece).",
           .parts = {{"KV used", "used"}, {"reserved"}, {"internal"}, {"external"}},
           .others = "wasted",
           .rest = "free"},
          {.kind = measure::MetricChart::Kind::over_time,
           .title = "Use over time",
           .note = "Slots of KV memory that hold K and V of a token, over the server's time.",
           .parts = {{"used"}}}}};
}

}  // namespace serving

namespace entries {

extern measure::WorkloadEntry const serving = measure::entry(serving::entry_of(
    "serving",
    "language models served to a trace of requests by four ways of batching, simulated or executed",
    false));

}  // namespace entries

}  // namespace quadrille::workloads
