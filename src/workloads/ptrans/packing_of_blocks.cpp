// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/pack.hpp"
#include "workloads/ptrans/packing.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace quadrille::workloads::ptrans {

namespace {

namespace pack = kernels::pack;

/// Indices 0, 1, ... that belong to processes, in the order of the processes.
struct Grouping {
  std::vector<std::int64_t> starts;   // of each process, then the end
  std::vector<std::int64_t> numbers;  // of each index in that order

  template <class Owner>
  Grouping(std::int64_t n, int processes, Owner const& owner)
      : starts(static_cast<std::size_t>(processes) + 1), numbers(static_cast<std::size_t>(n)) {
    for (std::int64_t i = 0; i < n; ++i) ++starts[static_cast<std::size_t>(owner(i)) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<std::int64_t> next = starts;
    for (std::int64_t i = 0; i < n; ++i) {
      numbers[static_cast<std::size_t>(i)] = next[static_cast<std::size_t>(owner(i))]++;
    }
  }
  std::int64_t start(int process) const { return starts[static_cast<std::size_t>(process)]; }
  std::int64_t count(int process) const { return start(process + 1) - start(process); }
};

/// How a block-cyclic matrix of one rank and the pieces that it exchanges belong together, step by
/// step: a piece for each pair of a process that has to do with its rows and one that has to do with
/// its columns. The pieces of a step follow one another by the process of the columns.
class PieceLayout {
 public:
  /// `columns` are those of the matrix that a step moves, and `column_owner(step, k)` the process of
  /// the k-th of them.
  template <class ColumnOwner>
  PieceLayout(comm::World const& world, Grouping rows, int column_processes,
              std::vector<std::vector<std::int64_t>> const& columns,
              ColumnOwner const& column_owner)
      : rows_{std::move(rows)} {
    std::vector<pack::Column> all;
    auto const height = static_cast<std::int64_t>(rows_.numbers.size());
    for (std::size_t t = 0; t < columns.size(); ++t) {
      auto const width = static_cast<std::int64_t>(columns[t].size());
      auto const owner = [&](std::int64_t k) { return column_owner(t, k); };
      Grouping const& step = steps_.emplace_back(width, column_processes, owner);
      first_.push_back(static_cast<std::int64_t>(all.size()));
      max_ = std::max(max_, height * width);
      for (std::int64_t k = 0; k < width; ++k) {
        int const process = owner(k);
        std::int64_t const start = step.start(process);
        std::int64_t const inside = step.numbers[static_cast<std::size_t>(k)] - start;
        all.push_back({columns[t][static_cast<std::size_t>(k)], height * start + inside,
                       step.count(process)});
      }
    }
    device::StreamView const stream = world.stream();
    row_numbers_ = {world.device(), height, stream};
    columns_ = {world.device(), static_cast<std::int64_t>(all.size()), stream};
    stream.copy(row_numbers_.data(), rows_.numbers.data(), row_numbers_.bytes());
    stream.copy(columns_.data(), all.data(), columns_.bytes());
    stream.synchronize();
  }

  /// Elements of the largest step.
  std::int64_t max_elements() const { return max_; }
  /// Elements of the pieces before this one, and its own.
  core::Range piece(std::size_t t, int row_process, int column_process) const {
    Grouping const& step = steps_[t];
    auto const height = static_cast<std::int64_t>(rows_.numbers.size());
    std::int64_t const width = step.count(column_process);
    return {height * step.start(column_process) + rows_.start(row_process) * width,
            rows_.count(row_process) * width};
  }
  void run(pack::Direction direction, std::size_t t, device::MatrixView const& matrix,
           std::byte* pieces, device::StreamView stream) const {
    pack::pack(direction,
               {.matrix = matrix,
                .rows = row_numbers_.data(),
                .columns = columns_.data() + first_[t],
                .column_count = static_cast<std::int64_t>(steps_[t].numbers.size()),
                .pieces = pieces},
               stream);
  }

 private:
  Grouping rows_;
  std::vector<Grouping> steps_;      // of the columns of each
  std::vector<std::int64_t> first_;  // of their columns in columns_
  std::int64_t max_ = 0;
  device::Buffer<std::int64_t> row_numbers_;
  device::Buffer<pack::Column> columns_;
};

/// A block-cyclic distribution has many small blocks for every pair of ranks: a step transposes a part of
/// the rows as a whole, and one launch packs it into the pieces of all ranks, another what comes in.
class PackingOfBlocks final : public Packing {
 public:
  explicit PackingOfBlocks(Division const& division)
      : division_{division}, a_{unallocated(division.a, division.type)} {}

  void for_transposes(Transpose const& ask) const override {
    for_kinds_of_steps(division_, a_.rows, [&](std::size_t t) {
      transpose_rows(t, static_cast<std::byte*>(a_.data), ask);
    });
  }

  void allocate(comm::World& world, device::MatrixView const& a,
                device::MatrixView const& b) override {
    a_ = a;
    b_ = b;
    find_sent(world);
    find_received(world);
    transposed_ = {world.device(), static_cast<std::int64_t>(send_bytes()), world.stream()};
  }
  std::size_t send_bytes() const override { return division_.bytes_of(sent_->max_elements()); }
  std::size_t receive_bytes() const override {
    return division_.bytes_of(received_->max_elements());
  }

  void place(Slot& slot, std::size_t t) const override {
    for (int r = 0; r < division_.ranks; ++r) {
      if (r == division_.rank) continue;
      slot.send[comm::index(r)] = sent_piece(slot, t, r);
      slot.receive[comm::index(r)] = received_piece(slot, t, r);
    }
  }

  void pack(Slot const& slot, std::size_t t, Transpose const& transpose,
            device::StreamView stream) const override {
    transpose_rows(t, transposed_.data(), [&](auto const& from, auto const& into) {
      transpose(from, into);
      sent_->run(pack::Direction::gather, t, into, slot.to_send.data(), stream);
    });
  }

  void keep(Slot const& slot, std::size_t t, Transpose const&,
            device::StreamView stream) const override {
    comm::Piece const own = sent_piece(slot, t, division_.rank);
    stream.copy(received_piece(slot, t, division_.rank).data, own.data, own.bytes);
  }

  void unpack(Slot const& slot, std::size_t t, Transpose const&,
              device::StreamView stream) const override {
    received_->run(pack::Direction::scatter, t, b_, slot.received.data(), stream);
  }

 private:
  /// Calls f(rows of A, their transpose).
  void transpose_rows(std::size_t t, std::byte* transposed, Transpose const& f) const {
    core::Range const part = division_.part(a_.rows, t);
    if (part.count == 0 || a_.cols == 0) return;
    f(a_.block(part.first, 0, part.count, a_.cols),
      device::MatrixView{transposed, division_.type, a_.cols, part.count, part.count});
  }

  /// What leaves: rows of the transposed step are columns of A, its columns the step's rows of A.
  void find_sent(comm::World const& world) {
    Layout const &a = division_.a, &b = division_.b;
    std::vector<std::vector<std::int64_t>> columns(division_.steps);
    for (std::size_t t = 0; t < division_.steps; ++t) {
      columns[t].resize(static_cast<std::size_t>(division_.part(a.local_rows(), t).count));
      std::iota(columns[t].begin(), columns[t].end(), 0);
    }
    sent_.emplace(world,
                  Grouping{a.local_cols(), division_.grid.rows,
                           [&](std::int64_t j) { return b.rows.owner(a.global_col(j)); }},
                  division_.grid.cols, columns, [&](std::size_t t, std::int64_t k) {
                    std::int64_t const i = division_.part(a.local_rows(), t).first + k;
                    return b.cols.owner(a.global_row(i));
                  });
  }

  /// What comes: columns of B are rows of A, which their owner sends in one of its steps.
  void find_received(comm::World const& world) {
    Layout const &a = division_.a, &b = division_.b;
    std::vector<std::vector<std::int64_t>> columns(division_.steps);
    std::vector<std::size_t> at(
        static_cast<std::size_t>(division_.grid.rows));  // each sender's step
    for (std::int64_t j = 0; j < b.local_cols(); ++j) {
      std::int64_t const global = b.global_col(j);
      int const sender = a.rows.owner(global);
      std::size_t& t = at[static_cast<std::size_t>(sender)];
      auto const end = [&] {
        core::Range const part = division_.part(a.rows.count(sender), t);
        return part.first + part.count;
      };
      while (a.rows.local(global) >= end()) ++t;
      columns[t].push_back(j);
    }
    received_.emplace(world,
                      Grouping{b.local_rows(), division_.grid.cols,
                               [&](std::int64_t i) { return a.cols.owner(b.global_row(i)); }},
                      division_.grid.rows, columns, [&](std::size_t t, std::int64_t k) {
                        std::int64_t const j = columns[t][static_cast<std::size_t>(k)];
                        return a.rows.owner(b.global_col(j));
                      });
  }

  /// Where the pieces of rank r lie among those of step t; its own is none that travels.
  comm::Piece sent_piece(Slot const& slot, std::size_t t, int r) const {
    return piece_of(slot.to_send, sent_->piece(t, division_.row_of(r), division_.col_of(r)));
  }
  comm::Piece received_piece(Slot const& slot, std::size_t t, int r) const {
    return piece_of(slot.received, received_->piece(t, division_.col_of(r), division_.row_of(r)));
  }
  comm::Piece piece_of(device::Buffer<std::byte> const& memory, core::Range const& piece) const {
    return {memory.data() + division_.bytes_of(piece.first), division_.bytes_of(piece.count)};
  }

  Division division_;
  device::MatrixView a_, b_;                    // A unallocated() at first
  std::optional<PieceLayout> sent_, received_;  // from allocate() on
  device::Buffer<std::byte> transposed_;
};

}  // namespace

std::unique_ptr<Packing> make_packing_of_blocks(Division const& division) {
  return std::make_unique<PackingOfBlocks>(division);
}

}  // namespace quadrille::workloads::ptrans
