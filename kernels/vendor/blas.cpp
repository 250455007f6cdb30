// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vendor/blas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>

// A linker leaves a library out of which nothing is used by name.
extern "C" void cblas_dgemm();
[[gnu::used]] static void (*const kLinked)() = cblas_dgemm;

namespace quadrille::kernels::blas {
namespace {

/// The file that products come from. Other libraries of the process, such as ScaLAPACK, may have loaded
/// another BLAS with functions of its own.
struct File {
  std::string name = "unknown";
  void* handle = nullptr;

  File() {
    Dl_info at{};
    void* const product = dlsym(RTLD_DEFAULT, "cblas_dgemm");
    if (product == nullptr || dladdr(product, &at) == 0) return;
    name = at.dli_fname;
    handle = dlopen(at.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }
};

File const& file() {
  static File const found;
  return found;
}

/// Functions that a library has for the threads of its calls.
template <class Count>
struct ThreadFunctions {
  Count (*get)();
  void (*set)(Count threads);

  ThreadFunctions(char const* getter, char const* setter)
      : get{find<Count()>(getter)}, set{find<void(Count)>(setter)} {}
  /// Some take a lock to set it; only a change is worth that.
  void use(int threads) const {
    if (get != nullptr && set != nullptr && get() != threads) set(threads);
  }
};

}  // namespace

void* find_function(char const* name) {
  return file().handle == nullptr ? nullptr : dlsym(file().handle, name);
}

std::string library() {
  if (auto* const openblas = find<char*()>("openblas_get_config")) return openblas();
  if (auto* const mkl = find<void(char*, int)>("MKL_Get_Version_String")) {
    char text[256]{};
    mkl(text, sizeof text - 1);
    return text;
  }
  if (auto* const blis = find<char const*()>("bli_info_get_version_str"))
    return fmt::format("BLIS {}", blis());
  if (auto* const nvpl = find<int()>("nvpl_blas_get_version")) {
    int const version = nvpl();
    return fmt::format("NVPL {}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
  }
  return file().name;
}

void use_threads(int threads) {
  static ThreadFunctions<int> const known[] = {
      {"openblas_get_num_threads", "openblas_set_num_threads"},
      {"MKL_Get_Max_Threads", "MKL_Set_Num_Threads"},
      {"nvpl_blas_get_max_threads", "nvpl_blas_set_num_threads"}};
  static ThreadFunctions<std::int64_t> const blis{"bli_thread_get_num_threads",
                                                  "bli_thread_set_num_threads"};
  for (ThreadFunctions<int> const& library : known) library.use(threads);
  blis.use(threads);
}

}  // namespace quadrille::kernels::blas
