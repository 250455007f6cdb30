// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution by cuDNN: the bar on a GPU.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    the graph of one convolution, for which the first launch of a shape times every engine
///              that takes it, with its own choice of knobs and with those that the library's
///              heuristics name, and keeps the fastest. Not those that read inputs with fewer bits than
///              asked, that add up in fewer, or by FFT or large Winograd tiles, whose rounding errors
///              are no longer those of a sum of products
/// Shapes       nchw or nhwc, any extents, by strides
/// Types        f32 in f32 or tf32; f16 and bf16 in f32
/// Work         2 n k p q (c / groups) r s flop, by Winograd fewer
/// Constraints  an environment that does not change what the library computes in; cuDNN 9, when the
///              program is built and when it runs
/// Launch       one handle per stream; up to 2 GiB of workspace for the search, and what the fastest
///              needs for good. The first launch of a shape waits for the stream: the runner's first
///              run. It cannot be recorded
/// Accuracy     that of the library; eps (sqrt(c r s) + 2) w for random data
/// Source       cuDNN
#include "conv2d/conv2d.hpp"

#if defined(QUADRILLE_CUDA_TOOLKIT) && __has_include(<cudnn.h>)
#include <cudnn.h>
#if CUDNN_MAJOR >= 9
#define QUADRILLE_CUDNN
#endif
#endif

#ifdef QUADRILLE_CUDNN
#include "device/cuda/check.hpp"
#include "device/cuda/library.hpp"
#include "device/cuda/stream.hpp"
#include "device/device.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>
#endif

namespace quadrille::kernels::conv2d {
namespace {

constexpr std::int64_t kMostWorkspace = std::int64_t{2} << 30;

#ifdef QUADRILLE_CUDNN

// No new plan is made after this time, none is tried for the first time after twice it, and no new
// round begins after three times it.
constexpr double kSearchSeconds = 5;
constexpr int kRounds = 5;
// Slower than the fastest by more than this at the first look, and in the rounds: out.
constexpr double kFarBehind = 1.5, kBehind = 1.1;
// Launches in a row, for so long at least.
constexpr double kRowSeconds = 10e-3;
constexpr double kLeastLaunches = 3, kMostLaunches = 100;

/// cuDNN, found at run time, with a handle for each stream, which is never destroyed. Thread safe.
class Cudnn {
 public:
  static Cudnn& instance() {
    static Cudnn cudnn;
    return cudnn;
  }

  std::string const& why_absent() const { return library_.why_absent(); }

  cudnnHandle_t handle(device::StreamView stream) {
    std::lock_guard const lock{mutex_};
    cudnnHandle_t& handle = handles_[device::cuda_stream(stream)];
    if (handle == nullptr) {
      check(get<decltype(cudnnCreate)>("cudnnCreate")(&handle), "cudnnCreate");
      check(get<decltype(cudnnSetStream)>("cudnnSetStream")(handle, device::cuda_stream(stream)),
            "cudnnSetStream");
    }
    return handle;
  }

  /// A function of the library; Function is the type of its declaration.
  template <class Function>
  Function* get(char const* name) const {
    return library_.get<Function>(name);
  }

  /// Ends the job unless the call succeeded.
  void check(cudnnStatus_t status, char const* call) const {
    if (status == CUDNN_STATUS_SUCCESS) return;
    auto* const to_text = get<decltype(cudnnGetErrorString)>("cudnnGetErrorString");
    core::fail(std::string{"conv2d/vendor: "} + call + ": " + to_text(status));
  }

 private:
  device::Library library_{{"libcudnn.so.9"}};
  std::mutex mutex_;
  std::map<cudaStream_t, cudnnHandle_t> handles_;
};

/// Owns a descriptor of the library.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    Cudnn& cudnn = Cudnn::instance();
    static auto* const create =
        cudnn.get<decltype(cudnnBackendCreateDescriptor)>("cudnnBackendCreateDescriptor");
    cudnnBackendDescriptor_t raw = nullptr;
    cudnn.check(create(type, &raw), "cudnnBackendCreateDescriptor");
    raw_.reset(raw);
  }
  cudnnBackendDescriptor_t get() const { return raw_.get(); }

  template <class T>
  cudnnStatus_t try_set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        std::vector<T> const& values) const {
    static auto* const set_attribute =
        Cudnn::instance().get<decltype(cudnnBackendSetAttribute)>("cudnnBackendSetAttribute");
    return set_attribute(get(), name, type, static_cast<std::int64_t>(values.size()),
                         values.data());
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           std::vector<T> const& values) const {
    Cudnn::instance().check(try_set(name, type, values), "cudnnBackendSetAttribute");
  }
  void set(cudnnBackendAttributeName_t name, Descriptor const& value) const {
    set<cudnnBackendDescriptor_t>(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, {value.get()});
  }

  cudnnStatus_t try_finalize() const {
    static auto* const finalize =
        Cudnn::instance().get<decltype(cudnnBackendFinalize)>("cudnnBackendFinalize");
    return finalize(get());
  }
  void finalize() const { Cudnn::instance().check(try_finalize(), "cudnnBackendFinalize"); }

  /// Up to `values.size()` values, and how many there are; 0 where the library does not tell.
  template <class T>
  std::int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                    std::vector<T>& values) const {
    static auto* const get_attribute =
        Cudnn::instance().get<decltype(cudnnBackendGetAttribute)>("cudnnBackendGetAttribute");
    std::int64_t count = 0;
    bool const is_known = get_attribute(get(), name, type, static_cast<std::int64_t>(values.size()),
                                        &count, values.data()) == CUDNN_STATUS_SUCCESS;
    return is_known ? count : 0;
  }

 private:
  struct Destroy {
    void operator()(void* raw) const noexcept {
      Cudnn::instance().get<decltype(cudnnBackendDestroyDescriptor)>(
          "cudnnBackendDestroyDescriptor")(raw);
    }
  };
  std::unique_ptr<void, Destroy> raw_;
};

cudnnDataType_t data_type(core::DataType type) {
  switch (type) {
    case core::DataType::f16: return CUDNN_DATA_HALF;
    case core::DataType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

enum Tensor : std::int64_t { kX = 1, kW = 2, kY = 3 };

std::int64_t alignment_of(device::MatrixView const& view) {
  auto const address = reinterpret_cast<std::uintptr_t>(view.data) | 256U;
  return static_cast<std::int64_t>(address & (~address + 1));
}

/// The graph of a problem. Extents are those of nchw, strides tell of the layout.
class Graph {
 public:
  Graph(Problem const& p, cudnnHandle_t handle)
      : x_{tensor(kX, p.x, p.layout, {p.shape.n, p.shape.c, p.shape.h, p.shape.w})},
        w_{tensor(kW, p.w, p.layout, {p.shape.k, p.shape.group_channels(), p.shape.r, p.shape.s})},
        y_{tensor(kY, p.y, p.layout, {p.shape.n, p.shape.k, p.shape.out_h(), p.shape.out_w()})} {
    using Two = std::vector<std::int64_t>;
    convolution_.set<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                                      {CUDNN_DATA_FLOAT});
    convolution_.set<cudnnConvolutionMode_t>(
        CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, {CUDNN_CROSS_CORRELATION});
    convolution_.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
                     std::vector<std::int64_t>{2});
    auto const both = [&](cudnnBackendAttributeName_t name, std::int64_t value) {
      convolution_.set(name, CUDNN_TYPE_INT64, Two{value, value});
    };
    both(CUDNN_ATTR_CONVOLUTION_DILATIONS, p.shape.dilation);
    both(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, p.shape.stride);
    both(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, p.shape.padding);
    both(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, p.shape.padding);
    convolution_.finalize();

    operation_.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution_);
    operation_.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x_);
    operation_.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w_);
    operation_.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y_);
    operation_.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1});
    operation_.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, {0});
    operation_.finalize();

    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_);
    graph_.set<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle});
    graph_.finalize();
  }
  Descriptor const& descriptor() const { return graph_; }

 private:
  static Descriptor tensor(Tensor id, device::MatrixView const& view, DataLayout layout,
                           std::vector<std::int64_t> const& extents) {
    std::int64_t const c = extents[1], h = extents[2], w = extents[3];
    std::vector<std::int64_t> strides{c * h * w, h * w, w, 1};
    if (layout == DataLayout::nhwc) strides = {c * h * w, 1, w * c, c};
    Descriptor tensor{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
    tensor.set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
                                {data_type(view.type)});
    tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, extents);
    tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    tensor.set<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {id});
    tensor.set<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
                             {alignment_of(view)});
    tensor.finalize();
    return tensor;
  }

  Descriptor x_, w_, y_;
  Descriptor convolution_{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR};
  Descriptor operation_{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR};
  Descriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

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

/// An execution plan and where it comes from.
struct Plan {
  Descriptor engine, configuration, plan;
  std::int64_t workspace = 0;
  std::int64_t engine_index = -1;
  bool is_of_heuristics = false;
};

/// The plan of a configuration; nothing where the engine does not take the problem.
std::optional<Plan> plan_of(Descriptor configuration, cudnnHandle_t handle) {
  Plan plan;
  plan.configuration = std::move(configuration);
  plan.plan = Descriptor{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  plan.plan.set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan.configuration);
  if (plan.plan.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  std::vector<std::int64_t> bytes(1);
  plan.plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, bytes);
  plan.workspace = bytes[0];
  if (plan.workspace > kMostWorkspace) return std::nullopt;
  return plan;
}

/// What the heuristics name, the likeliest first, as long as there is time: some are compiled now.
std::vector<Plan> plans_of_heuristics(Problem const& p, Graph const& graph, cudnnHandle_t handle,
                                      std::function<bool()> const& has_time) {
  constexpr std::size_t kMostConfigurations = 64;
  std::vector<Plan> plans;
  for (cudnnBackendHeurMode_t const mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B}) {
    Descriptor const heuristics{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR};
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.descriptor());
    heuristics.set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                                           {mode});
    if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) continue;
    std::vector<Descriptor> configurations;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::size_t i = 0; i < kMostConfigurations; ++i) {
      configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      raw.push_back(configurations.back().get());
    }
    auto const count = static_cast<std::size_t>(
        heuristics.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw));
    for (std::size_t i = 0; i < std::min(count, kMostConfigurations); ++i) {
      if (!plans.empty() && !has_time()) return plans;
      Descriptor engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR};
      std::vector<cudnnBackendDescriptor_t> of{engine.get()};
      configurations[i].read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, of);
      if (!is_full_precision(engine, p)) continue;
      std::optional<Plan> plan = plan_of(std::move(configurations[i]), handle);
      if (!plan) continue;
      std::vector<std::int64_t> index{-1};
      engine.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
      plan->engine_index = index[0];
      plan->engine = std::move(engine);
      plan->is_of_heuristics = true;
      plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

/// Every engine with its own choice of knobs, as long as there is time. Where an array is not aligned
/// to 16 bytes, none: some read by as many all the same, which ends the process.
void add_engines(std::vector<Plan>& plans, Problem const& p, Graph const& graph,
                 cudnnHandle_t handle, std::function<bool()> const& has_time) {
  if (std::min({alignment_of(p.x), alignment_of(p.w), alignment_of(p.y)}) < 16) return;
  std::vector<std::int64_t> engines(1);
  graph.descriptor().read(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, engines);
  for (std::int64_t i = 0; i < engines[0] && (plans.empty() || has_time()); ++i) {
    Descriptor engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR};
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.descriptor());
    bool const is_there =
        engine.try_set<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {i}) ==
            CUDNN_STATUS_SUCCESS &&
        engine.try_finalize() == CUDNN_STATUS_SUCCESS;
    if (!is_there || !is_full_precision(engine, p)) continue;
    Descriptor configuration{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR};
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (configuration.try_finalize() != CUDNN_STATUS_SUCCESS) continue;
    std::optional<Plan> plan = plan_of(std::move(configuration), handle);
    if (!plan) continue;
    plan->engine = std::move(engine);
    plan->engine_index = i;
    plans.push_back(std::move(*plan));
  }
}

cudnnStatus_t execute(Plan const& plan, Problem const& p, void* workspace, cudnnHandle_t handle) {
  static auto* const run =
      Cudnn::instance().get<decltype(cudnnBackendExecute)>("cudnnBackendExecute");
  Descriptor const pack{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
  pack.set<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, {kX, kW, kY});
  pack.set<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                  {p.x.data, p.w.data, p.y.data});
  pack.set<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {workspace});
  pack.finalize();
  return run(handle, plan.plan.get(), pack.get());
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
          alignment_of(p.x),
          alignment_of(p.w),
          alignment_of(p.y)};
}

/// The fastest plan of a shape on a stream, its workspace, and out of how many. Ends with the process.
struct Choice {
  Plan plan;
  void* workspace = nullptr;
  std::size_t candidates = 0;
};

Choice choose(Problem const& p, device::StreamView stream) {
  using Clock = std::chrono::steady_clock;
  auto const start = Clock::now();
  auto const spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  cudnnHandle_t const handle = Cudnn::instance().handle(stream);
  Graph const graph{p, handle};
  auto const has_time = [&] { return spent() < kSearchSeconds; };
  std::vector<Plan> plans = plans_of_heuristics(p, graph, handle, has_time);
  add_engines(plans, p, graph, handle, has_time);
  QUAD_REQUIRE(!plans.empty(),
               "conv2d/vendor: cuDNN has no engine for this convolution in full "
               "precision; leave out the vendor's line with vendor = \"off\"");
  auto const room = static_cast<std::int64_t>(stream.device().free_memory() / 2);
  std::erase_if(plans, [&](Plan const& plan) { return plan.workspace > room; });
  QUAD_REQUIRE(!plans.empty(),
               "conv2d/vendor: too little memory for a workspace; take fewer images");
  std::int64_t most = 0;
  for (Plan const& plan : plans) most = std::max(most, plan.workspace);
  device::PooledBuffer<std::byte> workspace{stream.device(), most, stream};

  device::Event begin{stream.device()}, end{stream.device()};
  auto const time = [&](Plan const& plan, int launches) {
    stream.record(begin);
    for (int i = 0; i < launches; ++i) execute(plan, p, workspace.data(), handle);
    stream.record(end);
    end.synchronize();
    return end.seconds_since(begin) / launches;
  };
  struct Tried {
    std::size_t candidate;
    double least;
  };
  std::vector<Tried> tried;
  for (std::size_t i = 0; i < plans.size() && (tried.empty() || spent() < 2 * kSearchSeconds);
       ++i) {
    // The first execution loads its kernels.
    if (execute(plans[i], p, workspace.data(), handle) != CUDNN_STATUS_SUCCESS) continue;
    tried.push_back({i, time(plans[i], 1)});
  }
  QUAD_REQUIRE(!tried.empty(), "conv2d/vendor: no engine of cuDNN runs this convolution");
  auto const drop = [&](double factor) {
    double const most_s = factor * std::ranges::min(tried, {}, &Tried::least).least;
    std::erase_if(tried, [&](Tried const& one) { return one.least > most_s; });
  };
  std::size_t const candidates = tried.size();
  drop(kFarBehind);
  for (int round = 0; round < kRounds && (round == 0 || spent() < 3 * kSearchSeconds); ++round) {
    for (Tried& one : tried) {
      double const launches =
          std::clamp(kRowSeconds / std::max(one.least, 1e-6), kLeastLaunches, kMostLaunches);
      double const took = time(plans[one.candidate], static_cast<int>(launches));
      one.least = round == 0 ? took : std::min(one.least, took);
    }
    drop(kBehind);
  }
  Choice choice;
  choice.plan = std::move(plans[std::ranges::min(tried, {}, &Tried::least).candidate]);
  choice.candidates = candidates;
  if (choice.plan.workspace > 0) {
    choice.workspace =
        stream.device().allocate_ordered(static_cast<std::size_t>(choice.plan.workspace), stream);
  }
  return choice;
}

/// The choices of this process, by shape and stream.
class Choices {
 public:
  static Choices& instance() {
    static Choices* const choices = new Choices;  // its descriptors may not outlive the library
    return *choices;
  }
  Choice const& of(Problem const& p, device::StreamView stream) {
    std::lock_guard const lock{mutex_};
    auto const [found, is_new] = choices_[key_of(p)].try_emplace(device::cuda_stream(stream));
    if (is_new) found->second = choose(p, stream);
    return found->second;
  }
  /// nullptr where none was made.
  Choice const* find(Problem const& p) {
    std::lock_guard const lock{mutex_};
    auto const found = choices_.find(key_of(p));
    return found == choices_.end() ? nullptr : &found->second.begin()->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::map<cudaStream_t, Choice>> choices_;
};

void launch(Problem const& p, device::StreamView stream) {
  if (p.shape.n == 0 || p.shape.k == 0) return;
  Choice const& choice = Choices::instance().of(p, stream);
  Cudnn::instance().check(
      execute(choice.plan, p, choice.workspace, Cudnn::instance().handle(stream)),
      "cudnnBackendExecute");
}

std::string implementation(Problem const& p) {
  Choice const* const choice = Choices::instance().find(p);
  if (choice == nullptr) return {};
  return "cudnn, engine " + std::to_string(choice->plan.engine_index) +
         (choice->plan.is_of_heuristics ? " as its heuristics set it" : "") + ", workspace " +
         std::to_string(choice->plan.workspace >> 20) + " MiB, the fastest of " +
         std::to_string(choice->candidates) + " plans";
}

std::string unsupported(Problem const& p) {
  std::string const& why_absent = Cudnn::instance().why_absent();
  if (!why_absent.empty()) return "needs cuDNN 9: " + why_absent;
  if (p.shape.c == 0) return "takes at least one channel";
  bool const is_tf32 = core::compute_for(p.x.type, p.compute) == core::Compute::tf32;
  char const* const value = std::getenv("NVIDIA_TF32_OVERRIDE");
  if (value == nullptr || p.x.type != core::DataType::f32) return {};
  bool const is_on = std::string_view{value} != "0";
  return is_tf32 == is_on ? "" : "computes in what is asked for; unset NVIDIA_TF32_OVERRIDE";
}

#else

std::string unsupported(Problem const&) {
  return "needs cuDNN 9, whose headers were not there when this program was built";
}

#endif

}  // namespace

#ifdef QUADRILLE_CUDNN
#define QUAD_CUDNN_LAUNCH(function) function
#else
#define QUAD_CUDNN_LAUNCH(function) nullptr
#endif

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
     .summary = "the fastest of all engines of cuDNN that take the convolution"},
    QUAD_CUDNN_LAUNCH(launch),
    {.unsupported = unsupported,
     .implementation = QUAD_CUDNN_LAUNCH(implementation),
     .notes = {.workspace_bytes = kMostWorkspace}}};

}  // namespace quadrille::kernels::conv2d
