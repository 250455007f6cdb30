// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#include "device/cuda/check.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>
#endif

namespace quadrille::ptx {

/// How the 16-byte pieces of a tile are permuted in shared memory, so that columns of pieces spread
/// over all banks. With rows of 32, 64 or 128 bytes, piece p of row r lies where piece
/// p ^ (r / 4 % 2), p ^ (r / 2 % 4) or p ^ (r % 8) would. swizzled() computes it.
enum class Swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };

/// Bytes of a tile row under the swizzle; 16 without one (the width of a wgmma core matrix).
QUAD_HD constexpr unsigned span_of(Swizzle swizzle) {
  return swizzle == Swizzle::none       ? 16
         : swizzle == Swizzle::bytes_32 ? 32
         : swizzle == Swizzle::bytes_64 ? 64
                                        : 128;
}

/// Where the byte at `offset` of an unswizzled tile lies in the swizzled one. The tile must be
/// aligned to 8 rows: 256, 512 or 1024 bytes.
QUAD_HD constexpr unsigned swizzled(Swizzle swizzle, unsigned offset) {
  unsigned const pieces = span_of(swizzle) / 16;
  return offset ^ (((offset >> 7) & (pieces - 1)) << 4);
}

/// Describes a matrix in device memory, and the box of it that one tensor copy moves, to the copy
/// engine. Passed by value to a kernel as `const __grid_constant__ TensorMap map`.
struct alignas(64) TensorMap {
  unsigned char opaque[128];
};

/// A row-major matrix and the box that one copy moves, of which the parts outside the matrix are
/// zero when loaded and left out when stored (in pieces of 16 bytes, so padding may be written). In
/// shared memory the box is dense, row by row.
struct Tensor2d {
  void const* data = nullptr;  ///< device memory, aligned to 16 bytes
  core::DataType type{};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;  ///< elements from one row to the next; a multiple of 16 bytes
  unsigned box_rows = 0;     ///< at most 256
  unsigned box_columns = 0;  ///< at most 256; a multiple of 16 bytes, with a swizzle its span
  Swizzle swizzle = Swizzle::none;
  /// f32 elements that are loaded are rounded to tf32, to nearest, ties to even: tensor cores cut
  /// the low 13 bits off.
  bool rounds_to_tf32 = false;
};

/// The same of two to five dimensions. The last is contiguous, as the columns of a matrix are; in
/// which order the others lie in memory is free. In shared memory the box is dense in the order of
/// the dimensions, and a position has its indices in that order.
struct TensorNd {
  void const* data = nullptr;  ///< device memory, aligned to 16 bytes
  core::DataType type{};
  int dimensions = 0;
  std::int64_t extents[5] = {};
  /// Elements from one index to the next of all dimensions but the last; multiples of 16 bytes.
  std::int64_t strides[4] = {};
  unsigned box[5] = {};  ///< each at most 256; the last as box_columns
  Swizzle swizzle = Swizzle::none;
  bool rounds_to_tf32 = false;
};

/// Images of pixels with contiguous channels, of which one copy (im2col mode) moves channels of pixels
/// that the windows of a convolution see: the pixel at one place of each window. Windows begin at every
/// step-th row and column between two corners, which may lie outside of the image, and follow each other
/// along columns, then rows, then images. Pixels, channels and images outside are zero. In shared memory
/// pixels are rows.
struct ImageTensor {
  void const* data = nullptr;  ///< device memory, aligned to 16 bytes
  core::DataType type{};
  std::int64_t images = 0, rows = 0, columns = 0, channels = 0;
  /// Elements from one pixel to the next; a multiple of 16 bytes. Rows and images have no gaps.
  std::int64_t pixel = 0;
  /// Where the first window of an image begins; -128 to 127.
  int first_row = 0, first_column = 0;
  /// Where the last may begin, counted from the last row and column; -128 to 127.
  int last_row = 0, last_column = 0;
  int step = 1;               ///< 1 to 8, both ways
  unsigned box_pixels = 0;    ///< at most 1024
  unsigned box_channels = 0;  ///< at most 256; a multiple of 16 bytes, with a swizzle its span
  Swizzle swizzle = Swizzle::none;
  bool rounds_to_tf32 = false;
};

namespace detail {

inline void require_base(void const* data) {
  QUAD_REQUIRE(reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && data != nullptr,
               "tensor map: the data must be aligned to 16 bytes; use a variant without tensor "
               "copies");
}
inline void require_extent(std::int64_t extent) {
  QUAD_REQUIRE(extent >= 1 && extent <= INT32_MAX,
               "tensor map: rows, columns and other extents must be 1 to 2^31 - 1; return early "
               "for empty ones");
}
inline void require_stride(std::int64_t bytes) {
  QUAD_REQUIRE(bytes >= 1 && bytes % 16 == 0 && bytes < (std::int64_t{1} << 40),
               "tensor map: the leading dimension and other strides must be a multiple of 16 "
               "bytes below 2^40; pad the rows, or use a variant without tensor copies");
}
inline void require_row(std::int64_t row_bytes, core::DataType type, Swizzle swizzle,
                        bool rounds_to_tf32) {
  QUAD_REQUIRE(row_bytes % 16 == 0,
               "tensor map: a row of the box must be a multiple of 16 bytes; widen the box");
  QUAD_REQUIRE(swizzle == Swizzle::none || row_bytes == span_of(swizzle),
               "tensor map: with a swizzle, a row of the box must be as long as the swizzle's span "
               "of 32, 64 or 128 bytes; use several boxes");
  QUAD_REQUIRE(!rounds_to_tf32 || type == core::DataType::f32,
               "tensor map: only f32 is rounded to tf32; leave other types as they are");
}

inline void require(TensorNd const& t) {
  auto const size = static_cast<std::int64_t>(core::size_of(t.type));
  QUAD_REQUIRE(t.dimensions >= 2 && t.dimensions <= 5,
               "tensor map: 2 to 5 dimensions; use bulk copies for one");
  int const last = t.dimensions - 1;
  require_base(t.data);
  for (int i = 0; i < t.dimensions; ++i) {
    require_extent(t.extents[i]);
    QUAD_REQUIRE(
        t.box[i] >= 1 && t.box[i] <= 256,
        "tensor map: the box must have 1 to 256 rows, columns and so on; use several boxes");
  }
  for (int i = 0; i < last; ++i) require_stride(t.strides[i] * size);
  require_row(static_cast<std::int64_t>(t.box[last]) * size, t.type, t.swizzle, t.rounds_to_tf32);
}

inline void require(ImageTensor const& t) {
  auto const size = static_cast<std::int64_t>(core::size_of(t.type));
  require_base(t.data);
  for (std::int64_t const extent : {t.images, t.rows, t.columns, t.channels})
    require_extent(extent);
  require_stride(t.pixel * size);
  require_stride(t.pixel * size * t.columns * t.rows);
  for (int const corner : {t.first_row, t.first_column, t.last_row, t.last_column}) {
    QUAD_REQUIRE(corner >= -128 && corner <= 127,
                 "tensor map: corners of windows must be -128 to 127 from those of the image; use "
                 "less padding or smaller filters");
  }
  QUAD_REQUIRE(
      t.rows - 1 + t.last_row >= t.first_row && t.columns - 1 + t.last_column >= t.first_column,
      "tensor map: the last window lies before the first; return early where there is none");
  QUAD_REQUIRE(t.step >= 1 && t.step <= 8, "tensor map: windows begin at every 1st to 8th pixel");
  QUAD_REQUIRE(
      t.box_pixels >= 1 && t.box_pixels <= 1024 && t.box_channels >= 1 && t.box_channels <= 256,
      "tensor map: a column must have 1 to 1024 pixels of 1 to 256 channels; use several");
  require_row(static_cast<std::int64_t>(t.box_channels) * size, t.type, t.swizzle,
              t.rounds_to_tf32);
}

#ifdef __CUDACC__

/// A function of the driver, asked of the runtime, because libcuda is not linked: it is absent where
/// the program is built.
template <class Function>
Function* driver_function(char const* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  QUAD_CUDA(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  QUAD_REQUIRE(
      found == cudaDriverEntryPointSuccess,
      std::string{"tensor map: the driver has no "} + name + "; it must be of CUDA 12.0 or later");
  return reinterpret_cast<Function*>(function);
}

inline CUtensorMapDataType type_in_map(core::DataType type, bool rounds_to_tf32) {
  if (rounds_to_tf32) return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  switch (type) {
    case core::DataType::f64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case core::DataType::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case core::DataType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case core::DataType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case core::DataType::i64: return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case core::DataType::i32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case core::DataType::i8:
    case core::DataType::e4m3:
    case core::DataType::e5m2: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

inline CUtensorMapSwizzle swizzle_in_map(Swizzle swizzle) {
  constexpr CUtensorMapSwizzle kSwizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                              CU_TENSOR_MAP_SWIZZLE_64B,
                                              CU_TENSOR_MAP_SWIZZLE_128B};
  return kSwizzles[static_cast<int>(swizzle)];
}

inline TensorMap checked(CUresult status, CUtensorMap const& encoded, char const* name) {
  QUAD_REQUIRE(status == CUDA_SUCCESS, std::string{"tensor map: "} + name + " returned " +
                                           std::to_string(static_cast<int>(status)) +
                                           "; the device must have tensor copies (sm_90)");
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  TensorMap map{};
  std::memcpy(&map, &encoded, sizeof(map));
  return map;
}

#else

/// The model's map: the description, and in the last byte whether it is one of images.
template <class Description>
TensorMap model_of(Description const& t, bool has_images) {
  TensorMap map{};
  static_assert(sizeof(t) < sizeof(map));
  std::memcpy(&map, &t, sizeof(t));
  map.opaque[sizeof(map) - 1] = has_images;
  return map;
}
inline bool has_images(TensorMap const& map) { return map.opaque[sizeof(map) - 1] != 0; }

#endif

}  // namespace detail

/// Checks the description and encodes it: for the copy engine under nvcc, else for its model. Fails
/// on what the copy engine cannot do, with the way out. Called in .cu files alone: the host
/// compiler would take the model's.
inline TensorMap make_tensor_map(TensorNd const& t) {
  detail::require(t);
#ifdef __CUDACC__
  constexpr char const* kName = "cuTensorMapEncodeTiled";
  static auto* const encode = detail::driver_function<decltype(cuTensorMapEncodeTiled)>(kName);
  // The fastest dimension comes first, and has no stride of its own.
  cuuint64_t extents[5] = {}, strides[4] = {};
  cuuint32_t box[5] = {};
  for (int i = 0; i < t.dimensions; ++i) {
    int const from = t.dimensions - 1 - i;
    extents[i] = static_cast<cuuint64_t>(t.extents[from]);
    box[i] = t.box[from];
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(t.strides[from]) * core::size_of(t.type);
  }
  cuuint32_t const every_element[] = {1, 1, 1, 1, 1};
  CUtensorMap encoded{};
  CUresult const status =
      encode(&encoded, detail::type_in_map(t.type, t.rounds_to_tf32),
             static_cast<cuuint32_t>(t.dimensions), const_cast<void*>(t.data), extents, strides,
             box, every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, detail::swizzle_in_map(t.swizzle),
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return detail::checked(status, encoded, kName);
#else
  return detail::model_of(t, false);
#endif
}
/// The same for images.
inline TensorMap make_image_map(ImageTensor const& t) {
  detail::require(t);
#ifdef __CUDACC__
  constexpr char const* kName = "cuTensorMapEncodeIm2col";
  static auto* const encode = detail::driver_function<decltype(cuTensorMapEncodeIm2col)>(kName);
  auto const wide = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  cuuint64_t const extents[] = {wide(t.channels), wide(t.columns), wide(t.rows), wide(t.images)};
  cuuint64_t const pixel = wide(t.pixel) * core::size_of(t.type);
  cuuint64_t const strides[] = {pixel, pixel * extents[1], pixel * extents[1] * extents[2]};
  auto const step = static_cast<cuuint32_t>(t.step);
  cuuint32_t const steps[] = {1, step, step, 1};
  // In the order of the dimensions, as CUTLASS has them; the manual says {D, H, W}.
  int const first[] = {t.first_column, t.first_row}, last[] = {t.last_column, t.last_row};
  CUtensorMap encoded{};
  CUresult const status =
      encode(&encoded, detail::type_in_map(t.type, t.rounds_to_tf32), 4, const_cast<void*>(t.data),
             extents, strides, first, last, t.box_channels, t.box_pixels, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, detail::swizzle_in_map(t.swizzle),
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return detail::checked(status, encoded, kName);
#else
  return detail::model_of(t, true);
#endif
}
/// The same for a matrix.
inline TensorMap make_tensor_map_2d(Tensor2d const& t) {
  QUAD_REQUIRE(t.leading >= t.columns,
               "tensor map: the leading dimension is less than the columns; pass at least these");
  return make_tensor_map({.data = t.data,
                          .type = t.type,
                          .dimensions = 2,
                          .extents = {t.rows, t.columns},
                          .strides = {t.leading},
                          .box = {t.box_rows, t.box_columns},
                          .swizzle = t.swizzle,
                          .rounds_to_tf32 = t.rounds_to_tf32});
}

}  // namespace quadrille::ptx
