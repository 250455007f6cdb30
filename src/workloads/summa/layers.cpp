// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/summa/layers.hpp"

#include "device/trace.hpp"

#include <algorithm>
#include <vector>

namespace quadrille::workloads::summa {

std::string LayerSums::unsupported_reason(core::DataType type) {
  bool const is_reducible = type == core::DataType::f64 || type == core::DataType::f32 ||
                            type == core::DataType::i64 || type == core::DataType::i32;
  if (is_reducible) return {};
  return fmt::format("layers are added up in f64, f32, i64 or i32, not in {}; take layers = 1",
                     core::to_text(type));
}

double LayerSums::memory_bytes() const {
  return static_cast<double>(core::size_of(division_.type)) * division_.max_rows() *
         division_.max_cols();
}

void LayerSums::allocate(comm::World& world, comm::Transport& transport) {
  sums_ = {world.device(), division_.type, division_.sums.local_rows(), division_.sums.local_cols(),
           world.stream()};
  int const place = division_.row * division_.grid.cols + division_.col;
  channel_ = transport.connect(world.group().split(place, division_.layer));
  multiplied_ = device::Event{world.device()};
}

/// Rows of the sums, and where in C those of this rank lie, in the order in which layers add them up.
template <class F>
void LayerSums::for_shared_rows(F const& f) const {
  std::int64_t const block = division_.layout.c.rows.block();
  for (std::int64_t first = 0; first < division_.sums.local_rows();
       first += block * division_.layers) {
    f(first, first / division_.layers);
  }
}

/// Those that a layer gets of the ones from `first` on.
device::MatrixView LayerSums::shared_rows(std::int64_t first, int layer) const {
  device::MatrixView const sums = view();
  std::int64_t const block = division_.layout.c.rows.block();
  std::int64_t const begin = std::min(sums.rows, first + layer * block);
  return sums.block(begin, 0, std::min(sums.rows - begin, block), sums.cols);
}

void LayerSums::reset(double beta, device::MatrixView const& c, device::StreamView stream) const {
  stream.fill(view().data, beta == 0 ? 0xFF : 0, sums_.bytes());
  if (beta == 0) return;
  for_shared_rows([&](std::int64_t first, std::int64_t own) {
    device::MatrixView const rows = shared_rows(first, division_.layer);
    stream.copy(rows.data, c.at(own, 0), piece(rows).bytes);
  });
}

void LayerSums::add_up(comm::World& world, device::MatrixView const& c) {
  device::StreamView const stream = world.comm_stream();
  world.stream().record(multiplied_);
  stream.wait(multiplied_);
  if (device::Trace* const trace = world.device().trace()) trace->set_label("layers");
  comm::Request added;
  std::vector<comm::ConstPiece> of_layers(static_cast<std::size_t>(division_.layers));
  for_shared_rows([&](std::int64_t first, std::int64_t own) {
    for (int layer = 0; layer < division_.layers; ++layer) {
      of_layers[comm::index(layer)] = piece(shared_rows(first, layer));
    }
    comm::Piece const out{c.at(own, 0), of_layers[comm::index(division_.layer)].bytes};
    added = channel_->reduce_scatter(of_layers, out, division_.type, comm::ReduceOp::sum, stream);
  });
  added.wait_on(world.stream());
}

}  // namespace quadrille::workloads::summa
