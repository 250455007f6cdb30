// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"
#include "device/views.hpp"

#include <span>
#include <string>
#include <string_view>

/// Kernels that NVRTC compiles while the program runs, where its library is found.
namespace quadrille::device {

/// A file as `#include` names it.
struct SourceFile {
  std::string_view name;
  std::string_view text;
};

/// One kernel of a header.
struct KernelProgram {
  std::span<SourceFile const> files;  ///< the header and what it includes; they live on
  std::string header;
  std::string kernel;  ///< with its template's arguments: "ns::kernel<1, 2>"
};

/// A kernel in machine code.
struct CompiledKernel {
  std::string name;  ///< in the code, mangled
  std::string code;
  bool is_cached = false;  ///< it was in the user's cache
};

/// Why no kernel can be compiled here; empty where it can.
std::string runtime_compiler_absent();

/// Compiles for a compute capability (times ten) or takes what an earlier call left in `cache`, a
/// folder, which need not exist; "": no cache. The compiler's words where it cannot. Needs no GPU.
/// Thread safe.
core::Parsed<CompiledKernel> compile(KernelProgram const& program, int compute_capability,
                                     std::string const& cache);

/// The runtime's handle of a kernel for blocks of so many threads, from the user's cache or compiled
/// now, for launches on `device` by whoever takes a function; the reason where it is not to be had or
/// no block of it fits. Found once, it stays for the life of the program. Thread safe.
core::Parsed<void const*> runtime_kernel(KernelProgram const& program, int threads,
                                         Facts const& device);

}  // namespace quadrille::device
