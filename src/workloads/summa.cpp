// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/trace.hpp"
#include "gemm/gemm.hpp"
#include "measure/quick_time.hpp"
#include "workloads/cannon.hpp"
#include "workloads/checks/limits.hpp"
#include "workloads/checks/product.hpp"
#include "workloads/peers/peer.hpp"
#include "workloads/secondary.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace quadrille::workloads {

namespace {

namespace gemm = kernels::gemm;
using measure::Leg;

constexpr std::int64_t kAuto = 0;

/// How A and B come to those who multiply them.
enum class Schedule { broadcast, cannon };
constexpr auto enum_names(Schedule) {
  return core::EnumNames<Schedule, 2>{
      {{Schedule::broadcast, "broadcast"}, {Schedule::cannon, "cannon"}}};
}

struct Parameters {
  Schedule schedule = Schedule::broadcast;
  std::int64_t layers = 1;   ///< grids that share k
  std::int64_t panel = 256;  ///< width in elements of k; kAuto: by measured rates
  std::int64_t buffers = 2;  ///< for panels under way; kAuto likewise
  std::int64_t block = 0;    ///< block-cyclic block; 0: one block per process
  comm::Broadcast broadcast = comm::Broadcast::library;
  double alpha = 1;
  double beta = 0;
  std::int64_t sms = 0;
  bool operator==(Parameters const&) const = default;
};

constexpr kernels::VariantInfo kLocalProducts{
    .name = "local_products",
    .role = kernels::Role::ceiling,
    .where = kernels::Where::host,
    .types = {core::DataType::f64, core::DataType::f32},
    .source = "the vendor of the local product",
    .summary = "each rank's part of C by one product of the vendor, all operands at hand"};
constexpr kernels::VariantInfo kLocalProductsOnGpus = [] {
  kernels::VariantInfo info = kLocalProducts;
  info.where = kernels::Where::cuda;
  info.types = {core::DataType::f64, core::DataType::f32, core::DataType::f16,
                core::DataType::bf16};
  return info;
}();
bool is_local(kernels::VariantInfo const& variant) {
  return variant.role == kernels::Role::ceiling;
}
bool is_peer(kernels::VariantInfo const& variant) { return variant.role == kernels::Role::peer; }
bool is_pipeline(kernels::VariantInfo const& variant) {
  return !is_peer(variant) && !is_local(variant);
}

/// C = alpha A B + beta C on a P x Q grid. C stays; the owners of a panel of A broadcast it along
/// their rows, those of a panel of B along their columns, into a ring of buffers, while the compute
/// stream multiplies earlier ones into C. Owners take turns, so that all ranks wait equally long. What a
/// rank owns of both it multiplies ahead of its turn, as far as the ring lets the others' panels arrive
/// meanwhile, and neighbouring ones in one product. Events, not host waits, order the two streams.
/// Where a transport shares memory, ranks read panels from their owners', or hosts multiply them
/// there.
/// (R. van de Geijn, J. Watts: SUMMA, 1997.) Or parts of A and B are shifted, see Cannon. With layers
/// there are P x Q x c processes: each layer multiplies every c-th block of k, and what they have is
/// added up at the end, so that each keeps every c-th block of rows of C. (E. Solomonik, J. Demmel:
/// Communication-optimal parallel 2.5D matrix multiplication, 2011.)
class Summa final : public measure::Workload {
 public:
  Summa(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        m_{spec.size[0]},
        n_{spec.size[1]},
        k_{spec.size[2]} {
    layers_ = static_cast<int>(p_.layers);
    int const of_layer = std::max(1, ranks / layers_);
    shape_ = spec.grid.rows > 0 ? spec.grid : comm::near_square(of_layer);
    place_ = {.grid = shape_,
              .row = rank % of_layer / shape_.cols,
              .col = rank % of_layer % shape_.cols,
              .layers = layers_,
              .layer = rank / of_layer};
    lay_out();
    // A peer has no layers, whatever the ranks'.
    peer_shape_ = layers_ == 1 ? shape_ : comm::near_square(ranks);
    rank_ = rank;
    a_ = unallocated(layout_.a, spec.type);
    b_ = unallocated(layout_.b, spec.type);
    c_ = unallocated(sums_layout_, spec.type);
    local_.a = unallocated(rows_of_a(), spec.type);
    local_.b = unallocated(cols_of_b(), spec.type);
    local_.c = unallocated(layout_.c, spec.type);
    local_.alpha = p_.alpha;
    local_.beta = p_.beta;
    local_.compute = spec.compute;
    widths_ = {p_.panel};
    if (p_.schedule == Schedule::cannon) return;
    // The largest that a measurement may choose, until it has.
    is_chosen_ = p_.panel == kAuto || p_.buffers == kAuto;
    if (p_.buffers == kAuto) p_.buffers = kMaxChosen;
    if (p_.panel == kAuto) {
      widths_ = candidate_widths();
      p_.panel = widths_.back();
    }
    a_slots_.resize(static_cast<std::size_t>(p_.buffers));
    b_slots_.resize(a_slots_.size());
  }

  measure::Description describe(measure::Selection const& selected) const override {
    measure::Description d;
    auto const m = static_cast<double>(m_), n = static_cast<double>(n_),
               k = static_cast<double>(k_);
    auto const s = static_cast<double>(core::size_of(case_.type));
    // With beta the product is added to what the last one left.
    d.traits = {.communicates = true,
                .has_legs = true,
                .repeatable = p_.beta == 0,
                .state_depends_on_count = is_chosen_,
                .bar = kernels::Role::peer,
                .has_local_ceiling = true};
    d.amount = gemm::flop(m, n, k);
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.device_bytes = gemm::compulsory_bytes(m, n, k, p_.beta, s, s);
    // Every element of A must reach the Q - 1 other columns of the grid, of B the P - 1 other rows,
    // and of C what the other layers have must reach one of them.
    d.network_bytes =
        s * (m * k * (shape_.cols - 1) + k * n * (shape_.rows - 1) + m * n * (layers_ - 1));
    d.extras = {{"received", d.network_bytes, "B/s"}};
    d.traffic = traffic();
    double const rows = std::ceil(m / shape_.rows), cols = std::ceil(n / shape_.cols);
    double const own =
        (rows * std::ceil(k / shape_.cols) + std::ceil(k / shape_.rows) * cols + rows * cols) /
        layers_;
    double const panels = static_cast<double>(p_.panel) *
                          (static_cast<double>(p_.buffers) * (rows + cols) + kPacks * rows);
    double const local = measure::any_of(selected, is_local) ? k * (rows / layers_ + cols) : 0;
    d.memory_bytes =
        s * (own * (has_peer(selected) ? 2 : 1) + local +
             (p_.schedule == Schedule::cannon ? 0 : panels) + (layers_ == 1 ? 0 : rows * cols) +
             (p_.beta == 0 ? 0 : 2 * rows * cols / layers_));
    if (p_.schedule == Schedule::cannon) d.memory_bytes += cannon().memory_bytes();
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    std::string const scalars =
        scalars_problem(p_.alpha, p_.beta, core::compute_for(case_.type, case_.compute));
    if (!scalars.empty()) return scalars;
    if (auto const* peer = find_row(peers<PeerProduct>(), variant)) {
      return peer->unsupported_reason(peer_layout(*peer),
                                      {case_.type, core::compute_for(case_.type, case_.compute)});
    }
    if (is_local(variant)) return local_unsupported(device);
    if (core::epsilon_of(case_.type) == 0 && !gemm::are_whole(p_.alpha, p_.beta)) {
      return "rounds the product of each panel to an integer; take whole alpha and beta";
    }
    if (layers_ > 1 && !is_reducible()) {
      return fmt::format("layers are added up in f64, f32, i64 or i32, not in {}; take layers = 1",
                         core::to_text(case_.type));
    }
    if (p_.schedule == Schedule::cannon) {
      std::string const misfit = Cannon::unsupported_reason(shape_);
      if (!misfit.empty()) return misfit;
    }
    auto const& row = row_of(gemm::variants(), variant);
    std::string reason = too_many_steps(p_.panel);
    if (reason.empty()) reason = row.unsupported_reason(problem());
    if (reason.empty()) reason = sms_unsupported(row, p_.sms, device.facts());
    if (!reason.empty()) return reason;
    for (gemm::Problem const& product : kinds_of_products(p_.panel)) {
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

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    std::size_t most = 0;
    if (!measure::any_of(selected, is_pipeline)) return 0;
    for (std::int64_t const width : widths_) {
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
    product_ = {.m = m_,
                .n = n_,
                .k = k_,
                .type = case_.type,
                .out = case_.type,
                .compute = core::compute_for(case_.type, case_.compute),
                .parts = parts(),
                .alpha = p_.alpha,
                .beta = p_.beta,
                .a = {case_.data, seed, 0},
                .b = {case_.data, seed, 1},
                .c0 = {case_.data, seed, 2}};
    await_readers(world.stream());
    own_.fill(product_, layout_, world);
    if (is_chosen_ && chosen_.empty()) choose(world, selected);
    if (peer_) theirs_.fill(product_, peer_layout_, world);
    if (local_vendor_ == nullptr) return;
    workloads::fill(local_.a, rows_of_a(), product_.a, world);
    workloads::fill(local_.b, cols_of_b(), product_.b, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    peer_ran_ = is_peer(variant);
    local_ran_ = is_local(variant);
    own_.reset(p_.beta, world);
    if (cannon_) cannon_->reset(world.stream());
    for (Slot const& slot : a_slots_) forget_received(slot.panel, a_, world.stream());
    for (Slot const& slot : b_slots_) forget_received(slot.panel, b_, world.stream());
    if (layers_ > 1) reset_sums(world);
    if (peer_) theirs_.reset(p_.beta, world);
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    if (peer_ran_) return peer_->run();
    if (is_local(variant)) return local_vendor_->launch(local_, world.stream());
    // Begins when the run before it has ended: its first panels would overwrite buffers that are
    // still multiplied, and in a batch one run would hide what the next one waits for.
    await_readers(world.stream());
    world.stream().record(begun_);
    world.comm_stream().wait(begun_);
    if (leg != Leg::compute) begin_reads(world);
    auto const& row = row_of(gemm::variants(), variant);
    if (cannon_) {
      shift(world, leg, row);
    } else if (leg == Leg::communicate) {
      communicate_only(world);
    } else {
      pipeline(world, leg, row);
    }
    if (leg != Leg::compute && (a_window_ || b_window_)) end_reads(world);
    if (layers_ > 1 && leg != Leg::compute) add_up_layers(world);
  }

  std::string implementation(kernels::VariantInfo const& variant) const override {
    if (is_peer(variant)) return peer_->implementation();
    return is_local(variant) ? "" : chosen_;
  }

  measure::Verdict validate(comm::World& world) override {
    if (peer_ran_) {
      Product theirs = product_;
      std::int64_t const block = peer_layout_.a.cols.block();
      if (peer_row_->rounds_blocks) theirs.parts = (k_ + block - 1) / block;
      return check_product(theirs, peer_layout_, theirs_.c.view(), world, case_.check);
    }
    return check_product(product_, layout_, own_.c.view(), world, case_.check);
  }

  std::vector<measure::Field> fields() override {
    if (local_ran_) {
      return {measure::input(local_.a), measure::input(local_.b),
              measure::output(field("C", own_.c.view(), layout_.c))};
    }
    ProductLayout const layout = peer_ran_ ? peer_layout_ : layout_;
    Operands const& operands = peer_ran_ ? theirs_ : own_;
    return {measure::input(field("A", operands.a, layout.a)),
            measure::input(field("B", operands.b, layout.b)),
            measure::output(field("C", operands.c.view(), layout.c))};
  }

 private:
  void lay_out() {
    // Without a block each process has one of C, and of k each layer has the same in A and in B.
    std::int64_t rows_block = p_.block, k_block = p_.block;
    if (layers_ > 1 && p_.block == 0) {
      auto const parts_of_k = std::int64_t{std::lcm(shape_.rows, shape_.cols)} * layers_;
      rows_block = (m_ + shape_.rows * layers_ - 1) / (shape_.rows * layers_);
      k_block = (k_ + parts_of_k - 1) / parts_of_k;
    }
    // The processes of all layers in turn: a block of k, as one of rows of C, is of one layer.
    auto const of_layers = [&](std::int64_t n, std::int64_t block, int parts) {
      return comm::Distribution{n, block, parts * layers_};
    };
    int const row = place_.row * layers_ + place_.layer, col = place_.col * layers_ + place_.layer;
    comm::Distribution const rows_m{m_, rows_block * layers_, shape_.rows};
    comm::Distribution const cols_n{n_, p_.block, shape_.cols};
    layout_ = {{rows_m, of_layers(k_, k_block, shape_.cols), place_.row, col},
               {of_layers(k_, k_block, shape_.rows), cols_n, row, place_.col},
               {of_layers(m_, rows_block, shape_.rows), cols_n, row, place_.col},
               true};
    sums_layout_ = {rows_m, cols_n, place_.row, place_.col};
  }

  bool is_reducible() const {
    return case_.type == core::DataType::f64 || case_.type == core::DataType::f32 ||
           case_.type == core::DataType::i64 || case_.type == core::DataType::i32;
  }

  /// Why panels of this width, or blocks, are too many; empty where they are not.
  std::string too_many_steps(std::int64_t width) const {
    std::int64_t const block = std::min(layout_.a.cols.block(), layout_.b.rows.block());
    bool const are_blocks = p_.schedule == Schedule::cannon || block < width;
    return are_blocks ? steps_problem(k_, block, "block") : steps_problem(k_, width, "panel");
  }

  /// What this rank multiplies by panels of this width: one of those that differ in place alone.
  std::vector<gemm::Problem> const& kinds_of_products(std::int64_t width) const {
    auto const [place, is_first] = products_.try_emplace(width);
    std::set<std::tuple<std::int64_t, bool, std::uintptr_t, std::uintptr_t>> seen;
    auto const add = [&](gemm::Problem const& product) {
      auto const alignment = [](device::MatrixView const& view) {
        return reinterpret_cast<std::uintptr_t>(view.data) % 256;
      };
      bool const is_new = seen.emplace(product.a.cols, product.beta == p_.beta,
                                       alignment(product.a), alignment(product.b))
                              .second;
      if (is_new) place->second.push_back(product);
    };
    if (is_first && p_.schedule == Schedule::cannon) {
      bool starts = true;
      cannon().for_products(
          [&](auto const& a, auto const& b) { add(problem(a, b, std::exchange(starts, false))); });
    } else if (is_first) {
      std::vector<Panel> const panels = travelling(width);
      for (Step const& step : schedule(panels)) {
        add(problem(panels[step.first], step));
        add(problem(panels[step.first], alone(panels[step.first])));
      }
    }
    return place->second;
  }
  Cannon cannon() const { return {layout_, case_.type, place_}; }

  /// Of k, after each of which C is rounded.
  std::int64_t parts() const {
    std::int64_t products = std::ssize(panels_);
    if (cannon_) cannon_->for_products([&](auto const&...) { ++products; });
    return std::max<std::int64_t>(1, products) * layers_ + layers_ - 1;
  }

  /// Rows of the sums, and where in C those of this rank lie, in the order in which layers add them up.
  template <class F>
  void for_shared_rows(F const& f) const {
    std::int64_t const block = layout_.c.rows.block();
    for (std::int64_t first = 0; first < sums_layout_.local_rows(); first += block * layers_) {
      f(first, first / layers_);
    }
  }
  /// That a layer gets of those from `first` on.
  device::MatrixView shared_rows(std::int64_t first, int layer) const {
    std::int64_t const block = layout_.c.rows.block();
    std::int64_t const begin = std::min(c_.rows, first + layer * block);
    return c_.block(begin, 0, std::min(c_.rows - begin, block), c_.cols);
  }

  /// What this rank's products add to: beta C of its own rows.
  void reset_sums(comm::World const& world) const {
    world.stream().fill(c_.data, p_.beta == 0 ? 0xFF : 0, sums_.bytes());
    if (p_.beta == 0) return;
    for_shared_rows([&](std::int64_t first, std::int64_t own) {
      device::MatrixView const rows = shared_rows(first, place_.layer);
      world.stream().copy(rows.data, own_.c.view().at(own, 0), piece(rows).bytes);
    });
  }

  void add_up_layers(comm::World& world) {
    device::StreamView const stream = world.comm_stream();
    world.stream().record(multiplied_);
    stream.wait(multiplied_);
    if (device::Trace* const trace = world.device().trace()) trace->set_label("layers");
    comm::Request added;
    std::vector<comm::ConstPiece> of_layers(static_cast<std::size_t>(layers_));
    for_shared_rows([&](std::int64_t first, std::int64_t own) {
      for (int layer = 0; layer < layers_; ++layer) {
        of_layers[comm::index(layer)] = piece(shared_rows(first, layer));
      }
      comm::Piece const out{own_.c.view().at(own, 0), of_layers[comm::index(place_.layer)].bytes};
      added =
          layer_channel_->reduce_scatter(of_layers, out, case_.type, comm::ReduceOp::sum, stream);
    });
    added.wait_on(world.stream());
  }

  static comm::Piece piece(device::MatrixView const& packed) {
    return {packed.data,
            static_cast<std::size_t>(packed.rows * packed.cols) * core::size_of(packed.type)};
  }

  /// Columns of A and rows of B, inside one block of both.
  struct Panel {
    std::size_t index = 0;  ///< its turn to travel
    std::int64_t first = 0;
    std::int64_t width = 0;
    int a_owner = 0, b_owner = 0;  ///< in the row and in the column of the grid
    // How many earlier ones this rank gets the A and the B of, and sends the A of.
    std::size_t a_received = 0, b_received = 0, a_sent = 0;
  };
  /// What one product takes: a panel, or several of this rank's own that lie side by side.
  struct Step {
    std::size_t first = 0, last = 0;  ///< panels
    std::int64_t width = 0;           ///< 0: none
    std::vector<std::size_t> panels;
    bool is_first = true;  ///< of the products that this rank adds to C
  };
  struct Operands {
    device::MatrixView a, b;
    device::Matrix own_a, own_b, c, c0;  ///< no A or B where a window has it

    void allocate(ProductLayout const& layout, core::DataType type, double beta, comm::World& world,
                  comm::Window const* a_window = nullptr, comm::Window const* b_window = nullptr) {
      auto const place = [&](device::MatrixView& view, Layout const& part, device::Matrix& own,
                             comm::Window const* window) {
        view = unallocated(part, type);
        if (window == nullptr) own = allocate_matrix(view, world);
        if (window != nullptr) view.data = window->data();
      };
      auto const make = [&](Layout const& part) {
        return device::Matrix{world.device(), type, part.local_rows(), part.local_cols(),
                              world.stream()};
      };
      place(a, layout.a, own_a, a_window);
      place(b, layout.b, own_b, b_window);
      c = make(layout.c);
      if (beta != 0) c0 = make(layout.c);
    }
    void fill(Product const& product, ProductLayout const& layout, comm::World const& world) const {
      workloads::fill(a, layout.a, product.a, world);
      workloads::fill(b, layout.b, product.b, world);
      if (product.beta != 0) workloads::fill(c0.view(), layout.c, product.c0, world);
    }
    void reset(double beta, comm::World const& world) const {
      if (beta == 0) {
        world.stream().fill(c.view().data, 0xFF, c.bytes());
      } else {
        world.stream().copy(c.view().data, c0.view().data, c.bytes());
      }
    }
  };
  /// A buffer for a panel of A or B that comes from another rank.
  struct Slot {
    device::Matrix panel;
    comm::Request arrived;
    device::Event multiplied;  ///< with what it held
  };
  /// A buffer in which an own panel of A is packed to be sent.
  struct Pack {
    device::Matrix panel;
    comm::Request sent;
  };
  // One is filled while the other one is sent.
  static constexpr std::size_t kPacks = 2;

  // A panel's product is to be long against what joins two of them, and a ring deep enough for the
  // others' panels to arrive while own ones are multiplied.
  static constexpr std::int64_t kNarrowest = 256, kWidestChosen = 4096, kMaxChosen = 4;

  /// Of the larger of its messages; of layers of one rank each what is added up.
  comm::Traffic traffic() const {
    auto const s = static_cast<double>(core::size_of(case_.type));
    auto const k = static_cast<double>(k_);
    double const rows = std::ceil(static_cast<double>(m_) / shape_.rows);
    double const cols = std::ceil(static_cast<double>(n_) / shape_.cols);
    if (shape_.rows * shape_.cols == 1) {
      return {comm::Operation::reduce_scatter, s * rows * cols};
    }
    double const across = std::max(shape_.cols > 1 ? rows : 0, shape_.rows > 1 ? cols : 0);
    if (p_.schedule == Schedule::cannon) {
      int const parts = std::max(shape_.rows, shape_.cols) * layers_;
      return {comm::Operation::sendrecv, s * across * std::ceil(k / parts)};
    }
    return {comm::Operation::broadcast, s * across * std::min(k, static_cast<double>(p_.panel))};
  }

  /// Doublings up to what each rank owns of k, the same on all ranks; that one is sent as it lies.
  std::vector<std::int64_t> candidate_widths() const {
    std::int64_t const whole = (k_ + shape_.cols - 1) / shape_.cols;
    std::int64_t const own = std::min(layout_.a.cols.block(), layout_.b.rows.block());
    std::int64_t const widest = std::clamp<std::int64_t>(std::min(whole, own), 1, kWidestChosen);
    std::vector<std::int64_t> widths;
    for (std::int64_t w = kNarrowest; w < widest; w *= 2) widths.push_back(w);
    widths.push_back(widest);
    return widths;
  }

  /// Takes the width by which all products and all messages together, and the first message that nothing
  /// hides, take least; and so many buffers as panels arrive during a product, and one. Collective.
  void choose(comm::World& world, measure::Selection const& selected) {
    auto const found = std::ranges::find_if(
        selected, [](kernels::VariantInfo const* variant) { return is_pipeline(*variant); });
    if (found == selected.end()) return;
    auto const& variant = row_of(gemm::variants(), **found);
    struct Rates {
      double product_s = 0, panel_s = 0;
    };
    std::optional<Rates> best;
    double best_s = 0;
    std::int64_t best_width = 0;
    for (std::int64_t const width : widths_) {
      p_.panel = width;
      panels_ = travelling(p_.panel);
      steps_ = schedule(panels_);
      if (panels_.empty()) return;
      Panel const& panel = panels_.front();
      gemm::Problem const own = problem(panel, alone(panel));
      bool const takes = std::ranges::all_of(steps_, [&](Step const& step) {
        return variant.unsupported_reason(problem(panels_[step.first], step)).empty();
      });
      if (world.group().agree(!takes) >= 0) continue;
      Rates const rates{measure::quick_seconds(world, [&] { variant.launch(own, world.stream()); }),
                        measure::quick_seconds(world, [&] {
                          send_panel(world, panel);
                          await_all(world.stream());
                        })};
      auto const panels = static_cast<double>(panels_.size());
      double const seconds = panels * (rates.product_s + rates.panel_s) + rates.panel_s;
      if (best && seconds >= best_s) continue;
      best = rates;
      best_s = seconds;
      best_width = width;
    }
    if (!best) return;
    p_.panel = best_width;
    if (case_.parameters.as<Parameters>().buffers == kAuto) {
      double const together = 1 + std::ceil(best->panel_s / best->product_s);
      p_.buffers = std::clamp(static_cast<std::int64_t>(std::min(together, 1e9)), std::int64_t{2},
                              kMaxChosen);
      a_slots_.resize(static_cast<std::size_t>(p_.buffers));
      b_slots_.resize(a_slots_.size());
    }
    panels_ = travelling(p_.panel);
    steps_ = schedule(panels_);
    product_.parts = parts();
    chosen_ = fmt::format("panel = {}, buffers = {}: a panel takes {} to multiply, {} to arrive",
                          p_.panel, p_.buffers, core::format_seconds(best->product_s),
                          core::format_seconds(best->panel_s));
  }

  /// All panels in the order in which they travel: the owners in turn.
  std::vector<Panel> travelling(std::int64_t widest) const {
    std::map<std::pair<int, int>, std::vector<Panel>> of_owners;
    for (std::int64_t first = 0; first < k_;) {
      std::int64_t const width = std::min({widest, layout_.a.cols.block_end(first) - first,
                                           layout_.b.rows.block_end(first) - first});
      int const a_owner = layout_.a.cols.owner(first), b_owner = layout_.b.rows.owner(first);
      std::int64_t const here = std::exchange(first, first + width);
      if (a_owner % layers_ != place_.layer) continue;
      Panel const panel{.first = here,
                        .width = width,
                        .a_owner = a_owner / layers_,
                        .b_owner = b_owner / layers_};
      of_owners[{panel.b_owner, panel.a_owner}].push_back(panel);
    }
    std::vector<Panel> panels;
    for (std::size_t turn = 0, before = 1; panels.size() != before; ++turn) {
      before = panels.size();
      for (auto const& [owners, theirs] : of_owners) {
        if (turn < theirs.size()) panels.push_back(theirs[turn]);
      }
    }
    Panel next;
    for (Panel& panel : panels) {
      panel.index = next.index++;
      panel.a_received = next.a_received;
      panel.b_received = next.b_received;
      panel.a_sent = next.a_sent;
      ++(has_a(panel) ? next.a_sent : next.a_received);
      next.b_received += has_b(panel) ? 0 : 1;
    }
    return panels;
  }

  bool has_a(Panel const& panel) const { return panel.a_owner == place_.col; }
  bool has_b(Panel const& panel) const { return panel.b_owner == place_.row; }
  bool has_both(Panel const& panel) const { return has_a(panel) && has_b(panel); }

  static Step alone(Panel const& panel) {
    return {panel.index, panel.index, panel.width, {panel.index}, panel.index == 0};
  }

  /// This rank's products in their order. Others' panels keep that in which they travel, or a buffer
  /// might wait for one behind it. Own ones come as many turns earlier as there are buffers: while the
  /// rank multiplies those, so many others can arrive.
  std::vector<Step> schedule(std::vector<Panel> const& panels) const {
    std::vector<Panel> own;
    std::ranges::copy_if(panels, std::back_inserter(own),
                         [this](Panel const& panel) { return has_both(panel); });
    std::size_t next_own = std::min(own.size(), a_slots_.size());
    std::vector<Panel> order(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(next_own));
    for (Panel const& panel : panels) {
      if (!has_both(panel)) order.push_back(panel);
      if (has_both(panel) && next_own < own.size()) order.push_back(own[next_own++]);
    }
    std::vector<Step> steps;
    for (Panel const& panel : order) {
      if (!steps.empty() && continues(panels[steps.back().last], panel)) {
        Step& step = steps.back();
        step.width += panel.width;
        step.last = panel.index;
        step.panels.push_back(panel.index);
      } else {
        steps.push_back(alone(panel));
        steps.back().is_first = steps.size() == 1;
      }
    }
    return steps;
  }
  /// Whether two own panels lie side by side.
  bool continues(Panel const& left, Panel const& right) const {
    auto const follows = [&](comm::Distribution const& k) {
      return k.local(right.first) == k.local(left.first) + left.width;
    };
    return has_both(left) && has_both(right) && follows(layout_.a.cols) && follows(layout_.b.rows);
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    grid_ = comm::Grid{world.group().split(place_.layer, world.rank()), shape_};
    comm::Transport& transport =
        world.transport(case_.transport, case_.throttle,
                        ctas_beside_products(case_.nccl_ctas, p_.sms, world.device().facts()));
    if (shape_.cols > 1) row_channel_ = transport.connect(grid_.row_group());
    if (shape_.rows > 1) col_channel_ = transport.connect(grid_.col_group());
    if (reads_panels(world)) {
      if (row_channel_) a_window_ = row_channel_->share(piece(a_).bytes);
      if (col_channel_) b_window_ = col_channel_->share(piece(b_).bytes);
    } else if (row_channel_ || col_channel_) {
      // Who bounds the products' multiprocessors has left some for messages.
      yields_ = p_.sms == 0 && world.transport_entry(case_.transport, case_.throttle).uses_kernels;
    }
    own_.allocate(layout_, case_.type, p_.beta, world, a_window_.get(), b_window_.get());
    a_ = own_.a;
    b_ = own_.b;
    c_ = own_.c.view();
    if (layers_ > 1) {
      sums_ = {world.device(), case_.type, sums_layout_.local_rows(), sums_layout_.local_cols(),
               world.stream()};
      c_ = sums_.view();
      int const place = place_.row * shape_.cols + place_.col;
      layer_channel_ = transport.connect(world.group().split(place, place_.layer));
    }
    begun_ = device::Event{world.device()};
    multiplied_ = device::Event{world.device()};
    double const scratch = scratch_bytes(selected, world.device().facts());
    scratch_ = allocate_scratch(static_cast<std::size_t>(scratch), world);
    bool const has_steps = measure::any_of(selected, is_pipeline);
    if (has_steps && p_.schedule == Schedule::cannon) {
      cannon_.emplace(layout_, case_.type, place_);
      cannon_->allocate(world, a_, b_, row_channel_.get(), col_channel_.get());
    } else if (has_steps) {
      allocate_panels(world);
    }
    for (kernels::VariantInfo const* variant : selected) {
      if (is_peer(*variant)) plan(row_of(peers<PeerProduct>(), *variant), world);
    }
    if (!measure::any_of(selected, is_local)) return;
    local_vendor_ = vendor_of(world.device());
    local_a_ = {world.device(), case_.type, local_.a.rows, local_.a.cols, world.stream()};
    local_b_ = {world.device(), case_.type, local_.b.rows, local_.b.cols, world.stream()};
    local_.a = local_a_.view();
    local_.b = local_b_.view();
    local_.c = own_.c.view();
  }

  void allocate_panels(comm::World& world) {
    panels_ = travelling(p_.panel);
    steps_ = schedule(panels_);
    std::int64_t widest = 0;
    for (Panel const& panel : panels_) widest = std::max(widest, panel.width);
    auto const make = [&](std::int64_t rows, std::int64_t cols) {
      return device::Matrix{world.device(), case_.type, rows, cols, world.stream()};
    };
    for (Slot& slot : a_slots_) {
      slot.multiplied = device::Event{world.device()};
      if (shape_.cols > 1 && !has_a_in_place()) slot.panel = make(layout_.a.local_rows(), widest);
    }
    for (Slot& slot : b_slots_) {
      slot.multiplied = device::Event{world.device()};
      if (shape_.rows > 1 && !has_b_in_place()) slot.panel = make(widest, layout_.b.local_cols());
    }
    if (a_window_) return;
    // Only a panel of all that the rank owns is sent as it lies.
    bool packs = false;
    for (std::int64_t const width : widths_) {
      for (Panel const& panel : travelling(width)) {
        packs |= shape_.cols > 1 && has_a(panel) && panel.width != layout_.a.local_cols();
      }
    }
    for (Pack& pack : packs_) {
      if (packs) pack.panel = make(layout_.a.local_rows(), widest);
    }
  }

  /// Whether ranks read others' panels where they are, or get them by messages.
  bool reads_panels(comm::World const& world) const {
    return p_.schedule == Schedule::broadcast && p_.broadcast == comm::Broadcast::library &&
           world.transport_entry(case_.transport, case_.throttle).shares_windows;
  }
  /// Whether A's panels of others have no buffer, nor B's.
  bool has_a_in_place() const { return a_window_ && row_channel_->reads_in_place(); }
  bool has_b_in_place() const { return b_window_ && col_channel_->reads_in_place(); }

  static bool has_peer(measure::Selection const& selected) {
    return measure::any_of(selected, is_peer);
  }

  // What this rank's part of C is made of.
  Layout rows_of_a() const { return {layout_.c.rows, {k_, 0, 1}, layout_.c.row_part, 0}; }
  Layout cols_of_b() const { return {{k_, 0, 1}, layout_.b.cols, 0, layout_.b.col_part}; }

  /// The vendor's row that computes it; nullptr where there is none.
  kernels::Variant<gemm::Problem> const* vendor_of(device::Device const& device) const {
    for (kernels::Variant<gemm::Problem> const& row : gemm::variants()) {
      bool const takes = row.role == kernels::Role::vendor &&
                         kernels::unsupported_reason(row, device.kind(), device.facts()).empty() &&
                         row.unsupported_reason(local_).empty();
      if (takes) return &row;
    }
    return nullptr;
  }
  std::string local_unsupported(device::Device const& device) const {
    if (vendor_of(device) == nullptr) return "needs a vendor's product of this type and shape";
    double const bytes = describe({&kLocalProducts}).memory_bytes;
    if (bytes <= static_cast<double>(device.free_memory())) return "";
    return fmt::format("needs {} on a rank for all operands at hand", core::format_bytes(bytes));
  }
  ProductLayout peer_layout(Peer<PeerProduct> const& peer) const {
    return peer.layout(peer_shape_, rank_, p_.block, std::array{m_, n_, k_});
  }
  /// On all ranks, whatever their layers.
  void plan(Peer<PeerProduct> const& peer, comm::World& world) {
    peer_row_ = &peer;
    peer_layout_ = peer_layout(peer);
    theirs_.allocate(peer_layout_, case_.type, p_.beta, world);
    peer_ = peer.plan(
        world, peer_shape_,
        {peer_layout_, case_.compute, p_.alpha, p_.beta, theirs_.a, theirs_.b, theirs_.c.view()});
  }

  Slot& a_slot(Panel const& panel) { return a_slots_[panel.a_received % a_slots_.size()]; }
  Slot const& a_slot(Panel const& panel) const {
    return a_slots_[panel.a_received % a_slots_.size()];
  }
  Slot& b_slot(Panel const& panel) { return b_slots_[panel.b_received % b_slots_.size()]; }
  Slot const& b_slot(Panel const& panel) const {
    return b_slots_[panel.b_received % b_slots_.size()];
  }

  // An own panel of A is a strided part of the rank's block, others' are packed, or parts of theirs.
  device::MatrixView a_of(Panel const& panel, std::int64_t width) const {
    std::int64_t const rows = layout_.a.local_rows();
    std::int64_t const first = layout_.a.cols.local(panel.first);
    if (has_a(panel)) return a_.block(0, first, rows, width);
    if (has_a_in_place()) return a_at_owner(panel, width);
    return {a_slot(panel).panel.view().data, case_.type, rows, width, width};
  }

  // A panel of B is contiguous in its owner, which sends and multiplies it in place.
  device::MatrixView b_of(Panel const& panel, std::int64_t width) const {
    std::int64_t const cols = layout_.b.local_cols();
    std::int64_t const first = layout_.b.rows.local(panel.first);
    if (has_b(panel)) return b_.block(first, 0, width, cols);
    if (has_b_in_place()) return b_at_owner(panel, width);
    return {b_slot(panel).panel.view().data, case_.type, width, cols, cols};
  }

  /// The panel of A, or of B, in its owner's window.
  device::MatrixView a_at_owner(Panel const& panel, std::int64_t width) const {
    Layout owners = layout_.a;
    owners.col_part = panel.a_owner * layers_ + place_.layer;
    device::MatrixView whole = unallocated(owners, case_.type);
    whole.data = a_window_->memory_of(panel.a_owner);
    return whole.block(0, owners.cols.local(panel.first), owners.local_rows(), width);
  }
  device::MatrixView b_at_owner(Panel const& panel, std::int64_t width) const {
    Layout owners = layout_.b;
    owners.row_part = panel.b_owner * layers_ + place_.layer;
    device::MatrixView whole = unallocated(owners, case_.type);
    whole.data = b_window_->memory_of(panel.b_owner);
    return whole.block(owners.rows.local(panel.first), 0, width, owners.local_cols());
  }

  /// What a rank computes of no panel, where k is 0.
  gemm::Problem problem() const {
    gemm::Problem p;
    p.a = {nullptr, case_.type, layout_.a.local_rows(), 0, 0};
    p.b = {nullptr, case_.type, 0, layout_.b.local_cols(), layout_.b.local_cols()};
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
  gemm::Problem problem(Panel const& first, Step const& step) const {
    return problem(a_of(first, step.width), b_of(first, step.width), step.is_first);
  }

  /// A panel comes from its owner once its buffer is free.
  static comm::Request read(comm::Channel& channel, comm::Window const& window, int owner,
                            device::MatrixView const& panel, Slot& slot,
                            device::StreamView stream) {
    stream.wait(slot.multiplied);
    std::size_t const s = core::size_of(panel.type);
    comm::WindowRows const rows{.first = static_cast<std::size_t>(
                                    static_cast<std::byte*>(panel.data) - window.memory_of(owner)),
                                .pitch = static_cast<std::size_t>(panel.ld) * s,
                                .row_bytes = static_cast<std::size_t>(panel.cols) * s,
                                .rows = static_cast<std::size_t>(panel.rows)};
    slot.arrived = channel.read(window, owner, rows, slot.panel.view().data, stream);
    return slot.arrived;
  }
  /// Panels may be read once their owners have come as far.
  void begin_reads(comm::World const& world) {
    auto const begin = [&](comm::Window const* window, comm::Channel* channel, comm::Request& last,
                           std::vector<Slot>& slots) {
      if (window == nullptr) return;
      last = channel->barrier(world.comm_stream());
      for (Slot& slot : slots) slot.arrived = last;
    };
    begin(a_window_.get(), row_channel_.get(), a_last_, a_slots_);
    begin(b_window_.get(), col_channel_.get(), b_last_, b_slots_);
  }
  /// This rank's may change when all others are through with them. That is no part of the product, and
  /// waited for by what comes next.
  void end_reads(comm::World const& world) {
    if (has_a_in_place() || has_b_in_place()) {
      world.stream().record(multiplied_);
      world.comm_stream().wait(multiplied_);
    }
    a_last_.wait_on(world.comm_stream());
    b_last_.wait_on(world.comm_stream());
    if (a_window_) a_ended_ = row_channel_->barrier(world.comm_stream());
    if (b_window_) b_ended_ = col_channel_->barrier(world.comm_stream());
  }

  /// Later work of the stream may change A and B.
  void await_readers(device::StreamView stream) const {
    a_ended_.wait_on(stream);
    b_ended_.wait_on(stream);
  }

  /// A panel travels once the buffers that it takes on this rank are free.
  void send_panel(comm::World& world, Panel const& p) {
    device::StreamView const stream = world.comm_stream();
    label(world, {p.index});
    auto const s = core::size_of(case_.type);
    if (a_window_ && !has_a(p) && !has_a_in_place()) {
      a_last_ =
          read(*row_channel_, *a_window_, p.a_owner, a_at_owner(p, p.width), a_slot(p), stream);
    }
    if (b_window_ && !has_b(p) && !has_b_in_place()) {
      b_last_ =
          read(*col_channel_, *b_window_, p.b_owner, b_at_owner(p, p.width), b_slot(p), stream);
    }
    if (row_channel_ && !a_window_) {
      device::MatrixView panel = a_of(p, p.width);
      Pack& pack = packs_[p.a_sent % kPacks];
      if (has_a(p) && panel.ld != p.width) {
        device::MatrixView const from = panel;
        panel = {pack.panel.view().data, case_.type, from.rows, p.width, p.width};
        pack.sent.wait_on(stream);
        stream.copy_2d(panel.data, static_cast<std::size_t>(panel.ld) * s, from.data,
                       static_cast<std::size_t>(from.ld) * s, static_cast<std::size_t>(p.width) * s,
                       static_cast<std::size_t>(from.rows));
      }
      if (!has_a(p)) stream.wait(a_slot(p).multiplied);
      a_last_ = row_channel_->broadcast(piece(panel), p.a_owner, stream, p_.broadcast);
      (has_a(p) ? pack.sent : a_slot(p).arrived) = a_last_;
    }
    if (col_channel_ && !b_window_) {
      if (!has_b(p)) stream.wait(b_slot(p).multiplied);
      b_last_ = col_channel_->broadcast(piece(b_of(p, p.width)), p.b_owner, stream, p_.broadcast);
      if (!has_b(p)) b_slot(p).arrived = b_last_;
    }
  }

  /// What a trace calls the work on these panels.
  static void label(comm::World const& world, std::vector<std::size_t> const& panels) {
    device::Trace* const trace = world.device().trace();
    if (trace == nullptr) return;
    trace->set_label(
        fmt::format("panel{} {}", panels.size() == 1 ? "" : "s", fmt::join(panels, ", ")));
  }

  void shift(comm::World& world, Leg leg, kernels::Variant<gemm::Problem> const& variant) {
    bool is_first = true;
    cannon_->run(world, leg, [&](device::MatrixView const& a, device::MatrixView const& b) {
      device::TraceScope const traced{world.stream(), device::TraceKind::kernel, variant.name};
      variant.launch(problem(a, b, std::exchange(is_first, false)), world.stream());
    });
    // No part of k.
    if (is_first && leg != Leg::communicate) variant.launch(problem(), world.stream());
  }

  void multiply(comm::World& world, kernels::Variant<gemm::Problem> const& variant,
                Step const& step) {
    device::StreamView const compute = world.stream();
    label(world, step.panels);
    device::TraceScope const traced{compute, device::TraceKind::kernel, variant.name};
    variant.launch(problem(panels_[step.first], step), compute);
    Panel const& panel = panels_[step.first];
    if (!has_a(panel)) compute.record(a_slot(panel).multiplied);
    if (!has_b(panel)) compute.record(b_slot(panel).multiplied);
  }

  void pipeline(comm::World& world, Leg leg, kernels::Variant<gemm::Problem> const& variant) {
    device::StreamView const compute = world.stream();
    if (panels_.empty()) return variant.launch(problem(), compute);
    if (leg == Leg::serial) return one_after_the_other(world, variant);
    std::size_t sent = leg == Leg::compute ? panels_.size() : 0;
    Panel behind;  // the first that is not multiplied yet, of those that take a buffer
    // Waiting for the newest product instead would leave nothing to overlap.
    auto const has_buffers = [&](Panel const& p) {
      return (has_a(p) || p.a_received < behind.a_received + a_slots_.size()) &&
             (has_b(p) || p.b_received < behind.b_received + b_slots_.size());
    };
    auto const send = [&] {
      while (sent < panels_.size() && has_buffers(panels_[sent])) {
        send_panel(world, panels_[sent++]);
      }
    };
    for (Step const& step : steps_) {
      Panel const& panel = panels_[step.first];
      // Reads of panels take no multiprocessor, and own ones need not wait until they are enqueued. What
      // sends by kernels must be there before a product takes all.
      bool const is_first = (a_window_ || b_window_) && has_both(panel);
      if (!is_first) send();
      if (leg != Leg::compute) await(panel, compute);
      multiply(world, variant, step);
      if (is_first) send();
      behind.a_received += has_a(panel) ? 0 : 1;
      behind.b_received += has_b(panel) ? 0 : 1;
    }
    while (sent < panels_.size()) send_panel(world, panels_[sent++]);
    if (leg != Leg::compute) await_all(compute);
  }

  void one_after_the_other(comm::World& world, kernels::Variant<gemm::Problem> const& variant) {
    for (Panel const& panel : panels_) {
      world.comm_stream().wait(multiplied_);
      send_panel(world, panel);
      await_all(world.stream());
      multiply(world, variant, alone(panel));
      world.stream().record(multiplied_);
    }
  }

  void communicate_only(comm::World& world) {
    for (Panel const& panel : panels_) {
      await(panel, world.comm_stream());
      send_panel(world, panel);
    }
    await_all(world.stream());
  }

  /// Later work of a stream begins when all of the panel is there, or what its buffers held before.
  void await(Panel const& panel, device::StreamView stream) const {
    if (!has_a(panel)) a_slot(panel).arrived.wait_on(stream);
    if (!has_b(panel)) b_slot(panel).arrived.wait_on(stream);
  }
  /// ... when all that was sent has arrived.
  void await_all(device::StreamView stream) const {
    a_last_.wait_on(stream);
    b_last_.wait_on(stream);
  }

  core::Case case_;
  Parameters p_;
  std::vector<std::int64_t> widths_;  ///< of which one is chosen
  bool is_chosen_ = false;
  bool yields_ = false;  ///< products, to messages that take multiprocessors
  std::string chosen_;   ///< what was, once it was
  std::int64_t m_, n_, k_;
  core::GridShape shape_;
  int layers_ = 1;
  Cannon::Place place_;
  ProductLayout layout_;
  Layout sums_layout_;  ///< of what a rank multiplies: of C, but for layers
  mutable std::map<std::int64_t, std::vector<gemm::Problem>> products_;  ///< by width of a panel
  std::vector<Panel> panels_;
  std::vector<Step> steps_;
  Product product_;
  bool prepared_ = false;
  bool peer_ran_ = false, local_ran_ = false;
  comm::Grid grid_;
  Operands own_, theirs_;
  device::Matrix sums_;           // where layers have a share of C each
  device::MatrixView a_, b_, c_;  // of products, own; unallocated() before prepare()
  device::Buffer<std::byte> scratch_;
  std::vector<Slot> a_slots_, b_slots_;
  std::array<Pack, kPacks> packs_;
  comm::Request a_last_, b_last_, a_ended_, b_ended_;
  device::Event begun_, multiplied_;
  std::unique_ptr<comm::Channel> row_channel_, col_channel_, layer_channel_;
  std::unique_ptr<comm::Window> a_window_, b_window_;  // of A and B, where others read them
  std::optional<Cannon> cannon_;                       // where it is the schedule
  core::GridShape peer_shape_;
  int rank_ = 0;
  Peer<PeerProduct> const* peer_row_ = nullptr;  // of those selected
  ProductLayout peer_layout_;
  std::unique_ptr<PeerCall> peer_;  // behind what it works on
  // local_products, where it runs.
  kernels::Variant<gemm::Problem> const* local_vendor_ = nullptr;
  device::Matrix local_a_, local_b_;
  gemm::Problem local_;  // without memory before prepare()
};

measure::Selection rows() {
  measure::Selection all = rows_of(gemm::variants());
  all.push_back(&kLocalProducts);
  all.push_back(&kLocalProductsOnGpus);
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
  return Cannon::unsupported_reason(measure::grid_on(spec, layout.ranks / keys.layers));
}

constexpr measure::CostModel kCost{work_of, true, 0.5, misfit_of};

}  // namespace

namespace entries {

extern measure::WorkloadEntry const summa{
    .schema = {
        .name = "summa",
        .extents = {"m", "n", "k"},
        .keys = {.transport = true, .grid = true, .legs = true, .compute = true, .weak = true},
        .defaults = core::Parameters{Parameters{}},
        .options = {core::options::choice("schedule", core::options::at(&Parameters::schedule),
                                          "panels by broadcast, or parts by shifts (cannon)"),
                    core::options::count("layers", core::options::at(&Parameters::layers),
                                         "grids that share k and add up C (2.5-D)",
                                         {.least = 1, .most = 1 << 16}),
                    core::options::count_or_auto("panel", core::options::at(&Parameters::panel),
                                                 "width of a panel; auto: by measured rates", kAuto,
                                                 {.least = 1, .unit = "elements"}),
                    core::options::count_or_auto("buffers", core::options::at(&Parameters::buffers),
                                                 "panel buffers, 1 to 16; auto: by measured rates",
                                                 kAuto, {.least = 1, .most = 16}),
                    core::options::count("block", core::options::at(&Parameters::block),
                                         "block-cyclic block; 0: one block per process",
                                         {.unit = "elements"}),
                    core::options::choice("broadcast", core::options::at(&Parameters::broadcast),
                                          "how a broadcast travels"),
                    core::options::number("alpha", core::options::at(&Parameters::alpha),
                                          "C = alpha A B + beta C"),
                    core::options::number("beta", core::options::at(&Parameters::beta),
                                          "C = alpha A B + beta C"),
                    sms_option(core::options::at(&Parameters::sms))},
        .variants = measure::names_of(rows()),
        .conflict =
            [](core::Case const& spec) {
              return sms_conflict(spec.parameters.as<Parameters>().sms);
            },
        .layers = [](core::Case const& spec) { return spec.parameters.as<Parameters>().layers; }},
    .summary = "C = alpha A B + beta C on a process grid, panels broadcast under the product",
    .work = "2 m n k flop",
    .local = false,
    .variants = rows(),
    .make = measure::make<Summa>,
    .secondary = {kReceived},
    .cost_model = &kCost,
};

}  // namespace entries

}  // namespace quadrille::workloads
