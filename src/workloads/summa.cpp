// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"
#include "workloads/product_check.hpp"
#include "workloads/scalapack.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace quadrille::workloads {

std::vector<kernels::VariantInfo const*> summa_rows();

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

kernels::VariantInfo const kScalapack{"scalapack",
                                      kernels::Backend::vendor,
                                      {core::DataType::f64, core::DataType::f32},
                                      "host device",
                                      "ScaLAPACK",
                                      "the peer: p?gemm on the same ranks with the same BLAS"};

/// C = alpha A B + beta C on a P x Q grid. C stays; the owners of panel t of A broadcast it along
/// their rows, those of panel t of B along their columns, into one of one to three buffers, while
/// the compute stream multiplies panel t - 1 into C. Events, not host waits, order the two.
/// (R. van de Geijn, J. Watts: SUMMA, 1997.)
class Summa final : public measure::Workload {
 public:
  Summa(core::Case const& one, int ranks, int rank)
      : case_{one},
        p_{one.parameters.as<Parameters>()},
        m_{one.size[0]},
        n_{one.size[1]},
        k_{one.size[2]} {
    shape_ = one.grid.rows > 0 ? one.grid : comm::near_square(ranks);
    int const row = rank / shape_.cols, col = rank % shape_.cols;
    comm::Distribution const rows_m{m_, p_.block, shape_.rows};
    comm::Distribution const rows_k{k_, p_.block, shape_.rows};
    comm::Distribution const cols_k{k_, p_.block, shape_.cols};
    comm::Distribution const cols_n{n_, p_.block, shape_.cols};
    layout_ = {
        {rows_m, cols_k, row, col}, {rows_k, cols_n, row, col}, {rows_m, cols_n, row, col}, true};
  }

  measure::Description describe() const override {
    measure::Description d;
    auto const m = static_cast<double>(m_), n = static_cast<double>(n_),
               k = static_cast<double>(k_);
    auto const s = static_cast<double>(core::size_of(case_.type));
    d.has_legs = true;
    d.communicates = true;
    d.amount = gemm::flop(m, n, k);
    d.unit = "FLOP/s";
    d.device_bytes = gemm::compulsory_bytes(m, n, k, p_.beta, s);
    // Every element of A must reach the Q - 1 other columns of the grid, of B the P - 1 other rows.
    d.network_bytes = s * (m * k * (shape_.cols - 1) + k * n * (shape_.rows - 1));
    d.extras = {{"received", d.network_bytes, "B/s"}};
    double const rows = std::ceil(m / shape_.rows), cols = std::ceil(n / shape_.cols);
    double const own =
        rows * std::ceil(k / shape_.cols) + std::ceil(k / shape_.rows) * cols + rows * cols;
    double const panels = static_cast<double>(p_.buffers * p_.panel) * (rows + cols);
    d.memory_bytes = s * (own * (wants_scalapack(case_) ? 2 : 1) + panels +
                          (p_.beta == 0 ? 0 : 2 * rows * cols));
    return d;
  }

  std::vector<kernels::VariantInfo const*> variants() const override { return summa_rows(); }
  std::string_view best(device::Kind kind) const override {
    return best_of(*this, case_.type, kind, {"simt_async", "thread_tile_2d", "kokkos"});
  }
  bool runs_on(kernels::VariantInfo const& variant, device::Kind kind) const override {
    return &variant == &kScalapack ? kind == device::Kind::host : variant.runs_on(kind);
  }
  std::string_view vendor_row() const override { return kScalapack.name; }
  bool has_legs(kernels::VariantInfo const& variant) const override {
    return &variant != &kScalapack;
  }

  void prepare(comm::World& world, std::uint64_t seed) override {
    if (!prepared_) allocate(world);
    prepared_ = true;
    product_ = {m_,
                n_,
                k_,
                case_.type,
                p_.alpha,
                p_.beta,
                {case_.data, seed, 0},
                {case_.data, seed, 1},
                {case_.data, seed, 2}};
    own_.fill(product_, layout_, world);
    if (peer_) {
      ProductLayout const layout = peer_layout();
      theirs_.fill(product_, layout, world);
    }
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    own_.reset(p_.beta, world);
    if (peer_) theirs_.reset(p_.beta, world);
  }

  void run(comm::World& world, Leg leg, kernels::VariantInfo const& variant) override {
    peer_ran_ = &variant == &kScalapack;
    if (peer_ran_) {
      world.stream().run([this] {
        peer_->multiply(m_, n_, k_, p_.alpha, theirs_.a.view(), theirs_.b.view(), p_.beta,
                        theirs_.c.view());
      });
      return;
    }
    if (leg == Leg::communicate) {
      communicate_only(world);
    } else {
      pipeline(world, leg, variant);
    }
  }

  // With beta the product is added to what the last one left.
  bool repeatable(kernels::VariantInfo const&) const override { return p_.beta == 0; }

  measure::Verdict validate(comm::World& world) override {
    if (peer_ran_)
      return check_product(product_, peer_layout(), theirs_.c.view(), world, case_.check);
    return check_product(product_, layout_, own_.c.view(), world, case_.check);
  }

  std::vector<device::MatrixView> outputs() override {
    return {(peer_ran_ ? theirs_ : own_).c.view()};
  }

  std::vector<measure::Field> fields() override {
    ProductLayout const layout = peer_ran_ ? peer_layout() : layout_;
    Operands const& operands = peer_ran_ ? theirs_ : own_;
    return {field("A", operands.a.view(), layout.a), field("B", operands.b.view(), layout.b),
            field("C", operands.c.view(), layout.c)};
  }

  bool misplace_waits() override {
    misplaced_ = true;
    return true;
  }

 private:
  struct Panel {
    std::int64_t first = 0;
    std::int64_t width = 0;
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

  void allocate(comm::World& world) {
    grid_ = comm::Grid{world.group(), shape_};
    own_.allocate(layout_, case_.type, p_.beta, world);
    scratch_ = product_scratch(case_.type, 0, world);
    // A panel lies inside one block of A's columns and one of B's rows.
    for (std::int64_t at = 0; at < k_;) {
      std::int64_t const end =
          std::min({at + p_.panel, layout_.a.cols.block_end(at), layout_.b.rows.block_end(at)});
      panels_.push_back({at, end - at});
      at = end;
    }
    std::int64_t widest = 0;
    for (Panel const& panel : panels_) widest = std::max(widest, panel.width);
    for (std::int64_t s = 0; s < p_.buffers; ++s) {
      Slot& slot = slots_.emplace_back();
      slot.computed = device::Event{world.device()};
      if (shape_.cols > 1)
        slot.a = {world.device(), case_.type, layout_.a.local_rows(), widest, world.stream()};
      if (shape_.rows > 1)
        slot.b = {world.device(), case_.type, widest, layout_.b.local_cols(), world.stream()};
    }
    comm::Transport& transport = world.transport(case_.transport, case_.throttle);
    if (shape_.cols > 1) row_channel_ = transport.connect(grid_.row_group());
    if (shape_.rows > 1) col_channel_ = transport.connect(grid_.col_group());
    if (wants_scalapack(case_) && world.device().kind() == device::Kind::host) {
      peer_.emplace(world, grid_);
      theirs_.allocate(peer_layout(), case_.type, p_.beta, world);
    }
  }

  ProductLayout peer_layout() const {
    return {peer_->layout(m_, k_), peer_->layout(k_, n_), peer_->layout(m_, n_), true};
  }

  Slot& slot_of(std::size_t t) { return slots_[t % slots_.size()]; }

  // A panel of A is a strided part of the owner's block; along a one-column grid it is used there.
  device::MatrixView a_panel(std::size_t t) {
    Panel const& p = panels_[t];
    if (shape_.cols == 1) return own_.a.view().block(0, p.first, layout_.a.local_rows(), p.width);
    return {slot_of(t).a.view().data, case_.type, layout_.a.local_rows(), p.width, p.width};
  }

  // A panel of B is contiguous in its owner, which sends and multiplies it in place.
  device::MatrixView b_panel(std::size_t t) {
    Panel const& p = panels_[t];
    std::int64_t const cols = layout_.b.local_cols();
    if (layout_.b.rows.owner(p.first) == layout_.b.row_part) {
      return own_.b.view().block(layout_.b.rows.local(p.first), 0, p.width, cols);
    }
    return {slot_of(t).b.view().data, case_.type, p.width, cols, cols};
  }

  void send_panel(comm::World& world, std::size_t t) {
    device::StreamView const stream = world.comm_stream();
    Slot& slot = slot_of(t);
    Panel const& p = panels_[t];
    std::size_t const s = core::size_of(case_.type);
    if (row_channel_) {
      int const owner = layout_.a.cols.owner(p.first);
      device::MatrixView const to = a_panel(t);
      if (owner == layout_.a.col_part) {
        device::MatrixView const from =
            own_.a.view().block(0, layout_.a.cols.local(p.first), to.rows, p.width);
        stream.copy_2d(to.data, static_cast<std::size_t>(to.ld) * s, from.data,
                       static_cast<std::size_t>(from.ld) * s, static_cast<std::size_t>(p.width) * s,
                       static_cast<std::size_t>(to.rows));
      }
      slot.a_arrived = row_channel_->broadcast(
          {to.data, static_cast<std::size_t>(to.rows * p.width) * s}, owner, stream, p_.broadcast);
    }
    if (col_channel_) {
      device::MatrixView const panel = b_panel(t);
      slot.b_arrived =
          col_channel_->broadcast({panel.data, static_cast<std::size_t>(panel.cols * p.width) * s},
                                  layout_.b.rows.owner(p.first), stream, p_.broadcast);
    }
  }

  void pipeline(comm::World& world, Leg leg, kernels::VariantInfo const& variant) {
    device::StreamView const compute = world.stream();
    bool const one_after_the_other = leg == Leg::serial || misplaced_;
    for (std::size_t t = 0; t < panels_.size(); ++t) {
      Slot& slot = slot_of(t);
      if (leg != Leg::compute) {
        // The slot is free once its last product is done; waiting for the newest product instead
        // leaves nothing to overlap.
        if (t >= slots_.size()) world.comm_stream().wait(slot.computed);
        if (one_after_the_other && t > 0) world.comm_stream().wait(slot_of(t - 1).computed);
        send_panel(world, t);
        slot.a_arrived.wait_on(compute);
        slot.b_arrived.wait_on(compute);
      }
      launch<gemm::Problem>(variant,
                            {a_panel(t), b_panel(t), own_.c.view(), p_.alpha, t == 0 ? p_.beta : 1,
                             false, false, scratch_.span()},
                            compute);
      compute.record(slot.computed);
    }
    if (panels_.empty()) {
      device::MatrixView const a{nullptr, case_.type, layout_.c.local_rows(), 0, 0};
      device::MatrixView const b{nullptr, case_.type, 0, layout_.c.local_cols(),
                                 layout_.c.local_cols()};
      launch<gemm::Problem>(variant, {a, b, own_.c.view(), p_.alpha, p_.beta}, compute);
    }
  }

  void communicate_only(comm::World& world) {
    for (std::size_t t = 0; t < panels_.size(); ++t) {
      Slot& slot = slot_of(t);
      if (t >= slots_.size()) {
        slot.a_arrived.wait_on(world.comm_stream());
        slot.b_arrived.wait_on(world.comm_stream());
      }
      send_panel(world, t);
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
  bool misplaced_ = false;
  bool peer_ran_ = false;
  comm::Grid grid_;
  Operands own_, theirs_;
  device::Buffer<float> scratch_;
  std::vector<Slot> slots_;
  std::unique_ptr<comm::Channel> row_channel_, col_channel_;
  std::optional<Scalapack> peer_;
};

}  // namespace

std::vector<kernels::VariantInfo const*> summa_rows() {
  std::vector<kernels::VariantInfo const*> rows = rows_of(gemm::variants());
  if (has_scalapack()) rows.push_back(&kScalapack);
  return rows;
}

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
               .variants = measure::names_of(summa_rows())},
    .summary = "C = alpha A B + beta C on a process grid, panels broadcast under the product",
    .work = "2 m n k flop",
    .local = false,
    .make = measure::make<Summa>,
    .variants = summa_rows,
};

}  // namespace entries

}  // namespace quadrille::workloads
