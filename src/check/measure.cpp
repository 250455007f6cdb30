// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/measure.hpp"

#include "check/report.hpp"
#include "core/generator.hpp"
#include "core/stats.hpp"
#include "measure/case_runner.hpp"
#include "measure/pair_schedule.hpp"
#include "run/plan.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace quadrille::check {
namespace {

using measure::Outcome;
using measure::Record;

constexpr std::size_t kMaxPartners = 8;

/// Of one metric: the samples of a device or a node, in its unit.
using Samples = std::vector<double>;

void set_value(Reading& reading, Samples const& samples) {
  core::Summary const summary = core::summarize(samples);
  reading.value = summary.n == 0 ? std::nan("") : summary.median;
  reading.uncertainty = summary.half_width();
}

/// The metrics that a case gives.
std::vector<Metric const*> metrics_of(std::string_view name) {
  std::vector<Metric const*> all;
  for (Metric const& metric : metrics()) {
    bool const is_of_case = metric.name == name || (metric.keys.empty() && !all.empty());
    if (!is_of_case && !all.empty()) break;
    if (is_of_case) all.push_back(&metric);
  }
  return all;
}

/// From one rank to the others: the slowest of all pairs of each repetition that it sends in, or of all
/// ranks' where there is none.
Samples pair_samples(Metric const& metric, Record const& record, std::optional<int> rank) {
  Samples worst;
  for (measure::PairTimes const& pair : record.pairs) {
    if (rank && pair.from != *rank) continue;
    bool const is_latency = metric.value == Value::pair_latency;
    std::vector<double> const& times = is_latency ? pair.latency_s : pair.transfer_s;
    Samples mine;
    for (double const seconds : times) mine.push_back(is_latency ? seconds : pair.bytes / seconds);
    if (worst.empty()) worst = mine;
    for (std::size_t i = 0; i < std::min(worst.size(), mine.size()); ++i) {
      worst[i] = is_latency ? std::max(worst[i], mine[i]) : std::min(worst[i], mine[i]);
    }
  }
  return worst;
}

/// One rank's of [repetition * ranks + rank].
Samples of_rank(std::vector<double> const& all, int ranks, int rank) {
  Samples mine;
  for (auto i = static_cast<std::size_t>(rank); i < all.size();
       i += static_cast<std::size_t>(ranks)) {
    mine.push_back(all[i]);
  }
  return mine;
}

/// Of one rank, or of all as the slowest makes them.
Samples samples_of(Metric const& metric, Record const& record, std::optional<int> rank) {
  if (metric.value == Value::pair_latency || metric.value == Value::pair_rate) {
    return pair_samples(metric, record, rank);
  }
  Samples seconds = rank ? of_rank(record.seconds, record.ranks, *rank)
                         : measure::slowest_times(record.seconds, record.ranks);
  if (metric.value == Value::time) return seconds;
  double const amount = rank ? record.amount / record.ranks : record.amount;
  for (double& value : seconds) value = amount / value;
  return seconds;
}

/// The rank's clock, at the median.
double clock_of(Record const& record, int rank) {
  Samples const clocks = of_rank(record.clock_hz, record.ranks, rank);
  return clocks.empty() ? 0 : core::summarize(clocks).median;
}

/// What the hardware can do at the clock that the samples ran at, and what lowered it.
void explain_by_clock(Reading& reading, Record const& record, int rank) {
  double const clock = clock_of(record, rank);
  double const peak = record.peak / record.ranks;
  if (record.peak_clock_hz <= 0) {
    reading.limit = peak;
  } else if (clock > 0) {
    reading.limit = peak * clock / record.peak_clock_hz;
  }
  if (clock <= 0) return;
  reading.note = fmt::format("clock {:.0f} MHz", clock / 1e6);
  for (std::string const& limit : record.clock_limits) reading.note += ", lowered by " + limit;
}

/// What a case says of one of its metrics; `rank`: of a GPU's, its rank in the record.
Reading reading_of(Metric const& metric, Record const& record, std::optional<int> rank) {
  Reading reading{.metric = &metric};
  switch (record.outcome) {
    case Outcome::pass: set_value(reading, samples_of(metric, record, rank)); break;
    case Outcome::fail:
    case Outcome::wrong_library: reading.wrong = record.reason; break;
    default: reading.missing = record.reason; break;
  }
  if (rank) explain_by_clock(reading, record, *rank);
  if (reading.wrong.empty() && reading.missing.empty() && !(reading.value > 0)) {
    reading.missing = "no samples";
  }
  return reading;
}

/// What the system tells of this rank's GPU. Of what it does not tell, that it does not.
std::vector<std::pair<std::string, std::string>> facts_of(
    device::Device& device, std::vector<device::ErrorCounter> const& before) {
  std::vector<std::pair<std::string, std::string>> facts = device::facts_of(device.settings());
  std::vector<device::ErrorCounter> const counters = device.error_counters();
  if (counters.empty()) facts.emplace_back("error counters", "not told");
  for (device::ErrorCounter const& counter : counters) {
    auto const then = std::ranges::find(before, counter.name, &device::ErrorCounter::name);
    std::uint64_t const more = then == before.end() ? 0 : counter.count - then->count;
    facts.emplace_back(counter.name, fmt::format("{}, {} during the check", counter.count, more));
  }
  return facts;
}

/// Measures cases on the ranks of the world, which is a part of it. Collective, as its functions are.
class Measurement {
 public:
  Measurement(comm::World& world, core::Config const& config, measure::Fault fault)
      : world_{world}, config_{config}, fault_{fault} {}

  /// On the first rank; nothing on others, where a signal came, and with fewer ranks than it needs.
  std::optional<Record> measure(core::Case const& spec) {
    core::Config one = config_;
    one.cases = {measure::with_fault(spec, fault_)};
    run::Plan plan = run::make_plan(world_, one);
    if (plan.cases.empty()) return std::nullopt;
    run::Planned& planned = plan.cases.front();
    if (!planned.too_few_ranks.empty()) return std::nullopt;
    std::string const why = planned.problem + planned.unsupported;
    if (!why.empty()) return measure::unsupported_record(world_, planned.spec, why);
    transport_times_ = run::choose_transports(world_, plan, std::move(transport_times_));
    measure::CaseOptions options;
    options.best_rows = best_rows_;
    options.decorate = [this, data = planned.spec.data](std::unique_ptr<measure::Workload> made) {
      return measure::make_faulty(std::move(made), fault_, data);
    };
    std::vector<Record> records =
        measure::measure_case(world_, planned.spec, *planned.entry, planned.selected, options);
    if (world_.rank() != 0) return std::nullopt;
    return std::move(records.front());
  }

 private:
  comm::World& world_;
  core::Config const& config_;
  measure::Fault fault_;
  std::shared_ptr<measure::BestRows> best_rows_ = std::make_shared<measure::BestRows>();
  std::vector<comm::TransportTime> transport_times_;
};

/// Who measures a case: GPUs each alone, nodes each alone, or two nodes together.
enum class Group { gpu, node, pair, nobody };

Group group_of(core::Case const& spec, comm::World const& world) {
  Metric const& metric = *find_metric(spec.name);
  bool const has_gpus = world.device().kind() == device::Kind::cuda;
  if (!has_gpus && !metric.on_hosts) return Group::nobody;
  if (metric.scope == Scope::pair) return Group::pair;
  bool const is_alone = metric.scope == Scope::device && metric.part != Part::peer_link;
  return has_gpus && is_alone ? Group::gpu : Group::node;
}

/// The cases of a group, as long as no signal comes. `begin` is told each on the way.
void measure_group(comm::World& world, core::Config const& config, Group group,
                   measure::Fault fault, std::function<void(std::string const&)> const& begin,
                   std::function<void(Metric const&, Record const&)> const& take) {
  Measurement measurement{world, config, fault};
  for (core::Case const& spec : config.cases) {
    if (group_of(spec, world) != group) continue;
    if (world.size() < find_metric(spec.name)->min_ranks) continue;
    if (world.interrupted()) return;
    begin(spec.name);
    std::optional<Record> const record = measurement.measure(spec);
    if (!record) continue;
    for (Metric const* metric : metrics_of(spec.name)) take(*metric, *record);
  }
}

/// Adds what is measured of subjects to all of them.
void join(std::vector<Subject>& all, std::vector<Subject> const& measured) {
  for (Subject const& one : measured) {
    auto const known = std::ranges::find(all, one.name(), &Subject::name);
    if (known == all.end()) continue;
    known->readings.insert(known->readings.end(), one.readings.begin(), one.readings.end());
    known->facts.insert(known->facts.end(), one.facts.begin(), one.facts.end());
  }
}

/// A node as all ranks know it.
struct Node {
  std::string name;
  std::vector<int> ranks{};
  // On rank 0:
  std::string phase = "start";  ///< that it told last
  std::string lost{};           ///< why it answers no more
  std::string partner{};        ///< with whom it was then
  bool has_measured = false;    ///< itself
  bool has_ended = false;       ///< its pairs, too
};

/// What two nodes reached together.
struct PairValue {
  std::size_t a = 0, b = 0;
  std::map<Metric const*, double> values{};
};

/// One check on all ranks. What rank 0 has to know comes to it in letters: nothing is collective over more
/// than a node or a pair of them from the start of the measurement on.
class NodeCheck {
 public:
  NodeCheck(comm::World& world, Request const& request,
            std::function<core::Exit(Measured)> const& conclude)
      : world_{world},
        request_{request},
        conclude_{conclude},
        post_{world.group().duplicate()},
        is_first_{world.rank() == 0},
        is_leader_{world.node_group().rank() == 0},
        subjects_{subjects_of(world)} {
    std::vector<std::string> const numbers = world.group().all_gather(std::to_string(world.node()));
    nodes_.resize(static_cast<std::size_t>(world.nodes()));
    for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
      node_of_rank_.push_back(static_cast<std::size_t>(std::stoi(numbers[rank])));
      Node& node = nodes_[node_of_rank_.back()];
      node.name = world.placements()[rank].node;
      node.ranks.push_back(static_cast<int>(rank));
    }
    own_ = node_of_rank_[static_cast<std::size_t>(world.rank())];
    world.on_failure([this](std::string const& told) { return fail_here(told); });
    if (is_first_) {
      world.on_abort("", [this] {
        std::scoped_lock const lock{mutex_};
        while (auto const letter = post_.receive(0)) take(*letter);
        is_interrupted_ = true;
        tell_verdicts();
      });
    }
  }

  core::Exit run() {
    measure_node();
    std::vector<int> alive;
    if (is_first_) {
      alive = choose_partners();
    } else {
      alive = Json::parse(wait_for_rank_0())["partners"].get<std::vector<int>>();
    }
    if (is_leader_ && alive.size() > 1) measure_pairs(alive);
    world_.enter_phase("wait for other nodes", 0);
    if (!is_first_) {
      int const code = Json::parse(wait_for_rank_0())["exit"];
      world_.on_failure({});
      return static_cast<core::Exit>(code);
    }
    collect([](Node const& node) { return node.has_ended; });
    world_.on_abort("", {});
    core::Exit code = core::Exit::pass;
    {
      std::scoped_lock const lock{mutex_};
      code = tell_verdicts();
    }
    if (std::ranges::any_of(nodes_, [](Node const& node) { return !node.lost.empty(); })) {
      world_.abandon(code);
    }
    world_.on_failure({});
    tell_all({{"exit", static_cast<int>(code)}});
    return code;
  }

 private:
  using Json = nlohmann::ordered_json;
  using Clock = std::chrono::steady_clock;

  /// Seconds that are left, but enough for others to notice that their partners hang.
  double seconds_left() const {
    double const passed = std::chrono::duration<double>(Clock::now() - start_).count();
    return std::max(request_.limit_s / 2, request_.limit_s - passed);
  }

  /// To rank 0.
  void tell(Json const& what) {
    if (!is_first_) return post_.send(what.dump(), 0);
    std::scoped_lock const lock{mutex_};
    take({0, what.dump()});
  }
  void tell_all(Json const& what) {
    for (int rank = 1; rank < static_cast<int>(node_of_rank_.size()); ++rank) {
      if (nodes_[node_of_rank_[static_cast<std::size_t>(rank)]].lost.empty()) {
        post_.send(what.dump(), rank);
      }
    }
  }

  std::string wait_for_rank_0() {
    constexpr double kGrace = 60;
    auto letter = post_.receive(2 * request_.limit_s + kGrace);
    if (!letter) core::fail("rank 0 answers no more", core::Exit::timeout);
    return letter->text;
  }

  /// This rank fails or hangs: rank 0 goes on without its node.
  core::Exit fail_here(std::string const& told) {
    std::string const with = partner_.empty() ? "" : " with " + partner_;
    tell({{"lost", told + with}, {"partner", partner_}});
    if (!is_first_) {
      for (;;) std::this_thread::sleep_for(std::chrono::hours{1});
    }
    if (partner_.empty()) choose_partners();
    collect([](Node const& node) { return node.has_ended; });
    std::scoped_lock const lock{mutex_};
    return tell_verdicts();
  }

  void take(comm::Group::Letter const& letter) {
    Json const what = Json::parse(letter.text);
    Node& node = nodes_[node_of_rank_[static_cast<std::size_t>(letter.from)]];
    if (what.contains("phase")) node.phase = what["phase"];
    if (what.contains("subjects")) {
      join(subjects_, *subjects_from(what["subjects"]));
      node.has_measured = true;
    }
    if (what.value("interrupted", false)) is_interrupted_ = true;
    if (what.contains("pair")) {
      PairValue& pair = pairs_.emplace_back(PairValue{what["a"], what["b"]});
      for (auto const& [name, value] : what["pair"].items()) {
        pair.values[find_metric(name)] = value.is_number() ? value.get<double>() : std::nan("");
      }
    }
    if (what.value("ended", false)) node.has_ended = true;
    if (what.contains("lost") && node.lost.empty()) {
      node.lost = what["lost"];
      node.partner = what["partner"];
      losses_.push_back(&node);
    }
  }

  /// Takes letters until all nodes are so, or lost; those that are not in time are lost then.
  template <class IsDone>
  void collect(IsDone is_done) {
    auto const end = Clock::now() + std::chrono::duration<double>(seconds_left());
    auto const is_waiting = [&](Node const& node) { return node.lost.empty() && !is_done(node); };
    for (;;) {
      {
        std::scoped_lock const lock{mutex_};
        while (auto const letter = post_.receive(0)) take(*letter);
        if (std::ranges::none_of(nodes_, is_waiting)) return;
        if (Clock::now() >= end) break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    for (Node& node : nodes_) {
      if (!is_waiting(node)) continue;
      node.lost = fmt::format("no answer since phase '{}'", node.phase);
      losses_.insert(losses_.begin(), &node);  // before those that have noticed it
    }
  }

  /// Whether the node itself was lost, and did not wait for a partner that was.
  bool is_broken(Node const& node) const {
    if (node.lost.empty()) return false;
    for (Node const* const earlier : losses_) {
      if (earlier == &node) break;
      if (earlier->name == node.partner) return false;
    }
    return true;
  }

  core::Exit tell_verdicts() {
    if (has_concluded_) return code_;
    has_concluded_ = true;
    Measured measured{.subjects = subjects_, .is_interrupted = is_interrupted_};
    for (Node const& node : nodes_) {
      if (!is_broken(node)) continue;
      std::erase_if(measured.subjects,
                    [&](Subject const& one) { return one.node == node.name && one.gpu >= 0; });
      std::ranges::find(measured.subjects, node.name, &Subject::node)->lost = node.lost;
    }
    add_pairs(measured);
    code_ = conclude_(std::move(measured));
    return code_;
  }

  /// On the node's first rank what it and its GPUs reach.
  void measure_node() {
    measure::Fault const fault = own_ == 0 ? request_.fault : measure::Fault::none;
    bool const has_gpus = world_.device().kind() == device::Kind::cuda;
    std::vector<Subject> subjects;
    bool is_interrupted = false;
    {
      comm::World::Part const node{world_, nodes_[own_].ranks};
      auto const begin = [this](std::string const& phase) {
        if (is_leader_) tell({{"phase", phase}});
      };
      std::vector<Subject> mine;
      if (has_gpus) mine.push_back(measure_gpu(fault, begin));
      for (std::string const& text : world_.group().all_gather(to_json(mine).dump())) {
        auto const of_rank = *subjects_from(Json::parse(text));
        subjects.insert(subjects.end(), of_rank.begin(), of_rank.end());
      }
      subjects.push_back({.node = nodes_[own_].name});
      measure_group(world_, request_.config, Group::node, fault, begin,
                    [&](Metric const& metric, Record const& record) {
                      bool const is_of_gpus = metric.scope == Scope::device && has_gpus;
                      for (Subject& one : subjects) {
                        if (is_of_gpus != (one.gpu >= 0)) continue;
                        one.readings.push_back(reading_of(
                            metric, record, is_of_gpus ? std::optional{one.gpu} : std::nullopt));
                      }
                    });
      is_interrupted = world_.interrupted();
    }
    world_.enter_phase("wait for other nodes", 0);
    if (is_leader_) tell({{"subjects", to_json(subjects)}, {"interrupted", is_interrupted}});
  }

  /// This rank's GPU alone.
  Subject measure_gpu(measure::Fault fault, std::function<void(std::string const&)> const& begin) {
    Subject gpu{.node = nodes_[own_].name, .gpu = world_.rank()};
    std::vector<device::ErrorCounter> const before = world_.device().error_counters();
    {
      comm::World::Part const part{world_, {world_.rank()}};
      measure_group(world_, request_.config, Group::gpu, fault, begin,
                    [&](Metric const& metric, Record const& record) {
                      gpu.readings.push_back(reading_of(metric, record, 0));
                    });
    }
    gpu.facts = facts_of(world_.device(), before);
    return gpu;
  }

  /// Tells the nodes that have answered which there are.
  std::vector<int> choose_partners() {
    collect([](Node const& node) { return node.has_measured; });
    std::vector<int> alive;
    for (std::size_t i = 0; i < nodes_.size() && !is_interrupted_; ++i) {
      if (nodes_[i].lost.empty()) alive.push_back(static_cast<int>(i));
    }
    tell_all({{"partners", alive}});
    for (Node& node : nodes_) node.has_ended = alive.size() < 2;
    return alive;
  }

  /// Rounds of pairs; of each pair the first rank of each node.
  void measure_pairs(std::vector<int> order) {
    std::ranges::sort(order, {}, [this](int node) {  // every node in a random place
      return core::mix(core::mix(request_.seed) + static_cast<std::uint64_t>(node) + 1);
    });
    auto rounds =
        measure::pair_rounds(static_cast<int>(order.size()), measure::AtOnce::disjoint, true);
    if (rounds.size() > kMaxPartners) rounds.resize(kMaxPartners);
    auto const self = std::ranges::find(order, static_cast<int>(own_)) - order.begin();
    for (std::vector<measure::Pair> const& round : rounds) {
      auto const mine = std::ranges::find_if(
          round, [self](measure::Pair const& pair) { return pair.has(static_cast<int>(self)); });
      if (mine == round.end()) continue;
      auto const a = static_cast<std::size_t>(order[static_cast<std::size_t>(mine->from)]);
      auto const b = static_cast<std::size_t>(order[static_cast<std::size_t>(mine->to)]);
      measure_pair(std::min(a, b), std::max(a, b));
    }
    tell({{"ended", true}});
  }

  void measure_pair(std::size_t a, std::size_t b) {
    partner_ = nodes_[own_ == a ? b : a].name;
    tell({{"phase", "pair with " + partner_}});
    world_.enter_phase("meet " + partner_, request_.limit_s / 4);
    std::vector<int> ranks{nodes_[a].ranks.front(), nodes_[b].ranks.front()};
    std::ranges::sort(ranks);
    Json values = Json::object();
    {
      comm::World::Part const part{world_, ranks};
      measure_group(
          world_, request_.config, Group::pair, measure::Fault::none, [](std::string const&) {},
          [&](Metric const& metric, Record const& record) {
            values[std::string{metric.name}] = reading_of(metric, record, std::nullopt).value;
          });
    }
    if (!values.empty()) tell({{"pair", values}, {"a", a}, {"b", b}});
    partner_.clear();
  }

  /// Gives each node the median over its partners: a slow one makes all of its pairs slow, and of them
  /// only one slow pair.
  void add_pairs(Measured& measured) const {
    if (nodes_.size() < 2) return;
    std::map<std::pair<std::size_t, Metric const*>, Samples> by_node;
    PairValue const* worst = nullptr;
    Metric const* const bandwidth = find_metric("network_bandwidth");
    for (PairValue const& pair : pairs_) {
      for (auto const& [metric, value] : pair.values) {
        for (std::size_t const node : {pair.a, pair.b}) by_node[{node, metric}].push_back(value);
      }
      bool const is_worse =
          worst == nullptr || !(pair.values.at(bandwidth) >= worst->values.at(bandwidth));
      if (is_worse) worst = &pair;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      auto const subject = std::ranges::find(measured.subjects, nodes_[i].name, &Subject::node);
      for (Metric const& metric : metrics()) {
        if (metric.scope != Scope::pair || !subject->lost.empty()) continue;
        Reading reading{.metric = &metric, .missing = "no pair was measured"};
        if (auto const found = by_node.find({i, &metric}); found != by_node.end()) {
          reading.missing.clear();
          reading.value = core::summarize(found->second).median;
        }
        subject->readings.push_back(std::move(reading));
      }
    }
    if (worst == nullptr) return;
    measured.worst_pair =
        fmt::format("{} and {}, {}", nodes_[worst->a].name, nodes_[worst->b].name,
                    core::format_rate(worst->values.at(bandwidth), bandwidth->unit));
  }

  comm::World& world_;
  Request const& request_;
  std::function<core::Exit(Measured)> const& conclude_;
  comm::Group post_;
  bool is_first_, is_leader_;
  Clock::time_point start_ = Clock::now();
  std::vector<Node> nodes_;                ///< by number
  std::vector<std::size_t> node_of_rank_;  ///< of the world's
  std::size_t own_ = 0;
  std::string partner_;  ///< of the running pair
  // On rank 0, of which a thread that ends the job may ask, too:
  std::recursive_mutex mutex_;
  std::vector<Subject> subjects_;
  std::vector<PairValue> pairs_;
  std::vector<Node const*> losses_;  ///< in their order
  bool is_interrupted_ = false, has_concluded_ = false;
  core::Exit code_ = core::Exit::pass;
};

}  // namespace

std::vector<Subject> subjects_of(comm::World const& world) {
  bool const has_gpus = world.device().kind() == device::Kind::cuda;
  std::map<std::string, std::vector<comm::Placement>> nodes;
  for (comm::Placement const& rank : world.placements()) nodes[rank.node].push_back(rank);
  std::vector<Subject> subjects;
  for (auto const& [name, ranks] : nodes) {
    subjects.push_back(
        {.node = name, .model = fmt::format("node of {} x {}", ranks.size(), ranks[0].device)});
    for (int gpu = 0; has_gpus && gpu < static_cast<int>(ranks.size()); ++gpu) {
      subjects.push_back(
          {.node = name, .gpu = gpu, .model = ranks[static_cast<std::size_t>(gpu)].device});
    }
  }
  return subjects;
}

std::string cases_of(Depth depth, double limit_s) {
  constexpr std::string_view kRun[] = {"repetitions = 7\nwarmup = { count = 1, seconds = 0.02 }",
                                       "repetitions = 15\nwarmup = { count = 2, seconds = 0.2 }",
                                       "repetitions = 201\nwarmup = { count = 3, seconds = 1 }"};
  // A rank notices that another hangs before rank 0 gives both up.
  std::string text = fmt::format(
      "[run]\noutput = \".\"\nvendor = \"off\"\n{0}\n"
      "timeout = {{ prepare = \"{1}s\", repetition = \"{1}s\", check = \"{1}s\" }}\n",
      kRun[static_cast<std::size_t>(depth)], limit_s / 4);
  for (Metric const& metric : metrics()) {
    if (metric.keys.empty() || (depth == Depth::quick && !metric.is_quick)) continue;
    text += fmt::format("\n[[case]]\nname = \"{}\"\n{}\n{}\n", metric.name, metric.shared_keys,
                        metric.keys);
  }
  return text;
}

double limit_of(Depth depth) {
  constexpr double kSeconds[] = {120, 240, 3600};
  return kSeconds[static_cast<std::size_t>(depth)];
}

core::Exit measure_nodes(comm::World& world, Request const& request,
                         std::function<core::Exit(Measured)> const& conclude) {
  return NodeCheck{world, request, conclude}.run();
}

}  // namespace quadrille::check
