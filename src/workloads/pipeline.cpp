// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline.hpp"

#include "device/experiments.hpp"
#include "integral/flop.hpp"
#include "integral/integral.hpp"
#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <numbers>
#include <optional>
#include <thread>

namespace quadrille::workloads {

namespace {

namespace pipeline = kernels::pipeline;
using Clock = std::chrono::steady_clock;

struct Parameters {
  std::int64_t intervals = 8;  ///< parts of the integral
  bool operator==(Parameters const&) const = default;
};

constexpr double kIntervalLength = 40000 * std::numbers::pi;
// Fewer threads than any GPU holds at once: two such kernels fit beside each other.
constexpr std::int64_t kSmallGridThreads = 100'000;

/// An integral of several intervals, each a kernel, a copy and a sum, arranged in a dozen ways on
/// streams, events and threads. Every rank does all of it.
class Pipeline final : public measure::Workload {
 public:
  enum class Partials { copied, kept };  ///< of every interval: to the host, or on the device
  struct Row : kernels::VariantInfo {
    void (*arrange)(Pipeline& pipeline, device::Device& device);
    Partials partials = Partials::copied;
  };
  static std::span<Row const> rows();

  Pipeline(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        cells_{spec.size[0]},
        intervals_{spec.parameters.as<Parameters>().intervals},
        ranks_{ranks},
        rank_{rank},
        count_{std::max<std::int64_t>(
            1, (cells_ + pipeline::kItemsPerPartial - 1) / pipeline::kItemsPerPartial)} {}

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    d.traits = {.host_timed = true};
    d.amount = static_cast<double>(cells_) * static_cast<double>(intervals_) * ranks_;
    d.unit = "eval/s";
    d.gpu_flop = d.amount * kernels::integral::flop_of_evaluation(problem(0));
    auto const keeps = [](auto const& variant) {
      return row_of(rows(), variant).partials == Partials::kept;
    };
    bool const all_copy = !selected.empty() && !measure::any_of(selected, keeps);
    if (all_copy) d.pcie_bytes = static_cast<double>(intervals_) * bytes() * ranks_;
    double const sums = 8.0 * static_cast<double>(intervals_);
    d.memory_bytes = kSlots * bytes() + sums;
    d.host_bytes = (kSlots + 1) * bytes() + sums;
    return d;
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (plain_.empty()) allocate(world);
    // The only input is a factor: an earlier result is a wrong one here, and so is another rank's.
    amplitude_ = (1 + static_cast<double>((seed + 7) % 8) / 8) * (1 + rank_ / 1024.0);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    ran_ = false;
    for (Slot const& slot : slots_) {
      world.stream().fill(slot.partials.data(), 0xFF, slot.partials.bytes());
    }
    world.stream().fill(sums_.data(), 0xFF, sums_.bytes());
    std::ranges::fill(results_.span(), std::numeric_limits<double>::quiet_NaN());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    world.stream().record(begun_);
    for (Slot& slot : slots_) slot.stream.view().wait(begun_);
    std::ranges::fill(sum_s_, 0.0);
    ran_ = true;
    used_ = count_;
    has_intervals_ = true;
    Row const& row = row_of(rows(), variant);
    copies_ = row.partials == Partials::copied;
    row.arrange(*this, world.device());
    for (Slot& slot : slots_) {
      slot.stream.view().record(slot.ended);
      world.stream().wait(slot.ended);
    }
  }

  measure::Verdict validate(comm::World& world) override {
    world.stream().synchronize();
    Finding finding;
    finding.allowed = 1;
    double sum = 0, want_sum = 0, bound_sum = 0;
    for (std::int64_t j = 0; j < intervals_; ++j) {
      kernels::integral::Problem const p = problem(j);
      double const got = results_.data()[j];
      double const want = kernels::integral::exact(p);
      double const bound = kernels::integral::error_bound(p);
      if (has_intervals_) check(finding, fmt::format("interval {}", j), got, want, bound);
      sum += got;
      want_sum += want;
      bound_sum += bound;
    }
    check(finding, "integral", sum, want_sum, bound_sum);
    measure::Verdict verdict = agree(world, finding);
    require_separation(verdict, want_sum, bound_sum, "take more cells");
    return verdict;
  }

  std::vector<measure::Field> fields() override {
    device::MatrixView const view{results_.data(), core::DataType::f64, 1, intervals_, intervals_};
    return {measure::output(of_rank_0(vector_field("integrals", view, intervals_), rank_))};
  }

  /// Times inside the last repetition, on rank 0.
  std::vector<measure::SecondaryMetric> observed() override {
    if (!ran_) return {};
    std::vector<double> kernel, copy, sum;
    for (std::int64_t j = 0; j < intervals_; ++j) {
      Marks const& m = marks_[static_cast<std::size_t>(j)];
      kernel.push_back(m.kernel_ended.seconds_since(m.kernel_begun));
      if (copies_) copy.push_back(m.copy_ended.seconds_since(m.copy_begun));
      if (!copies_) sum.push_back(m.sum_ended.seconds_since(m.sum_begun));
    }
    double const t_k = core::summarize(kernel).median;
    double const t_c = copies_ ? core::summarize(copy).median : 0;
    double const t_s = core::summarize(sum_s_).median;
    auto const n = static_cast<double>(intervals_);
    auto const cells = static_cast<double>(cells_);
    double const window = marks_.back().kernel_ended.seconds_since(marks_[1].kernel_begun);
    std::vector<measure::SecondaryMetric> metrics;
    auto const add = [&](std::string name, double amount, std::string unit, double seconds) {
      metrics.push_back({std::move(name), amount, std::move(unit), seconds});
    };
    add("kernel", cells, "eval/s", t_k);
    add("window of the kernels but the first", cells * (n - 1), "eval/s", window);
    add("model n (t_k + t_c + t_s)", cells * n, "eval/s", n * (t_k + t_c + t_s));
    add("model n max(t_k, t_c, t_s)", cells * n, "eval/s", n * std::max({t_k, t_c, t_s}));
    if (copies_) {
      add("copy", bytes(), "B/s", t_c);
      add("sum on the host", bytes(), "B/s", t_s);
    } else {
      double const sums = marks_.back().sum_ended.seconds_since(marks_.front().sum_begun);
      add("window of the sums", cells * n, "eval/s", sums);
      add("sum on the device", 8.0 * static_cast<double>(used_), "B/s",
          core::summarize(sum).median);
    }
    return metrics;
  }

 private:
  static constexpr int kSlots = 3;
  enum class Order { free, by_stream, by_host };  ///< what keeps two kernels from running at once

  struct Slot {
    device::Stream stream;
    device::Buffer<double> partials;
    device::PinnedBuffer<double> host;
    device::Event computed, copied, ended;
  };
  struct Marks {
    device::Event kernel_begun, kernel_ended, copy_begun, copy_ended, sum_begun, sum_ended;
  };

  double bytes() const { return 8.0 * static_cast<double>(count_); }
  /// Partial sums of a grid that is small.
  std::int64_t small_grid() const {
    return std::min(count_, kSmallGridThreads / pipeline::kItemsPerPartial);
  }

  void allocate(comm::World& world) {
    device::Device& device = world.device();
    for (int s = 0; s < kSlots; ++s) {
      Slot& slot = slots_.emplace_back();
      slot.stream = device::Stream{device, fmt::format("slot {}", s)};
      slot.partials = {device, count_, world.stream()};
      slot.host = {device, count_};
      slot.computed = device::Event{device};
      slot.copied = device::Event{device};
      slot.ended = device::Event{device};
    }
    default_ = device::Stream{device.make_default_stream()};
    for (device::Stream& stream : blocking_)
      stream = device::Stream{device::make_blocking_stream(device)};
    sums_ = {device, intervals_, world.stream()};
    results_ = {device, intervals_};
    plain_.resize(static_cast<std::size_t>(count_));
    sum_s_.resize(static_cast<std::size_t>(intervals_));
    begun_ = device::Event{device};
    for (std::int64_t j = 0; j < intervals_; ++j) {
      marks_.push_back({device::Event{device}, device::Event{device}, device::Event{device},
                        device::Event{device}, device::Event{device}, device::Event{device}});
    }
  }

  device::StreamView stream(std::size_t slot) const { return slots_[slot].stream.view(); }
  Marks& marks(std::int64_t j) { return marks_[static_cast<std::size_t>(j)]; }
  Slot& slot(std::int64_t j, int slots) { return slots_[static_cast<std::size_t>(j % slots)]; }

  void compute(std::int64_t j, double* partials, device::StreamView stream) {
    double const lower = static_cast<double>(j) * kIntervalLength;
    stream.record(marks(j).kernel_begun);
    pipeline::integrate(
        {lower, lower + kIntervalLength, cells_, amplitude(j), case_.type, partials, used_},
        stream);
    stream.record(marks(j).kernel_ended);
  }

  /// Differs by interval, or results that changed places would go unnoticed.
  double amplitude(std::int64_t j) const { return amplitude_ * (1 + static_cast<double>(j) / 64); }

  void copy(std::int64_t j, double* to, double const* partials, device::StreamView stream) {
    stream.record(marks(j).copy_begun);
    stream.copy(to, partials, static_cast<std::size_t>(count_) * sizeof(double));
    stream.record(marks(j).copy_ended);
  }

  void add_up(std::int64_t j, double const* partials, double* to, pipeline::Into into,
              device::StreamView stream) {
    stream.record(marks(j).sum_begun);
    pipeline::add_up(partials, used_, to, into, stream);
    stream.record(marks(j).sum_ended);
  }

  /// On the calling thread.
  void sum(std::int64_t j, double const* partials) {
    Clock::time_point const start = Clock::now();
    double total = 0;
    for (std::int64_t i = 0; i < count_; ++i) total += partials[i];
    results_.data()[j] = total;
    sum_s_[static_cast<std::size_t>(j)] =
        std::chrono::duration<double>(Clock::now() - start).count();
  }

  void serial() {
    device::StreamView const stream = slots_[0].stream.view();
    for (std::int64_t j = 0; j < intervals_; ++j) {
      compute(j, slots_[0].partials.data(), stream);
      copy(j, plain_.data(), slots_[0].partials.data(), stream);
      stream.synchronize();
      sum(j, plain_.data());
    }
  }

  void hide_host() {
    device::StreamView const stream = slots_[0].stream.view();
    for (std::int64_t j = 0; j < intervals_; ++j) {
      compute(j, slots_[0].partials.data(), stream);
      if (j > 0) sum(j - 1, plain_.data());
      copy(j, plain_.data(), slots_[0].partials.data(), stream);
      stream.synchronize();
    }
    sum(intervals_ - 1, plain_.data());
  }

  void compute_and_copy(std::int64_t j, int slots) {
    Slot& mine = slot(j, slots);
    compute(j, mine.partials.data(), mine.stream.view());
    mine.stream.view().record(mine.computed);
    copy(j, mine.host.data(), mine.partials.data(), mine.stream.view());
    mine.stream.view().record(mine.copied);
  }

  void collect(std::int64_t j, int slots) {
    Slot& done = slot(j, slots);
    done.copied.synchronize();
    sum(j, done.host.data());
  }

  /// Launches interval j, then sums the oldest one whose buffer the next needs.
  void buffered(int slots, Order order) {
    std::int64_t const behind = slots - 1;
    for (std::int64_t j = 0; j < intervals_; ++j) {
      if (j > 0 && order == Order::by_stream) {
        slot(j, slots).stream.view().wait(slot(j - 1, slots).computed);
      }
      if (j > 0 && order == Order::by_host) slot(j - 1, slots).computed.synchronize();
      compute_and_copy(j, slots);
      if (j >= behind) collect(j - behind, slots);
    }
    for (std::int64_t j = std::max<std::int64_t>(0, intervals_ - behind); j < intervals_; ++j) {
      collect(j, slots);
    }
  }

  void late_sync() {
    for (std::int64_t j = 0; j < intervals_; ++j) {
      if (j > 0) collect(j - 1, 2);
      compute_and_copy(j, 2);
    }
    collect(intervals_ - 1, 2);
  }

  void host_thread(device::Device& device) {
    std::atomic<std::int64_t> launched{0}, summed{0};
    std::jthread const adder{[&] {
      device.bind_thread();
      for (std::int64_t j = 0; j < intervals_; ++j) {
        for (auto n = launched.load(); n <= j; n = launched.load()) launched.wait(n);
        collect(j, 2);
        summed.store(j + 1);
        summed.notify_one();
      }
    }};
    for (std::int64_t j = 0; j < intervals_; ++j) {
      // The buffer of interval j is free once interval j - 2 has been summed.
      for (auto n = summed.load(); n < j - 1; n = summed.load()) summed.wait(n);
      compute_and_copy(j, 2);
      launched.store(j + 1);
      launched.notify_one();
    }
  }

  /// Intervals go to the streams in turn, each with a buffer of its own. Their sums are added up on
  /// the same stream, or all on another one, whose order with them is for it to have.
  void sum_on_device(std::vector<device::StreamView> const& streams,
                     std::optional<device::StreamView> sums = {}) {
    for (std::int64_t j = 0; j < intervals_; ++j) {
      auto const s = static_cast<std::size_t>(j) % streams.size();
      double* const partials = slots_[s].partials.data();
      compute(j, partials, streams[s]);
      add_up(j, partials, sums_.data() + j, pipeline::Into::replaced, sums.value_or(streams[s]));
    }
    if (sums) sums->synchronize();
    for (device::StreamView const& stream : streams) stream.synchronize();
    streams[0].copy(results_.data(), sums_.data(), sums_.bytes());
    streams[0].synchronize();
  }

  /// The default stream waits for what streams had to do before that block with it, and they wait
  /// for it: no event orders the kernels. Where a host plays the device, streams do not block, and
  /// all go to one.
  void sum_on_default_stream() {
    bool const blocks = default_.view().device().kind() == device::Kind::cuda;
    for (device::Stream const& stream : blocking_) stream.view().wait(begun_);
    default_.view().wait(begun_);
    if (blocks) {
      sum_on_device({blocking_[0].view(), blocking_[1].view()}, default_.view());
    } else {
      sum_on_device({default_.view()});
    }
  }

  /// The sum of all intervals in one number, which is zero before.
  void sum_in_place() {
    has_intervals_ = false;
    device::StreamView const stream = slots_[0].stream.view();
    double* const partials = slots_[0].partials.data();
    stream.fill(sums_.data(), 0, sizeof(double));
    for (std::int64_t j = 0; j < intervals_; ++j) {
      compute(j, partials, stream);
      add_up(j, partials, sums_.data(), pipeline::Into::added_to, stream);
    }
    std::ranges::fill(results_.span(), 0.0);
    stream.copy(results_.data(), sums_.data(), sizeof(double));
    stream.synchronize();
  }

  kernels::integral::Problem problem(std::int64_t j) const {
    kernels::integral::Problem p;
    p.type = case_.type;
    p.amplitude = amplitude(j);
    p.lower = static_cast<double>(j) * kIntervalLength;
    p.upper = p.lower + kIntervalLength;
    p.cells = std::max<std::int64_t>(1, cells_);
    p.count = p.cells;
    return p;
  }

  void check(Finding& finding, std::string const& what, double got, double want,
             double bound) const {
    double const error = std::abs(got - want);
    finding.check(error == 0 ? 0 : error / bound, 1, [&] {
      return fmt::format("{} on rank {}: expected {:.17g} within {:.3g}, got {}", what, rank_, want,
                         bound, shown(got, 17));
    });
  }

  core::Case case_;
  std::int64_t cells_, intervals_;
  int ranks_, rank_;
  std::int64_t count_;     ///< partial sums of an interval with a thread for each cell
  std::int64_t used_ = 0;  ///< partial sums of this repetition
  double amplitude_ = 1;
  bool ran_ = false;
  bool has_intervals_ = true;  ///< the last repetition kept the sum of each
  bool copies_ = true;         ///< the last repetition copied every interval to the host
  std::vector<Slot> slots_;
  device::Stream default_;
  std::array<device::Stream, 2> blocking_;
  device::Buffer<double> sums_;
  device::PinnedBuffer<double> results_;
  std::vector<double> plain_;
  std::vector<double> sum_s_;
  device::Event begun_;
  std::vector<Marks> marks_;
};

/// What runs on the device is the same everywhere; a variant says how the host arranges it.
std::span<Pipeline::Row const> Pipeline::rows() {
  using Arrange = void (*)(Pipeline&, device::Device&);
  constexpr auto row = [](std::string_view name, std::string_view summary, Arrange arrange,
                          int preference = 0, Partials partials = Partials::copied) {
    return Row{{.name = name,
                .where = kernels::Where::any,
                .types = {core::DataType::f64, core::DataType::f32},
                .preference = preference,
                .source = "DCU programming tutorial, integral_async",
                .summary = summary},
               arrange,
               partials};
  };
  static constexpr Row all[] = {
      row("serial", "kernel, blocking copy to plain memory, sum on the host, one after the other",
          [](Pipeline& p, device::Device&) { p.serial(); }),
      row("hide_host", "the host sums one interval under the kernel of the next",
          [](Pipeline& p, device::Device&) { p.hide_host(); }),
      row("double_buffer", "two pinned buffers and streams: copy and sum under the next kernel",
          [](Pipeline& p, device::Device&) { p.buffered(2, Order::free); }),
      row("double_buffer_late_sync", "waits for the other stream before it launches: no overlap",
          [](Pipeline& p, device::Device&) { p.late_sync(); }),
      row(
          "hide_copy", "double_buffer, an event keeps kernels from running side by side",
          [](Pipeline& p, device::Device&) { p.buffered(2, Order::by_stream); }, 10),
      row("host_event", "hide_copy, where the host waits for the event, not the stream",
          [](Pipeline& p, device::Device&) { p.buffered(2, Order::by_host); }),
      row(
          "sum_on_device", "a second kernel sums; one number an interval is copied, at the end",
          [](Pipeline& p, device::Device&) { p.sum_on_device({p.stream(0)}); }, 0, Partials::kept),
      row(
          "sum_in_place", "sum_on_device, which adds all intervals to one number, zero before",
          [](Pipeline& p, device::Device&) { p.sum_in_place(); }, 0, Partials::kept),
      row(
          "kernel_overlap", "sum_on_device on two streams: the small kernel under the large one",
          [](Pipeline& p, device::Device&) {
            p.sum_on_device({p.stream(0), p.stream(1)});
          },
          0, Partials::kept),
      row(
          "default_stream",
          "kernel_overlap with sums on the default stream, which waits for the others and they for "
          "it",
          [](Pipeline& p, device::Device&) { p.sum_on_default_stream(); }, 0, Partials::kept),
      row("triple_buffer", "double_buffer with three buffers and streams",
          [](Pipeline& p, device::Device&) { p.buffered(3, Order::free); }),
      row("host_thread", "double_buffer, where a second host thread sums",
          [](Pipeline& p, device::Device& device) { p.host_thread(device); }),
      row(
          "small_grid", "kernel_overlap with grids that leave most of the device idle",
          [](Pipeline& p, device::Device&) {
            p.used_ = p.small_grid();
            p.sum_on_device({p.stream(0), p.stream(1)});
          },
          0, Partials::kept),
      row(
          "small_grid_serial", "sum_on_device with the same grids: nothing runs side by side",
          [](Pipeline& p, device::Device&) {
            p.used_ = p.small_grid();
            p.sum_on_device({p.stream(0)});
          },
          0, Partials::kept),
  };
  return all;
}

}  // namespace

namespace entries {

extern measure::WorkloadEntry const pipeline = measure::entry({
    .schema = {.name = "pipeline",
               .extents = {"cells"},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::count(
                   "intervals", core::options::at(&Parameters::intervals),
                   "parts of the integral that pass through the pipeline, 2 to 64",
                   {.least = 2, .most = 64})}},
    .summary = "intervals of an integral through kernel, copy and sum, overlapped in a dozen ways",
    .work = "evaluations of the integrand per rank",
    .local = true,
    .variants = rows_of(Pipeline::rows()),
    .make = measure::make<Pipeline>,
    .secondary =
        {{"kernel", "eval/s",
          "cells of an interval over the median time of a kernel; copy and sum on the host: its "
          "bytes over theirs."},
         {"sum on the host", "B/s", "bytes of an interval over the median time of its sum."},
         {"sum on the device", "B/s", "the same of the kernel that sums."},
         {"window", "eval/s",
          "cells of all intervals but the first, from the begin of the second kernel to the end of "
          "the last. Of the sums: of all intervals, from the begin of the first sum to the end of "
          "the last."},
         {"model", "eval/s",
          "what the medians of kernel (t_k), copy (t_c) and sum (t_s) allow of n intervals, one "
          "after the other or overlapped."}},
});

}  // namespace entries

}  // namespace quadrille::workloads
