// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "ring_attention/ring_attention.hpp"

#include "comm/transport.hpp"
#include "device/trace.hpp"
#include "workloads/checks/attention.hpp"
#include "workloads/data.hpp"
#include "workloads/ring_sequence.hpp"
#include "workloads/secondary.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

namespace quadrille::workloads {
namespace {

namespace attention = kernels::attention;
namespace ring_attention = kernels::ring_attention;
using attention::Mask;
using measure::Leg;

/// What the extent `tokens` counts.
enum class Scope { per_rank, whole };
constexpr auto enum_names(Scope) {
  return core::EnumNames<Scope, 2>{{{Scope::per_rank, "per_rank"}, {Scope::whole, "whole"}}};
}

struct Parameters {
  Mask mask = Mask::full;
  Partition partition = Partition::zigzag;
  Scope sequence = Scope::per_rank;
  bool operator==(Parameters const&) const = default;
};

/// Of so many queries to so many keys.
attention::Shape shape_of(core::Case const& spec, std::int64_t queries, std::int64_t keys) {
  auto const& size = spec.size;
  return {.batch = size[0],
          .heads = size[1],
          .kv_heads = size[2],
          .queries = queries,
          .keys = keys,
          .head_size = size[4]};
}

std::int64_t tokens_of(core::Case const& spec, int ranks) {
  bool const is_whole = spec.parameters.as<Parameters>().sequence == Scope::whole;
  return spec.size[3] * (is_whole ? 1 : ranks);
}

std::string conflict(core::Case const& spec) {
  attention::Shape const shape = shape_of(spec, spec.size[3], spec.size[3]);
  std::string const error = attention::shape_error(shape);
  return error.empty() ? elements_conflict(attention::compulsory_bytes(shape, 1, 1)) : error;
}

/// o = attention of q to k and v, the tokens of a sequence divided among ranks. Queries stay; keys and values
/// travel in a ring, from each rank to the next, those of the next step under the computation with these. In
/// step t rank r computes with the tokens of rank r - t: in an order that is always the same, so that the
/// result has the same bits however fast messages are.
/// (Liu, Zaharia, Abbeel: Ring attention with blockwise transformers for near-infinite context, 2023.)
class RingAttention final : public measure::Workload {
 public:
  RingAttention(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        ranks_{ranks},
        rank_{rank},
        sequence_{tokens_of(spec, ranks), p_.partition, ranks} {
    device::MatrixView const own = problem_of(0).q;
    q_ = o_ = own;
    for (int step = 0; step < ranks; ++step) {
      ring_attention::Problem const problem = problem_of(step);
      bool const has_work =
          problem.seen.by(problem.shape.queries - 1, problem.shape.keys) > 0 && own.rows > 0;
      if (has_work) last_work_ = step;
      has_work_.push_back(has_work);
    }
  }

  measure::Description describe(measure::Selection const&) const override {
    std::int64_t const n = sequence_.tokens();
    attention::Shape whole = shape_of(case_, n, n);
    whole.mask = p_.mask;
    auto const width = static_cast<double>(core::size_of(case_.type));
    double const q = elements(whole.heads, n), kv = 2 * elements(whole.kv_heads, n);
    measure::Description d;
    d.traits = {.communicates = true, .has_legs = true};
    d.amount = attention::flop(whole);
    d.unit = "FLOP/s";
    d.flop = d.amount;
    // Every rank reads all keys and values, and writes those that it receives.
    d.device_bytes = width * (2 * q + kv * (2 * ranks_ - 1));
    d.network_bytes = width * kv * (ranks_ - 1);
    d.extras = {{"received", d.network_bytes, "B/s"},
                {"intensity", d.flop / d.device_bytes, "flop/B"}};
    d.traffic = {comm::Operation::sendrecv, width * 2 * elements(whole.kv_heads, max_tokens())};
    std::int64_t const rows = whole.batch * whole.heads * max_tokens();
    double const slots = ranks_ > 1 ? 2 : 0;
    d.memory_bytes =
        width * (2 * elements(whole.heads, max_tokens()) +
                 2 * elements(whole.kv_heads, max_tokens()) * (1 + slots)) +
        sizeof(float) * static_cast<double>(ring_attention::state_size(rows, whole.head_size));
    // What a check reads again, of a head.
    d.host_bytes = 2 * sizeof(float) * static_cast<double>(n * whole.head_size);
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    std::string reason;
    for (int step = 0; step < ranks_ && reason.empty(); ++step) {
      reason = row_of(ring_attention::variants(), variant).unsupported_reason(problem_of(step));
    }
    return reason;
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    // A block's keys need none.
    return static_cast<double>(
        max_scratch(ring_attention::variants(), problem_of(0), selected, device));
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (!channel_) allocate(world, selected);
    sources_ = {{case_.data, seed, 0}, {case_.data, seed, 1}, {case_.data, seed, 2}};
    fill_tensor(q_, sources_.q, world);
    fill_tensor(block_of(0).k, sources_.k, world);
    fill_tensor(block_of(0).v, sources_.v, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    world.stream().fill(o_.data, 0xFF, o_matrix_.bytes());
    world.stream().fill(state_memory_.data(), 0xFF, state_memory_.bytes());
    for (device::Matrix const& slot : slots_) forget_received(slot, own_.view(), world.stream());
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    device::StreamView const compute = world.stream();
    device::StreamView const communicate = world.comm_stream();
    auto const& row = row_of(ring_attention::variants(), variant);
    // Begins when the run before it has ended: its blocks would be overwritten.
    compute.record(begun_);
    communicate.wait(begun_);
    for (int step = 0; step < ranks_; ++step) {
      bool const is_last = step + 1 == ranks_;
      if (leg != Leg::compute) arrived_.wait_on(compute);
      if (leg == Leg::overlapped && !is_last) shift(world, step);
      if (leg != Leg::communicate) {
        label(world, step);
        if (has_work_[static_cast<std::size_t>(step)]) row.launch(problem_of(step), compute);
      }
      compute.record(read(step));
      if (leg == Leg::serial) communicate.wait(read(step));
      if ((leg == Leg::serial || leg == Leg::communicate) && !is_last) shift(world, step);
    }
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    return row_of(ring_attention::variants(), variant).implementation(problem_of(0));
  }

  measure::Verdict validate(comm::World& world) override {
    attention::Shape const x = problem_of(0).shape;
    std::int64_t const n = sequence_.tokens();
    auto const token = [&](std::int64_t row) { return sequence_.token(rank_, row % x.queries); };
    AttentionCheck checker{
        o_,          case_.type, x.head_size, sources_, describe({}).flop / 4 / ranks_,
        case_.check, world,      ranks_};
    std::int64_t const rows = x.group() * x.queries;
    checker.judge(x.batch * x.kv_heads, [&](std::int64_t head) -> AttentionCheck::Group {
      return {
          .first_row = head * rows,
          .rows = rows,
          .keys = n,
          .row_of_query = [&](std::int64_t row) { return row / x.queries * n + token(row); },
          .row_of_key = [n, head](std::int64_t key) { return head * n + key; },
          .visible = [&](std::int64_t row) { return p_.mask == Mask::causal ? token(row) + 1 : n; },
          .place =
              [&](std::int64_t row, std::int64_t column) {
                std::int64_t const of_all = row / x.queries;
                return fmt::format("o({}, {}, {}, {})", of_all / x.heads, of_all % x.heads,
                                   token(row), column);
              }};
    });
    return checker.verdict();
  }

  std::vector<measure::Field> fields() override {
    Block const own = block_of(0);
    std::int64_t const heads = case_.size[1], kv_heads = case_.size[2];
    return {
        measure::input(field_of("q", q_, heads)), measure::input(field_of("k", own.k, kv_heads)),
        measure::input(field_of("v", own.v, kv_heads)), measure::output(field_of("o", o_, heads))};
  }

 private:
  /// Keys and values of a rank, one behind the other: a message.
  struct Block {
    device::MatrixView k, v;
    comm::Piece piece() const {
      return {k.data, 2 * static_cast<std::size_t>(k.rows * k.cols) * core::size_of(k.type)};
    }
  };

  double elements(std::int64_t heads, std::int64_t tokens) const {
    return static_cast<double>(case_.size[0] * heads) * static_cast<double>(tokens) *
           static_cast<double>(case_.size[4]);
  }
  std::int64_t max_tokens() const {
    std::int64_t most = 0;
    for (int r = 0; r < ranks_; ++r) most = std::max(most, sequence_.count(r));
    return most;
  }
  int next() const { return (rank_ + 1) % ranks_; }
  int previous() const { return (rank_ + ranks_ - 1) % ranks_; }
  /// Whose keys this rank has in a step.
  int owner(int step) const { return (rank_ + ranks_ - step) % ranks_; }

  /// Where they lie, without memory before prepare().
  Block block_of(int step) const {
    device::Matrix const& memory = step == 0 ? own_ : slots_[static_cast<std::size_t>(step % 2)];
    std::int64_t const rows = case_.size[0] * case_.size[2] * sequence_.count(owner(step));
    device::MatrixView all = unallocated(whole(2 * rows, case_.size[4]), case_.type);
    if (memory.view().data != nullptr) all.data = memory.view().data;
    return {all.block(0, 0, rows, all.cols), all.block(rows, 0, rows, all.cols)};
  }

  ring_attention::Problem problem_of(int step) const {
    int const of = owner(step);
    ring_attention::Problem problem =
        ring_attention::unallocated(shape_of(case_, sequence_.count(rank_), sequence_.count(of)),
                                    sequence_.seen(p_.mask, rank_, of), case_.type);
    problem.is_first = step == 0;
    problem.is_last = step == last_work_;
    problem.q.data = q_.data;
    problem.o.data = o_.data;
    Block const block = block_of(step);
    problem.k.data = block.k.data;
    problem.v.data = block.v.data;
    problem.state = state_;
    problem.scratch = scratch_.data();
    problem.scratch_bytes = scratch_.bytes();
    return problem;
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    device::Device& device = world.device();
    std::int64_t const rows = case_.size[0] * case_.size[2] * 2, d = case_.size[4];
    q_matrix_ = allocate_matrix(q_, world);
    o_matrix_ = allocate_matrix(o_, world);
    own_ = {device, case_.type, rows * sequence_.count(rank_), d, world.stream()};
    for (device::Matrix& slot : slots_) {
      if (ranks_ > 1) slot = {device, case_.type, rows * max_tokens(), d, world.stream()};
    }
    state_memory_ = {device, ring_attention::state_size(q_.rows, d), world.stream()};
    state_ = ring_attention::state_in(state_memory_.data(), q_.rows, d);
    scratch_ = allocate_scratch(
        max_scratch(ring_attention::variants(), problem_of(0), selected, device.facts()), world);
    begun_ = device::Event{device};
    for (device::Event& event : read_) event = device::Event{device};
    channel_ = world.transport(case_).connect(world.group());
  }

  /// Calls f(part of the tokens, first row of it here, row of the tensor's first token of the head).
  template <class F>
  void for_parts(device::MatrixView const& tensor, F const& f) const {
    std::int64_t const count = sequence_.count(rank_);
    std::vector<RingSequence::Part> const parts = sequence_.parts(rank_);
    for (std::int64_t head = 0; head * count < tensor.rows; ++head) {
      for (RingSequence::Part const& part : parts) {
        f(part, head * count + part.first, head * sequence_.tokens());
      }
    }
  }

  /// This rank's rows of a tensor.
  void fill_tensor(device::MatrixView const& view, Source const& source,
                   comm::World const& world) const {
    for_parts(view, [&](RingSequence::Part const& part, std::int64_t row, std::int64_t first) {
      Region region{part.tokens, {0, 1, 1, 0}, false};
      region.rows.first += first;
      fill(view.block(row, 0, part.count, view.cols), region, source, world);
    });
  }

  measure::Field field_of(std::string name, device::MatrixView const& view,
                          std::int64_t heads) const {
    measure::Field field;
    field.name = std::move(name);
    field.type = view.type;
    field.view = view;
    field.shape = {case_.size[0] * heads * sequence_.tokens(), view.cols};
    for_parts(view, [&](RingSequence::Part const& part, std::int64_t row, std::int64_t first) {
      std::int64_t const each = part.is_contiguous ? part.count : 1;
      for (std::int64_t i = 0; i < part.count; i += each) {
        field.blocks.push_back(
            {first + part.tokens.global(i), 0, view.block(row + i, 0, each, view.cols)});
      }
    });
    return field;
  }

  /// Sends the block of a step on, and receives that of the next one, into what the step before read.
  void shift(comm::World& world, int step) {
    device::StreamView const stream = world.comm_stream();
    label(world, step + 1);
    if (step > 0) stream.wait(read(step - 1));
    arrived_.wait_on(stream);
    arrived_ = channel_->sendrecv(block_of(step).piece(), next(), block_of(step + 1).piece(),
                                  previous(), stream);
  }

  /// What a trace calls the work of this step.
  static void label(comm::World const& world, int step) {
    if (device::Trace* const trace = world.device().trace()) {
      trace->set_label(fmt::format("step {}", step));
    }
  }
  device::Event& read(int step) { return read_[static_cast<std::size_t>(step % 2)]; }

  core::Case case_;
  Parameters p_;
  int ranks_, rank_;
  RingSequence sequence_;
  std::vector<bool> has_work_;  // by step: whether a query sees one of the keys
  int last_work_ = 0;           // step
  device::MatrixView q_, o_;    // without memory before prepare()
  AttentionCheck::Sources sources_;
  device::Matrix q_matrix_, o_matrix_, own_;
  std::array<device::Matrix, 2> slots_;  // for blocks of other ranks
  device::Buffer<float> state_memory_;
  ring_attention::State state_;
  device::Buffer<std::byte> scratch_;
  device::Event begun_;
  std::array<device::Event, 2> read_;  // what slots hold
  comm::Request arrived_;
  std::unique_ptr<comm::Channel> channel_;
};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const ring_attention = measure::entry({
    .schema =
        {.name = "ring_attention",
         .extents = {"batch", "heads", "kv_heads", "tokens", "head_size"},
         .max_extent = std::numeric_limits<std::int32_t>::max(),
         .has_auto = false,
         .keys = {.transport = true, .legs = true},
         .defaults = core::Parameters{Parameters{}},
         .options = {core::options::choice(
                         "mask", core::options::at(&Parameters::mask),
                         "which keys a query sees; causal: its own and those of earlier tokens"),
                     core::options::method(core::options::choice(
                         "partition", core::options::at(&Parameters::partition),
                         "which tokens a rank has: two chunks, or each P-th one")),
                     core::options::choice("sequence", core::options::at(&Parameters::sequence),
                                           "what the extent tokens counts: those of each rank, "
                                           "or of the whole sequence")},
         .conflict = conflict},
    .summary = "attention over a sequence split among ranks, keys and values travel in a ring",
    .work = "4 head_size flop for each pair of a query and a key that it sees: 4 b h n n d for n "
            "tokens in all, about half of it under a causal mask",
    .local = false,
    .variants = rows_of(kernels::ring_attention::variants()),
    .make = measure::make<RingAttention>,
    .secondary = {kReceived},
});

}  // namespace entries

}  // namespace quadrille::workloads
