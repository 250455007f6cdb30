// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "pack/pack.hpp"
#include "transpose/transpose.hpp"
#include "transpose/transpose_blocks.hpp"
#include "workloads/peers/peer.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace quadrille::workloads {

namespace {

namespace pack = kernels::pack;
namespace transpose = kernels::transpose;
using measure::Leg;

struct Parameters {
  std::int64_t panel = 256;  ///< width of a step in rows of A
  std::int64_t buffers = 2;  ///< steps under way
  std::int64_t block = 0;    ///< block-cyclic block; 0: one block per process
  bool operator==(Parameters const&) const = default;
};

constexpr kernels::VariantInfo kGet{
    .name = "one_sided_get",
    .where = kernels::Where::any,
    .types = kernels::kEveryType,
    .preference = 35,
    .source = "own",
    .summary = "transposed out of the memory of peers into the own"};
constexpr kernels::VariantInfo kPut{
    .name = "one_sided_put",
    .where = kernels::Where::any,
    .types = kernels::kEveryType,
    .preference = 40,
    .source = "own",
    .summary = "transposed out of the own memory into that of peers"};

bool is_one_sided(kernels::VariantInfo const& variant) {
  return &variant == &kGet || &variant == &kPut;
}

bool is_peer(kernels::VariantInfo const& variant) { return variant.role == kernels::Role::peer; }

/// Global indices that one process holds as rows of A and another as columns of B, where each holds
/// one block.
struct Run {
  std::int64_t a = 0;  ///< first local index in A
  std::int64_t b = 0;  ///< first local index in B
  std::int64_t count = 0;
};

Run common_run(comm::Distribution const& in_a, int part_a, comm::Distribution const& in_b,
               int part_b) {
  auto const begin_of = [](comm::Distribution const& d, int part) {
    return d.parts() == 1 ? 0 : d.global(part, 0);
  };
  std::int64_t const a = begin_of(in_a, part_a), b = begin_of(in_b, part_b);
  std::int64_t const begin = std::max(a, b);
  std::int64_t const end = std::min(a + in_a.count(part_a), b + in_b.count(part_b));
  if (begin >= end) return {};
  return {begin - a, begin - b, end - begin};
}

/// Global indices that one process holds as rows (columns) of A and another as columns (rows) of B.
transpose::CommonIndices common_indices(comm::Distribution const& in_a, int part_a,
                                        comm::Distribution const& in_b, int part_b,
                                        bool is_cyclic) {
  if (!is_cyclic) {
    Run const run = common_run(in_a, part_a, in_b, part_b);
    return {run.count, std::max<std::int64_t>(1, run.count), {run.a, 0}, {run.b, 0}};
  }
  std::int64_t const block = in_a.block(), parts_a = in_a.parts(), parts_b = in_b.parts();
  std::int64_t const cycle = std::lcm(parts_a, parts_b);
  std::int64_t first = 0;  // the first block of both
  while (first < cycle && (first % parts_a != part_a || first % parts_b != part_b)) ++first;
  if (first == cycle) return {};
  comm::Distribution const both{in_a.size(), block, static_cast<int>(cycle)};
  transpose::CommonIndices common{both.count(static_cast<int>(first)),
                                  block,
                                  {first / parts_a * block, cycle / parts_a * block},
                                  {first / parts_b * block, cycle / parts_b * block}};
  // On a square grid they are all that either has.
  if (parts_a == parts_b) common.block = std::max<std::int64_t>(1, common.count);
  return common;
}

/// Indices 0, 1, ... that belong to processes, in the order of the processes.
struct Grouping {
  std::vector<std::int64_t> starts;   // of each process, then the end
  std::vector<std::int64_t> numbers;  // of each index in that order

  template <class Owner>
  Grouping(std::int64_t n, int processes, Owner const& owner)
      : starts(static_cast<std::size_t>(processes) + 1), numbers(static_cast<std::size_t>(n)) {
    for (std::int64_t i = 0; i < n; ++i) ++starts[static_cast<std::size_t>(owner(i)) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<std::int64_t> next = starts;
    for (std::int64_t i = 0; i < n; ++i) {
      numbers[static_cast<std::size_t>(i)] = next[static_cast<std::size_t>(owner(i))]++;
    }
  }
  std::int64_t start(int process) const { return starts[static_cast<std::size_t>(process)]; }
  std::int64_t count(int process) const { return start(process + 1) - start(process); }
};

/// How a block-cyclic matrix of one rank and the pieces that it exchanges belong together, step by
/// step: a piece for each pair of a process that has to do with its rows and one that has to do with
/// its columns. The pieces of a step follow one another by the process of the columns.
class Regrouping {
 public:
  /// `columns` are those of the matrix that a step moves, and `column_owner(step, k)` the process of
  /// the k-th of them.
  template <class ColumnOwner>
  Regrouping(comm::World const& world, Grouping rows, int column_processes,
             std::vector<std::vector<std::int64_t>> const& columns, ColumnOwner const& column_owner)
      : rows_{std::move(rows)} {
    std::vector<pack::Column> all;
    auto const height = static_cast<std::int64_t>(rows_.numbers.size());
    for (std::size_t t = 0; t < columns.size(); ++t) {
      auto const width = static_cast<std::int64_t>(columns[t].size());
      auto const owner = [&](std::int64_t k) { return column_owner(t, k); };
      Grouping const& step = steps_.emplace_back(width, column_processes, owner);
      first_.push_back(static_cast<std::int64_t>(all.size()));
      max_ = std::max(max_, height * width);
      for (std::int64_t k = 0; k < width; ++k) {
        int const process = owner(k);
        std::int64_t const start = step.start(process);
        std::int64_t const inside = step.numbers[static_cast<std::size_t>(k)] - start;
        all.push_back({columns[t][static_cast<std::size_t>(k)], height * start + inside,
                       step.count(process)});
      }
    }
    device::StreamView const stream = world.stream();
    row_numbers_ = {world.device(), height, stream};
    columns_ = {world.device(), static_cast<std::int64_t>(all.size()), stream};
    stream.copy(row_numbers_.data(), rows_.numbers.data(), row_numbers_.bytes());
    stream.copy(columns_.data(), all.data(), columns_.bytes());
    stream.synchronize();
  }

  /// Elements of the largest step.
  std::int64_t max_elements() const { return max_; }
  /// Elements of the pieces before this one, and its own.
  core::Range piece(std::size_t t, int row_process, int column_process) const {
    Grouping const& step = steps_[t];
    auto const height = static_cast<std::int64_t>(rows_.numbers.size());
    std::int64_t const width = step.count(column_process);
    return {height * step.start(column_process) + rows_.start(row_process) * width,
            rows_.count(row_process) * width};
  }
  void run(pack::Direction direction, std::size_t t, device::MatrixView const& matrix,
           std::byte* pieces, device::StreamView stream) const {
    pack::pack(direction,
               {.matrix = matrix,
                .rows = row_numbers_.data(),
                .columns = columns_.data() + first_[t],
                .column_count = static_cast<std::int64_t>(steps_[t].numbers.size()),
                .pieces = pieces},
               stream);
  }

 private:
  Grouping rows_;
  std::vector<Grouping> steps_;      // of the columns of each
  std::vector<std::int64_t> first_;  // of their columns in columns_
  std::int64_t max_ = 0;
  device::Buffer<std::int64_t> row_numbers_;
  device::Buffer<pack::Column> columns_;
};

/// B = A^T on a P x Q grid, A and B in the same distribution. For every pair of ranks the common
/// part is cut into as many steps as there are panels. A piece that takes all columns of its sender
/// lies together in A, as on square grids and those of one row: it is sent from there, on `ipc` read by
/// its receiver, which transposes it into B. Any other is packed by a local transpose and unpacked by a
/// copy. The exchange of step t runs under the packing of t + 1, the unpacking of t - 1, and the
/// transposes of what each rank keeps. A block-cyclic distribution has many small blocks for every
/// pair: there a step transposes a part of the rows as a whole, and one launch packs it into the
/// pieces of all ranks, another what comes in.
///
/// One-sided rows pack nothing, and their messages only say that memory is ready and that peers are
/// through with it: each rank transposes out of what all hold of A into its B, or out of its A into all
/// B, in one launch for each peer. Their legs: the same transposes in the own memory; copies of the same
/// bytes from or to the peers; both, one after the other; and the whole, so that "hidden" is what
/// transposing costs beside a copy.
class Ptrans final : public measure::Workload {
 public:
  Ptrans(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        m_{spec.size[0]},
        n_{spec.size[1]},
        ranks_{ranks},
        rank_{rank} {
    shape_ = spec.grid.rows > 0 ? spec.grid : comm::near_square(ranks);
    int const row = rank / shape_.cols, col = rank % shape_.cols;
    a_layout_ = {{m_, p_.block, shape_.rows}, {n_, p_.block, shape_.cols}, row, col};
    b_layout_ = {{n_, p_.block, shape_.rows}, {m_, p_.block, shape_.cols}, row, col};
    steps_ = static_cast<std::size_t>((m_ + p_.panel - 1) / p_.panel);
  }

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    double const bytes =
        static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(size_of());
    d.traits = {.communicates = true, .has_legs = true, .bar = kernels::Role::peer};
    d.amount = bytes;
    d.unit = "B/s";
    // A rank keeps what lies on the diagonal of the grid: about 1 / (P Q) of all.
    d.network_bytes = bytes * (ranks_ - 1) / ranks_;
    // All is transposed, and what travels is read and written once more.
    d.device_bytes = 2 * (bytes + d.network_bytes);
    d.extras = {{"exchanged", d.network_bytes, "B/s"}};
    double const local = std::ceil(static_cast<double>(m_) / shape_.rows) *
                         std::ceil(static_cast<double>(n_) / shape_.cols) *
                         static_cast<double>(size_of());
    double const steps = static_cast<double>(std::max<std::size_t>(1, steps_));
    d.traffic = {comm::Operation::alltoall, local / steps};
    Matrices const own = own_matrices(selected);
    int const copies = own.a + own.b + has(selected, kGet) + has(selected, kPut) +
                       2 * measure::any_of(selected, is_peer) + (case_.legs && has(selected, kGet));
    // No variant does with less than A and B.
    d.memory_bytes = local * std::max(2, copies) + 4096.0 * ranks_;
    if (exchanges(selected)) {
      d.memory_bytes +=
          2 * local * static_cast<double>(p_.buffers) / steps + (is_cyclic() ? local / steps : 0);
    }
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    if (auto const* peer = find_row(peers<PeerTranspose>(), variant)) {
      return peer->unsupported_reason(peer_layout(*peer), case_.type);
    }
    if (is_one_sided(variant)) return {};
    auto const& row = row_of(transpose::variants(), variant);
    std::string reason = steps_problem(m_, p_.panel, "panel");
    if (!reason.empty()) return reason;
    auto const ask = [&](device::MatrixView const& from, device::MatrixView const& into) {
      if (!reason.empty()) return;
      reason = row.unsupported_reason({from, into});
      if (!reason.empty()) reason += fmt::format(" in a piece of {} x {}", from.rows, from.cols);
    };
    device::MatrixView const a = unallocated(a_layout_, case_.type);
    device::MatrixView const b = unallocated(b_layout_, case_.type);
    if (is_cyclic()) {
      for_kinds_of_steps(
          a.rows, [&](std::size_t t) { for_rows(t, a, static_cast<std::byte*>(a.data), ask); });
      return reason;
    }
    for (int r = 0; r < ranks_ && reason.empty(); ++r) {
      Pair const out = pair(rank_, r), in = pair(r, rank_);
      bool const is_own = r == rank_;
      for_kinds_of_steps(out.rows.count, [&](std::size_t t) {
        if (is_own || out.in_place || is_empty(out, t)) return;
        ask(piece_of_a(out, t, a), packed(out, t, a.data));
      });
      for_kinds_of_steps(in.rows.count, [&](std::size_t t) {
        if (is_empty(in, t)) return;
        if (is_own) ask(piece_of_a(in, t, a), place_in_b(in, t, b));
        if (!is_own && in.in_place) ask(packed(in, t, a.data), place_in_b(in, t, b));
      });
    }
    return reason;
  }

  std::string unavailable_reason(kernels::VariantInfo const& variant,
                                 comm::Machine const& machine) const override {
    if (auto const* peer = find_row(peers<PeerTranspose>(), variant)) {
      return peer->unavailable_reason(&machine);
    }
    if (!is_one_sided(variant)) return {};
    comm::TransportEntry const& known = machine.transport_entry(case_.transport, case_.throttle);
    // Which one "auto" is will be measured.
    bool const is_open = case_.transport == "auto" && case_.throttle == 0 && machine.size() > 1;
    bool const is_shared = std::ranges::any_of(comm::transports(), [&](auto const* entry) {
      return entry->shares_windows && (is_open || entry == &known) &&
             entry->serves(machine, case_.throttle);
    });
    if (is_shared) return {};
    return fmt::format("transport \"{}\" shares no memory between these ranks; take ipc",
                       known.name);
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (!channel_) allocate(world, selected);
    source_ = {case_.data, seed, 0};
    for (device::MatrixView const& a : {a_, get_.shared}) {
      if (a.data != nullptr) fill(a, a_layout_, source_, world);
    }
    if (peer_) fill(peer_a_.view(), peer_layout_.a, source_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    peer_ran_ = is_peer(variant);
    got_ = &variant == &kGet;
    put_out_ = &variant == &kPut;
    if (b_of_last().data != nullptr) world.stream().fill(b_of_last().data, 0xFF, bytes_of(b_));
    if (peer_) world.stream().fill(peer_b_.view().data, 0xFF, peer_b_.bytes());
    // Pieces of the run before would be right.
    for (Slot const& slot : slots_) {
      world.stream().fill(slot.received.data(), 0xFF, slot.received.bytes());
    }
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    if (peer_ran_) return peer_->run();
    if (is_one_sided(variant)) return run_one_sided(world, leg, &variant == &kGet ? get_ : put_);
    device::StreamView const compute = world.stream();
    device::StreamView const communicate = world.comm_stream();
    auto const& transposes = row_of(transpose::variants(), variant);
    for (std::size_t t = 0; t < steps_; ++t) {
      Slot& slot = slots_[t % slots_.size()];
      if (leg == Leg::serial && t > 0) wait_for(t - 1, compute);
      // Step t - buffers still sits in this slot: unpack it before packing over it.
      if (t >= slots_.size()) finish_step(t - slots_.size(), leg, transposes, compute);
      place(slot, t);
      if (leg != Leg::communicate) pack(t, transposes, compute);
      if (leg == Leg::compute || leg == Leg::serial) transpose_own(t, transposes, compute);
      compute.record(slot.packed);
      if (leg != Leg::compute) {
        communicate.wait(slot.packed);
        slot.exchanged = channel_->alltoallv(slot.send, slot.receive, communicate);
      }
      if (leg == Leg::overlapped) transpose_own(t, transposes, compute);
    }
    if (leg == Leg::serial && steps_ > 0) wait_for(steps_ - 1, compute);
    std::size_t const waiting = std::min(steps_, slots_.size());
    for (std::size_t t = steps_ - waiting; t < steps_; ++t)
      finish_step(t, leg, transposes, compute);
  }

  measure::Verdict validate(comm::World& world) override {
    Layout const layout = peer_ran_ ? peer_layout_.b : b_layout_;
    return agree(world, compare("B", outputs_of(*this)[0], region_of(layout, true), source_, world,
                                check_stride(case_)));
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    return is_peer(variant) ? peer_->implementation() : "";
  }

  std::vector<measure::Field> fields() override {
    if (peer_ran_) {
      return {measure::input(field("A", peer_a_.view(), peer_layout_.a)),
              measure::output(field("B", peer_b_.view(), peer_layout_.b))};
    }
    return {measure::input(field("A", got_ ? get_.shared : a_, a_layout_)),
            measure::output(field("B", b_of_last(), b_layout_))};
  }

 private:
  /// What this rank and one other exchange: rows and columns of A as the sender has them, and the
  /// same seen by the receiver.
  struct Pair {
    Run rows;               ///< indices i: rows of A, columns of B
    Run cols;               ///< indices j: columns of A, rows of B
    bool in_place = false;  ///< lies together in A
  };
  struct Slot {
    device::Buffer<std::byte> to_send, received;
    std::vector<comm::ConstPiece> send;
    std::vector<comm::Piece> receive;
    device::Event packed;
    comm::Request exchanged;
  };

  /// A matrix that all ranks reach, and what this one does in the memory of each other, by rank.
  struct OneSided {
    std::unique_ptr<comm::Window> window;
    device::MatrixView shared;  // there
    std::vector<comm::Access> transposes, copies;
  };

  std::size_t size_of() const { return core::size_of(case_.type); }
  std::size_t bytes_of(device::MatrixView const& view) const {
    return static_cast<std::size_t>(view.rows * view.cols) * size_of();
  }

  /// What `from` sends to `to`.
  Pair pair(int from, int to) const {
    Pair p{common_run(a_layout_.rows, from / shape_.cols, b_layout_.cols, to % shape_.cols),
           common_run(a_layout_.cols, from % shape_.cols, b_layout_.rows, to / shape_.cols)};
    p.in_place = p.cols.count == a_layout_.cols.count(from % shape_.cols);
    return p;
  }

  /// Blocks of one rank are one block, too.
  bool is_cyclic() const { return p_.block > 0 && ranks_ > 1; }

  core::Range part_of(std::int64_t n, std::size_t t) const {
    return core::split_evenly(n, static_cast<std::int64_t>(steps_), static_cast<std::int64_t>(t));
  }
  core::Range step(Pair const& p, std::size_t t) const { return part_of(p.rows.count, t); }

  /// Calls f(step) until all extents and alignments of the steps of n rows have been seen: there may be
  /// billions of steps. As many as n has rows beyond equal steps are one row longer; among equal steps
  /// addresses are aligned as so many steps before.
  template <class F>
  void for_kinds_of_steps(std::int64_t n, F const& f) const {
    constexpr std::int64_t kAlignment = 256;  // of what a device allocates
    auto const steps = static_cast<std::int64_t>(steps_);
    if (steps == 0) return;
    std::int64_t const longer = n % steps;
    auto const visit = [&](std::int64_t first, std::int64_t end, std::int64_t rows) {
      auto const bytes = rows * static_cast<std::int64_t>(size_of());
      std::int64_t const period = kAlignment / std::gcd(kAlignment, bytes);
      for (std::int64_t t = first; t < std::min(end, first + period); ++t) {
        f(static_cast<std::size_t>(t));
      }
    };
    visit(0, longer, n / steps + 1);
    visit(longer, steps, n / steps);
  }

  /// The largest step comes first: sizes of split_evenly never grow.
  std::size_t step_bytes(Pair const& p) const {
    return static_cast<std::size_t>(step(p, 0).count * p.cols.count) * size_of();
  }

  static bool has(measure::Selection const& selected, kernels::VariantInfo const& variant) {
    return std::ranges::find(selected, &variant) != selected.end();
  }
  static bool exchanges(measure::Selection const& selected) {
    return measure::any_of(selected, [](kernels::VariantInfo const& variant) {
      return !is_peer(variant) && !is_one_sided(variant);
    });
  }

  /// Which matrices these variants have in memory that is not shared. Exchanges have both: on hosts it
  /// has larger pages.
  struct Matrices {
    bool a = false, b = false;
  };
  static Matrices own_matrices(measure::Selection const& selected) {
    bool const both = exchanges(selected);
    return {both || has(selected, kPut), both || has(selected, kGet)};
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    channel_ = world.transport(case_).connect(world.group());
    a_ = unallocated(a_layout_, case_.type);
    b_ = unallocated(b_layout_, case_.type);
    a_.data = b_.data = nullptr;
    if (own_matrices(selected).a) own_a_ = allocate_matrix(a_, world);
    if (own_matrices(selected).b) own_b_ = allocate_matrix(b_, world);
    if (has(selected, kGet)) share(world, get_, a_layout_);
    if (has(selected, kPut)) share(world, put_, b_layout_);
    if (exchanges(selected)) allocate_slots(world);
    for (kernels::VariantInfo const* variant : selected) {
      if (is_peer(*variant)) plan(row_of(peers<PeerTranspose>(), *variant), world);
    }
  }

  PeerTranspose::Layout peer_layout(Peer<PeerTranspose> const& peer) const {
    return peer.layout(shape_, rank_, p_.block, std::array{m_, n_});
  }
  void plan(Peer<PeerTranspose> const& peer, comm::World& world) {
    peer_layout_ = peer_layout(peer);
    auto const make = [&](Layout const& layout) {
      return device::Matrix{world.device(), case_.type, layout.local_rows(), layout.local_cols(),
                            world.stream()};
    };
    peer_a_ = make(peer_layout_.a);
    peer_b_ = make(peer_layout_.b);
    peer_ = peer.plan(world, shape_, {peer_layout_, peer_a_.view(), peer_b_.view()});
  }

  void allocate_slots(comm::World& world) {
    std::size_t send_bytes = 0, receive_bytes = 0;
    if (is_cyclic()) {
      pack_steps(world);
      send_bytes = static_cast<std::size_t>(sent_->max_elements()) * size_of();
      receive_bytes = static_cast<std::size_t>(received_->max_elements()) * size_of();
      transposed_ = {world.device(), static_cast<std::int64_t>(send_bytes), world.stream()};
    }
    for (int r = 0; r < ranks_ && !is_cyclic(); ++r) {
      to_.push_back(pair(rank_, r));
      from_.push_back(pair(r, rank_));
      if (r == rank_ || steps_ == 0) continue;
      if (!to_.back().in_place) send_bytes += step_bytes(to_.back());
      receive_bytes += step_bytes(from_.back());
    }
    for (std::int64_t s = 0; s < p_.buffers; ++s) {
      Slot& slot = slots_.emplace_back();
      slot.to_send = {world.device(), static_cast<std::int64_t>(send_bytes), world.stream()};
      slot.received = {world.device(), static_cast<std::int64_t>(receive_bytes), world.stream()};
      slot.packed = device::Event{world.device()};
    }
  }

  /// Puts this rank's part of a matrix where all ranks reach it, and writes down what this one does in
  /// the memory of each.
  void share(comm::World& world, OneSided& way, Layout const& layout) {
    way.shared = unallocated(layout, case_.type);
    way.window = channel_->share(bytes_of(way.shared));
    way.shared.data = way.window->data();
    way.transposes.resize(comm::index(ranks_));
    way.copies.resize(comm::index(ranks_));
    std::size_t landing = 0;
    for (int r = 0; r < ranks_; ++r) {
      transpose::Blocks const common = common_with(way, r, nullptr, transpose::Path::link);
      std::size_t const bytes =
          static_cast<std::size_t>(common.rows.count * common.cols.count) * size_of();
      if (r == rank_ || bytes == 0) continue;
      way.transposes[comm::index(r)] = [this, &way, r](std::byte* memory,
                                                       device::StreamView stream) {
        transpose::transpose_blocks(common_with(way, r, memory, transpose::Path::link), stream);
      };
      way.copies[comm::index(r)] = [this, &way, landing, bytes](std::byte* memory,
                                                                device::StreamView stream) {
        if (&way == &put_) return stream.copy(memory, a_.data, bytes);
        stream.copy(landed_.data() + landing, memory, bytes);
      };
      landing += bytes;
    }
    bool const lands = case_.legs && &way == &get_;
    if (lands) landed_ = {world.device(), static_cast<std::int64_t>(landing), world.stream()};
  }

  /// That the variant writes which reset() was called for.
  device::MatrixView const& b_of_last() const { return put_out_ ? put_.shared : b_; }

  /// What of rank r's A belongs into this rank's B, or of this rank's A into that of r, whose matrix is
  /// at `memory`.
  transpose::Blocks common_with(OneSided const& way, int r, void* memory,
                                transpose::Path path) const {
    int const from = &way == &get_ ? r : rank_, to = &way == &get_ ? rank_ : r;
    auto const row = [&](int rank) { return rank / shape_.cols; };
    auto const col = [&](int rank) { return rank % shape_.cols; };
    auto const of_r = [&](Layout layout) {
      layout.row_part = row(r);
      layout.col_part = col(r);
      device::MatrixView view = unallocated(layout, case_.type);
      view.data = memory;
      return view;
    };
    return {&way == &get_ ? of_r(a_layout_) : a_, &way == &get_ ? b_ : of_r(b_layout_),
            common_indices(a_layout_.rows, row(from), b_layout_.cols, col(to), is_cyclic()),
            common_indices(a_layout_.cols, col(from), b_layout_.rows, row(to), is_cyclic()), path};
  }

  void run_one_sided(comm::World& world, Leg leg, OneSided const& way) {
    device::StreamView const compute = world.stream();
    auto const transpose_in_own_memory = [&](int r) {
      transpose::transpose_blocks(common_with(way, r, way.shared.data, transpose::Path::memory),
                                  compute);
    };
    if (leg == Leg::overlapped) {
      comm::Request const done = channel_->access(*way.window, way.transposes, compute);
      transpose_in_own_memory(rank_);
      return done.wait_on(compute);
    }
    if (leg != Leg::compute) channel_->access(*way.window, way.copies, compute).wait_on(compute);
    // As if all ranks' memory were here: for the time, not for the result.
    for (int r = 0; r < ranks_ && leg != Leg::communicate; ++r) transpose_in_own_memory(r);
  }

  void pack_steps(comm::World const& world) {
    // What leaves: rows of the transposed step are columns of A, its columns the step's rows of A.
    std::vector<std::vector<std::int64_t>> columns(steps_);
    for (std::size_t t = 0; t < steps_; ++t) {
      columns[t].resize(static_cast<std::size_t>(part_of(a_layout_.local_rows(), t).count));
      std::iota(columns[t].begin(), columns[t].end(), 0);
    }
    sent_.emplace(
        world,
        Grouping{a_layout_.local_cols(), shape_.rows,
                 [&](std::int64_t j) { return b_layout_.rows.owner(a_layout_.global_col(j)); }},
        shape_.cols, columns, [&](std::size_t t, std::int64_t k) {
          std::int64_t const i = part_of(a_layout_.local_rows(), t).first + k;
          return b_layout_.cols.owner(a_layout_.global_row(i));
        });
    // What comes: columns of B are rows of A, which their owner sends in one of its steps.
    for (std::vector<std::int64_t>& of_step : columns) of_step.clear();
    std::vector<std::size_t> at(static_cast<std::size_t>(shape_.rows));  // step of each sender
    for (std::int64_t j = 0; j < b_layout_.local_cols(); ++j) {
      std::int64_t const global = b_layout_.global_col(j);
      int const sender = a_layout_.rows.owner(global);
      std::size_t& t = at[static_cast<std::size_t>(sender)];
      auto const end = [&] {
        core::Range const part = part_of(a_layout_.rows.count(sender), t);
        return part.first + part.count;
      };
      while (a_layout_.rows.local(global) >= end()) ++t;
      columns[t].push_back(j);
    }
    received_.emplace(
        world,
        Grouping{b_layout_.local_rows(), shape_.cols,
                 [&](std::int64_t i) { return a_layout_.cols.owner(b_layout_.global_row(i)); }},
        shape_.rows, columns, [&](std::size_t t, std::int64_t k) {
          std::int64_t const j = columns[t][static_cast<std::size_t>(k)];
          return a_layout_.rows.owner(b_layout_.global_col(j));
        });
  }

  /// Where the pieces of rank r lie among those of step t; its own is none that travels.
  comm::Piece sent_piece(Slot const& slot, std::size_t t, int r) const {
    return piece_of(slot.to_send, sent_->piece(t, r / shape_.cols, r % shape_.cols));
  }
  comm::Piece received_piece(Slot const& slot, std::size_t t, int r) const {
    return piece_of(slot.received, received_->piece(t, r % shape_.cols, r / shape_.cols));
  }
  comm::Piece piece_of(device::Buffer<std::byte> const& memory, core::Range const& piece) const {
    return {memory.data() + static_cast<std::size_t>(piece.first) * size_of(),
            static_cast<std::size_t>(piece.count) * size_of()};
  }

  /// Where the piece of each rank lies in a slot, in rank order; nothing for this rank itself.
  void place(Slot& slot, std::size_t t) {
    slot.send.assign(static_cast<std::size_t>(ranks_), {});
    slot.receive.assign(static_cast<std::size_t>(ranks_), {});
    for (int r = 0; r < ranks_ && is_cyclic(); ++r) {
      if (r == rank_) continue;
      slot.send[comm::index(r)] = sent_piece(slot, t, r);
      slot.receive[comm::index(r)] = received_piece(slot, t, r);
    }
    if (is_cyclic()) return;
    std::size_t out = 0, in = 0;
    for (int r = 0; r < ranks_; ++r) {
      auto const i = static_cast<std::size_t>(r);
      if (r == rank_) continue;
      slot.send[i] = {
          slot.to_send.data() + out,
          static_cast<std::size_t>(step(to_[i], t).count * to_[i].cols.count) * size_of()};
      slot.receive[i] = {
          slot.received.data() + in,
          static_cast<std::size_t>(step(from_[i], t).count * from_[i].cols.count) * size_of()};
      if (to_[i].in_place) {
        slot.send[i].data = piece_of_a(to_[i], t, a_).data;
      } else {
        out += slot.send[i].bytes;
      }
      in += slot.receive[i].bytes;
    }
  }

  /// What a rank sends of A in step t, in its A.
  device::MatrixView piece_of_a(Pair const& p, std::size_t t, device::MatrixView const& a) const {
    core::Range const part = step(p, t);
    return a.block(p.rows.a + part.first, p.cols.a, part.count, p.cols.count);
  }
  /// Where it belongs in B.
  device::MatrixView place_in_b(Pair const& p, std::size_t t, device::MatrixView const& b) const {
    core::Range const part = step(p, t);
    return b.block(p.cols.b, p.rows.b + part.first, p.cols.count, part.count);
  }
  /// As it travels: as it lies in A, or else transposed.
  device::MatrixView packed(Pair const& p, std::size_t t, void const* piece) const {
    std::int64_t const rows = step(p, t).count, cols = p.cols.count;
    void* const data = const_cast<void*>(piece);
    if (p.in_place) return {data, case_.type, rows, cols, cols};
    return {data, case_.type, cols, rows, rows};
  }
  bool is_empty(Pair const& p, std::size_t t) const {
    return step(p, t).count == 0 || p.cols.count == 0;
  }

  /// Of a block-cyclic distribution calls f(rows of A, their transpose).
  template <class F>
  void for_rows(std::size_t t, device::MatrixView const& a, std::byte* transposed,
                F const& f) const {
    core::Range const part = part_of(a.rows, t);
    if (part.count == 0 || a.cols == 0) return;
    f(a.block(part.first, 0, part.count, a.cols),
      device::MatrixView{transposed, case_.type, a.cols, part.count, part.count});
  }

  void pack(std::size_t t, kernels::Variant<transpose::Problem> const& variant,
            device::StreamView stream) {
    Slot const& slot = slots_[t % slots_.size()];
    if (is_cyclic()) {
      return for_rows(t, a_, transposed_.data(), [&](auto const& from, auto const& into) {
        variant.launch({from, into}, stream);
        sent_->run(pack::Direction::gather, t, into, slot.to_send.data(), stream);
      });
    }
    for (int r = 0; r < ranks_; ++r) {
      Pair const& p = to_[comm::index(r)];
      if (r == rank_ || p.in_place || is_empty(p, t)) continue;
      variant.launch({piece_of_a(p, t, a_), packed(p, t, slot.send[comm::index(r)].data)}, stream);
    }
  }

  /// What this rank keeps.
  void transpose_own(std::size_t t, kernels::Variant<transpose::Problem> const& variant,
                     device::StreamView stream) {
    if (is_cyclic()) {
      Slot const& slot = slots_[t % slots_.size()];
      comm::Piece const own = sent_piece(slot, t, rank_);
      return stream.copy(received_piece(slot, t, rank_).data, own.data, own.bytes);
    }
    Pair const& p = to_[comm::index(rank_)];
    if (is_empty(p, t)) return;
    variant.launch({piece_of_a(p, t, a_), place_in_b(p, t, b_)}, stream);
  }

  /// Waits in the stream for the exchange of step t.
  void wait_for(std::size_t t, device::StreamView stream) const {
    slots_[t % slots_.size()].exchanged.wait_on(stream);
  }

  /// Waits in the stream for the exchange of step t and brings what came into B.
  void finish_step(std::size_t t, Leg leg, kernels::Variant<transpose::Problem> const& variant,
                   device::StreamView stream) {
    Slot& slot = slots_[t % slots_.size()];
    if (leg != Leg::compute) wait_for(t, stream);
    if (leg == Leg::communicate) return;
    if (is_cyclic()) {
      return received_->run(pack::Direction::scatter, t, b_, slot.received.data(), stream);
    }
    for (int r = 0; r < ranks_; ++r) {
      Pair const& p = from_[comm::index(r)];
      if (r == rank_ || is_empty(p, t)) continue;
      device::MatrixView const from = packed(p, t, slot.receive[comm::index(r)].data);
      device::MatrixView const into = place_in_b(p, t, b_);
      if (p.in_place) {
        variant.launch({from, into}, stream);
        continue;
      }
      std::size_t const row_bytes = static_cast<std::size_t>(from.cols) * size_of();
      stream.copy_2d(into.data, static_cast<std::size_t>(into.ld) * size_of(), from.data, row_bytes,
                     row_bytes, static_cast<std::size_t>(into.rows));
    }
  }

  core::Case case_;
  Parameters p_;
  std::int64_t m_, n_;
  int ranks_, rank_;
  core::GridShape shape_;
  Layout a_layout_, b_layout_;
  std::size_t steps_ = 0;
  Source source_;
  bool peer_ran_ = false, got_ = false, put_out_ = false;  // what reset() was called for
  device::MatrixView a_, b_;                               // without memory where none needs them
  device::Matrix own_a_, own_b_, peer_a_, peer_b_;
  std::vector<Pair> to_, from_;                // by rank
  std::optional<Regrouping> sent_, received_;  // in their place, of a block-cyclic distribution
  device::Buffer<std::byte> transposed_;
  std::vector<Slot> slots_;
  std::unique_ptr<comm::Channel> channel_;
  PeerTranspose::Layout peer_layout_;  // where one is selected
  std::unique_ptr<PeerCall> peer_;     // behind what it works on
  OneSided get_, put_;                 // of A and of B
  device::Buffer<std::byte> landed_;   // copies that get_ brings
};

measure::Selection rows() {
  // The library's local transpose is a local technique; the peer of the whole operation is p?tran.
  measure::Selection all = rows_of(transpose::variants());
  all.push_back(&kGet);
  all.push_back(&kPut);
  std::ranges::copy(rows_of(peers<PeerTranspose>()), std::back_inserter(all));
  return all;
}

/// Every rank sends to every other in each step.
measure::RankWork work_of(core::Case const& spec, measure::RankLayout const& layout, double scale) {
  core::GridShape const grid = measure::grid_on(spec, layout.ranks);
  auto const ranks = static_cast<double>(layout.ranks);
  double const m = static_cast<double>(spec.size[0]) * scale;
  double const n = static_cast<double>(spec.size[1]) * scale;
  double const rows = std::ceil(m / grid.rows), cols = std::ceil(n / grid.cols);
  auto const s = static_cast<double>(core::size_of(spec.type));
  double const bytes = s * rows * cols * (ranks - 1) / ranks;
  auto const panel = static_cast<double>(spec.parameters.as<Parameters>().panel);
  double const here = layout.on_node();
  return {.amount = m * n,
          .compute = rows * cols,
          .messages = std::ceil(rows / std::min(rows, panel)) * (ranks - 1),
          .bytes = bytes,
          .node_bytes = here * bytes * measure::share_away(ranks, here)};
}

constexpr measure::CostModel kCost{work_of, true, 0.5};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const ptrans{
    .schema = {.name = "ptrans",
               .extents = {"m", "n"},
               .keys = {.transport = true, .grid = true, .legs = true, .weak = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::count("panel", core::options::at(&Parameters::panel),
                                                "width of a panel",
                                                {.least = 1, .unit = "elements"}),
                           core::options::count("buffers", core::options::at(&Parameters::buffers),
                                                "panel buffers, 1 to 3", {.least = 1, .most = 3}),
                           core::options::count("block", core::options::at(&Parameters::block),
                                                "block-cyclic block; 0: one block per process",
                                                {.unit = "elements"})},
               .variants = measure::names_of(rows())},
    .summary =
        "B = A^T on a process grid, exchanged in overlapped steps, or in the memory of peers",
    .work = "m n s bytes",
    .local = false,
    .variants = rows(),
    .make = measure::make<Ptrans>,
    .secondary = {{"exchanged", "B/s",
                   "bytes that leave their rank, over the time of a repetition."}},
    .cost_model = &kCost,
};

}  // namespace entries

}  // namespace quadrille::workloads
