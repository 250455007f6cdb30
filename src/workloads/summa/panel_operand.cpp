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
      own_{unallocated(layout_, type_)},
      slots_(static_cast<std::size_t>(buffers)) {}

void PanelOperand::connect(comm::Channel* channel, bool reads) {
  channel_ = channel;
  if (channel_ != nullptr && reads) window_ = channel_->share(piece(own_).bytes);
}

void PanelOperand::allocate(comm::World const& world, device::MatrixView const& own,
                            std::int64_t widest, bool packs) {
  own_ = own;
  auto const make = [&] {
    bool const is_a = kind_ == Kind::a;
    return device::Matrix{world.device(), type_, is_a ? own_.rows : widest,
                          is_a ? widest : own_.cols, world.stream()};
  };
  for (Slot& slot : slots_) {
    slot.multiplied = device::Event{world.device()};
    if (channel_ != nullptr && !is_in_place()) slot.panel = make();
  }
  if (!packs) return;
  for (Pack& pack : packs_) pack.panel = make();
}

bool PanelOperand::is_packed(Panel const& panel) const {
  if (channel_ == nullptr || window_ || !part(panel).is_own) return false;
  device::MatrixView const own = view(panel, panel.width);
  return own.ld != own.cols;
}

device::MatrixView PanelOperand::block(device::MatrixView const& whole, std::int64_t first,
                                       std::int64_t width) const {
  return kind_ == Kind::a ? whole.block(0, first, whole.rows, width)
                          : whole.block(first, 0, width, whole.cols);
}

device::MatrixView PanelOperand::packed(device::Matrix const& memory, std::int64_t width) const {
  bool const is_a = kind_ == Kind::a;
  std::int64_t const cols = is_a ? width : own_.cols;
  return {memory.view().data, type_, is_a ? own_.rows : width, cols, cols};
}

/// Own panels are multiplied where they lie, of A a strided part of the rank's block.
device::MatrixView PanelOperand::view(Panel const& panel, std::int64_t width) const {
  if (part(panel).is_own) return block(own_, k().local(panel.first), width);
  return is_in_place() ? at_owner(panel, width) : packed(slot(panel).panel, width);
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

void PanelOperand::reset(device::StreamView stream) const {
  for (Slot const& slot : slots_) forget_received(slot.panel, own_, stream);
}

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
  last_ = into.arrived = channel_->read(*window_, owner, rows, into.panel.view().data, stream);
}

void PanelOperand::broadcast(Panel const& panel, comm::Broadcast algorithm,
                             device::StreamView stream) {
  bool const is_own = part(panel).is_own;
  device::MatrixView sent = view(panel, panel.width);
  Pack& pack = packs_[part(panel).sent % kPacks];
  if (is_packed(panel)) {
    device::MatrixView const from = std::exchange(sent, packed(pack.panel, panel.width));
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
