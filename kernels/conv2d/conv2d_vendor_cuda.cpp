// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution by cuDNN: the bar on a GPU.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    the graph of one convolution, for which the first launch of a shape times what the
///              library's heuristics name, the likeliest first for some seconds, and keeps the fastest.
///              Not engines that read inputs with fewer bits than asked, that add up in fewer, or by
///              FFT or large Winograd tiles, whose rounding errors are no longer those of a sum of
///              products
/// Shapes       nchw or nhwc, any extents, by strides
/// Work         2 n k p q (c / groups) r s flop, by Winograd fewer
/// Launch       one handle per stream; up to 2 GiB of workspace for the search, and what the fastest
///              needs for good. The first launch of a shape waits for the stream: the runner's first
///              run. It cannot be recorded
/// Accuracy     that of the library; eps (sqrt(c r s) + 2) w for random data
#include "conv2d/conv2d_library.hpp"
#include "vendor/cudnn.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace quadrille::kernels::conv2d {
namespace {

#ifdef QUADRILLE_CUDNN

using cudnn::Descriptor;

enum Tensor : std::int64_t { kX = 1, kW = 2, kY = 3 };

/// The graph of a problem. Extents are those of nchw, strides tell of the layout.
cudnn::Graph graph_of(Problem const& p, cudnnHandle_t handle) {
  using Two = std::vector<std::int64_t>;
  cudnn::Graph graph;
  auto const tensor = [&](Tensor id, device::MatrixView const& view,
                          std::vector<std::int64_t> const& extents) -> Descriptor const& {
    std::int64_t const c = extents[1], h = extents[2], w = extents[3];
    std::vector<std::int64_t> strides{c * h * w, h * w, w, 1};
    if (p.layout == DataLayout::nhwc) strides = {c * h * w, 1, w * c, c};
    return graph.add_tensor({.id = id,
                             .type = cudnn::data_type(view.type),
                             .extents = extents,
                             .strides = strides,
                             .alignment = cudnn::alignment_of(view)});
  };
  Shape const& z = p.shape;
  Descriptor const& x = tensor(kX, p.x, {z.n, z.c, z.h, z.w});
  Descriptor const& w = tensor(kW, p.w, {z.k, z.group_channels(), z.r, z.s});
  Descriptor const& y = tensor(kY, p.y, {z.n, z.k, z.out_h(), z.out_w()});

  Descriptor convolution{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR};
  convolution.set<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                                   {CUDNN_DATA_FLOAT});
  convolution.set<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                                          CUDNN_TYPE_CONVOLUTION_MODE, {CUDNN_CROSS_CORRELATION});
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
                  std::vector<std::int64_t>{2});
  auto const both = [&](cudnnBackendAttributeName_t name, std::int64_t value) {
    convolution.set(name, CUDNN_TYPE_INT64, Two{value, value});
  };
  both(CUDNN_ATTR_CONVOLUTION_DILATIONS, z.dilation);
  both(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, z.stride);
  both(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, z.padding);
  both(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, z.padding);

  Descriptor operation{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR};
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                graph.add_part(std::move(convolution)));
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  operation.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1});
  operation.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, {0});
  graph.add_operation(std::move(operation));
  graph.finalize(handle);
  return graph;
}

/// Whether an engine rounds as a sum of products in the asked type does.
bool is_full_precision(Descriptor const& engine, Problem const& p) {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  notes.resize(static_cast<std::size_t>(
      engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes)));
  bool const is_f32 = p.x.type == core::DataType::f32 &&
                      core::compute_for(p.x.type, p.compute) == core::Compute::f32;
  return std::ranges::none_of(notes, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return is_f32;  // which multiply f32 in tf32
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return is_f32 || p.x.type != core::DataType::f32;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: return true;
      default: return false;
    }
  });
}

/// Whether the engines may be tried that the heuristics fall back on. Some read 16 bytes at a time all
/// the same, which ends the process: where an array does not begin at a multiple of them, and those of
/// tf32 (engine 71 of cuDNN 9) where its lines do not.
bool may_fall_back(Problem const& p) {
  if (std::min({cudnn::alignment_of(p.x), cudnn::alignment_of(p.w), cudnn::alignment_of(p.y)}) < 16)
    return false;
  if (p.x.type != core::DataType::f32 ||
      core::compute_for(p.x.type, p.compute) != core::Compute::tf32) {
    return true;
  }
  Shape const& z = p.shape;
  bool const is_nchw = p.layout == DataLayout::nchw;
  auto const is_whole = [](std::int64_t line) { return line * sizeof(float) % 16 == 0; };
  return is_whole(is_nchw ? z.w : z.c) && is_whole(is_nchw ? z.s : z.group_channels()) &&
         is_whole(is_nchw ? z.out_w() : z.k);
}

/// What decides which plan is the fastest.
using Key = std::array<std::int64_t, 17>;
Key key_of(Problem const& p) {
  Shape const& z = p.shape;
  return {z.n,
          z.c,
          z.h,
          z.w,
          z.k,
          z.r,
          z.s,
          z.stride,
          z.padding,
          z.dilation,
          z.groups,
          static_cast<std::int64_t>(p.layout),
          static_cast<std::int64_t>(p.x.type),
          static_cast<std::int64_t>(core::compute_for(p.x.type, p.compute)),
          cudnn::alignment_of(p.x),
          cudnn::alignment_of(p.w),
          cudnn::alignment_of(p.y)};
}

cudnn::Choices<Key>& choices() {
  static auto* const choices = new cudnn::Choices<Key>;
  return *choices;
}

bool is_empty(Problem const& p) { return p.shape.n == 0 || p.shape.k == 0; }

std::vector<cudnn::Graph> graphs_of(Problem const& p, cudnnHandle_t handle) {
  std::vector<cudnn::Graph> graphs;
  graphs.push_back(graph_of(p, handle));
  return graphs;
}

cudnn::Addresses addresses_of(Problem const& p) {
  return [&p](std::int64_t id) { return id == kX ? p.x.data : id == kW ? p.w.data : p.y.data; };
}

cudnn::Search search_of(Problem const& p) {
  return {.row = "conv2d/vendor",
          .what = "convolution",
          .may_take = [&p](Descriptor const& engine) { return is_full_precision(engine, p); },
          .has_fallback = may_fall_back(p)};
}

void launch(Problem const& p, device::StreamView stream) {
  if (is_empty(p)) return;
  cudnn::Addresses const address = addresses_of(p);
  cudnn::Choice& choice = choices().of(key_of(p), stream, [&] {
    cudnnHandle_t const handle = cudnn::Library::instance().handle(stream);
    return cudnn::choose(graphs_of(p, handle), address, search_of(p), stream);
  });
  cudnn::launch(choice, address, stream);
}

std::string implementation(Problem const& p) { return cudnn::text_of(choices().find(key_of(p))); }

bool drop_call(Problem const& p) { return choices().drop(key_of(p)); }

double searched_seconds(Problem const& p) { return cudnn::seconds_of(choices().find(key_of(p))); }

void convolve_afresh(Problem const& p, device::StreamView stream) {
  if (is_empty(p)) return;
  auto const handle = cudnn::Library::instance().fresh_handle(stream);
  cudnn::run_first(graphs_of(p, handle.get()), addresses_of(p), search_of(p), handle.get(), stream);
}

#endif

std::string unsupported(Problem const& p) {
  std::string const why_absent = cudnn::why_absent();
  if (!why_absent.empty()) return why_absent;
  if (p.shape.c == 0) return "takes at least one channel";
  bool const is_tf32 = core::compute_for(p.x.type, p.compute) == core::Compute::tf32;
  char const* const value = std::getenv("NVIDIA_TF32_OVERRIDE");
  if (value == nullptr || p.x.type != core::DataType::f32) return {};
  bool const is_on = std::string_view{value} != "0";
  return is_tf32 == is_on ? "" : "computes in what is asked for; unset NVIDIA_TF32_OVERRIDE";
}

}  // namespace

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {core::DataType::f32,
               {core::DataType::f32, core::Compute::tf32},
               core::DataType::f16,
               core::DataType::bf16},
     .needs = {.other = "cuDNN 9, an environment without TF32 for all"},
     .source = "cuDNN",
     .summary = "the fastest plan that cuDNN's heuristics name"},
    QUAD_CUDNN_LAUNCH(launch),
    {.unsupported = unsupported,
     .implementation = QUAD_CUDNN_LAUNCH(implementation),
     .notes = {.workspace_bytes = cudnn::kMaxWorkspace}}};

extern constinit Library<Problem> const cudnn_library{
    .plain = QUAD_CUDNN_LAUNCH(convolve_afresh),
    .seconds = QUAD_CUDNN_LAUNCH(searched_seconds),
    .drop = QUAD_CUDNN_LAUNCH(drop_call)};

}  // namespace quadrille::kernels::conv2d
