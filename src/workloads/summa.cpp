// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"
#include "workloads/product_check.hpp"
#include "workloads/scalapack.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <optional>

namespace quadrille::workloads {

namespace {

namespace gemm = kernels::gemm;
using measure::Leg;

struct Parameters {
  std::int64_t panel = 256;  ///< width in elements of k
  std::int64_t buffers = 2;  ///< panels under way
  std::int64_t block = 0;    ///< block-cyclic block; 0: one block per process
  comm::Broadcast broadcast = comm::Broadcast::library;
  double alpha = 1;
  double beta = 0;
  bool operator==(Parameters const&) const = default;
};

constexpr kernels::VariantInfo kScalapack{.name = "scalapack",
                                          .role = kernels::Role::peer,
                                          .where = kernels::Where::host,
                                          .types = {core::DataType::f64, core::DataType::f32},
                                          .source = "ScaLAPACK",
                                          .summary = "p?gemm on the same ranks with the same BLAS",
                                          .caveat = "in blocks of 128, not tuned for the size"};

constexpr kernels::VariantInfo kLocalProducts{
    .name = "local_products",
    .role = kernels::Role::ceiling,
    .where = kernels::Where::any,
    .types = {core::DataType::f64, core::DataType::f32},
    .source = "the vendor of the local product",
    .summary = "each rank's part of C by one product of the vendor, all operands at hand"};

/// C = alpha A B + beta C on a P x Q grid. C stays; the owners of panel t of A broadcast it along
/// their rows, those of panel t of B along their columns, into one of one to three buffers, while
/// the compute stream multiplies panel t - 1 into C. Events, not host waits, order the two.
/// (R. van de Geijn, J. Watts: SUMMA, 1997.)
class Summa final : public measure::Workload {
 public:
  Summa(core::Case const& spec, int ranks, int rank)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        m_{spec.size[0]},
        n_{spec.size[1]},
        k_{spec.size[2]} {
    shape_ = spec.grid.rows > 0 ? spec.grid : comm::near_square(ranks);
    int const row = rank / shape_.cols, col = rank % shape_.cols;
    comm::Distribution const rows_m{m_, p_.block, shape_.rows};
    comm::Distribution const rows_k{k_, p_.block, shape_.rows};
    comm::Distribution const cols_k{k_, p_.block, shape_.cols};
    comm::Distribution const cols_n{n_, p_.block, shape_.cols};
    layout_ = {
        {rows_m, cols_k, row, col}, {rows_k, cols_n, row, col}, {rows_m, cols_n, row, col}, true};
    a_ = unallocated(layout_.a, spec.type);
    b_ = unallocated(layout_.b, spec.type);
    c_ = unallocated(layout_.c, spec.type);
    local_.a = unallocated(rows_of_a(), spec.type);
    local_.b = unallocated(cols_of_b(), spec.type);
    local_.c = c_;
    local_.alpha = p_.alpha;
    local_.beta = p_.beta;
    local_.compute = spec.compute;
    slots_.resize(static_cast<std::size_t>(p_.buffers));
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
                .bar = kernels::Role::peer,
                .has_local_ceiling = true};
    d.amount = gemm::flop(m, n, k);
    d.unit = "FLOP/s";
    d.flop = d.amount;
    d.device_bytes = gemm::compulsory_bytes(m, n, k, p_.beta, s, s);
    // Every element of A must reach the Q - 1 other columns of the grid, of B the P - 1 other rows.
    d.network_bytes = s * (m * k * (shape_.cols - 1) + k * n * (shape_.rows - 1));
    d.extras = {{"received", d.network_bytes, "B/s"}};
    double const rows = std::ceil(m / shape_.rows), cols = std::ceil(n / shape_.cols);
    double const own =
        rows * std::ceil(k / shape_.cols) + std::ceil(k / shape_.rows) * cols + rows * cols;
    double const panels = static_cast<double>(p_.buffers * p_.panel) * (rows + cols);
    double const local = has(selected, kLocalProducts) ? k * (rows + cols) : 0;
    d.memory_bytes = s * (own * (has(selected, kScalapack) ? 2 : 1) + panels + local +
                          (p_.beta == 0 ? 0 : 2 * rows * cols));
    return d;
  }

  std::string unsupported_reason(kernels::VariantInfo const& variant,
                                 device::Device const& device) const override {
    if (&variant == &kScalapack) return scalapack_unsupported({m_, n_, k_});
    if (&variant == &kLocalProducts) return local_unsupported(device);
    if (core::epsilon_of(case_.type) == 0 && !gemm::are_whole(p_.alpha, p_.beta)) {
      return "rounds the product of each panel to an integer; take whole alpha and beta";
    }
    auto const& row = row_of<gemm::Problem>(variant);
    std::string reason = row.unsupported_reason(problem({}));
    for (Panel panel; reason.empty() && next(panel);) {
      reason = row.unsupported_reason(problem(panel));
      if (!reason.empty()) reason += fmt::format(" in a panel of width {}", panel.width);
    }
    return reason;
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    std::size_t most = 0;
    // Of a size that fits nowhere there are too many panels to look at.
    for (Panel panel; !selected.empty() && next(panel);) {
      most = std::max(most, workloads::scratch_bytes(problem(panel), selected, device));
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
                .parts = static_cast<std::int64_t>(panels_.size()),
                .alpha = p_.alpha,
                .beta = p_.beta,
                .a = {case_.data, seed, 0},
                .b = {case_.data, seed, 1},
                .c0 = {case_.data, seed, 2}};
    own_.fill(product_, layout_, world);
    if (peer_) theirs_.fill(product_, peer_layout(), world);
    if (local_vendor_ == nullptr) return;
    workloads::fill(local_.a, rows_of_a(), product_.a, world);
    workloads::fill(local_.b, cols_of_b(), product_.b, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    peer_ran_ = &variant == &kScalapack;
    local_ran_ = &variant == &kLocalProducts;
    own_.reset(p_.beta, world);
    if (peer_) theirs_.reset(p_.beta, world);
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    if (peer_ran_) {
      world.stream().run([this] {
        peer_->multiply(m_, n_, k_, p_.alpha, theirs_.a.view(), theirs_.b.view(), p_.beta,
                        theirs_.c.view());
      });
      return;
    }
    if (&variant == &kLocalProducts) return local_vendor_->launch(local_, world.stream());
    // Begins when the run before it has ended: its first panels would overwrite buffers that are
    // still multiplied, and in a batch one run would hide what the next one waits for.
    world.stream().record(begun_);
    world.comm_stream().wait(begun_);
    if (leg == Leg::communicate) {
      communicate_only(world);
    } else {
      pipeline(world, leg, row_of<gemm::Problem>(variant));
    }
  }

  measure::Verdict validate(comm::World& world) override {
    if (peer_ran_)
      return check_product(product_, peer_layout(), theirs_.c.view(), world, case_.check);
    return check_product(product_, layout_, own_.c.view(), world, case_.check);
  }

  std::vector<measure::Field> fields() override {
    if (local_ran_) {
      return {measure::input(local_.a), measure::input(local_.b),
              measure::output(field("C", own_.c.view(), layout_.c))};
    }
    ProductLayout const layout = peer_ran_ ? peer_layout() : layout_;
    Operands const& operands = peer_ran_ ? theirs_ : own_;
    return {measure::input(field("A", operands.a.view(), layout.a)),
            measure::input(field("B", operands.b.view(), layout.b)),
            measure::output(field("C", operands.c.view(), layout.c))};
  }

 private:
  /// Columns of A and rows of B, inside one block of both.
  struct Panel {
    std::size_t index = 0;
    std::int64_t first = 0;
    std::int64_t width = 0;  ///< 0: none
  };
  struct Operands {
    device::Matrix a, b, c, c0;

    void allocate(ProductLayout const& layout, core::DataType type, double beta,
                  comm::World& world) {
      auto const make = [&](Layout const& part) {
        return device::Matrix{world.device(), type, part.local_rows(), part.local_cols(),
                              world.stream()};
      };
      a = make(layout.a);
      b = make(layout.b);
      c = make(layout.c);
      if (beta != 0) c0 = make(layout.c);
    }
    void fill(Product const& product, ProductLayout const& layout, comm::World const& world) const {
      workloads::fill(a.view(), layout.a, product.a, world);
      workloads::fill(b.view(), layout.b, product.b, world);
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
  /// One panel buffer: its halves, what fills them, and when its last product is done.
  struct Slot {
    device::Matrix a, b;
    comm::Request a_arrived, b_arrived;
    device::Event computed;
  };

  /// From one panel to the next, from none to the first; false behind the last.
  bool next(Panel& panel) const {
    if (panel.width > 0) ++panel.index;
    panel.first += panel.width;
    if (panel.first >= k_) return false;
    panel.width = std::min({p_.panel, layout_.a.cols.block_end(panel.first) - panel.first,
                            layout_.b.rows.block_end(panel.first) - panel.first});
    return true;
  }

  void allocate(comm::World& world, measure::Selection const& selected) {
    grid_ = comm::Grid{world.group(), shape_};
    own_.allocate(layout_, case_.type, p_.beta, world);
    a_ = own_.a.view();
    b_ = own_.b.view();
    c_ = own_.c.view();
    std::int64_t widest = 0;
    for (Panel panel; next(panel);) {
      panels_.push_back(panel);
      widest = std::max(widest, panel.width);
    }
    double const scratch = scratch_bytes(selected, world.device().facts());
    scratch_ = product_scratch(static_cast<std::size_t>(scratch), world);
    begun_ = device::Event{world.device()};
    for (Slot& slot : slots_) {
      slot.computed = device::Event{world.device()};
      if (shape_.cols > 1)
        slot.a = {world.device(), case_.type, layout_.a.local_rows(), widest, world.stream()};
      if (shape_.rows > 1)
        slot.b = {world.device(), case_.type, widest, layout_.b.local_cols(), world.stream()};
    }
    comm::Transport& transport = world.transport(case_.transport, case_.throttle);
    if (shape_.cols > 1) row_channel_ = transport.connect(grid_.row_group());
    if (shape_.rows > 1) col_channel_ = transport.connect(grid_.col_group());
    if (has(selected, kScalapack)) {
      peer_.emplace(world, grid_);
      theirs_.allocate(peer_layout(), case_.type, p_.beta, world);
    }
    if (!has(selected, kLocalProducts)) return;
    local_vendor_ = vendor_of(world.device());
    local_a_ = {world.device(), case_.type, local_.a.rows, local_.a.cols, world.stream()};
    local_b_ = {world.device(), case_.type, local_.b.rows, local_.b.cols, world.stream()};
    local_.a = local_a_.view();
    local_.b = local_b_.view();
    local_.c = c_;
  }

  static bool has(measure::Selection const& selected, kernels::VariantInfo const& variant) {
    return std::ranges::find(selected, &variant) != selected.end();
  }

  // What this rank's part of C is made of.
  Layout rows_of_a() const { return {layout_.a.rows, {k_, 0, 1}, layout_.a.row_part, 0}; }
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
  ProductLayout peer_layout() const {
    return {peer_->layout(m_, k_), peer_->layout(k_, n_), peer_->layout(m_, n_), true};
  }

  Slot const& slot_of(Panel const& panel) const { return slots_[panel.index % slots_.size()]; }
  Slot& slot_of(Panel const& panel) { return slots_[panel.index % slots_.size()]; }

  // A panel of A is a strided part of the owner's block; along a one-column grid it is used there.
  device::MatrixView a_panel(Panel const& panel) const {
    std::int64_t const rows = layout_.a.local_rows();
    if (panel.width == 0) return {nullptr, case_.type, rows, 0, 0};
    if (shape_.cols == 1) return a_.block(0, panel.first, rows, panel.width);
    return {slot_of(panel).a.view().data, case_.type, rows, panel.width, panel.width};
  }

  // A panel of B is contiguous in its owner, which sends and multiplies it in place.
  device::MatrixView b_panel(Panel const& panel) const {
    std::int64_t const cols = layout_.b.local_cols();
    if (panel.width > 0 && layout_.b.rows.owner(panel.first) == layout_.b.row_part) {
      return b_.block(layout_.b.rows.local(panel.first), 0, panel.width, cols);
    }
    return {slot_of(panel).b.view().data, case_.type, panel.width, cols, cols};
  }

  /// What a rank computes of one panel; of none where k is 0.
  gemm::Problem problem(Panel const& panel) const {
    gemm::Problem p;
    p.a = a_panel(panel);
    p.b = b_panel(panel);
    p.c = c_;
    p.alpha = p_.alpha;
    p.beta = panel.first == 0 ? p_.beta : 1;
    p.compute = case_.compute;
    p.scratch = scratch_.data();
    p.scratch_bytes = scratch_.bytes();
    return p;
  }

  void send_panel(comm::World& world, Panel const& p) {
    device::StreamView const stream = world.comm_stream();
    Slot& slot = slot_of(p);
    std::size_t const s = core::size_of(case_.type);
    if (row_channel_) {
      int const owner = layout_.a.cols.owner(p.first);
      device::MatrixView const to = a_panel(p);
      if (owner == layout_.a.col_part) {
        device::MatrixView const from =
            a_.block(0, layout_.a.cols.local(p.first), to.rows, p.width);
        stream.copy_2d(to.data, static_cast<std::size_t>(to.ld) * s, from.data,
                       static_cast<std::size_t>(from.ld) * s, static_cast<std::size_t>(p.width) * s,
                       static_cast<std::size_t>(to.rows));
      }
      slot.a_arrived = row_channel_->broadcast(
          {to.data, static_cast<std::size_t>(to.rows * p.width) * s}, owner, stream, p_.broadcast);
    }
    if (col_channel_) {
      device::MatrixView const panel = b_panel(p);
      slot.b_arrived =
          col_channel_->broadcast({panel.data, static_cast<std::size_t>(panel.cols * p.width) * s},
                                  layout_.b.rows.owner(p.first), stream, p_.broadcast);
    }
  }

  void pipeline(comm::World& world, Leg leg, kernels::Variant<gemm::Problem> const& variant) {
    device::StreamView const compute = world.stream();
    for (Panel const& panel : panels_) {
      Slot& slot = slot_of(panel);
      if (leg != Leg::compute) {
        // The slot is free once its last product is done; waiting for the newest product instead
        // leaves nothing to overlap.
        if (panel.index >= slots_.size()) world.comm_stream().wait(slot.computed);
        if (leg == Leg::serial && panel.index > 0) {
          world.comm_stream().wait(slot_of(panels_[panel.index - 1]).computed);
        }
        send_panel(world, panel);
        slot.a_arrived.wait_on(compute);
        slot.b_arrived.wait_on(compute);
      }
      variant.launch(problem(panel), compute);
      compute.record(slot.computed);
    }
    if (panels_.empty()) variant.launch(problem({}), compute);
  }

  void communicate_only(comm::World& world) {
    for (Panel const& panel : panels_) {
      Slot& slot = slot_of(panel);
      if (panel.index >= slots_.size()) {
        slot.a_arrived.wait_on(world.comm_stream());
        slot.b_arrived.wait_on(world.comm_stream());
      }
      send_panel(world, panel);
    }
    for (Slot& slot : slots_) {
      slot.a_arrived.wait_on(world.stream());
      slot.b_arrived.wait_on(world.stream());
    }
  }

  core::Case case_;
  Parameters p_;
  std::int64_t m_, n_, k_;
  core::GridShape shape_;
  ProductLayout layout_;
  std::vector<Panel> panels_;
  Product product_;
  bool prepared_ = false;
  bool peer_ran_ = false, local_ran_ = false;
  comm::Grid grid_;
  Operands own_, theirs_;
  device::MatrixView a_, b_, c_;  // own; unallocated() before prepare()
  device::Buffer<std::byte> scratch_;
  std::vector<Slot> slots_;
  device::Event begun_;
  std::unique_ptr<comm::Channel> row_channel_, col_channel_;
  std::optional<Scalapack> peer_;
  // local_products, where it runs.
  kernels::Variant<gemm::Problem> const* local_vendor_ = nullptr;
  device::Matrix local_a_, local_b_;
  gemm::Problem local_;  // without memory before prepare()
};

measure::Selection rows() {
  measure::Selection all = rows_of(gemm::variants());
  all.push_back(&kLocalProducts);
  if (has_scalapack()) all.push_back(&kScalapack);
  return all;
}

}  // namespace

namespace entries {

extern measure::WorkloadEntry const summa{
    .schema = {.name = "summa",
               .extents = {"m", "n", "k"},
               .keys = {.transport = true, .grid = true, .legs = true, .compute = true},
               .defaults = core::Parameters{Parameters{}},
               .options = {core::options::count("panel", core::options::at(&Parameters::panel),
                                                "width of a panel",
                                                {.least = 1, .unit = "elements"}),
                           core::options::count("buffers", core::options::at(&Parameters::buffers),
                                                "panel buffers, 1 to 3", {.least = 1, .most = 3}),
                           core::options::count("block", core::options::at(&Parameters::block),
                                                "block-cyclic block; 0: one block per process",
                                                {.unit = "elements"}),
                           core::options::choice("broadcast",
                                                 core::options::at(&Parameters::broadcast),
                                                 "how a broadcast travels"),
                           core::options::number("alpha", core::options::at(&Parameters::alpha),
                                                 "C = alpha A B + beta C"),
                           core::options::number("beta", core::options::at(&Parameters::beta),
                                                 "C = alpha A B + beta C")},
               .variants = measure::names_of(rows())},
    .summary = "C = alpha A B + beta C on a process grid, panels broadcast under the product",
    .work = "2 m n k flop",
    .local = false,
    .variants = rows(),
    .make = measure::make<Summa>,
};

}  // namespace entries

}  // namespace quadrille::workloads
