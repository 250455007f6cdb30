// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction whose bits do not depend on the order.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    the whole range of the terms is split into bins of 16 bits, each a 64-bit integer;
///              a term is split into pieces of at most 29 bits, each added to the bin of its lowest
///              bit. Integer sums have no rounding, so neither grid, order nor schedule shows in
///              the bits of the result, and the sum is exact until it is rounded at the end. Every
///              thread has bins of its own in shared memory, one bank apart, so there is no
///              conflict and no atomic before the end of the block. A product is split exactly into
///              its rounded value and the rounding error (fma). Integers, minimum and maximum do
///              not depend on the order anyway: they are those of one_launch.
///                  term            [ low: 29 bits ][ high: 24  ]
///                  bins        |   b    |  b + 1 |  b + 2 |  b + 3 |   16 bits apart, an int64 each
///                  additions    += low             += high             below 2^44: room for 2^18
/// Before       one_launch
/// Shapes       x, y: n contiguous elements, any n, any alignment
/// Work         n s bytes read (2 n s for dot); 2 to 4 shared-memory updates per element
/// Launch       64 threads per block; bins of 11 KiB per block (sum of f32), 21 KiB (products of
///              f32) or 69 KiB (f64), as many blocks as fit; at most 2^16 elements per thread;
///              their bins in scratch memory
/// Accuracy     the exact sum rounded twice: within 1 ulp; products of f64 below 2^-968 lose bits,
///              beyond the range of f64 they give infinity; min, max exact; i32 exact below 2^53
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {

extern Variant<Problem> const one_launch;

namespace {

constexpr unsigned kThreads = 64;
constexpr int kBinBits = 16;
/// Bits of the lower piece of a significand; the upper one has 24.
constexpr int kLowBits = 29;
/// A bin takes the pieces of this many elements: 2^16 of at most 4 pieces below 2^(29 + 15).
constexpr std::int64_t kMaxPerThread = 1 << 16;
/// Long enough that many loads are in flight.
constexpr int kFlight = 4;

#ifdef QUAD_KERNELS

/// The exponents that pieces of terms can have: from 2^kLowest, up to a sum of 2^47 terms.
template <Operation op, class T>
struct Range {
  static constexpr bool kProducts = op != Operation::sum;
  static constexpr bool kSingle = std::is_same_v<T, float>;
  // The least f32 as f64 has a significand from 2^-149 down to 2^-201; products from 2^-298
  // down to 2^-350.
  static constexpr int kLowest = !kSingle ? -1074 : kProducts ? -350 : -201;
  static constexpr int kHighest = !kSingle ? 1024 : kProducts ? 256 : 128;
  static constexpr int kBins = (kHighest - kLowest + 47) / kBinBits + 1;
  static constexpr std::size_t kBytes = std::size_t{kBins} * kThreads * sizeof(std::int64_t);
};

/// What the blocks add up in the first page of scratch, after the counter.
struct Total {
  unsigned finished;
  unsigned special;  ///< kHasNan and so on
  unsigned long long bins[Range<Operation::sum, double>::kBins];
};
static_assert(sizeof(Total) <= kCounterBytes);
constexpr unsigned kHasNan = 1;
constexpr unsigned kHasInfinity = 2;
constexpr unsigned kHasMinusInfinity = 4;

/// A thread's bins: bin b is at column[b * kThreads].
template <class R>
struct Column {
  std::int64_t* column;
  unsigned special = 0;

  __device__ void add_piece(std::int64_t piece, int exponent, bool negative) {
    int const place = exponent - R::kLowest;
    std::int64_t const shifted = piece << (place % kBinBits);
    column[place / kBinBits * static_cast<int>(kThreads)] += negative ? -shifted : shifted;
  }

  /// Adds a number without rounding.
  __device__ void add(double value) {
    auto const bits = __builtin_bit_cast(std::uint64_t, value);
    int const field = static_cast<int>(bits >> 52 & 0x7FF);
    std::int64_t const fraction = static_cast<std::int64_t>(bits & 0xFFFFFFFFFFFFFU);
    bool const negative = bits >> 63 != 0;
    if (field == 0x7FF) {
      special |= fraction != 0 ? kHasNan : negative ? kHasMinusInfinity : kHasInfinity;
      return;
    }
    std::int64_t const significand = field == 0 ? fraction : fraction | std::int64_t{1} << 52;
    int const exponent = (field == 0 ? 1 : field) - 1075;
    std::int64_t const low = significand & ((1 << kLowBits) - 1);
    if (significand != low) {
      add_piece(significand >> kLowBits, exponent + kLowBits, negative);
    }
    if (low != 0) add_piece(low, exponent, negative);
  }

  template <Operation op, class T>
  __device__ void add_term(T x, T y) {
    if constexpr (op == Operation::sum) {
      add(static_cast<double>(x));
    } else {
      auto const a = static_cast<double>(x);
      auto const b = static_cast<double>(op == Operation::dot ? y : x);
      double const product = a * b;
      add(product);
      if constexpr (!R::kSingle) {
        // The rounding error. It means nothing for a product beyond the range.
        double const rest = std::fma(a, b, -product);
        if (product - product == 0) add(rest);
      }
    }
  }

  /// Carries what exceeds 16 bits to the next bin; only the last may stay large or negative.
  __device__ void normalise() {
    std::int64_t carry = 0;
    for (int b = 0; b + 1 < R::kBins; ++b) {
      std::int64_t const value = column[b * static_cast<int>(kThreads)] + carry;
      carry = value >> kBinBits;
      column[b * static_cast<int>(kThreads)] = value & ((1 << kBinBits) - 1);
    }
    column[(R::kBins - 1) * static_cast<int>(kThreads)] += carry;
  }
};

/// The exact total, rounded. One thread; leaves `total` at zero.
template <class R>
__device__ double round_total(Total& total) {
  double const infinity = kInfinity<double>;
  unsigned const special = total.special;
  total.special = 0;
  // The sign is that of the last bin, once all carries are there; digits of the magnitude.
  auto const carry_all = [&](std::int64_t sign) {
    std::int64_t carry = 0;
    for (int b = 0; b < R::kBins; ++b) {
      std::int64_t const value = sign * static_cast<std::int64_t>(total.bins[b]) + carry;
      bool const last = b + 1 == R::kBins;
      carry = value >> kBinBits;
      total.bins[b] = static_cast<unsigned long long>(last ? value : value & ((1 << kBinBits) - 1));
    }
    return static_cast<std::int64_t>(total.bins[R::kBins - 1]) < 0;
  };
  bool const negative = carry_all(1);
  if (negative) carry_all(-1);
  // From the smallest digit on, only the last few additions round.
  double sum = 0;
  for (int b = 0; b < R::kBins; ++b) {
    sum += std::ldexp(static_cast<double>(total.bins[b]), b * kBinBits + R::kLowest);
    total.bins[b] = 0;
  }
  if (special == kHasInfinity) return infinity;
  if (special == kHasMinusInfinity) return -infinity;
  if (special != 0) return kNan;
  return negative ? -sum : sum;
}

template <Operation op, class T>
__global__ void __launch_bounds__(kThreads)
    reduction_binned_kernel(T const* x, T const* y, std::int64_t n, Total* total, double* result) {
  using R = Range<op, T>;
  constexpr int kWide = 16 / sizeof(T);
  QUAD_DYNAMIC_SHARED(std::int64_t, bins);
  QUAD_SHARED(bool, is_last);
  unsigned const t = threadIdx.x;
  Column<R> mine{bins + t};
  for (int b = 0; b < R::kBins; ++b) mine.column[b * static_cast<int>(kThreads)] = 0;

  // add: a few loads ahead, then as many terms
  std::int64_t const head = unaligned_head(x, n);
  std::int64_t const groups = (n - head) / kWide;
  bool const aligned_y =
      op != Operation::dot || reinterpret_cast<std::uintptr_t>(y + head) % 16 == 0;
  constexpr std::int64_t kTile = kTileGroups<kThreads, kFlight>;
  for (std::int64_t begin = blockIdx.x * kTile; begin < groups; begin += gridDim.x * kTile) {
    Wide<T> a[kFlight];
    Wide<T> b[kFlight];
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
      std::int64_t const group = begin + f * kThreads + t;
      std::int64_t const i = head + group * kWide;
      if (group >= groups) continue;
      a[f] = load_wide<true>(x + i);
      if constexpr (op == Operation::dot) {
        b[f] = aligned_y ? load_wide<true>(y + i) : load_wide<false>(y + i);
      }
    }
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
      if (begin + f * kThreads + t >= groups) continue;
#pragma unroll
      for (int j = 0; j < kWide; ++j) {
        mine.template add_term<op>(a[f].item[j],
                                   op == Operation::dot ? b[f].item[j] : a[f].item[j]);
      }
    }
  }
  if (blockIdx.x == 0 && t < n - groups * kWide) {
    std::int64_t const i = t < head ? t : t + groups * kWide;
    mine.template add_term<op>(x[i], op == Operation::dot ? y[i] : x[i]);
  }

  // join: columns of the block, then blocks; integers, so in any order
  mine.normalise();
  if (mine.special != 0) atomicOr(&total->special, mine.special);
  __syncthreads();  // all columns are final
  for (unsigned b = t; b < static_cast<unsigned>(R::kBins); b += kThreads) {
    std::int64_t sum = 0;
    for (unsigned c = 0; c < kThreads; ++c) {
      sum += bins[b * kThreads + (c + t) % kThreads];  // each lane at another bank
    }
    if (sum != 0) atomicAdd(&total->bins[b], static_cast<unsigned long long>(sum));
  }
  __threadfence();  // the block's sums are there before it counts as finished
  __syncthreads();  // ... of all its threads
  if (t == 0) is_last = ptx::atomic_add_acq_rel_gpu(&total->finished, 1U) == gridDim.x - 1;
  __syncthreads();
  if (is_last && t == 0) {
    *result = round_total<R>(*total);
    total->finished = 0;
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  bool const extreme = problem.operation == Operation::min || problem.operation == Operation::max;
  if (extreme || problem.type == core::DataType::i32) return one_launch.enqueue(problem, stream);
  std::int64_t const multiprocessors = stream.facts().multiprocessors;
  visit(problem, [&]<Operation op, class T>() {
    if constexpr (op != Operation::min && op != Operation::max && !std::is_integral_v<T>) {
      using R = Range<op, T>;
      constexpr std::int64_t kWide = 16 / sizeof(T);
      constexpr std::int64_t kPerMultiprocessor =
          std::min<std::int64_t>(16, 225 * 1024 / (R::kBytes + 1024));
      std::int64_t const needed = blocks_for(problem.n, kMaxPerThread * kThreads);
      std::int64_t const useful = blocks_for(problem.n, kTileGroups<kThreads, kFlight> * kWide);
      auto const blocks = static_cast<unsigned>(
          std::max(needed, std::min(useful, kPerMultiprocessor * multiprocessors)));
      QUAD_LAUNCH((reduction_binned_kernel<op, T>), dim3(blocks), dim3(kThreads), R::kBytes, stream,
                  first_of<T>(problem), second_of<op, T>(problem), problem.n,
                  static_cast<Total*>(problem.scratch), problem.result);
    }
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const binned{
    {.name = "binned",
     .where = Where::cuda,
     .types = kReductionTypes,
     .needs = {.other = "not reproducible"},
     .source = "own; bins: Demmel and Nguyen",
     .summary = "exact sums in integer bins, in any order"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_only, .notes = {.chain = chain_of_one}}};

}  // namespace quadrille::kernels::reduction
