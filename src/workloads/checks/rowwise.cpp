// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/checks/rowwise.hpp"

#include <cmath>

namespace quadrille::workloads {

using kernels::rowwise::Action;
using kernels::rowwise::ErrorBound;

std::vector<Expected> expected_sum(RowOfToken x, RowOfToken residual, core::DataType type) {
  ErrorBound const bound{type};
  std::vector<Expected> row;
  for (std::size_t j = 0; j < x.size(); ++j) {
    double const sum = double{x[j]} + double{residual[j]};
    row.push_back({sum, bound(sum, 0, 0)});
  }
  return row;
}

std::vector<Expected> expected_norm(Action action, RowOfToken r, bool is_sum, RowOfToken weights,
                                    core::DataType type) {
  ErrorBound const bound{type};
  auto const n = static_cast<double>(r.size());
  bool const is_layer = action == Action::layer_norm;
  double mean = 0, squares = 0;
  for (double const value : r) mean += is_layer ? value / n : 0;
  for (double const value : r) squares += (value - mean) * (value - mean) / n;
  double const sigma = std::sqrt(squares + kernels::rowwise::kNormEpsilon);
  std::vector<Expected> row;
  for (std::size_t j = 0; j < r.size(); ++j) {
    double const gain = weights[j], bias = is_layer ? double{weights[r.size() + j]} : 0;
    double const size = std::abs(gain) / sigma, value = r[j];
    double const want = (value - mean) * gain / sigma + bias;
    row.push_back(
        {want, bound(want, is_sum ? size * std::abs(value) : 0,
                     (std::sqrt(n) + 8) * size * (std::abs(value) + std::abs(mean) + sigma) +
                         std::abs(bias))});
  }
  return row;
}

std::vector<Expected> expected_activation(Action action, RowOfToken x, core::DataType type) {
  ErrorBound const bound{type};
  bool const is_gelu = action == Action::gelu;
  std::size_t const n = is_gelu ? x.size() : x.size() / 2;
  std::vector<Expected> row;
  for (std::size_t j = 0; j < n; ++j) {
    double const g = x[j];
    if (is_gelu) {
      double const y = g * std::erfc(-g / std::sqrt(2.0)) / 2;
      row.push_back({y, bound(y, 0, 8 * std::abs(g))});
    } else {
      double const y = g / (1 + std::exp(-g)) * double{x[n + j]};
      row.push_back({y, bound(y, 0, (std::abs(g) + 8) * std::abs(y))});
    }
  }
  return row;
}

std::vector<Expected> expected_rotary(RowOfToken x, RowOfToken cos_sin, core::DataType type) {
  ErrorBound const bound{type};
  std::size_t const d = cos_sin.size(), half = d / 2;
  std::vector<Expected> row;
  for (std::size_t j = 0; j < x.size(); ++j) {
    bool const is_low = j % d < half;
    double const a = x[j], b = x[is_low ? j + half : j - half];
    double const c = cos_sin[j % half], s = cos_sin[half + j % half];
    double const y = a * c + (is_low ? -b : b) * s;
    row.push_back({y, bound(y, 0, 4 * (std::abs(a) + std::abs(b)))});
  }
  return row;
}

}  // namespace quadrille::workloads
