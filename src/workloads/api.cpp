// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "api/api.hpp"

#include "device/experiments.hpp"
#include "workloads/data.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

namespace quadrille::workloads {

namespace {

using device::Kind;
constexpr std::size_t kMarks = kernels::api::kCounters;
using Marks = std::array<std::int64_t, kMarks>;
constexpr std::size_t kMarkBytes = sizeof(Marks);

constexpr measure::Metric kAcquire{
    "acquire", "s", "of a pair of calls the one that gets something, by the host's clock."};
constexpr measure::Metric kRelease{"release", "s",
                                   "of a pair of calls the one that gives it back."};
constexpr measure::Metric kWritten{"written", "B/s", "random numbers over the time of a call."};
constexpr measure::Metric kCopyCall{
    "copy", "s",
    "by the host's clock from where a copy is called on: until it returns, or with a wait after it "
    "until the copy is done."};

/// One call of the device's runtime, or the pair that gets something and gives it back, on every
/// rank at once. What is timed is the host's time, so that run() does what it must not elsewhere:
/// it allocates and synchronises.
class Api final : public measure::Workload {
 public:
  /// What of a call is timed by itself, too.
  enum class Parts { none, acquire_release, copy };
  /// What a call leaves: marks; `size` elements from the host or made on the device, which the generator
  /// gives once more; others, and marks.
  enum class Result { marks, copied, generated, random };
  struct Row : kernels::VariantInfo {
    void (Api::*call)(comm::World&) = nullptr;
    /// What the call promises, tried once more with data; what is wrong, or nothing.
    std::string (Api::*trial)(comm::World&) = nullptr;
    Parts parts = Parts::none;
    Result result = Result::marks;
    bool has_known_elements() const {
      return result == Result::copied || result == Result::generated;
    }
  };
  static std::span<Row const> rows();

  Api(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        bytes_{std::max(kMarkBytes,
                        static_cast<std::size_t>(spec.size[0]) * core::size_of(spec.type))},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    d.traits = {.host_timed = true, .state_depends_on_count = true};
    d.amount = ranks_;
    d.unit = "call/s";
    // Each row leaves one or the other, so that without rows yet one is counted.
    int const arrays = std::max(1, leaves_elements(selected) + leaves(selected, Result::marks));
    d.memory_bytes = arrays * static_cast<double>(bytes_) + kMarkBytes;
    d.host_bytes = (leaves(selected, Result::copied) + calls(selected, &Api::register_host) +
                    leaves(selected, Result::marks)) *
                   static_cast<double>(bytes_);
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    if (row_of(rows(), variant).result != Result::random) return {};
    std::string const why = device::curand_absent();
    return why.empty() ? why : "needs cuRAND, which is not found: " + why;
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    bool const copies = leaves(selected, Result::copied);
    if (marks_.size() == 0) {
      marks_ = {world.device(), kMarks};
      counters_ = {world.device(), kMarks, world.stream()};
      event_ = device::Event{world.device()};
      if (copies) source_memory_ = {world.device(), static_cast<std::int64_t>(bytes_)};
      if (leaves_elements(selected)) {
        copied_ = {world.device(), case_.type, 1, case_.size[0], world.stream()};
      }
      if (calls(selected, &Api::register_host)) plain_.resize(bytes_);
    }
    for (std::size_t i = 0; i < kMarks; ++i) {
      // Room for the calls that are counted from here.
      expected_[i] = static_cast<std::int64_t>(
          core::mix(seed * 64 + i + static_cast<std::uint64_t>(rank_) * 4096) >> 2);
    }
    source_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
    if (!copies) return;
    fill({source_memory_.data(), case_.type, 1, case_.size[0], case_.size[0]}, row_from(0), source_,
         world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    row_ = &row_of(rows(), variant);
    calls_ = 0;
    parts_ = {};
    std::ranges::fill(marks_.span(), -1);
    world.stream().copy(counters_.data(), expected_.data(), kMarkBytes);
    world.stream().fill(copied_.view().data, 0xFF, copied_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const&) override {
    ++calls_;
    (this->*row_->call)(world);
  }

  measure::Verdict validate(comm::World& world) override {
    Finding finding;
    if (row_->has_known_elements()) {
      finding = compare("copy", copied_.view(), row_from(0), source_, world, check_stride(case_));
    } else {
      std::int64_t const counted = row_->call == &Api::launch ? calls_ : 0;
      auto const got = download<std::int64_t>(outputs_of(*this)[0], world.stream());
      for (std::size_t i = 0; i < kMarks; ++i) {
        std::int64_t const want = expected_[i] + counted;
        // Without a call nothing was counted, and the counters are what they were.
        bool const right = got[i] == want && calls_ > 0;
        finding.check(right ? 0 : 1, 0, [&] {
          return fmt::format(
              "mark {} of '{}' on rank {}: expected {} after a call, got {} after {}", i,
              row_->name, rank_, want, got[i], calls_);
        });
      }
    }
    std::string const wrong = (this->*row_->trial)(world);
    finding.check(wrong.empty() ? 0 : 1, 0,
                  [&] { return fmt::format("'{}' on rank {}: {}", row_->name, rank_, wrong); });
    return agree(world, finding);
  }

  /// By the host's clock of rank 0, the mean of the last repetition.
  std::vector<measure::SecondaryMetric> observed() override {
    auto const part = [&](measure::Metric const& metric, std::size_t i) {
      return measure::SecondaryMetric{std::string{metric.name}, static_cast<double>(calls_), "s",
                                      parts_[i].count()};
    };
    switch (row_->parts) {
      case Parts::acquire_release: return {part(kAcquire, 0), part(kRelease, 1)};
      case Parts::copy: return {part(kCopyCall, 0)};
      case Parts::none: break;
    }
    if (row_->result != Result::generated && row_->result != Result::random) return {};
    double const bytes = static_cast<double>(copied_.bytes()) * ranks_;
    return {{std::string{kWritten.name}, bytes, std::string{kWritten.unit}}};
  }

  std::vector<measure::Field> fields() override {
    if (row_ != nullptr && row_->has_known_elements()) {
      device::MatrixView const view = copied_.view();
      return {measure::output(of_rank_0(vector_field("copied", view, view.cols), rank_))};
    }
    bool const counted = row_ != nullptr && row_->call == &Api::launch;
    auto* const marks = counted ? counters_.data() : marks_.data();
    auto const n = static_cast<std::int64_t>(kMarks);
    device::MatrixView const view{marks, core::DataType::i64, 1, n, n};
    return {measure::output(of_rank_0(vector_field("marks", view, n), rank_))};
  }

 private:
  static bool calls(measure::Selection const& selected, void (Api::*call)(comm::World&)) {
    return measure::any_of(selected, [&](kernels::VariantInfo const& variant) {
      return row_of(rows(), variant).call == call;
    });
  }

  static bool leaves(measure::Selection const& selected, Result result) {
    return measure::any_of(selected, [&](kernels::VariantInfo const& variant) {
      return row_of(rows(), variant).result == result;
    });
  }
  static bool leaves_elements(measure::Selection const& selected) {
    return leaves(selected, Result::copied) || leaves(selected, Result::generated) ||
           leaves(selected, Result::random);
  }

  /// Calls f and adds its time to a part.
  template <class F>
  void timed(std::size_t part, F const& f) {
    auto const begin = std::chrono::steady_clock::now();
    f();
    parts_[part] += std::chrono::steady_clock::now() - begin;
  }

  // Calls.
  void allocate(comm::World& world) {
    void* memory = nullptr;
    timed(0, [&] { memory = world.device().allocate(bytes_); });
    mark(memory != nullptr);
    timed(1, [&] { world.device().release(memory); });
  }
  void allocate_pool(comm::World& world) {
    void* memory = nullptr;
    timed(0, [&] { memory = world.device().allocate_ordered(bytes_, world.stream()); });
    mark(memory != nullptr);
    timed(1, [&] { world.device().release_ordered(memory, world.stream()); });
  }
  void allocate_pinned(comm::World& world) {
    void* memory = nullptr;
    timed(0, [&] { memory = world.device().allocate_pinned(bytes_); });
    mark(memory != nullptr);
    timed(1, [&] { world.device().release_pinned(memory); });
  }
  void register_host(comm::World& world) {
    timed(0, [&] { world.device().register_host(plain_.data(), bytes_); });
    timed(1, [&] { world.device().unregister_host(plain_.data()); });
    mark(true);
  }
  void allocate_in_context(comm::World& world) {
    std::optional<device::CudaContext> context;
    timed(0, [&] {
      context.emplace(world.device().facts());
      mark(context->allocate(bytes_));
    });
    timed(1, [&] { context.reset(); });
  }
  void launch(comm::World& world) { kernels::api::count(counters_.data(), world.stream()); }
  void copy(comm::World& world) {
    world.stream().copy(copied_.view().data, source_memory_.data(), copied_.bytes());
  }
  /// A copy behind work of its stream, with a wait before it, after it, or both: what is timed by itself
  /// begins where the copy is called.
  template <bool kWaitsBefore, bool kWaitsAfter>
  void copy_behind_work(comm::World& world) {
    // As long as the copy, roughly, on a GPU that is linked by PCIe.
    constexpr int kFills = 32;
    for (int i = 0; i < kFills; ++i)
      world.stream().fill(copied_.view().data, 0xFF, copied_.bytes());
    if constexpr (kWaitsBefore) world.stream().synchronize();
    timed(0, [&] {
      copy(world);
      if constexpr (kWaitsAfter) world.stream().synchronize();
    });
  }
  void generate(comm::World& world) { fill(copied_.view(), row_from(0), source_, world); }
  void generate_curand(comm::World& world) {
    device::curand_uniform(copied_.view().data, case_.type, case_.size[0], world.stream());
    world.stream().synchronize();
    mark(true);
  }
  void create_stream(comm::World& world) {
    device::Stream const stream{world.device(), "api"};
    mark(static_cast<bool>(stream.view()));
  }
  void create_event(comm::World& world) {
    device::Event const event{world.device()};
    mark(event.backend() != nullptr);
  }
  void record_event(comm::World& world) {
    world.stream().record(event_);
    mark(true);
  }
  void synchronise_stream(comm::World& world) {
    world.stream().synchronize();
    mark(true);
  }
  void synchronise_device(comm::World&) {
    device::cuda_synchronize();
    mark(true);
  }
  void query_memory(comm::World& world) { mark(world.device().free_memory() > 0); }
  void query_attribute(comm::World& world) {
    mark(device::cuda_multiprocessors(world.device().facts().index) ==
         world.device().facts().multiprocessors);
  }
  template <device::CudaQuery query>
  void ask(comm::World& world) {
    mark(device::cuda_answers(query, world.device().facts()));
  }
  void mark(bool good) {
    if (good) std::ranges::copy(expected_, marks_.data());
  }

  // Trials.
  std::string nothing_more(comm::World&) { return {}; }
  std::string try_allocate(comm::World& world) {
    device::Buffer<std::byte> const memory{world.device(), static_cast<std::int64_t>(bytes_),
                                           world.stream()};
    return keeps_marks(memory.data(), world.stream(), bytes_);
  }
  std::string try_pool(comm::World& world) {
    device::PooledBuffer<std::byte> const memory{world.device(), static_cast<std::int64_t>(bytes_),
                                                 world.stream()};
    return keeps_marks(memory.data(), world.stream(), bytes_);
  }
  std::string try_pinned(comm::World& world) {
    device::PinnedBuffer<std::byte> const memory{world.device(), static_cast<std::int64_t>(bytes_)};
    return keeps_marks(memory.data(), world.stream(), bytes_);
  }
  std::string try_register(comm::World& world) {
    device::HostRegistration const registered{world.device(), plain_.data(), bytes_};
    return keeps_marks(plain_.data(), world.stream(), bytes_);
  }
  std::string try_stream(comm::World& world) {
    device::Stream const stream{world.device(), "api"};
    return keeps_marks(counters_.data(), stream, kMarkBytes);
  }
  std::string try_event(comm::World& world) {
    device::Event before{world.device()};
    return in_order(world, before);
  }
  std::string try_record(comm::World& world) {
    return event_.done() ? in_order(world, event_)
                         : "expected a recorded event to be done, got not";
  }
  std::string try_synchronise_stream(comm::World& world) {
    return waits(world, [&] { world.stream().synchronize(); });
  }
  std::string try_synchronise_device(comm::World& world) {
    return waits(world, [] { device::cuda_synchronize(); });
  }
  std::string try_query(comm::World& world) {
    std::size_t const free = world.device().free_memory();
    std::size_t const all = world.device().facts().memory_bytes;
    if (free <= all) return {};
    return fmt::format("expected at most {} bytes to be free, got {}", all, free);
  }

  /// Calls f(element, its index) until it returns what is wrong.
  template <class F>
  std::string for_elements(comm::World& world, F const& f) const {
    std::string wrong;
    for_host_tiles(copied_.view(), world,
                   [&](device::MatrixView const& tile, std::int64_t, std::int64_t first) {
                     core::visit_type(case_.type, [&](auto zero) {
                       auto const* const got = static_cast<decltype(zero) const*>(tile.data);
                       for (std::int64_t j = 0; j < tile.cols && wrong.empty(); ++j) {
                         wrong = f(got[j], first + j);
                       }
                     });
                   });
    return wrong;
  }
  std::string try_generate(comm::World& world) {
    std::int64_t const stride = check_stride(case_);
    return for_elements(world, [&](auto got, std::int64_t i) -> std::string {
      if (i % stride != 0) return {};
      auto const want = source_.at<decltype(got)>(0, i);
      if (std::memcmp(&got, &want, sizeof got) == 0) return {};
      return fmt::format("expected element {} to be the host's", i);
    });
  }
  /// Numbers in (0, 1], with mean and variance of a uniform distribution to six standard deviations.
  std::string try_uniform(comm::World& world) {
    double sum = 0, squares = 0;
    std::string const wrong = for_elements(world, [&](auto got, std::int64_t i) -> std::string {
      auto const x = static_cast<double>(got);
      sum += x - 0.5;
      squares += (x - 0.5) * (x - 0.5);
      if (x > 0 && x <= 1) return {};
      return fmt::format("expected element {} to be in (0, 1], got {}", i, shown(x));
    });
    if (!wrong.empty()) return wrong;
    auto const n = static_cast<double>(case_.size[0]);
    double const mean = sum / n, variance = squares / n - 1.0 / 12;
    if (std::abs(mean) <= 6 / std::sqrt(12 * n) && std::abs(variance) <= 6 / std::sqrt(180 * n)) {
      return {};
    }
    return fmt::format("expected mean 0.5 and variance 1/12, got {} and {}", 0.5 + mean,
                       1.0 / 12 + variance);
  }

  /// The first and last bytes of the memory take marks and give them back, in the stream's order.
  std::string keeps_marks(void* memory, device::StreamView stream, std::size_t bytes) const {
    auto* const first = static_cast<std::byte*>(memory);
    std::byte* const last = first + bytes - kMarkBytes;
    for (std::byte* const at : {first, last}) {
      Marks back{};
      stream.copy(at, expected_.data(), kMarkBytes);
      stream.copy(back.data(), at, kMarkBytes);
      stream.synchronize();
      if (back == expected_) continue;
      return fmt::format("expected the memory to keep {}, got {}", expected_[0], back[0]);
    }
    return {};
  }

  /// Work between two records shows in the time between them.
  static std::string in_order(comm::World& world, device::Event& before) {
    device::Event after{world.device()};
    world.stream().record(before);
    world.stream().run([] { std::this_thread::sleep_for(kPause); });
    world.stream().record(after);
    world.stream().synchronize();
    double const seconds = before.done() && after.done() ? after.seconds_since(before) : -1;
    if (seconds >= kPauseSeconds / 2) return {};
    return fmt::format("expected {} s between two events, got {}", kPauseSeconds, seconds);
  }

  /// The call does not return before work that was enqueued is done.
  template <class Call>
  static std::string waits(comm::World& world, Call const& call) {
    std::atomic<bool> done = false;
    world.stream().run([&] {
      std::this_thread::sleep_for(kPause);
      done = true;
    });
    call();
    bool const was_done = done;
    world.stream().synchronize();
    return was_done ? "" : "expected earlier work to be done, got a return before that";
  }

  static constexpr std::chrono::milliseconds kPause{2};
  static constexpr double kPauseSeconds = 2e-3;

  core::Case case_;
  std::size_t bytes_;
  int ranks_, rank_;
  Row const* row_ = nullptr;
  std::int64_t calls_ = 0;                                // since reset()
  std::array<std::chrono::duration<double>, 2> parts_{};  // of the calls
  Marks expected_{};
  Source source_;
  device::PinnedBuffer<std::int64_t> marks_;
  device::PinnedBuffer<std::byte> source_memory_;
  device::Buffer<std::int64_t> counters_;
  device::Matrix copied_;
  device::Event event_;
  std::vector<std::byte> plain_;
};

/// The calls are the device interface's, the same for every kind; some are CUDA's alone.
std::span<Api::Row const> Api::rows() {
  constexpr auto kAny = kernels::Where::any;
  constexpr auto kCuda = kernels::Where::cuda;
  constexpr std::string_view kDcu = "DCU programming tutorial";
  constexpr std::string_view kTutorial = "PaddleJitLab/CUDATutorial, chapter 03";
  constexpr auto row = [](std::string_view name, kernels::Where where, std::string_view source,
                          std::string_view summary, void (Api::*call)(comm::World&),
                          std::string (Api::*trial)(comm::World&), Parts parts = Parts::none,
                          Result result = Result::marks, int preference = 0) {
    return Row{{.name = name,
                .where = where,
                .types = kernels::kEveryType,
                .preference = preference,
                .source = source,
                .summary = summary},
               call,
               trial,
               parts,
               result};
  };
  constexpr auto of_reals = [](Row all_types) {
    all_types.types = {core::DataType::f64, core::DataType::f32};
    return all_types;
  };
  static constexpr Row all[] = {
      row("allocate", kAny, kTutorial, "device memory of `size` elements, got and given back",
          &Api::allocate, &Api::try_allocate, Parts::acquire_release),
      row("allocate_in_context", kCuda, kTutorial,
          "the same in a new context of the device, which comes and goes with it",
          &Api::allocate_in_context, &Api::nothing_more, Parts::acquire_release),
      row("allocate_pool", kAny, kTutorial, "the same from the pool, in the order of a stream",
          &Api::allocate_pool, &Api::try_pool, Parts::acquire_release),
      row("allocate_pinned", kAny, "own", "page-locked host memory, got and given back",
          &Api::allocate_pinned, &Api::try_pinned, Parts::acquire_release),
      row("register_host", kCuda, "own", "plain host memory, page-locked and released",
          &Api::register_host, &Api::try_register, Parts::acquire_release),
      row("launch", kAny, kTutorial, "the smallest kernel that can be checked; on a host a task",
          &Api::launch, &Api::nothing_more, Parts::none, Result::marks, 10),
      row("copy_to_device", kAny, kTutorial, "`size` elements from page-locked to device memory",
          &Api::copy, &Api::nothing_more, Parts::none, Result::copied),
      row("copy_behind_work", kAny, kDcu, "32 fills, and copy_to_device with a wait after it",
          &Api::copy_behind_work<false, true>, &Api::nothing_more, Parts::copy, Result::copied),
      row("copy_between_waits", kAny, kDcu, "copy_behind_work with a wait before the copy, too",
          &Api::copy_behind_work<true, true>, &Api::nothing_more, Parts::copy, Result::copied),
      row("copy_without_wait", kAny, kDcu, "copy_behind_work with a wait before the copy alone",
          &Api::copy_behind_work<true, false>, &Api::nothing_more, Parts::copy, Result::copied),
      row("generate", kAny, "own", "`size` random elements, made where they lie", &Api::generate,
          &Api::try_generate, Parts::none, Result::generated),
      of_reals(row("generate_curand", kCuda, kDcu,
                   "`size` uniform numbers by cuRAND's default generator", &Api::generate_curand,
                   &Api::try_uniform, Parts::none, Result::random)),
      row("create_stream", kAny, "own", "a stream, made and destroyed, which waits for it",
          &Api::create_stream, &Api::try_stream),
      row("create_event", kAny, "own", "an event, made and destroyed", &Api::create_event,
          &Api::try_event),
      row("record_event", kAny, "own", "an event, recorded", &Api::record_event, &Api::try_record),
      row("synchronise_stream", kAny, "own", "a wait for a stream that has nothing to do",
          &Api::synchronise_stream, &Api::try_synchronise_stream),
      row("synchronise_device", kCuda, kTutorial, "a wait for a device that has nothing to do",
          &Api::synchronise_device, &Api::try_synchronise_device),
      row("query_memory", kAny, kTutorial, "how much memory is free", &Api::query_memory,
          &Api::try_query),
      row("query_attribute", kCuda, kTutorial, "the number of multiprocessors",
          &Api::query_attribute, &Api::nothing_more),
      row("query_total_memory", kCuda, kTutorial, "how much memory there is (cuDeviceTotalMem)",
          &Api::ask<device::CudaQuery::total_memory>, &Api::nothing_more),
      row("query_name", kCuda, kTutorial, "the name of the device (cuDeviceGetName)",
          &Api::ask<device::CudaQuery::name>, &Api::nothing_more),
      row("query_pci_bus_id", kCuda, kTutorial, "its place on the bus (cuDeviceGetPCIBusId)",
          &Api::ask<device::CudaQuery::pci_bus_id>, &Api::nothing_more),
      row("query_count", kCuda, kTutorial, "the number of devices (cuDeviceGetCount)",
          &Api::ask<device::CudaQuery::count>, &Api::nothing_more),
      row("query_uuid", kCuda, kTutorial, "the device's UUID (cuDeviceGetUuid)",
          &Api::ask<device::CudaQuery::uuid>, &Api::nothing_more),
  };
  return all;
}

}  // namespace

namespace entries {

extern measure::WorkloadEntry const api = measure::entry({
    .schema = {.name = "api", .extents = {"n"}},
    .summary = "single calls of the device's runtime: memory, streams, events, launches, queries, "
               "random numbers",
    .work = "1 call per rank",
    .local = true,
    .variants = rows_of(Api::rows()),
    .make = measure::make<Api>,
    .secondary = {kAcquire, kRelease, kCopyCall, kWritten},
});

}  // namespace entries

}  // namespace quadrille::workloads
