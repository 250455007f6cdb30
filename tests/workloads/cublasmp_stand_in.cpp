// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// A library in place of cuBLASMp and NCCL, on hosts: block-cyclic matrices as ScaLAPACK has them, f64,
// gathered by MPI and multiplied by a loop. It is strict about what cuBLASMp demands.
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Index = std::int64_t;

enum Status { success = 0, not_initialized = 1, invalid_value = 3, not_supported = 7 };
constexpr int kTransposed = 1, kReal64 = 1, kCompute64 = 70;  // as in headers of CUDA
constexpr std::size_t kDeviceBytes = 640, kHostBytes = 48;

int g_handles = 0, g_alive = 0;

struct Grid {
  Index rows, cols, row, col;
};
struct Matrix {
  Index m, n, mb, nb, lld;
  Grid const* grid;

  /// Calls f(place, i, j) for what this rank has.
  template <class F>
  void for_own(F const& f) const {
    Index il = 0;
    for (Index i = 0; i < m; ++i) {
      if (i / mb % grid->rows != grid->row) continue;
      Index jl = 0;
      for (Index j = 0; j < n; ++j) {
        if (j / nb % grid->cols == grid->col) f(jl++ * lld + il, i, j);
      }
      ++il;
    }
  }
  std::vector<double> gathered(double const* own) const {
    std::vector<double> all(static_cast<std::size_t>(m * n));
    for_own([&](Index place, Index i, Index j) {
      all[static_cast<std::size_t>(j * m + i)] = own[place];
    });
    MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    return all;
  }
};

bool is_whole(Matrix const* matrix, Index i, Index j) { return i == 1 && j == 1 && matrix; }

int tell_workspace(std::size_t* on_device, std::size_t* on_host) {
  *on_device = kDeviceBytes;
  *on_host = kHostBytes;
  return success;
}
bool is_workspace(void* on_device, std::size_t device_bytes, void* on_host,
                  std::size_t host_bytes) {
  if (device_bytes != kDeviceBytes || host_bytes != kHostBytes) return false;
  std::memset(on_device, 0, device_bytes);
  std::memset(on_host, 0, host_bytes);
  return true;
}

/// Of column-major sums; with beta 0 C is not read.
template <class Sum>
void store(Matrix const& c, double* own, double alpha, double beta, Sum const& sum) {
  c.for_own([&](Index place, Index i, Index j) {
    own[place] = alpha * sum(i, j) + (beta == 0 ? 0 : beta * own[place]);
  });
}

}  // namespace

extern "C" {

/// Objects that nobody has destroyed.
int stand_in_alive() { return g_alive; }

// NCCL.
struct UniqueId {
  char internal[128];
};
int ncclGetUniqueId(UniqueId* id) {
  std::memset(id->internal, 'q', sizeof id->internal);
  return 0;
}
int ncclCommInitRankConfig(void** made, int size, UniqueId id, int rank, void*) {
  int own_size = 0, own_rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &own_size);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  if (id.internal[0] != 'q' || size != own_size || rank != own_rank) return 4;
  ++g_alive;
  *made = &g_alive;
  return 0;
}
int ncclCommDestroy(void*) {
  --g_alive;
  return 0;
}
char const* ncclGetErrorString(int) { return "wrong argument of the stand-in"; }
char const* ncclGetLastError(void*) { return ""; }

// cuBLASMp.
int cublasMpGetVersion(int* version) {
  char const* const said = std::getenv("QUADRILLE_TEST_CUBLASMP_VERSION");
  *version = said != nullptr ? std::atoi(said) : 700;
  return success;
}
int cublasMpCreate(void** handle, void*) {
  if (g_handles > 0) return not_initialized;
  ++g_handles;
  ++g_alive;
  *handle = &g_handles;
  return success;
}
int cublasMpDestroy(void*) {
  --g_handles;
  --g_alive;
  return success;
}
int cublasMpGridCreate(Index rows, Index cols, int layout, void* communicator, void** grid) {
  int size = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (communicator != &g_alive || rows * cols != size || layout < 0 || layout > 1) {
    return invalid_value;
  }
  ++g_alive;
  *grid = layout == 0 ? new Grid{rows, cols, rank % rows, rank / rows}
                      : new Grid{rows, cols, rank / cols, rank % cols};
  return success;
}
int cublasMpGridDestroy(void* grid) {
  delete static_cast<Grid*>(grid);
  --g_alive;
  return success;
}
int cublasMpMatrixDescriptorCreate(Index m, Index n, Index mb, Index nb, Index rsrc, Index csrc,
                                   Index lld, int type, void* grid, void** matrix) {
  if (mb < 1 || nb < 1 || lld < 1 || rsrc != 0 || csrc != 0) return invalid_value;
  if (type != kReal64) return not_supported;
  ++g_alive;
  *matrix = new Matrix{m, n, mb, nb, lld, static_cast<Grid*>(grid)};
  return success;
}
int cublasMpMatrixDescriptorDestroy(void* matrix) {
  delete static_cast<Matrix*>(matrix);
  --g_alive;
  return success;
}

int cublasMpGemm_bufferSize(void*, int ta, int tb, Index, Index, Index, double const*,
                            double const*, Index ia, Index ja, Matrix const* a, double const*,
                            Index ib, Index jb, Matrix const* b, double const*, double*, Index ic,
                            Index jc, Matrix const* c, int compute, std::size_t* on_device,
                            std::size_t* on_host) {
  if (ta != 0 || tb != 0 || compute != kCompute64) return not_supported;
  if (!is_whole(a, ia, ja) || !is_whole(b, ib, jb) || !is_whole(c, ic, jc)) return invalid_value;
  if (a->nb != b->mb || a->mb != c->mb || b->nb != c->nb) return invalid_value;
  return tell_workspace(on_device, on_host);
}
int cublasMpGemm(void*, int, int, Index m, Index n, Index k, double const* alpha,
                 double const* own_a, Index, Index, Matrix const* a, double const* own_b, Index,
                 Index, Matrix const* b, double const* beta, double* own_c, Index, Index,
                 Matrix const* c, int, void* on_device, std::size_t device_bytes, void* on_host,
                 std::size_t host_bytes) {
  bool const fits =
      a->m == m && a->n == k && b->m == k && b->n == n && c->m == m && c->n == n && *alpha != 0;
  if (!fits || !is_workspace(on_device, device_bytes, on_host, host_bytes)) return invalid_value;
  std::vector<double> const all_a = a->gathered(own_a), all_b = b->gathered(own_b);
  store(*c, own_c, *alpha, *beta, [&](Index i, Index j) {
    double sum = 0;
    for (Index l = 0; l < k; ++l) {
      sum +=
          all_a[static_cast<std::size_t>(l * m + i)] * all_b[static_cast<std::size_t>(j * k + l)];
    }
    return sum;
  });
  return success;
}

int cublasMpGeadd_bufferSize(void*, int trans, Index, Index, double const*, double const*, Index ia,
                             Index ja, Matrix const* a, double const*, double*, Index ic, Index jc,
                             Matrix const* c, std::size_t* on_device, std::size_t* on_host) {
  if (trans != kTransposed) return not_supported;
  if (!is_whole(a, ia, ja) || !is_whole(c, ic, jc)) return invalid_value;
  if (a->nb != c->mb || a->mb != c->nb) return invalid_value;
  return tell_workspace(on_device, on_host);
}
int cublasMpGeadd(void*, int, Index m, Index n, double const* alpha, double const* own_a, Index,
                  Index, Matrix const* a, double const* beta, double* own_c, Index, Index,
                  Matrix const* c, void* on_device, std::size_t device_bytes, void* on_host,
                  std::size_t host_bytes) {
  bool const fits = a->m == n && a->n == m && c->m == m && c->n == n;
  if (!fits || !is_workspace(on_device, device_bytes, on_host, host_bytes)) return invalid_value;
  std::vector<double> const all = a->gathered(own_a);
  store(*c, own_c, *alpha, *beta,
        [&](Index i, Index j) { return all[static_cast<std::size_t>(i * n + j)]; });
  return success;
}

}  // extern "C"
