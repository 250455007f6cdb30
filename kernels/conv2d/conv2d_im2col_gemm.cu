// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution as a product with the column matrix, which is stored.
///
///   Y = W X_col
///
/// Technique    a kernel writes the columns (im2col, Chellapilla et al. 2006) of a chunk of
///              positions, of several images at once; the best of this project's own matrix
///              products multiplies them by the filters. In nhwc the product is the output; in nchw
///              a second kernel moves it to its images. Terms are padded with zeros to a multiple
///              of 8, so that products with vectors or tensor cores take them; filters are copied
///              likewise, transposed in nhwc
/// Shapes       nchw or nhwc, any extents
/// Work         2 n k p q (c / groups) r s flop; beside the operands' traffic the columns, n p q c r s
///              elements, are written and read, and in nchw the outputs once more
/// Launch       chunks of at most 256 MiB for columns and products, or of 128 positions; 256 threads in
///              the kernels that move
/// Accuracy     that of the product: c r s eps w / 2 at worst, eps (sqrt(c r s) + 2) w for random data
#include "conv2d/conv2d_cuda.cuh"

#include <algorithm>

namespace quadrille::kernels::conv2d {
namespace {

constexpr std::int64_t kChunkBytes = 256 << 20;
constexpr std::int64_t kChunkUnit = 128;  // positions
constexpr std::int64_t kVector = 8;       // terms
constexpr std::int64_t kAlignment = 256;  // bytes

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// How the positions of all images are cut, and where in scratch memory things lie.
struct Plan {
  explicit Plan(Problem const& p)
      : width{static_cast<std::int64_t>(core::size_of(p.x.type))},
        positions{p.shape.n * p.shape.positions()},
        terms{round_up(std::max<std::int64_t>(p.shape.terms(), 1), kVector)},
        is_nchw{p.layout == DataLayout::nchw} {
    std::int64_t const each = width * (terms + (is_nchw ? p.shape.group_filters() : 0));
    chunk = std::max(kChunkUnit, kChunkBytes / each / kChunkUnit * kChunkUnit);
    chunk = std::min(chunk, round_up(positions, kChunkUnit));
    filter_ld = is_nchw ? terms : round_up(p.shape.group_filters(), kVector);
    filter_bytes = p.shape.groups * group_filter_bytes(p);
    column_bytes = round_up(width * chunk * terms, kAlignment);
    product_bytes = is_nchw ? round_up(width * chunk * p.shape.group_filters(), kAlignment) : 0;
  }
  /// Of the filters of a group: a row each in nchw, a column each in nhwc.
  std::int64_t group_filter_bytes(Problem const& p) const {
    std::int64_t const rows = is_nchw ? p.shape.group_filters() : terms;
    return round_up(width * rows * filter_ld, kAlignment);
  }

  std::int64_t width, positions, terms, chunk = 0, filter_ld = 0;
  std::int64_t filter_bytes = 0, column_bytes = 0, product_bytes = 0;
  bool is_nchw;
};

/// The product of `count` positions and a group, with only the address of its result. Where y has none,
/// it counts from 0, which tells as much of alignment.
gemm::Problem product_of(Problem const& p, Plan const& plan, std::int64_t count,
                         std::int64_t group = 0) {
  std::int64_t const filters = p.shape.group_filters();
  gemm::Problem product;
  product.compute = p.compute;
  if (plan.is_nchw) {
    product.a = {nullptr, p.x.type, filters, plan.terms, plan.terms};
    product.b = {nullptr, p.x.type, plan.terms, count, plan.chunk};
    product.c = {nullptr, p.x.type, filters, count, plan.chunk};
  } else {
    auto const y = reinterpret_cast<std::uintptr_t>(p.y.data);
    auto const offset = static_cast<std::uintptr_t>(group * filters * plan.width);
    product.a = {nullptr, p.x.type, count, plan.terms, plan.terms};
    product.b = {nullptr, p.x.type, plan.terms, filters, plan.filter_ld};
    product.c = {reinterpret_cast<void*>(y + offset), p.x.type, count, filters, p.shape.k};
  }
  return product;
}

/// Calls f for the rows of gemm that could multiply.
template <class F>
void for_products(gemm::Problem const& product, F const& f) {
  for (Variant<gemm::Problem> const& row : gemm::variants()) {
    bool const is_own = row.where == Where::cuda && row.role == Role::own;
    if (is_own && row.unsupported_reason(product).empty()) f(row);
  }
}

/// Sizes of chunks: of all but the last, and of the last.
std::array<std::int64_t, 2> counts_of(Plan const& plan) {
  std::int64_t const rest = plan.positions % plan.chunk;
  return {std::min(plan.positions, plan.chunk), rest == 0 ? plan.chunk : rest};
}

constexpr int kCapability = 80;  // of the devices that have a product for all that this takes

std::string unsupported(Problem const& p) {
  std::string reason = few_elements(p);
  if (!reason.empty() || p.shape.n == 0 || p.shape.k == 0) return reason;
  Plan const plan{p};
  for (std::int64_t const count : counts_of(plan)) {
    // Groups as far apart begin at the same place of a vector.
    for (std::int64_t group = 0; group < std::min(p.shape.groups, kVector); ++group) {
      bool is_there = false;
      for_products(product_of(p, plan, count, group), [&](Variant<gemm::Problem> const& row) {
        is_there |= row.needs.compute_capability <= kCapability && !row.needs.exact_capability;
      });
      if (!is_there) return "finds no matrix product for these extents and this type";
    }
  }
  return {};
}

std::size_t product_scratch(Problem const& p, Plan const& plan, device::Facts const& device) {
  std::size_t bytes = gemm::kScratchCounters * sizeof(std::uint32_t);
  for (std::int64_t const count : counts_of(plan)) {
    gemm::Problem const product = product_of(p, plan, count);
    for_products(product, [&](Variant<gemm::Problem> const& row) {
      if (!kernels::unsupported_reason(row, device::Kind::cuda, device).empty()) return;
      bytes = std::max(bytes, row.scratch_bytes(product, device));
    });
  }
  return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes), kAlignment));
}

std::size_t scratch_bytes(Problem const& p, device::Facts const& device) {
  if (p.shape.n == 0 || p.shape.k == 0) return 0;
  Plan const plan{p};
  return product_scratch(p, plan, device) +
         static_cast<std::size_t>(plan.filter_bytes + plan.column_bytes + plan.product_bytes);
}

#ifdef QUAD_KERNELS

constexpr int kThreads = 256;

dim3 grid_for(std::int64_t elements) {
  return dim3(static_cast<unsigned>((elements + kThreads - 1) / kThreads));
}

/// Columns of the positions from `first` on, `count` of them: terms x chunk elements in nchw, positions
/// x terms in nhwc.
template <class T, bool kNchw>
__global__ void __launch_bounds__(kThreads)
    conv2d_columns_kernel(Operands<T> p, T* columns, int first, int count, int group,
                          int row_length, Divisor by_row, int rows) {
  int const e = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  int const row = by_row.quotient(e), in_row = by_row.remainder(e, row);
  if (row >= rows) return;
  int const t = kNchw ? row : in_row, j = kNchw ? in_row : row;
  if (j >= count) return;
  T value = from_f32<T>(0);
  if (t < p.terms) {
    Window const window = window_of(p, first + j);
    Term const term = term_of<kNchw>(p, t);
    int const y = window.row + term.row, x = window.col + term.col;
    if (is_inside(p, y, x)) {
      value = p.x[window.image + (group * p.channels + term.channel) * p.plane +
                  (y * p.width + x) * p.pitch];
    }
  }
  columns[row * row_length + in_row] = value;
}

/// The filters of a group with zeros behind their terms; in nhwc transposed, terms x filters.
template <class T, bool kNchw>
__global__ void __launch_bounds__(kThreads)
    conv2d_pad_filters_kernel(Operands<T> p, T* padded, int group, Divisor by_ld, int rows) {
  int const e = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  int const row = by_ld.quotient(e), col = by_ld.remainder(e, row);
  if (row >= rows) return;
  int const f = kNchw ? row : col, t = kNchw ? col : row;
  bool const is_there = f < p.filters && t < p.terms;
  padded[e] = is_there ? p.w[(group * p.filters + f) * p.terms + t] : from_f32<T>(0);
}

/// Products, filters x chunk, to the images of nchw.
template <class T>
__global__ void __launch_bounds__(kThreads)
    conv2d_to_images_kernel(Operands<T> p, T const* product, int first, int count, int group,
                            Divisor by_chunk) {
  int const e = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  int const f = by_chunk.quotient(e), j = by_chunk.remainder(e, f);
  if (f >= p.filters || j >= count) return;
  p.y[window_of(p, first + j).out + (group * p.filters + f) * p.out_plane] = product[e];
}

/// The best own product that this device has for the addresses at hand.
void multiply(gemm::Problem const& product, device::StreamView stream) {
  Variant<gemm::Problem> const* best = nullptr;
  for_products(product, [&](Variant<gemm::Problem> const& row) {
    if (!kernels::unsupported_reason(row, stream).empty()) return;
    if (best == nullptr || row.preference > best->preference) best = &row;
  });
  QUAD_REQUIRE(best != nullptr,
               "conv2d/im2col_gemm: this device has no matrix product for these "
               "extents; take another variant");
  best->launch(product, stream);
}

template <class T, bool kNchw>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  Plan const plan{problem};
  std::size_t const of_product = product_scratch(problem, plan, stream.facts());
  QUAD_REQUIRE(problem.scratch_bytes >= scratch_bytes(problem, stream.facts()),
               "conv2d/im2col_gemm: too little scratch memory; ask scratch_bytes()");
  auto* const filters = static_cast<std::byte*>(problem.scratch) + of_product;
  auto* const columns = filters + plan.filter_bytes;
  auto* const products = columns + plan.column_bytes;
  auto const narrow = [](std::int64_t x) { return static_cast<int>(x); };
  int const terms = narrow(plan.terms), chunk = narrow(plan.chunk);
  int const filter_rows = narrow(kNchw ? problem.shape.group_filters() : plan.terms);
  for (std::int64_t group = 0; group < problem.shape.groups; ++group) {
    QUAD_LAUNCH((conv2d_pad_filters_kernel<T, kNchw>), grid_for(filter_rows * plan.filter_ld),
                dim3(kThreads), 0, stream, p,
                reinterpret_cast<T*>(filters + group * plan.group_filter_bytes(problem)),
                narrow(group), Divisor{narrow(plan.filter_ld)}, filter_rows);
  }
  for (std::int64_t first = 0; first < plan.positions; first += plan.chunk) {
    std::int64_t const count = std::min(plan.chunk, plan.positions - first);
    for (std::int64_t group = 0; group < problem.shape.groups; ++group) {
      int const row_length = kNchw ? chunk : terms;
      std::int64_t const rows = kNchw ? plan.terms : count;
      QUAD_LAUNCH((conv2d_columns_kernel<T, kNchw>), grid_for(rows * row_length), dim3(kThreads), 0,
                  stream, p, reinterpret_cast<T*>(columns), narrow(first), narrow(count),
                  narrow(group), row_length, Divisor{row_length}, narrow(rows));
      gemm::Problem product = product_of(problem, plan, count, group);
      product.scratch = problem.scratch;
      product.scratch_bytes = of_product;
      void* const of_group = filters + group * plan.group_filter_bytes(problem);
      product.a.data = kNchw ? of_group : columns;
      product.b.data = kNchw ? columns : of_group;
      product.c.data =
          kNchw ? static_cast<void*>(products) : static_cast<T*>(product.c.data) + first * p.k;
      multiply(product, stream);
      if constexpr (kNchw) {
        QUAD_LAUNCH(conv2d_to_images_kernel<T>,
                    grid_for(problem.shape.group_filters() * plan.chunk), dim3(kThreads), 0, stream,
                    p, reinterpret_cast<T const*>(products), narrow(first), narrow(count),
                    narrow(group), Divisor{chunk});
      }
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type_and_layout(problem, [&]<class T, bool kNchw>() { enqueue<T, kNchw>(problem, stream); });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const im2col_gemm{
    {.name = "im2col_gemm",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.compute_capability = kCapability,
               .other = "tensors of less than 2^31 elements, a matrix product for the extents"},
     .preference = 10,
     .source = "own",
     .summary = "the best own gemm on chunks of the column matrix, 256 MiB at most"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::conv2d
