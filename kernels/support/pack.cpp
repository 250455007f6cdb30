// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/pack.hpp"

#include "common/variant.hpp"
#include "device/host/parallel.hpp"

#include <cstring>
#include <span>
#include <vector>

namespace quadrille::kernels::pack {
namespace {

void (*const kColumns)(Direction, Problem const&,
                       device::StreamView) = QUAD_CUDA_LAUNCH(launch_columns);
void (*const kBoxes)(Boxes const&, device::StreamView) = QUAD_CUDA_LAUNCH(launch_boxes);

/// Columns that follow one another in the matrix and in a piece.
struct Run {
  Column first;
  std::int64_t count = 0;
};

std::vector<Run> runs_of(Problem const& problem) {
  std::vector<Run> runs;
  for (std::int64_t c = 0; c < problem.column_count; ++c) {
    Column const& column = problem.columns[c];
    if (!runs.empty()) {
      auto& [first, count] = runs.back();
      bool const follows = column.at == first.at + count && column.start == first.start + count &&
                           column.width == first.width;
      if (follows) {
        ++count;
        continue;
      }
    }
    runs.push_back({column, 1});
  }
  return runs;
}

/// In a task of the stream.
void pack_on_host(Direction direction, Problem const& problem, device::StreamView stream) {
  std::size_t const size = core::size_of(problem.matrix.type);
  std::vector<Run> const runs = runs_of(problem);
  device::parallel_for(stream, problem.matrix.rows, [&](std::int64_t i) {
    for (auto const& [column, count] : runs) {
      void* const inside = problem.matrix.at(i, column.at);
      std::int64_t const place = column.start + problem.rows[i] * column.width;
      void* const outside =
          static_cast<std::byte*>(problem.pieces) + static_cast<std::size_t>(place) * size;
      bool const gathers = direction == Direction::gather;
      std::memcpy(gathers ? outside : inside, gathers ? inside : outside,
                  static_cast<std::size_t>(count) * size);
    }
  });
}

/// In a task of the stream.
void copy_on_host(Boxes const& boxes, device::StreamView stream) {
  auto const size = static_cast<std::int64_t>(core::size_of(boxes.type));
  for (Box const& box : std::span{boxes.boxes, static_cast<std::size_t>(boxes.count)}) {
    device::parallel_for(stream, box.planes * box.rows, [&](std::int64_t at) {
      std::int64_t const p = at / box.rows, i = at % box.rows;
      std::memcpy(
          static_cast<std::byte*>(box.to) + (p * box.to_plane + i * box.to_row) * size,
          static_cast<std::byte const*>(box.from) + (p * box.from_plane + i * box.from_row) * size,
          static_cast<std::size_t>(box.cols * size));
    });
  }
}

}  // namespace

void pack(Direction direction, Problem const& problem, device::StreamView stream) {
  if (problem.matrix.rows == 0 || problem.column_count == 0) return;
  if (stream.device().kind() == device::Kind::host) {
    return stream.run([=] { pack_on_host(direction, problem, stream); });
  }
  QUAD_REQUIRE(kColumns != nullptr, "pack: this program was built without CUDA");
  kColumns(direction, problem, stream);
}

void copy(Boxes const& boxes, device::StreamView stream) {
  if (boxes.count == 0 || boxes.max_planes == 0 || boxes.max_area == 0) return;
  if (stream.device().kind() == device::Kind::host) {
    return stream.run([=] { copy_on_host(boxes, stream); });
  }
  QUAD_REQUIRE(kBoxes != nullptr, "pack: this program was built without CUDA");
  kBoxes(boxes, stream);
}

}  // namespace quadrille::kernels::pack
