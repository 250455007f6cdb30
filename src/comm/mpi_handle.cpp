// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_handle.hpp"

#include "comm/combine_of.hpp"

namespace quadrille::comm {
namespace {

/// As MPI calls an operation: what MPI itself has may lose a NaN, and has no types of 16 bits.
template <class T, kernels::Combine kOp>
void combine_all(void* in, void* inout, int* n, MPI_Datatype*) {
  auto const* a = static_cast<T const*>(in);
  auto* b = static_cast<T*>(inout);
  for (int i = 0; i < *n; ++i) b[i] = kernels::combine_element<kOp>(b[i], a[i]);
}

}  // namespace

MPI_Datatype mpi_type(core::DataType type) {
  switch (type) {
    case core::DataType::f64: return MPI_DOUBLE;
    case core::DataType::f32: return MPI_FLOAT;
    case core::DataType::i64: return MPI_INT64_T;
    case core::DataType::i32: return MPI_INT32_T;
    case core::DataType::f16:
    case core::DataType::bf16: return MPI_UINT16_T;
    default: return MPI_DATATYPE_NULL;
  }
}

ReduceFunction::ReduceFunction(ReduceOp op, core::DataType type) {
  bool const is_native =
      core::size_of(type) > 2 && (op == ReduceOp::sum || core::epsilon_of(type) == 0);
  if (is_native) {
    op_ = op == ReduceOp::sum ? MPI_SUM : op == ReduceOp::max ? MPI_MAX : MPI_MIN;
    return;
  }
  kernels::visit_combine(type, combine_of(op), [&]<class T, kernels::Combine kOp>() {
    QUAD_MPI(MPI_Op_create(combine_all<T, kOp>, 1, &op_));
  });
  is_own_ = true;
}

ReduceFunction::~ReduceFunction() {
  if (is_own_) MPI_Op_free(&op_);
}

}  // namespace quadrille::comm
