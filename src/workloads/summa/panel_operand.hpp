// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/summa/panels.hpp"

#include <array>
#include <memory>
#include <vector>

namespace quadrille::workloads::summa {

/// A or B, of which panels travel: their owners broadcast them along the rows or columns of the grid into
/// a ring of buffers, or the others read them where they are.
class PanelOperand {
 public:
  /// Panels are columns of A, or rows of B.
  enum class Kind { a, b };
  // Of the buffers in which own panels are packed, one is filled while the other one is sent.
  static constexpr std::int64_t kPacks = 2;
  static constexpr std::int64_t kAlignment = 256;  // bytes, of each buffer

  PanelOperand(Kind kind, Division const& division, std::int64_t buffers);

  /// These come from now on.
  void set_panels(std::vector<Panel> const& panels) { slot_width_ = slot_width(panels); }
  /// Indices of k of all buffers, as far as panels up to this width take them; 0 where none comes.
  std::int64_t buffered(std::int64_t width) const;
  /// The same of these panels, whose ends may be anywhere.
  std::int64_t buffered(std::vector<Panel> const& panels) const;
  /// The channel may be null. Collective where ranks read each other's panels.
  void connect(comm::Channel* channel, bool reads);
  comm::Window const* window() const { return window_.get(); }
  /// `packs`: some own panels are not sent as they lie.
  /// `buffered`: the most of buffered(), `strided`: the widest of such panels, or 0.
  void allocate(comm::World const& world, device::MatrixView const& own, std::int64_t buffered,
                std::int64_t strided);
  /// Whether it is an own one with gaps, as it lies.
  bool is_strided(Panel const& panel) const;

  /// Where this rank multiplies the panel, and as many indices of k from there as a step has.
  device::MatrixView view(Panel const& panel, std::int64_t width) const;
  /// Whether others' panels have no buffer.
  bool is_in_place() const { return window_ && channel_->reads_in_place(); }
  /// Whether the panel has a buffer once those before `behind` are multiplied.
  bool has_buffer(Panel const& panel, Panel const& behind) const {
    return part(panel).is_own || part(panel).received < part(behind).received + slots_.size();
  }

  void reset(device::StreamView stream) const;
  /// A panel travels once the buffer that it takes on this rank is free.
  void send(Panel const& panel, comm::Broadcast algorithm, device::StreamView stream);
  /// Later work of the stream begins when the panel is there, or what its buffer held before.
  void await(Panel const& panel, device::StreamView stream) const;
  /// ... when all that was sent has arrived.
  void await_all(device::StreamView stream) const { last_.wait_on(stream); }
  /// The panel has been multiplied, in the order of the stream.
  void release(Panel const& panel, device::StreamView stream);

  /// Panels may be read once their owners have come as far.
  void begin_reads(device::StreamView stream);
  /// This rank's may change when all others are through with them. That is no part of the product, and
  /// waited for by what comes next.
  void end_reads(device::StreamView stream);
  void await_readers(device::StreamView stream) const { ended_.wait_on(stream); }

 private:
  /// A buffer for a panel that comes from another rank.
  struct Slot {
    comm::Request arrived;
    device::Event multiplied;  ///< with what it held
  };
  struct Pack {
    device::Matrix panel;
    comm::Request sent;
  };

  std::int64_t slot_width(std::int64_t widest) const;
  std::int64_t slot_width(std::vector<Panel> const& panels) const;
  Panel::Part const& part(Panel const& panel) const { return kind_ == Kind::a ? panel.a : panel.b; }
  /// Whether it is packed to be sent.
  bool is_packed(Panel const& panel) const {
    return channel_ != nullptr && !window_ && is_strided(panel);
  }
  Slot& slot(Panel const& panel) { return slots_[part(panel).received % slots_.size()]; }
  Slot const& slot(Panel const& panel) const {
    return slots_[part(panel).received % slots_.size()];
  }
  comm::Distribution const& k() const { return kind_ == Kind::a ? layout_.cols : layout_.rows; }
  /// Indices of k of an owner's matrix.
  device::MatrixView block(device::MatrixView const& whole, std::int64_t first,
                           std::int64_t width) const;
  device::MatrixView packed(device::Matrix const& memory, std::int64_t first,
                            std::int64_t width) const;
  device::MatrixView at_owner(Panel const& panel, std::int64_t width) const;
  void read(Panel const& panel, device::StreamView stream);
  void broadcast(Panel const& panel, comm::Broadcast algorithm, device::StreamView stream);

  Kind kind_;
  Layout layout_;
  core::DataType type_;
  int layers_, layer_;
  std::int64_t k_block_;
  device::MatrixView own_;  ///< unallocated() at first
  std::vector<Slot> slots_;
  device::Matrix ring_;  ///< one slot behind the other
  std::int64_t slot_width_ = 0;
  std::array<Pack, static_cast<std::size_t>(kPacks)> packs_;
  comm::Channel* channel_ = nullptr;
  std::unique_ptr<comm::Window> window_;  ///< where others read
  comm::Request last_, ended_;
};

}  // namespace quadrille::workloads::summa
