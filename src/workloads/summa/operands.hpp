// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport.hpp"
#include "workloads/checks/product.hpp"

namespace quadrille::workloads::summa {

/// This rank's parts of A, B and C of a product, and of C before it where beta is not 0.
struct Operands {
  device::MatrixView a, b;
  device::Matrix own_a, own_b, c, c0;  ///< no A or B where a window has it

  void allocate(ProductLayout const& layout, core::DataType type, double beta, comm::World& world,
                comm::Window const* a_window = nullptr, comm::Window const* b_window = nullptr) {
    auto const place = [&](device::MatrixView& view, Layout const& part, device::Matrix& own,
                           comm::Window const* window) {
      view = unallocated(part, type);
      if (window == nullptr) own = allocate_matrix(view, world);
      if (window != nullptr) view.data = window->data();
    };
    auto const make = [&](Layout const& part) {
      return device::Matrix{world.device(), type, part.local_rows(), part.local_cols(),
                            world.stream()};
    };
    place(a, layout.a, own_a, a_window);
    place(b, layout.b, own_b, b_window);
    c = make(layout.c);
    if (beta != 0) c0 = make(layout.c);
  }
  void fill(Product const& product, ProductLayout const& layout, comm::World const& world) const {
    workloads::fill(a, layout.a, product.a, world);
    workloads::fill(b, layout.b, product.b, world);
    if (product.beta != 0) workloads::fill(c0.view(), layout.c, product.c0, world);
  }
  void reset(double beta, device::StreamView stream) const {
    if (beta == 0) {
      stream.fill(c.view().data, 0xFF, c.bytes());
    } else {
      stream.copy(c.view().data, c0.view().data, c.bytes());
    }
  }
};

}  // namespace quadrille::workloads::summa
