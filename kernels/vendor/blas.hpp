// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// The host's BLAS, whichever the linker was given.
namespace quadrille::kernels::blas {

/// Its name and version, as it says itself; its file where it has no function for that.
std::string library();

/// From now on a call takes that many threads, where the library can be told: OpenBLAS, MKL, BLIS, AOCL,
/// NVPL. Others, called from a parallel loop, must use one thread by themselves.
void use_threads(int threads);

void* find_function(char const* name);

/// The function called `name`, which not every BLAS has; null where it is missing. Function is the type
/// of its declaration.
template <class Function>
Function* find(char const* name) {
  return reinterpret_cast<Function*>(find_function(name));
}

}  // namespace quadrille::kernels::blas
