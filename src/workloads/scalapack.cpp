// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/scalapack.hpp"

#include "comm/mpi_handle.hpp"

#include <algorithm>
#include <array>
#include <limits>

#ifdef QUADRILLE_SCALAPACK
#include "gemm/gemm.hpp"

extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cblacs_gridinit(int* context, char const* order, int rows, int cols);
void Cblacs_gridexit(int context);
void Cfree_blacs_system_handle(int handle);
void openblas_set_num_threads(int threads);
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
#endif

namespace quadrille::workloads {
namespace {

// PBLAS packs panels of this width; from 64 to 256 p?gemm is equally fast with OpenBLAS.
constexpr int kBlock = 128;

}  // namespace

std::string scalapack_unsupported(std::initializer_list<std::int64_t> extents) {
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  if (std::max(extents) <= kMax) return {};
  return fmt::format("takes extents up to {}", kMax);
}

Layout Scalapack::layout(std::int64_t m, std::int64_t n) const {
  return {comm::Distribution{m, kBlock, rows_}, comm::Distribution{n, kBlock, cols_}, row_, col_};
}

#ifdef QUADRILLE_SCALAPACK

namespace {

constexpr int kOne = 1;
constexpr int kZero = 0;

using Descriptor = std::array<int, 9>;

/// Describes the transpose of an m x n matrix whose local part is a row-major view.
Descriptor describe(std::int64_t m, std::int64_t n, device::MatrixView const& view, int context) {
  Descriptor desc{};
  int const rows = static_cast<int>(n);
  int const cols = static_cast<int>(m);
  int const lld = static_cast<int>(std::max<std::int64_t>(1, view.ld));
  int info = 0;
  descinit_(desc.data(), &rows, &cols, &kBlock, &kBlock, &kZero, &kZero, &context, &lld, &info);
  QUAD_REQUIRE(info == 0, "scalapack: descinit refused argument " + std::to_string(-info));
  return desc;
}

}  // namespace

bool has_scalapack() { return true; }

Scalapack::Scalapack(comm::World const& world, comm::Grid const& grid)
    : rows_{grid.rows()},
      cols_{grid.cols()},
      row_{grid.row()},
      col_{grid.col()},
      threads_{world.placement().threads},
      group_{std::make_unique<comm::Group>(world.group().duplicate())} {
  system_ = Csys2blacs_handle(comm::handle(*group_));
  context_ = system_;
  // Column-major order of a Q x P grid gives rank = row * Q + col of ours.
  Cblacs_gridinit(&context_, "C", cols_, rows_);
}

Scalapack::~Scalapack() {
  Cblacs_gridexit(context_);
  Cfree_blacs_system_handle(system_);
}

void Scalapack::multiply(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                         device::MatrixView const& a, device::MatrixView const& b, double beta,
                         device::MatrixView const& c) const {
  openblas_set_num_threads(threads_);
  Descriptor const da = describe(m, k, a, context_);
  Descriptor const db = describe(k, n, b, context_);
  Descriptor const dc = describe(m, n, c, context_);
  int const rows = static_cast<int>(n), cols = static_cast<int>(m), inner = static_cast<int>(k);
  if (c.type == core::DataType::f64) {
    pdgemm_("N", "N", &rows, &cols, &inner, &alpha, b.as<double>(), &kOne, &kOne, db.data(),
            a.as<double>(), &kOne, &kOne, da.data(), &beta, c.as<double>(), &kOne, &kOne,
            dc.data());
  } else {
    auto const alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);
    psgemm_("N", "N", &rows, &cols, &inner, &alpha32, b.as<float>(), &kOne, &kOne, db.data(),
            a.as<float>(), &kOne, &kOne, da.data(), &beta32, c.as<float>(), &kOne, &kOne,
            dc.data());
  }
}

void Scalapack::transpose(std::int64_t m, std::int64_t n, device::MatrixView const& a,
                          device::MatrixView const& b) const {
  Descriptor const da = describe(m, n, a, context_);
  Descriptor const db = describe(n, m, b, context_);
  int const rows = static_cast<int>(m), cols = static_cast<int>(n);
  if (a.type == core::DataType::f64) {
    double const one = 1, zero = 0;
    pdtran_(&rows, &cols, &one, a.as<double>(), &kOne, &kOne, da.data(), &zero, b.as<double>(),
            &kOne, &kOne, db.data());
  } else {
    float const one = 1, zero = 0;
    pstran_(&rows, &cols, &one, a.as<float>(), &kOne, &kOne, da.data(), &zero, b.as<float>(), &kOne,
            &kOne, db.data());
  }
}

#else

bool has_scalapack() { return false; }

Scalapack::Scalapack(comm::World const&, comm::Grid const&)
    : rows_{1}, cols_{1}, row_{0}, col_{0}, threads_{1} {
  core::fail("this build has no ScaLAPACK; install libscalapack-openmpi-dev and configure again",
             core::Exit::environment);
}
Scalapack::~Scalapack() = default;
void Scalapack::multiply(std::int64_t, std::int64_t, std::int64_t, double,
                         device::MatrixView const&, device::MatrixView const&, double,
                         device::MatrixView const&) const {}
void Scalapack::transpose(std::int64_t, std::int64_t, device::MatrixView const&,
                          device::MatrixView const&) const {}

#endif

}  // namespace quadrille::workloads
