// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product by cuBLAS and cuBLASLt: the bar on a GPU.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    the fastest of the plain call (cublasDgemm, cublasSgemm, cublasGemmEx for the rest)
///              and of the algorithms that cuBLASLt names for the shape, timed by the first launch
///              of a shape, on the transposed product C' = op(B)' op(A)', since both store by
///              columns. Inputs keep all the bits of what the product is computed in, and sums are
///              formed in it to the end: nothing emulated, no partial sums in a narrower C. Beside an
///              emulated product it is the native one, and a row of its own has the library's emulation.
///              Groups by pointers and of unequal rows have one call each
/// Shapes       row-major, any extents and leading dimensions
/// Work         2 m n k flop
/// Launch       one handle and 32 MiB of workspace per stream. A number of multiprocessors is a target
///              of the library. The first launch on a stream makes
///              them; that of a shape waits for the stream and times the candidates: the runner's
///              first run. A launch that is recorded takes the plain call where none has been
/// Accuracy     that of the library; eps (sqrt(k) + 2) w for random data
#include "gemm/vendor/gemm_library.hpp"

#include <cstdlib>

#ifdef QUADRILLE_CUDA_TOOLKIT
#include "common/search.hpp"
#include "device/cuda/check.hpp"
#include "vendor/cublas.hpp"
#include "vendor/cublaslt.hpp"

#include <algorithm>
#include <compare>
#include <cstring>
#include <optional>
#endif

namespace quadrille::kernels::gemm {
namespace {

/// What makes a library of the toolkit compute in something else, whatever a program asks for.
std::string unsupported(Problem const& p) {
  if (!p.has_equal_groups()) {
    bool const has_call = core::size_of(p.a.type) > 1 && p.a.type == p.c.type &&
                          core::accuracy_of(p.a.type, p.compute) != core::Compute::f16 &&
                          core::accuracy_of(p.a.type, p.compute) != core::Compute::bf16;
    if (!has_call) return "takes groups of equal rows in this type";
  }
  if (p.groups.b_blocks != nullptr && core::size_of(p.a.type) == 1) {
    return "finds groups of 8-bit types by strides alone";
  }
  if (core::size_of(p.a.type) == 2) return {};
  if (core::size_of(p.a.type) == 1) {
    bool const is_nt = !p.transpose_a && p.transpose_b;
    if (!is_nt) return "takes types of 8 bits in layout nt alone";
    bool const is_whole = p.n() % 16 == 0 && p.k() % 16 == 0 && p.a.ld % 16 == 0 &&
                          p.b.ld % 16 == 0 && p.c.ld % 16 == 0;
    if (!is_whole) return "takes n, k and leading dimensions of 8-bit types in multiples of 16";
    if (p.a_scales.cols > 0 && p.a_scales.ld != p.m())
      return "takes m in multiples of 4 with factors";
    return whole_scalars(p);
  }
  core::Compute const compute = core::accuracy_of(p.a.type, p.compute);
  if (compute == core::Compute::bf16) return {};
  bool const is_tf32 = compute == core::Compute::tf32;
  for (char const* name : {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                           "CUBLAS_EMULATE_DOUBLE_PRECISION"}) {
    char const* const value = std::getenv(name);
    if (value == nullptr) continue;
    bool const is_on = std::string_view{value} != "0";
    bool const allows_tf32 = std::string_view{name} == "NVIDIA_TF32_OVERRIDE";
    if (is_tf32 && allows_tf32 && !is_on) return std::string{"computes in tf32; unset "} + name;
    if (is_on && !(is_tf32 && allows_tf32)) {
      return std::string{"computes in full precision; unset "} + name;
    }
  }
  return {};
}

#ifdef QUADRILLE_CUDA_TOOLKIT

using Algorithm = cublasLtMatmulAlgo_t;

#if CUBLAS_VERSION >= 120900
#define QUAD_HAS_BLOCK_SCALES
#endif

// Candidates that cuBLASLt is asked for, which it sorts by what it expects of them.
constexpr int kMaxAlgorithms = 16;

/// Calls a function of cuBLASLt and ends the job when it fails.
#define QUAD_CUBLASLT(name, ...) \
  CublasLt::instance().check(CublasLt::instance().get<decltype(name)>(#name)(__VA_ARGS__), #name)

/// What of a problem decides which call is the fastest. Not beta: the libraries' lists of candidates
/// do not depend on it.
struct Shape {
  explicit Shape(Problem const& p)
      : types{p.a.type, p.c.type},
        compute{core::accuracy_of(p.a.type, p.compute)},
        transpose_a{p.transpose_a},
        transpose_b{p.transpose_b},
        multiprocessors{p.multiprocessors},
        has_scales{p.a_scales.data != nullptr},
        groups{p.groups.count},
        extents{p.m(), p.n(), p.k(), p.a.ld, p.b.ld, p.c.ld},
        alignments{alignment_of(p.a), alignment_of(p.b), alignment_of(p.c)} {}
  std::strong_ordering operator<=>(Shape const&) const = default;

  /// Of the first element, in bytes; 256 is all that the library asks about.
  static std::uint32_t alignment_of(device::MatrixView const& view) {
    auto const address = reinterpret_cast<std::uintptr_t>(view.data) | 256U;
    return static_cast<std::uint32_t>(address & (~address + 1));
  }

  std::array<core::DataType, 2> types;
  core::Compute compute;
  bool transpose_a, transpose_b;
  int multiprocessors;
  bool has_scales;
  std::int64_t groups;
  std::array<std::int64_t, 6> extents;
  std::array<std::uint32_t, 3> alignments;
};

cudaDataType_t cuda_type(core::DataType type) {
  switch (type) {
    case core::DataType::f64: return CUDA_R_64F;
    case core::DataType::f16: return CUDA_R_16F;
    case core::DataType::bf16: return CUDA_R_16BF;
    case core::DataType::i32: return CUDA_R_32I;
    case core::DataType::i8: return CUDA_R_8I;
    case core::DataType::e4m3: return CUDA_R_8F_E4M3;
    case core::DataType::e5m2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_32F;
  }
}

/// What the libraries compute in, and the numerical flags of algorithms that do no less.
struct Arithmetic {
  cublasComputeType_t compute;
  core::DataType scalar;  ///< of alpha and beta
  std::uint64_t accumulator;
};
Arithmetic arithmetic_of(Problem const& p) {
  switch (core::accuracy_of(p.a.type, p.compute)) {
    case core::Compute::i32:
      return {CUBLAS_COMPUTE_32I, core::DataType::i32,
              CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I};
    case core::Compute::f64:
      return {CUBLAS_COMPUTE_64F, core::DataType::f64,
              CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F};
    case core::Compute::f16:
      return {CUBLAS_COMPUTE_16F, core::DataType::f16,
              CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F |
                  CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F};
    case core::Compute::bf16:
      return {CUBLAS_COMPUTE_32F_FAST_16BF, core::DataType::f32,
              CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F};
    case core::Compute::tf32:
      return {CUBLAS_COMPUTE_32F_FAST_TF32, core::DataType::f32,
              CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F};
    default:
      return {CUBLAS_COMPUTE_32F, core::DataType::f32,
              CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F};
  }
}
std::uint64_t inputs_of(Problem const& p) {
  if (p.a.type == core::DataType::f64) return CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F;
  if (p.a.type == core::DataType::i8) return CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I;
  if (core::size_of(p.a.type) == 1) return CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_INPUT_TYPE_MASK;
  // 16 bits are not read with fewer, and for bf16 the library does not name the type.
  if (core::size_of(p.a.type) == 2) return CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_INPUT_TYPE_MASK;
  core::Compute const compute = core::compute_for(p.a.type, p.compute);
  return CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F |
         (compute == core::Compute::tf32 ? CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 : 0) |
         (compute == core::Compute::bf16 ? CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF : 0);
}

/// A scalar as the libraries read it.
class Scalar {
 public:
  Scalar(core::DataType type, double value) {
    core::visit_type(type, [&](auto zero) {
      auto const stored = static_cast<decltype(zero)>(value);
      std::memcpy(&bytes_, &stored, sizeof stored);
    });
  }
  void const* data() const { return &bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

/// The first of the groups where all are like it, with their number and pointers; then there are no first
/// rows, which several groups have that are not alike.
Problem first_of(Problem const& given) {
  if (!given.has_equal_groups()) return given;
  Problem first = given.group(0);
  first.groups = given.groups;
  first.groups.first_rows = nullptr;
  return first;
}
/// Whether one call alone takes it.
bool has_one_call(Problem const& p) {
  return p.groups.b_blocks != nullptr || (p.groups.count > 1 && p.groups.first_rows != nullptr);
}

/// From a matrix of one group to that of the next, in elements.
struct GroupStrides {
  explicit GroupStrides(Problem const& p)
      : a{p.transpose_a ? p.m() : p.m() * p.a.ld},
        b{(p.transpose_b ? p.n() : p.k()) * p.b.ld},
        c{p.m() * p.c.ld} {}
  std::int64_t a, b, c;
};

cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

/// A product as cuBLASLt takes it, for a shape. Never destroyed: it ends with the process.
struct Descriptors {
  explicit Descriptors(Problem const& p)
      : first{layout(p.b, p, GroupStrides{p}.b)},
        second{layout(p.a, p, GroupStrides{p}.a)},
        result{layout(p.c, p, GroupStrides{p}.c)} {
    Arithmetic const arithmetic = arithmetic_of(p);
    QUAD_CUBLASLT(cublasLtMatmulDescCreate, &product, arithmetic.compute,
                  cuda_type(arithmetic.scalar));
    set(CUBLASLT_MATMUL_DESC_TRANSA, operation(p.transpose_b));
    set(CUBLASLT_MATMUL_DESC_TRANSB, operation(p.transpose_a));
    set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, std::int32_t{p.multiprocessors});
    set_scales(p);
  }

  /// Rows of a row-major matrix are columns to the library.
  static cublasLtMatrixLayout_t layout(device::MatrixView const& view, Problem const& p,
                                       std::int64_t group_stride) {
    cublasLtMatrixLayout_t layout = nullptr;
    QUAD_CUBLASLT(cublasLtMatrixLayoutCreate, &layout, cuda_type(view.type),
                  static_cast<std::uint64_t>(view.cols), static_cast<std::uint64_t>(view.rows),
                  view.ld);
    if (p.groups.count > 1) {
      auto const set = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
        QUAD_CUBLASLT(cublasLtMatrixLayoutSetAttribute, layout, attribute, &value, sizeof value);
      };
      set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(p.groups.count));
      set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, group_stride);
    }
    return layout;
  }
  /// The problem's own. The library's A is our B.
  void set_scales([[maybe_unused]] Problem const& p) const {
#ifdef QUAD_HAS_BLOCK_SCALES
    if (p.a_scales.data == nullptr) return;
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.b_scales.data);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.a_scales.data);
#endif
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) const {
    QUAD_CUBLASLT(cublasLtMatmulDescSetAttribute, product, attribute, &value, sizeof value);
  }

  cublasLtMatrixLayout_t first, second, result;
  cublasLtMatmulDesc_t product = nullptr;
};

/// An algorithm of cuBLASLt, or the plain call, and what the search found that it takes.
struct Call {
  std::optional<Algorithm> algorithm;
  double seconds = kUntimed;
};
/// The calls for a shape.
struct Choice {
  Descriptors descriptors;
  std::vector<Call> calls{{}};  ///< that may be taken, the fastest first; at least one
  std::size_t tried = 1, candidates = 1;
  std::string dropped{};  ///< those whose results were wrong
};

/// As BLAS takes extents and leading dimensions: one of 0 is an error to it, also where a matrix is
/// empty.
int narrow(std::int64_t x) { return static_cast<int>(x); }
int ld_of(device::MatrixView const& x) { return narrow(std::max<std::int64_t>(x.ld, 1)); }

template <class T>
void multiply_by_type(Problem const& p, cublasHandle_t handle) {
  constexpr bool kWide = std::is_same_v<T, double>;
  using Function = std::conditional_t<kWide, decltype(cublasDgemm_v2), decltype(cublasSgemm_v2)>;
  Cublas& cublas = Cublas::instance();
  static auto* const multiply = cublas.get<Function>(kWide ? "cublasDgemm_v2" : "cublasSgemm_v2");
  T const alpha = static_cast<T>(p.alpha);
  T const beta = static_cast<T>(p.beta);
  cublas.check(multiply(handle, operation(p.transpose_b), operation(p.transpose_a), narrow(p.n()),
                        narrow(p.m()), narrow(p.k()), &alpha, p.b.as<T>(), ld_of(p.b), p.a.as<T>(),
                        ld_of(p.a), &beta, p.c.as<T>(), ld_of(p.c)),
               "gemm/vendor: gemm");
}

void multiply_mixed(Problem const& p, cublasHandle_t handle, cublasComputeType_t compute) {
  Cublas& cublas = Cublas::instance();
  // The header has another function of this name, whose compute type is a type of elements.
  using Function =
      cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                     void const*, void const*, cudaDataType, int, void const*, cudaDataType, int,
                     void const*, void*, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
  static auto* const multiply = cublas.get<Function>("cublasGemmEx");
  Arithmetic const arithmetic = arithmetic_of(p);
  Scalar const alpha{arithmetic.scalar, p.alpha}, beta{arithmetic.scalar, p.beta};
  cublas.check(multiply(handle, operation(p.transpose_b), operation(p.transpose_a), narrow(p.n()),
                        narrow(p.m()), narrow(p.k()), alpha.data(), p.b.data, cuda_type(p.b.type),
                        ld_of(p.b), p.a.data, cuda_type(p.a.type), ld_of(p.a), beta.data(),
                        p.c.data, cuda_type(p.c.type), ld_of(p.c), compute, CUBLAS_GEMM_DEFAULT),
               "gemm/vendor: cublasGemmEx");
}
void multiply_mixed(Problem const& p, cublasHandle_t handle) {
  multiply_mixed(p, handle, arithmetic_of(p).compute);
}

void multiply_groups(Problem const& p, cublasHandle_t handle) {
  Cublas& cublas = Cublas::instance();
  using Function = cublasStatus_t(
      cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, void const*, void const*,
      cudaDataType, int, long long, void const*, cudaDataType, int, long long, void const*, void*,
      cudaDataType, int, long long, int, cublasComputeType_t, cublasGemmAlgo_t);
  static auto* const multiply = cublas.get<Function>("cublasGemmStridedBatchedEx");
  Arithmetic const arithmetic = arithmetic_of(p);
  Scalar const alpha{arithmetic.scalar, p.alpha}, beta{arithmetic.scalar, p.beta};
  GroupStrides const strides{p};
  cublas.check(multiply(handle, operation(p.transpose_b), operation(p.transpose_a), narrow(p.n()),
                        narrow(p.m()), narrow(p.k()), alpha.data(), p.b.data, cuda_type(p.b.type),
                        ld_of(p.b), strides.b, p.a.data, cuda_type(p.a.type), ld_of(p.a), strides.a,
                        beta.data(), p.c.data, cuda_type(p.c.type), ld_of(p.c), strides.c,
                        narrow(p.groups.count), arithmetic.compute, CUBLAS_GEMM_DEFAULT),
               "gemm/vendor: cublasGemmStridedBatchedEx");
}

void* const* pointers_to(Problem const& p, int operand) {
  return p.groups.pointers + operand * p.groups.count;
}

void multiply_by_pointers(Problem const& p, cublasHandle_t handle) {
  Cublas& cublas = Cublas::instance();
  using Function = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, void const*, void const* const*, cudaDataType, int,
                                  void const* const*, cudaDataType, int, void const*, void* const*,
                                  cudaDataType, int, int, cublasComputeType_t, cublasGemmAlgo_t);
  static auto* const multiply = cublas.get<Function>("cublasGemmBatchedEx");
  Arithmetic const arithmetic = arithmetic_of(p);
  Scalar const alpha{arithmetic.scalar, p.alpha}, beta{arithmetic.scalar, p.beta};
  cublas.check(multiply(handle, operation(p.transpose_b), operation(p.transpose_a), narrow(p.n()),
                        narrow(p.m()), narrow(p.k()), alpha.data(), pointers_to(p, 1),
                        cuda_type(p.b.type), ld_of(p.b), pointers_to(p, 0), cuda_type(p.a.type),
                        ld_of(p.a), beta.data(), pointers_to(p, 2), cuda_type(p.c.type), ld_of(p.c),
                        narrow(p.groups.count), arithmetic.compute, CUBLAS_GEMM_DEFAULT),
               "gemm/vendor: cublasGemmBatchedEx");
}

/// Groups of unequal rows, each a group of one product to the library.
void multiply_unequal(Problem const& p, cublasHandle_t handle) {
  Cublas& cublas = Cublas::instance();
  using Function = cublasStatus_t(
      cublasHandle_t, cublasOperation_t const*, cublasOperation_t const*, int const*, int const*,
      int const*, void const*, void const* const*, cudaDataType_t, int const*, void const* const*,
      cudaDataType_t, int const*, void const*, void* const*, cudaDataType_t, int const*, int,
      int const*, cublasComputeType_t);
  static auto* const multiply = cublas.get<Function>("cublasGemmGroupedBatchedEx");
  Arithmetic const arithmetic = arithmetic_of(p);
  auto const count = static_cast<std::size_t>(p.groups.count);
  auto const all = [&](auto value) { return std::vector(count, value); };
  std::vector<int> rows;
  for (std::int64_t g = 0; g < p.groups.count; ++g) rows.push_back(narrow(p.rows_of_group(g)));
  // One of each for every group, in the type of the sums.
  auto const scalars = [&](double value) {
    std::vector<std::byte> bytes;
    Scalar const one{arithmetic.scalar, value};
    auto const* const begin = static_cast<std::byte const*>(one.data());
    for (std::size_t g = 0; g < count; ++g) {
      bytes.insert(bytes.end(), begin, begin + core::size_of(arithmetic.scalar));
    }
    return bytes;
  };
  cublas.check(
      multiply(handle, all(operation(p.transpose_b)).data(), all(operation(p.transpose_a)).data(),
               all(narrow(p.n())).data(), rows.data(), all(narrow(p.k())).data(),
               scalars(p.alpha).data(), pointers_to(p, 1), cuda_type(p.b.type),
               all(ld_of(p.b)).data(), pointers_to(p, 0), cuda_type(p.a.type),
               all(ld_of(p.a)).data(), scalars(p.beta).data(), pointers_to(p, 2),
               cuda_type(p.c.type), all(ld_of(p.c)).data(), narrow(p.groups.count), all(1).data(),
               arithmetic.compute),
      "gemm/vendor: cublasGemmGroupedBatchedEx");
}

/// Products of 8-bit floats are cuBLASLt's alone.
bool has_plain_call(Problem const& p) { return !core::is_float_of_8_bits(p.a.type); }

/// The call for people who know their types.
struct PlainCall {
  std::string_view name;
  void (*multiply)(Problem const& p, cublasHandle_t handle);
};
PlainCall plain_call(Problem const& p) {
  if (p.groups.count > 1 && p.groups.first_rows != nullptr) {
    return {"cublasGemmGroupedBatchedEx", multiply_unequal};
  }
  if (p.groups.b_blocks != nullptr) return {"cublasGemmBatchedEx", multiply_by_pointers};
  if (p.groups.count > 1) return {"cublasGemmStridedBatchedEx", multiply_groups};
  if (p.a.type == core::DataType::f64) return {"cublasDgemm", multiply_by_type<double>};
  bool const is_f32 = core::accuracy_of(p.a.type, p.compute) == core::Compute::f32 &&
                      p.a.type == core::DataType::f32;
  if (is_f32) return {"cublasSgemm", multiply_by_type<float>};
  return {"cublasGemmEx", multiply_mixed};
}

/// On the multiprocessors that the product may take.
void multiply_plainly(Problem const& p, device::StreamView stream) {
  Cublas& cublas = Cublas::instance();
  cublasHandle_t const handle = cublas.handle(stream);
  auto const set_target = [&](int multiprocessors) {
    if (p.multiprocessors == 0) return;
    cublas.check(cublas.get<decltype(cublasSetSmCountTarget)>("cublasSetSmCountTarget")(
                     handle, multiprocessors),
                 "cublasSetSmCountTarget");
  };
  set_target(p.multiprocessors);
  plain_call(p).multiply(p, handle);
  set_target(0);
}

cublasStatus_t multiply_by(Algorithm const& algorithm, Descriptors const& d, Problem const& p,
                           device::StreamView stream) {
  CublasLt& library = CublasLt::instance();
  static auto* const matmul = library.get<decltype(cublasLtMatmul)>("cublasLtMatmul");
  core::DataType const scalar = arithmetic_of(p).scalar;
  Scalar const alpha{scalar, p.alpha}, beta{scalar, p.beta};
  return matmul(library.handle(), d.product, alpha.data(), p.b.data, d.first, p.a.data, d.second,
                beta.data(), p.c.data, d.result, p.c.data, d.result, &algorithm,
                library.workspace(stream), CublasLt::kWorkspaceBytes, device::cuda_stream(stream));
}

/// Whether an algorithm reads its inputs with all their bits and adds them up in no less than asked.
bool is_full_precision(Algorithm const& algorithm, Problem const& p) {
  std::uint64_t flags = 0;
  std::size_t written = 0;
  auto* const get_capability =
      CublasLt::instance().get<decltype(cublasLtMatmulAlgoCapGetAttribute)>(
          "cublasLtMatmulAlgoCapGetAttribute");
  bool const is_known = get_capability(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags,
                                       sizeof flags, &written) == CUBLAS_STATUS_SUCCESS;
  std::uint64_t const others =
      (CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_INPUT_TYPE_MASK & ~inputs_of(p)) |
      (CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_TYPE_MASK & ~arithmetic_of(p).accumulator);
  return is_known && (flags & others) == 0;
}

/// What cuBLASLt proposes for a shape, the likeliest first.
std::vector<Algorithm> proposals(Descriptors const& d, Problem const& p) {
  CublasLt& library = CublasLt::instance();
  cublasLtMatmulPreference_t preference = nullptr;
  QUAD_CUBLASLT(cublasLtMatmulPreferenceCreate, &preference);
  auto const prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    QUAD_CUBLASLT(cublasLtMatmulPreferenceSetAttribute, preference, attribute, &value,
                  sizeof value);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{CublasLt::kWorkspaceBytes});
  auto const [a, b, c] = Shape{p}.alignments;
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
  // Those in place and in the output type round the sums of parts of k to C's type.
  if (core::size_of(p.c.type) < core::size_of(arithmetic_of(p).scalar)) {
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  }
  std::array<cublasLtMatmulHeuristicResult_t, kMaxAlgorithms> results{};
  int count = 0;
  auto* const get_results =
      library.get<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic");
  // A status that tells of a shape it has nothing for leaves the plain call.
  if (get_results(library.handle(), d.product, d.first, d.second, d.result, d.result, preference,
                  kMaxAlgorithms, results.data(), &count) != CUBLAS_STATUS_SUCCESS) {
    count = 0;
  }
  QUAD_CUBLASLT(cublasLtMatmulPreferenceDestroy, preference);
  std::vector<Algorithm> algorithms;
  for (auto const& result : std::span{results}.first(static_cast<std::size_t>(count))) {
    bool const fits = result.state == CUBLAS_STATUS_SUCCESS &&
                      result.workspaceSize <= CublasLt::kWorkspaceBytes &&
                      is_full_precision(result.algo, p);
    if (fits) algorithms.push_back(result.algo);
  }
  return algorithms;
}

/// Times the calls that there are for a problem, on its operands. beta is 0 then, and C overwritten
/// where the problem overwrites it; elsewhere memory of the pool takes the place of C.
Choice choose(Problem p, device::StreamView stream) {
  Choice choice{.descriptors = Descriptors{p}};
  std::vector<Algorithm> const algorithms = proposals(choice.descriptors, p);
  device::PooledBuffer<std::byte> in_place_of_c;
  if (p.beta != 0) {
    auto const bytes =
        p.groups.count * p.c.rows * p.c.ld * static_cast<std::int64_t>(core::size_of(p.c.type));
    if (static_cast<std::size_t>(bytes) > stream.device().free_memory() / 4) return choice;
    in_place_of_c = {stream.device(), bytes, stream};
    p.c.data = in_place_of_c.data();
    p.beta = 0;
  }
  bool const has_plain = has_plain_call(p);
  QUAD_REQUIRE(has_plain || !algorithms.empty(),
               "gemm/vendor: cuBLASLt has no algorithm for this product; take vendor = \"off\"");
  choice.candidates += algorithms.size();
  std::vector<Ranked> const ranked = rank(
      choice.candidates,
      [&](std::size_t i) {
        if (i == 0 && !has_plain) return false;
        if (i == 0) multiply_plainly(p, stream);
        choice.descriptors.set_scales(p);
        return i == 0 || multiply_by(algorithms[i - 1], choice.descriptors, p, stream) ==
                             CUBLAS_STATUS_SUCCESS;
      },
      stream);
  choice.tried = ranked.size();
  choice.calls.clear();
  for (auto const& [i, seconds] : ranked) {
    choice.calls.push_back({i == 0 ? std::nullopt : std::optional{algorithms[i - 1]}, seconds});
  }
  return choice;
}

/// The choices of this process.
class Choices {
 public:
  static Choices& instance() {
    static Choices choices;
    return choices;
  }

  /// nullptr where none was made.
  Choice* find(Problem const& p) {
    std::lock_guard const lock{mutex_};
    auto const found = choices_.find(Shape{p});
    return found == choices_.end() ? nullptr : &found->second;
  }
  Choice const* add(Problem const& p, Choice const& choice) {
    std::lock_guard const lock{mutex_};
    return &choices_.insert_or_assign(Shape{p}, choice).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Shape, Choice> choices_;
};

/// Work that is recorded does not run, so it cannot be timed.
bool is_recorded(device::StreamView stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  QUAD_CUDA(cudaStreamIsCapturing(device::cuda_stream(stream), &status));
  return status != cudaStreamCaptureStatusNone;
}

void launch(Problem const& given, device::StreamView stream) {
  Problem const p = first_of(given);
  bool const is_empty = p.m() == 0 || p.n() == 0 || p.k() == 0;
  bool const has_plain = has_plain_call(p);
  if (has_plain && (is_empty || has_one_call(p) || !CublasLt::instance().is_present())) {
    return multiply_plainly(p, stream);
  }
  Choice const* choice = Choices::instance().find(p);
  if (choice == nullptr && (!has_plain || !is_recorded(stream))) {
    choice = Choices::instance().add(p, choose(p, stream));
  }
  if (choice == nullptr || !choice->calls.front().algorithm) return multiply_plainly(p, stream);
  choice->descriptors.set_scales(p);
  CublasLt::instance().check(
      multiply_by(*choice->calls.front().algorithm, choice->descriptors, p, stream),
      "gemm/vendor: cublasLtMatmul");
}

/// 0 where the algorithm has no such attribute.
template <class T>
T attribute_of(Algorithm const& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  auto* const get_attribute =
      CublasLt::instance().get<decltype(cublasLtMatmulAlgoConfigGetAttribute)>(
          "cublasLtMatmulAlgoConfigGetAttribute");
  bool const is_known =
      get_attribute(&algorithm, attribute, &value, sizeof value, &written) == CUBLAS_STATUS_SUCCESS;
  return is_known ? value : T{};
}

/// "128x256"; the number that cuBLASLt has for it where this list ends.
std::string tile_text(std::uint32_t id) {
  constexpr std::string_view kTiles[] = {
      "undefined", "8x8",    "8x16",   "16x8",   "8x32",    "16x16",   "32x8",    "8x64",
      "16x32",     "32x16",  "64x8",   "32x32",  "32x64",   "64x32",   "32x128",  "64x64",
      "128x32",    "64x128", "128x64", "64x256", "128x128", "256x64",  "64x512",  "128x256",
      "256x128",   "512x64", "64x96",  "96x64",  "96x128",  "128x160", "160x128", "192x128",
      "128x192",   "128x96", "32x256", "256x32"};
  static_assert(std::size(kTiles) == CUBLASLT_MATMUL_TILE_256x32 + 1);
  return id < std::size(kTiles) ? std::string{kTiles[id]} : "id " + std::to_string(id);
}

/// "cublasDgemm"; of an algorithm what tells it from the others, as cuBLASLt numbers it.
std::string text_of(Call const& call, Problem const& p) {
  if (!call.algorithm) return std::string{plain_call(p).name};
  auto const whole = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    return std::to_string(attribute_of<std::int32_t>(*call.algorithm, attribute));
  };
  return "cublasLt, algorithm " + whole(CUBLASLT_ALGO_CONFIG_ID) + ", tile " +
         tile_text(attribute_of<std::uint32_t>(*call.algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID)) +
         ", stages id " + whole(CUBLASLT_ALGO_CONFIG_STAGES_ID) + ", split-k " +
         whole(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) + ", swizzling " +
         whole(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING) + ", option " +
         whole(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
}

/// "cublasDgemm, fastest of 8 tried, of 9 candidates; wrong and dropped: cublasLt, ...".
std::string implementation(Problem const& given) {
  Problem const p = first_of(given);
  if (has_one_call(p)) return std::string{plain_call(p).name};
  Choice const* const choice = Choices::instance().find(p);
  if (choice == nullptr) return {};
  return text_of(choice->calls.front(), p) + ", " + search_text(choice->tried, choice->candidates) +
         choice->dropped;
}

double searched_seconds(Problem const& given) {
  Problem const p = first_of(given);
  Choice const* const choice = Choices::instance().find(p);
  // The calls of the search did not read C.
  bool const is_timed =
      choice != nullptr && p.beta == 0 && choice->calls.front().seconds != kUntimed;
  return is_timed ? choice->calls.front().seconds : 0;
}

bool drop_call(Problem const& given) {
  Problem const p = first_of(given);
  Choice* const choice = Choices::instance().find(p);
  if (choice == nullptr || choice->calls.size() < 2) return false;
  choice->dropped += (choice->dropped.empty() ? "; wrong, so dropped: " : "; ") +
                     text_of(choice->calls.front(), p);
  choice->calls.erase(choice->calls.begin());
  return true;
}

#if CUBLAS_VERSION >= 130100
#define QUAD_HAS_EMULATION

/// By the library's own emulation wherever it has one for the device; it may compute natively.
void multiply_emulated(Problem const& p, device::StreamView stream) {
  Cublas& cublas = Cublas::instance();
  cublasHandle_t const handle = cublas.handle(stream);
  using SetStrategy = cublasStatus_t(cublasHandle_t, cublasEmulationStrategy_t);
  cublas.check(cublas.get<SetStrategy>("cublasSetEmulationStrategy")(
                   handle, CUBLAS_EMULATION_STRATEGY_EAGER),
               "cublasSetEmulationStrategy");
  cublas.check(cublas.get<decltype(cublasSetWorkspace_v2)>("cublasSetWorkspace_v2")(
                   handle, p.scratch, p.scratch_bytes),
               "cublasSetWorkspace");
  multiply_mixed(p, handle,
                 p.c.type == core::DataType::f64 ? CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT
                                                 : CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
  // Which also takes the workspace away from the calls that follow.
  cublas.check(cublas.get<decltype(cublasSetStream_v2)>("cublasSetStream_v2")(
                   handle, device::cuda_stream(stream)),
               "cublasSetStream");
}

#endif

/// Of 8-bit floats by what cuBLASLt proposes first.
void multiply_afresh(Problem const& given, device::StreamView stream) {
  Problem const p = first_of(given);
  if (!has_plain_call(p)) {
    Descriptors const descriptors{p};
    CublasLt::instance().check(multiply_by(proposals(descriptors, p).at(0), descriptors, p, stream),
                               "gemm/vendor: cublasLtMatmul");
    return stream.synchronize();
  }
  Cublas::instance().with_fresh_handle(
      stream, [&](cublasHandle_t handle) { plain_call(p).multiply(p, handle); });
}

#endif

}  // namespace

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {core::DataType::f64,
               core::DataType::f32,
               {core::DataType::f32, core::Compute::tf32},
               {core::DataType::f32, core::Compute::bf16},
               core::DataType::f16,
               {core::DataType::f16, core::Compute::f32, core::DataType::f32},
               {core::DataType::f16, core::Compute::f16},
               core::DataType::bf16,
               {core::DataType::bf16, core::Compute::f32, core::DataType::f32},
               {core::DataType::e4m3, core::Compute::f32, core::DataType::f32},
               {core::DataType::e4m3, core::Compute::f32, core::DataType::bf16},
               {core::DataType::i8, core::Compute::i32, core::DataType::i32},
               {core::DataType::f64, core::Compute::emulated},
               {core::DataType::f32, core::Compute::emulated}},
     .needs =
         {.max_extent = kMaxInt,
          .max_ld = kMaxInt,
          .other =
              "an environment without TF32 or emulation for all (f64, f32); 8 bits: layout nt, "
              "whole alpha and beta; groups of equal rows there and where C is of another type"},
     .source = "cuBLAS, cuBLASLt",
     .summary = "the fastest of cublasDgemm, Sgemm or GemmEx and the candidates of cuBLASLt"},
    QUAD_TOOLKIT_LAUNCH(launch),
    {.unsupported = unsupported,
     .implementation = QUAD_TOOLKIT_LAUNCH(implementation),
     .notes = {.takes_scales = true,
               .takes_groups = true,
               .takes_pointers = true,
               .bounds_multiprocessors = true}}};

namespace {

#ifdef QUAD_HAS_EMULATION
constexpr auto kMultiplyEmulated = multiply_emulated;
constexpr std::string_view kLacksEmulation{};
#else
constexpr void (*kMultiplyEmulated)(Problem const&, device::StreamView) = nullptr;
#ifdef QUADRILLE_CUDA_TOOLKIT
constexpr std::string_view kLacksEmulation = "cuBLAS 13.1 or later";
#else
constexpr std::string_view kLacksEmulation{};
#endif
#endif

/// Slices of A and B and sums of their products, of more bits than cuBLAS takes by itself.
std::size_t emulation_scratch(Problem const& p, device::Facts const& /*device*/) {
  auto const m = static_cast<std::size_t>(p.m()), n = static_cast<std::size_t>(p.n()),
             k = static_cast<std::size_t>(p.k());
  return (std::size_t{64} << 20) + 12 * (m * k + k * n) + 16 * m * n;
}

}  // namespace

extern constinit Variant<Problem> const vendor_emulated{
    {.name = "vendor_emulated",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {{core::DataType::f64, core::Compute::emulated},
               {core::DataType::f32, core::Compute::emulated}},
     .needs = {.max_extent = kMaxInt,
               .max_ld = kMaxInt,
               .other = "cuBLAS 13.1 or later; scratch as its workspace"},
     .source = "cuBLAS",
     .summary = "cublasGemmEx in fixed point (f64) or nine products of bf16 (f32)",
     .lacks = kLacksEmulation},
    kMultiplyEmulated,
    {.scratch_bytes = emulation_scratch}};

extern constinit Library<Problem> const cublas{.plain = QUAD_TOOLKIT_LAUNCH(multiply_afresh),
                                               .seconds = QUAD_TOOLKIT_LAUNCH(searched_seconds),
                                               .drop = QUAD_TOOLKIT_LAUNCH(drop_call)};

}  // namespace quadrille::kernels::gemm
