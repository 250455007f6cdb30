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
  std::string error = tensor_conflict(spec);
  if (!error.empty()) return error;
  Shape const x{spec};
  if (x.hidden % x.heads != 0) {
    return fmt::format("{} heads do not divide hidden = {}; take a divisor", x.heads, x.hidden);
  }
  error =
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
/// Megatron-LM, 2019).
class Decoder final : public measure::Workload {
 public:
  Decoder(core::Case const& spec, int ranks, int rank, bool is_shared)
      : case_{spec},
        shape_{is_shared ? Shape{spec, ranks, rank} : Shape{spec}},
        step_{shape_, spec.parameters.as<Parameters>().lengths, spec.seed},
        layers_(static_cast<std::size_t>(shape_.layers),
                unallocated(shape_, step_.rows(), step_.blocks, shape_.phase == Phase::decode,
                            spec.type)),
        ranks_{ranks},
        rank_{rank},
        is_shared_{is_shared},
        pieces_{std::min(spec.parameters.as<Parameters>().pieces, step_.rows())} {
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
    // Two sums of a layer, each of which leaves every rank once and comes back once.
    d.network_bytes = 2 * layers * 2 * (ranks_ - 1) * added;
    d.traffic = {comm::Operation::allreduce, added / static_cast<double>(pieces_)};
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

  /// Slots of new tokens, too.
  void reset(comm::World& world, VariantInfo const& variant) override {
    device::StreamView const stream = world.stream();
    auto const clear = [&](device::MatrixView const& view) {
      stream.fill(view.data, 0xFF, static_cast<std::size_t>(bytes_of(view)));
    };
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (device::MatrixView const* view : layers_[l].written(l == 0)) clear(*view);
      rows_.at(&variant).write.front()->launch(problems_[l].write, stream);
    }
    clear(last_sum_);
    clear(last_normed_);
  }

  void run(comm::World& world, measure::Leg leg, VariantInfo const& variant) override {
    Rows const& rows = rows_.at(&variant);
    for (Problems const& problems : problems_) {
      auto const joint = [&](Product product) {
        multiply_joint(world, leg, *rows.products[product].front(), problems.products[product]);
      };
      if (leg == measure::Leg::communicate) {
        for (Product const product : {kOutProduct, kDownProduct}) joint(product);
      } else {
        decoder::run(problems, rows, world.stream(), joint,
                     [&] { attend(problems, rows, world.stream()); });
      }
    }
    if (leg != measure::Leg::communicate) {
      rows.second_norm.front()->launch(last_norm_, world.stream());
    }
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
    StepCheck check{shape_, step_, case_, world, cos_sin_};
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

  /// Some of its rows.
  gemm::Problem piece_of(gemm::Problem problem, std::int64_t piece) const {
    core::Range const rows = core::split_evenly(problem.m(), pieces_, piece);
    problem.a = part(problem.a, rows.first, 0, rows.count, problem.a.cols);
    problem.c = part(problem.c, rows.first, 0, rows.count, problem.c.cols);
    return problem;
  }

  /// A product, and the sum of what all ranks of the model have of it, each piece under the products of those
  /// behind it.
  void multiply_joint(comm::World& world, measure::Leg leg,
                      kernels::Variant<gemm::Problem> const& row, gemm::Problem const& product) {
    device::StreamView const stream = world.stream();
    auto const add_up = [&](std::int64_t piece) {
      return decoder::add_up(*channel_, piece_of(product, piece).c, stream);
    };
    std::vector<comm::Request> under_way;
    for (std::int64_t i = 0; i < pieces_ && leg != measure::Leg::communicate; ++i) {
      row.launch(piece_of(product, i), stream);
      if (is_shared_ && leg == measure::Leg::overlapped) under_way.push_back(add_up(i));
    }
    for (comm::Request const& request : under_way) request.wait_on(stream);
    bool const adds_behind = leg == measure::Leg::serial || leg == measure::Leg::communicate;
    for (std::int64_t i = 0; i < pieces_ && is_shared_ && adds_behind; ++i) {
      add_up(i).wait_on(stream);
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
    if (is_shared_) channel_ = world.transport(case_).connect(world.group());
  }

  /// Of the first layer, which is like all.
  gemm::Problem as_launched(Product product) const {
    gemm::Problem const& p = problems_.front().products[product];
    return product == kOutProduct || product == kDownProduct ? piece_of(p, 0) : p;
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
  bool is_shared_;
  std::int64_t pieces_;  // of products that ranks add up
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
    schema.options.push_back(core::options::method(core::options::count(
        "pieces", core::options::at(&Parameters::pieces),
        "of the tokens, whose sums travel under products of the next", {.least = 1, .most = 64})));
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
