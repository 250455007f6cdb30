// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "reduction/reduction.hpp"

#include "common/asked_bytes.hpp"
#include "workloads/checks/limits.hpp"
#include "workloads/secondary.hpp"
#include "workloads/streamed_vectors.hpp"
#include "workloads/tables.hpp"
#include "workloads/virtual_blocks.hpp"

#include <algorithm>

namespace quadrille::workloads {
namespace {

namespace reduction = kernels::reduction;
using Operation = reduction::Operation;

/// Where the vector lies.
enum class VectorSource { device, host };
constexpr auto enum_names(VectorSource) {
  return core::EnumNames<VectorSource, 2>{
      {{VectorSource::device, "device"}, {VectorSource::host, "host"}}};
}

/// What sums are formed in.
enum class Accumulator { f64, f32, i32 };
constexpr auto enum_names(Accumulator) {
  return core::EnumNames<Accumulator, 3>{
      {{Accumulator::f64, "f64"}, {Accumulator::f32, "f32"}, {Accumulator::i32, "i32"}}};
}

struct Parameters {
  Operation operation = Operation::sum;
  std::int64_t chunk = 0;  ///< bytes, of a vector of the host; 0: 64 MiB
  VectorSource source = VectorSource::device;
  Accumulator accumulator = Accumulator::f64;
  bool reproducible = false;
  bool finish = true;  ///< the second kernel is a part of the operation
  bool operator==(Parameters const&) const = default;
};

/// One number from a vector that is spread over all ranks by virtual blocks.
class Reduction final : public measure::Workload {
 public:
  Reduction(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        n_{spec.size[0]},
        ranks_{ranks},
        operation_{p_.operation},
        blocks_{RankReduction::blocks_of(ranks, rank)},
        first_{reduction::block_begin(n_, blocks_.first)},
        count_{reduction::block_begin(n_, blocks_.first + blocks_.count) - first_} {}

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.traits = {.communicates = true,
                .graph_capturable = ranks_ == 1 && !is_streamed(),
                .searches_best = !is_streamed()};
    d.amount = vectors() * static_cast<double>(n_) * static_cast<double>(core::size_of(case_.type));
    d.unit = "B/s";
    if (is_streamed()) {  // then the link to the host is the limit
      d.pcie_bytes = d.amount;
    } else {
      d.flop = reduction::flop(operation_, static_cast<double>(n_));
      d.device_bytes = d.amount;
    }
    d.network_bytes = 2.0 * (ranks_ - 1) * 8;
    d.traffic = RankReduction::traffic(p_.reproducible);
    double const mine = static_cast<double>(vectors()) * static_cast<double>(count_) *
                        static_cast<double>(core::size_of(case_.type));
    double const slots = StreamedVectors::slot_bytes(vectors(), chunk_bytes());
    d.memory_bytes = (is_streamed() ? std::min(slots, 2 * mine) : mine) +
                     3.0 * 8 * reduction::kVirtualBlocks +
                     static_cast<double>(reduction::scratch_bytes(count_));
    if (is_streamed()) d.host_bytes = mine;
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    if (p_.reproducible && is_streamed()) {
      return "reduces no chunks reproducibly; set source = \"device\"";
    }
    if (p_.reproducible && p_.accumulator == Accumulator::f32) {
      return "accumulates reproducible sums in f64; set accumulator = \"f64\"";
    }
    auto const& row = row_of(reduction::variants(), variant);
    if (!p_.finish && row.specifics.notes.finish == nullptr) {
      return "has no second kernel to leave out; set finish = true";
    }
    if (!p_.finish && (is_streamed() || p_.reproducible)) {
      return "leaves no partial results of chunks or virtual blocks; set finish = true";
    }
    return row.unsupported_reason(problem());
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (!prepared_) {
      if (is_streamed()) {
        streamed_ = {world, case_.type, count_, vectors(), chunk_bytes()};
        partial_of_chunk_ = {world.device(), streamed_.chunks(), world.stream()};
      } else {
        x_ = {world.device(), case_.type, 1, count_, world.stream()};
        if (vectors() == 2) y_ = {world.device(), case_.type, 1, count_, world.stream()};
      }
      if (world.device().kind() == device::Kind::cuda) {
        auto const bytes = static_cast<std::int64_t>(reduction::scratch_bytes(count_));
        scratch_ = {world.device(), bytes, world.stream()};
        world.stream().fill(scratch_.data(), 0, scratch_.bytes());
      }
      over_ranks_ = RankReduction{world, case_, operation_, p_.reproducible};
      prepared_ = true;
    }
    sx_ = {case_.data, seed, 0};
    sy_ = {case_.data, seed, 1};
    // A vector is one row of the generator; a rank holds columns [first_, first_ + count_).
    if (is_streamed()) {
      streamed_.fill(0, first_, sx_, world);
      if (vectors() == 2) streamed_.fill(1, first_, sy_, world);
    } else {
      fill(x_.view(), row_from(first_), sx_, world);
      if (vectors() == 2) fill(y_.view(), row_from(first_), sy_, world);
    }
    reference_ = reference(world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    launched_ = &row_of(reduction::variants(), variant);
    over_ranks_.reset(world);
    if (p_.finish) return;
    // What the second kernel reads, behind the counters, which must stay.
    constexpr std::size_t kCounters = reduction::kCounterBytes;
    world.stream().fill(scratch_.data() + kCounters, 0xFF, scratch_.bytes() - kCounters);
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    auto const& row = row_of(reduction::variants(), variant);
    if (is_streamed()) {
      reduce_chunks(row, world);
    } else {
      row.launch(problem(), world.stream());
    }
    if (p_.finish) over_ranks_.run(world);
  }

  /// What the kernel asks of memory, on one rank.
  std::vector<measure::SecondaryMetric> observed() override {
    auto const accesses = reduction::accesses_of(*launched_, count_);
    std::int64_t const each = launched_->specifics.notes.block_elements;
    bool const has_words = core::size_of(case_.type) == 4 && core::size_of(accumulator()) == 4;
    if (!has_words || !accesses || count_ == 0) return {};
    auto const conflicts = [](kernels::Requests const& all) {
      return static_cast<double>(all.conflicts());
    };
    std::vector<measure::SecondaryMetric> all{
        {"bank conflicts, stores", conflicts(accesses->shared_stores), "wavefronts"},
        {"bank conflicts, loads", conflicts(accesses->shared_loads), "wavefronts"}};
    // Of the last block loads are missing unless it is full.
    if (count_ % each != 0) return all;
    kernels::CountedParts const blocks{
        kernels::find_accesses(reduction::Problem::kOperation, *launched_, 4), count_ / each};
    for (measure::SecondaryMetric& metric : global_metrics(blocks.accesses(), blocks.bytes())) {
      all.push_back(std::move(metric));
    }
    return all;
  }

  measure::Verdict validate(comm::World& world) override {
    if (!p_.finish) {
      launched_->specifics.notes.finish(problem(), world.stream());
      over_ranks_.run(world);
    }
    Reference const& mine = reference_;
    Finding finding;
    finding.allowed = 1;
    Limits limits{accumulator(), core::compute_for(accumulator())};
    double const partial = over_ranks_.partial_value(world);
    bool const is_judged = count_ == 0 || !limits.is_beyond({.got = partial, .want = mine.value});
    if (is_judged) check(finding, "partial result", partial, mine, count_, world);
    Reference whole = mine;
    switch (operation_) {
      case Operation::min: whole.value = world.group().min(mine.value); break;
      case Operation::max: whole.value = world.group().max(mine.value); break;
      default: {
        std::array<double, 3> sums{mine.value, mine.magnitude, mine.squares};
        world.group().sum(std::span{sums});
        whole = {sums[0], sums[1], sums[2]};
      }
    }
    bool const has_total = world.group().agree(!is_judged) < 0;
    double const bound =
        has_total ? check(finding, "total", over_ranks_.total_value(world), whole, n_, world) : 0;
    over_ranks_.check_gathered(world, finding);
    measure::Verdict verdict = agree(world, finding);
    limits.judge(verdict, world);
    require_separation(verdict, whole.value, bound, "take a wider accumulator or fewer elements");
    verdict.digest = fmt::format("{:a}", over_ranks_.total_value(world));
    return verdict;
  }

  std::vector<measure::Field> fields() override {
    std::vector<measure::Field> all = over_ranks_.fields();
    if (!p_.finish) all.clear();  // partial results alone, of which only the variant knows how many
    if (p_.finish) all.push_back(over_ranks_.total("total"));
    for (int v = 0; v < vectors(); ++v) {
      device::MatrixView const part =
          is_streamed() ? streamed_.on_host(v) : (v == 0 ? x_ : y_).view();
      measure::Field const part_of_all = vector_field(v == 0 ? "x" : "y", part, n_, first_);
      all.push_back(is_streamed() ? part_of_all : measure::input(part_of_all));
    }
    return all;
  }

 private:
  struct Reference {
    double value = 0;
    double magnitude = 0;  ///< sum of |t| over the terms t that are added
    double squares = 0;    ///< sum of t^2
  };

  bool is_streamed() const { return p_.source == VectorSource::host; }
  int vectors() const { return operation_ == Operation::dot ? 2 : 1; }
  std::int64_t chunk_bytes() const { return p_.chunk > 0 ? p_.chunk : 64 << 20; }

  core::DataType accumulator() const {
    switch (p_.accumulator) {
      case Accumulator::f32: return core::DataType::f32;
      case Accumulator::i32: return core::DataType::i32;
      case Accumulator::f64: break;
    }
    return core::DataType::f64;
  }

  /// The partial results of chunks are reduced like a vector of the device, always in one way.
  void reduce_chunks(kernels::Variant<reduction::Problem> const& row, comm::World& world) {
    streamed_.run(world, [&](std::int64_t c, void const* x, void const* y, std::int64_t n) {
      reduction::Problem part = problem();
      part.x = x;
      part.y = y;
      part.n = n;
      part.result = partial_of_chunk_.data() + c;
      row.launch(part, world.stream());
    });
    reduction::Problem last = problem();
    last.x = partial_of_chunk_.data();
    last.n = streamed_.chunks();
    last.type = core::DataType::f64;
    last.accumulator = core::DataType::f64;
    bool const adds = operation_ != Operation::min && operation_ != Operation::max;
    if (adds) last.operation = Operation::sum;
    reduction::reduce_any(last, world.stream());
  }

  reduction::Problem problem() const {
    reduction::Problem p;
    p.x = x_.view().data;
    p.y = y_.view().data;
    p.n = count_;
    p.type = case_.type;
    p.accumulator = accumulator();
    p.finish = p_.finish;
    p.operation = operation_;
    p.result = over_ranks_.partial();
    p.reproducible = p_.reproducible;
    p.global_n = n_;
    p.block_first = blocks_.first;
    p.block_count = blocks_.count;
    p.blocks = over_ranks_.blocks();
    p.scratch = scratch_.data();
    p.scratch_bytes = scratch_.bytes();
    return p;
  }

  /// What this rank's part must give, in extended precision.
  Reference reference(comm::World const& world) const {
    struct Part {
      long double sum = 0;
      double least = reduction::identity(Operation::min);
      double most = reduction::identity(Operation::max);
      double magnitude = 0;
      double squares = 0;
    };
    int const threads = world.placement().threads;
    std::vector<Part> parts(static_cast<std::size_t>(threads));
    core::visit_type(case_.type, [&](auto zero) {
      using T = decltype(zero);
      on_threads(world, threads, [&](core::Range const& mine) {
        for (std::int64_t t = mine.first; t < mine.first + mine.count; ++t) {
          core::Range const range = core::split_evenly(count_, threads, t);
          Part part;
          for (std::int64_t j = first_ + range.first; j < first_ + range.first + range.count; ++j) {
            auto const x = static_cast<double>(sx_.at<T>(0, j));
            double term = x;
            if (operation_ == Operation::dot) term = x * static_cast<double>(sy_.at<T>(0, j));
            if (operation_ == Operation::norm2) term = x * x;
            part.sum += term;
            part.magnitude += std::abs(term);
            part.squares += term * term;
            part.least = std::min(part.least, x);
            part.most = std::max(part.most, x);
          }
          parts[static_cast<std::size_t>(t)] = part;
        }
      });
    });
    Part whole;
    for (Part const& part : parts) {
      whole.sum += part.sum;
      whole.magnitude += part.magnitude;
      whole.squares += part.squares;
      whole.least = std::min(whole.least, part.least);
      whole.most = std::max(whole.most, part.most);
    }
    double const value = operation_ == Operation::min   ? whole.least
                         : operation_ == Operation::max ? whole.most
                                                        : static_cast<double>(whole.sum);
    return {value, whole.magnitude, whole.squares};
  }

  double allowed(Reference const& reference, std::int64_t n, device::Facts const& device) const {
    double const epsilon = core::epsilon_of(problem().accumulator);
    auto const& notes = launched_->specifics.notes;
    bool const is_root = operation_ == Operation::norm2 && notes.squares_root;
    if (core::is_whole(case_.data) && reference.magnitude * epsilon < 1 && !is_root) return 0;
    auto const chain_of = notes.chain;
    auto const count = static_cast<double>(n);
    double const chain = p_.reproducible
                             ? count / (reduction::kVirtualBlocks * reduction::kLanes) + 20
                         : chain_of == nullptr ? count
                                               : chain_of(count, device);
    // The partial results of chunks and ranks are joined in f64.
    double const joins = ranks_ + (is_streamed() ? static_cast<double>(streamed_.chunks()) : 0);
    reduction::Problem joined = problem();
    joined.accumulator = core::DataType::f64;
    double const norm = std::sqrt(reference.squares);
    return reduction::error_bound(problem(), chain, norm, reference.value) +
           reduction::error_bound(joined, joins, norm, reference.value);
  }

  /// Returns the bound.
  double check(Finding& finding, std::string_view what, double got, Reference const& reference,
               std::int64_t n, comm::World const& world) const {
    double const want = reference.value;
    double const bound = allowed(reference, n, world.device().facts());
    finding.check(got == want ? 0 : std::abs(got - want) / bound, 1, [&] {
      return fmt::format("{} on rank {}: expected {:.17g}, got {}", what, world.rank(), want,
                         shown(got, 17));
    });
    return bound;
  }

  core::Case case_;
  Parameters p_;
  std::int64_t n_;
  int ranks_;
  Operation operation_;
  core::Range blocks_;
  std::int64_t first_, count_;
  bool prepared_ = false;
  kernels::Variant<reduction::Problem> const* launched_ = nullptr;
  Source sx_, sy_;
  Reference reference_;  // of the data that prepare() made last
  device::Matrix x_, y_;
  StreamedVectors streamed_;  // in their place where the source is the host
  device::Buffer<double> partial_of_chunk_;
  device::Buffer<std::byte> scratch_;  // on a GPU, for partial results
  RankReduction over_ranks_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const reduction = measure::entry({
    .schema =
        {.name = "reduction",
         .extents = {"n"},
         .keys = {.transport = true, .weak = true},
         .defaults = core::Parameters{Parameters{}},
         .options = {core::options::choice("operation", core::options::at(&Parameters::operation),
                                           "norm2 is the sum of squares"),
                     core::options::method(core::options::bytes(
                         "chunk", core::options::at(&Parameters::chunk),
                         "bytes of each copy of a vector of the host; 0: 64 MiB")),
                     core::options::choice(
                         "source", core::options::at(&Parameters::source),
                         "host: the vector lies in page-locked memory of the host and streams to "
                         "the device chunk by chunk, each under the kernel of the one before"),
                     core::options::choice("accumulator",
                                           core::options::at(&Parameters::accumulator),
                                           "type in which sums are formed; i32: of i32 alone, in "
                                           "blocks whose sums fit"),
                     core::options::flag("finish", core::options::at(&Parameters::finish),
                                         "false: the second kernel of variants that have one runs "
                                         "after the clock has stopped, as in their source"),
                     core::options::flag("reproducible",
                                         core::options::at(&Parameters::reproducible),
                                         "the same bits for any number of ranks and any device")}},
    .summary = "sum, min, max, dot or norm2 of a distributed vector",
    .work = "n s bytes read, twice for dot",
    .local = false,
    .variants = rows_of(reduction::variants()),
    .make = measure::make<Reduction>,
    .secondary = {kBankConflicts, kGlobalMemory},
});

}  // namespace entries

}  // namespace quadrille::workloads
