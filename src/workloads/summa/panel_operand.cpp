// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/summa/panel_operand.hpp"

namespace quadrille::workloads::summa {

PanelOperand::PanelOperand(Kind kind, Division const& division, std::int64_t buffers)
    : kind_{kind},
      layout_{kind == Kind::a ? division.layout.a : division.layout.b},
      type_{division.type},
      layers_{division.layers},
      layer_{division.layer},
      k_block_{division.k_block()},
      own_{unallocated(layout_, type_)},
      slots_(static_cast<std::size_t>(buffers)) {}

void PanelOperand::connect(comm::Channel* channel, bool reads) {
  channel_ = channel;
  if (channel_ != nullptr && reads) window_ = channel_->share(piece(own_).bytes);
}

std::int64_t PanelOperand::slot_width(std::int64_t widest) const {
  std::int64_t const whole = kAlignment / static_cast<std::int64_t>(core::size_of(type_));
  return (widest + whole - 1) / whole * whole;
}
std::int64_t PanelOperand::slot_width(std::vector<Panel> const& panels) const {
  std::int64_t widest = 0;
  for (Panel const& panel : panels) widest = std::max(widest, panel.width);
  return slot_width(widest);
}

std::int64_t PanelOperand::buffered(std::int64_t width) const {
  std::int64_t const own = kind_ == Kind::a ? own_.cols : own_.rows;
  std::int64_t const others = (k().size() + layers_ - 1) / layers_ - own;
  if (others <= 0) return 0;
  std::int64_t const panel = std::min(width, k_block_);
  std::int64_t const blocks = (others + k_block_ - 1) / k_block_;
  std::int64_t const panels = blocks * ((k_block_ + panel - 1) / panel);
  return std::min(panels, std::ssize(slots_)) * slot_width(panel);
}

std::int64_t PanelOperand::buffered(std::vector<Panel> const& panels) const {
  std::int64_t const others =
      std::ranges::count_if(panels, [&](Panel const& panel) { return !part(panel).is_own; });
  return std::min(others, std::ssize(slots_)) * slot_width(panels);
}

void PanelOperand::allocate(comm::World const& world, device::MatrixView const& own,
                            std::int64_t buffered, std::int64_t strided) {
  own_ = own;
  auto const make = [&](std::int64_t width) {
    bool const is_a = kind_ == Kind::a;
    return device::Matrix{world.device(), type_, is_a ? own_.rows : width, is_a ? width : own_.cols,
                          world.stream()};
  };
  for (Slot& slot : slots_) slot.multiplied = device::Event{world.device()};
  if (channel_ == nullptr) return;
  if (!is_in_place()) ring_ = make(buffered);
  if (window_ || strided == 0) return;
  for (Pack& pack : packs_) pack.panel = make(strided);
}

bool PanelOperand::is_strided(Panel const& panel) const {
  if (!part(panel).is_own) return false;
  device::MatrixView const own = view(panel, panel.width);
  return own.ld != own.cols;
}

device::MatrixView PanelOperand::block(device::MatrixView const& whole, std::int64_t first,
                                       std::int64_t width) const {
  return kind_ == Kind::a ? whole.block(0, first, whole.rows, width)
                          : whole.block(first, 0, width, whole.cols);
}

/// `width` indices of k without gaps, behind `first` others.
device::MatrixView PanelOperand::packed(device::Matrix const& memory, std::int64_t first,
                                        std::int64_t width) const {
  bool const is_a = kind_ == Kind::a;
  std::int64_t const cols = is_a ? width : own_.cols, across = is_a ? own_.rows : own_.cols;
  auto* const begin = static_cast<std::byte*>(memory.view().data) +
                      static_cast<std::size_t>(first * across) * core::size_of(type_);
  return {begin, type_, is_a ? own_.rows : width, cols, cols};
}

/// Own panels are multiplied where they lie, of A a strided part of the rank's block.
device::MatrixView PanelOperand::view(Panel const& panel, std::int64_t width) const {
  if (part(panel).is_own) return block(own_, k().local(panel.first), width);
  if (is_in_place()) return at_owner(panel, width);
  auto const place = static_cast<std::int64_t>(part(panel).received % slots_.size());
  return packed(ring_, place * slot_width_, width);
}

/// In the owner's window.
device::MatrixView PanelOperand::at_owner(Panel const& panel, std::int64_t width) const {
  Layout owners = layout_;
  int const owner = part(panel).owner;
  (kind_ == Kind::a ? owners.col_part : owners.row_part) = owner * layers_ + layer_;
  device::MatrixView whole = unallocated(owners, type_);
  whole.data = window_->memory_of(owner);
  return block(whole, k().local(panel.first), width);
}

void PanelOperand::reset(device::StreamView stream) const { forget_received(ring_, own_, stream); }

void PanelOperand::send(Panel const& panel, comm::Broadcast algorithm, device::StreamView stream) {
  if (window_) {
    if (!part(panel).is_own && !is_in_place()) read(panel, stream);
  } else if (channel_ != nullptr) {
    broadcast(panel, algorithm, stream);
  }
}

void PanelOperand::read(Panel const& panel, device::StreamView stream) {
  int const owner = part(panel).owner;
  device::MatrixView const from = at_owner(panel, panel.width);
  std::size_t const s = core::size_of(type_);
  comm::WindowRows const rows{.first = static_cast<std::size_t>(static_cast<std::byte*>(from.data) -
                                                                window_->memory_of(owner)),
                              .pitch = static_cast<std::size_t>(from.ld) * s,
                              .row_bytes = static_cast<std::size_t>(from.cols) * s,
                              .rows = static_cast<std::size_t>(from.rows)};
  Slot& into = slot(panel);
  stream.wait(into.multiplied);
  last_ = into.arrived =
      channel_->read(*window_, owner, rows, view(panel, panel.width).data, stream);
}

void PanelOperand::broadcast(Panel const& panel, comm::Broadcast algorithm,
                             device::StreamView stream) {
  bool const is_own = part(panel).is_own;
  device::MatrixView sent = view(panel, panel.width);
  Pack& pack = packs_[part(panel).sent % packs_.size()];
  if (is_packed(panel)) {
    device::MatrixView const from = std::exchange(sent, packed(pack.panel, 0, panel.width));
    std::size_t const s = core::size_of(type_), row_bytes = static_cast<std::size_t>(sent.ld) * s;
    pack.sent.wait_on(stream);
    stream.copy_2d(sent.data, row_bytes, from.data, static_cast<std::size_t>(from.ld) * s,
                   row_bytes, static_cast<std::size_t>(from.rows));
  }
  if (!is_own) stream.wait(slot(panel).multiplied);
  last_ = channel_->broadcast(piece(sent), part(panel).owner, stream, algorithm);
  (is_own ? pack.sent : slot(panel).arrived) = last_;
}

void PanelOperand::await(Panel const& panel, device::StreamView stream) const {
  if (!part(panel).is_own) slot(panel).arrived.wait_on(stream);
}

void PanelOperand::release(Panel const& panel, device::StreamView stream) {
  if (!part(panel).is_own) stream.record(slot(panel).multiplied);
}

void PanelOperand::begin_reads(device::StreamView stream) {
  if (!window_) return;
  last_ = channel_->barrier(stream);
  for (Slot& slot : slots_) slot.arrived = last_;
}

void PanelOperand::end_reads(device::StreamView stream) {
  if (window_) ended_ = channel_->barrier(stream);
}

}  // namespace quadrille::workloads::summa
