// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/code_architecture.hpp"
#include "device/device.hpp"
#include "device/driver.hpp"
#include "device/experiments.hpp"
#include "device/kernel_facts.hpp"
#include "device/runtime_kernel.hpp"

namespace quadrille::device {
namespace {

constexpr char kWhy[] = "built without CUDA";

[[noreturn]] void fail_absent() {
  core::fail(std::string{"no GPU: this program was "} + kWhy +
                 "; use device = \"host\", or build where nvcc is found",
             core::Exit::environment);
}

}  // namespace

std::unique_ptr<Device> make_cuda_device(int) { fail_absent(); }

int cuda_device_count(std::string* why) {
  if (why != nullptr) *why = kWhy;
  return 0;
}

std::string driver_version() { return "none"; }

void cuda_synchronize() { fail_absent(); }

int cuda_multiprocessors(int) { fail_absent(); }

std::unique_ptr<StreamBackend> make_blocking_stream(Device& device) {
  return device.make_stream(Priority::normal, "blocking");
}

CudaContext::CudaContext(Facts const&) { fail_absent(); }
CudaContext::~CudaContext() = default;
bool CudaContext::allocate(std::size_t) { return context_ != nullptr; }

// Nor is it missing where a run on a GPU is planned.
std::string curand_absent() { return {}; }

void curand_uniform(void*, core::DataType, std::int64_t, StreamView) { fail_absent(); }

bool cuda_answers(CudaQuery, Facts const&) { fail_absent(); }

Facts cuda_device_facts(int) { fail_absent(); }

CodeArchitecture code_of_program(int) { return {}; }

std::string runtime_compiler_absent() { return kWhy; }

core::Parsed<CompiledKernel> compile(KernelProgram const&, int, std::string const&) {
  return core::Parsed<CompiledKernel>::error(kWhy);
}

core::Parsed<void const*> runtime_kernel(KernelProgram const&, int, Facts const&) {
  return core::Parsed<void const*>::error(kWhy);
}

std::vector<KernelFacts> recorded_kernels(StreamView, std::function<void()> const&) { return {}; }

}  // namespace quadrille::device
