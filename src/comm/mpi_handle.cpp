// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_handle.hpp"

namespace quadrille::comm {
namespace {

template <class T>
void keep_max(void* in, void* inout, int* n, MPI_Datatype*) {
  auto const* a = static_cast<T const*>(in);
  auto* b = static_cast<T*>(inout);
  for (int i = 0; i < *n; ++i) b[i] = a[i] > b[i] || a[i] != a[i] ? a[i] : b[i];
}

template <class T>
void keep_min(void* in, void* inout, int* n, MPI_Datatype*) {
  auto const* a = static_cast<T const*>(in);
  auto* b = static_cast<T*>(inout);
  for (int i = 0; i < *n; ++i) b[i] = a[i] < b[i] || a[i] != a[i] ? a[i] : b[i];
}

}  // namespace

MPI_Datatype mpi_type(core::DataType type) {
  switch (type) {
    case core::DataType::f64: return MPI_DOUBLE;
    case core::DataType::f32: return MPI_FLOAT;
    case core::DataType::i64: return MPI_INT64_T;
    case core::DataType::i32: return MPI_INT32_T;
    default: return MPI_DATATYPE_NULL;
  }
}

ReduceFunction::ReduceFunction(ReduceOp op, core::DataType type) {
  bool const is_float = type == core::DataType::f64 || type == core::DataType::f32;
  if (op == ReduceOp::sum) {
    op_ = MPI_SUM;
  } else if (!is_float) {
    op_ = op == ReduceOp::max ? MPI_MAX : MPI_MIN;
  } else {
    MPI_User_function* const max = type == core::DataType::f64 ? keep_max<double> : keep_max<float>;
    MPI_User_function* const min = type == core::DataType::f64 ? keep_min<double> : keep_min<float>;
    QUAD_MPI(MPI_Op_create(op == ReduceOp::max ? max : min, 1, &op_));
    is_own_ = true;
  }
}

ReduceFunction::~ReduceFunction() {
  if (is_own_) MPI_Op_free(&op_);
}

}  // namespace quadrille::comm
