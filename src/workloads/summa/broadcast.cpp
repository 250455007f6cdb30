// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/trace.hpp"
#include "workloads/summa/operand_schedule.hpp"
#include "workloads/summa/panel_operand.hpp"
#include "workloads/tables.hpp"

#include <algorithm>
#include <optional>
#include <ranges>

namespace quadrille::workloads::summa {

using measure::Leg;

namespace {

// A panel's product is to be long against what joins two of them, and a ring deep enough for the
// others' panels to arrive while own ones are multiplied. Wider ones are chosen from where all that the
// ring must hold is no more than what the rank owns.
constexpr std::int64_t kNarrowest = 256, kWideForAll = 4096, kMaxChosen = 4;

/// What a trace calls the work on these panels.
void label(comm::World const& world, std::vector<std::size_t> const& panels) {
  device::Trace* const trace = world.device().trace();
  if (trace == nullptr) return;
  trace->set_label(
      fmt::format("panel{} {}", panels.size() == 1 ? "" : "s", fmt::join(panels, ", ")));
}

/// The owners of a panel of A broadcast it along their rows, those of a panel of B along their columns,
/// into a ring of buffers, while the compute stream multiplies earlier ones into C. Owners take turns,
/// so that all ranks wait equally long. What a rank owns of both it multiplies ahead of its turn, as far
/// as the ring lets the others' panels arrive meanwhile, and neighbouring ones in one product. Events,
/// not host waits, order the two streams. Where a transport shares memory, ranks read panels from their
/// owners', or hosts multiply them there.
/// (R. van de Geijn, J. Watts: SUMMA, 1997.)
class BroadcastSchedule final : public OperandSchedule {
 public:
  /// Where a measurement chooses, the largest that it may choose, until it has.
  BroadcastSchedule(core::Case const& spec, Division const& division)
      : case_{spec},
        p_{spec.parameters.as<Parameters>()},
        division_{division},
        widths_{p_.panel == kAuto ? candidate_widths() : std::vector{p_.panel}},
        a_{PanelOperand::Kind::a, division, p_.buffers == kAuto ? kMaxChosen : p_.buffers},
        b_{PanelOperand::Kind::b, division, p_.buffers == kAuto ? kMaxChosen : p_.buffers} {
    if (p_.buffers == kAuto) p_.buffers = kMaxChosen;
    p_.panel = widths_.back();
  }

  std::string unsupported_reason() const override {
    std::int64_t const block = division_.k_block();
    return block < p_.panel ? steps_problem(division_.k, block, "block")
                            : steps_problem(division_.k, p_.panel, "panel");
  }

  comm::Traffic traffic() const override {
    return {comm::Operation::broadcast, static_cast<double>(core::size_of(division_.type)) *
                                            division_.across() *
                                            static_cast<double>(std::min(division_.k, p_.panel))};
  }

  /// As widths_of_buffers(), but without a list of panels, which may be long where no memory would do.
  double memory_bytes() const override {
    std::int64_t a = 0, b = 0, strided = 0;
    for (std::int64_t const width : widths_) {
      a = std::max(a, a_.buffered(width));
      b = std::max(b, b_.buffered(width));
      std::int64_t const panel = std::min(width, division_.k_block());
      if (panel < division_.layout.a.local_cols()) strided = std::max(strided, panel);
    }
    double const of_a =
        division_.grid.cols > 1 ? static_cast<double>(a + PanelOperand::kPacks * strided) : 0;
    double const of_b = division_.grid.rows > 1 ? static_cast<double>(b) : 0;
    return static_cast<double>(core::size_of(division_.type)) *
           (of_a * division_.max_rows() + of_b * division_.max_cols());
  }
  std::int64_t width() const override { return p_.panel; }
  std::vector<std::int64_t> widths() const override { return widths_; }

  void for_products(std::int64_t width, Use const& use) const override {
    std::vector<Panel> const panels = travelling(division_, width);
    for (Step const& step : steps_of(division_, panels, static_cast<std::size_t>(p_.buffers))) {
      apply(panels[step.first], step, use);
      apply(panels[step.first], alone(panels[step.first]), use);
    }
  }

  /// Ranks read others' panels where they are, or get them by messages.
  void connect(comm::World& world, Channels const& channels) override {
    bool const reads = p_.broadcast == comm::Broadcast::library &&
                       world.transport_entry(case_.transport, case_.throttle).shares_windows;
    a_.connect(channels.row, reads);
    b_.connect(channels.col, reads);
  }
  comm::Window const* a_window() const override { return a_.window(); }
  comm::Window const* b_window() const override { return b_.window(); }

  void allocate(comm::World& world, device::MatrixView const& a,
                device::MatrixView const& b) override {
    set_panel(p_.panel);
    Widths const most = widths_of_buffers();
    a_.allocate(world, a, most.a, most.strided);
    b_.allocate(world, b, most.b, 0);
    multiplied_ = device::Event{world.device()};
  }

  /// The width of the fastest run, from the widest down to where they become slower: wide panels multiply at
  /// the best rate, narrow ones begin sooner.
  std::string choose(Trial const& trial) override {
    auto const& asked = case_.parameters.as<Parameters>();
    if (asked.panel != kAuto) return {};
    constexpr double kSlower = 1.1;
    std::optional<double> best_s;
    std::int64_t best_width = p_.panel;
    for (std::int64_t const width : widths_ | std::views::reverse) {
      if (!trial.takes(width)) continue;
      set_panel(width);
      double const seconds = trial.seconds();
      if (best_s && seconds > kSlower * *best_s) break;
      if (best_s && seconds >= *best_s) continue;
      best_s = seconds;
      best_width = width;
    }
    set_panel(best_width);
    return fmt::format("panel = {}, buffers = {}", p_.panel, p_.buffers);
  }

  std::int64_t parts() const override { return std::ssize(panels_); }

  void reset(device::StreamView stream) const override {
    a_.reset(stream);
    b_.reset(stream);
  }

  void run(comm::World& world, Leg leg, Use const& multiply) override {
    if (leg != Leg::compute) {
      a_.begin_reads(world.comm_stream());
      b_.begin_reads(world.comm_stream());
    }
    if (leg == Leg::communicate) {
      communicate_only(world);
    } else if (leg == Leg::serial) {
      one_after_the_other(world, multiply);
    } else {
      pipeline(world, leg, multiply);
    }
    if (leg != Leg::compute && has_windows()) end_reads(world);
  }

  void await_readers(device::StreamView stream) const override {
    a_.await_readers(stream);
    b_.await_readers(stream);
  }

 private:
  /// In indices of k, for any width that may be chosen.
  struct Widths {
    std::int64_t a = 0, b = 0;  ///< of the rings
    std::int64_t strided = 0;   ///< of a panel of A that is not sent as it lies
  };
  Widths widths_of_buffers() const {
    Widths most;
    for (std::int64_t const width : widths_) {
      std::vector<Panel> const panels = travelling(division_, width);
      most.a = std::max(most.a, a_.buffered(panels));
      most.b = std::max(most.b, b_.buffered(panels));
      // Only a panel of all that the rank owns is sent as it lies; of B any.
      for (Panel const& panel : panels) {
        if (a_.is_strided(panel)) most.strided = std::max(most.strided, panel.width);
      }
    }
    return most;
  }

  /// Doublings up to what each rank owns of k, the same on all ranks; that one is sent as it lies.
  std::vector<std::int64_t> candidate_widths() const {
    std::int64_t const k = division_.k, whole = (k + division_.grid.cols - 1) / division_.grid.cols;
    std::int64_t const widest = std::max<std::int64_t>(1, std::min(whole, division_.k_block()));
    std::vector<std::int64_t> widths;
    for (std::int64_t w = kNarrowest; w < 2 * widest; w *= 2) {
      std::int64_t const width = std::min(w, widest);
      bool const fits = std::min(kMaxChosen * width, k - widest) <= widest;
      if (fits || width <= kWideForAll) widths.push_back(width);
    }
    return widths.empty() ? std::vector{widest} : widths;
  }

  void apply(Panel const& panel, Step const& step, Use const& use) const {
    use(a_.view(panel, step.width), b_.view(panel, step.width), step.is_first);
  }

  void set_panel(std::int64_t width) {
    p_.panel = width;
    panels_ = travelling(division_, width);
    steps_ = steps_of(division_, panels_, static_cast<std::size_t>(p_.buffers));
    a_.set_panels(panels_);
    b_.set_panels(panels_);
  }

  bool has_windows() const { return a_.window() != nullptr || b_.window() != nullptr; }

  void pipeline(comm::World& world, Leg leg, Use const& use) {
    device::StreamView const compute = world.stream();
    std::size_t sent = leg == Leg::compute ? panels_.size() : 0;
    Panel behind;  // the first that is not multiplied yet, of those that take a buffer
    // Waiting for the newest product instead would leave nothing to overlap.
    auto const has_buffers = [&](Panel const& panel) {
      return a_.has_buffer(panel, behind) && b_.has_buffer(panel, behind);
    };
    auto const send_ahead = [&] {
      while (sent < panels_.size() && has_buffers(panels_[sent])) send(world, panels_[sent++]);
    };
    for (Step const& step : steps_) {
      Panel const& panel = panels_[step.first];
      // Reads of panels take no multiprocessor, and own ones need not wait until they are enqueued. What
      // sends by kernels must be there before a product takes all.
      bool const is_first = has_windows() && panel.is_own();
      if (!is_first) send_ahead();
      if (leg != Leg::compute) await(panel, compute);
      multiply(world, step, use);
      if (is_first) send_ahead();
      behind.a.received += panel.a.is_own ? 0 : 1;
      behind.b.received += panel.b.is_own ? 0 : 1;
    }
    while (sent < panels_.size()) send(world, panels_[sent++]);
    if (leg != Leg::compute) await_all(compute);
  }

  void one_after_the_other(comm::World& world, Use const& use) {
    for (Panel const& panel : panels_) {
      world.comm_stream().wait(multiplied_);
      send(world, panel);
      await_all(world.stream());
      multiply(world, alone(panel), use);
      world.stream().record(multiplied_);
    }
  }

  void communicate_only(comm::World& world) {
    for (Panel const& panel : panels_) {
      await(panel, world.comm_stream());
      send(world, panel);
    }
    await_all(world.stream());
  }

  void send(comm::World& world, Panel const& panel) {
    label(world, {panel.index});
    a_.send(panel, p_.broadcast, world.comm_stream());
    b_.send(panel, p_.broadcast, world.comm_stream());
  }

  void multiply(comm::World& world, Step const& step, Use const& use) {
    label(world, step.panels);
    apply(panels_[step.first], step, use);
    a_.release(panels_[step.first], world.stream());
    b_.release(panels_[step.first], world.stream());
  }

  void await(Panel const& panel, device::StreamView stream) const {
    a_.await(panel, stream);
    b_.await(panel, stream);
  }

  void await_all(device::StreamView stream) const {
    a_.await_all(stream);
    b_.await_all(stream);
  }

  void end_reads(comm::World const& world) {
    device::StreamView const stream = world.comm_stream();
    if (a_.is_in_place() || b_.is_in_place()) {
      world.stream().record(multiplied_);
      stream.wait(multiplied_);
    }
    await_all(stream);
    a_.end_reads(stream);
    b_.end_reads(stream);
  }

  core::Case case_;
  Parameters p_;
  Division division_;
  std::vector<std::int64_t> widths_;  ///< of which one is chosen
  PanelOperand a_, b_;
  std::vector<Panel> panels_;
  std::vector<Step> steps_;
  device::Event multiplied_;
};

}  // namespace

std::unique_ptr<OperandSchedule> make_broadcast(core::Case const& spec, Division const& division) {
  return std::make_unique<BroadcastSchedule>(spec, division);
}

}  // namespace quadrille::workloads::summa
