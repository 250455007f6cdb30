// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention by cuDNN: the bar on a GPU.
///
///   o = softmax(scale q k^T) v, row by row over the keys that a query sees
///
/// Technique    the graph of products, mask, softmax and products that cuDNN knows as fused attention, and,
///              without a mask, its one operation for all of it; of both the first launch of a shape times
///              the plans that the library's heuristics name, the likeliest first for some seconds,
///              and keeps the fastest
/// Shapes       any extents and groups of heads; under the causal mask as many queries as keys
/// Work         4 b h q k d flop, half of it under a causal mask
/// Launch       one handle per stream; up to 2 GiB of workspace for the search. Scratch for the logarithm
///              of each row's sum, which the graph has as a result. The first launch of a shape waits for
///              the stream. It cannot be recorded
/// Accuracy     error_bound()
#include "attention/attention_library.hpp"
#include "vendor/cudnn.hpp"

#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace quadrille::kernels::attention {
namespace {

std::size_t scratch_bytes(Problem const& p, device::Facts const&) {
  Shape const& x = p.shape;
  return sizeof(float) * static_cast<std::size_t>(x.batch * x.heads * x.queries);
}

#ifdef QUADRILLE_CUDNN

using cudnn::Descriptor;

enum Tensor : std::int64_t { kQ = 1, kK, kV, kO, kSums, kScale, kHidden, kFirstVirtual };

/// Of sequences, heads, rows and elements.
std::vector<std::int64_t> strides_of(Problem const& p, device::MatrixView const& tensor,
                                     std::int64_t heads, std::int64_t rows) {
  Steps const steps = steps_of(p, tensor, rows);
  return {heads * rows * p.shape.head_size, steps.head, steps.row, 1};
}

/// The graph of single operations.
class Composite {
 public:
  Composite(Problem const& p, cudnnHandle_t handle)
      : x_{p.shape}, type_{cudnn::data_type(p.q.type)} {
    auto const of_head = [&](Tensor id, device::MatrixView const& tensor, std::int64_t heads,
                             std::int64_t rows) -> Descriptor const& {
      return graph_.add_tensor({.id = id,
                                .type = type_,
                                .extents = {x_.batch, heads, rows, x_.head_size},
                                .strides = strides_of(p, tensor, heads, rows)});
    };
    Descriptor const& q = of_head(kQ, p.q, x_.heads, x_.queries);
    std::vector<std::int64_t> const rows = strides_of(p, p.k, x_.kv_heads, x_.keys);
    Descriptor const& k =
        graph_.add_tensor({.id = kK,
                           .type = type_,
                           .extents = {x_.batch, x_.kv_heads, x_.head_size, x_.keys},
                           .strides = {rows[0], rows[1], 1, rows[2]}});
    Descriptor const& v = of_head(kV, p.v, x_.kv_heads, x_.keys);
    Descriptor const& o = of_head(kO, p.o, x_.heads, x_.queries);
    Descriptor const& sums = graph_.add_tensor({.id = kSums,
                                                .extents = {x_.batch, x_.heads, x_.queries, 1},
                                                .strides = strides(x_.heads, x_.queries, 1)});

    Descriptor const* scores = &of_pairs(CUDNN_DATA_FLOAT);
    multiply(q, k, *scores);
    scores = &pointwise(CUDNN_POINTWISE_MUL, CUDNN_DATA_FLOAT, *scores, &number(kScale));
    if (x_.mask == Mask::causal) {
      Descriptor const& row = index(*scores, 2);
      Descriptor const& column = index(*scores, 3);
      Descriptor const& sees = pointwise(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row, &column);
      Descriptor const& masked = of_pairs(CUDNN_DATA_FLOAT);
      operate(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, *scores, &number(kHidden), &sees,
              masked);
      scores = &masked;
    }
    Descriptor const& largest = reduce(CUDNN_REDUCE_TENSOR_MAX, *scores);
    Descriptor const& below = pointwise(CUDNN_POINTWISE_SUB, CUDNN_DATA_FLOAT, *scores, &largest);
    Descriptor const& weights = pointwise(CUDNN_POINTWISE_EXP, CUDNN_DATA_FLOAT, below, nullptr);
    Descriptor const& total = reduce(CUDNN_REDUCE_TENSOR_ADD, weights);
    Descriptor const& logarithm = of_rows();
    operate(CUDNN_POINTWISE_LOG, CUDNN_DATA_FLOAT, total, nullptr, nullptr, logarithm);
    operate(CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, largest, &logarithm, nullptr, sums);
    Descriptor const& shares = of_pairs(type_);
    operate(CUDNN_POINTWISE_DIV, CUDNN_DATA_FLOAT, weights, &total, nullptr, shares);
    multiply(shares, v, o);
    graph_.finalize(handle);
  }
  cudnn::Graph take() { return std::move(graph_); }

 private:
  static std::vector<std::int64_t> strides(std::int64_t heads, std::int64_t rows,
                                           std::int64_t columns) {
    return {heads * rows * columns, rows * columns, columns, 1};
  }
  Descriptor const& of_pairs(cudnnDataType_t type) {
    return graph_.add_tensor({.id = next_++,
                              .type = type,
                              .extents = {x_.batch, x_.heads, x_.queries, x_.keys},
                              .strides = strides(x_.heads, x_.queries, x_.keys),
                              .is_virtual = true});
  }
  Descriptor const& of_rows() {
    return graph_.add_tensor({.id = next_++,
                              .extents = {x_.batch, x_.heads, x_.queries, 1},
                              .strides = strides(x_.heads, x_.queries, 1),
                              .is_virtual = true});
  }
  Descriptor const& number(Tensor id) {
    return graph_.add_tensor(
        {.id = id, .extents = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}, .is_by_value = true});
  }
  void multiply(Descriptor const& a, Descriptor const& b, Descriptor const& c) {
    Descriptor product{CUDNN_BACKEND_MATMUL_DESCRIPTOR};
    product.set<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                                 {CUDNN_DATA_FLOAT});
    Descriptor operation{CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR};
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, graph_.add_part(std::move(product)));
    graph_.add_operation(std::move(operation));
  }
  void operate(cudnnPointwiseMode_t mode, cudnnDataType_t type, Descriptor const& x,
               Descriptor const* b, Descriptor const* t, Descriptor const& y,
               std::vector<std::int64_t> const& axis = {}) {
    Descriptor function{CUDNN_BACKEND_POINTWISE_DESCRIPTOR};
    function.set<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
                                       {mode});
    function.set<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, {type});
    if (!axis.empty()) function.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
    Descriptor operation{CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR};
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                  graph_.add_part(std::move(function)));
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    if (t != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    graph_.add_operation(std::move(operation));
  }
  Descriptor const& pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t type, Descriptor const& x,
                              Descriptor const* b) {
    Descriptor const& y = of_pairs(type);
    operate(mode, type, x, b, nullptr, y);
    return y;
  }
  /// The row or column of a score.
  Descriptor const& index(Descriptor const& scores, std::int64_t axis) {
    Descriptor const& y = of_pairs(CUDNN_DATA_INT32);
    operate(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, scores, nullptr, nullptr, y, {axis});
    return y;
  }
  Descriptor const& reduce(cudnnReduceTensorOp_t mode, Descriptor const& x) {
    Descriptor const& y = of_rows();
    Descriptor reduction{CUDNN_BACKEND_REDUCTION_DESCRIPTOR};
    reduction.set<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                                   {CUDNN_DATA_FLOAT});
    reduction.set<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR,
                                         CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, {mode});
    Descriptor operation{CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR};
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, graph_.add_part(std::move(reduction)));
    graph_.add_operation(std::move(operation));
    return y;
  }

  Shape x_;
  cudnnDataType_t type_;
  cudnn::Graph graph_;
  std::int64_t next_ = kFirstVirtual;
};

#if CUDNN_VERSION >= 91301
constexpr std::size_t kFirstWithOneOperation = 91301;

/// The graph of the one operation.
cudnn::Graph of_one_operation(Problem const& p, cudnnHandle_t handle) {
  Shape const& x = p.shape;
  cudnn::Graph graph;
  auto const tensor = [&](Tensor id, device::MatrixView const& view, std::int64_t heads,
                          std::int64_t rows) -> Descriptor const& {
    return graph.add_tensor({.id = id,
                             .type = cudnn::data_type(p.q.type),
                             .extents = {x.batch, heads, rows, x.head_size},
                             .strides = strides_of(p, view, heads, rows)});
  };
  Descriptor operation{CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR};
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor(kQ, p.q, x.heads, x.queries));
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor(kK, p.k, x.kv_heads, x.keys));
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor(kV, p.v, x.kv_heads, x.keys));
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor(kO, p.o, x.heads, x.queries));
  operation.set(
      CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC,
      graph.add_tensor(
          {.id = kScale, .extents = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}, .is_by_value = true}));
  graph.add_operation(std::move(operation));
  graph.finalize(handle);
  return graph;
}
#endif

std::vector<cudnn::Graph> graphs_of(Problem const& p, cudnnHandle_t handle) {
  std::vector<cudnn::Graph> graphs;
  graphs.push_back(Composite{p, handle}.take());
#if CUDNN_VERSION >= 91301
  bool const has_one = cudnn::Library::instance().version() >= kFirstWithOneOperation;
  if (has_one && p.shape.mask == Mask::full) graphs.push_back(of_one_operation(p, handle));
#endif
  return graphs;
}

/// What decides which plan is the fastest.
using Key = std::array<std::int64_t, 12>;
Key key_of(Problem const& p) {
  Shape const& x = p.shape;
  return {x.batch,
          x.heads,
          x.kv_heads,
          x.queries,
          x.keys,
          x.head_size,
          static_cast<std::int64_t>(x.mask),
          static_cast<std::int64_t>(p.q.type),
          p.q.ld,
          p.k.ld,
          p.v.ld,
          p.o.ld};
}

cudnn::Choices<Key>& choices() {
  static auto* const choices = new cudnn::Choices<Key>;
  return *choices;
}

cudnn::Search const& search() {
  static cudnn::Search const search{
      .row = "attention/vendor", .what = "attention", .has_fallback = false};
  return search;
}

/// Of what the graphs of a problem refer to, in memory and by value.
class Operands {
 public:
  explicit Operands(Problem const& p) : p_{p}, scale_{static_cast<float>(p.shape.scale())} {}
  cudnn::Addresses addresses() {
    return [this](std::int64_t id) -> void* {
      switch (id) {
        case kQ: return p_.q.data;
        case kK: return p_.k.data;
        case kV: return p_.v.data;
        case kO: return p_.o.data;
        case kSums: return p_.scratch;
        case kScale: return &scale_;
        default: return &hidden_;
      }
    };
  }

 private:
  Problem const& p_;
  float scale_, hidden_ = -std::numeric_limits<float>::infinity();
};

void launch(Problem const& p, device::StreamView stream) {
  if (p.o.rows == 0) return;
  Operands operands{p};
  cudnn::Addresses const address = operands.addresses();
  cudnn::Choice& choice = choices().of(key_of(p), stream, [&] {
    cudnnHandle_t const handle = cudnn::Library::instance().handle(stream);
    return cudnn::choose(graphs_of(p, handle), address, search(), stream);
  });
  cudnn::launch(choice, address, stream);
}

std::string implementation(Problem const& p) { return cudnn::text_of(choices().find(key_of(p))); }

bool drop_call(Problem const& p) { return choices().drop(key_of(p)); }

double searched_seconds(Problem const& p) { return cudnn::seconds_of(choices().find(key_of(p))); }

void attend_afresh(Problem const& p, device::StreamView stream) {
  if (p.o.rows == 0) return;
  auto const handle = cudnn::Library::instance().fresh_handle(stream);
  cudnn::run_first(graphs_of(p, handle.get()), Operands{p}.addresses(), search(), handle.get(),
                   stream);
}

#endif

std::string unsupported(Problem const& p) {
  std::string const why_absent = cudnn::why_absent();
  if (!why_absent.empty()) return why_absent;
  Shape const& x = p.shape;
  if (x.keys == 0) return "takes at least one key";
  // Where they differ cuDNN counts from the first query, or reads memory that is not there.
  if (x.mask == Mask::causal && x.queries != x.keys) {
    return "takes as many queries as keys under a causal mask";
  }
  return {};
}

}  // namespace

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = {.alignment = 16, .other = "cuDNN 9; causal: as many queries as keys"},
     .source = "cuDNN",
     .summary = "the fastest plan that cuDNN's heuristics name"},
    QUAD_CUDNN_LAUNCH(launch),
    {.unsupported = unsupported,
     .scratch_bytes = scratch_bytes,
     .implementation = QUAD_CUDNN_LAUNCH(implementation)}};

extern constinit Library<Problem> const cudnn_library{
    .plain = QUAD_CUDNN_LAUNCH(attend_afresh),
    .seconds = QUAD_CUDNN_LAUNCH(searched_seconds),
    .drop = QUAD_CUDNN_LAUNCH(drop_call)};

}  // namespace quadrille::kernels::attention
