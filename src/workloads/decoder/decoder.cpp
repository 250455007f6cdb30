// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/decoder/decoder.hpp"

#include "workloads/decoder/check.hpp"
#include "workloads/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace quadrille::workloads::decoder {
namespace {

namespace attention = kernels::attention;
namespace gemm = kernels::gemm;
namespace paged_decode = kernels::paged_decode;
namespace rowwise = kernels::rowwise;
using kernels::Role;
using kernels::VariantInfo;
using kernels::Where;

constexpr kernels::TypeList kTensorTypes{core::DataType::f32, core::DataType::f16,
                                         core::DataType::bf16};

constexpr VariantInfo kReference{.name = "reference",
                                 .role = Role::reference,
                                 .where = Where::host,
                                 .types = kTensorTypes,
                                 .source = "own",
                                 .summary = "each part by its reference"};
constexpr VariantInfo kHostSimd{.name = "host_simd",
                                .where = Where::host,
                                .types = kTensorTypes,
                                .source = "own",
                                .summary =
                                    "each part by this project's row, of products the "
                                    "fastest in a search"};
constexpr VariantInfo kSeparateKernels{.name = "separate_kernels",
                                       .where = Where::cuda,
                                       .types = kTensorTypes,
                                       .source = "own",
                                       .summary =
                                           "each part by a kernel of this project, of "
                                           "products the fastest in a search"};
constexpr VariantInfo kVendor{.name = "vendor",
                              .role = Role::vendor,
                              .where = Where::cuda,
                              .types = kTensorTypes,
                              .source = "cuBLAS, cuBLASLt, cuDNN",
                              .summary =
                                  "products and attention of prompts by the vendor's "
                                  "libraries, what those lack as separate_kernels"};
constexpr VariantInfo kVendorOnHosts{.name = "vendor",
                                     .role = Role::vendor,
                                     .where = Where::host,
                                     .types = {core::DataType::f32},
                                     .source = "BLAS",
                                     .summary = "products by BLAS, the rest as host_simd"};
constexpr std::array kRows{&kReference, &kHostSimd, &kSeparateKernels, &kVendorOnHosts, &kVendor};

std::string conflict(core::Case const& spec) {
  Shape const x{spec};
  if (x.hidden % x.heads != 0) {
    return fmt::format("{} heads do not divide hidden = {}; take a divisor", x.heads, x.hidden);
  }
  std::string error =
      attention::shape_error({.heads = x.heads, .kv_heads = x.kv_heads, .head_size = x.head_size});
  if (!error.empty()) return error;
  error = kernels::kv_cache::shape_error(
      {.kv_heads = x.kv_heads, .head_size = x.head_size, .block_size = x.block_size});
  if (!error.empty()) return error;
  constexpr double kMaxTokens = 0x1p24;  // each has a place that a host draws
  if (static_cast<double>(x.requests) * static_cast<double>(x.tokens) > kMaxTokens) {
    return "there are more than 2^24 tokens; take fewer requests or tokens";
  }
  return elements_conflict(static_cast<double>(x.layers) *
                           (static_cast<double>(x.hidden) *
                            (static_cast<double>(x.of_qkv()) + static_cast<double>(x.of_up()))));
}

/// One step of a decoder: each token goes through all layers. On every rank at once, each with data of its own; or
/// all ranks share a model, and add up what their parts of two products of each layer come to (Shoeybi et al.,
/// Megatron-LM, 2019): each gets the sums of all tokens, or of its share of them, whose norms all gather
/// (Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022).
class Decoder final : public measure::Workload {
 public:
  Decoder(core::Case const& spec, int ranks, int rank, bool is_shared)
      : case_{spec},
        shape_{is_shared ? Shape{spec, ranks, rank} : Shape{spec}},
        step_{shape_, spec.parameters.as<Parameters>().lengths, spec.seed},
        layers_(static_cast<std::size_t>(shape_.layers),
                unallocated(shape_, step_.rows(), step_.blocks, spec.type)),
        ranks_{ranks},
        rank_{rank},
        is_shared_{is_shared},
        is_scattered_{spec.parameters.as<Parameters>().joint == Joint::reduce_scatter},
        under_way_(static_cast<std::size_t>(
            std::min(spec.parameters.as<Parameters>().pieces, step_.rows()))) {
    last_weights_ = layers_.front().weights[kFirstNorm];
    last_sum_ = last_normed_ = layers_.front().normed;
    places_.cos_sin = {nullptr, core::DataType::f32, shape_.is_llama() ? step_.longest : 0,
                       shape_.head_size, shape_.head_size};
    connect();
  }

  measure::Description describe(measure::Selection const&) const override {
    auto const layers = static_cast<double>(shape_.layers),
               rows = static_cast<double>(step_.rows());
    measure::Description d;
    d.amount = is_shared_ ? rows : rows * ranks_;
    d.unit = "token/s";
    double flop = 0, weights = 0;
    for (gemm::Problem const& p : problems_.back().products) {
      flop += gemm::flop(rows, static_cast<double>(p.n()), static_cast<double>(p.k()));
    }
    for (auto const& chunk : problems_.back().chunks) {
      flop += attention::flop(chunk.attention.shape);
    }
    if (shape_.phase == Phase::decode) flop += paged_decode::flop(problems_.back().decode.shape);
    for (device::MatrixView const& view : layers_.back().weights) weights += bytes_of(view);
    auto const of_kv =
        2 *
        static_cast<double>(shape_.of_kv() * static_cast<std::int64_t>(core::size_of(case_.type)));
    // Keys and values: of a decode all are read and some written, of a prefill all are written.
    double const cached =
        of_kv * (static_cast<double>(step_.tokens) + (shape_.phase == Phase::decode ? rows : 0));
    d.flop = layers * flop * ranks_;
    d.device_bytes = (layers * (weights + cached) + 2 * bytes_of(last_normed_)) * ranks_;
    for (auto tensors = layers_; device::MatrixView const* view : all_of(tensors)) {
      d.memory_bytes += bytes_of(*view);
    }
    d.memory_bytes += bytes_of(last_weights_) + 2 * bytes_of(last_sum_) + bytes_of(places_.cos_sin);
    d.host_bytes = 4 * sizeof(float) * static_cast<double>(step_.longest * shape_.of_kv());
    d.extras = {{"read", d.device_bytes, "B/s"}, {"arithmetic", d.flop, "FLOP/s"}};
    if (!is_shared_) return d;
    double const added = bytes_of(layers_.back().down);
    d.traits = {.communicates = true, .has_legs = true, .replicated = true};
    // Two sums of a layer, each of which leaves every rank once and comes back once, as a norm where it was
    // scattered; then the norm of the input is gathered, too.
    d.network_bytes = (4 * layers + (is_scattered_ ? 1 : 0)) * (ranks_ - 1) * added;
    d.traffic = {is_scattered_ ? comm::Operation::reduce_scatter : comm::Operation::allreduce,
                 added / static_cast<double>(pieces())};
    return d;
  }

  std::string unsupported_reason(VariantInfo const& variant,
                                 device::Device const& device) const override {
    if (!shape_.indivisible.empty()) return shape_.indivisible;
    std::string const missing =
        decoder::rows_of(problems_.back(), variant.role, device.kind(), device.facts()).missing;
    return missing.empty() ? "" : missing + "; take another type or other extents";
  }

  double scratch_bytes(measure::Selection const& selected,
                       device::Facts const& device) const override {
    double most = 0;
    for (VariantInfo const* variant : selected) {
      device::Kind const kind =
          variant->where == Where::host ? device::Kind::host : device::Kind::cuda;
      Scratch const needed =
          scratch_of(decoder::rows_of(problems_.front(), variant->role, kind, device), device);
      most = std::max(most, static_cast<double>(needed.of_products + needed.of_attention));
    }
    return most;
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    bool const is_first = memory_.empty();
    if (is_first) allocate(world);
    // Tags differ by rank, so that another rank's data are wrong data; but for what ranks share.
    auto const of_rank = static_cast<std::uint64_t>(rank_ * 16 * (shape_.layers + 1));
    std::uint64_t tag = is_shared_ ? 0 : of_rank;
    auto const of_weights = [&] { return Source{core::DataKind::uniform, seed, tag++}; };
    auto const fill_whole = [&](device::MatrixView const& view, Source const& source) {
      fill(view, whole(view.rows, view.cols), source, world);
    };
    fill_whole(layers_.front().sum, input_ = {case_.data, seed, tag++});
    fill_whole(last_weights_, last_source_ = of_weights());
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (std::size_t w = 0; w < kWeights; ++w) {
        device::MatrixView const& view = layers_[l].weights[w];
        sources_[l].weights[w] = of_weights();
        fill_weight(view, static_cast<Weight>(w), shape_, sources_[l].weights[w], world);
      }
      std::uint64_t const of_pool = tag + (is_shared_ ? of_rank << 16 : 0);
      sources_[l].k_pool = Source{case_.data, seed, of_pool};
      sources_[l].v_pool = Source{case_.data, seed, of_pool + 1};
      fill_whole(layers_[l].k_pool, *sources_[l].k_pool);
      fill_whole(layers_[l].v_pool, *sources_[l].v_pool);
      tag += 2;
    }
    if (is_first) choose(world, selected);
  }

  /// Slots of new tokens, too. Where gathers bring norms there are rows of the input before: wrong ones, whose
  /// products cost as much in a leg without messages.
  void reset(comm::World& world, VariantInfo const& variant) override {
    device::StreamView const stream = world.stream();
    auto const bytes_in = [](device::MatrixView const& view) {
      return static_cast<std::size_t>(bytes_of(view));
    };
    auto const clear = [&](device::MatrixView const& view) {
      stream.fill(view.data, 0xFF, bytes_in(view));
    };
    device::MatrixView const& input = layers_.front().sum;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (device::MatrixView const* view : layers_[l].written(l == 0)) clear(*view);
      for (device::MatrixView const* view : {&layers_[l].normed, &layers_[l].second_normed}) {
        if (is_scattered_) stream.copy(view->data, input.data, bytes_in(*view));
      }
      rows_.at(&variant).write.front()->launch(problems_[l].write, stream);
    }
    clear(last_sum_);
    clear(last_normed_);
  }

  void run(comm::World& world, measure::Leg leg, VariantInfo const& variant) override {
    Rows const& rows = rows_.at(&variant);
    device::StreamView const stream = world.stream();
    for (Problems const& problems : problems_) {
      auto const joint = [&](Product product) {
        multiply_joint(leg, *rows.products[product].front(), problems.products[product], stream);
      };
      auto const normed = [&](Product product) {
        bool const is_first = product == kQkvProduct;
        normalize(leg, *(is_first ? rows.first_norm : rows.second_norm).front(),
                  is_first ? problems.first_norm : problems.second_norm, stream);
        multiply(leg, *rows.products[product].front(), problems.products[product], stream);
      };
      if (leg == measure::Leg::communicate) {
        normed(kQkvProduct);
        joint(kOutProduct);
        normed(kUpProduct);
        joint(kDownProduct);
      } else {
        decoder::run(
            problems, rows, stream, joint, [&] { attend(problems, rows, stream); }, normed);
      }
    }
    normalize(leg, *rows.second_norm.front(), last_norm_, stream);
    finish_exchanges(stream);
  }

  std::string implementation(VariantInfo const& variant) const override {
    auto const found = rows_.find(&variant);
    if (found == rows_.end()) return {};
    std::string text;
    for (std::size_t i = 0; i < kProducts; ++i) {
      text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", kProductNames[i],
                          found->second.products[i].front()->name);
    }
    return text;
  }

  measure::Verdict validate(comm::World& world) override {
    std::vector<int> owners;
    for (std::int64_t piece = 0; piece < pieces() && is_scattered_; ++piece) {
      for (int rank = 0; rank < ranks_; ++rank) {
        owners.insert(owners.end(), static_cast<std::size_t>(share_of(rank, piece).count), rank);
      }
    }
    StepCheck check{shape_, step_, case_, world, cos_sin_, std::move(owners)};
    check.judge_input(layers_.front().sum, [&](std::int64_t token) {
      std::vector<float> x(static_cast<std::size_t>(shape_.hidden));
      read_row(input_, case_.type, token, x);
      std::vector<Expected> row;
      for (float const value : x) row.push_back({value, std::numeric_limits<double>::min()});
      return row;
    });
    for (std::size_t l = 0; l < layers_.size(); ++l) check.judge_layer(layers_[l], sources_[l]);
    check.judge_last_norm(last_source_, last_sum_, last_normed_);
    return agree(world, check.finding());
  }

  std::vector<measure::Field> fields() override {
    std::vector<measure::Field> all{
        measure::output(whole_of_rank_0("hidden", last_normed_, rank_)),
        measure::input(whole_of_rank_0("x", layers_.front().sum, rank_))};
    for (Tensors const& tensors : layers_) {
      for (device::MatrixView const& view : tensors.weights) all.push_back(measure::input(view));
      if (shape_.phase == Phase::prefill) continue;
      all.push_back(measure::input(tensors.k_pool));
      all.push_back(measure::input(tensors.v_pool));
    }
    return all;
  }

 private:
  static std::vector<device::MatrixView*> all_of(std::vector<Tensors>& layers) {
    std::vector<device::MatrixView*> all{&layers.front().sum};
    for (Tensors& tensors : layers) {
      for (device::MatrixView& view : tensors.weights) all.push_back(&view);
      all.push_back(&tensors.k_pool);
      all.push_back(&tensors.v_pool);
      auto const written = tensors.written(&tensors == &layers.front());
      all.insert(all.end(), written.begin(), written.end());
    }
    return all;
  }

  std::int64_t pieces() const { return std::ssize(under_way_); }
  core::Range rows_of_piece(std::int64_t piece) const {
    return core::split_evenly(step_.rows(), pieces(), piece);
  }
  /// Rows of a piece whose sums a rank gets where they are scattered.
  core::Range share_of(int rank, std::int64_t piece) const {
    core::Range const rows = rows_of_piece(piece);
    core::Range const share = core::split_evenly(rows.count, ranks_, rank);
    return {rows.first + share.first, share.count};
  }
  /// By rank.
  std::vector<comm::Piece> shares_of(device::MatrixView const& whole, std::int64_t piece) const {
    std::vector<comm::Piece> shares;
    for (int rank = 0; rank < ranks_; ++rank) {
      device::MatrixView const share = tokens_of(whole, share_of(rank, piece));
      shares.push_back({share.data, static_cast<std::size_t>(bytes_of(share))});
    }
    return shares;
  }

  static device::MatrixView tokens_of(device::MatrixView const& whole, core::Range const& rows) {
    return part(whole, rows.first, 0, rows.count, whole.cols);
  }
  gemm::Problem piece_of(gemm::Problem problem, std::int64_t piece) const {
    problem.a = tokens_of(problem.a, rows_of_piece(piece));
    problem.c = tokens_of(problem.c, rows_of_piece(piece));
    return problem;
  }

  /// Enqueues a part of a layer piece by piece, each behind what the part before exchanged for it. What
  /// exchange(piece) starts is under way beside launches for the next pieces, or follows all of them.
  template <class Launch, class Exchange>
  void by_pieces(measure::Leg leg, device::StreamView stream, Launch launch, Exchange exchange) {
    for (std::int64_t i = 0; i < pieces() && leg != measure::Leg::communicate; ++i) {
      comm::Request& request = under_way_[static_cast<std::size_t>(i)];
      request.wait_on(stream);
      launch(i);
      request = leg == measure::Leg::overlapped ? exchange(i) : comm::Request{};
    }
    if (leg != measure::Leg::serial && leg != measure::Leg::communicate) return;
    // One behind the other, as they are where others wait for none of them.
    for (std::int64_t i = 0; i < pieces(); ++i) {
      under_way_[static_cast<std::size_t>(i)] = exchange(i);
    }
    finish_exchanges(stream);
  }
  void finish_exchanges(device::StreamView stream) {
    for (comm::Request& request : under_way_) {
      request.wait_on(stream);
      request = {};
    }
  }

  /// A product, and the sum of what all ranks of the model have of it.
  void multiply_joint(measure::Leg leg, kernels::Variant<gemm::Problem> const& row,
                      gemm::Problem const& product, device::StreamView stream) {
    auto const exchange = [&](std::int64_t i) -> comm::Request {
      if (!is_shared_) return {};
      if (!is_scattered_) return add_up(*channel_, piece_of(product, i).c, stream);
      auto const shares = shares_of(product.c, i);
      std::vector<comm::ConstPiece> const parts{shares.begin(), shares.end()};
      return channel_->reduce_scatter(parts, shares[comm::index(rank_)], product.c.type,
                                      comm::ReduceOp::sum, stream);
    };
    by_pieces(
        leg, stream, [&](std::int64_t i) { row.launch(piece_of(product, i), stream); }, exchange);
    if (!is_scattered_) finish_exchanges(stream);
  }

  /// A norm; where sums are scattered of a rank's share of the rows, and all ranks gather those of all.
  void normalize(measure::Leg leg, kernels::Variant<rowwise::Problem> const& row,
                 rowwise::Problem const& norm, device::StreamView stream) {
    if (!is_scattered_) {
      if (leg != measure::Leg::communicate) row.launch(norm, stream);
      return;
    }
    auto const launch = [&](std::int64_t i) {
      core::Range const own = share_of(rank_, i);
      if (own.count == 0) return;
      rowwise::Problem share = norm;
      for (device::MatrixView* view : {&share.x, &share.y, &share.residual, &share.sum}) {
        if (view->rows > 0) *view = tokens_of(*view, own);
      }
      row.launch(share, stream);
    };
    by_pieces(leg, stream, launch, [&](std::int64_t i) {
      auto const shares = shares_of(norm.y, i);
      return channel_->allgather(shares[comm::index(rank_)], shares, stream);
    });
  }

  /// A product of normed rows, by pieces as those arrive.
  void multiply(measure::Leg leg, kernels::Variant<gemm::Problem> const& row,
                gemm::Problem const& product, device::StreamView stream) {
    if (is_scattered_) {
      by_pieces(
          leg, stream, [&](std::int64_t i) { row.launch(piece_of(product, i), stream); },
          [](std::int64_t) { return comm::Request{}; });
    } else if (leg != measure::Leg::communicate) {
      row.launch(product, stream);
    }
  }

  /// The problems of all tensors as they lie in memory now, or will.
  void connect() {
    problems_.clear();
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      problems_.push_back(problems_of(shape_, attending(shape_, step_), layers_[l],
                                      l == 0 ? nullptr : &layers_[l - 1], places_));
    }
    last_norm_ = last_norm_of(shape_, layers_.back(), last_weights_, last_sum_, last_normed_);
  }

  void allocate(comm::World& world) {
    for (device::MatrixView* view : all_of(layers_))
      memory_.push_back(allocate_matrix(*view, world));
    for (device::MatrixView* view : {&last_weights_, &last_sum_, &last_normed_}) {
      memory_.push_back(allocate_matrix(*view, world));
    }
    step_.draw_slots(case_.seed);
    for (auto const& [values, place] :
         {std::pair{&step_.positions, &places_.positions}, std::pair{&step_.slots, &places_.slots},
          std::pair{&step_.lengths, &places_.lengths}, std::pair{&step_.table, &places_.table}}) {
      *place = there_.emplace_back(uploaded(*values, world)).data();
    }
    places_.slots_of_host = step_.slots.data();
    if (shape_.is_llama()) {
      cos_sin_ = rowwise::cos_sin_of(shape_.head_size, step_.longest);
      memory_.push_back(allocate_matrix(places_.cos_sin, world));
      world.stream().copy(places_.cos_sin.data, cos_sin_.data(), cos_sin_.size() * sizeof(float));
      world.stream().synchronize();
    }
    connect();
    sources_.resize(layers_.size());
    // Where nothing is to be computed meanwhile, the way to streams of their own is saved.
    comm::Order const order =
        pieces() == 1 ? comm::Order::on_caller_stream : comm::Order::own_streams;
    if (is_shared_) channel_ = world.transport(case_).connect(world.group(), order);
  }

  /// Of the first layer, which is like all.
  gemm::Problem as_launched(Product product) const {
    gemm::Problem const& p = problems_.front().products[product];
    bool const is_joint = product == kOutProduct || product == kDownProduct;
    return is_joint || is_scattered_ ? piece_of(p, 0) : p;
  }

  /// Of products, which need counters that are zero, and of attention: what any part takes.
  struct Scratch {
    std::size_t of_products = 0, of_attention = 0;
  };
  Scratch scratch_of(Rows const& rows, device::Facts const& device) const {
    Scratch most;
    for (std::size_t i = 0; i < kProducts; ++i) {
      for (auto const* row : rows.products[i]) {
        most.of_products = std::max(
            most.of_products, row->scratch_bytes(as_launched(static_cast<Product>(i)), device));
      }
    }
    Problems const& problems = problems_.front();
    auto const add = [&](auto const& candidates, auto const& problem) {
      if (candidates.empty()) return;
      most.of_attention =
          std::max(most.of_attention, candidates.front()->scratch_bytes(problem, device));
    };
    for (auto const& chunk : problems.chunks) add(rows.chunks, chunk.attention);
    add(rows.decode, problems.decode);
    return most;
  }

  /// The rows of each variant, and scratch for all of them.
  void choose(comm::World& world, measure::Selection const& selected) {
    Scratch most;
    for (VariantInfo const* variant : selected) {
      Rows rows = decoder::rows_of(problems_.front(), variant->role, world.device().kind(),
                                   world.device().facts());
      if (!rows.missing.empty()) continue;
      Scratch const needed = scratch_of(rows, world.device().facts());
      most.of_products = std::max(most.of_products, needed.of_products);
      most.of_attention = std::max(most.of_attention, needed.of_attention);
      rows_[variant] = std::move(rows);
    }
    product_scratch_ = allocate_scratch(most.of_products, world);
    attention_scratch_ = allocate_scratch(most.of_attention, world);
    for (Problems& problems : problems_) {
      decoder::give_scratch(problems, product_scratch_, attention_scratch_);
    }
    for (auto& [variant, rows] : rows_) {
      if (variant->role != Role::own) continue;
      for (std::size_t i = 0; i < kProducts; ++i) {
        auto& candidates = rows.products[i];
        std::size_t const fastest =
            fastest_of(candidates, as_launched(static_cast<Product>(i)), world.stream());
        std::swap(candidates.front(), candidates[fastest]);
      }
    }
  }

  core::Case case_;
  Shape shape_;
  Step step_;
  std::vector<Tensors> layers_;  // without memory before prepare()
  std::vector<Problems> problems_;
  rowwise::Problem last_norm_;
  device::MatrixView last_weights_, last_sum_, last_normed_;
  int ranks_, rank_;
  bool is_shared_, is_scattered_;
  std::vector<comm::Request> under_way_;  // of each piece, in the leg that overlaps
  std::unique_ptr<comm::Channel> channel_;
  Places places_;
  std::vector<float> cos_sin_;
  Source input_, last_source_;
  std::vector<LayerSources> sources_;
  std::map<VariantInfo const*, Rows> rows_;
  std::vector<device::Matrix> memory_;
  std::vector<device::Buffer<std::int32_t>> there_;
  device::Buffer<std::byte> product_scratch_, attention_scratch_;
};

}  // namespace

std::unique_ptr<measure::Workload> make(core::Case const& spec, int ranks, int rank,
                                        bool is_shared) {
  return std::make_unique<Decoder>(spec, ranks, rank, is_shared);
}

measure::Selection selection() { return workloads::rows_of(kRows); }

core::WorkloadSchema schema_of(std::string_view name, bool is_shared) {
  core::WorkloadSchema schema{
      .name = name,
      .extents = {"requests", "tokens", "hidden", "heads", "kv_heads", "mlp"},
      .min_extent = 1,
      .max_extent = std::numeric_limits<std::int32_t>::max(),
      .has_auto = false,
      .keys = {.transport = is_shared, .legs = is_shared},
      .defaults = core::Parameters{Parameters{}},
      .options = {core::options::choice("model", core::options::at(&Parameters::model),
                                        "gpt: layer norms and GeLU; llama: RMS norms, SwiGLU and "
                                        "rotary positions"),
                  core::options::choice("phase", core::options::at(&Parameters::phase),
                                        "prefill: all tokens of each request; decode: the next "
                                        "token of each, by the keys and values of the others"),
                  core::options::count("layers", core::options::at(&Parameters::layers),
                                       "of the model", {.least = 1, .most = 128}),
                  core::options::choice("lengths", core::options::at(&Parameters::lengths),
                                        "tokens of a request: as many as the extent, or drawn "
                                        "by the seed up to that"),
                  core::options::count("block_size", core::options::at(&Parameters::block_size),
                                       "tokens of a block of the cache: 8, 16, 32, 64 or 128",
                                       {.least = 8, .most = 128})},
      .conflict = conflict};
  if (is_shared) {
    schema.options.push_back(core::options::method(core::options::choice(
        "joint", core::options::at(&Parameters::joint),
        "how products of ranks are added up, allreduce: each gets the sums of all tokens; "
        "reduce_scatter: those of its share of "
        "the tokens, whose norms all ranks gather (sequence parallelism)")));
    schema.options.push_back(core::options::method(
        core::options::count("pieces", core::options::at(&Parameters::pieces),
                             "of the tokens, whose sums and norms travel under work on the next",
                             {.least = 1, .most = 64})));
  }
  return schema;
}

std::vector<measure::Metric> metrics() {
  return {{"read", "B/s", "weights, keys and values of all layers, each read or written once."},
          {"arithmetic", "FLOP/s", "operations of products and attention."}};
}

}  // namespace quadrille::workloads::decoder

namespace quadrille::workloads::entries {

extern measure::WorkloadEntry const decoder = measure::entry({
    .schema = decoder::schema_of("decoder", false),
    .summary =
        "a step of a language model's layers, on each rank: prompts, or a token for each request",
    .work = decoder::kWork,
    .local = true,
    .variants = decoder::selection(),
    .make = [](core::Case const& spec, int ranks,
               int rank) { return decoder::make(spec, ranks, rank, false); },
    .secondary = decoder::metrics(),
});

}  // namespace quadrille::workloads::entries
