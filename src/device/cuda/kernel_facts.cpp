// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kernel_facts.hpp"

#include "device/cuda/check.hpp"
#include "device/cuda/stream.hpp"
#include "device/occupancy.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace quadrille::device {
namespace {

/// A function of the driver, asked of the runtime: linking libcuda would keep the program from
/// starting on a machine without a driver.
template <class Function>
Function* driver(char const* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  QUAD_CUDA(cudaGetDriverEntryPointByVersion(name, &function, 12030, cudaEnableDefault, &found));
  return found == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(function) : nullptr;
}

/// "gemm_naive_kernel<float>" of "void quadrille::kernels::gemm::(anonymous namespace)::gemm_...".
std::string short_name(char const* mangled) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> const demangled{
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free};
  std::string name = status == 0 ? demangled.get() : mangled;
  // The arguments start at the last parenthesis that is open at depth 0 of the brackets.
  int depth = 0;
  std::size_t end = name.size();
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      end = i;
      break;
    }
  }
  name.resize(end);
  if (name.starts_with("void ")) name.erase(0, 5);
  std::size_t const bracket = name.find('<');
  std::size_t const scope = name.rfind("::", bracket);
  if (name.starts_with("quadrille::") && scope != std::string::npos) name.erase(0, scope + 2);
  return name;
}

KernelFacts facts_of(CUgraphNode node, int compute_capability) {
  KernelFacts facts;
  CUDA_KERNEL_NODE_PARAMS_v2 launch{};
  auto* const get_params =
      driver<decltype(cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams");
  auto* const get_function = driver<decltype(cuKernelGetFunction)>("cuKernelGetFunction");
  auto* const get_name = driver<decltype(cuFuncGetName)>("cuFuncGetName");
  auto* const get_attribute = driver<decltype(cuFuncGetAttribute)>("cuFuncGetAttribute");
  auto* const get_blocks = driver<decltype(cuOccupancyMaxActiveBlocksPerMultiprocessor)>(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  bool const complete = get_params != nullptr && get_function != nullptr && get_name != nullptr &&
                        get_attribute != nullptr && get_blocks != nullptr;
  if (!complete || get_params(node, &launch) != CUDA_SUCCESS) return facts;
  CUfunction function = launch.func;
  if (function == nullptr && get_function(&function, launch.kern) != CUDA_SUCCESS) return facts;

  char const* mangled = nullptr;
  if (get_name(&mangled, function) == CUDA_SUCCESS) facts.name = short_name(mangled);
  facts.grid = {launch.gridDimX, launch.gridDimY, launch.gridDimZ};
  facts.block = {launch.blockDimX, launch.blockDimY, launch.blockDimZ};
  auto const attribute = [&](CUfunction_attribute which) {
    int value = 0;
    get_attribute(&value, which, function);
    return value;
  };
  facts.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  facts.shared_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)) +
                       launch.sharedMemBytes;
  facts.local_bytes = static_cast<std::size_t>(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  int const threads = static_cast<int>(launch.blockDimX * launch.blockDimY * launch.blockDimZ);
  get_blocks(&facts.resident_blocks, function, threads, launch.sharedMemBytes);
  facts.modelled_blocks = resident_blocks(multiprocessor(compute_capability),
                                          {threads, facts.registers, facts.shared_bytes});
  return facts;
}

void collect(cudaGraph_t graph, int compute_capability, std::vector<KernelFacts>& all) {
  std::size_t count = 0;
  QUAD_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  QUAD_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  for (cudaGraphNode_t const node : nodes) {
    cudaGraphNodeType type{};
    QUAD_CUDA(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeKernel) {
      KernelFacts facts = facts_of(node, compute_capability);
      if (!facts.name.empty()) all.push_back(std::move(facts));
    } else if (type == cudaGraphNodeTypeGraph) {
      cudaGraph_t child{};
      QUAD_CUDA(cudaGraphChildGraphNodeGetGraph(node, &child));
      collect(child, compute_capability, all);
    }
  }
}

}  // namespace

std::vector<KernelFacts> recorded_kernels(StreamView stream, std::function<void()> const& enqueue) {
  std::vector<KernelFacts> all;
  if (stream.device().kind() != Kind::cuda) return all;
  cudaStream_t const queue = cuda_stream(stream);
  QUAD_CUDA(cudaStreamBeginCapture(queue, cudaStreamCaptureModeRelaxed));
  enqueue();
  cudaGraph_t graph{};
  if (cudaStreamEndCapture(queue, &graph) != cudaSuccess || graph == nullptr) {
    [[maybe_unused]] cudaError_t const cleared = cudaGetLastError();
    return all;
  }
  collect(graph, stream.facts().compute_capability, all);
  QUAD_CUDA(cudaGraphDestroy(graph));
  return all;
}

}  // namespace quadrille::device
