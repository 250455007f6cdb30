// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/cudnn.hpp"

#ifdef QUADRILLE_CUDNN
#include "core/error.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#endif

namespace quadrille::kernels::cudnn {

#ifdef QUADRILLE_CUDNN

namespace {

// No new plan is made after this time, none is tried for the first time after twice it, and no new
// round begins after three times it.
constexpr double kSearchSeconds = 5;
constexpr int kRounds = 5;
// Slower than the fastest by more than this at the first look, and in the rounds: out.
constexpr double kFarBehind = 1.5, kBehind = 1.1;
// Launches in a row, for so long at least.
constexpr double kRowSeconds = 10e-3;
constexpr double kLeastLaunches = 3, kMostLaunches = 100;

bool may_take(Search const& search, Descriptor const& engine) {
  return !search.may_take || search.may_take(engine);
}

/// The plan of a configuration; nothing where the engine does not take the problem.
std::optional<Plan> plan_of(Graph const& graph, Descriptor configuration, cudnnHandle_t handle) {
  Plan plan;
  plan.ids = graph.ids();
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
void add_of_heuristics(std::vector<Plan>& plans, Graph const& graph, Search const& search,
                       cudnnHandle_t handle, std::function<bool()> const& has_time) {
  constexpr std::size_t kMostConfigurations = 64;
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
      if (!plans.empty() && !has_time()) return;
      Descriptor engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR};
      std::vector<cudnnBackendDescriptor_t> of{engine.get()};
      configurations[i].read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, of);
      if (!may_take(search, engine)) continue;
      std::optional<Plan> plan = plan_of(graph, std::move(configurations[i]), handle);
      if (!plan) continue;
      std::vector<std::int64_t> index{-1};
      engine.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
      plan->engine_index = index[0];
      plan->engine = std::move(engine);
      plan->is_of_heuristics = true;
      plans.push_back(std::move(*plan));
    }
  }
}

/// Every engine with its own choice of knobs, as long as there is time.
void add_engines(std::vector<Plan>& plans, Graph const& graph, Search const& search,
                 cudnnHandle_t handle, std::function<bool()> const& has_time) {
  std::vector<std::int64_t> engines(1);
  graph.descriptor().read(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, engines);
  for (std::int64_t i = 0; i < engines[0] && (plans.empty() || has_time()); ++i) {
    Descriptor engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR};
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.descriptor());
    bool const is_there =
        engine.try_set<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {i}) ==
            CUDNN_STATUS_SUCCESS &&
        engine.try_finalize() == CUDNN_STATUS_SUCCESS;
    if (!is_there || !may_take(search, engine)) continue;
    Descriptor configuration{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR};
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (configuration.try_finalize() != CUDNN_STATUS_SUCCESS) continue;
    std::optional<Plan> plan = plan_of(graph, std::move(configuration), handle);
    if (!plan) continue;
    plan->engine = std::move(engine);
    plan->engine_index = i;
    plans.push_back(std::move(*plan));
  }
}

}  // namespace

Library& Library::instance() {
  static Library library;
  return library;
}

cudnnHandle_t Library::handle(device::StreamView stream) {
  std::lock_guard const lock{mutex_};
  cudnnHandle_t& handle = handles_[device::cuda_stream(stream)];
  if (handle == nullptr) {
    check(get<decltype(cudnnCreate)>("cudnnCreate")(&handle), "cudnnCreate");
    check(get<decltype(cudnnSetStream)>("cudnnSetStream")(handle, device::cuda_stream(stream)),
          "cudnnSetStream");
  }
  return handle;
}

void Library::check(cudnnStatus_t status, char const* call) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  auto* const to_text = get<decltype(cudnnGetErrorString)>("cudnnGetErrorString");
  core::fail(std::string{"cuDNN: "} + call + ": " + to_text(status));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  Library& library = Library::instance();
  static auto* const create =
      library.get<decltype(cudnnBackendCreateDescriptor)>("cudnnBackendCreateDescriptor");
  cudnnBackendDescriptor_t raw = nullptr;
  library.check(create(type, &raw), "cudnnBackendCreateDescriptor");
  raw_.reset(raw);
}

void Descriptor::set(cudnnBackendAttributeName_t name, bool value) const {
  static auto* const set_attribute =
      Library::instance().get<decltype(cudnnBackendSetAttribute)>("cudnnBackendSetAttribute");
  Library::instance().check(set_attribute(get(), name, CUDNN_TYPE_BOOLEAN, 1, &value),
                            "cudnnBackendSetAttribute");
}

cudnnStatus_t Descriptor::try_finalize() const {
  static auto* const finalize =
      Library::instance().get<decltype(cudnnBackendFinalize)>("cudnnBackendFinalize");
  return finalize(get());
}

void Descriptor::Destroy::operator()(void* raw) const noexcept {
  Library::instance().get<decltype(cudnnBackendDestroyDescriptor)>("cudnnBackendDestroyDescriptor")(
      raw);
}

cudnnDataType_t data_type(core::DataType type) {
  switch (type) {
    case core::DataType::f16: return CUDNN_DATA_HALF;
    case core::DataType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

std::int64_t alignment_of(device::MatrixView const& view) {
  auto const address = reinterpret_cast<std::uintptr_t>(view.data) | 256U;
  return static_cast<std::int64_t>(address & (~address + 1));
}

Descriptor const& Graph::add_tensor(TensorSpec const& spec) {
  Descriptor tensor{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  tensor.set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {spec.type});
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, spec.extents);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, spec.strides);
  tensor.set<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {spec.id});
  tensor.set<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {spec.alignment});
  if (spec.is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (spec.is_by_value) tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  if (!spec.is_virtual) ids_.push_back(spec.id);
  return add_part(std::move(tensor));
}

Descriptor const& Graph::add_part(Descriptor part) {
  part.finalize();
  return parts_.emplace_back(std::move(part));
}

void Graph::add_operation(Descriptor operation) {
  operations_.push_back(add_part(std::move(operation)).get());
}

void Graph::finalize(cudnnHandle_t handle) {
  graph_ = Descriptor{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations_);
  graph_.set<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  graph_.finalize();
}

cudnnStatus_t execute(Plan const& plan, Addresses const& addresses, void* workspace,
                      cudnnHandle_t handle) {
  static auto* const run =
      Library::instance().get<decltype(cudnnBackendExecute)>("cudnnBackendExecute");
  std::vector<void*> data;
  for (std::int64_t const id : plan.ids) data.push_back(addresses(id));
  Descriptor const pack{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, plan.ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data);
  pack.set<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {workspace});
  pack.finalize();
  return run(handle, plan.plan.get(), pack.get());
}

Choice choose(std::vector<Graph> const& graphs, Addresses const& addresses, Search const& search,
              device::StreamView stream) {
  using Clock = std::chrono::steady_clock;
  auto const start = Clock::now();
  auto const spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  cudnnHandle_t const handle = Library::instance().handle(stream);
  auto const has_time = [&] { return spent() < kSearchSeconds; };
  auto const because = [&](std::string const& reason) {
    return std::string{search.row} + ": " + reason +
           "; leave out the vendor's line with vendor = \"off\"";
  };
  std::vector<Plan> plans;
  for (Graph const& graph : graphs) {
    add_of_heuristics(plans, graph, search, handle, has_time);
    if (search.has_all_engines) add_engines(plans, graph, search, handle, has_time);
  }
  std::string const what{search.what};
  QUAD_REQUIRE(!plans.empty(),
               because("cuDNN has no engine for this " + what + " in full precision"));
  auto const room = static_cast<std::int64_t>(stream.device().free_memory() / 2);
  std::erase_if(plans, [&](Plan const& plan) { return plan.workspace > room; });
  QUAD_REQUIRE(!plans.empty(), because("too little memory for a workspace; make the case smaller"));
  std::int64_t most = 0;
  for (Plan const& plan : plans) most = std::max(most, plan.workspace);
  device::PooledBuffer<std::byte> workspace{stream.device(), most, stream};

  device::Event begin{stream.device()}, end{stream.device()};
  auto const time = [&](Plan const& plan, int launches) {
    stream.record(begin);
    for (int i = 0; i < launches; ++i) execute(plan, addresses, workspace.data(), handle);
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
    if (execute(plans[i], addresses, workspace.data(), handle) != CUDNN_STATUS_SUCCESS) continue;
    tried.push_back({i, time(plans[i], 1)});
  }
  QUAD_REQUIRE(!tried.empty(), because("no engine of cuDNN runs this " + what));
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

std::string text_of(Choice const* choice) {
  if (choice == nullptr) return {};
  return "cudnn, engine " + std::to_string(choice->plan.engine_index) +
         (choice->plan.is_of_heuristics ? " as its heuristics set it" : "") + ", workspace " +
         std::to_string(choice->plan.workspace >> 20) + " MiB, the fastest of " +
         std::to_string(choice->candidates) + " plans";
}

std::string why_absent() {
  std::string const& reason = Library::instance().why_absent();
  return reason.empty() ? "" : "needs cuDNN 9: " + reason;
}

#else

std::string why_absent() {
  return "needs cuDNN 9, whose headers were not there when this program was built";
}

#endif

}  // namespace quadrille::kernels::cudnn
