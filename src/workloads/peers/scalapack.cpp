// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_handle.hpp"
#include "vendor/blas.hpp"
#include "workloads/peers/peer.hpp"

#include <algorithm>
#include <array>
#include <limits>

extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cblacs_gridinit(int* context, char const* order, int rows, int cols);
void Cblacs_gridexit(int context);
void Cfree_blacs_system_handle(int handle);
void descinit_(int* desc, int const* m, int const* n, int const* mb, int const* nb, int const* rsrc,
               int const* csrc, int const* context, int const* lld, int* info);
void pdgemm_(char const* ta, char const* tb, int const* m, int const* n, int const* k,
             double const* alpha, double const* a, int const* ia, int const* ja, int const* desca,
             double const* b, int const* ib, int const* jb, int const* descb, double const* beta,
             double* c, int const* ic, int const* jc, int const* descc);
void psgemm_(char const* ta, char const* tb, int const* m, int const* n, int const* k,
             float const* alpha, float const* a, int const* ia, int const* ja, int const* desca,
             float const* b, int const* ib, int const* jb, int const* descb, float const* beta,
             float* c, int const* ic, int const* jc, int const* descc);
void pdtran_(int const* m, int const* n, double const* alpha, double const* a, int const* ia,
             int const* ja, int const* desca, double const* beta, double* c, int const* ic,
             int const* jc, int const* descc);
void pstran_(int const* m, int const* n, float const* alpha, float const* a, int const* ia,
             int const* ja, int const* desca, float const* beta, float* c, int const* ic,
             int const* jc, int const* descc);
}

namespace quadrille::workloads {

namespace {

// PBLAS packs panels of this width; from 64 to 256 p?gemm is equally fast with OpenBLAS.
constexpr int kBlock = 128;
constexpr int kOne = 1;
constexpr int kZero = 0;

using Descriptor = std::array<int, 9>;

/// The block-cyclic layout that the library likes.
Layout layout(core::GridShape grid, int rank, std::int64_t m, std::int64_t n) {
  return {comm::Distribution{m, kBlock, grid.rows}, comm::Distribution{n, kBlock, grid.cols},
          rank / grid.cols, rank % grid.cols};
}

std::string unsupported_extents(std::initializer_list<std::int64_t> extents) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  if (std::max(extents) <= kMax) return {};
  return fmt::format("takes extents up to {}", kMax);
}

/// ScaLAPACK's process grid.
class Blacs {
 public:
  Blacs(comm::World const& world, core::GridShape grid) : group_{world.group().duplicate()} {
    system_ = Csys2blacs_handle(comm::handle(group_));
    context_ = system_;
    // Column-major order of a Q x P grid gives rank = row * Q + col of ours.
    Cblacs_gridinit(&context_, "C", grid.cols, grid.rows);
  }
  ~Blacs() {
    Cblacs_gridexit(context_);
    Cfree_blacs_system_handle(system_);
  }
  Blacs(Blacs const&) = delete;
  Blacs& operator=(Blacs const&) = delete;

  /// Describes the transpose of a matrix whose local part is a row-major view.
  Descriptor describe(Layout const& layout, device::MatrixView const& view) const {
    Descriptor desc{};
    int const rows = static_cast<int>(layout.cols.size());
    int const cols = static_cast<int>(layout.rows.size());
    int const lld = static_cast<int>(std::max<std::int64_t>(1, view.ld));
    int info = 0;
    descinit_(desc.data(), &rows, &cols, &kBlock, &kBlock, &kZero, &kZero, &context_, &lld, &info);
    QUAD_REQUIRE(info == 0, "scalapack: descinit refused argument " + std::to_string(-info));
    return desc;
  }

 private:
  comm::Group group_;
  int system_ = -1, context_ = -1;
};

class Gemm final : public PeerCall {
 public:
  Gemm(comm::World& world, core::GridShape grid, PeerProduct const& product)
      : world_{world}, blacs_{world, grid}, p_{product} {}

  void run() const override {
    world_.stream().run([this] { multiply(); });
  }

 private:
  void multiply() const {
    kernels::blas::use_threads(world_.placement().threads);
    Descriptor const da = blacs_.describe(p_.layout.a, p_.a);
    Descriptor const db = blacs_.describe(p_.layout.b, p_.b);
    Descriptor const dc = blacs_.describe(p_.layout.c, p_.c);
    int const rows = static_cast<int>(p_.layout.c.cols.size());
    int const cols = static_cast<int>(p_.layout.c.rows.size());
    int const inner = static_cast<int>(p_.layout.a.cols.size());
    if (p_.c.type == core::DataType::f64) {
      pdgemm_("N", "N", &rows, &cols, &inner, &p_.alpha, p_.b.as<double>(), &kOne, &kOne, db.data(),
              p_.a.as<double>(), &kOne, &kOne, da.data(), &p_.beta, p_.c.as<double>(), &kOne, &kOne,
              dc.data());
    } else {
      auto const alpha = static_cast<float>(p_.alpha), beta = static_cast<float>(p_.beta);
      psgemm_("N", "N", &rows, &cols, &inner, &alpha, p_.b.as<float>(), &kOne, &kOne, db.data(),
              p_.a.as<float>(), &kOne, &kOne, da.data(), &beta, p_.c.as<float>(), &kOne, &kOne,
              dc.data());
    }
  }

  comm::World& world_;
  Blacs blacs_;
  PeerProduct p_;
};

class Tran final : public PeerCall {
 public:
  Tran(comm::World& world, core::GridShape grid, PeerTranspose const& transpose)
      : world_{world}, blacs_{world, grid}, p_{transpose} {}

  void run() const override {
    world_.stream().run([this] { transpose(); });
  }

 private:
  void transpose() const {
    Descriptor const da = blacs_.describe(p_.layout.a, p_.a);
    Descriptor const db = blacs_.describe(p_.layout.b, p_.b);
    int const rows = static_cast<int>(p_.layout.a.rows.size());
    int const cols = static_cast<int>(p_.layout.a.cols.size());
    if (p_.a.type == core::DataType::f64) {
      double const one = 1, zero = 0;
      pdtran_(&rows, &cols, &one, p_.a.as<double>(), &kOne, &kOne, da.data(), &zero,
              p_.b.as<double>(), &kOne, &kOne, db.data());
    } else {
      float const one = 1, zero = 0;
      pstran_(&rows, &cols, &one, p_.a.as<float>(), &kOne, &kOne, da.data(), &zero,
              p_.b.as<float>(), &kOne, &kOne, db.data());
    }
  }

  comm::World& world_;
  Blacs blacs_;
  PeerTranspose p_;
};

template <class Call, class Operation>
std::unique_ptr<PeerCall> plan(comm::World& world, core::GridShape grid,
                               Operation const& operation) {
  return std::make_unique<Call>(world, grid, operation);
}

}  // namespace

extern constinit Peer<PeerProduct> const scalapack_product{
    {.name = "scalapack",
     .role = kernels::Role::peer,
     .where = kernels::Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .source = "ScaLAPACK",
     .summary = "p?gemm on the same ranks with the same BLAS",
     .caveat = "in blocks of 128, not tuned for the size"},
    [](core::GridShape grid, int rank, std::int64_t, std::span<std::int64_t const> size) {
      return ProductLayout{layout(grid, rank, size[0], size[2]),
                           layout(grid, rank, size[2], size[1]),
                           layout(grid, rank, size[0], size[1]), true};
    },
    [](ProductLayout const& product, kernels::Types const&) {
      return unsupported_extents(
          {product.c.rows.size(), product.c.cols.size(), product.a.cols.size()});
    },
    plan<Gemm>};

extern constinit Peer<PeerTranspose> const scalapack_transpose{
    {.name = "scalapack",
     .role = kernels::Role::peer,
     .where = kernels::Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .source = "ScaLAPACK",
     .summary = "p?tran on the same ranks",
     .caveat = "in blocks of 128, not tuned for the size"},
    [](core::GridShape grid, int rank, std::int64_t, std::span<std::int64_t const> size) {
      return PeerTranspose::Layout{layout(grid, rank, size[0], size[1]),
                                   layout(grid, rank, size[1], size[0])};
    },
    [](PeerTranspose::Layout const& transpose, kernels::Types const&) {
      return unsupported_extents({transpose.a.rows.size(), transpose.a.cols.size()});
    },
    plan<Tran>};

}  // namespace quadrille::workloads
