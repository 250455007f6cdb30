// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// For LD_PRELOAD: a BLAS whose products come from the one that was linked, which tells its name and takes its
// threads by the functions of MKL, and ends the program where a product finds more than one thread.
#include <cblas.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<int> threads{7};

template <class Function>
Function* next(char const* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void require_one_thread() {
  if (threads == 1) return;
  std::fputs("own_blas: a product in a parallel loop has more than one thread\n", stderr);
  std::abort();
}

}  // namespace

extern "C" {

void MKL_Get_Version_String(char* text, int length) {
  std::strncpy(text, "A BLAS of the test", static_cast<std::size_t>(length));
}
int MKL_Get_Max_Threads() { return threads; }
void MKL_Set_Num_Threads(int wanted) { threads = wanted; }

void cblas_dgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k,
                 double alpha, double const* a, int lda, double const* b, int ldb, double beta,
                 double* c, int ldc) {
  require_one_thread();
  next<decltype(cblas_dgemm)>("cblas_dgemm")(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                             ldc);
}

}  // extern "C"
