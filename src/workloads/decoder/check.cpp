// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/decoder/check.hpp"

#include "workloads/checks/attention.hpp"
#include "workloads/checks/rowwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace quadrille::workloads::decoder {

using kernels::rowwise::Action;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// All of a small matrix.
std::vector<float> read_block(device::MatrixView const& view, device::StreamView stream) {
  std::vector<float> values;
  core::visit_type(view.type, [&](auto zero) {
    for (auto const x : download<decltype(zero)>(view, stream)) {
      values.push_back(static_cast<float>(x));
    }
  });
  return values;
}

}  // namespace

StepCheck::StepCheck(Shape const& shape, Step const& step, core::Case const& spec,
                     comm::World const& world, std::vector<float> const& cos_sin,
                     std::vector<int> owners)
    : shape_{shape},
      step_{step},
      case_{spec},
      world_{world},
      cos_sin_{cos_sin},
      owners_{std::move(owners)} {
  std::int64_t const most = spec.check == core::Check::full ? 256 : 5, n = step.rows();
  std::int64_t const stride = (n + most - 1) / most;
  // One of each stretch, and the last: there a request ends.
  for (std::int64_t first = 0; first < n; first += stride) {
    std::uint64_t const drawn = core::mix(spec.seed + static_cast<std::uint64_t>(first));
    rows_.push_back(std::min(
        n - 1, first + static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(stride))));
  }
  if (rows_.back() != n - 1) rows_.push_back(n - 1);
}

StepCheck::Values StepCheck::read(device::MatrixView const& tensor) const {
  Values values;
  for (std::int64_t const row : rows_) {
    values.push_back(read_block(tensor.block(row, 0, 1, tensor.cols), world_.stream()));
  }
  return values;
}

/// Of a sum over ranks, or of what is added to it.
StepCheck::Values StepCheck::read_sums(device::MatrixView const& tensor) const {
  Values values = read(tensor);
  for (std::size_t i = 0; i < values.size() && !owners_.empty(); ++i) {
    if (owners_[at(rows_[i])] != world_.rank()) values[i].clear();
  }
  return values;
}

/// Of a norm: the gain, and the bias behind it.
std::vector<float> StepCheck::weights_of(Source const& source) const {
  std::vector<float> weights(at(shape_.hidden));
  read_row(source, case_.type, 0, weights);
  if (shape_.is_llama()) return weights;
  std::vector<float> bias(at(shape_.hidden));
  read_row(source, case_.type, 1, bias);
  weights.insert(weights.end(), bias.begin(), bias.end());
  return weights;
}

/// Each element of the judged rows; wanted(i) is right for the i-th of them.
template <class Wanted>
void StepCheck::judge_rows(std::string const& name, Values const& got, Wanted const& wanted) {
  finding_.add(judge_all(world_, std::ssize(got), 1, [&](Finding& finding, std::int64_t i) {
    std::vector<Expected> const row = wanted(at(i));
    for (std::size_t j = 0; j < row.size(); ++j) {
      finding.check(row[j], double{got[at(i)][j]}, [&] {
        return fmt::format("{} ({}, {}) on rank {}", name, rows_[at(i)], j, world_.rank());
      });
    }
  }));
}

void StepCheck::judge_sum(std::string const& name, Values const& x, Values const& residual,
                          Values const& sum) {
  judge_rows(name, sum, [&](std::size_t i) { return expected_sum(x[i], residual[i], case_.type); });
}

void StepCheck::judge_norm(std::string const& name, Values const& own_sum, Source const& source,
                           Values const& normed) {
  Values const sum = owners_.empty() ? own_sum : of_all_ranks(own_sum);
  std::vector<float> const weights = weights_of(source);
  Action const norm = shape_.is_llama() ? Action::rms_norm : Action::layer_norm;
  judge_rows(name, normed, [&](std::size_t i) {
    return expected_norm(norm, sum[i], false, weights, case_.type);
  });
}

/// Rows of which each rank of the model has a part, or one all: whole ones.
StepCheck::Values StepCheck::of_all_ranks(Values const& own) const {
  if (shape_.parts == 1) return own;
  std::string sent;
  for (std::vector<float> const& row : own) {
    std::size_t const bytes = row.size() * sizeof(float);
    sent.append(reinterpret_cast<char const*>(&bytes), sizeof(bytes));
    sent.append(reinterpret_cast<char const*>(row.data()), bytes);
  }
  Values whole(own.size());
  for (std::string const& received : world_.group().all_gather(sent)) {
    char const* from = received.data();
    for (std::vector<float>& row : whole) {
      std::size_t bytes = 0;
      std::memcpy(&bytes, from, sizeof(bytes));
      std::vector<float> part(bytes / sizeof(float));
      if (bytes > 0) std::memcpy(part.data(), from + sizeof(bytes), bytes);
      from += sizeof(bytes) + bytes;
      row.insert(row.end(), part.begin(), part.end());
    }
  }
  return whole;
}

/// The whole model's rows of a weight behind a rank's columns of its product: of q, k and v each, and of llama's
/// gates and factors, the columns of all ranks stand side by side in the order of the ranks. Stated here once
/// more: by rows_of(), which divided the weights, a wrong division would be right.
std::vector<WeightRows> StepCheck::rows_behind(Weight weight) const {
  std::int64_t const kv = shape_.of_kv();
  std::vector<std::int64_t> widths{shape_.of_q(), kv, kv};
  if (weight == kUp) widths.assign(shape_.is_llama() ? 2 : 1, shape_.mlp);
  std::int64_t const rank = shape_.parts == 1 ? 0 : world_.rank();
  std::vector<WeightRows> all;
  std::int64_t first = 0;
  for (std::int64_t const width : widths) {
    all.push_back({first, width, first * shape_.parts + rank * width});
    first += width;
  }
  return all;
}

void StepCheck::judge_product(std::string const& name, Values const& a, Source const& source,
                              Weight weight, Values const& c) {
  bool const is_joint = weight == kOut || weight == kDown;
  if (is_joint) {
    judge_product(name, rows_, a, source, {{0, shape_.hidden, 0}}, shape_.parts, c);
  } else {
    judge_product(name, rows_, a, source, rows_behind(weight), 1, c);
  }
}

void StepCheck::judge_product(std::string const& name, std::span<std::int64_t const> tokens,
                              Values const& a, Source const& source,
                              std::vector<WeightRows> const& weights, std::int64_t parts,
                              Values const& c) {
  auto const k = static_cast<std::int64_t>(a.front().size());
  double const alpha = alpha_of(k);
  kernels::gemm::ErrorBound const bound{case_.type, core::compute_for(case_.type), k, parts};
  // What ranks round before it is added up may be five times as large as is usual, and cancel.
  double const of_parts = parts > 1
                              ? 2.5 * core::epsilon_of(case_.type) *
                                    std::sqrt(static_cast<double>(parts) / static_cast<double>(k))
                              : 0;
  auto const norm_of = [](std::vector<float> const& values) {
    double squares = 0;
    for (double const x : values) squares += x * x;
    return std::sqrt(squares);
  };
  std::vector<double> norms;
  for (std::vector<float> const& row : a) norms.push_back(norm_of(row));
  for (WeightRows const& rows : weights) {
    auto const judge = [&](Finding& finding, std::int64_t at_row) {
      std::int64_t const j = rows.first + at_row;
      std::vector<float> b(at(k));
      read_row(source, case_.type, rows.global_row + at_row, b);
      double const norm = norm_of(b);
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (c[i].empty()) continue;
        double sum = 0;
        for (std::size_t l = 0; l < b.size(); ++l) sum += double{a[i][l]} * double{b[l]};
        double const ab = alpha * norms[i] * norm;
        finding.check(
            {alpha * sum, bound(ab, alpha * sum, 0) + of_parts * ab}, double{c[i][at(j)]}, [&] {
              return fmt::format("{} ({}, {}) on rank {}", name, tokens[i], j, world_.rank());
            });
      }
    };
    finding_.add(judge_all(world_, rows.count, check_stride(case_), judge));
    Finding last;
    judge(last, rows.count - 1);
    finding_.add(last);
  }
}

/// The slots of judged tokens, bit by bit, and that those before and behind them are as they were.
void StepCheck::judge_cache(std::string const& name, device::MatrixView const& pool,
                            Values const& tokens, std::optional<Source> const& before) {
  std::int64_t const d = shape_.head_size;
  kernels::kv_cache::Shape const cache{
      .kv_heads = shape_.kv_heads, .head_size = d, .block_size = shape_.block_size};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::int64_t const request = step_.request_of(rows_[i]),
                       position = step_.positions[at(rows_[i])],
                       length = step_.lengths[at(request)],
                       end = step_.blocks_of(length) * shape_.block_size;
    // Others have what they had: of a prefill those alone that no token of the request has.
    std::int64_t const first_other = shape_.phase == Phase::prefill ? length : 0;
    for (std::int64_t head = 0; head < shape_.kv_heads; ++head) {
      for (std::int64_t const token : {position - 1, position, position + 1}) {
        bool const is_new = token == position;
        if (!is_new && (!before || token < first_other || token >= end)) continue;
        std::int64_t const row = cache.row_of(step_.slot_of(request, token), head);
        std::vector<float> const got = read_block(pool.block(row, 0, 1, d), world_.stream());
        std::vector<float> want(at(d));
        if (is_new) {
          std::copy_n(tokens[i].begin() + head * d, d, want.begin());
        } else {
          read_row(*before, case_.type, row, want);
        }
        for (std::size_t e = 0; e < want.size(); ++e) {
          finding_.check({want[e], std::numeric_limits<double>::min()}, double{got[e]}, [&] {
            return fmt::format("{} of token {} of request {}, head {}, element {} on rank {}", name,
                               token, request, head, e, world_.rank());
          });
        }
      }
    }
  }
}

void StepCheck::judge_attention(std::string const& name, Tensors const& tensors,
                                LayerSources const& sources, Values const& q, Values const& o) {
  std::int64_t const d = shape_.head_size, group = shape_.heads / shape_.kv_heads;
  kernels::kv_cache::Shape const cache{
      .kv_heads = shape_.kv_heads, .head_size = d, .block_size = shape_.block_size};
  kernels::attention::ErrorBound const bound{case_.type};
  device::MatrixView const new_k = k_of(shape_, tensors), new_v = v_of(shape_, tensors);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::int64_t const request = step_.request_of(rows_[i]), first = step_.first_rows[at(request)],
                       n = step_.positions[at(rows_[i])] + 1, of_new = rows_[i] - first + 1;
    std::vector<float> const k_of_new =
        read_block(new_k.block(first, 0, of_new, shape_.of_kv()), world_.stream());
    std::vector<float> const v_of_new =
        read_block(new_v.block(first, 0, of_new, shape_.of_kv()), world_.stream());
    finding_.add(judge_all(world_, shape_.kv_heads, 1, [&](Finding& finding, std::int64_t head) {
      std::vector<float> k(at(n * d)), v(at(n * d));
      for (std::int64_t t = 0; t < n; ++t) {
        std::span const key{&k[at(t * d)], at(d)}, value{&v[at(t * d)], at(d)};
        if (t < n - of_new) {
          std::int64_t const row = cache.row_of(step_.slot_of(request, t), head);
          read_row(*sources.k_pool, case_.type, row, key);
          read_row(*sources.v_pool, case_.type, row, value);
        } else {
          std::int64_t const from = (t - (n - of_new)) * shape_.of_kv() + head * d;
          std::copy_n(k_of_new.begin() + from, d, key.begin());
          std::copy_n(v_of_new.begin() + from, d, value.begin());
        }
      }
      Largest const largest = largest_of(k, v, d);
      for (std::int64_t h = head * group; h < (head + 1) * group; ++h) {
        std::span const query{&q[i][at(h * d)], at(d)};
        std::vector<Expected> const want =
            attended(query, k.data(), v.data(), n, d, largest, bound);
        for (std::int64_t e = 0; e < d; ++e) {
          finding.check(want[at(e)], double{o[i][at(h * d + e)]}, [&] {
            return fmt::format("{} ({}, {}) on rank {}", name, rows_[i], h * d + e, world_.rank());
          });
        }
      }
    }));
  }
}

void StepCheck::judge_input(
    device::MatrixView const& sum,
    std::function<std::vector<Expected>(std::int64_t token)> const& wanted) {
  judge_rows("input", read(sum), [&](std::size_t i) { return wanted(rows_[i]); });
}

void StepCheck::judge_layer(Tensors const& t, LayerSources const& sources) {
  auto const named = [&](char const* tensor) {
    return fmt::format("{} of layer {}", tensor, layer_);
  };
  std::int64_t const of_q = shape_.of_q(), of_kv = shape_.of_kv();
  Values const sum = read_sums(t.sum);
  if (layer_ > 0) judge_sum(named("sum"), second_sum_, down_, sum);
  Values const normed = read(t.normed), qkv = read(t.qkv), o = read(t.o),
               attended = read_sums(t.attended), second_sum = read_sums(t.second_sum),
               second_normed = read(t.second_normed), up = read(t.up), active = read(t.active),
               down = read_sums(t.down);
  judge_norm(named("norm"), sum, sources.weights[kFirstNorm], normed);
  judge_product(named("qkv"), normed, sources.weights[kQkv], kQkv, qkv);
  auto const columns = [&](std::int64_t first, std::int64_t count) {
    Values part;
    for (std::vector<float> const& row : qkv) {
      part.emplace_back(row.begin() + first, row.begin() + first + count);
    }
    return part;
  };
  Values q = columns(0, of_q), k = columns(of_q, of_kv);
  if (shape_.is_llama()) {
    auto const turned = [&](Values const& x) {
      return [&](std::size_t i) {
        auto const d = at(shape_.head_size);
        return expected_rotary(x[i], cos_sin_.subspan(at(step_.positions[at(rows_[i])]) * d, d),
                               case_.type);
      };
    };
    Values const q_there = read(q_of(shape_, t)), k_there = read(k_of(shape_, t));
    judge_rows(named("q"), q_there, turned(q));
    judge_rows(named("k"), k_there, turned(k));
    q = q_there;
    k = k_there;
  }
  judge_cache(named("k"), t.k_pool, k, sources.k_pool);
  judge_cache(named("v"), t.v_pool, columns(of_q + of_kv, of_kv), sources.v_pool);
  judge_attention(named("o"), t, sources, q, o);
  judge_product(named("attended"), of_all_ranks(o), sources.weights[kOut], kOut, attended);
  judge_sum(named("second sum"), sum, attended, second_sum);
  judge_norm(named("second norm"), second_sum, sources.weights[kSecondNorm], second_normed);
  judge_product(named("up"), second_normed, sources.weights[kUp], kUp, up);
  judge_rows(named("active"), active, [&](std::size_t i) {
    return expected_activation(shape_.is_llama() ? Action::swiglu : Action::gelu, up[i],
                               case_.type);
  });
  judge_product(named("down"), of_all_ranks(active), sources.weights[kDown], kDown, down);
  second_sum_ = second_sum;
  down_ = down;
  ++layer_;
}

void StepCheck::judge_last_norm(Source const& weights, device::MatrixView const& sum,
                                device::MatrixView const& normed) {
  Values const sums = read_sums(sum);
  judge_sum("last sum", second_sum_, down_, sums);
  judge_norm("last norm", sums, weights, read(normed));
}

void StepCheck::judge_logits(device::MatrixView const& normed, std::int64_t first_row,
                             Source const& words, device::MatrixView const& logits) {
  std::vector<std::int64_t> tokens;
  Values a, c;
  for (std::int64_t const token : rows_) {
    if (token < first_row) continue;
    tokens.push_back(token);
    auto const row = [&](device::MatrixView const& view, std::int64_t i) {
      return read_block(view.block(i, 0, 1, view.cols), world_.stream());
    };
    a.push_back(row(normed, token));
    c.push_back(row(logits, token - first_row));
  }
  judge_product("logits", tokens, a, words, {{0, logits.cols, 0}}, 1, c);
}

}  // namespace quadrille::workloads::decoder
