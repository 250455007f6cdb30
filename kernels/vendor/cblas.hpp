// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The C interface of BLAS under the name that a library gives its header.
#if __has_include(<cblas.h>)
#include <cblas.h>
#elif __has_include(<nvpl_blas_cblas.h>)
#include <nvpl_blas_cblas.h>
#else
#include <mkl_cblas.h>
#endif
