// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vector/vector.hpp"

#include "workloads/data.hpp"
#include "workloads/secondary.hpp"
#include "workloads/tables.hpp"

namespace quadrille::workloads {
namespace {

namespace vector = kernels::vector;

/// Who counts wrong outputs: the device, or one thread of the host in a copy of them.
enum class Validate { device, host };
constexpr auto enum_names(Validate) {
  return core::EnumNames<Validate, 2>{{{Validate::device, "device"}, {Validate::host, "host"}}};
}

struct Parameters {
  vector::Operation operation = vector::Operation::add;
  bool phases = false;  ///< fill x before and count wrong outputs after, in each execution
  Validate validate = Validate::device;
  std::int64_t threads = 0;  ///< of a host; 0: all
  bool operator==(Parameters const&) const = default;
};

std::string conflict(core::Case const& spec) {
  auto const& p = spec.parameters.as<Parameters>();
  if (!p.phases && p.validate == Validate::host) {
    return "validate = \"host\" is how phases validate; set phases = true, or leave validate out";
  }
  if (!p.phases || p.operation == vector::Operation::quadratic) return {};
  return "phases belong to operation = \"quadratic\"; take that, or phases out";
}

/// Element-wise operations on vectors of each rank's own. With `phases`, x is first filled with one value,
/// and last the outputs other than its quadratic are counted: three kernels, each with its time.
class Vector final : public measure::Workload {
 public:
  Vector(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        n_{spec.size[0]},
        ranks_{ranks},
        rank_{rank},
        operation_{spec.parameters.as<Parameters>().operation},
        has_phases_{spec.parameters.as<Parameters>().phases},
        validates_on_host_{spec.parameters.as<Parameters>().validate == Validate::host},
        threads_{static_cast<int>(spec.parameters.as<Parameters>().threads)} {}

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    auto const n = static_cast<double>(n_);
    auto const s = static_cast<double>(core::size_of(case_.type));
    d.amount = (vector::bytes(operation_, n, s) + (has_phases_ ? 2 * n * s : 0)) * ranks_;
    d.unit = "B/s";
    d.device_bytes = d.amount;
    if (n * s >= measure::kFarBeyondCaches) d.measures = measure::Resource::memory;
    d.memory_bytes = 3 * (n + static_cast<double>(longest_shift(selected))) * s;
    if (validates_on_host_) {
      d.pcie_bytes = n * s * ranks_;
      d.host_bytes = n * s;
    }
    d.traits = {.graph_capturable = !has_phases_, .searches_best = !has_phases_};
    d.flop = vector::flop(operation_, n) * ranks_;
    d.extras = {{"arithmetic", d.flop, "FLOP/s"}};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    auto const& row = row_of(vector::variants(), variant);
    if (threads_ > 0 && !row.specifics.notes.takes_threads) {
      return "takes all threads of its device; leave threads out, or take host_threads";
    }
    return row.unsupported_reason(problem());
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (x_.view().data == nullptr) {
      for (device::Matrix* matrix : {&x_, &y_, &out_})
        *matrix = {world.device(), case_.type, 1, n_ + longest_shift(selected), world.stream()};
    }
    sx_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
    sy_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_ + 1)};
    fill(x_.view(), row_from(0), sx_, world);
    fill(y_.view(), row_from(0), sy_, world);
    if (!has_phases_) return;
    if (marks_.empty()) {
      for (int m = 0; m < 4; ++m) marks_.emplace_back(world.device());
      wrong_ = {world.device(), 1, world.stream()};
      counted_ = {world.device(), 1};
      bool const is_copied = world.device().kind() == device::Kind::cuda;
      if (validates_on_host_ && is_copied) copied_.resize(out_.bytes());
    }
    // Another one by seed and rank, whose quadratic is exact in any order and with fused operations.
    value_ = static_cast<double>(1 + (seed + static_cast<std::uint64_t>(rank_)) % 1000);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(out_.view().data, 0xFF, out_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    auto const& row = row_of(vector::variants(), variant);
    launched_ = &row;
    shift_ = row.specifics.notes.shift;
    device::StreamView const stream = world.stream();
    if (!has_phases_) return row.launch(problem(), stream);
    vector::Problem const p = problem();
    stream.fill(wrong_.data(), 0, wrong_.bytes());
    stream.record(marks_[0]);
    vector::init(p.type, shifted(x_).data, n_, value_, stream, threads_);
    stream.record(marks_[1]);
    row.launch(p, stream);
    stream.record(marks_[2]);
    double const want = (p.a * value_ + p.b) * value_ + p.c;
    if (validates_on_host_) {
      // Where a GPU's host counts, the copy back is a part of it.
      if (!copied_.empty()) stream.copy(copied_.data(), p.out, copied_.size());
      void const* const here = copied_.empty() ? p.out : copied_.data();
      vector::validate_serially(p.type, here, n_, want, counted_.data(), stream);
      stream.copy(wrong_.data(), counted_.data(), wrong_.bytes());
    } else {
      vector::validate(p.type, p.out, n_, want, wrong_.data(), stream);
    }
    stream.record(marks_[3]);
  }

  /// What the kernel asks of memory, and of the phases in the last repetition, on rank 0.
  std::vector<measure::SecondaryMetric> observed() override {
    if (!has_phases_) return access_metrics();
    double const array = static_cast<double>(n_) * static_cast<double>(core::size_of(case_.type));
    auto const phase = [&](std::string name, double arrays, std::size_t m) {
      return measure::SecondaryMetric{std::move(name), arrays * array, "B/s",
                                      marks_[m + 1].seconds_since(marks_[m])};
    };
    return {phase("init", 1, 0), phase("calculate", 2, 1), phase("validate", 1, 2)};
  }

  measure::Verdict validate(comm::World& world) override {
    Finding finding;
    // One rounding for the sum; the quadratic has at most four, with or without fused operations.
    double const roundings = operation_ == vector::Operation::add ? 0.5 : 2;
    for_host_tiles(shifted(out_), world,
                   [&](device::MatrixView const& tile, std::int64_t, std::int64_t first) {
                     finding.add(judge(tile, first, roundings, world));
                   });
    finding.allowed = roundings;
    if (has_phases_) {
      device::MatrixView const view{wrong_.data(), core::DataType::i64, 1, 1, 1};
      auto const wrong = download<std::int64_t>(view, world.stream())[0];
      finding.check(wrong == 0 ? 0 : INFINITY, 0, [&] {
        return fmt::format("out on rank {}: expected 0 wrong elements, got {} by their count",
                           rank_, wrong);
      });
    }
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    auto const named = [&](std::string name, device::Matrix const& matrix) {
      return of_rank_0(vector_field(std::move(name), shifted(matrix), n_), rank_);
    };
    std::vector<measure::Field> all{measure::output(named("out", out_)),
                                    measure::input(named("x", x_))};
    // What each execution fills itself is no input.
    if (has_phases_) all.back().is_input = false;
    if (operation_ == vector::Operation::add) all.push_back(measure::input(named("y", y_)));
    return all;
  }

 private:
  /// Elements [first, first + tile.cols) of the output.
  Finding judge(device::MatrixView const& tile, std::int64_t first, double roundings,
                comm::World const& world) const {
    vector::Problem const p = problem();
    bool const add = operation_ == vector::Operation::add;
    return core::visit_type(case_.type, [&](auto zero) {
      using T = decltype(zero);
      auto const* const got = static_cast<T const*>(tile.data);
      return judge_all(world, tile.cols, check_stride(case_), [&](Finding& found, std::int64_t at) {
        std::int64_t const i = first + at;
        double const x = has_phases_ ? value_ : static_cast<double>(sx_.at<T>(0, i + shift_));
        double const y = static_cast<double>(sy_.at<T>(0, i + shift_));
        double const want = add ? x + y : (p.a * x + p.b) * x + p.c;
        double const weight =
            add ? std::abs(want) : std::abs(p.a * x * x) + std::abs(p.b * x) + std::abs(p.c);
        double const difference = std::abs(static_cast<double>(got[at]) - want);
        double const scale = core::epsilon_of(case_.type) * weight;
        found.check(difference == 0 ? 0 : difference / scale, roundings, [&] {
          return fmt::format("out({}) on rank {}: expected {:.9g}, got {}", i, rank_, want,
                             shown(static_cast<double>(got[at])));
        });
      });
    });
  }

  static std::int64_t longest_shift(measure::Selection const& selected) {
    std::int64_t longest = 0;
    for (kernels::VariantInfo const* variant : selected) {
      longest = std::max(longest, row_of(vector::variants(), *variant).specifics.notes.shift);
    }
    return longest;
  }
  vector::Problem problem() const {
    vector::Problem p{operation_,       case_.type,         shifted(x_).data,
                      shifted(y_).data, shifted(out_).data, n_};
    p.threads = threads_;
    return p;
  }
  std::vector<measure::SecondaryMetric> access_metrics() const {
    auto const accesses = vector::accesses_of(*launched_, problem());
    if (!accesses || n_ == 0) return {};
    std::vector<measure::SecondaryMetric> all = sector_metrics(accesses->part->block);
    for (measure::SecondaryMetric& metric :
         global_metrics(accesses->accesses(), accesses->bytes())) {
      all.push_back(std::move(metric));
    }
    return all;
  }

  /// The elements that the variant works on: it may leave the first one out.
  device::MatrixView shifted(device::Matrix const& matrix) const {
    return matrix.view().block(0, shift_, 1, n_);
  }

  core::Case case_;
  std::int64_t n_;
  int ranks_, rank_;
  std::int64_t shift_ = 0;
  kernels::Variant<vector::Problem> const* launched_ = nullptr;
  vector::Operation operation_;
  bool has_phases_, validates_on_host_;
  int threads_;
  double value_ = 0;  // of all x, with phases
  device::Buffer<std::uint64_t> wrong_;
  device::PinnedBuffer<std::uint64_t> counted_;  // on the host
  std::vector<std::byte> copied_;     // plain memory, as a program has it that copies back
  std::vector<device::Event> marks_;  // before, between and after the phases
  Source sx_, sy_;
  device::Matrix x_, y_, out_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const vector = measure::entry({
    .schema =
        {.name = "vector",
         .extents = {"n"},
         .defaults = core::Parameters{Parameters{}},
         .options = {core::options::choice("operation", core::options::at(&Parameters::operation),
                                           "add: x + y; quadratic: a x^2 + b x + c"),
                     core::options::flag("phases", core::options::at(&Parameters::phases),
                                         "fill x before and count wrong outputs after, each timed"),
                     core::options::choice(
                         "validate", core::options::at(&Parameters::validate),
                         "with phases: who counts wrong outputs, the device, or one "
                         "thread of the host after a copy to plain memory"),
                     core::options::count("threads", core::options::at(&Parameters::threads),
                                          "of host_threads on a host; 0: all of the rank",
                                          {.least = 0, .most = 1024})},
         .conflict = conflict},
    .summary = "element-wise x + y or a x^2 + b x + c",
    .work = "3 n s or 2 n s bytes per rank",
    .local = true,
    .variants = rows_of(vector::variants()),
    .make = measure::make<Vector>,
    .secondary = {kSectorsPerRequest,
                  kGlobalMemory,
                  {"arithmetic", "FLOP/s",
                   "operations over the time, beside the bytes of the rate."},
                  {"init", "B/s",
                   "the array that is written before, in the last repetition of rank 0."},
                  {"calculate", "B/s", "the computation alone, in the last repetition of rank 0."},
                  {"validate", "B/s",
                   "the array that is read again to count what is wrong, in the last repetition of "
                   "rank 0."}},
});

}  // namespace entries

}  // namespace quadrille::workloads
