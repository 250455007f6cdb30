// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product on the host from packed panels and register tiles.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    each thread packs a slice of kKc rows of its part of op(B) into panels of kCols
///              columns and blocks of op(A) into panels of kRows rows, and multiplies panel by
///              panel. A tile of C stays in registers for kKc steps, a panel of B in the
///              first-level cache for a whole block of A, a block of A in the second level for the
///              whole slice: the multipliers never wait for memory. Threads share nothing, hence
///              one parallel loop and no barrier in it: a busy core delays its own part only.
///              Elements of 16 and 8 bits are widened while they are packed, and get their factors;
///              C of 16 bits is added up in f32 by bands of kBand rows and stored once
/// Shapes       row-major, any extents, leading dimensions and alignment; packing knows op(A) and
///              op(B) as strides; partial tiles are padded with zeros in the panels
/// Work         2 m n k flop; A is packed once per column of parts, B once per row of parts
/// Launch       parts of C, one to four for each thread, or each of several products, in one parallel
///              loop of the stream; pack buffers belong to the threads and grow to the largest problem
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data; i32 exact modulo 2^32
#include "device/host/parallel.hpp"
#include "gemm/gemm.hpp"
#include "gemm/gemm_parts.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace quadrille::kernels::gemm {
namespace {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kTileRows =
    8;  // 24 accumulators, 3 vectors of B, 1 broadcast: 28 of 32 registers
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kTileRows = 4;  // 12 accumulators, 3 vectors of B, 1 broadcast: 16 registers
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kTileRows = 4;
#endif
inline constexpr int kTileVectors = 3;

/// Sizes of the blocks for element type T, in elements.
template <class T>
struct Blocking {
  using Vector [[gnu::vector_size(kVectorBytes)]] = T;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int kRows = kTileRows;
  static constexpr int kCols = kTileVectors * kLanes;
  static constexpr std::int64_t kKc = 256;
  static constexpr std::int64_t kMc = 192 * 8 / sizeof(T);  // a block of A: 384 KiB
  static constexpr std::int64_t kNc = 4080 / kCols * kCols;
  static constexpr std::int64_t kBand = 4 * kMc;
};

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// Memory of one thread for packed panels; grows, never shrinks.
class PackBuffer {
 public:
  template <class T>
  T* elements(std::int64_t n) {
    auto const bytes =
        static_cast<std::size_t>(divide_up(n * static_cast<std::int64_t>(sizeof(T)), kAlignment)) *
        kAlignment;
    if (bytes > bytes_) {
      memory_.reset(std::aligned_alloc(kAlignment, bytes));
      QUAD_REQUIRE(memory_ != nullptr, "gemm/host_simd: no memory for packed panels");
      bytes_ = bytes;
    }
    return static_cast<T*>(memory_.get());
  }

 private:
  static constexpr std::int64_t kAlignment = 4096;
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t bytes_ = 0;
};

thread_local PackBuffer packed_slice;
thread_local PackBuffer packed_block;
thread_local PackBuffer band_of_sums;

/// Weights of 4 bits, two to a byte, as a pointer to elements.
struct Halves {
  std::int8_t const* bytes;
  std::int64_t first = 0;

  float operator[](std::int64_t i) const {
    return static_cast<float>(half_of(bytes[(first + i) >> 1], (first + i) & 1));
  }
  Halves operator+(std::int64_t n) const { return {bytes, first + n}; }
};

/// op(A) or op(B) as strides: element (w, p) of a panel, w across it and p along k.
template <class Pointer>
struct Strided {
  Pointer data;
  std::int64_t across;
  std::int64_t along;
};

/// Of a panel's elements: the factor of (w, p) is data[w / kWide * across + p / kScaled * along].
template <int kWide, class Factor = float>
struct Factors {
  Factor const* data;
  std::int64_t across;
  std::int64_t along;

  template <int kWidth, class T>
  void apply(std::int64_t first_line, std::int64_t width, core::Range depth, T* panel) const {
    for (std::int64_t p = 0; p < depth.count; ++p) {
      Factor const* const factor = data + (depth.first + p) / kScaled * along;
      for (std::int64_t w = 0; w < width; ++w) {
        panel[p * kWidth + w] *= static_cast<T>(factor[(first_line + w) / kWide * across]);
      }
    }
  }
};

/// Packs `width` <= kWidth lines of kc elements so that the kWidth values of one step lie together.
template <int kWidth, class Pointer, class T>
void pack_panel(Strided<Pointer> from, std::int64_t width, std::int64_t kc, T* to) {
  if (width == kWidth && from.across == 1) {
    for (std::int64_t p = 0; p < kc; ++p) {
      auto const line = from.data + p * from.along;
      T widened[kWidth];  // cannot overlap the line
      for (int w = 0; w < kWidth; ++w) widened[w] = static_cast<T>(line[w]);
      std::memcpy(to + p * kWidth, widened, sizeof widened);
    }
  } else if (width == kWidth) {
    for (std::int64_t p = 0; p < kc; ++p) {
      for (int w = 0; w < kWidth; ++w)
        to[p * kWidth + w] = static_cast<T>(from.data[w * from.across + p * from.along]);
    }
  } else {
    for (std::int64_t p = 0; p < kc; ++p) {
      for (int w = 0; w < kWidth; ++w) {
        to[p * kWidth + w] =
            w < width ? static_cast<T>(from.data[w * from.across + p * from.along]) : T{};
      }
    }
  }
}

/// Where a tile of C goes.
template <class T>
struct Target {
  T* c;
  std::int64_t ld;
  T alpha;
  T beta;
};

/// Otherwise the compiler loads a value again at each of its uses, and the load ports, not the
/// multipliers, set the pace.
template <class Vector>
[[gnu::always_inline]] inline Vector in_register(Vector value) {
#if defined(__x86_64__)
  asm("" : "+v"(value));
#endif
  return value;
}

/// C tile of rows x cols (at most kRows x kCols) = alpha (panel of A) (panel of B) + beta C.
template <class T>
void multiply_tile(std::int64_t kc, T const* a, T const* b, Target<T> const& target,
                   std::int64_t rows, std::int64_t cols) {
  using Block = Blocking<T>;
  using Vector = typename Block::Vector;
  constexpr int kRows = Block::kRows;
  constexpr int kLanes = Block::kLanes;
  Vector sum[kRows][kTileVectors] = {};

  // The tile of C arrives while the panels are multiplied.
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    T const* row = target.c + std::min<std::int64_t>(r, rows - 1) * target.ld;
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + cols - 1, 1);
  }

#pragma GCC unroll 4
  for (std::int64_t p = 0; p < kc; ++p) {
    Vector line[kTileVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) {
      line[v] = in_register(reinterpret_cast<Vector const*>(b)[v]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      Vector const factor = in_register(a[r] - Vector{});
#pragma GCC unroll 3
      for (int v = 0; v < kTileVectors; ++v) sum[r][v] += factor * line[v];
    }
    a += kRows;
    b += Block::kCols;
  }

  if (rows == kRows && cols == Block::kCols) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < kTileVectors; ++v) {
        T* const place = target.c + r * target.ld + v * kLanes;
        Vector result = target.alpha * sum[r][v];
        if (target.beta != T{}) {
          Vector old;
          std::memcpy(&old, place, sizeof(Vector));
          result += target.beta * old;
        }
        std::memcpy(place, &result, sizeof(Vector));
      }
    }
  } else {
    T values[kRows][Block::kCols];
    std::memcpy(values, sum, sizeof(values));
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < cols; ++j) {
        T& place = target.c[r * target.ld + j];
        T const old = target.beta != T{} ? target.beta * place : T{};
        place = target.alpha * values[r][j] + old;
      }
    }
  }
}

/// One product of A and B of In, with sums in T, into C of Out; i32 comes as std::uint32_t, whose
/// overflow is defined.
template <class In, class T, class Out, class PointerB = In const*>
class Product {
 public:
  using Block = Blocking<T>;
  static constexpr bool kHasWeights = !std::is_same_v<PointerB, In const*>;
  /// Of blocks of B, or of each column of weights.
  using FactorsOfB =
      std::conditional_t<kHasWeights, Factors<1, In>, Factors<static_cast<int>(kScaled)>>;

  explicit Product(Problem const& p)
      : m_{p.m()},
        n_{p.n()},
        k_{p.k()},
        a_{static_cast<In const*>(p.a.data), p.transpose_a ? 1 : p.a.ld,
           p.transpose_a ? p.a.ld : 1},
        b_{elements_of_b(p), p.transpose_b ? p.b.ld * per_byte(p.weights) : 1,
           p.transpose_b ? 1 : p.b.ld},
        a_factors_{static_cast<float const*>(p.a_scales.data), 1, p.a_scales.ld},
        b_factors_{factors_of_b(p)},
        c_{static_cast<Out*>(p.c.data)},
        ldc_{p.c.ld},
        alpha_{convert(p.alpha)},
        beta_{convert(p.beta)} {}

  /// On this thread.
  void run() const {
    if (m_ > 0 && n_ > 0) multiply_part({0, m_}, {0, n_});
  }
  void run(device::StreamView stream) const {
    if (m_ == 0 || n_ == 0) return;
    // Several parts for each thread even out cores that are also used by others, where the parts
    // are large enough to hide that each packs its own panels.
    constexpr std::int64_t kLargePart = 1 << 19;
    std::int64_t const threads = device::parallel_threads(stream);
    std::int64_t const each =
        threads == 1 ? 1 : std::clamp<std::int64_t>(m_ * n_ / threads / kLargePart, 1, 4);
    Parts const parts = cut(m_, n_, threads * each, Block::kRows, Block::kCols);
    device::parallel_for(
        stream, parts.count(),
        [=, this](std::int64_t part) { multiply_part(parts.rows_of(part), parts.cols_of(part)); },
        device::Schedule::dynamic);
  }

 private:
  static PointerB elements_of_b(Problem const& p) {
    if constexpr (std::is_same_v<PointerB, Halves>) {
      return {static_cast<std::int8_t const*>(p.b.data)};
    } else {
      return static_cast<PointerB>(p.b.data);
    }
  }
  static FactorsOfB factors_of_b(Problem const& p) {
    if constexpr (kHasWeights)
      return {static_cast<In const*>(p.b_scales.data), 1, p.b_scales.ld};
    else
      return {static_cast<float const*>(p.b_scales.data), p.b_scales.ld, 1};
  }
  static T convert(double x) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(x));
    return static_cast<T>(x);
  }

  void multiply_part(core::Range rows, core::Range cols) const {
    for (std::int64_t j = 0; j < cols.count; j += Block::kNc) {
      core::Range const slice_cols{cols.first + j, std::min(Block::kNc, cols.count - j)};
      if constexpr (std::is_same_v<T, Out>) {
        Out* const c = c_ + rows.first * ldc_ + slice_cols.first;
        multiply_slices(rows, slice_cols, {c, ldc_, alpha_, beta_});
      } else {
        for (std::int64_t i = 0; i < rows.count; i += Block::kBand) {
          core::Range const band{rows.first + i, std::min(Block::kBand, rows.count - i)};
          T* const sums = band_of_sums.elements<T>(band.count * slice_cols.count);
          multiply_slices(band, slice_cols, {sums, slice_cols.count, T{1}, T{0}});
          store(sums, band, slice_cols);
        }
      }
    }
  }

  /// All of k, slice by slice.
  void multiply_slices(core::Range rows, core::Range cols, Target<T> target) const {
    // Slices of equal depth, so that the last one is not a thin one.
    std::int64_t const slices = std::max<std::int64_t>(1, divide_up(k_, Block::kKc));
    for (std::int64_t s = 0; s < slices; ++s) {
      core::Range const depth = core::split_evenly(k_, slices, s);
      T const* const packed = pack<Block::kCols>(b_, b_factors_, cols, depth, packed_slice);
      for (std::int64_t i = 0; i < rows.count; i += Block::kMc) {
        core::Range const block_rows{rows.first + i, std::min(Block::kMc, rows.count - i)};
        Target<T> block = target;
        block.c += i * target.ld;
        multiply_block(pack<Block::kRows>(a_, a_factors_, block_rows, depth, packed_block), packed,
                       block_rows.count, cols.count, depth.count, block);
      }
      target.beta = 1;
    }
  }

  /// C = alpha sums + beta C.
  void store(T const* sums, core::Range rows, core::Range cols) const {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      T const* const sum = sums + i * cols.count;
      Out* const c = c_ + (rows.first + i) * ldc_ + cols.first;
      if (beta_ == T{}) {
        for (std::int64_t j = 0; j < cols.count; ++j) c[j] = static_cast<Out>(alpha_ * sum[j]);
      } else {
        for (std::int64_t j = 0; j < cols.count; ++j) {
          c[j] = static_cast<Out>(alpha_ * sum[j] + beta_ * static_cast<T>(c[j]));
        }
      }
    }
  }

  /// Packs the lines `across` of x in panels of kWidth, over `depth`.
  template <int kWidth, class Pointer, class FactorsOfIt>
  static T const* pack(Strided<Pointer> x, FactorsOfIt const& factors, core::Range across,
                       core::Range depth, PackBuffer& buffer) {
    if (depth.count == 0) return nullptr;
    T* const packed = buffer.elements<T>(divide_up(across.count, kWidth) * kWidth * depth.count);
    for (std::int64_t w = 0; w < across.count; w += kWidth) {
      Strided<Pointer> from = x;
      from.data = from.data + (across.first + w) * x.across + depth.first * x.along;
      std::int64_t const width = std::min<std::int64_t>(kWidth, across.count - w);
      T* const panel = packed + w * depth.count;
      pack_panel<kWidth>(from, width, depth.count, panel);
      if (factors.data != nullptr) {
        factors.template apply<kWidth>(across.first + w, width, depth, panel);
      }
    }
    return packed;
  }

  static void multiply_block(T const* a, T const* b, std::int64_t rows, std::int64_t cols,
                             std::int64_t kc, Target<T> const& block) {
    for (std::int64_t j = 0; j < cols; j += Block::kCols) {
      for (std::int64_t i = 0; i < rows; i += Block::kRows) {
        Target<T> tile = block;
        tile.c += i * block.ld + j;
        multiply_tile<T>(kc, a + i * kc, b + j * kc, tile,
                         std::min<std::int64_t>(Block::kRows, rows - i),
                         std::min<std::int64_t>(Block::kCols, cols - j));
      }
    }
  }

  std::int64_t m_, n_, k_;
  Strided<In const*> a_;
  Strided<PointerB> b_;
  Factors<1> a_factors_;
  FactorsOfB b_factors_;
  Out* c_;
  std::int64_t ldc_;
  T alpha_, beta_;
};

template <class In, class T = In, class Out = In, class PointerB = In const*>
void enqueue(Problem const& problem, device::StreamView stream) {
  using Product = Product<In, T, Out, PointerB>;
  stream.run([problem, stream] {
    if (problem.groups.count == 1) return Product{problem}.run(stream);
    device::parallel_for(
        stream, problem.groups.count,
        [&](std::int64_t group) { Product{problem.group(group)}.run(); },
        device::Schedule::dynamic);
  });
}

template <class In, class Narrow = In, class PointerB = In const*>
void enqueue_in_f32(Problem const& problem, device::StreamView stream) {
  if (problem.c.type == core::DataType::f32) {
    enqueue<In, float, float, PointerB>(problem, stream);
  } else {
    enqueue<In, float, Narrow, PointerB>(problem, stream);
  }
}

template <class In>
void enqueue_16_bits(Problem const& problem, device::StreamView stream) {
  switch (problem.weights) {
    case Weights::none: return enqueue_in_f32<In>(problem, stream);
    case Weights::i8: return enqueue_in_f32<In, In, std::int8_t const*>(problem, stream);
    case Weights::i4: return enqueue_in_f32<In, In, Halves>(problem, stream);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  switch (problem.a.type) {
    case core::DataType::f64: return enqueue<double>(problem, stream);
    case core::DataType::f32: return enqueue<float>(problem, stream);
    case core::DataType::f16: return enqueue_16_bits<core::f16>(problem, stream);
    case core::DataType::bf16: return enqueue_16_bits<core::bf16>(problem, stream);
    case core::DataType::e4m3: return enqueue_in_f32<core::e4m3, core::bf16>(problem, stream);
    case core::DataType::e5m2: return enqueue_in_f32<core::e5m2, core::bf16>(problem, stream);
    case core::DataType::i8:
      return enqueue<std::int8_t, std::uint32_t, std::uint32_t>(problem, stream);
    default: return enqueue<std::uint32_t>(problem, stream);
  }
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f64,
               core::DataType::f32,
               core::DataType::f16,
               {core::DataType::f16, core::Compute::f32, core::DataType::f32},
               core::DataType::bf16,
               {core::DataType::bf16, core::Compute::f32, core::DataType::f32},
               core::DataType::i32,
               {core::DataType::e4m3, core::Compute::f32, core::DataType::f32},
               {core::DataType::e4m3, core::Compute::f32, core::DataType::bf16},
               {core::DataType::e5m2, core::Compute::f32, core::DataType::f32},
               {core::DataType::e5m2, core::Compute::f32, core::DataType::bf16},
               {core::DataType::i8, core::Compute::i32, core::DataType::i32}},
     .needs = {.other = "i32 and i8: whole alpha and beta"},
     .preference = 20,
     .batch_invariant = true,
     .source = "own, after Goto and van de Geijn 2008",
     .summary = "packed panels and register tiles in vectors of the host's width"},
    launch,
    {.unsupported = whole_scalars,
     .notes = {.takes_scales = true,
               .takes_weights = true,
               .takes_groups = true,
               .takes_pointers = true}}};

}  // namespace quadrille::kernels::gemm
