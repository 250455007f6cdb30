// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/decoder/layer.hpp"

#include "device/device.hpp"
#include "measure/best_rows.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::workloads::decoder {

using kernels::rowwise::Action;
namespace attention = kernels::attention;
namespace gemm = kernels::gemm;
namespace kv_cache = kernels::kv_cache;
namespace paged_decode = kernels::paged_decode;
namespace rowwise = kernels::rowwise;

namespace {

device::MatrixView tensor(core::DataType type, std::int64_t rows, std::int64_t cols) {
  return {nullptr, type, rows, cols, cols};
}

device::MatrixView columns(device::MatrixView const& whole, std::int64_t first,
                           std::int64_t count) {
  return part(whole, 0, first, whole.rows, count);
}

Action norm_of(Shape const& shape) {
  return shape.is_llama() ? Action::rms_norm : Action::layer_norm;
}

rowwise::Problem norm(Shape const& shape, device::MatrixView const& weights,
                      device::MatrixView const& x, device::MatrixView const& y) {
  device::MatrixView const nothing = tensor(x.type, 0, x.cols);
  return {.action = norm_of(shape),
          .x = x,
          .y = y,
          .residual = nothing,
          .sum = nothing,
          .weights = weights};
}
rowwise::Problem norm_of_sum(Shape const& shape, device::MatrixView const& weights,
                             device::MatrixView const& x, device::MatrixView const& residual,
                             device::MatrixView const& sum, device::MatrixView const& y) {
  rowwise::Problem p = norm(shape, weights, x, y);
  p.residual = residual;
  p.sum = sum;
  return p;
}

gemm::Problem product(device::MatrixView const& a, device::MatrixView const& weights,
                      device::MatrixView const& c, std::int64_t parts = 1) {
  return {.a = a,
          .b = weights,
          .c = c,
          .alpha = alpha_of(parts * a.cols),
          .transpose_b = true,
          .has_early_b = true};
}

}  // namespace

device::MatrixView part(device::MatrixView const& whole, std::int64_t row, std::int64_t col,
                        std::int64_t rows, std::int64_t cols) {
  if (whole.data != nullptr) return whole.block(row, col, rows, cols);
  return {nullptr, whole.type, rows, cols, whole.ld};
}

std::vector<device::MatrixView*> Tensors::written(bool is_first) {
  std::vector<device::MatrixView*> all{&normed,     &qkv,           &turned, &o,      &attended,
                                       &second_sum, &second_normed, &up,     &active, &down};
  if (!is_first) all.push_back(&sum);
  std::erase_if(all, [](device::MatrixView const* view) { return view->rows == 0; });
  return all;
}

std::int64_t Attending::rows() const {
  std::int64_t sum = singles;
  for (Chunk const& chunk : chunks) sum += chunk.tokens;
  return sum;
}

Attending attending(Shape const& shape, Step const& step) {
  if (shape.phase == Phase::decode) {
    return {.singles = shape.requests, .tokens = step.tokens, .longest = step.longest};
  }
  Attending all;
  for (std::size_t r = 0; r < step.lengths.size(); ++r) {
    all.chunks.push_back({.first_row = step.first_rows[r], .tokens = step.lengths[r]});
  }
  return all;
}

device::MatrixView q_of(Shape const& shape, Tensors const& t) {
  return columns(shape.is_llama() ? t.turned : t.qkv, 0, shape.of_q());
}
device::MatrixView k_of(Shape const& shape, Tensors const& t) {
  return columns(shape.is_llama() ? t.turned : t.qkv, shape.of_q(), shape.of_kv());
}
device::MatrixView v_of(Shape const& shape, Tensors const& t) {
  return columns(t.qkv, shape.of_q() + shape.of_kv(), shape.of_kv());
}

Tensors unallocated(Shape const& shape, std::int64_t n, std::int64_t blocks, core::DataType type) {
  std::int64_t const norms = shape.is_llama() ? 1 : 2;
  auto const of_tokens = [&](std::int64_t cols) { return tensor(type, n, cols); };
  Tensors t{.weights = {
                tensor(type, norms, shape.hidden), tensor(type, shape.of_qkv(), shape.hidden),
                tensor(type, shape.hidden, shape.of_q()), tensor(type, norms, shape.hidden),
                tensor(type, shape.of_up(), shape.hidden), tensor(type, shape.hidden, shape.mlp)}};
  t.k_pool = t.v_pool = tensor(type, blocks * shape.kv_heads * shape.block_size, shape.head_size);
  t.sum = t.normed = t.attended = t.second_sum = t.second_normed = t.down = of_tokens(shape.hidden);
  t.qkv = of_tokens(shape.of_qkv());
  t.o = of_tokens(shape.of_q());
  t.turned = tensor(type, shape.is_llama() ? n : 0, shape.of_q() + shape.of_kv());
  t.up = of_tokens(shape.of_up());
  t.active = of_tokens(shape.mlp);
  return t;
}

std::vector<WeightRows> rows_of(Weight weight, Shape const& x) {
  std::int64_t const of_q = x.of_q(), of_kv = x.of_kv();
  switch (weight) {
    case kQkv:
      return {{0, of_q, x.part * of_q},
              {of_q, of_kv, x.parts * of_q + x.part * of_kv},
              {of_q + of_kv, of_kv, x.parts * (of_q + of_kv) + x.part * of_kv}};
    case kUp:
      if (!x.is_llama()) return {{0, x.mlp, x.part * x.mlp}};
      return {{0, x.mlp, x.part * x.mlp}, {x.mlp, x.mlp, (x.parts + x.part) * x.mlp}};
    case kOut: return {{0, x.hidden, 0, x.part * of_q}};
    case kDown: return {{0, x.hidden, 0, x.part * x.mlp}};
    default: return {{0, x.is_llama() ? 1 : 2, 0}};
  }
}

double alpha_of(std::int64_t k) {
  return std::exp2(std::round(std::log2(3 / std::sqrt(static_cast<double>(k)))));
}

Problems problems_of(Shape const& shape, Attending const& attending, Tensors const& t,
                     Tensors const* before, Places const& places) {
  std::int64_t const d = shape.head_size;
  device::MatrixView const q = q_of(shape, t), k = k_of(shape, t), v = v_of(shape, t);
  Problems p{.first_norm = before == nullptr
                               ? norm(shape, t.weights[kFirstNorm], t.sum, t.normed)
                               : norm_of_sum(shape, t.weights[kFirstNorm], before->second_sum,
                                             before->down, t.sum, t.normed),
             .second_norm = norm_of_sum(shape, t.weights[kSecondNorm], t.sum, t.attended,
                                        t.second_sum, t.second_normed),
             .activation = {.action = shape.is_llama() ? Action::swiglu : Action::gelu,
                            .x = t.up,
                            .y = t.active},
             .products = {product(t.normed, t.weights[kQkv], t.qkv),
                          product(t.o, t.weights[kOut], t.attended, shape.parts),
                          product(t.second_normed, t.weights[kUp], t.up),
                          product(t.active, t.weights[kDown], t.down, shape.parts)}};
  if (shape.is_llama()) {
    p.rotary = {.action = Action::rotary,
                .x = columns(t.qkv, 0, t.turned.cols),
                .y = t.turned,
                .head_size = d,
                .cos_sin = places.cos_sin,
                .positions = places.positions};
  }
  kv_cache::Shape const cache{.kv_heads = shape.kv_heads,
                              .head_size = d,
                              .block_size = shape.block_size,
                              .blocks = t.k_pool.rows / (shape.kv_heads * shape.block_size)};
  auto const of_cache = [&](kv_cache::Action action, std::int64_t count) {
    kv_cache::Problem problem = kv_cache::unallocated(cache, action, count, t.k_pool.type);
    problem.k = t.k_pool;
    problem.v = t.v_pool;
    return problem;
  };
  std::int64_t const written = attending.rows();
  p.write = of_cache(kv_cache::Action::write, written);
  p.write.token_k = part(k, 0, 0, written, k.cols);
  p.write.token_v = part(v, 0, 0, written, v.cols);
  p.write.places = places.slots;
  p.write.places_of_host = places.slots_of_host;
  if (attending.singles > 0) {
    p.decode = paged_decode::unallocated({.sequences = attending.singles,
                                          .heads = shape.heads,
                                          .kv_heads = shape.kv_heads,
                                          .head_size = d,
                                          .block_size = shape.block_size,
                                          .blocks = cache.blocks,
                                          .tokens = attending.tokens,
                                          .longest = attending.longest},
                                         t.k_pool.type);
    p.decode.q.data = q.data;
    p.decode.q_apart = q.ld;
    p.decode.k.data = t.k_pool.data;
    p.decode.v.data = t.v_pool.data;
    p.decode.o.data = t.o.data;
    p.decode.lengths = places.lengths;
    p.decode.table = places.table;
  }
  for (Attending::Chunk const& chunk : attending.chunks) {
    auto const of_chunk = [&](device::MatrixView const& whole) {
      return part(whole, chunk.first_row, 0, chunk.tokens, whole.cols);
    };
    Problems::Chunk problem{.attention = {.shape = {.heads = shape.heads,
                                                    .kv_heads = shape.kv_heads,
                                                    .queries = chunk.tokens,
                                                    .keys = chunk.before + chunk.tokens,
                                                    .head_size = d,
                                                    .mask = attention::Mask::causal},
                                          .q = of_chunk(q),
                                          .k = of_chunk(k),
                                          .v = of_chunk(v),
                                          .o = of_chunk(t.o),
                                          .by_tokens = true}};
    if (chunk.before > 0) {
      std::int64_t const keys = problem.attention.shape.keys;
      problem.read = of_cache(kv_cache::Action::read, keys);
      problem.read.token_k = part(places.chunk_k, 0, 0, keys, shape.of_kv());
      problem.read.token_v = part(places.chunk_v, 0, 0, keys, shape.of_kv());
      problem.read.places = places.slots_of_chunks + chunk.first_slot;
      problem.attention.k = problem.read.token_k;
      problem.attention.v = problem.read.token_v;
    }
    p.chunks.push_back(problem);
  }
  return p;
}

rowwise::Problem last_norm_of(Shape const& shape, Tensors const& last,
                              device::MatrixView const& weights, device::MatrixView const& sum,
                              device::MatrixView const& normed) {
  return norm_of_sum(shape, weights, last.second_sum, last.down, sum, normed);
}

void fill_weight(device::MatrixView const& view, Weight weight, Shape const& shape,
                 Source const& source, comm::World const& world) {
  for (WeightRows const& rows : rows_of(weight, shape)) {
    fill(view.block(rows.first, 0, rows.count, view.cols),
         block_from(rows.global_row, rows.global_column), source, world);
  }
}

void give_scratch(Problems& problems, device::Buffer<std::byte> const& of_products,
                  device::Buffer<std::byte> const& of_attention) {
  for (gemm::Problem& product : problems.products) workloads::give_scratch(product, of_products);
  for (auto& chunk : problems.chunks) workloads::give_scratch(chunk.attention, of_attention);
  workloads::give_scratch(problems.decode, of_attention);
}

comm::Request add_up(comm::Channel& channel, device::MatrixView const& c,
                     device::StreamView stream) {
  comm::Piece const sum{c.data, static_cast<std::size_t>(bytes_of(c))};
  return channel.allreduce({sum.data, sum.bytes}, sum, c.type, comm::ReduceOp::sum, stream);
}

std::size_t fastest_of(Candidates<gemm::Problem> const& candidates, gemm::Problem const& problem,
                       device::StreamView stream) {
  if (candidates.size() < 2) return 0;
  std::vector<kernels::Ranked> const ranked = kernels::rank(
      candidates.size(),
      [&](std::size_t candidate) {
        candidates[candidate]->launch(problem, stream);
        return true;
      },
      stream, measure::BestRows::kEffort);
  return ranked.front().candidate;
}

Rows rows_of(Problems const& problems, kernels::Role role, device::Kind kind,
             device::Facts const& facts, bool invariant) {
  Rows rows;
  auto const find = [&](std::string_view name, auto const& table, auto const& problem,
                        kernels::Role wanted) {
    auto found = rows_taking(table, problem, wanted, kind, facts, invariant);
    if (found.empty() && wanted == kernels::Role::vendor) {
      found = rows_taking(table, problem, kernels::Role::own, kind, facts, invariant);
    }
    if (found.empty() && rows.missing.empty()) {
      rows.missing =
          fmt::format("has no row for its {} in {}{}", name, core::to_text(problems.write.k.type),
                      invariant ? " whose bits do not depend on the batch" : "");
    }
    return found;
  };
  for (std::size_t i = 0; i < kProducts; ++i) {
    rows.products[i] = find(fmt::format("{} product", kProductNames[i]), gemm::variants(),
                            problems.products[i], role);
  }
  rows.first_norm = find("norm", rowwise::variants(), problems.first_norm, role);
  rows.second_norm = find("norm", rowwise::variants(), problems.second_norm, role);
  rows.activation = find("activation", rowwise::variants(), problems.activation, role);
  if (problems.rotary) {
    rows.rotary = find("rotary positions", rowwise::variants(), *problems.rotary, role);
  }
  rows.write = find("writes to the cache", kv_cache::variants(), problems.write, role);
  for (Problems::Chunk const& chunk : problems.chunks) {
    rows.chunks = find("attention", attention::variants(), chunk.attention, role);
    if (chunk.read.count > 0) {
      rows.read = find("reads of the cache", kv_cache::variants(), chunk.read, role);
    }
  }
  if (problems.decode.shape.tokens > 0) {
    // The vendor's has no table of blocks.
    rows.decode = find("attention", paged_decode::variants(), problems.decode,
                       role == kernels::Role::vendor ? kernels::Role::own : role);
  }
  return rows;
}

void attend(Problems const& problems, Rows const& rows, device::StreamView stream) {
  if (problems.decode.shape.tokens > 0) {
    rows.decode.front()->launch(problems.decode, stream);
  }
  for (auto const& [read, attention] : problems.chunks) {
    if (read.count > 0) rows.read.front()->launch(read, stream);
    rows.chunks.front()->launch(attention, stream);
  }
}

void run(Problems const& problems, Rows const& rows, device::StreamView stream,
         std::function<void(Product)> const& multiply_joint, std::function<void()> const& attend,
         std::function<void(Product)> const& multiply_normed) {
  auto const normed = [&](Product product, Candidates<rowwise::Problem> const& norms,
                          rowwise::Problem const& norm) {
    if (multiply_normed) return multiply_normed(product);
    norms.front()->launch(norm, stream);
    rows.products[product].front()->launch(problems.products[product], stream);
  };
  normed(kQkvProduct, rows.first_norm, problems.first_norm);
  if (problems.rotary) rows.rotary.front()->launch(*problems.rotary, stream);
  rows.write.front()->launch(problems.write, stream);
  attend();
  multiply_joint(kOutProduct);
  normed(kUpProduct, rows.second_norm, problems.second_norm);
  rows.activation.front()->launch(problems.activation, stream);
  multiply_joint(kDownProduct);
}

}  // namespace quadrille::workloads::decoder
