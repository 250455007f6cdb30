// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"
#include "core/types.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::io {

/// Copies rows to memory of the host from memory that it does not reach. Blocks.
using Fetch = std::function<void(void* to, std::size_t to_pitch, void const* from,
                                 std::size_t from_pitch, std::size_t row_bytes, std::size_t rows)>;

/// A distributed array: this rank's blocks and their place in the global array.
struct HostField {
  std::string name;
  core::DataType type = core::DataType::f64;
  std::vector<std::int64_t> shape;  ///< 1 or 2 extents, equal on all ranks
  /// Row-major: element (i, j) is at data[i * ld + j]. With one extent, row is 0, rows 1.
  struct Block {
    std::int64_t row = 0, col = 0;  ///< place of the first element
    std::int64_t rows = 0, cols = 0, ld = 0;
    void* data = nullptr;  ///< in host memory, or what `fetch` copies from
  };
  std::vector<Block> blocks;  ///< disjoint; may be empty on a rank without data
  Fetch fetch{};              ///< for writing; none where the host reaches all blocks
};

/// Wall-clock seconds of this rank. Raw time is transfer_s, observed time the sum of all.
struct IoTimes {
  double open_s = 0;      ///< with the making of the datasets
  double transfer_s = 0;  ///< written data are in the storage at its end
  double close_s = 0;     ///< with the renaming
};

/// Whether all ranks open the files of fields, and must see one folder; else rank 0 alone does.
bool writes_fields_together();

/// Collective. Writes each field as a contiguous dataset of its name, at most `chunk_bytes` per
/// call, and as many again of host memory for what is fetched; elements that no rank owns are zero.
/// Written beside `path` and renamed at the end; the storage that it takes is reserved before. An
/// existing file, or a place that cannot be written, ends the job with Exit::environment; a full
/// disk ends it with Exit::runtime and leaves nothing.
IoTimes write_fields(comm::Group const& group, std::string const& path,
                     std::vector<HostField> const& fields, std::size_t chunk_bytes);

/// Collective. Fills the blocks from the datasets of those names, whoever wrote them and however
/// they were distributed. A dataset of another shape or type ends the job.
IoTimes read_fields(comm::Group const& group, std::string const& path,
                    std::vector<HostField> const& fields, std::size_t chunk_bytes);

}  // namespace quadrille::io
