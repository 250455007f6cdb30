// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/index_map.hpp"

#include "common/variant.hpp"
#include "device/device.hpp"

#include <fmt/format.h>

#include <vector>

namespace quadrille::kernels::vector {
namespace {

void (*const kFill)(IndexShape const&, device::Span<IndexEntry>,
                    device::StreamView) = QUAD_CUDA_LAUNCH(launch_index_map);

}  // namespace

std::string index_map_fault(IndexShape const& shape, std::span<IndexEntry const> entries) {
  if (static_cast<std::int64_t>(entries.size()) != shape.threads()) {
    return fmt::format("{} entries for {} threads", entries.size(), shape.threads());
  }
  std::size_t id = 0;
  auto const check = [&](int const(&block)[3], int const(&thread)[3], int rank) -> std::string {
    IndexEntry const& e = entries[id++];
    if (e.writers != 1) return fmt::format("id {} computed by {} threads", id - 1, e.writers);
    for (int d = 0; d < 3; ++d) {
      if (e.block[d] != block[d] || e.thread[d] != thread[d]) {
        return fmt::format(
            "id {} is thread ({} {} {}) of block ({} {} {}), expected ({} {} {}) of "
            "({} {} {})",
            id - 1, e.thread[0], e.thread[1], e.thread[2], e.block[0], e.block[1], e.block[2],
            thread[0], thread[1], thread[2], block[0], block[1], block[2]);
      }
    }
    if (e.warp != rank / 32 || e.lane != rank % 32) {
      return fmt::format("id {} is lane {} of warp {}, expected {} of {}", id - 1, e.lane, e.warp,
                         rank % 32, rank / 32);
    }
    return {};
  };
  Extent const& g = shape.grid;
  Extent const& b = shape.block;
  for (std::int64_t q = 0; q < g.count(); ++q) {
    int const place = static_cast<int>(q);
    int const block[3]{place % g.x, place / g.x % g.y, place / g.x / g.y};
    int rank = 0;
    for (int z = 0; z < b.z; ++z) {
      for (int y = 0; y < b.y; ++y) {
        for (int x = 0; x < b.x; ++x, ++rank) {
          std::string fault = check(block, {x, y, z}, rank);
          if (!fault.empty()) return fault;
        }
      }
    }
  }
  return {};
}

std::string index_map_fault(device::StreamView stream) {
  QUAD_REQUIRE(kFill != nullptr, "index_map: this program was built without CUDA");
  for (IndexShape const& shape : kIndexShapes) {
    device::Buffer<IndexEntry> const entries{stream.device(), shape.threads(), stream};
    stream.fill(entries.data(), 0, entries.bytes());
    kFill(shape, entries.span(), stream);
    std::vector<IndexEntry> host(static_cast<std::size_t>(shape.threads()));
    stream.copy(host.data(), entries.data(), entries.bytes());
    stream.synchronize();
    std::string const fault = index_map_fault(shape, host);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace quadrille::kernels::vector
