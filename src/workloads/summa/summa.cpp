// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/trace.hpp"
#include "measure/quick_time.hpp"
#include "workloads/checks/limits.hpp"
#include "workloads/peers/peer.hpp"
#include "workloads/secondary.hpp"
#include "workloads/summa/layers.hpp"
#include "workloads/summa/local_products.hpp"
#include "workloads/summa/operand_schedule.hpp"
#include "workloads/summa/operands.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace quadrille::workloads {

namespace entries {
extern measure::WorkloadEntry const gemm;
}

namespace summa {

namespace {

namespace gemm = kernels::gemm;
using measure::Leg;

bool is_local(kernels::VariantInfo const& variant) {
  return variant.role == kernels::Role::ceiling;
}
bool is_peer(kernels::VariantInfo const& variant) { return variant.role == kernels::Role::peer; }
bool is_pipeline(kernels::VariantInfo const& variant) {
  return !is_peer(variant) && !is_local(variant);
}

/// The product by a peer, in the peer's layout.
struct PeerRun {
  Peer<PeerProduct> const* row = nullptr;
  ProductLayout layout;
  Operands operands;
  std::unique_ptr<PeerCall> call;  // behind what it works on
};

/// C = alpha A B + beta C on a P x Q grid. C stays; parts of A and B come by a schedule, and are
/// multiplied into C under the way of the next. With layers there are P x Q x c processes: each layer
/// multiplies every c-th block of k.
class Summa final : public measure::Workload {
 public:
  Summa(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        division_{spec, ranks, rank},
        // A peer has no layers, whatever the ranks'.
        peer_grid_{division_.layers == 1 ? division_.grid : comm::near_square(ranks)},
        c_{unallocated(division_.sums, spec.type)},
        local_{division_, p_, spec.compute} {
    bool const shifts = p_.schedule == Schedule::cannon;
    schedule_ = shifts ? make_cannon(division_) : make_broadcast(spec, division_);
    is_chosen_ = !shifts && p_.panel == kAuto;
    if (division_.layers > 1) layers_.emplace(division_);
  }

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    auto const m = static_cast<double>(division_.m), n = static_cast<double>(division_.n),
               k = static_cast<double>(division_.k);
    auto const s = static_cast<double>(core::size_of(case_.type));
    core::GridShape const& grid = division_.grid;
    int const layers = division_.layers;
    // With beta the product is added to what the last one left.
    d.traits = {.communicates = true,
                .has_legs = true,
                .repeatable = p_.beta == 0,
                .state_depends_on_count = is_chosen_,
                .searches_best = true,
                .bar = kernels::Role::peer,
                .has_local_ceiling = true};
    d.amount = gemm::flop(m, n, k);
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.device_bytes = gemm::compulsory_bytes(m, n, k, p_.beta, s, s);
    // Every element of A must reach the Q - 1 other columns of the grid, of B the P - 1 other rows,
    // and of C what the other layers have must reach one of them.
    d.network_bytes =
        s * (m * k * (grid.cols - 1) + k * n * (grid.rows - 1) + m * n * (layers - 1));
    d.extras = {{"received", d.network_bytes, "B/s"}};
    double const rows = division_.max_rows(), cols = division_.max_cols();
    // Of layers of one rank each what is added up.
    d.traffic = grid.rows * grid.cols == 1
                    ? comm::Traffic{comm::Operation::reduce_scatter, s * rows * cols}
                    : schedule_->traffic();
    double const own =
        (rows * std::ceil(k / grid.cols) + std::ceil(k / grid.rows) * cols + rows * cols) / layers;
    double const local = measure::any_of(selected, is_local) ? k * (rows / layers + cols) : 0;
    d.memory_bytes = s * (own * (measure::any_of(selected, is_peer) ? 2 : 1) + local +
                          (p_.beta == 0 ? 0 : 2 * rows * cols / layers)) +
                     schedule_->memory_bytes() + (layers_ ? layers_->memory_bytes() : 0);
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    core::Compute const compute = core::accuracy_of(case_.type, case_.compute);
    std::string reason = scalars_problem(p_.alpha, p_.beta, compute);
    if (!reason.empty()) return reason;
    if (auto const* peer = find_row(peers<PeerProduct>(), variant)) {
      return peer->unsupported_reason(peer_layout(*peer), {case_.type, compute});
    }
    if (is_local(variant)) return local_unsupported(variant, device);
    if (core::epsilon_of(case_.type) == 0 && !gemm::are_whole(p_.alpha, p_.beta)) {
      return "rounds the product of each panel to an integer; take whole alpha and beta";
    }
    if (layers_) reason = LayerSums::unsupported_reason(case_.type);
    if (reason.empty()) reason = schedule_->unsupported_reason();
    if (!reason.empty()) return reason;
    auto const& row = row_of(gemm::variants(), variant);
    reason = row.unsupported_reason(problem());
    if (reason.empty()) reason = sms_unsupported(row, p_.sms, device.facts());
    if (!reason.empty()) return reason;
    for (gemm::Problem const& product : kinds_of_products(schedule_->width())) {
      reason = row.unsupported_reason(product);
      if (!reason.empty()) return fmt::format("{} in a product of k = {}", reason, product.a.cols);
    }
    return {};
  }

  std::string unavailable_reason(kernels::VariantInfo const& variant,
                                 comm::Machine const& machine) const override {
    auto const* const peer = find_row(peers<PeerProduct>(), variant);
    return peer == nullptr ? "" : peer->unavailable_reason(&machine);
  }

  /// The product of the widest panels.
  std::optional<measure::StandIn> stand_in() const override {
    std::int64_t const parts = std::max(division_.grid.rows, division_.grid.cols);
    std::int64_t const part = (division_.k + parts - 1) / parts, width = schedule_->width();
    core::Case product;
    product.workload = &entries::gemm.schema;
    product.type = case_.type;
    product.compute = case_.compute;
    product.size.count = 3;
    product.size.value = {static_cast<std::int64_t>(division_.max_rows()),
                          static_cast<std::int64_t>(division_.max_cols()),
                          width == 0 ? part : std::min(width, part)};
    product.data = case_.data;
    product.seed = case_.seed;
    product.parameters = entries::gemm.schema.defaults;
    return measure::StandIn{&entries::gemm, product};
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    std::size_t most = 0;
    if (!measure::any_of(selected, is_pipeline)) return 0;
    for (std::int64_t const width : schedule_->widths()) {
      for (gemm::Problem const& product : kinds_of_products(width)) {
        most = std::max(most, max_scratch(gemm::variants(), product, selected, device));
      }
    }
    return static_cast<double>(most);
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    if (!prepared_) allocate(world, selected);
    prepared_ = true;
    product_ = {.m = division_.m,
                .n = division_.n,
                .k = division_.k,
                .type = case_.type,
                .out = case_.type,
                .compute = core::accuracy_of(case_.type, case_.compute),
                .alpha = p_.alpha,
                .beta = p_.beta,
                .a = {case_.data, seed, 0},
                .b = {case_.data, seed, 1},
                .c0 = {case_.data, seed, 2}};
    schedule_->await_readers(world.stream());
    own_.fill(product_, division_.layout, world);
    auto const pipeline = std::ranges::find_if(
        selected, [](kernels::VariantInfo const* variant) { return is_pipeline(*variant); });
    if (pipeline != selected.end() && chosen_.empty()) {
      chosen_ = schedule_->choose(
          {.takes = [&](std::int64_t width) { return takes(world, **pipeline, width); },
           .seconds = [&] { return seconds_of_run(world, **pipeline); }});
    }
    int const layers = division_.layers;
    product_.parts = std::max<std::int64_t>(1, schedule_->parts()) * layers + layers - 1;
    if (peer_.call) peer_.operands.fill(product_, peer_.layout, world);
    local_.fill(product_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    ran_ = variant.role;
    own_.reset(p_.beta, world.stream());
    schedule_->reset(world.stream());
    if (layers_) layers_->reset(p_.beta, own_.c.view(), world.stream());
    if (peer_.call) peer_.operands.reset(p_.beta, world.stream());
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    if (is_peer(variant)) return peer_.call->run();
    if (is_local(variant)) return local_.launch(world.stream());
    auto const& row = row_of(gemm::variants(), variant);
    // Begins when the run before it has ended: its first panels would overwrite buffers that are
    // still multiplied, and in a batch one run would hide what the next one waits for.
    schedule_->await_readers(world.stream());
    world.stream().record(begun_);
    world.comm_stream().wait(begun_);
    bool has_product = false;
    schedule_->run(world, leg, [&](auto const& a, auto const& b, bool is_first) {
      device::TraceScope const traced{world.stream(), device::TraceKind::kernel, row.name};
      row.launch(problem(a, b, is_first), world.stream());
      has_product = true;
    });
    if (!has_product && leg != Leg::communicate) row.launch(problem(), world.stream());
    if (layers_ && leg != Leg::compute) layers_->add_up(world, own_.c.view());
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    if (is_peer(variant)) return peer_.call->implementation();
    return is_local(variant) ? "" : chosen_;
  }

  measure::Verdict validate(comm::World& world) override {
    Product product = product_;
    if (ran_ != kernels::Role::peer) {
      return check_product(product, division_.layout, own_.c.view(), world, case_.check);
    }
    std::int64_t const block = peer_.layout.a.cols.block();
    if (peer_.row->rounds_blocks) product.parts = (product.k + block - 1) / block;
    return check_product(product, peer_.layout, peer_.operands.c.view(), world, case_.check);
  }

  std::vector<measure::Field> fields() override {
    bool const is_peers = ran_ == kernels::Role::peer;
    ProductLayout const& layout = is_peers ? peer_.layout : division_.layout;
    Operands const& operands = is_peers ? peer_.operands : own_;
    bool const is_whole = ran_ == kernels::Role::ceiling;
    return {
        is_whole ? measure::input(local_.a()) : measure::input(field("A", operands.a, layout.a)),
        is_whole ? measure::input(local_.b()) : measure::input(field("B", operands.b, layout.b)),
        measure::output(field("C", operands.c.view(), layout.c))};
  }

 private:
  /// What this rank multiplies by panels of this width: one of those that differ in place alone.
  std::vector<gemm::Problem> const& kinds_of_products(std::int64_t width) const {
    auto const [place, is_new] = products_.try_emplace(width);
    if (!is_new) return place->second;
    std::set<std::tuple<std::int64_t, bool, std::uintptr_t, std::uintptr_t>> seen;
    schedule_->for_products(width, [&](auto const& a, auto const& b, bool is_first) {
      auto const alignment = [](device::MatrixView const& view) {
        return reinterpret_cast<std::uintptr_t>(view.data) % 256;
      };
      gemm::Problem const product = problem(a, b, is_first);
      bool const is_new_kind =
          seen.emplace(a.cols, product.beta == p_.beta, alignment(a), alignment(b)).second;
      if (is_new_kind) place->second.push_back(product);
    });
    return place->second;
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    grid_ = comm::Grid{world.group().split(division_.layer, world.rank()), division_.grid};
    comm::Transport& transport =
        world.transport(case_.transport, case_.throttle,
                        ctas_beside_products(case_.nccl_ctas, p_.sms, world.device().facts()));
    if (grid_.cols() > 1) row_channel_ = transport.connect(grid_.row_group());
    if (grid_.rows() > 1) col_channel_ = transport.connect(grid_.col_group());
    schedule_->connect(world, {row_channel_.get(), col_channel_.get()});
    comm::Window const* const a_window = schedule_->a_window();
    comm::Window const* const b_window = schedule_->b_window();
    bool const has_messages =
        (row_channel_ || col_channel_) && a_window == nullptr && b_window == nullptr;
    // Who bounds the products' multiprocessors has left some for messages.
    yields_ = has_messages && p_.sms == 0 &&
              world.transport_entry(case_.transport, case_.throttle).uses_kernels;
    own_.allocate(division_.layout, case_.type, p_.beta, world, a_window, b_window);
    if (layers_) layers_->allocate(world, transport);
    c_ = layers_ ? layers_->view() : own_.c.view();
    begun_ = device::Event{world.device()};
    scratch_ = allocate_scratch(
        static_cast<std::size_t>(scratch_bytes(selected, world.device().facts())), world);
    if (measure::any_of(selected, is_pipeline)) schedule_->allocate(world, own_.a, own_.b);
    for (kernels::VariantInfo const* variant : selected) {
      if (is_peer(*variant)) plan(row_of(peers<PeerProduct>(), *variant), world);
    }
    if (measure::any_of(selected, is_local)) local_.allocate(world, own_.c.view());
  }

  ProductLayout peer_layout(Peer<PeerProduct> const& peer) const {
    return peer.layout(peer_grid_, division_.rank, p_.block,
                       std::array{division_.m, division_.n, division_.k});
  }
  /// On all ranks, whatever their layers.
  void plan(Peer<PeerProduct> const& peer, comm::World& world) {
    peer_.row = &peer;
    peer_.layout = peer_layout(peer);
    peer_.operands.allocate(peer_.layout, case_.type, p_.beta, world);
    peer_.call = peer.plan(world, peer_grid_,
                           {peer_.layout, case_.compute, p_.alpha, p_.beta, peer_.operands.a,
                            peer_.operands.b, peer_.operands.c.view()});
  }

  std::string local_unsupported(kernels::VariantInfo const& variant,
                                device::Device const& device) const {
    std::string reason = local_.unsupported_reason(device);
    if (!reason.empty()) return reason;
    double const bytes = describe({&variant}).memory_bytes;
    if (bytes <= static_cast<double>(device.free_memory())) return "";
    return fmt::format("needs {} on a rank for all operands at hand", core::format_bytes(bytes));
  }

  /// What a rank computes of no panel, where k is 0.
  gemm::Problem problem() const {
    gemm::Problem p;
    std::int64_t const rows = division_.layout.a.local_rows();
    std::int64_t const cols = division_.layout.b.local_cols();
    p.a = {nullptr, case_.type, rows, 0, 0};
    p.b = {nullptr, case_.type, 0, cols, cols};
    p.c = c_;
    p.alpha = p_.alpha;
    p.beta = p_.beta;
    p.compute = case_.compute;
    p.multiprocessors = static_cast<int>(p_.sms);
    p.yields = yields_;
    p.scratch = scratch_.data();
    p.scratch_bytes = scratch_.bytes();
    return p;
  }
  gemm::Problem problem(device::MatrixView const& a, device::MatrixView const& b,
                        bool is_first) const {
    gemm::Problem p = problem();
    p.a = a;
    p.b = b;
    if (!is_first) p.beta = 1;
    return p;
  }
  /// Whether all ranks have products by panels of this width that the variant takes.
  bool takes(comm::World& world, kernels::VariantInfo const& variant, std::int64_t width) const {
    auto const& row = row_of(gemm::variants(), variant);
    bool const refuses = std::ranges::any_of(kinds_of_products(width), [&](auto const& product) {
      return !row.unsupported_reason(product).empty();
    });
    return world.group().agree(refuses) < 0;
  }
  /// Of the slowest rank; of short runs the fastest of a few.
  double seconds_of_run(comm::World& world, kernels::VariantInfo const& variant) {
    constexpr double kShortSeconds = 0.05;
    measure::QuickClock clock{world};
    auto const once = [&] {
      return clock.plainly([&] { run(world, Leg::overlapped, variant); }).seconds;
    };
    double seconds = once();
    if (seconds >= kShortSeconds && !has_run_) seconds = once();  // the first loads kernels
    has_run_ = true;
    if (seconds < kShortSeconds) seconds = std::min({seconds, once(), once()});
    return seconds;
  }

  core::Case case_;
  Parameters p_;
  Division division_;
  core::GridShape peer_grid_;
  device::MatrixView c_;  ///< of products; unallocated() before prepare()
  LocalProducts local_;
  bool is_chosen_ = false;  ///< by measured runs
  bool has_run_ = false;    ///< one of these
  std::string chosen_;      ///< what was, once it was
  bool prepared_ = false;
  bool yields_ = false;  ///< products, to messages that take multiprocessors
  mutable std::map<std::int64_t, std::vector<gemm::Problem>> products_;  ///< by width of a panel
  Product product_;
  kernels::Role ran_ = kernels::Role::own;  ///< what reset() was called for
  comm::Grid grid_;
  std::unique_ptr<comm::Channel> row_channel_, col_channel_;
  std::unique_ptr<OperandSchedule> schedule_;
  Operands own_;
  std::optional<LayerSums> layers_;
  device::Buffer<std::byte> scratch_;
  device::Event begun_;
  PeerRun peer_;
};

measure::Selection rows() {
  measure::Selection all = rows_of(gemm::variants());
  std::ranges::copy(rows_of(LocalProducts::rows()), std::back_inserter(all));
  std::ranges::copy(rows_of(peers<PeerProduct>()), std::back_inserter(all));
  return all;
}

/// A rank receives its rows of A from its row of the grid and its columns of B from its column, each
/// panel by a tree. Shifted (Cannon) they come in parts from neighbours, and those for the first product
/// from afar, with nothing to hide them. With layers each grid does its part of k, and what all have of
/// C is added up at the end, hidden by nothing either.
measure::RankWork work_of(core::Case const& spec, measure::RankLayout const& layout, double scale) {
  auto const& keys = spec.parameters.as<Parameters>();
  auto const layers = static_cast<double>(keys.layers), block = static_cast<double>(keys.block);
  auto const extent = [&](std::size_t i) { return static_cast<double>(spec.size[i]) * scale; };
  core::GridShape const grid = measure::grid_on(spec, layout.ranks / keys.layers);
  double const p = grid.rows, q = grid.cols;
  double const m = extent(0), n = extent(1), k = extent(2) / layers;
  double const rows = std::ceil(m / p), cols = std::ceil(n / q);
  double const here = layout.on_node(), rows_here = std::floor(here / q);
  auto const s = static_cast<double>(core::size_of(spec.type));
  double const a = s * rows * k * (q - 1) / q, b = s * k * cols * (p - 1) / p;
  measure::RankWork work{.amount = m * n * k * layers, .compute = rows * cols * k, .bytes = a + b};
  double away = a * measure::share_away(q, here) + b * measure::share_away(p, rows_here);
  double exposed = 0;
  if (keys.schedule == Schedule::cannon) {
    work.messages = p + q - 2;
    // On P x P most come for the first product from afar, all others from neighbours.
    double const first = p > 1 && q > 1 ? 1 / (p - 1) : 0;
    double const later =
        a * measure::neighbours_away(q, here) + b * measure::neighbours_away(p, rows_here);
    away = first * away + (1 - first) * later;
    exposed = first * (a + b);
  } else {
    double const part = std::ceil(k / std::max(p, q));
    double const whole = block > 0 ? std::min(block, part) : part;
    double const panel =
        keys.panel == kAuto ? whole : std::min(whole, static_cast<double>(keys.panel));
    work.messages = std::ceil(k / panel) * (measure::tree_depth(p) + measure::tree_depth(q));
  }
  if (keys.layers > 1) {
    // What all layers have is added up behind the last product, block by block.
    double const c = s * rows * cols * (layers - 1) / layers;
    work.messages +=
        measure::tree_depth(layers) * (block > 0 ? std::ceil(rows / (block * layers)) : 1);
    work.bytes += c;
    away += c * measure::share_away(layers, std::floor(here / (p * q)));
    exposed += c;
  }
  work.node_bytes = here * away;
  if (work.bytes > 0) work.exposed = exposed / work.bytes;
  return work;
}

std::string misfit_of(core::Case const& spec, measure::RankLayout const& layout) {
  auto const& keys = spec.parameters.as<Parameters>();
  if (layout.ranks % keys.layers != 0)
    return fmt::format("{} layers do not divide them", keys.layers);
  if (keys.schedule != Schedule::cannon) return {};
  return cannon_unsupported(measure::grid_on(spec, layout.ranks / keys.layers));
}

constexpr measure::CostModel kCost{work_of, true, 0.5, misfit_of};

}  // namespace

}  // namespace summa

namespace entries {

extern measure::WorkloadEntry const summa = measure::entry({
    .schema = {
        .name = "summa",
        .extents = {"m", "n", "k"},
        .keys = {.transport = true, .grid = true, .legs = true, .compute = true, .weak = true},
        .defaults = core::Parameters{summa::Parameters{}},
        .options = {core::options::method(core::options::choice(
                        "schedule", core::options::at(&summa::Parameters::schedule),
                        "panels by broadcast, or parts by shifts (cannon)")),
                    core::options::method(core::options::count(
                        "layers", core::options::at(&summa::Parameters::layers),
                        "grids that share k and add up C (2.5-D)", {.least = 1, .most = 1 << 16})),
                    core::options::method(core::options::count_or_auto(
                        "panel", core::options::at(&summa::Parameters::panel),
                        "width of a panel; auto: by measured runs", summa::kAuto,
                        {.least = 1, .unit = "elements"})),
                    core::options::method(core::options::count_or_auto(
                        "buffers", core::options::at(&summa::Parameters::buffers),
                        "panel buffers, 1 to 16; auto: 4", summa::kAuto, {.least = 1, .most = 16})),
                    core::options::count("block", core::options::at(&summa::Parameters::block),
                                         "block-cyclic block; 0: one block per process",
                                         {.unit = "elements"}),
                    core::options::method(core::options::choice(
                        "broadcast", core::options::at(&summa::Parameters::broadcast),
                        "how a broadcast travels")),
                    core::options::number("alpha", core::options::at(&summa::Parameters::alpha),
                                          "C = alpha A B + beta C"),
                    core::options::number("beta", core::options::at(&summa::Parameters::beta),
                                          "C = alpha A B + beta C"),
                    sms_option(core::options::at(&summa::Parameters::sms))},
        .conflict =
            [](core::Case const& spec) {
              return sms_conflict(spec.parameters.as<summa::Parameters>().sms);
            },
        .layers =
            [](core::Case const& spec) { return spec.parameters.as<summa::Parameters>().layers; }},
    .summary = "C = alpha A B + beta C on a process grid, panels broadcast under the product",
    .work = "2 m n k flop",
    .local = false,
    .variants = summa::rows(),
    .keeps_type = true,
    .make = measure::make<summa::Summa>,
    .secondary = {kReceived},
    .cost_model = &summa::kCost,
});

}  // namespace entries

}  // namespace quadrille::workloads
