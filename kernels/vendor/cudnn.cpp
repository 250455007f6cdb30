// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vendor/cudnn.hpp"

#ifdef QUADRILLE_CUDNN
#include "common/search.hpp"
#include "core/error.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#endif

namespace quadrille::kernels::cudnn {

#ifdef QUADRILLE_CUDNN

namespace {

/// What the heuristics name for a graph.
struct Candidate {
  Graph const* graph = nullptr;
  Descriptor engine, configuration;
  std::int64_t engine_index = -1;
  std::vector<std::int64_t> knobs{};  ///< type and value of each
  int place = 0;                      ///< the likeliest of its mode is 0
};

std::vector<std::int64_t> knobs_of(Descriptor const& configuration) {
  std::vector<Descriptor> choices;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
    choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    raw.push_back(choices.back().get());
  }
  choices.resize(static_cast<std::size_t>(
      configuration.read(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw)));
  std::vector<std::int64_t> knobs;
  for (Descriptor const& choice : choices) {
    std::vector<cudnnBackendKnobType_t> type(1);
    std::vector<std::int64_t> value(1);
    choice.read(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, type);
    choice.read(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, value);
    knobs.insert(knobs.end(), {type[0], value[0]});
  }
  return knobs;
}

/// Appends what a mode of the heuristics names for a graph and no mode before it has.
void add_candidates(std::vector<Candidate>& candidates, Graph const& graph, Search const& search,
                    cudnnBackendHeurMode_t mode) {
  constexpr std::size_t kMaxConfigurations = 64;
  Descriptor const heuristics{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR};
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.descriptor());
  heuristics.set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {mode});
  if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) return;
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::size_t i = 0; i < kMaxConfigurations; ++i) {
    configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configurations.back().get());
  }
  auto const count = static_cast<std::size_t>(
      heuristics.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw));
  for (std::size_t i = 0; i < std::min(count, kMaxConfigurations); ++i) {
    Candidate one{.graph = &graph,
                  .engine = Descriptor{CUDNN_BACKEND_ENGINE_DESCRIPTOR},
                  .configuration = std::move(configurations[i]),
                  .place = static_cast<int>(i)};
    std::vector<cudnnBackendDescriptor_t> engine{one.engine.get()};
    one.configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, engine);
    if (search.may_take && !search.may_take(one.engine)) continue;
    std::vector<std::int64_t> index{-1};
    one.engine.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
    one.engine_index = index[0];
    one.knobs = knobs_of(one.configuration);
    bool const is_known = std::ranges::any_of(candidates, [&](Candidate const& other) {
      return other.graph == &graph && other.engine_index == one.engine_index &&
             other.knobs == one.knobs;
    });
    if (!is_known) candidates.push_back(std::move(one));
  }
}

/// Mode after mode, the likeliest of each graph first. Mode B knows more configurations than A where it
/// has a model of its own; the last has what runs where nothing else does.
std::vector<Candidate> candidates_of(std::vector<Graph> const& graphs, Search const& search) {
  std::vector<Candidate> candidates;
  for (cudnnBackendHeurMode_t const mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    if (mode == CUDNN_HEUR_MODE_FALLBACK && !search.has_fallback) continue;
    auto const first = std::ssize(candidates);
    for (Graph const& graph : graphs) add_candidates(candidates, graph, search, mode);
    std::stable_sort(candidates.begin() + first, candidates.end(),
                     [](Candidate const& a, Candidate const& b) { return a.place < b.place; });
  }
  return candidates;
}

/// The plan of a candidate; nothing where the engine does not take the problem.
std::optional<Plan> plan_of(Candidate candidate, cudnnHandle_t handle) {
  Plan plan;
  plan.ids = candidate.graph->ids();
  plan.engine = std::move(candidate.engine);
  plan.engine_index = candidate.engine_index;
  plan.configuration = std::move(candidate.configuration);
  plan.plan = Descriptor{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  plan.plan.set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan.configuration);
  if (plan.plan.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  std::vector<std::int64_t> bytes(1);
  plan.plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, bytes);
  plan.workspace = bytes[0];
  if (plan.workspace > kMaxWorkspace) return std::nullopt;
  return plan;
}

std::string text_of(Plan const& plan) {
  return "engine " + std::to_string(plan.engine_index) + ", workspace " +
         std::to_string(plan.workspace >> 20) + " MiB";
}

}  // namespace

Library& Library::instance() {
  static Library library;
  return library;
}

cudnnHandle_t Library::handle(device::StreamView stream) {
  std::lock_guard const lock{mutex_};
  cudnnHandle_t& handle = handles_[device::cuda_stream(stream)];
  if (handle == nullptr) handle = fresh_handle(stream).release();
  return handle;
}

Library::OwnHandle Library::fresh_handle(device::StreamView stream) const {
  cudnnHandle_t handle = nullptr;
  check(get<decltype(cudnnCreate)>("cudnnCreate")(&handle), "cudnnCreate");
  check(get<decltype(cudnnSetStream)>("cudnnSetStream")(handle, device::cuda_stream(stream)),
        "cudnnSetStream");
  return OwnHandle{handle};
}

void Library::Destroy::operator()(cudnnHandle_t handle) const noexcept {
  instance().get<decltype(cudnnDestroy)>("cudnnDestroy")(handle);
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
  cudnnHandle_t const handle = Library::instance().handle(stream);
  auto const because = [&](std::string const& reason) {
    return std::string{search.row} + ": " + reason +
           "; leave out the vendor's line with vendor = \"off\"";
  };
  std::vector<Candidate> candidates = candidates_of(graphs, search);
  std::string const what{search.what};
  QUAD_REQUIRE(!candidates.empty(),
               because("cuDNN has no engine for this " + what + " in full precision"));
  auto const room = static_cast<std::int64_t>(stream.device().free_memory() / 2);
  device::PooledBuffer<std::byte> workspace;

  std::vector<std::optional<Plan>> plans(candidates.size());
  bool lacks_room = false;
  auto const has_plan = [&](std::size_t i) {
    if (plans[i]) return true;
    std::optional<Plan> plan = plan_of(std::move(candidates[i]), handle);
    if (!plan) return false;
    if (plan->workspace > room) {
      lacks_room = true;
      return false;
    }
    if (plan->workspace > workspace.size()) {
      workspace = {};  // not both at once
      workspace = {stream.device(), plan->workspace, stream};
    }
    plans[i] = std::move(plan);
    return true;
  };
  std::vector<Ranked> const ranked = rank(
      candidates.size(),
      [&](std::size_t i) {
        return has_plan(i) &&
               execute(*plans[i], addresses, workspace.data(), handle) == CUDNN_STATUS_SUCCESS;
      },
      stream);
  QUAD_REQUIRE(!ranked.empty(),
               because(lacks_room ? "too little memory for a workspace; make the case smaller"
                                  : "no engine of cuDNN runs this " + what));
  Choice choice;
  choice.tried = ranked.size();
  choice.candidates = candidates.size();
  for (Ranked const& one : ranked) {
    choice.plans.push_back({std::move(*plans[one.candidate]), one.seconds});
  }
  return choice;
}

void launch(Choice& choice, Addresses const& addresses, device::StreamView stream) {
  Plan const& plan = choice.plans.front().plan;
  if (plan.workspace > choice.workspace.size()) {
    choice.workspace = {stream.device(), plan.workspace, stream};
  }
  Library& library = Library::instance();
  library.check(execute(plan, addresses, choice.workspace.data(), library.handle(stream)),
                "cudnnBackendExecute");
}

bool drop_plan(Choice& choice) {
  if (choice.plans.size() < 2) return false;
  choice.dropped += (choice.dropped.empty() ? "; wrong, so dropped: " : "; ") +
                    text_of(choice.plans.front().plan);
  choice.plans.erase(choice.plans.begin());
  return true;
}

void run_first(std::vector<Graph> const& graphs, Addresses const& addresses, Search const& search,
               cudnnHandle_t handle, device::StreamView stream) {
  for (Candidate& candidate : candidates_of(graphs, search)) {
    std::optional<Plan> const plan = plan_of(std::move(candidate), handle);
    if (!plan) continue;
    device::PooledBuffer<std::byte> const workspace{stream.device(), plan->workspace, stream};
    if (execute(*plan, addresses, workspace.data(), handle) != CUDNN_STATUS_SUCCESS) continue;
    return stream.synchronize();
  }
  core::fail(std::string{search.row} + ": no engine of cuDNN runs this " +
             std::string{search.what});
}

double seconds_of(Choice const* choice) {
  if (choice == nullptr || choice->plans.front().seconds == kUntimed) return 0;
  return choice->plans.front().seconds;
}

std::string text_of(Choice const* choice) {
  if (choice == nullptr) return {};
  return "cudnn, " + text_of(choice->plans.front().plan) + ", " +
         search_text(choice->tried, choice->candidates) + choice->dropped;
}

std::string why_absent() {
  std::string const& reason = Library::instance().why_absent();
  return reason.empty() ? "" : "needs cuDNN 9: " + reason;
}

#elif defined(QUADRILLE_CUDA_KERNELS)

std::string why_absent() {
  return "needs cuDNN 9, whose headers were not there when this program was built";
}

#else

// This program only plans for GPUs, where the library is taken to be there.
std::string why_absent() { return {}; }

#endif

}  // namespace quadrille::kernels::cudnn
