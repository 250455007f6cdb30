// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/data.hpp"

#include <algorithm>
#include <limits>
#include <thread>

namespace quadrille::workloads {

Layout whole(std::int64_t rows, std::int64_t cols) {
  return {comm::Distribution{rows, 0, 1}, comm::Distribution{cols, 0, 1}, 0, 0};
}

namespace {

template <class T>
void generate_rows(T* out, Layout const& layout, Source const& source, std::int64_t begin,
                   std::int64_t end) {
  std::int64_t const cols = layout.local_cols();
  core::DataKind kind = source.kind;
  if (std::is_integral_v<T> && kind != core::DataKind::constant && kind != core::DataKind::zeros) {
    kind = core::DataKind::integer;  // as core::generate does
  }
  for (std::int64_t i = begin; i < end; ++i) {
    std::uint64_t const key = core::row_key(source.seed, source.tag, layout.global_row(i));
    for (std::int64_t j = 0; j < cols; ++j) {
      out[i * cols + j] = static_cast<T>(
          core::value_from_hash(kind, core::element_hash(key, layout.global_col(j))));
    }
  }
}

}  // namespace

void fill(device::MatrixView const& view, Layout const& layout, Source const& source,
          comm::World const& world) {
  if (view.rows == 0 || view.cols == 0) return;
  core::visit_type(view.type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> host(static_cast<std::size_t>(view.rows * view.cols));
    int const threads = world.placement().threads;
    {
      std::vector<std::jthread> workers;
      for (int t = 0; t < threads; ++t) {
        core::Range const mine = core::split_evenly(view.rows, threads, t);
        if (mine.count == 0) continue;
        workers.emplace_back([&, mine] {
          generate_rows(host.data(), layout, source, mine.first, mine.first + mine.count);
        });
      }
    }
    std::size_t const row_bytes = static_cast<std::size_t>(view.cols) * sizeof(T);
    world.stream().copy_2d(view.data, static_cast<std::size_t>(view.ld) * sizeof(T), host.data(),
                           row_bytes, row_bytes, static_cast<std::size_t>(view.rows));
    world.stream().synchronize();
  });
}

measure::Field field(std::string name, device::MatrixView const& view, Layout const& layout) {
  measure::Field result;
  result.name = std::move(name);
  result.type = view.type;
  result.shape = {layout.rows.size(), layout.cols.size()};
  for (std::int64_t i = 0; i < view.rows;) {
    std::int64_t const row = layout.global_row(i);
    std::int64_t const rows = layout.rows.block_end(row) - row;
    for (std::int64_t j = 0; j < view.cols;) {
      std::int64_t const col = layout.global_col(j);
      std::int64_t const cols = layout.cols.block_end(col) - col;
      result.blocks.push_back({row, col, view.block(i, j, rows, cols)});
      j += cols;
    }
    i += rows;
  }
  return result;
}

measure::Verdict agree(comm::World const& world, Finding const& mine) {
  measure::Verdict verdict;
  verdict.error = world.group().max(mine.error);
  verdict.allowed = world.group().max(mine.allowed);
  verdict.wrong = world.group().sum(mine.wrong);
  int const first = world.group().agree(mine.wrong > 0);
  verdict.valid = first < 0;
  if (first >= 0) {
    verdict.detail = mine.first_wrong;
    world.group().broadcast(verdict.detail, first);
    verdict.detail += fmt::format(" ({} wrong in all)", verdict.wrong);
  }
  return verdict;
}

}  // namespace quadrille::workloads
