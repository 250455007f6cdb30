// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding by cuDNN over a cache without a table: the bar of `contiguous`.
///
///   k, v of a sequence and head side by side
///
/// Technique    cuDNN's attention of one query a sequence to keys that lie side by side. It reads the pool
///              as `contiguous` does, as if its blocks were laid out so
/// Shapes       sequences of one length, a multiple of the block size; groups of heads
/// Work         4 h d flop for each token
/// Launch       as cuDNN's attention; the first one of a shape searches for the fastest plan
/// Accuracy     error_bound() of attention; plans that split the keys join them in any order
#include "attention/attention.hpp"
#include "paged_decode/paged_decode.hpp"
#include "vendor/cudnn.hpp"

namespace quadrille::kernels::attention {
extern Variant<Problem> const vendor_cuda;
}  // namespace quadrille::kernels::attention

namespace quadrille::kernels::paged_decode {
namespace {

attention::Problem attention_of(Problem const& p) {
  Shape const& x = p.shape;
  return {.shape = {.batch = x.sequences,
                    .heads = x.heads,
                    .kv_heads = x.kv_heads,
                    .queries = 1,
                    .keys = x.longest,
                    .head_size = x.head_size},
          .q = p.q,
          .k = p.k,
          .v = p.v,
          .o = p.o,
          .scratch = p.scratch,
          .scratch_bytes = p.scratch_bytes};
}

#ifdef QUADRILLE_CUDNN
void launch(Problem const& p, device::StreamView stream) {
  attention::vendor_cuda.enqueue(attention_of(p), stream);
}
std::string implementation(Problem const& p) {
  return attention::vendor_cuda.specifics.implementation(attention_of(p));
}
#endif

std::size_t scratch_bytes(Problem const& p, device::Facts const& device) {
  return attention::vendor_cuda.specifics.scratch_bytes(attention_of(p), device);
}

std::string unsupported(Problem const& p) {
  Shape const& x = p.shape;
  if (x.latent) return unsupported_latent(p);
  if (p.q_apart > 0) return "takes queries without gaps between sequences";
  bool const is_whole = x.tokens == x.sequences * x.longest && x.longest % x.block_size == 0 &&
                        x.blocks * x.block_size == x.tokens;
  if (!is_whole) {
    return "takes sequences of one length, a multiple of the block size, that share no block";
  }
  return attention::vendor_cuda.specifics.unsupported(attention_of(p));
}

}  // namespace

extern constinit Variant<Problem> const vendor_cuda{
    {.name = "vendor",
     .role = Role::vendor,
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = {.alignment = 16, .other = "cuDNN 9; equal lengths, no block shared by sequences"},
     .any_order = true,
     .source = "cuDNN",
     .summary = "cuDNN's attention over tokens side by side"},
    QUAD_CUDNN_LAUNCH(launch),
    {.unsupported = unsupported,
     .scratch_bytes = scratch_bytes,
     .implementation = QUAD_CUDNN_LAUNCH(implementation)}};

}  // namespace quadrille::kernels::paged_decode
