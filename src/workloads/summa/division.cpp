// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/summa/division.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quadrille::workloads::summa {

Division::Division(core::Case const& spec, int ranks, int own_rank)
    : m{spec.size[0]},
      n{spec.size[1]},
      k{spec.size[2]},
      type{spec.type},
      rank{own_rank},
      layers{static_cast<int>(spec.parameters.as<Parameters>().layers)} {
  int const of_layer = std::max(1, ranks / layers);
  layer = rank / of_layer;
  grid = spec.grid.rows > 0 ? spec.grid : comm::near_square(of_layer);
  row = rank % of_layer / grid.cols;
  col = rank % of_layer % grid.cols;
  // Without a block each process has one of C, and of k each layer has the same in A and in B.
  std::int64_t const block = spec.parameters.as<Parameters>().block;
  std::int64_t rows_block = block, k_block = block;
  if (layers > 1 && block == 0) {
    auto const parts_of_k = std::int64_t{std::lcm(grid.rows, grid.cols)} * layers;
    rows_block = (m + grid.rows * layers - 1) / (grid.rows * layers);
    k_block = (k + parts_of_k - 1) / parts_of_k;
  }
  // The processes of all layers in turn: a block of k, as one of rows of C, is of one layer.
  auto const of_layers = [&](std::int64_t extent, std::int64_t width, int parts) {
    return comm::Distribution{extent, width, parts * layers};
  };
  int const row_part = row * layers + layer, col_part = col * layers + layer;
  comm::Distribution const rows_m{m, rows_block * layers, grid.rows};
  comm::Distribution const cols_n{n, block, grid.cols};
  layout = {{rows_m, of_layers(k, k_block, grid.cols), row, col_part},
            {of_layers(k, k_block, grid.rows), cols_n, row_part, col},
            {of_layers(m, rows_block, grid.rows), cols_n, row_part, col},
            true};
  sums = {rows_m, cols_n, row, col};
}

double Division::max_rows() const { return std::ceil(static_cast<double>(m) / grid.rows); }
double Division::max_cols() const { return std::ceil(static_cast<double>(n) / grid.cols); }

}  // namespace quadrille::workloads::summa
