// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Norms, activations, rotary positions and embeddings of tokens, in words of 16 bytes that are read once.
///
///   y = layer_norm(r), rms_norm(r), gelu(x), swiglu(x), rotary(x) or rows of x, row by row: rowwise.hpp
///
/// Technique    a block has a row of a norm, which stays in its registers from the load, all words of a
///              thread on their way, over both sums to the store; as many threads as the row fills. Of the
///              others a thread has a word of the result, or the two words of a head that a rotation
///              makes of each other. Blocks are on their way to the device under the kernel before
/// Before       by_element
/// Shapes       rows, and halves of heads, of whole words; norms: up to 32 KiB of a row
/// Work         each tensor is read and written once
/// Launch       256 threads; norms: a block for each token of 32 to 512
/// Accuracy     ErrorBound
#include "common/overlap.cuh"
#include "rowwise/rowwise_cuda.cuh"

#include <algorithm>

namespace quadrille::kernels::rowwise {
namespace {

constexpr int kWordBytes = 16;
constexpr std::int64_t kMaxThreads = 512, kMaxWordsEach = 4;

std::int64_t words_of(std::int64_t elements, core::DataType type) {
  return elements * static_cast<std::int64_t>(core::size_of(type)) / kWordBytes;
}

#ifdef QUAD_KERNELS

constexpr int kThreads = 256;

/// As many elements as a word has.
template <class T>
struct alignas(kWordBytes) Word {
  static constexpr int kCount = kWordBytes / sizeof(T);
  T value[kCount];

  __device__ static Word load(T const* from) { return *reinterpret_cast<Word const*>(from); }
  __device__ void store(T* to) const { *reinterpret_cast<Word*>(to) = *this; }
};

template <class T, int kWords>
__global__ void __launch_bounds__(kMaxThreads)
    rowwise_norm_vector_kernel(Operands<T> p, int words) {
  QUAD_SHARED(float, sums, [2][32]);
  begin_behind();
  constexpr int kCount = Word<T>::kCount;
  std::int64_t const first = std::int64_t{blockIdx.x} * p.features;
  auto const width = static_cast<float>(p.features);
  auto const place = [&](int w) {
    return static_cast<int>(threadIdx.x) + w * static_cast<int>(blockDim.x);
  };
  Word<T> row[kWords]{}, added[kWords];
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    if (place(w) >= words) continue;
    row[w] = Word<T>::load(p.x + first + place(w) * kCount);
    if (p.residual != nullptr) added[w] = Word<T>::load(p.residual + first + place(w) * kCount);
  }
  float mean = 0, squares = 0;
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    if (place(w) < words && p.residual != nullptr) {
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        row[w].value[e] = from_f32<T>(to_f32(row[w].value[e]) + to_f32(added[w].value[e]));
      }
      row[w].store(p.sum + first + place(w) * kCount);
    }
#pragma unroll
    for (int e = 0; e < kCount; ++e) mean += to_f32(row[w].value[e]);
  }
  mean = p.bias == nullptr ? 0 : block_sum(mean, sums[0]) / width;
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      float const off = to_f32(row[w].value[e]) - mean;
      if (place(w) < words) squares += off * off;
    }
  }
  float const variance = block_sum(squares, sums[1]) / width;
  float const scale = 1 / sqrtf(variance + static_cast<float>(kNormEpsilon));
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    if (place(w) >= words) continue;
    auto const gain = Word<T>::load(p.gain + place(w) * kCount);
    Word<T> bias{};
    if (p.bias != nullptr) bias = Word<T>::load(p.bias + place(w) * kCount);
    Word<T> result;
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      float const shift = p.bias == nullptr ? 0 : to_f32(bias.value[e]);
      result.value[e] =
          from_f32<T>((to_f32(row[w].value[e]) - mean) * scale * to_f32(gain.value[e]) + shift);
    }
    result.store(p.y + first + place(w) * kCount);
  }
}

template <class T, bool kIsGelu>
__global__ void __launch_bounds__(kThreads)
    rowwise_activate_vector_kernel(Operands<T> p, std::int64_t words) {
  begin_behind();
  std::int64_t const word = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (word >= words) return;
  std::int64_t const e = word * Word<T>::kCount;
  std::int64_t const gate = kIsGelu ? e : e + e / p.features * p.features;
  Word<T> const x = Word<T>::load(p.x + gate);
  Word<T> const factors = kIsGelu ? x : Word<T>::load(p.x + gate + p.features);
  Word<T> result;
#pragma unroll
  for (int i = 0; i < Word<T>::kCount; ++i) {
    float const value = to_f32(x.value[i]);
    result.value[i] = from_f32<T>(kIsGelu ? gelu(value) : swiglu(value, to_f32(factors.value[i])));
  }
  result.store(p.y + e);
}

/// Two words of a head for each thread.
template <class T>
__global__ void __launch_bounds__(kThreads)
    rowwise_rotary_vector_kernel(Operands<T> p, std::int64_t pairs) {
  begin_behind();
  constexpr int kCount = Word<T>::kCount;
  std::int64_t const pair = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (pair >= pairs) return;
  int const half = p.head_size / 2, of_half = half / kCount;
  std::int64_t const head = pair / of_half, token = head * p.head_size / p.features;
  int const j = static_cast<int>(pair % of_half) * kCount;
  float const* const cos_sin = p.cos_sin + std::int64_t{p.positions[token]} * p.head_size + j;
  std::int64_t const at = head * p.head_size + j;
  T const* const pairs_of = p.x + token * (p.ld_x - p.features) + at;
  Word<T> const a = Word<T>::load(pairs_of), b = Word<T>::load(pairs_of + half);
  Word<T> low, high;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    float const x = to_f32(a.value[i]), z = to_f32(b.value[i]);
    float const c = cos_sin[i], s = cos_sin[half + i];
    low.value[i] = from_f32<T>(x * c - z * s);
    high.value[i] = from_f32<T>(z * c + x * s);
  }
  low.store(p.y + at);
  high.store(p.y + at + half);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    rowwise_embedding_vector_kernel(Operands<T> p, std::int64_t words) {
  begin_behind();
  constexpr int kCount = Word<T>::kCount;
  std::int64_t const word = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (word >= words) return;
  std::int64_t const of_row = p.features / kCount, token = word / of_row,
                     j = word % of_row * kCount;
  Word<T> result = Word<T>::load(p.x + p.rows[token] * p.features + j);
  if (p.gain != nullptr) {
    auto const added = Word<T>::load(p.gain + p.positions[token] * p.features + j);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      result.value[i] = from_f32<T>(to_f32(result.value[i]) + to_f32(added.value[i]));
    }
  }
  result.store(p.y + word * kCount);
}

template <class T>
void launch_norm(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  auto const words = static_cast<int>(words_of(problem.features(), problem.y.type));
  auto const with = [&]<int kWords>() {
    int const threads = ((words + kWords - 1) / kWords + 31) / 32 * 32;
    QUAD_LAUNCH((rowwise_norm_vector_kernel<T, kWords>),
                (LaunchShape{.grid = static_cast<unsigned>(problem.tokens()),
                             .block = static_cast<unsigned>(threads),
                             .overlaps_previous = can_overlap(stream)}),
                stream, p, words);
  };
  // Two words on their way for each thread, where a block of 256 has enough.
  if (words <= 256) return with.template operator()<1>();
  if (words <= 2 * kMaxThreads) return with.template operator()<2>();
  with.template operator()<kMaxWordsEach>();
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T>() {
    if (is_norm(problem.action)) return launch_norm<T>(problem, stream);
    auto const p = operands<T>(problem);
    std::int64_t const words = problem.tokens() * words_of(problem.features(), problem.y.type);
    auto const shape = [&](std::int64_t threads) {
      return LaunchShape{.grid = static_cast<unsigned>((threads + kThreads - 1) / kThreads),
                         .block = kThreads,
                         .overlaps_previous = can_overlap(stream)};
    };
    if (problem.action == Action::rotary) {
      QUAD_LAUNCH(rowwise_rotary_vector_kernel<T>, shape(words / 2), stream, p, words / 2);
    } else if (problem.action == Action::embedding) {
      QUAD_LAUNCH(rowwise_embedding_vector_kernel<T>, shape(words), stream, p, words);
    } else if (problem.action == Action::gelu) {
      QUAD_LAUNCH((rowwise_activate_vector_kernel<T, true>), shape(words), stream, p, words);
    } else {
      QUAD_LAUNCH((rowwise_activate_vector_kernel<T, false>), shape(words), stream, p, words);
    }
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  std::int64_t const bytes = static_cast<std::int64_t>(core::size_of(p.y.type));
  if (p.action == Action::rotary && p.head_size / 2 * bytes % kWordBytes != 0) {
    return "takes halves of heads of whole 16 bytes";
  }
  if (is_norm(p.action) && words_of(p.features(), p.y.type) > kMaxThreads * kMaxWordsEach) {
    return "takes norms of up to 32 KiB of a row";
  }
  return {};
}

}  // namespace

extern constinit Variant<Problem> const by_vector{
    {.name = "by_vector",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.row_bytes = kWordBytes,
               .alignment = kWordBytes,
               .other = "halves of heads of whole 16 bytes; norms: up to 32 KiB of a row"},
     .preference = 10,
     .batch_invariant = true,
     .source = "own",
     .summary = "words of 16 bytes; a row of a norm stays in registers"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::rowwise
