// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.hpp"

#include "workloads/data.hpp"
#include "workloads/secondary.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>

namespace quadrille::workloads {
namespace {

namespace memory = kernels::memory;

struct Parameters {
  std::int64_t volume = 1LL << 30;     ///< bytes that an execution reads
  std::int64_t carveout = -1;          ///< percent that is shared memory; -1: the driver's choice
  std::int64_t width = 4, stride = 1;  ///< of strided reads: bytes, and elements of as many
  bool operator==(Parameters const&) const = default;
};

std::string conflict(core::Case const& spec) {
  std::int64_t const width = spec.parameters.as<Parameters>().width;
  if (width == 2 || width == 4 || width == 8 || width == 16) return {};
  return fmt::format("a lane reads 2, 4, 8 or 16 bytes; width = {} is none of them", width);
}

constexpr measure::Metric kConflictDegree{
    "conflict degree", "wavefronts",
    "of shared memory for strided reads of a warp, for each that they would take without bank "
    "conflicts: the most words in one bank, of the lanes that are served together."};

constexpr std::int64_t kTileWords = memory::kTileBytes / 4;
constexpr std::int64_t kLineWords = memory::kLineBytes / 4;

/// A random cycle through the lines of a window, and the positions of a pointer chase along it.
class Cycle {
 public:
  Cycle() = default;
  Cycle(std::int64_t lines, std::uint64_t key) : order_(static_cast<std::size_t>(lines)) {
    std::iota(order_.begin(), order_.end(), 0U);
    // Any line may follow any other; the pointer chase starts at line 0.
    for (std::size_t i = order_.size() - 1; i > 1; --i) {
      std::swap(order_[i], order_[1 + core::mix(key + i) % i]);
    }
  }

  /// Lays the cycle into a window: in the first word of each line that of the line that follows.
  /// Blocks.
  void write(std::uint32_t* window, device::StreamView stream) const {
    std::vector<std::uint32_t> next(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) next[order_[i]] = place(i + 1);
    constexpr std::size_t kLines = (16 << 20) / memory::kLineBytes;
    std::vector<std::uint32_t> words(std::min(kLines, next.size()) * kLineWords);
    for (std::size_t first = 0; first < next.size(); first += kLines) {
      std::size_t const lines = std::min(kLines, next.size() - first);
      for (std::size_t l = 0; l < lines; ++l) words[l * kLineWords] = next[first + l];
      stream.copy(window + first * kLineWords, words.data(), lines * memory::kLineBytes);
      stream.synchronize();
    }
  }
  /// Where `steps` steps lead, and the sum of the positions after each of them, modulo 2^32.
  std::array<std::uint32_t, 2> after(std::int64_t steps) const {
    auto const n = static_cast<std::int64_t>(order_.size());
    std::uint32_t round = 0, rest = 0;
    for (std::int64_t i = 1; i <= n; ++i) {
      round += place(static_cast<std::size_t>(i));
      if (i == steps % n) rest = round;
    }
    return {place(static_cast<std::size_t>(steps % n)),
            static_cast<std::uint32_t>(steps / n) * round + rest};
  }

 private:
  std::uint32_t place(std::size_t i) const {
    return order_[i % order_.size()] * static_cast<std::uint32_t>(kLineWords);
  }
  std::vector<std::uint32_t> order_;
};

/// Repeated reads of one window, on every rank at once, each with data of its own.
class Memory final : public measure::Workload {
 public:
  Memory(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        bytes_{spec.size[0] * static_cast<std::int64_t>(core::size_of(spec.type))},
        tiles_{(spec.parameters.as<Parameters>().volume + memory::kTileBytes - 1) /
               memory::kTileBytes},
        ranks_{ranks},
        rank_{rank} {}

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    d.amount = static_cast<double>(tiles_) * memory::kTileBytes * ranks_;
    d.unit = "B/s";
    // Which level serves the reads is the question: no peak to compare with.
    int const windows = (has(selected, false) ? 1 : 0) + (has(selected, true) ? 1 : 0);
    constexpr double kResults = 4 << 20;
    // No variant does without one.
    d.memory_bytes = std::max(1, windows) * static_cast<double>(bytes_) + kResults;
    // The order of lines, and what follows each.
    if (has(selected, true)) d.host_bytes = 8.0 * static_cast<double>(bytes_ / memory::kLineBytes);
    d.traits = {.graph_capturable = true};
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    memory::Problem p;
    p.bytes = bytes_;
    p.tiles = tiles_;
    set_strides(p);
    if ((p.width != 4 || p.stride != 1) && result_of(variant) != Result::strided) {
      return "reads 16 bytes side by side; leave width and stride out, or take read_shared_strided";
    }
    return row_of(memory::variants(), variant).unsupported_reason(p);
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    bool const reads = has(selected, false), chases = has(selected, true);
    bool const on_gpu = world.device().kind() == device::Kind::cuda;
    int const multiprocessors = world.device().facts().multiprocessors;
    // Each half of that cache may hold a copy of its own, and first-level caches hold a sixteenth at most.
    second_level_holds_ = bytes_ >= 16 * memory::kMaxFirstLevelBytes &&
                          2 * static_cast<std::size_t>(bytes_) <= world.device().facts().l2_bytes;
    readers_ = on_gpu ? multiprocessors * memory::kResidentBlocks : multiprocessors;
    lanes_ = on_gpu ? memory::kDeviceLanes : memory::kHostLanes;
    if (result_.size() == 0) {
      result_ = {world.device(), std::int64_t{readers_} * lanes_.count + 2, world.stream()};
      if (reads) window_ = {world.device(), case_.type, 1, case_.size[0], world.stream()};
      if (chases) cycle_ = {world.device(), bytes_ / 4, world.stream()};
    }
    if (reads) {
      source_ = {case_.data, seed, static_cast<std::uint64_t>(8 * rank_)};
      fill(window_.view(), row_from(0), source_, world);
      if (case_.check != core::Check::off) add_up(world);
    }
    if (chases) {
      walk_ = Cycle{bytes_ / memory::kLineBytes, core::mix(seed) + static_cast<unsigned>(rank_)};
      walk_.write(cycle_.data(), world.stream());
    }
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    // As a long pointer chase would leave the caches: the lines of a short one, still there from the
    // last repetition, would show a level that does not hold the window.
    if (result_of(variant) == Result::walk) read_all(world);
    world.stream().fill(result_.data(), 0xFF, result_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    left_ = result_of(variant);
    row_of(memory::variants(), variant).launch(problem(), world.stream());
  }

  measure::Verdict validate(comm::World& world) override {
    auto const got = download<std::uint32_t>(outputs_of(*this)[0], world.stream());
    Finding finding;
    switch (left_) {
      case Result::walk: {
        auto const want = walk_.after(memory::accesses(tiles_));
        check(finding, "the last position", got[0], want[0]);
        check(finding, "the sum of all positions", got[1], want[1]);
        break;
      }
      case Result::registers: {
        std::vector<std::uint32_t> want(got.size());
        std::vector<std::uint32_t> const words = words_of(1);
        memory::Problem p = problem();
        p.window = words.data();
        p.result = want.data();
        memory::registers_reference(p);
        for (std::size_t i = 0; i < got.size(); ++i) check(finding, place(i), got[i], want[i]);
        break;
      }
      case Result::strided: {
        std::vector<std::uint32_t> const words = words_of(bytes_ / memory::kTileBytes);
        memory::Problem p = problem();
        p.window = words.data();
        // Few shares and lanes of a warp differ.
        std::map<std::array<std::int64_t, 3>, std::uint32_t> sums;
        for (std::size_t i = 0; i < got.size(); ++i) {
          auto const lanes = static_cast<std::size_t>(lanes_.count);
          memory::Share const share = memory::share_of(
              static_cast<std::int64_t>(i / lanes), readers_, bytes_ / memory::kTileBytes, tiles_);
          auto const lane = static_cast<int>(i % 32);
          auto const [sum, is_new] = sums.try_emplace({share.first, share.count, lane});
          if (is_new) sum->second = memory::strided_sum(p, share, lane);
          check(finding, place(i), got[i], static_cast<std::uint32_t>(i) + sum->second);
        }
        break;
      }
      case Result::sums:
        for (std::size_t i = 0; i < got.size(); ++i) check(finding, place(i), got[i], sum_of(i));
    }
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    std::int64_t const n = left_ == Result::walk ? 2 : std::int64_t{readers_} * lanes_.count;
    device::MatrixView const view{result_.data(), core::DataType::i32, 1, n, n};
    return {measure::output(of_rank_0(vector_field("result", view, n), rank_))};
  }

  std::vector<measure::SecondaryMetric> observed() override {
    if (left_ == Result::walk) {
      return {{"latency", static_cast<double>(memory::accesses(tiles_)), "s"}};
    }
    if (left_ == Result::strided) {
      memory::Problem const p = problem();
      return {{std::string{kConflictDegree.name},
               static_cast<double>(memory::conflict_degree(p.width, p.stride)),
               std::string{kConflictDegree.unit}}};
    }
    if (left_ != Result::sums || !second_level_holds_) return {};
    return {{std::string{kSecondLevelCache.name}, static_cast<double>(tiles_) * memory::kTileBytes,
             "B/s"}};
  }

 private:
  using Result = memory::Problem::Result;
  static Result result_of(kernels::VariantInfo const& variant) {
    return row_of(memory::variants(), variant).specifics.notes.result;
  }
  /// Whether a variant is selected that is a pointer chase, or one that reads.
  static bool has(measure::Selection const& selected, bool walks) {
    return measure::any_of(selected, [&](kernels::VariantInfo const& variant) {
      return (result_of(variant) == Result::walk) == walks;
    });
  }

  /// One pass over the window of a pointer chase, by a variant that can read any window.
  void read_all(comm::World& world) const {
    memory::Problem p = problem();
    p.window = cycle_.data();
    p.tiles = bytes_ / memory::kTileBytes;
    memory::read_any(p, world.stream());
  }

  memory::Problem problem() const {
    memory::Problem p;
    p.window =
        left_ == Result::walk ? static_cast<void const*>(cycle_.data()) : window_.view().data;
    p.bytes = bytes_;
    p.tiles = tiles_;
    p.readers = readers_;
    p.result = result_.data();
    p.carveout = static_cast<int>(case_.parameters.as<Parameters>().carveout);
    set_strides(p);
    return p;
  }
  void set_strides(memory::Problem& p) const {
    p.width = static_cast<int>(case_.parameters.as<Parameters>().width);
    p.stride = static_cast<int>(case_.parameters.as<Parameters>().stride);
  }

  /// Calls f(word, value) for the words of a tile, which the generator gives once more.
  template <class F>
  void for_words(std::int64_t tile, F f) const {
    core::visit_type(case_.type, [&](auto zero) {
      using T = decltype(zero);
      constexpr auto kElements = memory::kTileBytes / static_cast<std::int64_t>(sizeof(T));
      std::vector<T> elements(static_cast<std::size_t>(kElements));
      for (std::int64_t i = 0; i < kElements; ++i) {
        elements[static_cast<std::size_t>(i)] = source_.at<T>(0, tile * kElements + i);
      }
      std::vector<std::uint32_t> words(kTileWords);
      std::memcpy(words.data(), elements.data(), memory::kTileBytes);
      for (std::int64_t w = 0; w < kTileWords; ++w) f(w, words[static_cast<std::size_t>(w)]);
    });
  }

  /// The first tiles of the window.
  std::vector<std::uint32_t> words_of(std::int64_t tiles) const {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(tiles * kTileWords));
    for (std::int64_t t = 0; t < tiles; ++t) {
      for_words(t, [&](std::int64_t w, std::uint32_t value) {
        words[static_cast<std::size_t>(t * kTileWords + w)] = value;
      });
    }
    return words;
  }

  /// before_[tile][lane]: the sum of the lane's words in front of the tile.
  void add_up(comm::World const& world) {
    std::int64_t const n = bytes_ / memory::kTileBytes;
    auto const lanes = static_cast<std::size_t>(lanes_.count);
    before_.assign(static_cast<std::size_t>(n + 1) * lanes, 0);
    on_threads(world, n, [&](core::Range const& range) {
      for (std::int64_t t = range.first; t < range.first + range.count; ++t) {
        std::uint32_t* const sums = before_.data() + static_cast<std::size_t>(t + 1) * lanes;
        for_words(t, [&](std::int64_t w, std::uint32_t value) {
          sums[w / lanes_.words % lanes_.count] += value;
        });
      }
    });
    for (std::size_t i = lanes; i < before_.size(); ++i) before_[i] += before_[i - lanes];
  }

  /// What result i must be: passes over the whole window, and a part of one.
  std::uint32_t sum_of(std::size_t i) const {
    auto const lanes = static_cast<std::size_t>(lanes_.count);
    std::int64_t const n = bytes_ / memory::kTileBytes;
    memory::Share const share =
        memory::share_of(static_cast<std::int64_t>(i / lanes), readers_, n, tiles_);
    auto const before = [&](std::int64_t tile) {
      return before_[static_cast<std::size_t>(tile) * lanes + i % lanes];
    };
    std::int64_t const end = share.first + share.count % n;
    std::uint32_t sum = static_cast<std::uint32_t>(i) - before(share.first);
    sum += static_cast<std::uint32_t>(share.count / n) * before(n);
    sum += end <= n ? before(end) : before(n) + before(end - n);
    return sum;
  }

  std::string place(std::size_t i) const {
    auto const lanes = static_cast<std::size_t>(lanes_.count);
    return fmt::format("lane {} of reader {}", i % lanes, i / lanes);
  }
  void check(Finding& finding, std::string const& what, std::uint32_t got,
             std::uint32_t want) const {
    finding.check(got == want ? 0 : 1, 0, [&] {
      return fmt::format("{} on rank {}: expected {}, got {}", what, rank_, want, got);
    });
  }

  core::Case case_;
  std::int64_t bytes_, tiles_;
  int ranks_, rank_;
  int readers_ = 1;
  memory::Lanes lanes_;
  bool second_level_holds_ = false;  // the window, and no first-level cache does
  Result left_ = Result::sums;       // by the last repetition
  Source source_;
  Cycle walk_;
  std::vector<std::uint32_t> before_;
  device::Matrix window_;
  device::Buffer<std::uint32_t> cycle_, result_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const memory = measure::entry({
    .schema = {.name = "memory",
               .extents = {"n"},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::bytes(
                               "volume", core::options::at(&Parameters::volume),
                               "bytes that all blocks of a rank, on a host its threads, read "
                               "together in an execution; at least 16Ki, rounded up to a multiple "
                               "of it",
                               {.least = 16 << 10, .most = 1LL << 50}),
                           core::options::count_or_auto(
                               "carveout", core::options::at(&Parameters::carveout),
                               "preferred carveout of shared memory from what a GPU has for the L1 "
                               "cache and shared memory, 0 to 100; auto: the driver's choice",
                               -1, {.least = 0, .most = 100, .unit = "percent"}),
                           core::options::count(
                               "width", core::options::at(&Parameters::width),
                               "bytes that a lane of read_shared_strided reads at once: 2, 4, 8 "
                               "or 16",
                               {.least = 2, .most = 16}),
                           core::options::count(
                               "stride", core::options::at(&Parameters::stride),
                               "elements of that width from one lane of read_shared_strided to "
                               "the next",
                               {.least = 1, .most = 1024})},
               .conflict = conflict},
    .summary = "repeated reads of one window, from the level of memory that holds it",
    .work = "volume bytes read per rank; a pointer chase takes one step for every 128 of them",
    .local = true,
    .variants = rows_of(memory::variants()),
    .make = measure::make<Memory>,
    .secondary = {{"latency", "s", "the median over the number of steps of a pointer chase."},
                  kSecondLevelCache,
                  kConflictDegree},
});

}  // namespace entries

}  // namespace quadrille::workloads
