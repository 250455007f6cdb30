// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/ptrans/packing.hpp"

#include <algorithm>
#include <numeric>

namespace quadrille::workloads::ptrans {

void for_kinds_of_steps(Division const& division, std::int64_t n,
                        std::function<void(std::size_t t)> const& f) {
  constexpr std::int64_t kAlignment = 256;  // of what a device allocates
  auto const steps = static_cast<std::int64_t>(division.steps);
  if (steps == 0) return;
  std::int64_t const longer = n % steps;
  auto const visit = [&](std::int64_t first, std::int64_t end, std::int64_t rows) {
    auto const bytes = rows * static_cast<std::int64_t>(division.size());
    std::int64_t const period = kAlignment / std::gcd(kAlignment, bytes);
    for (std::int64_t t = first; t < std::min(end, first + period); ++t) {
      f(static_cast<std::size_t>(t));
    }
  };
  visit(0, longer, n / steps + 1);
  visit(longer, steps, n / steps);
}

namespace {

/// A piece that takes all columns of its sender lies together in A, as on square grids and those of one
/// row: it is sent from there, on `ipc` read by its receiver, which transposes it into B. Any other is
/// packed by a local transpose and unpacked by a copy.
class PackingOfPairs final : public Packing {
 public:
  explicit PackingOfPairs(Division const& division)
      : division_{division},
        a_{unallocated(division.a, division.type)},
        b_{unallocated(division.b, division.type)} {}

  void for_transposes(Transpose const& ask) const override {
    int const rank = division_.rank;
    for (int r = 0; r < division_.ranks; ++r) {
      Pair const out = division_.pair(rank, r), in = division_.pair(r, rank);
      bool const is_own = r == rank;
      for_kinds_of_steps(division_, out.rows.count, [&](std::size_t t) {
        if (is_own || out.in_place || is_empty(out, t)) return;
        ask(piece_of_a(out, t), packed(out, t, a_.data));
      });
      for_kinds_of_steps(division_, in.rows.count, [&](std::size_t t) {
        if (is_empty(in, t)) return;
        if (is_own) ask(piece_of_a(in, t), place_in_b(in, t));
        if (!is_own && in.in_place) ask(packed(in, t, a_.data), place_in_b(in, t));
      });
    }
  }

  void allocate(comm::World&, device::MatrixView const& a, device::MatrixView const& b) override {
    a_ = a;
    b_ = b;
    for (int r = 0; r < division_.ranks; ++r) {
      to_.push_back(division_.pair(division_.rank, r));
      from_.push_back(division_.pair(r, division_.rank));
      if (r == division_.rank || division_.steps == 0) continue;
      // The largest step comes first: sizes of split_evenly never grow.
      if (!to_.back().in_place) send_bytes_ += bytes(to_.back(), 0);
      receive_bytes_ += bytes(from_.back(), 0);
    }
  }
  std::size_t send_bytes() const override { return send_bytes_; }
  std::size_t receive_bytes() const override { return receive_bytes_; }

  void place(Slot& slot, std::size_t t) const override {
    std::size_t out = 0, in = 0;
    for (int r = 0; r < division_.ranks; ++r) {
      std::size_t const i = comm::index(r);
      if (r == division_.rank) continue;
      slot.send[i] = {slot.to_send.data() + out, bytes(to_[i], t)};
      slot.receive[i] = {slot.received.data() + in, bytes(from_[i], t)};
      if (to_[i].in_place) {
        slot.send[i].data = piece_of_a(to_[i], t).data;
      } else {
        out += slot.send[i].bytes;
      }
      in += slot.receive[i].bytes;
    }
  }

  void pack(Slot const& slot, std::size_t t, Transpose const& transpose,
            device::StreamView) const override {
    for (int r = 0; r < division_.ranks; ++r) {
      Pair const& p = to_[comm::index(r)];
      if (r == division_.rank || p.in_place || is_empty(p, t)) continue;
      transpose(piece_of_a(p, t), packed(p, t, slot.send[comm::index(r)].data));
    }
  }

  void keep(Slot const&, std::size_t t, Transpose const& transpose,
            device::StreamView) const override {
    Pair const& p = to_[comm::index(division_.rank)];
    if (!is_empty(p, t)) transpose(piece_of_a(p, t), place_in_b(p, t));
  }

  void unpack(Slot const& slot, std::size_t t, Transpose const& transpose,
              device::StreamView stream) const override {
    for (int r = 0; r < division_.ranks; ++r) {
      Pair const& p = from_[comm::index(r)];
      if (r == division_.rank || is_empty(p, t)) continue;
      device::MatrixView const from = packed(p, t, slot.receive[comm::index(r)].data);
      device::MatrixView const into = place_in_b(p, t);
      if (p.in_place) {
        transpose(from, into);
        continue;
      }
      std::size_t const row_bytes = division_.bytes_of(from.cols);
      stream.copy_2d(into.data, division_.bytes_of(into.ld), from.data, row_bytes, row_bytes,
                     static_cast<std::size_t>(into.rows));
    }
  }

 private:
  core::Range step(Pair const& p, std::size_t t) const { return division_.part(p.rows.count, t); }
  std::size_t bytes(Pair const& p, std::size_t t) const {
    return division_.bytes_of(step(p, t).count * p.cols.count);
  }
  bool is_empty(Pair const& p, std::size_t t) const {
    return step(p, t).count == 0 || p.cols.count == 0;
  }
  /// What a rank sends of A in step t, in its A.
  device::MatrixView piece_of_a(Pair const& p, std::size_t t) const {
    core::Range const part = step(p, t);
    return a_.block(p.rows.a + part.first, p.cols.a, part.count, p.cols.count);
  }
  /// Where it belongs in B.
  device::MatrixView place_in_b(Pair const& p, std::size_t t) const {
    core::Range const part = step(p, t);
    return b_.block(p.cols.b, p.rows.b + part.first, p.cols.count, part.count);
  }
  /// As it travels: as it lies in A, or else transposed.
  device::MatrixView packed(Pair const& p, std::size_t t, void const* piece) const {
    std::int64_t const rows = step(p, t).count, cols = p.cols.count;
    void* const data = const_cast<void*>(piece);
    if (p.in_place) return {data, division_.type, rows, cols, cols};
    return {data, division_.type, cols, rows, rows};
  }

  Division division_;
  device::MatrixView a_, b_;     // unallocated() at first
  std::vector<Pair> to_, from_;  // by rank
  std::size_t send_bytes_ = 0, receive_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Packing> make_packing_of_pairs(Division const& division) {
  return std::make_unique<PackingOfPairs>(division);
}

}  // namespace quadrille::workloads::ptrans
