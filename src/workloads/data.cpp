// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/data.hpp"

#include "gemm/gemm.hpp"

#include <algorithm>
#include <bit>
#include <memory>

namespace quadrille::workloads {

device::MatrixView unallocated(Layout const& layout, core::DataType type) {
  constexpr std::uintptr_t kAlignment = 256;  // of what a device allocates
  std::int64_t const cols = layout.local_cols();
  return {reinterpret_cast<void*>(kAlignment), type, layout.local_rows(), cols, cols};
}

Layout whole(std::int64_t rows, std::int64_t cols) {
  return {comm::Distribution{rows, 0, 1}, comm::Distribution{cols, 0, 1}, 0, 0};
}

std::string elements_conflict(double elements) {
  constexpr double kMax = 0x1p50;
  return elements > kMax ? "the tensors have more than 2^50 elements; take smaller extents" : "";
}

device::Matrix allocate_matrix(device::MatrixView& view, comm::World const& world) {
  device::Matrix matrix{world.device(), view.type, view.rows, view.cols, world.stream()};
  view = matrix.view();
  return matrix;
}

void read_row(Source const& source, core::DataType type, std::int64_t row, std::span<float> to) {
  std::uint64_t const key = core::row_key(source.seed, source.tag, row);
  core::visit_type(type, [&](auto zero) {
    for (std::size_t e = 0; e < to.size(); ++e) {
      std::uint64_t const hash = core::element_hash(key, static_cast<std::int64_t>(e));
      to[e] = static_cast<float>(core::value_from_hash<decltype(zero)>(source.kind, hash));
    }
  });
}

device::Buffer<std::byte> allocate_scratch(std::size_t bytes, comm::World const& world) {
  if (bytes == 0) return {};
  device::Buffer<std::byte> scratch{world.device(), static_cast<std::int64_t>(bytes),
                                    world.stream()};
  constexpr std::size_t kCounterBytes = kernels::gemm::kScratchCounters * sizeof(std::uint32_t);
  world.stream().fill(scratch.data(), 0, std::min(bytes, kCounterBytes));
  return scratch;
}

void forget_received(device::Matrix const& buffer, device::MatrixView const& own,
                     device::StreamView stream) {
  auto const bytes = static_cast<std::size_t>(own.rows * own.cols) * core::size_of(own.type);
  stream.fill(buffer.view().data, 0xFF, buffer.bytes());
  stream.copy(buffer.view().data, own.data, std::min(bytes, buffer.bytes()));
}

namespace {

namespace generate = kernels::generate;

generate::Problem problem_of(device::MatrixView const& view, Region const& region,
                             Source const& source) {
  return {view, region.rows, region.cols, region.transposed, source.kind, source.seed, source.tag};
}

generate::IndexMap map_of(comm::Distribution const& distribution, int part) {
  return {0, distribution.block(), distribution.parts(), part};
}

/// The values of one row of a block, or of a part of it.
template <class T, class Use>
void for_row(Region const& region, Source const& source, std::int64_t i, core::Range const& cols,
             std::int64_t stride, Use&& use) {
  std::int64_t const row = region.rows.global(i);
  if (region.transposed) {
    for (std::int64_t j = cols.first; j < cols.first + cols.count; j += stride) {
      use(j, source.at<T>(region.cols.global(j), row));
    }
    return;
  }
  std::uint64_t const key = core::row_key(source.seed, source.tag, row);
  for (std::int64_t j = cols.first; j < cols.first + cols.count; j += stride) {
    use(j, core::value_from_hash<T>(source.kind, core::element_hash(key, region.cols.global(j))));
  }
}

/// Of any bits, which of them differ is what people look for.
template <class T>
std::string text_of(core::DataKind kind, T value) {
  if constexpr (std::is_integral_v<T>) {
    if (core::is_any_bits(kind)) {
      return fmt::format("{:#0{}x}", std::make_unsigned_t<T>(value), 2 + 2 * sizeof(T));
    }
  }
  return shown(static_cast<double>(value), 0);
}

template <class T>
Finding compare_on_host(std::string_view name, device::MatrixView const& view, Region const& region,
                        Source const& source, comm::World const& world, std::int64_t stride) {
  world.stream().synchronize();
  auto const* const got = static_cast<T const*>(view.data);
  Finding finding;
  for (std::int64_t i = 0; i < view.rows; ++i) {
    core::Range const cols{i % stride, view.cols - i % stride};
    for_row<T>(region, source, i, cols, stride, [&](std::int64_t j, T want) {
      T const have = got[i * view.ld + j];
      finding.check(have == want ? 0 : 1, 0, [&] {
        return fmt::format("{}({}, {}) on rank {}: expected {}, got {}", name,
                           region.rows.global(i), region.cols.global(j), world.rank(),
                           text_of(source.kind, want), text_of(source.kind, have));
      });
    });
  }
  return finding;
}

template <class T>
Finding compare_on_device(std::string_view name, device::MatrixView const& view,
                          Region const& region, Source const& source, comm::World const& world) {
  device::StreamView const stream = world.stream();
  device::Buffer<generate::Differences> const found{world.device(), 1, stream};
  generate::Differences differences;
  stream.copy(found.data(), &differences, sizeof(differences));
  generate::compare(problem_of(view, region, source), found.data(), stream);
  stream.copy(&differences, found.data(), sizeof(differences));
  stream.synchronize();
  Finding finding;
  if (differences.count == 0) return finding;
  auto const first = static_cast<std::int64_t>(differences.first);
  std::int64_t const i = first / view.cols;
  std::int64_t const j = first % view.cols;
  T const have = download<T>(view.block(i, j, 1, 1), stream)[0];
  for_row<T>(region, source, i, {j, 1}, 1, [&](std::int64_t, T want) {
    finding.error = 1;
    finding.wrong = static_cast<std::int64_t>(differences.count);
    finding.first_wrong = fmt::format("{}({}, {}) on rank {}: expected {}, got {}", name,
                                      region.rows.global(i), region.cols.global(j), world.rank(),
                                      text_of(source.kind, want), text_of(source.kind, have));
  });
  return finding;
}

}  // namespace

Region region_of(Layout const& layout, bool transposed) {
  return {map_of(layout.rows, layout.row_part), map_of(layout.cols, layout.col_part), transposed};
}

Region row_from(std::int64_t first) { return block_from(0, first); }

Region block_from(std::int64_t row, std::int64_t col) {
  return {{row, 1, 1, 0}, {col, 1, 1, 0}, false};
}

void fill(device::MatrixView const& view, Region const& region, Source const& source,
          comm::World const& world, Reach reach) {
  if (view.rows == 0 || view.cols == 0) return;
  if (world.device().kind() == device::Kind::cuda && reach == Reach::device) {
    generate::fill(problem_of(view, region, source), world.stream());
    world.stream().synchronize();
    return;
  }
  core::visit_type(view.type, [&](auto zero) {
    using T = decltype(zero);
    world.stream().synchronize();
    auto* const host = static_cast<T*>(view.data);
    auto const generate = [&](core::Range const& rows, core::Range const& cols) {
      for (std::int64_t i = rows.first; i < rows.first + rows.count; ++i) {
        for_row<T>(region, source, i, cols, 1,
                   [&](std::int64_t j, T value) { host[i * view.ld + j] = value; });
      }
    };
    if (view.rows == 1) {
      on_threads(world, view.cols, [&](core::Range const& cols) { generate({0, 1}, cols); });
    } else {
      on_threads(world, view.rows, [&](core::Range const& rows) {
        generate(rows, {0, view.cols});
      });
    }
  });
}

void for_copied_tiles(device::MatrixView const& view, device::StreamView stream, std::int64_t bytes,
                      UseTile const& use) {
  if (view.rows == 0 || view.cols == 0) return;
  auto const size = static_cast<std::int64_t>(core::size_of(view.type));
  std::int64_t const most = std::max<std::int64_t>(1, bytes / size);
  std::int64_t const cols = std::min(view.cols, most);
  std::int64_t const rows = std::min(view.rows, most / cols);
  auto const host =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(rows * cols * size));
  for (std::int64_t i = 0; i < view.rows; i += rows) {
    for (std::int64_t j = 0; j < view.cols; j += cols) {
      std::int64_t const n = std::min(cols, view.cols - j);
      device::MatrixView const tile{host.get(), view.type, std::min(rows, view.rows - i), n, n};
      auto const row_bytes = static_cast<std::size_t>(n * size);
      stream.copy_2d(tile.data, row_bytes, view.at(i, j), static_cast<std::size_t>(view.ld * size),
                     row_bytes, static_cast<std::size_t>(tile.rows));
      stream.synchronize();
      use(tile, i, j);
    }
  }
}

void for_host_tiles(device::MatrixView const& view, comm::World const& world, UseTile const& use) {
  if (world.device().kind() != device::Kind::host)
    return for_copied_tiles(view, world.stream(), 16 << 20, use);
  world.stream().synchronize();
  use(view, 0, 0);
}

Finding compare(std::string_view name, device::MatrixView const& view, Region const& region,
                Source const& source, comm::World const& world, std::int64_t stride, Reach reach) {
  Finding finding;
  if (view.rows == 0 || view.cols == 0) return finding;
  core::visit_type(view.type, [&](auto zero) {
    using T = decltype(zero);
    finding = world.device().kind() == device::Kind::cuda && reach == Reach::device
                  ? compare_on_device<T>(name, view, region, source, world)
                  : compare_on_host<T>(name, view, region, source, world, stride);
  });
  return finding;
}

measure::Field field(std::string name, device::MatrixView const& view, Layout const& layout) {
  measure::Field result;
  result.name = std::move(name);
  result.type = view.type;
  result.view = view;
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

measure::Field vector_field(std::string name, device::MatrixView const& view, std::int64_t n,
                            std::int64_t first) {
  measure::Field result;
  result.name = std::move(name);
  result.type = view.type;
  result.view = view;
  result.shape = {n};
  result.blocks = {{0, first, view}};
  return result;
}

measure::Field of_rank_0(measure::Field field, int rank) {
  if (rank != 0) field.blocks.clear();
  return field;
}

measure::Field whole_of_rank_0(std::string name, device::MatrixView const& view, int rank) {
  return of_rank_0(field(std::move(name), view, whole(view.rows, view.cols)), rank);
}

std::string shown(double got, int digits) {
  // The mantissa of the narrowest type, in whose place wider ones may have zeros.
  constexpr int kOthers = 52 - 7;
  bool const is_unwritten = ~std::bit_cast<std::uint64_t>(got) >> kOthers == 0;
  if (is_unwritten) return "nothing: it was not written";
  return digits == 0 ? fmt::format("{}", got) : fmt::format("{:.{}g}", got, digits);
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
