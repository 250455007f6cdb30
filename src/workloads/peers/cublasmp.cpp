// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_communicator.hpp"
#include "workloads/peers/peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#ifdef QUADRILLE_CUBLASMP
#include "device/cuda/library.hpp"
#include "device/cuda/stream.hpp"

#include <array>
#include <cstring>
#include <cublas_v2.h>
#include <functional>
#include <vector>
#endif

namespace quadrille::workloads {

namespace {

bool is_empty_somewhere(Layout const& layout) {
  auto const is_empty = [](comm::Distribution const& d) { return d.count(d.parts() - 1) == 0; };
  return is_empty(layout.rows) || is_empty(layout.cols);
}
std::string unsupported_parts(Layout const& one, Layout const& other) {
  bool const is_empty = is_empty_somewhere(one) || is_empty_somewhere(other);
  return is_empty ? "needs a part of every matrix on each rank; take a smaller block or grid" : "";
}

/// The same over the rows and over the columns of the grid; without one of the case, the largest that
/// gives each process of either equally many.
std::int64_t common_block(core::GridShape grid, std::int64_t block, std::int64_t n) {
  return comm::Distribution{n, block, std::lcm(grid.rows, grid.cols)}.block();
}

/// The library wants the same block of k in A and B, and of m and n in all. Block 0: one of C per
/// process, and of k the fewest that suit both dimensions of the grid.
ProductLayout product_layout(core::GridShape grid, int rank, std::int64_t block,
                             std::span<std::int64_t const> size) {
  int const row = rank / grid.cols, col = rank % grid.cols;
  std::int64_t const k = size[2], block_k = common_block(grid, block, k);
  comm::Distribution const rows{size[0], block, grid.rows}, cols{size[1], block, grid.cols};
  return {{rows, {k, block_k, grid.cols}, row, col},
          {{k, block_k, grid.rows}, cols, row, col},
          {rows, cols, row, col},
          true};
}

/// The same of a matrix and of its transpose.
PeerTranspose::Layout transpose_layout(core::GridShape grid, int rank, std::int64_t block,
                                       std::span<std::int64_t const> size) {
  auto const layout = [&](std::int64_t m, std::int64_t n) {
    return Layout{comm::Distribution{m, common_block(grid, block, m), grid.rows},
                  comm::Distribution{n, common_block(grid, block, n), grid.cols}, rank / grid.cols,
                  rank % grid.cols};
  };
  return {layout(size[0], size[1]), layout(size[1], size[0])};
}

std::string unsupported_product(ProductLayout const& layout, kernels::Types const& types);
std::string unsupported_transpose(PeerTranspose::Layout const& layout, kernels::Types const&) {
  return unsupported_parts(layout.a, layout.b);
}

std::string unavailable(comm::Machine const* machine);
std::unique_ptr<PeerCall> plan_product(comm::World& world, core::GridShape grid,
                                       PeerProduct const& product);
std::unique_ptr<PeerCall> plan_transpose(comm::World& world, core::GridShape grid,
                                         PeerTranspose const& transpose);

}  // namespace

// Constants, for tables refer to them before main() begins.
extern constinit Peer<PeerProduct> const cublasmp_product{
    {.name = "cublasmp",
     .role = kernels::Role::peer,
     .where = kernels::Where::cuda,
     .types = {core::DataType::f64,
               core::DataType::f32,
               {core::DataType::f32, core::Compute::tf32},
               core::DataType::f16,
               core::DataType::bf16},
     .needs = {.other = "cuBLASMp 0.5 or later, NCCL, a GPU for each rank"},
     .source = "cuBLASMp",
     .summary = "cublasMpGemm on the same ranks",
     .caveat = "without the symmetric memory that it can have for layouts of tensor parallelism"},
    product_layout,
    unsupported_product,
    plan_product,
    unavailable,
    true};

extern constinit Peer<PeerTranspose> const cublasmp_transpose{
    {.name = "cublasmp",
     .role = kernels::Role::peer,
     .where = kernels::Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.other = "cuBLASMp 0.5 or later, NCCL, a GPU for each rank"},
     .source = "cuBLASMp",
     .summary = "cublasMpGeadd on the same ranks"},
    transpose_layout,
    unsupported_transpose,
    plan_transpose,
    unavailable};

namespace {

std::string unsupported_product(ProductLayout const& layout, kernels::Types const& types) {
  auto const& known = cublasmp_product.types;
  if (std::find(known.begin(), known.end(), types) == known.end()) {
    return fmt::format("has no type {}", kernels::to_text(types));
  }
  return unsupported_parts(layout.a, layout.b);
}

}  // namespace

#ifdef QUADRILLE_CUBLASMP

namespace {

// As cublasmp.h of 0.7.0 declares them, and those of 0.5.1, 0.6.0, 0.8.1 and 0.10.0: handles are
// pointers to structures that nobody knows, enumerations are ints. Before 0.5 a grid took a
// communicator of another library. Scalars lie in host memory and in what the product is computed in,
// of cublasMpGeadd in the type of the matrices; indices begin at 1.

struct MpHandle;
struct MpGrid;
struct MpMatrix;
constexpr int kSuccess = 0;
constexpr int kColumnMajor = 0;  // CUBLASMP_GRID_LAYOUT_COL_MAJOR
constexpr int kFirstVersion = 500;

using Index = std::int64_t;
using GetVersion = int(int* version);
using Create = int(MpHandle** handle, cudaStream_t stream);
using GridCreate = int(Index rows, Index cols, int layout, void* communicator, MpGrid** grid);
using MatrixCreate = int(Index m, Index n, Index mb, Index nb, Index rsrc, Index csrc, Index lld,
                         cudaDataType_t type, MpGrid* grid, MpMatrix** matrix);
template <class Object>
using Destroy = int(Object* object);
// The end of the arguments asks for the workspace on device and host, or has it.
template <class... Workspace>
using Gemm = int(MpHandle* handle, cublasOperation_t ta, cublasOperation_t tb, Index m, Index n,
                 Index k, void const* alpha, void const* a, Index ia, Index ja, MpMatrix* desc_a,
                 void const* b, Index ib, Index jb, MpMatrix* desc_b, void const* beta, void* c,
                 Index ic, Index jc, MpMatrix* desc_c, cublasComputeType_t compute,
                 Workspace... workspace);
template <class... Workspace>
using Geadd = int(MpHandle* handle, cublasOperation_t trans, Index m, Index n, void const* alpha,
                  void const* a, Index ia, Index ja, MpMatrix* desc_a, void const* beta, void* c,
                  Index ic, Index jc, MpMatrix* desc_c, Workspace... workspace);

device::Library const& library() {
  static device::Library const found{{"libcublasmp.so.0"}};
  return found;
}

void check(int status, std::string_view call) {
  if (status == kSuccess) return;
  constexpr std::array<std::string_view, 8> kNames{
      "SUCCESS",        "NOT_INITIALIZED",       "ALLOCATION_FAILED",
      "INVALID_VALUE",  "ARCHITECTURE_MISMATCH", "EXECUTION_FAILED",
      "INTERNAL_ERROR", "NOT_SUPPORTED"};
  auto const at = static_cast<std::size_t>(status);
  core::fail(
      fmt::format("{}: CUBLASMP_STATUS_{}; CUBLASMP_LOG_LEVEL=5 in the environment shows more",
                  call, at < kNames.size() ? kNames[at] : std::to_string(status)));
}

template <class Function, class... Arguments>
void call(char const* name, Arguments... arguments) {
  check(library().get<Function>(name)(arguments...), name);
}

/// Destroyed by the function of this name.
template <class Object>
auto owned(Object* raw, char const* destroy) {
  return std::shared_ptr<Object>{raw,
                                 [destroy](Object* own) { call<Destroy<Object>>(destroy, own); }};
}

/// For all of this process, which may have no more than one for a GPU.
std::shared_ptr<MpHandle> shared_handle(cudaStream_t stream) {
  static std::weak_ptr<MpHandle> shared;
  std::shared_ptr<MpHandle> handle = shared.lock();
  if (handle == nullptr) {
    MpHandle* raw = nullptr;
    call<Create>("cublasMpCreate", &raw, stream);
    shared = handle = owned(raw, "cublasMpDestroy");
  }
  return handle;
}

int version() {
  int number = 0;
  call<GetVersion>("cublasMpGetVersion", &number);
  return number;
}
/// Of major version 0: later ones count in ten thousands, and have another name as libraries.
std::string version_text(int number) { return fmt::format("0.{}.{}", number / 100, number % 100); }

/// NCCL, which the library refers to, is looked for by our names first.
std::string unavailable(comm::Machine const* machine) {
  std::string const no_nccl = comm::NcclCommunicator::unavailable_reason(machine);
  if (!library().why_absent().empty()) {
    return fmt::format(
        "needs cuBLASMp, up to 0.7 with NCCL 2.28 and NVSHMEM 3.3, then with NCCL 2.29: {}",
        library().why_absent());
  }
  if (int const found = version(); found < kFirstVersion) {
    return fmt::format("needs cuBLASMp {} or later, found {}", version_text(kFirstVersion),
                       version_text(found));
  }
  return no_nccl.empty() ? "" : fmt::format("needs NCCL: {}", no_nccl);
}

cudaDataType_t cuda_type(core::DataType type) {
  switch (type) {
    case core::DataType::f64: return CUDA_R_64F;
    case core::DataType::f32: return CUDA_R_32F;
    case core::DataType::f16: return CUDA_R_16F;
    case core::DataType::bf16: return CUDA_R_16BF;
    default: core::fail(fmt::format("cublasmp: no type {}", core::to_text(type)));
  }
}

cublasComputeType_t cublas_type(core::Compute compute) {
  switch (compute) {
    case core::Compute::f64: return CUBLAS_COMPUTE_64F;
    case core::Compute::tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    default: return CUBLAS_COMPUTE_32F;
  }
}

using Scalar = std::array<double, 1>;  // memory for any type

Scalar scalar(double value, core::DataType type) {
  Scalar memory{};
  auto const put = [&](auto stored) { std::memcpy(memory.data(), &stored, sizeof stored); };
  switch (type) {
    case core::DataType::f64: put(value); break;
    case core::DataType::f16: put(core::f16{value}); break;
    case core::DataType::bf16: put(core::bf16{value}); break;
    default: put(static_cast<float>(value));
  }
  return memory;
}

/// That of the world. A host device has none: there only a stand-in for the library can be.
cudaStream_t stream_of(comm::World const& world) {
  bool const is_cuda = world.device().kind() == device::Kind::cuda;
  return is_cuda ? device::cuda_stream(world.stream()) : nullptr;
}

/// With a communicator of NCCL of its own.
class Call final : public PeerCall {
 public:
  Call(comm::World& world, core::GridShape shape)
      : world_{world}, communicator_{world.group()}, handle_{shared_handle(stream_of(world))} {
    // Column-major order of a Q x P grid gives rank = row * Q + col of ours.
    MpGrid* raw = nullptr;
    call<GridCreate>("cublasMpGridCreate", Index{shape.cols}, Index{shape.rows}, kColumnMajor,
                     communicator_.get(), &raw);
    grid_ = owned(raw, "cublasMpGridDestroy");
  }
  ~Call() override { world_.stream().synchronize(); }

  MpHandle* handle() const { return handle_.get(); }

  /// The transpose of a matrix whose local part is a row-major view.
  std::shared_ptr<MpMatrix> describe(Layout const& layout, device::MatrixView const& view) const {
    MpMatrix* raw = nullptr;
    call<MatrixCreate>("cublasMpMatrixDescriptorCreate", layout.cols.size(), layout.rows.size(),
                       layout.cols.block(), layout.rows.block(), Index{0}, Index{0}, Index{view.ld},
                       cuda_type(view.type), grid_.get(), &raw);
    return owned(raw, "cublasMpMatrixDescriptorDestroy");
  }

  /// `with(function, workspace...)` calls the library's function of this name, or what tells its
  /// workspace.
  template <template <class...> class Function, class With>
  void plan(std::string const& name, With with) {
    std::string const query = name + "_bufferSize";
    std::size_t device_bytes = 0, host_bytes = 0;
    auto* const ask = library().get<Function<std::size_t*, std::size_t*>>(query.c_str());
    check(with(ask, &device_bytes, &host_bytes), query);
    on_device_ = {world_.device(), static_cast<std::int64_t>(device_bytes), world_.stream()};
    on_host_.resize(host_bytes);
    auto* const function =
        library().get<Function<void*, std::size_t, void*, std::size_t>>(name.c_str());
    run_ = [this, with, function, name] {
      check(with(function, static_cast<void*>(on_device_.data()), on_device_.bytes(),
                 static_cast<void*>(on_host_.data()), on_host_.size()),
            name);
    };
    implementation_ = fmt::format("{} of cuBLASMp {}, workspace {}", name, version_text(version()),
                                  core::format_bytes(static_cast<double>(device_bytes)));
  }

  void run() const override { run_(); }
  std::string implementation() const override { return implementation_; }

 private:
  comm::World& world_;
  comm::NcclCommunicator communicator_;
  std::shared_ptr<MpHandle> handle_;
  std::shared_ptr<MpGrid> grid_;
  device::Buffer<std::byte> on_device_;  // workspace
  std::vector<std::byte> on_host_;
  std::function<void()> run_;
  std::string implementation_;
};

std::unique_ptr<PeerCall> plan_product(comm::World& world, core::GridShape grid,
                                       PeerProduct const& p) {
  auto made = std::make_unique<Call>(world, grid);
  core::Compute const computed = core::compute_for(p.c.type, p.compute);
  core::DataType const scalars =
      computed == core::Compute::f64 ? core::DataType::f64 : core::DataType::f32;
  auto const with = [=, handle = made->handle(), alpha = scalar(p.alpha, scalars),
                     beta = scalar(p.beta, scalars), desc_a = made->describe(p.layout.a, p.a),
                     desc_b = made->describe(p.layout.b, p.b),
                     desc_c = made->describe(p.layout.c, p.c)](auto* function, auto... workspace) {
    return function(handle, CUBLAS_OP_N, CUBLAS_OP_N, p.layout.c.cols.size(),
                    p.layout.c.rows.size(), p.layout.a.cols.size(), alpha.data(), p.b.data, 1, 1,
                    desc_b.get(), p.a.data, 1, 1, desc_a.get(), beta.data(), p.c.data, 1, 1,
                    desc_c.get(), cublas_type(computed), workspace...);
  };
  made->plan<Gemm>("cublasMpGemm", with);
  return made;
}

std::unique_ptr<PeerCall> plan_transpose(comm::World& world, core::GridShape grid,
                                         PeerTranspose const& p) {
  auto made = std::make_unique<Call>(world, grid);
  auto const with = [=, handle = made->handle(), one = scalar(1, p.a.type),
                     zero = scalar(0, p.a.type), desc_a = made->describe(p.layout.a, p.a),
                     desc_b = made->describe(p.layout.b, p.b)](auto* function, auto... workspace) {
    return function(handle, CUBLAS_OP_T, p.layout.a.rows.size(), p.layout.a.cols.size(), one.data(),
                    p.a.data, 1, 1, desc_a.get(), zero.data(), p.b.data, 1, 1, desc_b.get(),
                    workspace...);
  };
  made->plan<Geadd>("cublasMpGeadd", with);
  return made;
}

}  // namespace

#else

namespace {

std::string unavailable(comm::Machine const*) { return "needs cuBLASMp; built without CUDA"; }
std::unique_ptr<PeerCall> plan_product(comm::World&, core::GridShape, PeerProduct const&) {
  core::fail(unavailable(nullptr), core::Exit::environment);
}
std::unique_ptr<PeerCall> plan_transpose(comm::World&, core::GridShape, PeerTranspose const&) {
  core::fail(unavailable(nullptr), core::Exit::environment);
}

}  // namespace

#endif

}  // namespace quadrille::workloads
