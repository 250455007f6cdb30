// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/peers/peer.hpp"
#include "workloads/ptrans/one_sided.hpp"
#include "workloads/ptrans/step_exchange.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>

namespace quadrille::workloads {

namespace ptrans {

namespace {

namespace transpose = kernels::transpose;
using measure::Leg;

bool is_peer(kernels::VariantInfo const& variant) { return variant.role == kernels::Role::peer; }
/// Where it is one-sided.
std::optional<Direction> direction_of(kernels::VariantInfo const& variant) {
  auto const* const row = find_row(one_sided_rows(), variant);
  return row == nullptr ? std::nullopt : std::optional{row->direction};
}

/// Which ways of transposing are among the variants.
struct Ways {
  bool exchanges = false, gets = false, puts = false, peer = false;

  explicit Ways(measure::Selection const& selected) {
    for (kernels::VariantInfo const* variant : selected) {
      auto const direction = direction_of(*variant);
      gets |= direction == Direction::get;
      puts |= direction == Direction::put;
      peer |= is_peer(*variant);
      exchanges |= !direction && !is_peer(*variant);
    }
  }
  // Whether they have A, or B, in memory that is not shared. Exchanges have both: on hosts it has larger
  // pages.
  bool own_a() const { return exchanges || puts; }
  bool own_b() const { return exchanges || gets; }
};

/// The transpose by a peer, in the peer's layout.
struct PeerRun {
  PeerTranspose::Layout layout;
  device::Matrix a, b;
  std::unique_ptr<PeerCall> call;  // behind what it works on
};

/// B = A^T on a P x Q grid, A and B in the same distribution: exchanged step by step, or in the memory of
/// peers.
class Ptrans final : public measure::Workload {
 public:
  Ptrans(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        division_{spec, ranks, rank},
        exchange_{division_, p_.buffers} {}

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    int const ranks = division_.ranks;
    auto const m = static_cast<double>(division_.m), n = static_cast<double>(division_.n),
               s = static_cast<double>(division_.size());
    d.traits = {.communicates = true, .has_legs = true, .bar = kernels::Role::peer};
    d.amount = m * n * s;
    d.unit = "B/s";
    // A rank keeps what lies on the diagonal of the grid: about 1 / (P Q) of all.
    d.network_bytes = d.amount * (ranks - 1) / ranks;
    // All is transposed, and what travels is read and written once more.
    d.device_bytes = 2 * (d.amount + d.network_bytes);
    d.extras = {{"exchanged", d.network_bytes, "B/s"}};
    double const local =
        std::ceil(m / division_.grid.rows) * std::ceil(n / division_.grid.cols) * s;
    d.traffic = {comm::Operation::alltoall,
                 local / static_cast<double>(std::max<std::size_t>(1, division_.steps))};
    Ways const ways{selected};
    int const copies = ways.own_a() + ways.own_b() + ways.gets + ways.puts + 2 * ways.peer +
                       (case_.legs && ways.gets);
    // No variant does with less than A and B.
    d.memory_bytes = local * std::max(2, copies) + 4096.0 * ranks;
    if (ways.exchanges) d.memory_bytes += exchange_.memory_bytes(local);
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const&) const override {
    if (auto const* peer = find_row(peers<PeerTranspose>(), variant)) {
      return peer->unsupported_reason(peer_layout(*peer), case_.type);
    }
    if (direction_of(variant)) return {};
    std::string const reason = steps_problem(division_.m, p_.panel, "panel");
    return reason.empty() ? exchange_.unsupported_reason(row_of(transpose::variants(), variant))
                          : reason;
  }

  std::string unavailable_reason(kernels::VariantInfo const& variant,
                                 comm::Machine const& machine) const override {
    if (auto const* peer = find_row(peers<PeerTranspose>(), variant)) {
      return peer->unavailable_reason(&machine);
    }
    return direction_of(variant) ? OneSided::unavailable_reason(case_, machine) : "";
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (!channel_) allocate(world, selected);
    source_ = {case_.data, seed, 0};
    if (a_.data != nullptr) fill(a_, division_.a, source_, world);
    if (get_) fill(get_->shared(), division_.a, source_, world);
    if (peer_.call) fill(peer_.a.view(), peer_.layout.a, source_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    device::StreamView const stream = world.stream();
    peer_ran_ = is_peer(variant);
    ran_ = direction_of(variant);
    if (b_of_last().data != nullptr) {
      stream.fill(b_of_last().data, 0xFF, division_.bytes_of(b_.rows * b_.cols));
    }
    if (peer_.call) stream.fill(peer_.b.view().data, 0xFF, peer_.b.bytes());
    exchange_.reset(stream);
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    if (peer_ran_) return peer_.call->run();
    if (ran_) return (ran_ == Direction::get ? get_ : put_)->run(world, leg);
    exchange_.run(world, leg, row_of(transpose::variants(), variant));
  }

  measure::Verdict validate(comm::World& world) override {
    Layout const& layout = peer_ran_ ? peer_.layout.b : division_.b;
    return agree(world, compare("B", outputs_of(*this)[0], region_of(layout, true), source_, world,
                                check_stride(case_)));
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    return is_peer(variant) ? peer_.call->implementation() : "";
  }

  std::vector<measure::Field> fields() override {
    if (peer_ran_) {
      return {measure::input(field("A", peer_.a.view(), peer_.layout.a)),
              measure::output(field("B", peer_.b.view(), peer_.layout.b))};
    }
    device::MatrixView const& a = ran_ == Direction::get ? get_->shared() : a_;
    return {measure::input(field("A", a, division_.a)),
            measure::output(field("B", b_of_last(), division_.b))};
  }

 private:
  void allocate(comm::World& world, measure::Selection const& selected) {
    channel_ = world.transport(case_).connect(world.group());
    a_ = unallocated(division_.a, case_.type);
    b_ = unallocated(division_.b, case_.type);
    a_.data = b_.data = nullptr;
    Ways const ways{selected};
    if (ways.own_a()) own_a_ = allocate_matrix(a_, world);
    if (ways.own_b()) own_b_ = allocate_matrix(b_, world);
    auto const share = [&](std::unique_ptr<OneSided>& made, Direction direction,
                           device::MatrixView const& own) {
      made = std::make_unique<OneSided>(world, *channel_, division_, direction, own, case_.legs);
    };
    if (ways.gets) share(get_, Direction::get, b_);
    if (ways.puts) share(put_, Direction::put, a_);
    if (ways.exchanges) exchange_.allocate(world, *channel_, a_, b_);
    for (kernels::VariantInfo const* variant : selected) {
      if (is_peer(*variant)) plan(row_of(peers<PeerTranspose>(), *variant), world);
    }
  }

  PeerTranspose::Layout peer_layout(Peer<PeerTranspose> const& peer) const {
    return peer.layout(division_.grid, division_.rank, p_.block,
                       std::array{division_.m, division_.n});
  }
  void plan(Peer<PeerTranspose> const& peer, comm::World& world) {
    peer_.layout = peer_layout(peer);
    auto const make = [&](Layout const& layout) {
      return device::Matrix{world.device(), case_.type, layout.local_rows(), layout.local_cols(),
                            world.stream()};
    };
    peer_.a = make(peer_.layout.a);
    peer_.b = make(peer_.layout.b);
    peer_.call = peer.plan(world, division_.grid, {peer_.layout, peer_.a.view(), peer_.b.view()});
  }

  /// That the variant writes which reset() was called for.
  device::MatrixView const& b_of_last() const {
    return ran_ == Direction::put ? put_->shared() : b_;
  }

  core::Case case_;
  Parameters p_;
  Division division_;
  Source source_;
  bool peer_ran_ = false;
  std::optional<Direction> ran_;  ///< what reset() was called for, where it is one-sided
  device::MatrixView a_, b_;      // without memory where none needs them
  device::Matrix own_a_, own_b_;
  std::unique_ptr<comm::Channel> channel_;
  StepExchange exchange_;
  std::unique_ptr<OneSided> get_, put_;
  PeerRun peer_;
};

measure::Selection rows() {
  // The library's local transpose is a local technique; the peer of the whole operation is p?tran.
  measure::Selection all = rows_of(transpose::variants());
  std::ranges::copy(rows_of(one_sided_rows()), std::back_inserter(all));
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

}  // namespace ptrans

namespace entries {

extern measure::WorkloadEntry const ptrans = measure::entry({
    .schema = {.name = "ptrans",
               .extents = {"m", "n"},
               .keys = {.transport = true, .grid = true, .legs = true, .weak = true},
               .defaults = core::Parameters{ptrans::Parameters{}},
               .options = {core::options::method(core::options::count(
                               "panel", core::options::at(&ptrans::Parameters::panel),
                               "width of a panel", {.least = 1, .unit = "elements"})),
                           core::options::method(core::options::count(
                               "buffers", core::options::at(&ptrans::Parameters::buffers),
                               "panel buffers, 1 to 3", {.least = 1, .most = 3})),
                           core::options::count("block",
                                                core::options::at(&ptrans::Parameters::block),
                                                "block-cyclic block; 0: one block per process",
                                                {.unit = "elements"})}},
    .summary =
        "B = A^T on a process grid, exchanged in overlapped steps, or in the memory of peers",
    .work = "m n s bytes",
    .local = false,
    .variants = ptrans::rows(),
    .make = measure::make<ptrans::Ptrans>,
    .secondary = {{"exchanged", "B/s",
                   "bytes that leave their rank, over the time of a repetition."}},
    .cost_model = &ptrans::kCost,
});

}  // namespace entries

}  // namespace quadrille::workloads
