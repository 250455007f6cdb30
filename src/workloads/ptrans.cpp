// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose.hpp"
#include "workloads/scalapack.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <optional>

namespace quadrille::workloads {

namespace {

namespace transpose = kernels::transpose;
using measure::Leg;

struct Parameters {
  std::int64_t panel = 256;  ///< width of a step in rows of A
  std::int64_t buffers = 2;  ///< steps under way
  std::int64_t block = 0;    ///< block-cyclic block; 0: one block per process
  bool operator==(Parameters const&) const = default;
};

constexpr kernels::VariantInfo kScalapack{.name = "scalapack",
                                          .role = kernels::Role::peer,
                                          .where = kernels::Where::host,
                                          .types = {core::DataType::f64, core::DataType::f32},
                                          .source = "ScaLAPACK",
                                          .summary = "p?tran on the same ranks",
                                          .caveat = "in blocks of 128, not tuned for the size"};

/// Global indices that one process holds as rows of A and another as columns of B, as runs that
/// are contiguous in both.
struct Run {
  std::int64_t a = 0;  ///< local index in A
  std::int64_t b = 0;  ///< local index in B
  std::int64_t count = 0;
};

std::vector<Run> common_runs(comm::Distribution const& in_a, int part_a,
                             comm::Distribution const& in_b, int part_b) {
  std::vector<Run> runs;
  for (std::int64_t local = 0; local < in_a.count(part_a);) {
    std::int64_t const global = in_a.global(part_a, local);
    std::int64_t const count = std::min(in_a.block_end(global), in_b.block_end(global)) - global;
    if (in_b.owner(global) == part_b) runs.push_back({local, in_b.local(global), count});
    local += count;
  }
  return runs;
}

std::int64_t length(std::vector<Run> const& runs) {
  std::int64_t sum = 0;
  for (Run const& run : runs) sum += run.count;
  return sum;
}

/// The part [first, first + count) of the concatenated runs.
std::vector<Run> cut(std::vector<Run> const& runs, core::Range part) {
  std::vector<Run> result;
  std::int64_t at = 0;
  for (Run const& run : runs) {
    std::int64_t const begin = std::max(part.first, at);
    std::int64_t const end = std::min(part.first + part.count, at + run.count);
    if (begin < end) result.push_back({run.a + begin - at, run.b + begin - at, end - begin});
    at += run.count;
  }
  return result;
}

/// B = A^T on a P x Q grid, A and B in the same distribution. For every pair of ranks the common
/// part is cut into as many steps as there are panels: step t is packed (a local transpose of each
/// destination's piece), exchanged by all ranks at once, and unpacked, with the exchange of step
/// t under the packing of t + 1 and the unpacking of t - 1.
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
    d.device_bytes = 4 * bytes;
    // A rank keeps what lies on the diagonal of the grid: about 1 / (P Q) of all.
    d.network_bytes = bytes * (ranks_ - 1) / ranks_;
    d.extras = {{"exchanged", d.network_bytes, "B/s"}};
    double const local = std::ceil(static_cast<double>(m_) / shape_.rows) *
                         std::ceil(static_cast<double>(n_) / shape_.cols) *
                         static_cast<double>(size_of());
    double const steps = static_cast<double>(std::max<std::size_t>(1, steps_));
    d.memory_bytes = 2 * local * (has_peer(selected) ? 2 : 1) +
                     2 * local * static_cast<double>(p_.buffers) / steps + 4096.0 * ranks_;
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    if (&variant == &kScalapack) return scalapack_unsupported({m_, n_});
    auto const& row = row_of<transpose::Problem>(variant);
    std::vector<Pair> to;
    for (int r = 0; r < ranks_; ++r) to.push_back(pair(rank_, r));
    device::MatrixView const a = unallocated(a_layout_, case_.type);
    device::MatrixView const b = unallocated(b_layout_, case_.type);
    std::string reason;
    for (std::size_t t = 0; t < steps_ && reason.empty(); ++t) {
      for_pieces(t, to, a, b, static_cast<std::byte*>(a.data),
                 [&](auto const& from, auto const& into) {
                   if (!reason.empty()) return;
                   reason = row.unsupported_reason({from, into});
                   if (!reason.empty())
                     reason += fmt::format(" in a piece of {} x {}", from.rows, from.cols);
                 });
    }
    return reason;
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (!channel_) allocate(world, selected);
    source_ = {case_.data, seed, 0};
    fill(a_.view(), a_layout_, source_, world);
    if (peer_) fill(peer_a_.view(), peer_->layout(m_, n_), source_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    peer_ran_ = &variant == &kScalapack;
    world.stream().fill(b_.view().data, 0xFF, b_.bytes());
    if (peer_) world.stream().fill(peer_b_.view().data, 0xFF, peer_b_.bytes());
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    if (peer_ran_) {
      world.stream().run([this] { peer_->transpose(m_, n_, peer_a_.view(), peer_b_.view()); });
      return;
    }
    device::StreamView const compute = world.stream();
    device::StreamView const communicate = world.comm_stream();
    auto const& transposes = row_of<transpose::Problem>(variant);
    for (std::size_t t = 0; t < steps_; ++t) {
      Slot& slot = slots_[t % slots_.size()];
      if (leg == Leg::serial && t > 0) wait_for(t - 1, compute);
      // Step t - buffers still sits in this slot: unpack it before packing over it.
      if (t >= slots_.size()) finish_step(t - slots_.size(), leg, compute);
      place(slot, t);
      if (leg != Leg::communicate) pack(t, transposes, compute);
      compute.record(slot.packed);
      if (leg == Leg::compute) continue;
      communicate.wait(slot.packed);
      slot.exchanged = channel_->alltoallv(slot.send, slot.receive, communicate);
    }
    if (leg == Leg::serial && steps_ > 0) wait_for(steps_ - 1, compute);
    std::size_t const waiting = std::min(steps_, slots_.size());
    for (std::size_t t = steps_ - waiting; t < steps_; ++t) finish_step(t, leg, compute);
  }

  measure::Verdict validate(comm::World& world) override {
    Layout const layout = peer_ran_ ? peer_->layout(n_, m_) : b_layout_;
    return agree(world, compare("B", outputs_of(*this)[0], region_of(layout, true), source_, world,
                                check_stride(case_)));
  }

  std::vector<measure::Field> fields() override {
    if (peer_ran_) {
      return {measure::input(field("A", peer_a_.view(), peer_->layout(m_, n_))),
              measure::output(field("B", peer_b_.view(), peer_->layout(n_, m_)))};
    }
    return {measure::input(field("A", a_.view(), a_layout_)),
            measure::output(field("B", b_.view(), b_layout_))};
  }

 private:
  /// What this rank and one other exchange: rows and columns of A as the sender has them, and the
  /// same seen by the receiver.
  struct Pair {
    std::vector<Run> rows;  ///< indices i: rows of A, columns of B
    std::vector<Run> cols;  ///< indices j: columns of A, rows of B
    std::int64_t row_count = 0, col_count = 0;
  };
  struct Slot {
    device::Buffer<std::byte> to_send, received;
    std::vector<comm::ConstPiece> send;
    std::vector<comm::Piece> receive;
    device::Event packed;
    comm::Request exchanged;
  };

  std::size_t size_of() const { return core::size_of(case_.type); }

  /// What `from` sends to `to`.
  Pair pair(int from, int to) const {
    Pair p;
    p.rows = common_runs(a_layout_.rows, from / shape_.cols, b_layout_.cols, to % shape_.cols);
    p.cols = common_runs(a_layout_.cols, from % shape_.cols, b_layout_.rows, to / shape_.cols);
    p.row_count = length(p.rows);
    p.col_count = length(p.cols);
    return p;
  }

  core::Range step(Pair const& p, std::size_t t) const {
    return core::split_evenly(p.row_count, static_cast<std::int64_t>(steps_),
                              static_cast<std::int64_t>(t));
  }

  /// The largest step comes first: sizes of split_evenly never grow.
  std::size_t step_bytes(Pair const& p) const {
    return static_cast<std::size_t>(step(p, 0).count * p.col_count) * size_of();
  }

  static bool has_peer(measure::Selection const& selected) {
    return std::ranges::find(selected, &kScalapack) != selected.end();
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    comm::Grid const grid{world.group(), shape_};
    a_ = {world.device(), case_.type, a_layout_.local_rows(), a_layout_.local_cols(),
          world.stream()};
    b_ = {world.device(), case_.type, b_layout_.local_rows(), b_layout_.local_cols(),
          world.stream()};
    std::size_t send_bytes = 0, receive_bytes = 0;
    for (int r = 0; r < ranks_; ++r) {
      to_.push_back(pair(rank_, r));
      from_.push_back(pair(r, rank_));
      if (r == rank_ || steps_ == 0) continue;
      send_bytes += step_bytes(to_.back());
      receive_bytes += step_bytes(from_.back());
    }
    for (std::int64_t s = 0; s < p_.buffers; ++s) {
      Slot& slot = slots_.emplace_back();
      slot.to_send = {world.device(), static_cast<std::int64_t>(send_bytes), world.stream()};
      slot.received = {world.device(), static_cast<std::int64_t>(receive_bytes), world.stream()};
      slot.packed = device::Event{world.device()};
    }
    channel_ = world.transport(case_.transport, case_.throttle).connect(world.group());
    if (has_peer(selected)) {
      peer_.emplace(world, grid);
      auto const make = [&](Layout const& layout) {
        return device::Matrix{world.device(), case_.type, layout.local_rows(), layout.local_cols(),
                              world.stream()};
      };
      peer_a_ = make(peer_->layout(m_, n_));
      peer_b_ = make(peer_->layout(n_, m_));
    }
  }

  /// Where the piece of each rank lies in a slot, in rank order; nothing for this rank itself.
  void place(Slot& slot, std::size_t t) {
    slot.send.assign(static_cast<std::size_t>(ranks_), {});
    slot.receive.assign(static_cast<std::size_t>(ranks_), {});
    std::size_t out = 0, in = 0;
    for (int r = 0; r < ranks_; ++r) {
      auto const i = static_cast<std::size_t>(r);
      if (r == rank_) continue;
      slot.send[i] = {
          slot.to_send.data() + out,
          static_cast<std::size_t>(step(to_[i], t).count * to_[i].col_count) * size_of()};
      slot.receive[i] = {
          slot.received.data() + in,
          static_cast<std::size_t>(step(from_[i], t).count * from_[i].col_count) * size_of()};
      out += slot.send[i].bytes;
      in += slot.receive[i].bytes;
    }
  }

  /// Calls f(block of A, place of its transpose) for all that this rank transposes in step t: each
  /// destination's piece into its place in what is sent; this rank's own piece goes straight into B.
  template <class F>
  void for_pieces(std::size_t t, std::vector<Pair> const& to, device::MatrixView const& a,
                  device::MatrixView const& b, std::byte* sent, F const& f) const {
    for (int r = 0; r < ranks_; ++r) {
      Pair const& p = to[static_cast<std::size_t>(r)];
      core::Range const part = step(p, t);
      device::MatrixView const piece{sent, case_.type, p.col_count, part.count, part.count};
      std::int64_t i = 0;
      for (Run const& rows : cut(p.rows, part)) {
        std::int64_t j = 0;
        for (Run const& cols : p.cols) {
          f(a.block(rows.a, cols.a, rows.count, cols.count),
            r == rank_ ? b.block(cols.b, rows.b, cols.count, rows.count)
                       : piece.block(j, i, cols.count, rows.count));
          j += cols.count;
        }
        i += rows.count;
      }
      if (r != rank_) sent += static_cast<std::size_t>(part.count * p.col_count) * size_of();
    }
  }

  void pack(std::size_t t, kernels::Variant<transpose::Problem> const& variant,
            device::StreamView stream) {
    for_pieces(t, to_, a_.view(), b_.view(), slots_[t % slots_.size()].to_send.data(),
               [&](auto const& from, auto const& into) {
                 variant.launch({from, into}, stream);
               });
  }

  /// Waits in the stream for the exchange of step t.
  void wait_for(std::size_t t, device::StreamView stream) const {
    slots_[t % slots_.size()].exchanged.wait_on(stream);
  }

  /// Waits in the stream for the exchange of step t and copies what came into B.
  void finish_step(std::size_t t, Leg leg, device::StreamView stream) {
    Slot& slot = slots_[t % slots_.size()];
    if (leg != Leg::compute) wait_for(t, stream);
    if (leg == Leg::communicate) return;
    for (int r = 0; r < ranks_; ++r) {
      if (r == rank_) continue;
      auto const index = static_cast<std::size_t>(r);
      Pair const& p = from_[index];
      core::Range const part = step(p, t);
      device::MatrixView const piece{slot.receive[index].data, case_.type, p.col_count, part.count,
                                     part.count};
      std::int64_t i = 0;
      for (Run const& rows : cut(p.rows, part)) {
        std::int64_t j = 0;
        for (Run const& cols : p.cols) {
          device::MatrixView const from = piece.block(j, i, cols.count, rows.count);
          device::MatrixView const to = b_.view().block(cols.b, rows.b, cols.count, rows.count);
          stream.copy_2d(to.data, static_cast<std::size_t>(to.ld) * size_of(), from.data,
                         static_cast<std::size_t>(from.ld) * size_of(),
                         static_cast<std::size_t>(to.cols) * size_of(),
                         static_cast<std::size_t>(to.rows));
          j += cols.count;
        }
        i += rows.count;
      }
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
  bool peer_ran_ = false;
  device::Matrix a_, b_, peer_a_, peer_b_;
  std::vector<Pair> to_, from_;  // by rank
  std::vector<Slot> slots_;
  std::unique_ptr<comm::Channel> channel_;
  std::optional<Scalapack> peer_;
};

measure::Selection rows() {
  // The library's local transpose is a local technique; the peer of the whole operation is p?tran.
  measure::Selection all = rows_of(transpose::variants());
  if (has_scalapack()) all.push_back(&kScalapack);
  return all;
}

}  // namespace

namespace entries {

extern measure::WorkloadEntry const ptrans{
    .schema = {.name = "ptrans",
               .extents = {"m", "n"},
               .keys = {.transport = true, .grid = true, .legs = true},
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
    .summary = "B = A^T on a process grid, packed, exchanged and unpacked in overlapped steps",
    .work = "m n s bytes",
    .local = false,
    .variants = rows(),
    .make = measure::make<Ptrans>,
};

}  // namespace entries

}  // namespace quadrille::workloads
