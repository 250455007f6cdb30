// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vendor/plain_calls.hpp"

#include <cudaTypedefs.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/device/device_reduce.cuh>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <map>
#include <type_traits>
#include <vector>

namespace quadrille::audit {
namespace {

[[noreturn]] void end(char const* call, int status) {
  std::fprintf(stderr, "audit: %s failed with %d\n", call, status);
  std::abort();
}

void check(int status, char const* call) {
  if (status != 0) end(call, status);
}
#define CHECK(call) check(static_cast<int>(call), #call)

void* open(char const* name) {
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) end(name, -1);
  return library;
}
void* cublas() {
  static void* const library = open("libcublas.so.13");
  return library;
}
void* cublaslt() {
  static void* const library = open("libcublasLt.so.13");
  return library;
}
void* nccl() {
  static void* const library = open("libnccl.so.2");
  return library;
}

template <class Function>
Function* find(void* library, char const* name) {
  void* const function = dlsym(library, name);
  if (function == nullptr) end(name, -1);
  return reinterpret_cast<Function*>(function);
}
#define BLAS(name, ...) CHECK(find<decltype(name)>(cublas(), #name)(__VA_ARGS__))
#define LT(name, ...) CHECK(find<decltype(name)>(cublaslt(), #name)(__VA_ARGS__))
#define NCCL(name, ...) CHECK(find<decltype(name)>(nccl(), #name)(__VA_ARGS__))

/// Uniform in [-1, 1), rounded from more bits than the type has, as the rows' data is: at the power
/// limit operands whose last bits are 0 would run at a higher clock.
template <class T>
__global__ void fill_kernel(T* to, std::int64_t n, std::uint64_t seed) {
  using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
  constexpr int kBits = std::is_same_v<T, double> ? 53 : 24;
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    std::uint64_t x = (static_cast<std::uint64_t>(i) + seed) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    // A sign and so many bits, of which T keeps those behind the leading one.
    std::int64_t const centred =
        static_cast<std::int64_t>(x >> (63 - kBits)) - (std::int64_t{1} << kBits);
    to[i] = static_cast<T>(static_cast<Wide>(centred) *
                           static_cast<Wide>(1.0 / (std::uint64_t{1} << kBits)));
  }
}

/// Device memory with data.
template <class T>
class Array {
 public:
  explicit Array(std::int64_t n, std::uint64_t seed = 1) {
    CHECK(cudaMalloc(&data_, static_cast<std::size_t>(n) * sizeof(T)));
    fill_kernel<<<1024, 256>>>(data_, n, seed);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  ~Array() { cudaFree(data_); }
  Array(Array const&) = delete;
  Array& operator=(Array const&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

template <class T>
constexpr bool kWide = std::is_same_v<T, double>;

}  // namespace

/// What begins once the host says so: a word of its memory that a stream waits for.
struct Start {
  Start() {
    void *host = nullptr, *mapped = nullptr;
    CHECK(cudaHostAlloc(&host, sizeof *word, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&mapped, host, 0));
    word = static_cast<std::uint32_t*>(host);
    *word = 0;
    on_device = reinterpret_cast<CUdeviceptr>(mapped);
    cudaDriverEntryPointQueryResult found{};
    CHECK(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32",
                                           reinterpret_cast<void**>(&wait_value), 11070,
                                           cudaEnableDefault, &found));
  }
  void wait(cudaStream_t stream) {
    CHECK(wait_value(stream, on_device, ++turn, CU_STREAM_WAIT_VALUE_GEQ));
  }
  void go() const { *word = turn; }
  ~Start() { cudaFreeHost(const_cast<std::uint32_t*>(word)); }

  std::uint32_t volatile* word = nullptr;
  CUdeviceptr on_device = 0;
  std::uint32_t turn = 0;
  PFN_cuStreamWaitValue32_v11070 wait_value = nullptr;
};

struct Loop::Queue {
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  Start start;
};

Loop::Loop() : queue_{std::make_unique<Queue>()} {
  CHECK(cudaStreamCreateWithFlags(&queue_->stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&queue_->begin));
  CHECK(cudaEventCreate(&queue_->end));
}

Loop::~Loop() {
  cudaEventDestroy(queue_->end);
  cudaEventDestroy(queue_->begin);
  cudaStreamDestroy(queue_->stream);
}

double Loop::seconds(int calls) {
  queue_->start.wait(queue_->stream);
  CHECK(cudaEventRecord(queue_->begin, queue_->stream));
  for (int i = 0; i < calls; ++i) {
    if (i == kMaxHeldBack) queue_->start.go();
    call();
  }
  CHECK(cudaEventRecord(queue_->end, queue_->stream));
  queue_->start.go();
  CHECK(cudaEventSynchronize(queue_->end));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, queue_->begin, queue_->end));
  return 1e-3 * milliseconds / calls;
}

namespace {

/// A loop of calls with a cuBLAS handle.
class BlasLoop : public Loop {
 protected:
  BlasLoop() {
    BLAS(cublasCreate_v2, &handle_);
    BLAS(cublasSetStream_v2, handle_, queue().stream);
  }
  ~BlasLoop() override { BLAS(cublasDestroy_v2, handle_); }
  cublasHandle_t handle() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

template <class T>
constexpr cudaDataType_t kTypeOf = std::is_same_v<T, double>          ? CUDA_R_64F
                                   : std::is_same_v<T, float>         ? CUDA_R_32F
                                   : std::is_same_v<T, __nv_bfloat16> ? CUDA_R_16BF
                                                                      : CUDA_R_16F;

template <cublasComputeType_t kCompute, class In, class Scalar = In, class Out = In>
class Gemm final : public BlasLoop {
 public:
  explicit Gemm(std::int64_t n) : n_{n}, a_{n * n, 1}, b_{n * n, 2}, c_{n * n, 3} {
    BLAS(cublasSetMathMode, handle(), CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    constexpr std::size_t kWorkspace = 32UL << 20;
    CHECK(cudaMalloc(&workspace_, kWorkspace));
    LT(cublasLtCreate, &lt_);
    LT(cublasLtMatmulDescCreate, &product_, kCompute, kTypeOf<Scalar>);
    auto const extent = static_cast<std::uint64_t>(n);
    LT(cublasLtMatrixLayoutCreate, &layout_, kTypeOf<In>, extent, extent, n);
    LT(cublasLtMatrixLayoutCreate, &result_, kTypeOf<Out>, extent, extent, n);
    cublasLtMatmulPreference_t preference = nullptr;
    LT(cublasLtMatmulPreferenceCreate, &preference);
    LT(cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
       &kWorkspace, sizeof kWorkspace);
    constexpr std::uint32_t kScheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (sizeof(Out) < sizeof(Scalar)) {
      LT(cublasLtMatmulPreferenceSetAttribute, preference,
         CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &kScheme, sizeof kScheme);
    }
    found_.resize(16);
    int count = 0;
    LT(cublasLtMatmulAlgoGetHeuristic, lt_, product_, layout_, layout_, result_, result_,
       preference, static_cast<int>(found_.size()), found_.data(), &count);
    LT(cublasLtMatmulPreferenceDestroy, preference);
    found_.resize(static_cast<std::size_t>(count));
    choose();
  }
  ~Gemm() override {
    LT(cublasLtMatrixLayoutDestroy, layout_);
    LT(cublasLtMatrixLayoutDestroy, result_);
    LT(cublasLtMatmulDescDestroy, product_);
    LT(cublasLtDestroy, lt_);
    cudaFree(workspace_);
  }

  std::string name() const override {
    return best_ < 0 ? std::string{kPlain} : "cublasLtMatmul, candidate " + std::to_string(best_);
  }

 private:
  static constexpr bool kIsDouble = kCompute == CUBLAS_COMPUTE_64F;
  static constexpr bool kIsSingle = kCompute == CUBLAS_COMPUTE_32F && std::is_same_v<In, float>;
  static constexpr char const* kPlain = kIsDouble   ? "cublasDgemm"
                                        : kIsSingle ? "cublasSgemm"
                                                    : "cublasGemmEx";

  /// The candidate with the least median. On a device that is warm, each for a while alone: at the
  /// power limit what runs before decides the clock. -1 is the plain call. Kept for the next loop of
  /// the same size.
  void choose() {
    static std::map<std::int64_t, int> known;
    auto const [place, is_new] = known.try_emplace(n_, -1);
    if (is_new) place->second = fastest();
    best_ = place->second;
  }

  int fastest() {
    seconds(1);
    double const once = seconds(1);
    double const row = std::clamp(50 * once, 2e-3, 0.1);
    int const calls = std::clamp(static_cast<int>(row / once), 3, kMaxHeldBack);
    for (double spent = 0; spent < 0.5;) spent += calls * seconds(calls);
    std::vector<std::array<double, 11>> times(found_.size() + 1);
    double least_of_first = 1e9;
    for (std::size_t round = 0; round < times[0].size(); ++round) {
      for (std::size_t i = 0; i < times.size(); ++i) {
        // Far behind after the first round: not measured again.
        times[i][round] = times[i][0];
        if (round > 0 && times[i][0] > 1.1 * least_of_first) continue;
        best_ = static_cast<int>(i) - 1;
        seconds(calls);
        times[i][round] = seconds(calls);
      }
      if (round == 0) {
        for (auto const& rounds : times) least_of_first = std::min(least_of_first, rounds[0]);
      }
    }
    for (auto& rounds : times) std::ranges::sort(rounds);
    auto const least = std::ranges::min_element(
        times, {}, [](auto const& rounds) { return rounds[rounds.size() / 2]; });
    return static_cast<int>(least - times.begin()) - 1;
  }

  void call() override {
    Scalar const one = 1.0F, zero = 0.0F;
    if (best_ >= 0) {
      static auto* const matmul = find<decltype(cublasLtMatmul)>(cublaslt(), "cublasLtMatmul");
      auto const& found = found_[static_cast<std::size_t>(best_)];
      CHECK(matmul(lt_, product_, &one, a_.data(), layout_, b_.data(), layout_, &zero, c_.data(),
                   result_, c_.data(), result_, &found.algo, workspace_, found.workspaceSize,
                   queue().stream));
      return;
    }
    auto const n = static_cast<int>(n_);
    if constexpr (kIsDouble) {
      static auto* const gemm = find<decltype(cublasDgemm_v2)>(cublas(), "cublasDgemm_v2");
      CHECK(gemm(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a_.data(), n, b_.data(), n,
                 &zero, c_.data(), n));
    } else if constexpr (kIsSingle) {
      static auto* const gemm = find<decltype(cublasSgemm_v2)>(cublas(), "cublasSgemm_v2");
      CHECK(gemm(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a_.data(), n, b_.data(), n,
                 &zero, c_.data(), n));
    } else {
      // The header has two of this name.
      using Function = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                      int, int, void const*, void const*, cudaDataType, int,
                                      void const*, cudaDataType, int, void const*, void*,
                                      cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
      static auto* const gemm = find<Function>(cublas(), "cublasGemmEx");
      CHECK(gemm(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a_.data(), kTypeOf<In>, n,
                 b_.data(), kTypeOf<In>, n, &zero, c_.data(), kTypeOf<Out>, n, kCompute,
                 CUBLAS_GEMM_DEFAULT));
    }
  }

  std::int64_t n_;
  Array<In> a_, b_;
  Array<Out> c_;
  cublasLtHandle_t lt_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t layout_ = nullptr, result_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
  void* workspace_ = nullptr;
  int best_ = -1;
};

template <class T>
class Transpose final : public BlasLoop {
 public:
  explicit Transpose(std::int64_t n) : n_{n}, in_{n * n, 1}, out_{n * n, 2} {}
  std::string name() const override { return kWide<T> ? "cublasDgeam" : "cublasSgeam"; }

 private:
  void call() override {
    T const one = 1, zero = 0;
    auto const n = static_cast<int>(n_);
    if constexpr (kWide<T>) {
      static auto* const geam = find<decltype(cublasDgeam)>(cublas(), "cublasDgeam");
      CHECK(geam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, n, n, &one, in_.data(), n, &zero, out_.data(),
                 n, out_.data(), n));
    } else {
      static auto* const geam = find<decltype(cublasSgeam)>(cublas(), "cublasSgeam");
      CHECK(geam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, n, n, &one, in_.data(), n, &zero, out_.data(),
                 n, out_.data(), n));
    }
  }

  std::int64_t n_;
  Array<T> in_, out_;
};

template <class T>
class Sum final : public Loop {
 public:
  explicit Sum(std::int64_t n) : n_{n}, x_{n}, result_{1} {
    CHECK(cub::DeviceReduce::Sum(nullptr, bytes_, x_.data(), result_.data(), n_));
    CHECK(cudaMalloc(&scratch_, bytes_));
  }
  ~Sum() override { cudaFree(scratch_); }
  std::string name() const override { return "cub::DeviceReduce::Sum"; }

 private:
  void call() override {
    CHECK(cub::DeviceReduce::Sum(scratch_, bytes_, x_.data(), result_.data(), n_, queue().stream));
  }

  std::int64_t n_;
  Array<T> x_, result_;
  void* scratch_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Results stay on the device.
template <class T, bool kDot>
class Product final : public BlasLoop {
 public:
  explicit Product(std::int64_t n) : n_{n}, x_{n, 1}, y_{kDot ? n : 1, 2}, result_{1} {
    BLAS(cublasSetPointerMode_v2, handle(), CUBLAS_POINTER_MODE_DEVICE);
  }
  std::string name() const override {
    return kWide<T> ? (kDot ? "cublasDdot" : "cublasDnrm2") : (kDot ? "cublasSdot" : "cublasSnrm2");
  }

 private:
  void call() override {
    T *const x = x_.data(), *const y = y_.data(), *const result = result_.data();
    if constexpr (kWide<T> && kDot) {
      static auto* const f = find<decltype(cublasDdot_v2_64)>(cublas(), "cublasDdot_v2_64");
      CHECK(f(handle(), n_, x, 1, y, 1, result));
    } else if constexpr (kWide<T>) {
      static auto* const f = find<decltype(cublasDnrm2_v2_64)>(cublas(), "cublasDnrm2_v2_64");
      CHECK(f(handle(), n_, x, 1, result));
    } else if constexpr (kDot) {
      static auto* const f = find<decltype(cublasSdot_v2_64)>(cublas(), "cublasSdot_v2_64");
      CHECK(f(handle(), n_, x, 1, y, 1, result));
    } else {
      static auto* const f = find<decltype(cublasSnrm2_v2_64)>(cublas(), "cublasSnrm2_v2_64");
      CHECK(f(handle(), n_, x, 1, result));
    }
  }

  std::int64_t n_;
  Array<T> x_, y_, result_;
};

class Copy final : public Loop {
 public:
  Copy(Direction direction, std::int64_t bytes)
      : bytes_{static_cast<std::size_t>(bytes)}, on_device_{bytes / 4, 1} {
    if (direction == Direction::d2d) {
      CHECK(cudaMalloc(&other_, bytes_));
    } else {
      CHECK(cudaHostAlloc(&other_, bytes_, cudaHostAllocDefault));
      std::memset(other_, 1, bytes_);
    }
    is_host_ = direction != Direction::d2d;
    to_ = direction == Direction::h2d ? on_device_.data() : other_;
    from_ = direction == Direction::h2d ? other_ : on_device_.data();
    kind_ = direction == Direction::d2d   ? cudaMemcpyDeviceToDevice
            : direction == Direction::h2d ? cudaMemcpyHostToDevice
                                          : cudaMemcpyDeviceToHost;
  }
  ~Copy() override { is_host_ ? cudaFreeHost(other_) : cudaFree(other_); }
  std::string name() const override { return "cudaMemcpyAsync"; }

 private:
  void call() override { CHECK(cudaMemcpyAsync(to_, from_, bytes_, kind_, queue().stream)); }

  std::size_t bytes_;
  Array<float> on_device_;
  void* other_ = nullptr;
  bool is_host_ = false;
  void* to_ = nullptr;
  void const* from_ = nullptr;
  cudaMemcpyKind kind_ = cudaMemcpyDefault;
};

template <template <class> class L>
std::unique_ptr<Loop> of_type(Type type, std::int64_t n) {
  if (type == Type::f64) return std::make_unique<L<double>>(n);
  return std::make_unique<L<float>>(n);
}
template <class T>
using Dot = Product<T, true>;
template <class T>
using Norm2 = Product<T, false>;

}  // namespace

std::unique_ptr<Loop> gemm(Precision precision, std::int64_t n) {
  constexpr cublasComputeType_t kIn32 = CUBLAS_COMPUTE_32F;
  switch (precision) {
    case Precision::f64: return std::make_unique<Gemm<CUBLAS_COMPUTE_64F, double>>(n);
    case Precision::f32: return std::make_unique<Gemm<kIn32, float>>(n);
    case Precision::tf32: return std::make_unique<Gemm<CUBLAS_COMPUTE_32F_FAST_TF32, float>>(n);
    case Precision::f16: return std::make_unique<Gemm<kIn32, __half, float>>(n);
    case Precision::f16_to_f32: return std::make_unique<Gemm<kIn32, __half, float, float>>(n);
    case Precision::f16_in_f16: return std::make_unique<Gemm<CUBLAS_COMPUTE_16F, __half>>(n);
    case Precision::bf16: return std::make_unique<Gemm<kIn32, __nv_bfloat16, float>>(n);
    case Precision::bf16_to_f32:
      return std::make_unique<Gemm<kIn32, __nv_bfloat16, float, float>>(n);
  }
  return nullptr;
}
std::unique_ptr<Loop> transpose(Type type, std::int64_t n) { return of_type<Transpose>(type, n); }
std::unique_ptr<Loop> sum(Type type, std::int64_t n) { return of_type<Sum>(type, n); }
std::unique_ptr<Loop> dot(Type type, std::int64_t n) { return of_type<Dot>(type, n); }
std::unique_ptr<Loop> norm2(Type type, std::int64_t n) { return of_type<Norm2>(type, n); }
std::unique_ptr<Loop> copy(Direction direction, std::int64_t bytes) {
  return std::make_unique<Copy>(direction, bytes);
}

struct Ranks::Communicator {
  ncclComm_t handle = nullptr;
  int ranks = 1, rank = 0;
};

std::string Ranks::make_id() {
  ncclUniqueId id{};
  NCCL(ncclGetUniqueId, &id);
  return {id.internal, sizeof id.internal};
}

Ranks::Ranks(std::string const& id, int ranks, int rank)
    : communicator_{std::make_unique<Communicator>()} {
  ncclUniqueId made{};
  std::memcpy(made.internal, id.data(), std::min(id.size(), sizeof made.internal));
  communicator_->ranks = ranks;
  communicator_->rank = rank;
  NCCL(ncclCommInitRank, &communicator_->handle, ranks, made, rank);
}

Ranks::~Ranks() { NCCL(ncclCommDestroy, communicator_->handle); }

namespace {

enum class Exchange { allreduce, broadcast, alltoall, sendrecv };

template <Exchange kExchange>
class ExchangeLoop final : public Loop {
 public:
  ExchangeLoop(Ranks::Communicator const& ranks, std::int64_t n)
      : ranks_{ranks}, n_{static_cast<std::size_t>(n)}, in_{n, 1}, out_{n, 2} {}
  std::string name() const override {
    return kExchange == Exchange::allreduce   ? "ncclAllReduce"
           : kExchange == Exchange::broadcast ? "ncclBroadcast"
                                              : "ncclSend, ncclRecv";
  }

 private:
  void call() override {
    static auto* const reduce = find<decltype(ncclAllReduce)>(nccl(), "ncclAllReduce");
    static auto* const broadcast = find<decltype(ncclBroadcast)>(nccl(), "ncclBroadcast");
    static auto* const send = find<decltype(ncclSend)>(nccl(), "ncclSend");
    static auto* const receive = find<decltype(ncclRecv)>(nccl(), "ncclRecv");
    static auto* const start = find<decltype(ncclGroupStart)>(nccl(), "ncclGroupStart");
    static auto* const finish = find<decltype(ncclGroupEnd)>(nccl(), "ncclGroupEnd");
    float *const in = in_.data(), *const out = out_.data();
    cudaStream_t const stream = queue().stream;
    ncclComm_t const comm = ranks_.handle;
    if constexpr (kExchange == Exchange::allreduce) {
      CHECK(reduce(in, out, n_, ncclFloat32, ncclSum, comm, stream));
    } else if constexpr (kExchange == Exchange::broadcast) {
      CHECK(broadcast(out, out, n_, ncclFloat32, 0, comm, stream));
    } else if constexpr (kExchange == Exchange::alltoall) {
      std::size_t const each = n_ / static_cast<std::size_t>(ranks_.ranks);
      CHECK(start());
      for (int r = 0; r < ranks_.ranks; ++r) {
        CHECK(send(in + static_cast<std::size_t>(r) * each, each, ncclFloat32, r, comm, stream));
        CHECK(
            receive(out + static_cast<std::size_t>(r) * each, each, ncclFloat32, r, comm, stream));
      }
      CHECK(finish());
    } else {
      CHECK(start());
      CHECK(send(in, n_, ncclFloat32, (ranks_.rank + 1) % ranks_.ranks, comm, stream));
      CHECK(receive(out, n_, ncclFloat32, (ranks_.rank + ranks_.ranks - 1) % ranks_.ranks, comm,
                    stream));
      CHECK(finish());
    }
  }

  Ranks::Communicator const& ranks_;
  std::size_t n_;
  Array<float> in_, out_;
};

}  // namespace

std::unique_ptr<Loop> Ranks::allreduce(std::int64_t n) {
  return std::make_unique<ExchangeLoop<Exchange::allreduce>>(*communicator_, n);
}
std::unique_ptr<Loop> Ranks::broadcast(std::int64_t n) {
  return std::make_unique<ExchangeLoop<Exchange::broadcast>>(*communicator_, n);
}
std::unique_ptr<Loop> Ranks::alltoall(std::int64_t n) {
  return std::make_unique<ExchangeLoop<Exchange::alltoall>>(*communicator_, n);
}
std::unique_ptr<Loop> Ranks::sendrecv(std::int64_t n) {
  return std::make_unique<ExchangeLoop<Exchange::sendrecv>>(*communicator_, n);
}

}  // namespace quadrille::audit
