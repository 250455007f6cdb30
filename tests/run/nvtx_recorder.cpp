// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0

// For NVTX_INJECTION64_PATH, as a profiler: writes the path of each range of the domain "quadrille" to
// standard error when it begins.
#include <cstdio>
#include <nvtx3/nvToolsExt.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

char ours = 0;
nvtxDomainHandle_t const kOurs = reinterpret_cast<nvtxDomainHandle_t>(&ours);
thread_local std::vector<std::string> open;

nvtxDomainHandle_t create(char const* name) {
  return std::string_view{name} == "quadrille" ? kOurs : nullptr;
}

int push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* range) {
  if (domain != kOurs) return 0;
  open.emplace_back(range->message.ascii);
  std::string path;
  for (std::string const& name : open) path += "/" + name;
  std::fprintf(stderr, "NVTX %s\n", path.c_str());
  return static_cast<int>(open.size()) - 1;
}

int pop(nvtxDomainHandle_t domain) {
  if (domain == kOurs) open.pop_back();
  return static_cast<int>(open.size());
}

template <class Function>
NvtxFunctionPointer pointer(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  auto const* const callbacks =
      static_cast<NvtxExportTableCallbacks const*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned count = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &count) == 0) return 0;
  *functions[NVTX_CBID_CORE2_DomainCreateA] = pointer(create);
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = pointer(push);
  *functions[NVTX_CBID_CORE2_DomainRangePop] = pointer(pop);
  return 1;
}
