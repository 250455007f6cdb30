// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/fault.hpp"

#include "comm/threads.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace quadrille::measure {
namespace {

/// Without what lies between its rows.
std::size_t bytes_of(device::MatrixView const& view) {
  return static_cast<std::size_t>(view.rows * view.cols) * core::size_of(view.type);
}

std::vector<std::byte> download(device::MatrixView const& view, device::StreamView stream) {
  std::size_t const row_bytes = static_cast<std::size_t>(view.cols) * core::size_of(view.type);
  std::vector<std::byte> host(bytes_of(view));
  stream.copy_2d(host.data(), row_bytes, view.data,
                 static_cast<std::size_t>(view.ld) * core::size_of(view.type), row_bytes,
                 static_cast<std::size_t>(view.rows));
  stream.synchronize();
  return host;
}

void upload(device::MatrixView const& view, std::vector<std::byte> const& host,
            device::StreamView stream) {
  std::size_t const row_bytes = static_cast<std::size_t>(view.cols) * core::size_of(view.type);
  stream.copy_2d(view.data, static_cast<std::size_t>(view.ld) * core::size_of(view.type),
                 host.data(), row_bytes, row_bytes, static_cast<std::size_t>(view.rows));
  stream.synchronize();
}

template <class T>
T flip_bit(T value, std::size_t bit) {
  if constexpr (std::is_integral_v<T>) {
    // The sign of an integer is not a bit of its own.
    return bit == 8 * sizeof(T) - 1 ? static_cast<T>(-value) : static_cast<T>(value ^ T{1} << bit);
  } else {
    using Words = std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
    using Bits = std::tuple_element_t<std::bit_width(sizeof(T)) - 1, Words>;
    return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(value) ^ Bits{1} << bit));
  }
}

template <class T>
T damaged(T value, Fault fault) {
  using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, double>>;
  switch (fault) {
    case Fault::nan: return T(std::is_integral_v<T> ? Limits::max() : Limits::quiet_NaN());
    case Fault::inf: return T(std::is_integral_v<T> ? Limits::min() : Limits::infinity());
    case Fault::sign: return flip_bit(value, 8 * sizeof(T) - 1);
    case Fault::off_by_one: {
      // Where rounding is as large, one is no damage.
      double const rounding =
          std::abs(static_cast<double>(value)) * core::epsilon_of(core::type_of<T>());
      return rounding > 0.5 ? value : T(static_cast<double>(value) + 1);
    }
    case Fault::bit_flip: {
      if constexpr (std::is_integral_v<T>) return flip_bit(value, 0);
      // The highest of the mantissa lies below the exponent.
      int const mantissa = -std::ilogb(core::epsilon_of(core::type_of<T>()));
      return flip_bit(value, static_cast<std::size_t>(mantissa - 1));
    }
    default: return value;
  }
}

template <class T>
auto largest_of(std::span<T> values) {
  return std::max_element(values.begin(), values.end(), [](T a, T b) {
    return std::abs(static_cast<double>(a)) < std::abs(static_cast<double>(b));
  });
}

// The element in the middle, or for `sign` the largest of the middle row: a zero has no sign. Whether it
// has another value.
template <class T>
bool damage_element(std::span<T> row, Fault fault) {
  auto at = row.begin() + static_cast<std::ptrdiff_t>(row.size() / 2);
  if (fault == Fault::sign) at = largest_of(row);
  T const before = std::exchange(*at, damaged(*at, fault));
  return !(*at == before);
}

/// Whether a value changed.
bool damage_block(device::MatrixView const& view, Fault fault, device::StreamView stream) {
  std::vector<std::byte> host = download(view, stream);
  std::vector<std::byte> const before = host;
  std::size_t const element = core::size_of(view.type);
  auto const rows = static_cast<std::size_t>(view.rows);
  auto const cols = static_cast<std::size_t>(view.cols);
  switch (fault) {
    case Fault::missing_tile: {
      constexpr std::size_t kTile = 16;
      for (std::size_t i = rows / 2; i < std::min(rows, rows / 2 + kTile); ++i) {
        std::memset(host.data() + (i * cols + cols / 2) * element, 0xFF,
                    std::min(kTile, cols - cols / 2) * element);
      }
      break;
    }
    case Fault::last_row:
      // A vector is one row; its last entries count as its last row.
      if (rows == 1) {
        std::memset(host.data() + (cols - (cols + 3) / 4) * element, 0xFF,
                    (cols + 3) / 4 * element);
      } else {
        std::memset(host.data() + (rows - 1) * cols * element, 0xFF, cols * element);
      }
      break;
    case Fault::swap_blocks: {
      std::size_t const half = host.size() / element / 2 * element;
      std::swap_ranges(host.begin(), host.begin() + static_cast<std::ptrdiff_t>(half),
                       host.end() - static_cast<std::ptrdiff_t>(half));
      break;
    }
    case Fault::swap_columns:
      for (std::size_t i = 0; i < rows && cols > 1; ++i) {
        auto const middle =
            host.begin() + static_cast<std::ptrdiff_t>((i * cols + cols / 2) * element);
        auto const width = static_cast<std::ptrdiff_t>(element);
        std::swap_ranges(middle - width, middle, middle);
      }
      break;
    default: {
      bool const is_other = core::visit_type(view.type, [&](auto zero) {
        using T = decltype(zero);
        std::span const row{reinterpret_cast<T*>(host.data()) + rows / 2 * cols, cols};
        return damage_element(row, fault);
      });
      if (!is_other) return false;
    }
  }
  upload(view, host, stream);
  return host != before;
}

using Saved = std::vector<std::vector<std::byte>>;

Saved save_outputs(comm::World& world, Workload& workload) {
  Saved saved;
  for (device::MatrixView const& view : outputs_of(workload)) {
    saved.push_back(download(view, world.stream()));
  }
  return saved;
}

/// Outputs of other data may have had other sizes: what is left of these is 0xFF.
void restore_outputs(comm::World& world, Workload& workload, Saved saved) {
  std::vector<device::MatrixView> const outputs = outputs_of(workload);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    saved[i].resize(bytes_of(outputs[i]), std::byte{0xFF});
    upload(outputs[i], saved[i], world.stream());
  }
}

/// Takes the place of this rank's output by that of `from`, and gives its own to `to`.
void exchange_outputs(comm::World& world, Workload& workload, int to, int from) {
  std::vector<std::byte> mine;
  for (auto const& part : save_outputs(world, workload))
    mine.insert(mine.end(), part.begin(), part.end());
  std::int64_t const largest = world.group().max(static_cast<std::int64_t>(mine.size()));
  std::vector<std::byte> sent(static_cast<std::size_t>(largest), std::byte{0xFF});
  std::copy(mine.begin(), mine.end(), sent.begin());
  std::vector<std::byte> received(sent.size());
  world.group().exchange(sent, to, received, from);
  std::size_t offset = 0;
  std::vector<std::vector<std::byte>> parts;
  for (device::MatrixView const& view : outputs_of(workload)) {
    std::size_t const bytes = bytes_of(view);
    parts.emplace_back(received.begin() + static_cast<std::ptrdiff_t>(offset),
                       received.begin() + static_cast<std::ptrdiff_t>(offset + bytes));
    offset += bytes;
  }
  restore_outputs(world, workload, std::move(parts));
}

/// Whether it puts elements in the places of others, and damages none.
bool moves_elements(Fault fault) {
  switch (fault) {
    case Fault::swap_blocks:
    case Fault::swap_columns:
    case Fault::wrong_rank:
    case Fault::drop_message:
    case Fault::misplaced_wait:
    case Fault::stale: return true;
    default: return false;
  }
}

/// Bits of the significand that inputs keep, its leading one among them; 0: another fault.
int kept_bits(Fault fault) {
  switch (fault) {
    case Fault::f32: return 24;
    case Fault::tf32: return 11;
    case Fault::bf16: return 8;
    default: return 0;
  }
}

/// To the nearest, ties to the even one.
double rounded_to_bits(double value, int bits) {
  if (!std::isfinite(value)) return value;
  int const dropped = 53 - bits;
  auto word = std::bit_cast<std::uint64_t>(value);
  // What carries out of the fraction counts in the exponent.
  word += (std::uint64_t{1} << (dropped - 1)) - 1 + (word >> dropped & 1);
  return std::bit_cast<double>(word >> dropped << dropped);
}

bool is_of_inputs(Fault fault) { return kept_bits(fault) > 0 || fault == Fault::rank_one; }

/// Damages an input on this rank; whether a value of it changed.
bool damage_input(device::MatrixView const& view, Fault fault, comm::World const& world) {
  std::vector<std::byte> host = download(view, world.stream());
  std::atomic<bool> has_changed = false;
  core::visit_type(view.type, [&](auto zero) {
    using T = decltype(zero);
    std::span<T> const values{reinterpret_cast<T*>(host.data()),
                              static_cast<std::size_t>(view.rows * view.cols)};
    auto const replace = [&has_changed](std::span<T> part, auto const& by) {
      bool changes = false;
      for (T& value : part) {
        auto const before =
            static_cast<double>(std::exchange(value, T(by(static_cast<double>(value)))));
        // What is no number stays none, and is not equal to itself.
        changes = changes || (before == before && before != static_cast<double>(value));
      }
      if (changes) has_changed = true;
    };
    if (fault == Fault::rank_one) {
      auto const cols = static_cast<std::size_t>(view.cols);
      std::span<T> row = values.subspan(static_cast<std::size_t>(view.rows / 2) * cols, cols);
      if (view.rows == 1) row = std::span{&*largest_of(row), 1};
      replace(row, [](double) { return 0.0; });
    } else if constexpr (!std::is_integral_v<T>) {
      on_threads(world, view.rows * view.cols, [&](core::Range const& part) {
        replace(values.subspan(static_cast<std::size_t>(part.first),
                               static_cast<std::size_t>(part.count)),
                [bits = kept_bits(fault)](double value) { return rounded_to_bits(value, bits); });
      });
    }
  });
  upload(view, host, world.stream());
  return has_changed;
}

/// Damages the outputs of the last repetition. False on every rank when the fault cannot apply to
/// this workload, world or size. Collective.
bool damage_outputs(comm::World& world, Workload& workload, Fault fault) {
  std::vector<device::MatrixView> const outputs = outputs_of(workload);
  auto const filled = std::find_if(outputs.begin(), outputs.end(),
                                   [](auto const& view) { return view.rows * view.cols > 0; });
  bool const has_data = filled != outputs.end();
  // The last rank with data is the victim: a check on rank 0 alone would miss it.
  std::int64_t const victim = world.group().max(std::int64_t{has_data ? world.rank() : -1});
  if (victim < 0) return false;

  bool const between_ranks = world.size() > 1 && !workload.describe({}).traits.replicated;
  if (fault == Fault::wrong_rank || (fault == Fault::swap_blocks && between_ranks)) {
    if (!between_ranks) return false;
    int const next = (world.rank() + 1) % world.size();
    int const previous = (world.rank() + world.size() - 1) % world.size();
    int partner = world.rank();
    if (world.rank() == 0) partner = static_cast<int>(victim);
    if (world.rank() == victim) partner = 0;
    if (fault == Fault::wrong_rank) {
      exchange_outputs(world, workload, next, previous);
    } else {
      if (victim == 0) return false;
      exchange_outputs(world, workload, partner, partner);
    }
    return true;
  }
  bool const changed = world.rank() == victim && damage_block(*filled, fault, world.stream());
  return world.group().agree(changed) >= 0;
}

class FaultyWorkload final : public Workload {
 public:
  FaultyWorkload(std::unique_ptr<Workload> real, Fault fault, core::DataKind data)
      : real_{std::move(real)}, fault_{fault}, data_{data} {}

  Description describe(Selection const& selected) const override {
    return real_->describe(selected);
  }
  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    return real_->unsupported_reason(variant, device);
  }
  std::string unavailable_reason(kernels::VariantInfo const& variant,
                                 comm::Machine const& machine) const override {
    return real_->unavailable_reason(variant, machine);
  }
  void prepare(comm::World& world, std::uint64_t seed, Selection const& selected) override {
    world.inject(world.size() > 1 ? message_fault() : comm::MessageFault::none);
    real_->prepare(world, seed, selected);
    world.inject(comm::MessageFault::none);
    changed_inputs_.clear();
    executions_.clear();
    ++prepared_;
  }
  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    real_->reset(world, variant);
  }
  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    ran_ = &variant;
    if (fault_ == Fault::not_run) return;
    if (is_of_inputs(fault_)) damage_inputs(world);
    real_->run(world, leg, variant);
    if (!is_last_step_) return;
    // The first execution on the timed data, which are the second, is a warm-up.
    bool const is_timed = prepared_ > 1 && leg == Leg::overlapped && ++executions_[&variant] == 2;
    if (fault_ == Fault::once && is_timed) damaged_ = &world;
  }
  void select_step(std::int64_t step) override {
    real_->select_step(step);
    is_last_step_ = step + 1 == real_->describe({}).pairs->steps();
  }
  // drop_call() and run_plainly() are for libraries that are wrong by themselves.
  std::string implementation(kernels::VariantInfo const& variant) const override {
    return real_->implementation(variant);
  }
  Verdict validate(comm::World& world) override {
    if (!applies(world)) {
      return {.skipped = "this fault does not apply to this workload, world or type"};
    }
    Verdict verdict = judged(world);
    bool const are_alike = data_ == core::DataKind::constant || data_ == core::DataKind::zeros;
    if (verdict.valid && are_alike && moves_elements(fault_)) {
      verdict.skipped = "this fault moves elements that are all alike";
    }
    return verdict;
  }
  /// Collective where the fault damages a repetition: it waits for the device, which may stand behind
  /// a gate until the repetition ends.
  std::vector<Field> fields() override {
    if (comm::World* const world = std::exchange(damaged_, nullptr)) {
      damage_outputs(*world, *real_, Fault::bit_flip);
    }
    return real_->fields();
  }
  std::vector<SecondaryMetric> observed() override { return real_->observed(); }

 private:
  Verdict judged(comm::World& world) {
    if (fault_ == Fault::stale) {
      auto const [earlier, is_first] = earlier_.try_emplace(ran_);
      if (is_first) {
        Verdict verdict = real_->validate(world);
        earlier->second = save_outputs(world, *real_);
        return verdict;
      }
      restore_outputs(world, *real_, earlier->second);
    }
    return real_->validate(world);
  }

  /// Those of the variant that reset() was called for, once. As the victim of faults of outputs, the
  /// last rank that has any.
  void damage_inputs(comm::World& world) {
    std::vector<device::MatrixView> inputs;
    for (Field const& field : real_->fields()) {
      bool const has_data = field.view.rows * field.view.cols > 0;
      if (field.is_input && has_data) inputs.push_back(field.view);
    }
    if (fault_ == Fault::rank_one && inputs.size() > 1)
      inputs.erase(inputs.begin(), inputs.end() - 1);
    std::int64_t const victim = world.group().max(std::int64_t{inputs.empty() ? -1 : world.rank()});
    for (device::MatrixView const& input : inputs) {
      if (fault_ == Fault::rank_one && world.rank() != victim) continue;
      auto const [changed, is_new] = changed_inputs_.try_emplace(input.data, false);
      if (is_new) changed->second = damage_input(input, fault_, world);
    }
  }

  comm::MessageFault message_fault() const {
    switch (fault_) {
      case Fault::wrong_rank: return comm::MessageFault::wrong_rank;
      case Fault::drop_message: return comm::MessageFault::drop_message;
      case Fault::misplaced_wait: return comm::MessageFault::misplaced_wait;
      default: return comm::MessageFault::none;
    }
  }

  /// Does the damage that is done after a repetition; false where the fault cannot apply.
  bool applies(comm::World& world) {
    // Peers send messages of their own.
    bool const has_channels = real_->describe({}).traits.communicates &&
                              ran_->role != kernels::Role::peer &&
                              ran_->role != kernels::Role::ceiling;
    switch (fault_) {
      case Fault::none:
      case Fault::not_run: return true;
      case Fault::stale: return !outputs_of(*real_).empty();
      case Fault::f32:
      case Fault::tf32:
      case Fault::bf16:
      case Fault::rank_one: {
        bool const changed =
            std::ranges::any_of(changed_inputs_, [](auto const& input) { return input.second; });
        return world.group().agree(changed) >= 0;
      }
      // What adds up in another order every time has other bits every time.
      case Fault::once: return !ran_->any_order && ran_->role != kernels::Role::peer;
      case Fault::misplaced_wait:
      case Fault::drop_message: return world.size() > 1 && has_channels;
      case Fault::wrong_rank:
        // Inside the exchange where there is one, else by swapping results.
        if (has_channels) return world.size() > 1;
        [[fallthrough]];
      default: return damage_outputs(world, *real_, fault_);
    }
  }

  std::unique_ptr<Workload> real_;
  Fault fault_;
  core::DataKind data_;
  kernels::VariantInfo const* ran_ = nullptr;
  int prepared_ = 0;
  bool is_last_step_ = true;                               ///< of a repetition
  std::map<kernels::VariantInfo const*, int> executions_;  ///< overlapped ones since prepare()
  comm::World* damaged_ = nullptr;                         ///< whose outputs are to be damaged
  std::map<void const*, bool> changed_inputs_;  ///< by address, whether the fault changed a bit
  std::map<kernels::VariantInfo const*, Saved> earlier_;  ///< outputs on other data
};

}  // namespace

std::string_view summary_of(Fault fault) {
  switch (fault) {
    case Fault::none: return "nothing";
    case Fault::nan: return "one element becomes NaN (integers: the largest value)";
    case Fault::inf: return "one element becomes infinite (integers: the smallest value)";
    case Fault::sign: return "one element changes its sign";
    case Fault::bit_flip:
      return "the highest mantissa bit of one element flips (integers: the lowest bit)";
    case Fault::off_by_one: return "one is added to one element, on integer data";
    case Fault::missing_tile: return "a tile was never written";
    case Fault::last_row: return "the last row was never written";
    case Fault::swap_blocks:
      return "two ranks' outputs are swapped, or two halves where ranks agree";
    case Fault::swap_columns: return "two neighbouring columns are swapped";
    case Fault::f32: return "inputs are rounded to f32";
    case Fault::tf32: return "inputs are rounded to tf32, 11 bits";
    case Fault::bf16: return "inputs are rounded to bf16, 8 bits";
    case Fault::rank_one:
      return "a row of the last input is missing: of a product, one term of each sum";
    case Fault::wrong_rank: return "data come from the wrong rank";
    case Fault::drop_message: return "a message never reaches its place";
    case Fault::not_run: return "the operation is not executed at all";
    case Fault::stale: return "the output is that of an earlier execution on other data";
    case Fault::once: return "one element of the first timed repetition alone is wrong";
    case Fault::misplaced_wait:
      return "a wait ends before the data are there: old ones are read in their place";
  }
  return {};
}

core::Case with_fault(core::Case spec, Fault fault) {
  if (fault == Fault::off_by_one) spec.data = core::DataKind::integer;
  if (fault == Fault::once) {
    // So that the second execution is a timed repetition, whose outputs nothing overwrites.
    spec.warmup = {.count = 1, .seconds = 0};
    spec.batch = 1;
    spec.clock = core::Clock::burst;
  }
  return spec;
}

std::unique_ptr<Workload> make_faulty(std::unique_ptr<Workload> real, Fault fault,
                                      core::DataKind data) {
  if (fault == Fault::none) return real;
  return std::make_unique<FaultyWorkload>(std::move(real), fault, data);
}

}  // namespace quadrille::measure
